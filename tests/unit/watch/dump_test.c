/* SPDX-License-Identifier: MIT */
/* Events in bytes that nobody vouches for. */
#include "watch/dump.h"

#include <stdlib.h>

#include "base/atomic.h"
#include "base/fault.h"
#include "record/ring.h"
#include "support/test.h"

enum { MOST = 4096 };

typedef struct shown {
    size_t count;
    cen_event events[MOST];
} shown;

static shown *seen;

static void show(void *argument, const cen_event *event)
{
    shown *s = argument;
    expect(memchr(event->text, 0, sizeof event->text) && memchr(event->what, 0, sizeof event->what));
    expect(memchr(event->component_name, 0, sizeof event->component_name) != NULL);
    expect(memchr(event->component_kind, 0, sizeof event->component_kind) != NULL);
    expect(memchr(event->part, 0, sizeof event->part) && memchr(event->where, 0, sizeof event->where));
    expect(memchr(event->given_where, 0, sizeof event->given_where) != NULL);
    if (s->count < MOST) s->events[s->count] = *event;
    s->count++;
}

/* A file in memory, that may change when it is read for the second time. */
typedef struct film {
    const unsigned char *bytes;
    size_t size;
    unsigned reads, fails_at; /* 0: never */
    void (*before_second)(void);
} film;

static cen_status read_film(void *argument, uint64_t at, void *bytes, size_t size, size_t *done)
{
    film *f = argument;
    if (++f->reads == f->fails_at) return CEN_SYSTEM;
    if (f->reads == 3 && f->before_second) f->before_second(); /* the search, a ring, the ring again */
    *done = at >= f->size ? 0 : f->size - at < size ? f->size - (size_t)at : size;
    if (*done) memcpy(bytes, f->bytes + at, *done);
    return CEN_OK;
}

static cen_status show_all(film *f)
{
    free(seen);
    seen = calloc(1, sizeof *seen);
    ceni_dump dump = {.argument = f, .read = read_film};
    return ceni_dump_show(&dump, show, seen);
}

static cen_status show_bytes(const void *bytes, size_t size)
{
    film f = {.bytes = bytes, .size = size};
    return show_all(&f);
}

static void write_number(ceni_ring *ring, uint64_t n, int64_t time)
{
    cen_event event = {.time_ns = time, .level = CEN_LEVEL_NOTICE, .component = n, .value = (int64_t)n * 3};
    snprintf(event.what, sizeof event.what, "w%" PRIu64, n);
    snprintf(event.text, sizeof event.text, "This is event %" PRIu64 ".", n);
    ceni_ring_write(ring, &event);
}

/* Makes a ring at a place of a file where nothing is aligned. */
static size_t lay(unsigned char *at, uint32_t places, ceni_ring_tag tag, uint64_t count, int64_t first_time,
                  int64_t step)
{
    size_t size = ceni_ring_size(places);
    void *memory = aligned_alloc(CENI_CACHE_LINE, size);
    memset(memory, 0, size);
    ceni_ring *ring = ceni_ring_init_zeroed(memory, places, tag);
    for (uint64_t n = 0; n < count; n++) write_number(ring, n, first_time + (int64_t)n * step);
    memcpy(at, memory, size);
    free(memory);
    return size;
}

static unsigned char file[3 << 20];

/* guarantees: events.untrusted */
TEST(rings_are_found_wherever_they_stand_and_shown_in_the_order_of_time)
{
    lay(file + 12345, 8, (ceni_ring_tag){7, 0}, 11, 1000, 10);          /* 3 to 10 are left */
    lay(file + (1 << 20) - 100, 4, (ceni_ring_tag){7, 1}, 3, 1005, 50); /* where two blocks meet */
    expect_equal(show_bytes(file, sizeof file), CEN_OK);
    expect_equal(seen->count, 8 + 3);
    int64_t time = 0;
    for (size_t i = 0; i < seen->count; i++) {
        char text[40];
        expect(seen->events[i].time_ns >= time);
        time = seen->events[i].time_ns;
        snprintf(text, sizeof text, "This is event %" PRIu64 ".", seen->events[i].component);
        expect_text(seen->events[i].text, text);
        expect_equal(seen->events[i].value, seen->events[i].component * 3);
        expect_equal(seen->events[i].number, seen->events[i].component);
    }
}

/* guarantees: events.untrusted */
TEST(what_two_rings_of_one_process_both_have_is_shown_once)
{
    size_t size = lay(file, 8, (ceni_ring_tag){7, 0}, 5, 1000, 10);
    size += lay(file + size, 8, (ceni_ring_tag){7, 0}, 7, 1000, 10); /* it had moved, and went on */
    size += lay(file + size, 8, (ceni_ring_tag){8, 0}, 2, 1000, 10); /* another process' */
    expect_equal(show_bytes(file, size), CEN_OK);
    expect_equal(seen->count, 7 + 2);
}

TEST(bytes_without_a_ring_have_no_events)
{
    expect_equal(show_bytes(file, 0), CEN_ABSENT);
    expect_equal(show_bytes(file, sizeof file), CEN_ABSENT);
    memcpy(file + 100, "CENERING", 8); /* the word alone, as in a program's text */
    expect_equal(show_bytes(file, sizeof file), CEN_ABSENT);
    expect_equal(show_bytes(file, 104), CEN_ABSENT);
    lay(file, 2, (ceni_ring_tag){7, 0}, 0, 0, 0);
    expect_equal(show_bytes(file, sizeof file), CEN_OK); /* a process to which nothing has happened */
    expect_equal(seen->count, 0);
}

