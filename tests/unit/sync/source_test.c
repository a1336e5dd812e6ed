/* SPDX-License-Identifier: MIT */
/* The sources: after, tick and never. */
#include "unit/sync/queues.h"

/* One pop of a moment in a thread of its own. */
typedef struct moment_call {
    cen_queue *source;
    cen_deadline deadline;
    int64_t moment;
    cen_status status;
    bool returned;
    ceni_thread thread;
} moment_call;

static void call_pop_moment(void *argument)
{
    moment_call *one = argument;
    one->status = cen_queue_pop_until(one->source, one->deadline, &one->moment);
    one->returned = true;
}

static void begin_pop_moment(moment_call *one, cen_queue *source, cen_deadline deadline)
{
    *one = (moment_call){.source = source, .deadline = deadline, .moment = UNSET};
    one->thread = start("pop", call_pop_moment, one);
    ceni_world_settle();
}

static void expect_moment(moment_call *one, cen_status status, int64_t moment)
{
    ceni_world_settle();
    expect(one->returned);
    join(one->thread);
    expect_equal(one->status, status);
    expect_equal(one->moment, moment);
}

static cen_queue *make_after(cen_deadline deadline)
{
    cen_queue *source;
    expect_equal(cen_queue_after(deadline, &source, NULL), CEN_OK);
    return source;
}

static cen_queue *make_tick(int64_t period)
{
    cen_queue *source;
    expect_equal(cen_queue_tick(period, &source, NULL), CEN_OK);
    return source;
}

static cen_queue *make_never(void)
{
    cen_queue *source;
    expect_equal(cen_queue_never(&source, NULL), CEN_OK);
    return source;
}

static void expect_nothing_yet(cen_queue *source)
{
    int64_t moment = UNSET;
    expect_equal(cen_queue_length(source), 0);
    expect_equal(cen_queue_try_pop(source, &moment), CEN_EMPTY);
    expect_equal(moment, UNSET);
}

static void expect_due(cen_queue *source, int64_t due)
{
    int64_t moment = UNSET;
    expect_equal(cen_queue_length(source), 1);
    expect_equal(cen_queue_try_pop(source, &moment), CEN_OK);
    expect_equal(moment, due);
}

/* ---- All sources ------------------------------------------------------------------ */

/* guarantees: source.pop-only */
TEST(a_source_is_not_made_from_nonsense_and_writes_nothing_then)
{
    cen_queue *const untouched = (cen_queue *)(uintptr_t)16;
    cen_queue *source = untouched;
    expect_equal(cen_queue_after(CEN_NOW, NULL, NULL), CEN_INVALID);
    expect_equal(cen_queue_tick(1, NULL, NULL), CEN_INVALID);
    expect_equal(cen_queue_never(NULL, NULL), CEN_INVALID);
    expect_equal(cen_queue_tick(0, &source, NULL), CEN_INVALID);
    expect_equal(cen_queue_tick(-1, &source, NULL), CEN_INVALID);
    expect_equal(cen_queue_tick(INT64_MIN, &source, NULL), CEN_INVALID);
    expect(source == untouched && ceni_world_allocations() == 0);
}

/* guarantees: source.pop-only */
TEST(a_source_cannot_be_pushed_to)
{
    cen_queue *sources[] = {make_after(CEN_NOW), make_tick(SECOND), make_never()};
    int64_t value = 1, evicted = UNSET;
    bool out = true;
    for (int i = 0; i < 3; i++) {
        expect_equal(cen_queue_try_push(sources[i], &value), CEN_INVALID);
        expect_equal(cen_queue_push(sources[i], &value), CEN_INVALID);
        expect_equal(cen_queue_push_until(sources[i], &value, CEN_NEVER), CEN_INVALID);
        expect_equal(cen_queue_force_push(sources[i], &value, &evicted, &out), CEN_INVALID);
        expect(evicted == UNSET && out);
        cen_queue_free(sources[i]);
    }
}

