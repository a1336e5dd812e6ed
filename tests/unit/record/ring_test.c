/* SPDX-License-Identifier: MIT */
#include "record/ring.h"

#include "base/atomic.h"
#include "base/fault.h"
#include "port/port.h"
#include "support/test.h"

/* The layout of version 3, written down once more: what a tool that reads a
 * dump relies on. */
enum { HEADER_BYTES = 256, PLACE_BYTES = 832 };

static ceni_ring *ring;

static void begin(uint32_t places)
{
    ring = ceni_ring_new(places, NULL);
    expect(ring != NULL);
}

/* An event all of whose parts follow from one number. */
static cen_event event_of(uint64_t n)
{
    cen_event event = {.time_ns = (int64_t)n,
                       .level = (cen_event_level)(n % 5 + 1),
                       .kind = (cen_event_kind)(n % 50),
                       .component = n * 3,
                       .holder = n * 5,
                       .held_ns = (int64_t)(n * 7),
                       .value = (int64_t)~n,
                       .status = (cen_status)(n % 20),
                       .code = (int)(n % 3) - 1,
                       .cause = (cen_cause)(n % 11)};
    snprintf(event.what, sizeof event.what, "%0*" PRIu64, (int)(n % 22) + 1, n);
    snprintf(event.component_kind, sizeof event.component_kind, "%0*" PRIu64, (int)(n % 13) + 1, n);
    snprintf(event.component_name, sizeof event.component_name, "%0*" PRIu64, (int)(n % 30) + 1, n);
    snprintf(event.part, sizeof event.part, "%0*" PRIu64, (int)(n % 47) + 1, n);
    snprintf(event.where, sizeof event.where, "%0*" PRIu64, (int)(n % 61) + 1, n);
    snprintf(event.given_where, sizeof event.given_where, "%0*" PRIu64, (int)(n % 59) + 1, n);
    snprintf(event.text, sizeof event.text, "%0*" PRIu64, (int)(n % 320) + 1, n);
    return event;
}

static void expect_whole(const cen_event *event)
{
    cen_event right = event_of((uint64_t)event->time_ns);
    expect_equal(event->level, right.level);
    expect_equal(event->component, right.component);
    expect_equal(event->value, right.value);
    expect_equal(event->kind, right.kind);
    expect_equal(event->holder, right.holder);
    expect_equal(event->held_ns, right.held_ns);
    expect_equal(event->status, right.status);
    expect_equal(event->code, right.code);
    expect_equal(event->cause, right.cause);
    expect_text(event->what, right.what);
    expect_text(event->component_kind, right.component_kind);
    expect_text(event->component_name, right.component_name);
    expect_text(event->part, right.part);
    expect_text(event->where, right.where);
    expect_text(event->given_where, right.given_where);
    expect_text(event->text, right.text);
}

static void write_number(uint64_t n)
{
    cen_event event = event_of(n);
    expect(ceni_ring_write(ring, &event));
}

/* guarantees: record.ring */
TEST(events_are_read_as_they_were_written_and_in_order)
{
    begin(8);
    for (uint64_t n = 0; n < 8; n++) write_number(n);
    ceni_cursor cursor = {0};
    cen_event event;
    for (int64_t n = 0; n < 8; n++) {
        expect_equal(ceni_ring_read(ring, &cursor, &event), CEN_OK);
        expect_equal(event.time_ns, n);
        expect_whole(&event);
    }
    expect_equal(ceni_ring_read(ring, &cursor, &event), CEN_EMPTY);
    expect_equal(event.time_ns, 7); /* written only on OK */
    expect_equal(cursor.missed, 0);
    ceni_ring_free(ring, NULL);
}

/* guarantees: record.ring */
TEST(the_newest_overwrite_the_oldest_and_the_reader_learns_how_many_it_missed)
{
    begin(4);
    ceni_cursor cursor = {0};
    cen_event event;
    for (uint64_t n = 0; n < 11; n++) write_number(n);
    for (int64_t n = 7; n < 11; n++) {
        expect_equal(ceni_ring_read(ring, &cursor, &event), CEN_OK);
        expect_equal(event.time_ns, n);
        expect_whole(&event);
    }
    expect_equal(ceni_ring_read(ring, &cursor, &event), CEN_EMPTY);
    expect_equal(cursor.missed, 7);
    expect_equal(ceni_ring_begun(ring), 11);
    expect_equal(ceni_ring_dropped(ring), 0);
    ceni_ring_free(ring, NULL);
}

static void fill_texts(cen_event *event, int with, size_t length)
{
    char *texts[] = {event->what, event->component_kind, event->component_name,
                     event->part, event->where,          event->given_where,
                     event->text};
    size_t sizes[] = {sizeof event->what, sizeof event->component_kind, sizeof event->component_name,
                      sizeof event->part, sizeof event->where,          sizeof event->given_where,
                      sizeof event->text};
    for (int i = 0; i < 7; i++) memset(texts[i], with, length < sizes[i] ? length : sizes[i]);
}

