/* SPDX-License-Identifier: MIT */
/*
 * Events under every schedule: whoever sleeps for them is woken, rings that move lose
 * nothing unseen, a listener that is ended is told what there was.
 */
#include <cenote/events.h>

#include "base/alloc.h"
#include "record/events.h"
#include "support/world.h"

static _Atomic uint32_t told; /* by the listener; a futex */
static _Atomic uint64_t told_missed;

static void count(void *argument, const cen_event *event, uint64_t missed)
{
    (void)argument;
    (void)event;
    ceni_add_relaxed(&told_missed, missed);
    ceni_add_seq_cst(&told, 1);
    ceni_futex_wake(&told, 1);
}

static void await_told(uint32_t wanted)
{
    for (uint32_t seen; (seen = ceni_load_seq_cst(&told)) < wanted;) ceni_futex_wait(&told, seen, CENI_FOREVER);
}

static void begin(void)
{
    ceni_events_switch_on();
    ceni_store_relaxed(&told, 0);
    ceni_store_relaxed(&told_missed, 0);
}

static void tell(void *argument)
{
    (void)argument;
    cen_event_emit(CEN_LEVEL_NOTICE, "a", NULL);
}

static void trace(void *argument)
{
    (void)argument;
    cen_event_emit(CEN_LEVEL_TRACE, "a", NULL);
}

/* ---- Sleeping, without the listener ------------------------------------------ */

static ceni_cursor reader;

/* As the listener waits. */
static void await_events(void *argument)
{
    bool traces = argument != NULL;
    cen_event event;
    for (;;) {
        ceni_events_lie_down(traces);
        if (ceni_events_take(traces ? CENI_TRACE : CENI_LIFE, &reader, &event) == CEN_OK) break;
        ceni_events_sleep();
    }
    ceni_events_get_up();
}

/* guarantees: events.listener */
EXPLORE(one_who_sleeps_for_events_is_woken_by_them, 4)
{
    begin();
    reader = (ceni_cursor){0};
    ceni_thread sleeper = start("sleeper", await_events, NULL), writer = start("writer", tell, NULL);
    join(writer);
    join(sleeper);
    expect_equal(reader.next, 1);
}

/* guarantees: events.listener */
EXPLORE(one_who_sleeps_for_traces_is_woken_by_them, 3)
{
    begin();
    reader = (ceni_cursor){0};
    ceni_thread sleeper = start("sleeper", await_events, &reader), writer = start("writer", trace, NULL);
    join(writer);
    join(sleeper);
    expect_equal(reader.next, 1);
}

/* The first writer of a place may be overtaken by a whole round: then its event is dropped, and who waits for it is told so. */
static void await_all(void *argument)
{
    cen_event event;
    uint64_t until = (uint64_t)(uintptr_t)argument;
    while (reader.next < until) {
        ceni_events_lie_down(false);
        if (ceni_events_take(CENI_LIFE, &reader, &event) != CEN_OK && reader.next < until) ceni_events_sleep();
    }
    ceni_events_get_up();
}

/* guarantees: events.listener */
EXPLORE(one_who_sleeps_while_two_write_is_told_of_both, 2)
{
    begin();
    reader = (ceni_cursor){0};
    ceni_thread sleeper = start("sleeper", await_all, (void *)2), one = start("one", tell, NULL),
                two = start("two", tell, NULL);
    join(one);
    join(two);
    join(sleeper);
    expect_equal(reader.next, 2);
    expect_equal(reader.missed, 0);
}

/* ---- Moving -------------------------------------------------------------------- */

static void *place;

static void move(void *argument)
{
    (void)argument;
    ceni_events_lay(place);
    ceni_events_move(place);
}

/* guarantees: events.file */
EXPLORE(events_that_is_written_while_the_rings_move_is_read_or_counted, 3)
{
    begin();
    place = ceni_alloc(NULL, ceni_events_size(), CENI_CACHE_LINE);
    tell(NULL);
    ceni_thread writer = start("writer", tell, NULL), mover = start("mover", move, NULL);
    join(writer);
    join(mover);
    tell(NULL);
    ceni_cursor at = {0};
    cen_event event;
    uint64_t read = 0;
    while (ceni_events_take(CENI_LIFE, &at, &event) == CEN_OK) read++;
    expect_equal(at.next, 3);
    expect_equal(read + at.missed, 3);
    expect(at.missed <= 1);
    ceni_free(NULL, place, ceni_events_size(), CENI_CACHE_LINE);
}

/* guarantees: events.file */
EXPLORE(one_who_sleeps_while_the_rings_move_is_told_of_all, 2)
{
    begin();
    reader = (ceni_cursor){0};
    place = ceni_alloc(NULL, ceni_events_size(), CENI_CACHE_LINE);
    ceni_thread sleeper = start("sleeper", await_all, (void *)1), writer = start("writer", tell, NULL);
    move(NULL);
    join(writer);
    join(sleeper);
    expect_equal(reader.next, 1);
    ceni_free(NULL, place, ceni_events_size(), CENI_CACHE_LINE);
}

/* ---- The listener ------------------------------------------------------------------ */

/* guarantees: events.listener */
EXPLORE(a_listener_is_told_while_it_goes_to_sleep, 2)
{
    begin();
    expect_equal(cen_events_listen(CEN_LEVEL_NOTICE, count, NULL, NULL), CEN_OK);
    ceni_thread writer = start("writer", tell, NULL);
    await_told(1); /* for ever, if nobody wakes it */
    join(writer);
    expect_equal(cen_events_listen(CEN_LEVEL_NOTICE, NULL, NULL, NULL), CEN_OK);
    expect_equal(ceni_load_seq_cst(&told), 1);
}

/* guarantees: events.replace */
EXPLORE(a_listener_that_is_ended_is_told_what_there_was_and_no_more, 2)
{
    begin();
    expect_equal(cen_events_listen(CEN_LEVEL_NOTICE, count, NULL, NULL), CEN_OK);
    tell(NULL);
    expect_equal(cen_events_listen(CEN_LEVEL_NOTICE, NULL, NULL, NULL), CEN_OK);
    expect_equal(ceni_load_seq_cst(&told), 1);
    tell(NULL);
    expect_equal(ceni_load_seq_cst(&told), 1);
}

/* guarantees: events.replace */
EXPLORE(a_listener_that_is_ended_does_not_sleep_on, 2)
{
    begin();
    expect_equal(cen_events_listen(CEN_LEVEL_NOTICE, count, NULL, NULL), CEN_OK);
    ceni_thread writer = start("writer", tell, NULL);
    expect_equal(cen_events_listen(CEN_LEVEL_NOTICE, NULL, NULL, NULL), CEN_OK);
    join(writer);
    expect(ceni_load_seq_cst(&told) <= 1);
}

static void listen_too(void *argument)
{
    (void)argument;
    expect_equal(cen_events_listen(CEN_LEVEL_NOTICE, count, NULL, NULL), CEN_OK);
}

/* guarantees: events.replace */
EXPLORE(of_two_who_set_a_listener_at_once_one_stays, 1)
{
    begin();
    ceni_thread other = start("other", listen_too, NULL);
    listen_too(NULL);
    join(other);
    tell(NULL);
    await_told(1);
    expect_equal(cen_events_listen(CEN_LEVEL_NOTICE, NULL, NULL, NULL), CEN_OK);
    expect_equal(ceni_load_seq_cst(&told), 1);
}
