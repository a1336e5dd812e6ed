/* SPDX-License-Identifier: MIT */
/* The ring under every schedule: no mixture of events is ever believed. */
#include "record/ring.h"
#include "support/world.h"

static ceni_ring *ring;

static cen_event event_of(uint64_t n)
{
    return (cen_event){.time_ns = (int64_t)n,
                       .level = CEN_LEVEL_NOTICE,
                       .component = n,
                       .value = (int64_t)n,
                       .text = {(char)('a' + n), 0}};
}

static void write_number(uint64_t n)
{
    cen_event event = event_of(n);
    ceni_ring_write(ring, &event);
}

static void expect_whole(const cen_event *event)
{
    expect_equal(event->component, event->time_ns);
    expect_equal(event->value, event->time_ns);
    expect_equal(event->text[0], 'a' + event->time_ns);
    expect_equal(event->text[1], 0);
}

static void write_one(void *argument)
{
    write_number((uint64_t)(uintptr_t)argument);
}

static void write_two(void *argument)
{
    write_number((uint64_t)(uintptr_t)argument);
    write_number((uint64_t)(uintptr_t)argument + 1);
}

static uint64_t read_what_is_there(ceni_cursor *cursor)
{
    cen_event event;
    uint64_t read = 0;
    for (; ceni_ring_read(ring, cursor, &event) == CEN_OK; read++) expect_whole(&event);
    return read;
}

/* guarantees: record.ring, events.order */
EXPLORE(a_reader_never_believes_an_event_that_is_being_overwritten, 4)
{
    ring = ceni_ring_new(2, NULL);
    write_number(0);
    write_number(1);
    ceni_thread writer = start("writer", write_one, (void *)2);
    ceni_cursor cursor = {0};
    uint64_t read = read_what_is_there(&cursor);
    join(writer);
    read += read_what_is_there(&cursor);
    expect_equal(read + cursor.missed, 3);
    expect_equal(ceni_ring_dropped(ring), 0); /* one writer alone meets nobody */
    ceni_ring_free(ring, NULL);
}

/* Of the three events the first and the last share a place. */
/* guarantees: events.order */
EXPLORE(a_writer_that_is_lapped_spoils_nothing_and_every_event_is_accounted_for, 3)
{
    ring = ceni_ring_new(2, NULL);
    ceni_thread slow = start("slow", write_one, (void *)9), fast = start("fast", write_two, (void *)1);
    ceni_cursor cursor = {0};
    uint64_t read = read_what_is_there(&cursor);
    join(slow);
    join(fast);
    read += read_what_is_there(&cursor);
    expect_equal(ceni_ring_begun(ring), 3);
    expect_equal(cursor.next, 3); /* no dropped event is waited for */
    expect_equal(read + cursor.missed, 3);
    ceni_ring_free(ring, NULL);
}

/* ---- Moving ---------------------------------------------------------------- */

static ceni_ring *next_ring;

/* As events.c writes. */
static void write_wherever(uint64_t n)
{
    cen_event event = event_of(n);
    bool left;
    uint64_t number = ceni_ring_number(ring, &left);
    ceni_ring_put(left ? next_ring : ring, number, &event);
}

static void write_one_wherever(void *argument)
{
    write_wherever((uint64_t)(uintptr_t)argument);
}

/* guarantees: events.file */
EXPLORE(a_ring_that_moves_while_others_write_loses_nothing_unseen, 3)
{
    ring = ceni_ring_new(4, NULL);
    next_ring = ceni_ring_new(4, NULL);
    write_wherever(0);
    ceni_thread one = start("one", write_one_wherever, (void *)1), two = start("two", write_one_wherever, (void *)2);
    ceni_ring_copy(ring, ceni_ring_leave(ring), next_ring);
    join(one);
    join(two);
    ceni_cursor cursor = {0};
    cen_event event;
    uint64_t read = 0;
    for (; ceni_ring_read_up_to(next_ring, ceni_ring_begun(ring), &cursor, &event) == CEN_OK; read++)
        expect_whole(&event);
    expect_equal(cursor.next, 3); /* nothing is awaited that will not come */
    expect_equal(read + cursor.missed, 3);
    expect(read >= 1 && cursor.missed <= 2);
    ceni_ring_free(ring, NULL);
    ceni_ring_free(next_ring, NULL);
}
