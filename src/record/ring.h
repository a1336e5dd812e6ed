/* SPDX-License-Identifier: MIT */
/*
 * The event ring: a ring buffer with the most recent events.
 *
 * It has a fixed number of places for events of fixed size. Any number of threads write; they never wait and never
 * allocate. The newest event overwrites the oldest. Readers copy events out, each with a cursor of its own; they
 * remove nothing and do not disturb writers.
 *
 *     ceni_ring *ring = ceni_ring_new(1024, NULL);
 *     cen_event e = {.time_ns = now, .level = CEN_LEVEL_NOTICE, .kind = CEN_EVENT_PAUSED};
 *     ceni_ring_write(ring, &e);
 *
 *     ceni_cursor at = {0};
 *     while (ceni_ring_read(ring, &at, &e) == CEN_OK) show(&e);
 *
 * The ring is one block of memory without pointers. It begins with a magic word, a version and all sizes, and an
 * event contains all of its texts. So a debugger, a core file or a mapped file is enough to read the events of a
 * process that has ended: ceni_ring_find recognises such memory.
 *
 * The ring can move to other memory once, while threads write: from one moment on its events go to another ring, and
 * none is lost in between. This happens when events are persisted to a file (events.c).
 *
 * Threads: any thread may write and read at any time. A cursor belongs to one reader.
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

/* The position of a reader. Zeroed: at the oldest event in the ring. */
typedef struct ceni_cursor {
    uint64_t next;   /* the number of the next event to read, from 0 */
    uint64_t missed; /* events that were overwritten or dropped before they could be read */
} ceni_cursor;

/* ---- Making one ---------------------------------------------------------- */

/* The first word of a ring: "CENERING" in little-endian memory. */
#define CENI_RING_MAGIC UINT64_C(0x474E4952454E4543)

/* Fixed by the version. */
enum { CENI_RING_HEADER = 256, CENI_RING_PLACE = 832 };

/* The bytes that a ring of `places`, a power of two, needs, as a constant. */
#define CENI_RING_BYTES(places) (CENI_RING_HEADER + (size_t)(places)*CENI_RING_PLACE)

/* The bytes that a ring with room for `places` events needs; rounded up to a power of two, at least 2. */
size_t ceni_ring_size(uint32_t places);

/* Identifies a ring among several in a dump. */
typedef struct ceni_ring_tag {
    uint64_t process; /* the same in all rings of one process; very likely different in other processes */
    uint32_t stream;  /* which of the process's rings it is */
} ceni_ring_tag;

/* Make a ring in the caller's memory, for example in a mapped file. The memory has ceni_ring_size(places) bytes and
 * is aligned to CENI_CACHE_LINE. The ring needs no destruction. */
ceni_ring *ceni_ring_init(void *memory, uint32_t places);

/* The same in zeroed memory; does not touch the places. */
ceni_ring *ceni_ring_init_zeroed(void *memory, uint32_t places, ceni_ring_tag tag);

/* The same in memory from the allocator; NULL if there is none. */
ceni_ring *ceni_ring_new(uint32_t places, const cen_allocator *allocator);
void ceni_ring_free(ceni_ring *ring, const cen_allocator *allocator);

/* Zero the memory of a ring of `places` places; does not touch places that were never used. No other thread may use
 * the ring. */
void ceni_ring_wipe(void *memory, uint32_t places);

/* ---- Writing ------------------------------------------------------------- */

/* Write an event. The ring assigns the number; event->number is ignored. Returns false if the event was dropped: a
 * thread still writes an event of an earlier round to the place, or the place already has an event of a later round.
 * Drops are counted. */
bool ceni_ring_write(ceni_ring *ring, const cen_event *event);

/* The same in two steps: get a number, then put the event into its place. *left is true if the ring was left before;
 * then the event must be put into the ring that replaced it. */
uint64_t ceni_ring_number(ceni_ring *ring, bool *left);
bool ceni_ring_put(ceni_ring *ring, uint64_t number, const cen_event *event);

/* The number of events that writers have begun; of these, the number of dropped ones. */
uint64_t ceni_ring_begun(const ceni_ring *ring);
uint64_t ceni_ring_dropped(const ceni_ring *ring);

/* ---- Moving --------------------------------------------------------------- */

/* Leave the ring. It still hands out numbers, but from now on with *left true. Called once. Returns how many numbers
 * were handed out before. */
uint64_t ceni_ring_leave(ceni_ring *ring);
bool ceni_ring_is_left(const ceni_ring *ring);

/* Copy the events with numbers below `before` into another ring with the same number of places. An event whose writer
 * does not finish soon is noted as lost there. After the call readers of the other ring wait for no number below
 * `before`. */
void ceni_ring_copy(const ceni_ring *from, uint64_t before, ceni_ring *to);

/* ---- Reading ------------------------------------------------------------- */

/* Copy out the event at the cursor and advance the cursor. Overwritten and dropped events are passed over and counted
 * in the cursor. Never waits. EMPTY: there is no further event, or the next one is still being written; try again
 * later, or, if its writer is dead, skip it. */
cen_status ceni_ring_read(const ceni_ring *ring, ceni_cursor *cursor, cen_event *out);

/* The same for a ring whose numbers come from another ring, which has handed out `begun`. */
cen_status ceni_ring_read_up_to(const ceni_ring *ring, uint64_t begun, ceni_cursor *cursor, cen_event *out);

/* Pass over one event that is still being written, and count it as missed. Returns false if there is no further
 * event: the end of a dump. */
bool ceni_ring_skip(const ceni_ring *ring, ceni_cursor *cursor);

/* ---- Dumps ---------------------------------------------------------------- */

/* Return the ring in `size` bytes of memory, aligned to CENI_CACHE_LINE: a live ring or a copy of its bytes. NULL if
 * they are not a whole ring of this version. A copy may only be read. */
const ceni_ring *ceni_ring_find(const void *memory, size_t size);

/* Return the size of the ring that begins with these bytes, at least CENI_RING_HEADER of them, at any address; 0 if
 * no ring does. */
size_t ceni_ring_told_size(const void *bytes, size_t size);

uint32_t ceni_ring_places(const ceni_ring *ring);
ceni_ring_tag ceni_ring_tag_of(const ceni_ring *ring);

/* Copy out the event in a place, whatever its number. Returns false if the place has no whole event. The rest of the
 * ring may be damaged. */
bool ceni_ring_look(const ceni_ring *ring, uint32_t place, cen_event *out);

#endif
