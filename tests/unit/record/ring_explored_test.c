/* SPDX-License-Identifier: MIT */
/* The ring under every schedule: no mixture of events is ever believed. */
#include "record/ring.h"
#include "support/world.h"

static ceni_ring *ring;

static void write_number(uint64_t n)
{
    ceni_event event = {.time = (int64_t)n, .kind = (uint32_t)n, .first = n, .second = n, .text = {(char)('a' + n), 0}};
    ceni_ring_write(ring, &event);
}

static void expect_whole(const ceni_event *event)
{
    expect_equal(event->kind, event->time);
    expect_equal(event->first, event->time);
    expect_equal(event->second, event->time);
    expect_equal(event->text[0], 'a' + event->time);
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
    ceni_event event;
    uint64_t read = 0;
    for (; ceni_ring_read(ring, cursor, &event) == CEN_OK; read++) expect_whole(&event);
    return read;
}

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