/* guarantees: source.pop-only */
TEST(a_source_has_room_for_one_moment)
{
    cen_queue *sources[] = {make_after(cen_in_s(1)), make_tick(SECOND), make_never()};
    static const char *const names[] = {"after", "tick", "never"};
    for (int i = 0; i < 3; i++) {
        expect_equal(cen_queue_capacity(sources[i]), 1);
        expect_equal(cen_queue_element_size(sources[i]), sizeof(int64_t));
        expect_equal(cen_queue_length(sources[i]), 0);
        expect_text(cen_queue_name(sources[i]), names[i]);
        expect(!cen_queue_is_closed(sources[i]));
        cen_queue_free(sources[i]);
    }
}

/* guarantees: source.pop-only */
TEST(closing_a_source_wakes_those_who_wait_and_ends_it_even_if_something_was_due)
{
    cen_queue *due = make_after(CEN_NOW);
    int64_t none = UNSET;
    expect_equal(cen_queue_length(due), 1);
    expect_equal(cen_queue_close(due), CEN_OK);
    expect_equal(cen_queue_try_pop(due, &none), CEN_CLOSED);
    expect(none == UNSET && cen_queue_length(due) == 0);
    cen_queue_free(due);
    cen_queue *sources[] = {make_after(cen_in_s(9)), make_tick(9 * SECOND), make_never()};
    for (int i = 0; i < 3; i++) {
        moment_call pops[2];
        for (int p = 0; p < 2; p++) begin_pop_moment(&pops[p], sources[i], CEN_NEVER);
        expect_equal(ceni_world_waiting(), 2);
        expect_equal(cen_queue_close(sources[i]), CEN_OK);
        expect_equal(cen_queue_close(sources[i]), CEN_CLOSED);
        for (int p = 0; p < 2; p++) expect_moment(&pops[p], CEN_CLOSED, UNSET);
    }
    ceni_world_advance(100 * SECOND);
    for (int i = 0; i < 3; i++) {
        int64_t moment = UNSET;
        expect(cen_queue_is_closed(sources[i]) && cen_queue_length(sources[i]) == 0);
        expect_equal(cen_queue_try_pop(sources[i], &moment), CEN_CLOSED);
        expect_equal(moment, UNSET);
        cen_queue_free(sources[i]);
    }
}

/* ---- After --------------------------------------------------------------------------- */

/* guarantees: source.after, crossbeam.after */
TEST(after_delivers_at_its_moment_and_not_a_nanosecond_earlier)
{
    int64_t due = cen_clock() + 30 * SECOND;
    cen_queue *relative = make_after(cen_in_s(30)), *absolute = make_after(cen_at(due));
    moment_call pops[2];
    begin_pop_moment(&pops[0], relative, CEN_NEVER);
    begin_pop_moment(&pops[1], absolute, CEN_NEVER);
    ceni_world_advance(30 * SECOND - 1);
    ceni_world_settle();
    expect(!pops[0].returned && !pops[1].returned);
    expect_nothing_yet(relative);
    ceni_world_advance(1);
    expect_equal(cen_queue_length(relative), 1);
    expect_moment(&pops[0], CEN_OK, due);
    expect_moment(&pops[1], CEN_OK, due);
    cen_queue_free(relative);
    cen_queue_free(absolute);
}

/* guarantees: source.after */
TEST(after_counts_from_its_making_and_not_from_the_pop)
{
    int64_t due = cen_clock() + 10 * SECOND;
    cen_queue *source = make_after(cen_in_s(10));
    ceni_world_advance(9 * SECOND);
    expect_nothing_yet(source);
    ceni_world_advance(5 * SECOND);
    expect_due(source, due);
    cen_queue_free(source);
}

