/* SPDX-License-Identifier: MIT */
/* Events as a program reads and writes them. */
#include <cenote/events.h>

#include "record/events.h"
#include "support/test.h"

/* guarantees: events.order */
TEST(what_a_program_tells_can_be_read)
{
    cen_event_cursor at = {0};
    cen_event event = {.value = 77};
    expect_equal(cen_events_read(&at, &event), CEN_EMPTY);
    expect_equal(event.value, 77); /* written only on OK */
    expect_equal(cen_events_total(), 0);
    cen_event_emit(CEN_LEVEL_NOTICE, "started", "The service has started.");
    expect_equal(cen_events_total(), 1);
    expect_equal(cen_events_read(&at, &event), CEN_OK);
    expect_text(event.what, "started");
    expect_text(event.text, "The service has started.");
    expect_equal(event.level, CEN_LEVEL_NOTICE);
    expect_equal(event.component, 0);
    expect_equal(event.value, 0);
    expect_equal(cen_events_read(&at, &event), CEN_EMPTY);
    cen_event_emit(CEN_LEVEL_NOTICE, NULL, NULL);
    expect_equal(cen_events_read(&at, &event), CEN_OK);
    expect_text(event.what, "");
    expect_text(event.text, "");
}

/* guarantees: events.order */
TEST(both_rings_are_read_as_one_stream_in_the_order_of_time)
{
    for (int i = 0; i < 300; i++) cen_event_emit(i % 3 ? CEN_LEVEL_TRACE : CEN_LEVEL_ERROR, "a", "b");
    cen_event_cursor at = {0};
    cen_event event;
    int64_t time = 0;
    uint64_t life = 0, traces = 0;
    while (cen_events_read(&at, &event) == CEN_OK) {
        expect(event.time_ns >= time);
        time = event.time_ns;
        expect_equal(event.number, event.level == CEN_LEVEL_TRACE ? traces : life);
        if (event.level == CEN_LEVEL_TRACE) traces++;
        else life++;
    }
    expect_equal(life, 100);
    expect_equal(traces, 200);
    expect_equal(at.next, 100);
    expect_equal(at.next_trace, 200);
    expect_equal(cen_events_total(), 100); /* traces are not counted */
}

/* guarantees: events.order */
TEST(a_reader_that_comes_late_learns_how_many_it_missed_of_each)
{
    for (int i = 0; i < 2100; i++) cen_event_emit(CEN_LEVEL_NOTICE, "a", NULL);
    for (int i = 0; i < 1100; i++) cen_event_emit(CEN_LEVEL_TRACE, "b", NULL);
    cen_event_cursor at = {0};
    cen_event event;
    uint64_t read = 0;
    while (cen_events_read(&at, &event) == CEN_OK) read++;
    expect_equal(read, 2048 + 1024);
    expect_equal(at.missed, 2100 - 2048);
    expect_equal(at.missed_trace, 1100 - 1024);
}

TEST(a_reader_without_cursor_or_room_is_told_so)
{
    cen_event_cursor at = {0};
    cen_event event;
    expect_equal(cen_events_read(NULL, &event), CEN_INVALID);
    expect_equal(cen_events_read(&at, NULL), CEN_INVALID);
}

TEST(levels_have_names)
{
    expect_text(cen_event_level_name(CEN_LEVEL_TRACE), "trace");
    expect_text(cen_event_level_name(CEN_LEVEL_DETAIL), "detail");
    expect_text(cen_event_level_name(CEN_LEVEL_NOTICE), "notice");
    expect_text(cen_event_level_name(CEN_LEVEL_WARNING), "warning");
    expect_text(cen_event_level_name(CEN_LEVEL_ERROR), "error");
    expect_text(cen_event_level_name((cen_event_level)0), "?");
    expect_text(cen_event_level_name((cen_event_level)6), "?");
    expect_text(cen_event_level_name((cen_event_level)-1), "?");
}
