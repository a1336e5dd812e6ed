/* SPDX-License-Identifier: MIT */
#include "record/ring.h"

#include "base/atomic.h"
#include "base/fault.h"
#include "port/port.h"
#include "support/test.h"

/* The layout of version 1, written down once more: what a tool that reads a
 * dump relies on. */
enum { HEADER_BYTES = 256, PLACE_BYTES = 128 };

static ceni_ring *ring;

static void begin(uint32_t places)
{
    ring = ceni_ring_new(places, NULL);
    expect(ring != NULL);
}

/* An event all of whose parts follow from one number. */
static ceni_event event_of(uint64_t n)
{
    ceni_event event = {.time = (int64_t)n, .kind = (uint32_t)n, .first = n * 3, .second = ~n};
    snprintf(event.text, sizeof event.text, "%0*" PRIu64, (int)(n % 70) + 1, n);
    return event;
}

static void expect_whole(const ceni_event *event)
{
    ceni_event right = event_of((uint64_t)event->time);
    expect_equal(event->kind, right.kind);
    expect_equal(event->first, right.first);
    expect_equal(event->second, right.second);
    expect_text(event->text, right.text);
}

static void write_number(uint64_t n)
{
    ceni_event event = event_of(n);
    expect(ceni_ring_write(ring, &event));
}

TEST(events_are_read_as_they_were_written_and_in_order)
{
    begin(8);
    for (uint64_t n = 0; n < 8; n++) write_number(n);
    ceni_cursor cursor = {0};
    ceni_event event;
    for (int64_t n = 0; n < 8; n++) {
        expect_equal(ceni_ring_read(ring, &cursor, &event), CEN_OK);
        expect_equal(event.time, n);
        expect_whole(&event);
    }
    expect_equal(ceni_ring_read(ring, &cursor, &event), CEN_EMPTY);
    expect_equal(event.time, 7); /* written only on OK */
    expect_equal(cursor.missed, 0);
    ceni_ring_free(ring, NULL);
}

TEST(the_newest_overwrite_the_oldest_and_the_reader_learns_how_many_it_missed)
{
    begin(4);
    ceni_cursor cursor = {0};
    ceni_event event;
    for (uint64_t n = 0; n < 11; n++) write_number(n);
    for (int64_t n = 7; n < 11; n++) {
        expect_equal(ceni_ring_read(ring, &cursor, &event), CEN_OK);
        expect_equal(event.time, n);
        expect_whole(&event);
    }
    expect_equal(ceni_ring_read(ring, &cursor, &event), CEN_EMPTY);
    expect_equal(cursor.missed, 7);
    expect_equal(ceni_ring_begun(ring), 11);
    expect_equal(ceni_ring_dropped(ring), 0);
    ceni_ring_free(ring, NULL);
}

TEST(a_longer_text_is_cut_and_a_shorter_one_shows_nothing_of_its_forerunner)
{
    begin(2);
    ceni_event longest = {.kind = 1}, shortest = {.kind = 2, .text = "ab"}, none = {.kind = 3}, read;
    memset(longest.text, 'x', sizeof longest.text);
    ceni_cursor cursor = {0};
    ceni_ring_write(ring, &longest);
    ceni_ring_write(ring, &longest);
    expect_equal(ceni_ring_read(ring, &cursor, &read), CEN_OK);
    expect_equal(strlen(read.text), CENI_EVENT_TEXT - 1);
    ceni_ring_write(ring, &shortest);
    ceni_ring_write(ring, &none);
    cursor.next = 2;
    expect_equal(ceni_ring_read(ring, &cursor, &read), CEN_OK);
    expect_text(read.text, "ab");
    expect_equal(ceni_ring_read(ring, &cursor, &read), CEN_OK);
    expect_text(read.text, "");
    ceni_ring_free(ring, NULL);
}

