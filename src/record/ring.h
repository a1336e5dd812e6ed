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
 *     ceni_event e = {.time = now, .kind = OPENED, .first = slot};
 *     ceni_ring_write(ring, &e);
 *
 *     ceni_cursor at = {0};
 *     while (ceni_ring_read(ring, &at, &e) == CEN_OK) show(&e);
 *
 * The ring is one piece of memory without pointers, which begins with a magic
 * word, a version and all sizes. A debugger, a core file or a mapped file is
 * thus enough to read the events of a process that is gone: ceni_ring_find
 * recognises such memory.
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
#include <cenote/status.h>

enum { CENI_EVENT_TEXT = 80 };

typedef struct ceni_event {
    int64_t time;  /* the writer's clock */
    uint32_t kind; /* the writers' numbering */
    uint64_t first, second;
    char text[CENI_EVENT_TEXT]; /* ends with a zero; what is longer is cut */
} ceni_event;

typedef struct ceni_ring ceni_ring;

/* Where a reader is. Zeroed: at the oldest event that is still there. */
typedef struct ceni_cursor {
    uint64_t next;   /* the number of the event to be read, from 0 */
    uint64_t missed; /* events that were overwritten or dropped before they could be read */
} ceni_cursor;

/* ---- Making one ---------------------------------------------------------- */

/* The bytes that a ring with room for `places` events needs; rounded up to a power of two, at least 2. */
size_t ceni_ring_size(uint32_t places);

/* Makes a ring in the caller's memory of ceni_ring_size(places) bytes, aligned
 * to CENI_LINE: in a mapped file, say. It needs no end. */
ceni_ring *ceni_ring_init(void *memory, uint32_t places);

/* The same in memory of its own; NULL when there is none. */
ceni_ring *ceni_ring_new(uint32_t places, const cen_allocator *allocator);
void ceni_ring_free(ceni_ring *ring, const cen_allocator *allocator);

/* The ring that `size` bytes of memory hold, aligned to CENI_LINE: the live one or
 * a copy of its bytes. NULL if they are not a whole ring of this version. Such a
 * ring may be read; writing it is only for the live one. */
const ceni_ring *ceni_ring_find(const void *memory, size_t size);

/* ---- Writing ------------------------------------------------------------- */

/* Writes an event. False if it had to be dropped, because a thread that is
 * still writing an event a whole round older, or one that has come round since,
 * has the place. Drops are counted. */
bool ceni_ring_write(ceni_ring *ring, const ceni_event *event);

/* Events that writers have begun, and of these the dropped ones. */
uint64_t ceni_ring_begun(const ceni_ring *ring);
uint64_t ceni_ring_dropped(const ceni_ring *ring);

/* ---- Reading ------------------------------------------------------------- */

/* Copies the event at the cursor out and moves on. What was overwritten or
 * dropped is passed over and counted in the cursor. Never waits. Errors: EMPTY
 * if there is no further event, or the next one is still being written: ask
 * again later, or, if its writer is dead, skip. */
cen_status ceni_ring_read(const ceni_ring *ring, ceni_cursor *cursor, ceni_event *out);

/* Passes over one event that is still being written, counting it as missed.
 * False if there is no further event at all: the end of a dump. */
bool ceni_ring_skip(const ceni_ring *ring, ceni_cursor *cursor);

#endif
