/* SPDX-License-Identifier: MIT */
/*
 * Reading the events of a process that has ended, from its file of events or from a core file.
 *
 * The bytes are searched for the magic word of a ring, at every offset: a core file has the process's memory in
 * pieces, and programs that write core files do not agree where a piece may begin. The bytes after the word must then
 * be a valid header.
 *
 * The input is not trusted. Nothing in it is used as an address or an index. Sizes are compared with the limits of a
 * ring. An event is accepted only if its number belongs to its place. The memory used is bounded. `next` is ignored:
 * a ring that was moved does not have it.
 *
 * The process may still run, and its file may change while it is read. So a ring is read twice: an event with the
 * same sequence in both copies did not change while the first copy was made.
 *
 * A process that has its rings in a file has left the first rings in its memory, with the same numbers, and a core
 * file may contain both. Events are identified by process, stream and number. Within a stream events are ordered by
 * number, across streams by time.
 */
#include "watch/dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/plant.h"
#include "port/port.h"
#include "record/ring.h"

enum {
    BLOCK = 1 << 20,       /* bytes searched at a time */
    PLACES_MOST = 1 << 16, /* of a ring; a header with more is not accepted */
    EVENTS_MOST = 1 << 18, /* shown of one file; a process has fewer */
    RINGS_MOST = 256,      /* rings that are read */
    STREAMS_MOST = 64,
};

typedef struct found_event {
    cen_event event;
    ceni_ring_tag tag;
} found_event;

typedef struct search {
    const ceni_dump *dump;
    unsigned char *block;        /* BLOCK bytes */
    unsigned char *ring, *again; /* the two copies, ring_size bytes each: the largest ring so far */
    size_t ring_size;
    found_event *events;
    size_t count, room;
    unsigned rings;
    bool found; /* a ring was found, perhaps an empty one */
} search;

/* ---- Collecting -------------------------------------------------------------- */

static bool make_room_for_ring(search *s, size_t size)
{
    if (size <= s->ring_size) return true;
    ceni_free(NULL, s->ring, s->ring_size, CENI_CACHE_LINE);
    ceni_free(NULL, s->again, s->ring_size, CENI_CACHE_LINE);
    s->ring = ceni_alloc(NULL, size, CENI_CACHE_LINE);
    s->again = ceni_alloc(NULL, size, CENI_CACHE_LINE);
    s->ring_size = size;
    return s->ring && s->again;
}

static bool make_room_for_events(search *s, size_t more)
{
    if (s->room - s->count >= more) return true;
    size_t room = 2 * s->room > s->count + more ? 2 * s->room : s->count + more;
    found_event *events = ceni_alloc(NULL, room * sizeof *events, _Alignof(found_event));
    if (!events) return false;
    if (s->count) memcpy(events, s->events, s->count * sizeof *events);
    ceni_free(NULL, s->events, s->room * sizeof *events, _Alignof(found_event));
    s->events = events;
    s->room = room;
    return true;
}

/* Add the events that are whole in both copies of a ring. */
static void collect(search *s, const ceni_ring *ring, const ceni_ring *again)
{
    ceni_ring_tag tag = ceni_ring_tag_of(ring);
    for (uint32_t place = 0; place < ceni_ring_places(ring) && s->count < EVENTS_MOST; place++) {
        cen_event later;
        found_event *event = &s->events[s->count];
        if (!ceni_ring_look(ring, place, &event->event)) continue;
        bool same = ceni_ring_look(again, place, &later) && later.number == event->event.number;
        if (!same && !ceni_planted(events_of_file_looks_once)) continue;
        event->tag = tag;
        s->count++;
    }
}

/* Read a copy of the ring. If the file was cut short, everything after its last whole place counts as empty. */
static cen_status read_copy(search *s, uint64_t at, unsigned char *copy, size_t size)
{
    size_t done = 0;
    cen_status status = s->dump->read(s->dump->argument, at, copy, size, &done);
    if (done < size) done = done < CENI_RING_HEADER ? 0 : done - (done - CENI_RING_HEADER) % CENI_RING_PLACE;
    if (status == CEN_OK) memset(copy + done, 0, size - done);
    return status;
}

/* Read the ring at offset `at` of the file, and add its events. */
static cen_status read_ring(search *s, uint64_t at, size_t size)
{
    if (!make_room_for_ring(s, size) || !make_room_for_events(s, (size - CENI_RING_HEADER) / CENI_RING_PLACE))
        return CEN_NO_MEMORY;
    cen_status status = read_copy(s, at, s->ring, size);
    if (status == CEN_OK) status = read_copy(s, at, s->again, size);
    if (status != CEN_OK) return status;
    const ceni_ring *ring = ceni_ring_find(s->ring, size), *again = ceni_ring_find(s->again, size);
    if (!ring || !again || ceni_ring_size(ceni_ring_places(ring)) != size ||
        ceni_ring_size(ceni_ring_places(again)) != size)
        return CEN_OK; /* it changed meanwhile */
    s->found = true;
    collect(s, ring, again);
    return CEN_OK;
}

/* ---- Searching ----------------------------------------------------------------- */