/* guarantees: source.after, crossbeam.after */
TEST(after_delivers_once_and_never_again)
{
    cen_queue *source = make_after(cen_in_s(1));
    int64_t due = cen_clock() + SECOND;
    ceni_world_advance(SECOND);
    expect_due(source, due);
    for (int i = 0; i < 10; i++) {
        ceni_world_advance(1000 * SECOND);
        expect_nothing_yet(source);
    }
    int64_t moment = UNSET;
    expect_equal(cen_queue_pop_until(source, cen_in_s(5), &moment), CEN_TIMEOUT);
    expect(!cen_queue_is_closed(source)); /* it has not ended, it only delivers no more */
    cen_queue_free(source);
}

/* guarantees: source.after */
TEST(of_several_pops_that_wait_for_an_after_exactly_one_gets_it)
{
    cen_queue *source = make_after(cen_in_s(1));
    int64_t due = cen_clock() + SECOND;
    moment_call pops[4];
    for (int i = 0; i < 4; i++) begin_pop_moment(&pops[i], source, CEN_NEVER);
    ceni_world_advance(SECOND);
    ceni_world_settle();
    expect_equal(ceni_world_waiting(), 3);
    expect_equal(cen_queue_close(source), CEN_OK);
    ceni_world_settle();
    int delivered = 0;
    for (int i = 0; i < 4; i++) {
        delivered += pops[i].status == CEN_OK;
        expect_moment(&pops[i], pops[i].status, pops[i].status == CEN_OK ? due : UNSET);
        expect(pops[i].status == CEN_OK || pops[i].status == CEN_CLOSED);
    }
    expect_equal(delivered, 1);
    cen_queue_free(source);
}

/* guarantees: source.after */
TEST(an_after_of_now_or_of_the_past_is_due_at_once)
{
    const cen_deadline deadlines[] = {CEN_NOW, cen_at(1), cen_in_ns(0), cen_in_ns(-5), cen_at(cen_clock())};
    for (int i = 0; i < 5; i++) {
        cen_queue *source = make_after(deadlines[i]);
        int64_t moment = INT64_MAX;
        expect_equal(cen_queue_length(source), 1);
        expect_equal(cen_queue_pop(source, &moment), CEN_OK);
        expect(moment <= cen_clock());
        expect_nothing_yet(source);
        cen_queue_free(source);
    }
}

/* guarantees: source.after, crossbeam-bugs.795 */
TEST(an_after_too_far_away_to_be_written_down_never_delivers)
{
    const cen_deadline deadlines[] = {CEN_NEVER, cen_in_ns(INT64_MAX), cen_in_s(INT64_MAX), cen_in_ns(INT64_MAX - 1)};
    for (int i = 0; i < 4; i++) {
        cen_queue *source = make_after(deadlines[i]);
        ceni_world_advance(INT64_C(1000000000000000000));
        expect_nothing_yet(source);
        cen_queue_free(source);
    }
}

/* guarantees: source.after */
TEST(a_pop_with_a_nearer_deadline_does_not_wait_for_the_source)
{
    cen_queue *source = make_after(cen_in_s(10));
    int64_t moment = UNSET, began = cen_clock();
    expect_equal(cen_queue_pop_until(source, cen_in_s(3), &moment), CEN_TIMEOUT);
    expect_equal(cen_clock() - began, 3 * SECOND);
    expect_equal(cen_queue_pop_until(source, cen_in_s(7), &moment), CEN_OK); /* due and late in the same moment */
    expect_equal(moment, began + 10 * SECOND);
    cen_queue_free(source);
}

/* ---- Tick -------------------------------------------------------------------------------- */

/* guarantees: source.tick */
TEST(ticks_come_one_period_apart_and_never_early)
{
    int64_t first = cen_clock() + 3 * SECOND;
    cen_queue *source = make_tick(3 * SECOND);
    expect_nothing_yet(source);    /* the first is one period away */
    for (int i = 0; i < 25; i++) { /* each in a thread of its own, of which a world has 32 */
        moment_call pop;
        begin_pop_moment(&pop, source, CEN_NEVER);
        ceni_world_advance(3 * SECOND - 1);
        ceni_world_settle();
        expect(!pop.returned);
        ceni_world_advance(1);
        expect_moment(&pop, CEN_OK, first + i * 3 * SECOND);
    }
    cen_queue_free(source);
}

