/* SPDX-License-Identifier: MIT */
/*
 * The event ring: what happened lately, for whoever comes to look.
 *
 * A fixed number of places for events of fixed size. Any number of threads
 * write, never wait and never allocate; the newest event overwrites the
 * oldest. Readers copy events out with a cursor of their own, take nothing
 * away and disturb nobody.
 *
 *     ceni_ring *ring = ceni_ring_new(1024, NULL);
 *     cen_event e = {.time_ns = now, .level = CEN_LEVEL_NOTICE, .kind = CEN_EVENT_PAUSED};
 *     ceni_ring_write(ring, &e);
 *
 *     ceni_cursor at = {0};
 *     while (ceni_ring_read(ring, &at, &e) == CEN_OK) show(&e);
 *
 * The ring is one piece of memory without pointers, which begins with a magic
 * word, a version and all sizes, and an event in it has all of its texts with
 * it. A debugger, a core file or a mapped file is thus enough to read the events
 * of a process that is gone: ceni_ring_find recognises such memory.
 *
 * It can move, once, while others write: from one moment on its events go to
 * another ring, and not one is in neither. Events do so when they are kept in a
 * file (events.c).
 *
 * Threads: write and read from any thread at any time; a cursor belongs to one
 * reader.
 */
#ifndef CENI_RECORD_RING_H
#define CENI_RECORD_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/events.h>
#include <cenote/status.h>

typedef struct ceni_ring ceni_ring;

/* Where a reader is. Zeroed: at the oldest event that is still there. */
typedef struct ceni_cursor {
    uint64_t next;   /* the number of the event to be read, from 0 */
    uint64_t missed; /* events that were overwritten or dropped before they could be read */
} ceni_cursor;

/* ---- Making one ---------------------------------------------------------- */

/* What the memory of a ring begins with: "CENERING" where the low byte comes first. */
#define CENI_RING_MAGIC UINT64_C(0x474E4952454E4543)

/* Fixed by the version. */
enum { CENI_RING_HEADER = 256, CENI_RING_PLACE = 832 };

/* What a ring of `places`, a power of two, needs, as a constant. */
#define CENI_RING_BYTES(places) (CENI_RING_HEADER + (size_t)(places)*CENI_RING_PLACE)

/* The bytes that a ring with room for `places` events needs; rounded up to a power of two, at least 2. */
size_t ceni_ring_size(uint32_t places);

/* Whose it is, for one who finds several rings in a dump. */
typedef struct ceni_ring_tag {
    uint64_t process; /* the same in all rings of one process, and hardly in others */
    uint32_t stream;  /* which of them it is */
} ceni_ring_tag;

/* Makes a ring in the caller's memory of ceni_ring_size(places) bytes, aligned
 * to CENI_CACHE_LINE: in a mapped file, say. It needs no end. */
ceni_ring *ceni_ring_init(void *memory, uint32_t places);

/* The same where all is zero, and touches no place. */
ceni_ring *ceni_ring_init_zeroed(void *memory, uint32_t places, ceni_ring_tag tag);

/* The same in memory of its own; NULL when there is none. */
ceni_ring *ceni_ring_new(uint32_t places, const cen_allocator *allocator);
void ceni_ring_free(ceni_ring *ring, const cen_allocator *allocator);

/* Makes what a ring of so many places left in its memory all zero, and touches no place that it had not used.
 * While nobody else uses it. */
void ceni_ring_wipe(void *memory, uint32_t places);

/* ---- Writing ------------------------------------------------------------- */

/* Writes an event; its number is the ring's, whatever *event says. False if it had to be dropped, because a thread that is
 * still writing an event a whole round older, or one that has come round since,
 * has the place. Drops are counted. */
bool ceni_ring_write(ceni_ring *ring, const cen_event *event);

/* The same in two steps: a number for an event, and the event into its place. *left: the ring has been left before, and the
 * event belongs into the ring that it went to. */
uint64_t ceni_ring_number(ceni_ring *ring, bool *left);
bool ceni_ring_put(ceni_ring *ring, uint64_t number, const cen_event *event);

/* Events that writers have begun, and of these the dropped ones. */
uint64_t ceni_ring_begun(const ceni_ring *ring);
uint64_t ceni_ring_dropped(const ceni_ring *ring);

/* ---- Moving --------------------------------------------------------------- */

/* Leaves the ring: numbers go on from it, but each that is handed out from now on is said to be left. Once. Returns how many were
 * handed out before. */
uint64_t ceni_ring_leave(ceni_ring *ring);
bool ceni_ring_is_left(const ceni_ring *ring);

/* Copies what was written before into the other ring, of as many places. An event whose writer does not come to its end
 * soon is counted as dropped there. When it returns no number below `before` is awaited in the other. */
void ceni_ring_copy(const ceni_ring *from, uint64_t before, ceni_ring *to);

/* ---- Reading ------------------------------------------------------------- */

/* Copies the event at the cursor out and moves on. What was overwritten or
 * dropped is passed over and counted in the cursor. Never waits. Errors: EMPTY
 * if there is no further event, or the next one is still being written: ask
 * again later, or, if its writer is dead, skip. */
cen_status ceni_ring_read(const ceni_ring *ring, ceni_cursor *cursor, cen_event *out);

/* The same of a ring whose numbers come from elsewhere: so many were handed out. */
cen_status ceni_ring_read_up_to(const ceni_ring *ring, uint64_t begun, ceni_cursor *cursor, cen_event *out);

/* Passes over one event that is still being written, counting it as missed.
 * False if there is no further event at all: the end of a dump. */
bool ceni_ring_skip(const ceni_ring *ring, ceni_cursor *cursor);

/* ---- Dumps ---------------------------------------------------------------- */

/* The ring that `size` bytes of memory hold, aligned to CENI_CACHE_LINE: the live one or
 * a copy of its bytes. NULL if they are not a whole ring of this version. Such a
 * ring may be read; writing it is only for the live one. */
const ceni_ring *ceni_ring_find(const void *memory, size_t size);

/* How many bytes the ring has that begins with these, at least CENI_RING_HEADER of them at any address; 0 if none does. */
size_t ceni_ring_told_size(const void *bytes, size_t size);

uint32_t ceni_ring_places(const ceni_ring *ring);
ceni_ring_tag ceni_ring_tag_of(const ceni_ring *ring);

/* Copies out what is in a place, whatever its number. False: nothing whole is. The rest of the ring may be damaged. */
bool ceni_ring_look(const ceni_ring *ring, uint32_t place, cen_event *out);

#endif