TEST(the_number_of_places_is_rounded_up_to_a_power_of_two)
{
    expect_equal(ceni_ring_size(0), HEADER_BYTES + 2 * PLACE_BYTES);
    expect_equal(ceni_ring_size(3), HEADER_BYTES + 4 * PLACE_BYTES);
    expect_equal(ceni_ring_size(1024), HEADER_BYTES + 1024 * PLACE_BYTES);
}

TEST(a_ring_without_memory_is_not_made)
{
    ceni_fault_arm(CENI_FAULT_ALLOC, 1);
    expect(ceni_ring_new(4, NULL) == NULL);
    expect(ceni_fault_disarm());
    ceni_ring_free(NULL, NULL);
}

/* ---- A writer that stopped in the middle --------------------------------- */

/* The sequence of a place, to be set as a writer that was descheduled or
 * killed in the middle of its event would have left it. */
static _Atomic uint64_t *sequence(uint32_t place)
{
    return (_Atomic uint64_t *)(void *)((char *)ring + HEADER_BYTES + place * PLACE_BYTES);
}

TEST(an_unfinished_event_is_waited_for_until_it_is_skipped)
{
    begin(4);
    for (uint64_t n = 0; n < 3; n++) write_number(n);
    ceni_store_relaxed(sequence(1), 2 * 1 + 1);
    ceni_cursor cursor = {0};
    ceni_event event;
    expect_equal(ceni_ring_read(ring, &cursor, &event), CEN_OK);
    expect_equal(ceni_ring_read(ring, &cursor, &event), CEN_EMPTY);
    expect_equal(ceni_ring_read(ring, &cursor, &event), CEN_EMPTY);
    expect_equal(cursor.missed, 0);
    expect(ceni_ring_skip(ring, &cursor));
    expect_equal(cursor.missed, 1);
    expect_equal(ceni_ring_read(ring, &cursor, &event), CEN_OK);
    expect_equal(event.time, 2);
    expect(!ceni_ring_skip(ring, &cursor));
    ceni_ring_free(ring, NULL);
}

TEST(a_place_whose_writer_stopped_drops_events_and_nobody_waits)
{
    begin(4);
    for (uint64_t n = 0; n < 4; n++) write_number(n);
    ceni_store_relaxed(sequence(1), 2 * 1 + 1);
    ceni_event event;
    for (uint64_t n = 4; n < 12; n++) {
        event = event_of(n);
        expect_equal(ceni_ring_write(ring, &event), n % 4 != 1);
    }
    expect_equal(ceni_ring_dropped(ring), 2);
    ceni_cursor cursor = {0};
    for (int64_t n = 8; n < 12; n++) {
        if (n == 9) continue;
        expect_equal(ceni_ring_read(ring, &cursor, &event), CEN_OK);
        expect_equal(event.time, n);
    }
    expect_equal(cursor.missed, 9); /* eight overwritten or dropped, and the ninth */
    ceni_ring_free(ring, NULL);
}

TEST(a_writer_that_was_lapped_drops_its_own_event)
{
    begin(4);
    write_number(0);
    ceni_store_relaxed(sequence(1), 2 * 5 + 2); /* event 5 is there before event 1 */
    ceni_event event = event_of(1);
    expect(!ceni_ring_write(ring, &event));
    expect_equal(ceni_load_relaxed(sequence(1)), 2 * 5 + 2);
    expect_equal(ceni_ring_dropped(ring), 1);
    ceni_ring_free(ring, NULL);
}

TEST(of_two_events_dropped_at_one_place_the_later_is_remembered)
{
    begin(4);
    for (uint64_t n = 0; n < 4; n++) write_number(n);
    ceni_store_relaxed(sequence(1), 2 * 1 + 1);
    _Atomic uint64_t *next = (_Atomic uint64_t *)(void *)((char *)ring + CENI_LINE);
    ceni_event event = event_of(9);
    ceni_store_relaxed(next, 9);
    expect(!ceni_ring_write(ring, &event));
    ceni_store_relaxed(next, 5); /* a slower writer notes its drop after a faster one */
    expect(!ceni_ring_write(ring, &event));
    ceni_store_relaxed(next, 10);
    ceni_cursor cursor = {.next = 9};
    expect_equal(ceni_ring_read(ring, &cursor, &event), CEN_EMPTY);
    expect_equal(cursor.next, 10); /* not waiting for event 9 */
    ceni_ring_free(ring, NULL);
}