/* guarantees: source.tick, crossbeam.tick */
TEST(ticks_that_nobody_popped_do_not_pile_up)
{
    int64_t first = cen_clock() + SECOND;
    cen_queue *source = make_tick(SECOND);
    ceni_world_advance(100 * SECOND);
    expect_due(source, first);
    for (int i = 0; i < 3; i++) expect_nothing_yet(source);
    cen_queue_free(source);
}

/* guarantees: source.tick */
TEST(a_tick_keeps_the_rhythm_of_the_first_however_late_the_pops_are)
{
    int64_t origin = cen_clock();
    cen_queue *source = make_tick(SECOND);
    ceni_world_advance(5 * SECOND + 700);
    expect_due(source, origin + SECOND);
    ceni_world_advance(SECOND - 701); /* one nanosecond before the sixth */
    expect_nothing_yet(source);
    ceni_world_advance(1);
    expect_due(source, origin + 6 * SECOND);
    ceni_world_advance(SECOND); /* exactly on the beat */
    expect_due(source, origin + 7 * SECOND);
    cen_queue_free(source);
}

/* guarantees: source.tick */
TEST(each_tick_goes_to_one_of_the_waiting_pops)
{
    cen_queue *source = make_tick(SECOND);
    moment_call pops[3];
    for (int i = 0; i < 3; i++) begin_pop_moment(&pops[i], source, CEN_NEVER);
    for (unsigned left = 3; left > 0; left--) {
        expect_equal(ceni_world_waiting(), left);
        ceni_world_advance(SECOND);
        ceni_world_settle();
    }
    int64_t seen = 0;
    for (int i = 0; i < 3; i++) {
        expect_equal(pops[i].status, CEN_OK);
        seen += (pops[i].moment - SECOND) / SECOND; /* a world's clock begins at one second */
        join(pops[i].thread);
    }
    expect_equal(seen, 1 + 2 + 3);
    cen_queue_free(source);
}

/* guarantees: source.tick, crossbeam-bugs.795 */
TEST(a_tick_of_the_longest_period_ticks_never_and_of_the_shortest_always)
{
    cen_queue *longest = make_tick(INT64_MAX), *shortest = make_tick(1);
    ceni_world_advance(INT64_C(5000000000000000000));
    expect_nothing_yet(longest);
    for (int i = 0; i < 5; i++) {
        int64_t moment, now = cen_clock();
        expect_equal(cen_queue_try_pop(shortest, &moment), CEN_OK);
        expect(moment <= now);
        expect_nothing_yet(shortest);
        ceni_world_advance(1);
    }
    cen_queue_free(longest);
    cen_queue_free(shortest);
}

/* guarantees: source.tick */
TEST(a_tick_near_the_end_of_the_clock_stops_instead_of_overflowing)
{
    const int64_t period = INT64_C(4000000000000000000);
    cen_queue *source = make_tick(period);
    int64_t origin = cen_clock();
    ceni_world_advance(period);
    expect_due(source, origin + period);
    ceni_world_advance(period);
    expect_due(source, origin + 2 * period); /* the third would be past the end */
    ceni_world_advance(INT64_C(1000000000000000000));
    expect_nothing_yet(source);
    cen_queue_free(source);
}

/* ---- Never -------------------------------------------------------------------------------- */

/* guarantees: source.never, crossbeam.never */
TEST(never_never_delivers_and_a_pop_from_it_ends_at_its_deadline)
{
    cen_queue *source = make_never();
    moment_call pop;
    begin_pop_moment(&pop, source, cen_in_s(60));
    ceni_world_advance(60 * SECOND - 1);
    ceni_world_settle();
    expect(!pop.returned);
    ceni_world_advance(1);
    expect_moment(&pop, CEN_TIMEOUT, UNSET);
    expect_nothing_yet(source);
    cen_queue_free(source);
}