/* Try every offset of the block where the magic word is; `size` is less than BLOCK at the end of the file. */
static cen_status search_block(search *s, uint64_t at, size_t size)
{
    const uint64_t magic = CENI_RING_MAGIC;
    const unsigned char *from = s->block, *end = s->block + size;
    for (const unsigned char *hit; (hit = memmem(from, (size_t)(end - from), &magic, sizeof magic)); from = hit + 1) {
        size_t told = ceni_ring_told_size(hit, (size_t)(end - hit));
        if (told == 0 || told > CENI_RING_BYTES(PLACES_MOST)) continue;
        if (s->rings == RINGS_MOST || s->count == EVENTS_MOST) return CEN_OK;
        s->rings++;
        cen_status status = read_ring(s, at + (uint64_t)(hit - s->block), told);
        if (status != CEN_OK) return status;
    }
    return CEN_OK;
}

/* Blocks overlap by the size of a header, so that no header is cut in two. */
static cen_status search_all(search *s)
{
    for (uint64_t at = 0;; at += BLOCK - CENI_RING_HEADER) {
        size_t size;
        cen_status status = s->dump->read(s->dump->argument, at, s->block, BLOCK, &size);
        if (status == CEN_OK) status = search_block(s, at, size);
        if (status != CEN_OK || size < BLOCK) return status;
    }
}

/* ---- Showing --------------------------------------------------------------------- */

static int compare_tags(const ceni_ring_tag *a, const ceni_ring_tag *b)
{
    if (a->process != b->process) return a->process < b->process ? -1 : 1;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

static int compare_events(const void *left, const void *right)
{
    const found_event *a = left, *b = right;
    int tags = compare_tags(&a->tag, &b->tag);
    return tags ? tags : (a->event.number > b->event.number) - (a->event.number < b->event.number);
}

/* Sort by process, stream and number, and remove duplicates. */
static void sort(search *s)
{
    if (s->count == 0) return;
    qsort(s->events, s->count, sizeof *s->events, compare_events);
    size_t kept = 1;
    for (size_t i = 1; i < s->count; i++)
        if (compare_events(&s->events[kept - 1], &s->events[i]) != 0) s->events[kept++] = s->events[i];
    s->count = kept;
}

typedef struct run {
    const found_event *next, *end;
} run;

static size_t find_runs(const search *s, run runs[STREAMS_MOST])
{
    size_t count = 0;
    for (const found_event *event = s->events, *end = event + s->count; event < end; event++) {
        bool first = event == s->events || compare_tags(&event[-1].tag, &event->tag) != 0;
        if (first && count == STREAMS_MOST) break;
        if (first) runs[count++].next = event;
        runs[count - 1].end = event + 1;
    }
    return count;
}

/* Merge the streams by time. */
static void show_all(const search *s, void (*show)(void *argument, const cen_event *event), void *argument)
{
    run runs[STREAMS_MOST];
    size_t count = find_runs(s, runs);
    for (;;) {
        run *earliest = NULL;
        for (run *r = runs; r < runs + count; r++)
            if (r->next < r->end && (!earliest || r->next->event.time_ns < earliest->next->event.time_ns)) earliest = r;
        if (!earliest) return;
        show(argument, &earliest->next++->event);
    }
}

cen_status ceni_dump_show(const ceni_dump *dump, void (*show)(void *argument, const cen_event *event), void *argument)
{
    search s = {.dump = dump, .block = ceni_alloc(NULL, BLOCK, CENI_CACHE_LINE)};
    cen_status status = s.block ? search_all(&s) : CEN_NO_MEMORY;
    if (status == CEN_OK && !s.found) status = CEN_ABSENT;
    if (status == CEN_OK) {
        sort(&s);
        show_all(&s, show, argument);
    }
    ceni_free(NULL, s.events, s.room * sizeof *s.events, _Alignof(found_event));
    ceni_free(NULL, s.ring, s.ring_size, CENI_CACHE_LINE);
    ceni_free(NULL, s.again, s.ring_size, CENI_CACHE_LINE);
    ceni_free(NULL, s.block, BLOCK, CENI_CACHE_LINE);
    return status;
}

/* ---- Reading a file ------------------------------------------------------------------ */

typedef struct file_source {
    int file, code;
} file_source;

static cen_status read_file(void *argument, uint64_t at, void *bytes, size_t size, size_t *done)
{
    file_source *source = argument;
    return ceni_file_read(source->file, at, bytes, size, done, &source->code);
}

static cen_status unreadable(cen_error *error, const char *path, int code)
{
    errno = code;
    return ceni_error_set(error, CEN_SYSTEM, code, "cen_events_read_file: cannot read %s: %m", path);
}

cen_status cen_events_read_file(const char *path, void (*show)(void *argument, const cen_event *event), void *argument,
                                cen_error *error)
{
    if (!path || !show)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_events_read_file: the path or the function is NULL");
    file_source source = {0};
    if (ceni_file_open(&source.file, path, &source.code) != CEN_OK) return unreadable(error, path, source.code);
    ceni_dump dump = {.argument = &source, .read = read_file};
    cen_status status = ceni_dump_show(&dump, show, argument);
    ceni_file_close(source.file);
    if (status == CEN_SYSTEM) return unreadable(error, path, source.code);
    if (status == CEN_ABSENT)
        return ceni_error_set(error, status, 0,
                              "cen_events_read_file: no events in %s; it is neither an event file nor a core file of a "
                              "process with cenote",
                              path);
    if (status == CEN_NO_MEMORY)
        return ceni_error_set(error, status, 0, "cen_events_read_file: out of memory for the events in %s", path);
    return status;
}