/* ---- Dumps --------------------------------------------------------------- */

static _Alignas(CENI_LINE) unsigned char dump[8192];

TEST(a_copy_of_the_memory_can_be_read_after_the_ring_is_gone)
{
    begin(8);
    for (uint64_t n = 0; n < 13; n++) write_number(n);
    ceni_store_relaxed(sequence(3), 2 * 11 + 1); /* the process died while writing event 11 */
    memcpy(dump, ring, ceni_ring_size(8));
    ceni_ring_free(ring, NULL);
    const ceni_ring *dumped = ceni_ring_find(dump, sizeof dump);
    expect(dumped != NULL);
    expect(memcmp(dump, "CENERING", 8) == 0);
    ceni_cursor cursor = {0};
    ceni_event event;
    int found = 0;
    do {
        while (ceni_ring_read(dumped, &cursor, &event) == CEN_OK) {
            expect_whole(&event);
            found++;
        }
    } while (ceni_ring_skip(dumped, &cursor));
    expect_equal(found, 7);
    expect_equal(event.time, 12);
    expect_equal(cursor.missed, 6);
}

TEST(memory_that_is_no_whole_ring_is_not_found)
{
    size_t size = ceni_ring_size(4);
    expect(ceni_ring_find(dump, size) == NULL); /* zeros */
    ceni_ring_init(dump, 4);
    expect(ceni_ring_find(dump, size) != NULL);
    expect(ceni_ring_find(dump, size - 1) == NULL);
    expect(ceni_ring_find(dump, 8) == NULL);
    expect(ceni_ring_find(dump + 8, size) == NULL);
    for (size_t byte = 0; byte < 28; byte++) { /* magic, version and sizes */
        dump[byte] ^= 0x81;
        expect(ceni_ring_find(dump, sizeof dump) == NULL);
        dump[byte] ^= 0x81;
    }
}

/* ---- Threads ------------------------------------------------------------- */

enum { WRITERS = 3, EVENTS = 400 };

static _Atomic uint32_t dropped_by_writers;

static void write_many(void *argument)
{
    uint64_t first = (uint64_t)(uintptr_t)argument * EVENTS;
    for (uint64_t n = 0; n < EVENTS; n++) {
        ceni_event event = event_of(first + n);
        if (!ceni_ring_write(ring, &event)) ceni_add_relaxed(&dropped_by_writers, 1);
    }
}

TEST(readers_see_only_whole_events_while_writers_overwrite_them)
{
    begin(4);
    ceni_thread threads[WRITERS];
    int code;
    for (uintptr_t i = 0; i < WRITERS; i++)
        expect_equal(ceni_thread_start(&threads[i], "write", write_many, (void *)i, &code), CEN_OK);
    ceni_cursor cursor = {0};
    ceni_event event;
    uint64_t read = 0;
    while (cursor.next < WRITERS * EVENTS) {
        if (ceni_ring_read(ring, &cursor, &event) != CEN_OK) {
            ceni_thread_yield();
            continue;
        }
        expect_whole(&event);
        read++;
    }
    for (int i = 0; i < WRITERS; i++) ceni_thread_join(&threads[i]);
    expect_equal(ceni_ring_begun(ring), WRITERS * EVENTS);
    expect_equal(read + cursor.missed, WRITERS * EVENTS);
    expect_equal(ceni_ring_dropped(ring), ceni_load_relaxed(&dropped_by_writers));
    ceni_ring_free(ring, NULL);
}