static void expect_lengths(const cen_event *event, size_t most)
{
    const char *texts[] = {event->what, event->component_kind, event->component_name,
                           event->part, event->where,          event->given_where,
                           event->text};
    size_t sizes[] = {sizeof event->what, sizeof event->component_kind, sizeof event->component_name,
                      sizeof event->part, sizeof event->where,          sizeof event->given_where,
                      sizeof event->text};
    for (int i = 0; i < 7; i++) expect_equal(strlen(texts[i]), most < sizes[i] ? most : sizes[i] - 1);
}

/* guarantees: events.texts */
TEST(a_longer_text_is_cut_and_a_shorter_one_shows_nothing_of_its_forerunner)
{
    begin(2);
    cen_event longest = {.component = 1}, shortest = {.component = 2}, none = {.component = 3}, read;
    fill_texts(&longest, 'x', SIZE_MAX);
    fill_texts(&shortest, 'y', 2);
    ceni_cursor cursor = {0};
    ceni_ring_write(ring, &longest);
    ceni_ring_write(ring, &longest);
    expect_equal(ceni_ring_read(ring, &cursor, &read), CEN_OK);
    expect_lengths(&read, SIZE_MAX);
    ceni_ring_write(ring, &shortest);
    ceni_ring_write(ring, &none);
    cursor.next = 2;
    expect_equal(ceni_ring_read(ring, &cursor, &read), CEN_OK);
    expect_lengths(&read, 2);
    expect_text(read.text, "yy");
    expect_equal(ceni_ring_read(ring, &cursor, &read), CEN_OK);
    expect_lengths(&read, 0);
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
    cen_event event;
    expect_equal(ceni_ring_read(ring, &cursor, &event), CEN_OK);
    expect_equal(ceni_ring_read(ring, &cursor, &event), CEN_EMPTY);
    expect_equal(ceni_ring_read(ring, &cursor, &event), CEN_EMPTY);
    expect_equal(cursor.missed, 0);
    expect(ceni_ring_skip(ring, &cursor));
    expect_equal(cursor.missed, 1);
    expect_equal(ceni_ring_read(ring, &cursor, &event), CEN_OK);
    expect_equal(event.time_ns, 2);
    expect(!ceni_ring_skip(ring, &cursor));
    ceni_ring_free(ring, NULL);
}

/* guarantees: events.writers */
TEST(a_place_whose_writer_stopped_drops_events_and_nobody_waits)
{
    begin(4);
    for (uint64_t n = 0; n < 4; n++) write_number(n);
    ceni_store_relaxed(sequence(1), 2 * 1 + 1);
    cen_event event;
    for (uint64_t n = 4; n < 12; n++) {
        event = event_of(n);
        expect_equal(ceni_ring_write(ring, &event), n % 4 != 1);
    }
    expect_equal(ceni_ring_dropped(ring), 2);
    ceni_cursor cursor = {0};
    for (int64_t n = 8; n < 12; n++) {
        if (n == 9) continue;
        expect_equal(ceni_ring_read(ring, &cursor, &event), CEN_OK);
        expect_equal(event.time_ns, n);
    }
    expect_equal(cursor.missed, 9); /* eight overwritten or dropped, and the ninth */
    ceni_ring_free(ring, NULL);
}

/* guarantees: events.writers */
TEST(a_writer_that_was_lapped_drops_its_own_event)
{
    begin(4);
    write_number(0);
    ceni_store_relaxed(sequence(1), 2 * 5 + 2); /* event 5 is there before event 1 */
    cen_event event = event_of(1);
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
    _Atomic uint64_t *next = (_Atomic uint64_t *)(void *)((char *)ring + CENI_CACHE_LINE);
    cen_event event = event_of(9);
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

static _Alignas(CENI_CACHE_LINE) unsigned char dump[8192];

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
    cen_event event;
    int found = 0;
    do {
        while (ceni_ring_read(dumped, &cursor, &event) == CEN_OK) {
            expect_whole(&event);
            found++;
        }
    } while (ceni_ring_skip(dumped, &cursor));
    expect_equal(found, 7);
    expect_equal(event.time_ns, 12);
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
    for (size_t byte = 0; byte < 24; byte++) { /* magic, version and sizes */
        dump[byte] ^= 0x81;
        expect(ceni_ring_find(dump, sizeof dump) == NULL);
        dump[byte] ^= 0x81;
    }
}