/* guarantees: events.untrusted */
TEST(a_file_that_was_cut_short_tells_what_is_in_it)
{
    size_t size = lay(file, 8, (ceni_ring_tag){7, 0}, 8, 1000, 10);
    expect_equal(show_bytes(file, size - CENI_RING_PLACE / 2), CEN_OK);
    expect_equal(seen->count, 7);
    expect_equal(show_bytes(file, CENI_RING_HEADER), CEN_OK);
    expect_equal(seen->count, 0);
    expect_equal(show_bytes(file, CENI_RING_HEADER - 1), CEN_ABSENT);
}

static uint64_t *word(uint32_t place, size_t index)
{
    return (uint64_t *)(void *)(file + CENI_RING_HEADER + place * CENI_RING_PLACE + index * 8);
}

/* guarantees: events.untrusted */
TEST(places_that_make_no_sense_are_left_out)
{
    size_t size = lay(file, 8, (ceni_ring_tag){7, 0}, 8, 1000, 10);
    *word(0, 0) = 0;                /* nothing */
    *word(1, 0) = 2 * 9 + 1;        /* its writer died */
    *word(2, 0) = 2 * 3 + 2;        /* belongs elsewhere */
    *word(3, 8) = 9;                /* a level that is none */
    *word(4, 8) |= ~UINT64_C(0xFF); /* lengths beyond all bounds */
    *word(4, 9) = UINT64_MAX;       /* no kind, no cause, and a length */
    *word(5, 0) = UINT64_MAX - 1;   /* the last event that there can be, elsewhere */
    expect_equal(show_bytes(file, size), CEN_OK);
    expect_equal(seen->count, 3); /* 4, 6 and 7 */
    expect_equal(seen->events[0].number, 4);
    expect_equal(seen->events[2].number, 7);
}

/* A writer that overwrites event 2, in the place of event 10, while the file is read. */
static void overwrite(void)
{
    *word(2, 0) = 2 * 10 + 2;
}

/* guarantees: events.untrusted */
TEST(an_event_that_changes_while_it_is_read_is_not_shown)
{
    size_t size = lay(file, 8, (ceni_ring_tag){7, 0}, 8, 1000, 10);
    *word(2, 4) = 10 * 3; /* half of the new event, under the old number */
    film f = {.bytes = file, .size = size, .before_second = overwrite};
    expect_equal(show_all(&f), CEN_OK);
    expect_equal(seen->count, 7);
    for (size_t i = 0; i < 7; i++) expect_equal(seen->events[i].value, seen->events[i].number * 3);
}

/* guarantees: events.untrusted */
TEST(headers_that_lie_about_sizes_are_not_believed)
{
    size_t size = lay(file, 8, (ceni_ring_tag){7, 0}, 8, 1000, 10);
    uint32_t *places = (uint32_t *)(void *)(file + 20);
    *places = UINT32_C(1) << 31;
    expect_equal(show_bytes(file, size), CEN_ABSENT);
    *places = 7;
    expect_equal(show_bytes(file, size), CEN_ABSENT);
    *places = 1 << 16; /* as many as are believed, but the file is shorter */
    expect_equal(show_bytes(file, size), CEN_OK);
    expect_equal(seen->count, 8);
}

/* guarantees: events.untrusted */
TEST(thousands_of_false_rings_do_not_hold_it_up)
{
    unsigned char header[CENI_RING_HEADER + 2 * CENI_RING_PLACE];
    lay(header, 2, (ceni_ring_tag){7, 0}, 0, 0, 0);
    *(uint32_t *)(void *)(header + 20) = 1 << 16;
    for (size_t at = 0; at + sizeof header <= sizeof file; at += CENI_RING_HEADER)
        memcpy(file + at, header, CENI_RING_HEADER);
    expect_equal(show_bytes(file, sizeof file), CEN_OK);
}

TEST(a_file_that_cannot_be_read_to_its_end_shows_nothing)
{
    size_t size = lay(file, 8, (ceni_ring_tag){7, 0}, 8, 1000, 10);
    for (unsigned n = 1; n <= 3; n++) {
        film f = {.bytes = file, .size = size, .fails_at = n};
        expect_equal(show_all(&f), CEN_SYSTEM);
        expect_equal(seen->count, 0);
    }
}

/* guarantees: events.untrusted */
TEST(without_memory_nothing_is_shown)
{
    size_t size = lay(file, 8, (ceni_ring_tag){7, 0}, 8, 1000, 10);
    unsigned faults = 0;
    for (;;) {
        ceni_fault_arm(CENI_FAULT_ALLOC, faults + 1);
        cen_status status = show_bytes(file, size);
        if (!ceni_fault_disarm()) break;
        faults++;
        expect_equal(status, CEN_NO_MEMORY);
        expect_equal(seen->count, 0);
    }
    expect_equal(faults, 4);
    expect_equal(seen->count, 8);
}

/* guarantees: events.untrusted */
TEST(random_damage_is_survived)
{
    uint64_t state = test_seed();
    for (int round = 0; round < 300; round++) {
        size_t size = lay(file, 16, (ceni_ring_tag){7, 0}, 40, 1000, 10);
        size += lay(file + size, 4, (ceni_ring_tag){7, 1}, 3, 1000, 10);
        for (uint64_t hits = test_random(&state) % 40; hits > 0; hits--) {
            size_t at = test_random(&state) % 2 ? test_random(&state) % 64 : test_random(&state) % size;
            file[at] = (unsigned char)test_random(&state);
        }
        cen_status status = show_bytes(file, size - test_random(&state) % 300);
        expect(status == CEN_OK || status == CEN_ABSENT);
    }
}