TEST(a_place_is_looked_at_without_trusting_the_rest)
{
    begin(4);
    for (uint64_t n = 0; n < 6; n++) write_number(n);
    cen_event event;
    expect(ceni_ring_look(ring, 1, &event));
    expect_equal(event.number, 5);
    expect_whole(&event);
    ceni_store_relaxed(sequence(1), 2 * 5 + 1); /* its writer died */
    expect(!ceni_ring_look(ring, 1, &event));
    ceni_store_relaxed(sequence(1), 2 * 6 + 2); /* an event of another place */
    expect(!ceni_ring_look(ring, 1, &event));
    ceni_store_relaxed(sequence(1), 0);
    expect(!ceni_ring_look(ring, 1, &event));
    expect(ceni_ring_look(ring, 2, &event));
    _Atomic uint64_t *shape = sequence(2) + 8, *meaning = shape + 1;
    ceni_store_relaxed(shape, UINT64_C(0xFFFFFFFFFFFFFF00) | 2); /* lengths beyond all bounds */
    ceni_store_relaxed(meaning, UINT64_MAX);
    expect(ceni_ring_look(ring, 2, &event));
    expect_equal(strnlen(event.text, sizeof event.text) < sizeof event.text, 1);
    expect_equal(strnlen(event.where, sizeof event.where) < sizeof event.where, 1);
    ceni_store_relaxed(shape, 77); /* no level */
    expect(!ceni_ring_look(ring, 2, &event));
    ceni_ring_free(ring, NULL);
}

/* ---- Moving -------------------------------------------------------------- */

/* guarantees: events.file */
TEST(a_ring_that_moves_takes_along_what_is_whole_and_counts_what_is_not)
{
    begin(4);
    ceni_ring *other = ceni_ring_new(4, NULL);
    expect(other != NULL);
    for (uint64_t n = 0; n < 6; n++) write_number(n);
    ceni_store_relaxed(sequence(0), 2 * 4 + 1); /* event 4 is being written */
    expect(!ceni_ring_is_left(ring));
    expect_equal(ceni_ring_leave(ring), 6);
    expect(ceni_ring_is_left(ring));
    ceni_ring_copy(ring, 6, other);
    bool left;
    expect_equal(ceni_ring_number(ring, &left), 6);
    expect(left);
    cen_event event = event_of(6);
    expect(ceni_ring_put(other, 6, &event));
    expect_equal(ceni_ring_begun(ring), 7);
    ceni_cursor cursor = {0};
    for (int64_t n = 3; n < 7; n++) {
        if (n == 4) continue;
        expect_equal(ceni_ring_read_up_to(other, 7, &cursor, &event), CEN_OK);
        expect_equal(event.number, n);
        expect_whole(&event);
    }
    expect_equal(ceni_ring_read_up_to(other, 7, &cursor, &event), CEN_EMPTY);
    expect_equal(cursor.next, 7);
    expect_equal(cursor.missed, 4); /* three were overwritten, and the one that was being written */
    ceni_ring_free(ring, NULL);
    ceni_ring_free(other, NULL);
}

TEST(what_a_ring_has_used_can_be_wiped)
{
    begin(8);
    for (uint64_t n = 0; n < 3; n++) write_number(n);
    ceni_ring_leave(ring);
    ceni_ring_wipe(ring, 8);
    const unsigned char *bytes = (const unsigned char *)ring;
    for (size_t i = 0; i < ceni_ring_size(8); i++) expect_equal(bytes[i], 0);
    ceni_ring *made = ceni_ring_init_zeroed(ring, 8, (ceni_ring_tag){.process = 77, .stream = 1});
    expect_equal(ceni_ring_tag_of(made).process, 77);
    expect_equal(ceni_ring_tag_of(made).stream, 1);
    expect_equal(ceni_ring_begun(made), 0);
    expect(!ceni_ring_is_left(made));
    for (uint64_t n = 0; n < 20; n++) write_number(n); /* round and round */
    ceni_ring_wipe(ring, 8);
    for (size_t i = 0; i < ceni_ring_size(8); i++) expect_equal(bytes[i], 0);
    ceni_ring_init(ring, 8);
    ceni_ring_free(ring, NULL);
}

/* ---- Threads ------------------------------------------------------------- */

enum { WRITERS = 3, EVENTS = 400 };

static _Atomic uint32_t dropped_by_writers;

static void write_many(void *argument)
{
    uint64_t first = (uint64_t)(uintptr_t)argument * EVENTS;
    for (uint64_t n = 0; n < EVENTS; n++) {
        cen_event event = event_of(first + n);
        if (!ceni_ring_write(ring, &event)) ceni_add_relaxed(&dropped_by_writers, 1);
    }
}

/* guarantees: record.ring */
TEST(readers_see_only_whole_events_while_writers_overwrite_them)
{
    begin(4);
    ceni_thread threads[WRITERS];
    int code;
    for (uintptr_t i = 0; i < WRITERS; i++)
        expect_equal(ceni_thread_start(&threads[i], "write", write_many, (void *)i, &code), CEN_OK);
    ceni_cursor cursor = {0};
    cen_event event;
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
