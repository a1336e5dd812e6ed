/* SPDX-License-Identifier: MIT */
/* Select: exactly one of the cases happens, at the right time, and fairly. */
#include "unit/sync/queues.h"

enum { MOST = 3 };

/* A select in a thread of its own over up to MOST cases of ints. */
typedef struct select_call {
    cen_case cases[MOST];
    size_t count;
    int values[MOST];
    cen_deadline deadline;
    size_t which;
    cen_status status;
    bool returned;
    ceni_thread thread;
} select_call;

static void add_pop(select_call *one, cen_queue *queue)
{
    one->values[one->count] = UNSET;
    one->cases[one->count] = cen_case_pop(queue, &one->values[one->count]);
    one->count++;
}

static void add_push(select_call *one, cen_queue *queue, int value)
{
    one->values[one->count] = value;
    one->cases[one->count] = cen_case_push(queue, &one->values[one->count]);
    one->count++;
}

static void call_select(void *argument)
{
    select_call *one = argument;
    one->which = 99;
    one->status = cen_select(one->cases, one->count, one->deadline, &one->which);
    one->returned = true;
}

static void begin_select(select_call *one, cen_deadline deadline)
{
    one->deadline = deadline;
    one->returned = false;
    one->thread = start("select", call_select, one);
    ceni_world_settle();
}

static void expect_selected(select_call *one, cen_status status, size_t which)
{
    ceni_world_settle();
    expect(one->returned);
    join(one->thread);
    expect_equal(one->status, status);
    expect_equal(one->which, which);
}

/* ---- Arguments ---------------------------------------------------------------------- */

/* guarantees: select.null */
TEST(a_select_that_could_never_end_or_makes_no_sense_is_invalid)
{
    cen_queue *queue = make_queue(CEN_QUEUE_BOUNDED, 1), *source;
    expect_equal(cen_queue_never(&source, NULL), CEN_OK);
    int value = UNSET;
    size_t which = 99;
    cen_case nobody[2] = {cen_case_pop(NULL, &value), cen_case_push(NULL, NULL)};
    expect_equal(cen_select(nobody, 2, CEN_NEVER, &which), CEN_INVALID);
    expect_equal(cen_select(nobody, 2, CEN_DEADLINE_(0), &which), CEN_INVALID); /* zero is never */
    expect_equal(cen_select_biased(nobody, 2, CEN_NEVER, &which), CEN_INVALID);
    expect_equal(cen_select(NULL, 0, CEN_NEVER, &which), CEN_INVALID);
    expect_equal(cen_select(NULL, 1, CEN_NOW, &which), CEN_INVALID);
    expect_equal(cen_select(nobody, 2, CEN_NOW, NULL), CEN_INVALID);
    cen_case one[1] = {cen_case_pop(queue, NULL)};
    expect_equal(cen_select(one, 1, CEN_NOW, &which), CEN_INVALID);
    one[0] = cen_case_push(queue, NULL);
    expect_equal(cen_try_select(one, 1, &which), CEN_INVALID);
    one[0] = cen_case_push(source, &value);
    expect_equal(cen_select_biased(one, 1, CEN_NOW, &which), CEN_INVALID);
    one[0] = cen_case_pop(queue, &value);
    one[0].direction = (cen_direction)7;
    expect_equal(cen_try_select(one, 1, &which), CEN_INVALID);
    expect(which == 99 && value == UNSET && cen_queue_length(queue) == 0);
    cen_queue_free(queue);
    cen_queue_free(source);
}

/* guarantees: select.null */
TEST(one_invalid_case_means_that_nothing_is_done)
{
    cen_queue *queue = make_queue(CEN_QUEUE_BOUNDED, 2);
    push_all(queue, 1, 1);
    int value = UNSET;
    size_t which = 99;
    cen_case cases[2] = {cen_case_pop(queue, &value), cen_case_pop(queue, NULL)};
    expect_equal(cen_select_biased(cases, 2, CEN_NEVER, &which), CEN_INVALID);
    expect(which == 99 && value == UNSET && cen_queue_length(queue) == 1);
    cen_queue_free(queue);
}

/* guarantees: select.null */
TEST(a_select_over_nothing_but_null_queues_ends_at_its_deadline)
{
    int value = UNSET;
    size_t which = 99;
    cen_case nobody[2] = {cen_case_pop(NULL, &value), cen_case_push(NULL, &value)};
    int64_t began = cen_clock();
    expect_equal(cen_try_select(nobody, 2, &which), CEN_TIMEOUT);
    expect_equal(cen_clock(), began);
    expect_equal(cen_select(nobody, 2, cen_in_s(3), &which), CEN_TIMEOUT);
    expect_equal(cen_select(NULL, 0, cen_in_s(3), &which), CEN_TIMEOUT);
    expect_equal(cen_clock() - began, 6 * SECOND);
    expect_equal(which, 99);
}

/* ---- Which one happens -------------------------------------------------------------------- */

/* guarantees: select.one, crossbeam.selected */
TEST(a_select_does_the_one_case_that_can_be_done_and_touches_no_other)
{
    for (int ready = 0; ready < 3; ready++) {
        cen_queue *queues[3] = {make_queue(CEN_QUEUE_BOUNDED, 1), make_queue(CEN_QUEUE_UNBOUNDED, 0),
                                make_queue(CEN_QUEUE_BOUNDED, 1)};
        if (ready < 2) push_all(queues[ready], 40 + ready, 40 + ready);
        if (ready != 2) push_all(queues[2], 7, 7); /* full: its push must wait */
        select_call one = {.count = 0};
        add_pop(&one, queues[0]);
        add_pop(&one, queues[1]);
        add_push(&one, queues[2], 50);
        expect_equal(cen_select(one.cases, 3, CEN_NEVER, &one.which), CEN_OK);
        expect_equal(one.which, ready);
        for (int i = 0; i < 2; i++) expect_equal(one.values[i], i == ready ? 40 + i : UNSET);
        expect_equal(one.values[2], 50);
        expect_popped(queues[2], ready == 2 ? 50 : 7, ready == 2 ? 50 : 7);
        for (int i = 0; i < 3; i++) expect_equal(cen_queue_length(queues[i]), 0);
        for (int i = 0; i < 3; i++) cen_queue_free(queues[i]);
    }
}

/* guarantees: select.null */
TEST(null_queues_between_the_cases_are_passed_over)
{
    cen_queue *queue = make_queue(CEN_QUEUE_BOUNDED, 1);
    push_all(queue, 4, 4);
    int value = UNSET;
    size_t which = 99;
    cen_case cases[4] = {cen_case_pop(NULL, NULL), cen_case_push(NULL, &value), cen_case_pop(queue, &value),
                         cen_case_pop(NULL, &value)};
    expect_equal(cen_select(cases, 4, CEN_NEVER, &which), CEN_OK);
    expect(which == 2 && value == 4);
    cen_queue_free(queue);
}

/* guarantees: select.timeout, crossbeam.select */
TEST(try_select_does_what_can_be_done_now_and_else_times_out_at_once)
{
    cen_queue *queue = make_queue(CEN_QUEUE_BOUNDED, 1), *meeting = make_queue(CEN_QUEUE_RENDEZVOUS, 0);
    select_call one = {.which = 99};
    add_pop(&one, queue);
    add_pop(&one, meeting);
    expect_equal(cen_try_select(one.cases, 2, &one.which), CEN_TIMEOUT);
    expect(one.which == 99 && one.values[0] == UNSET && one.values[1] == UNSET);
    push_all(queue, 1, 1);
    expect_equal(cen_try_select(one.cases, 2, &one.which), CEN_OK);
    expect(one.which == 0 && one.values[0] == 1);
    call push;
    begin_push(&push, meeting, 2, CEN_NEVER);
    expect_equal(cen_try_select(one.cases, 2, &one.which), CEN_OK);
    expect(one.which == 1 && one.values[1] == 2);
    expect_call(&push, CEN_OK, 2);
    cen_queue_free(queue);
    cen_queue_free(meeting);
}

/* guarantees: select.biased, crossbeam.select */
TEST(a_biased_select_does_the_first_that_can_be_done)
{
    cen_queue *queues[3];
    int value;
    cen_case cases[3];
    for (int i = 0; i < 3; i++) {
        queues[i] = make_queue(CEN_QUEUE_BOUNDED, 100);
        cases[i] = cen_case_pop(queues[i], &value);
        push_all(queues[i], 1, 100);
    }
    for (size_t i = 0; i < 300; i++) {
        size_t which = 99;
        expect_equal(cen_select_biased(cases, 3, CEN_NEVER, &which), CEN_OK);
        expect_equal(which, i / 100);
        expect_equal(value, i % 100 + 1);
    }
    for (int i = 0; i < 3; i++) cen_queue_free(queues[i]);
}

/* ---- Waiting ----------------------------------------------------------------------------------- */

/* guarantees: select.one */
TEST(a_waiting_select_is_woken_by_any_of_its_cases)
{
    for (int k = 0; k < 3; k++)
        for (size_t ready = 0; ready < 3; ready++) {
            cen_queue *queues[3];
            select_call one = {.count = 0};
            for (int i = 0; i < 3; i++) add_pop(&one, queues[i] = make_queue(all_kinds[k], 1));
            begin_select(&one, CEN_NEVER);
            expect_equal(ceni_world_waiting(), 1);
            push_all(queues[ready], 6, 6);
            expect_selected(&one, CEN_OK, ready);
            for (size_t i = 0; i < 3; i++) expect_equal(one.values[i], i == ready ? 6 : UNSET);
            for (int i = 0; i < 3; i++) cen_queue_free(queues[i]);
        }
}

/* guarantees: select.one */
TEST(a_waiting_select_pushes_when_there_is_room_or_a_partner)
{
    cen_queue *full = make_queue(CEN_QUEUE_BOUNDED, 1), *meeting = make_queue(CEN_QUEUE_RENDEZVOUS, 0);
    push_all(full, 0, 0);
    select_call one = {.count = 0};
    add_push(&one, full, 11);
    add_push(&one, meeting, 22);
    begin_select(&one, CEN_NEVER);
    expect(!one.returned);
    expect_popped(full, 0, 0);
    expect_selected(&one, CEN_OK, 0);
    begin_select(&one, CEN_NEVER);
    expect_popped(meeting, 22, 22);
    expect_selected(&one, CEN_OK, 1);
    expect_popped(full, 11, 11);
    cen_queue_free(full);
    cen_queue_free(meeting);
}

/* guarantees: select.timeout, crossbeam.select */
TEST(a_select_times_out_at_its_deadline_and_leaves_everything_as_it_was)
{
    cen_queue *queue = make_queue(CEN_QUEUE_BOUNDED, 1), *meeting = make_queue(CEN_QUEUE_RENDEZVOUS, 0);
    select_call one = {.count = 0};
    add_pop(&one, queue);
    add_push(&one, meeting, 5);
    begin_select(&one, cen_in_s(30));
    ceni_world_advance(30 * SECOND - 1);
    ceni_world_settle();
    expect(!one.returned);
    ceni_world_advance(1);
    expect_selected(&one, CEN_TIMEOUT, 99);
    expect(one.values[0] == UNSET && one.values[1] == 5);
    int value = UNSET;
    expect_equal(cen_queue_try_pop(meeting, &value), CEN_EMPTY); /* it stands in no list any more */
    push_all(queue, 1, 1);
    expect_popped(queue, 1, 1);
    cen_queue_free(queue);
    cen_queue_free(meeting);
}

/* guarantees: select.sources */
TEST(a_select_uses_an_after_as_its_timeout)
{
    cen_queue *queue = make_queue(CEN_QUEUE_BOUNDED, 1), *timeout;
    int64_t moment = UNSET, due = cen_clock() + 5 * SECOND;
    expect_equal(cen_queue_after(cen_in_s(5), &timeout, NULL), CEN_OK);
    int value = UNSET;
    size_t which = 99;
    cen_case cases[2] = {cen_case_pop(queue, &value), cen_case_pop(timeout, &moment)};
    expect_equal(cen_select(cases, 2, CEN_NEVER, &which), CEN_OK);
    expect(which == 1 && moment == due && value == UNSET);
    expect_equal(cen_clock(), due);
    expect_equal(cen_select(cases, 2, cen_in_s(100), &which), CEN_TIMEOUT); /* it delivers once only */
    cen_queue_free(queue);
    cen_queue_free(timeout);
}

/* guarantees: select.sources */
TEST(the_earlier_of_two_sources_and_a_deadline_ends_the_select)
{
    cen_queue *sooner, *later;
    int64_t moments[2] = {UNSET, UNSET}, began = cen_clock();
    size_t which = 99;
    expect_equal(cen_queue_tick(2 * SECOND, &sooner, NULL), CEN_OK);
    expect_equal(cen_queue_after(cen_in_s(3), &later, NULL), CEN_OK);
    cen_case cases[2] = {cen_case_pop(later, &moments[0]), cen_case_pop(sooner, &moments[1])};
    expect_equal(cen_select(cases, 2, cen_in_s(1), &which), CEN_TIMEOUT);
    expect_equal(cen_select(cases, 2, cen_in_s(9), &which), CEN_OK);
    expect(which == 1 && moments[1] == began + 2 * SECOND);
    expect_equal(cen_select(cases, 2, cen_in_s(9), &which), CEN_OK);
    expect(which == 0 && moments[0] == began + 3 * SECOND);
    expect_equal(cen_select(cases, 2, cen_in_s(9), &which), CEN_OK);
    expect(which == 1 && moments[1] == began + 4 * SECOND);
    cen_queue_free(sooner);
    cen_queue_free(later);
}

/* ---- Close -------------------------------------------------------------------------------------- */

/* guarantees: select.closed */
TEST(a_closed_queue_counts_as_one_that_can_be_done)
{
    for (int k = 0; k < 3; k++)
        for (int direction = 0; direction < 2; direction++) {
            cen_queue *closed = make_queue(all_kinds[k], 1), *idle = make_queue(CEN_QUEUE_BOUNDED, 1);
            expect_equal(cen_queue_close(closed), CEN_OK);
            select_call one = {.which = 99};
            add_pop(&one, idle);
            if (direction == 0) add_push(&one, closed, 5);
            else add_pop(&one, closed);
            expect_equal(cen_select(one.cases, 2, CEN_NEVER, &one.which), CEN_CLOSED);
            expect_equal(one.which, 1);
            expect_equal(one.values[1], direction == 0 ? 5 : UNSET);
            one.which = 99;
            expect_equal(cen_try_select(one.cases, 2, &one.which), CEN_CLOSED);
            expect_equal(one.which, 1);
            cen_queue_free(closed);
            cen_queue_free(idle);
        }
}

/* guarantees: select.closed */
TEST(a_closed_queue_that_still_holds_something_is_popped_first)
{
    cen_queue *queue = make_queue(CEN_QUEUE_UNBOUNDED, 0);
    push_all(queue, 1, 1);
    expect_equal(cen_queue_close(queue), CEN_OK);
    select_call one = {.which = 99};
    add_pop(&one, queue);
    expect_equal(cen_select(one.cases, 1, CEN_NEVER, &one.which), CEN_OK);
    expect(one.which == 0 && one.values[0] == 1);
    expect_equal(cen_select(one.cases, 1, CEN_NEVER, &one.which), CEN_CLOSED);
    cen_queue_free(queue);
}

/* guarantees: select.closed */
TEST(close_wakes_a_waiting_select_with_the_number_of_the_case)
{
    for (int k = 0; k < 3; k++) {
        cen_queue *queues[3];
        select_call one = {.count = 0};
        for (int i = 0; i < 3; i++) add_pop(&one, queues[i] = make_queue(all_kinds[k], 1));
        begin_select(&one, CEN_NEVER);
        expect_equal(cen_queue_close(queues[2]), CEN_OK);
        expect_selected(&one, CEN_CLOSED, 2);
        for (int i = 0; i < 3; i++) cen_queue_free(queues[i]);
    }
}

/* ---- Many cases, and the same queue twice --------------------------------------------------------- */

/* guarantees: select.many */
TEST(a_select_over_two_hundred_queues_finds_the_one)
{
    enum { COUNT = 200 };
    static cen_queue *queues[COUNT];
    static cen_case cases[COUNT];
    static int values[COUNT];
    for (int i = 0; i < COUNT; i++) {
        queues[i] = make_queue(all_kinds[i % 3], 1);
        values[i] = UNSET;
        cases[i] = cen_case_pop(queues[i], &values[i]);
    }
    size_t which = 99;
    expect_equal(cen_select(cases, COUNT, cen_in_s(1), &which), CEN_TIMEOUT);
    for (int ready = 0; ready < COUNT; ready += 33) {
        call push;
        begin_push(&push, queues[ready], ready, CEN_NEVER);
        expect_equal(cen_select(cases, COUNT, CEN_NEVER, &which), CEN_OK);
        expect_equal(which, ready);
        expect_equal(values[ready], ready);
        expect_call(&push, CEN_OK, ready);
    }
    for (int i = 0; i < COUNT; i++) expect_equal(values[i], i % 33 ? UNSET : i);
    for (int i = 0; i < COUNT; i++) cen_queue_free(queues[i]);
}

/* guarantees: select.many */
TEST(the_same_queue_may_stand_in_a_select_twice)
{
    for (int k = 0; k < 3; k++) {
        cen_queue *queue = make_queue(all_kinds[k], 1);
        select_call one = {.count = 0};
        add_pop(&one, queue);
        add_pop(&one, queue);
        begin_select(&one, CEN_NEVER);
        push_all(queue, 3, 3);
        ceni_world_settle();
        expect(one.returned && one.status == CEN_OK && one.which < 2);
        join(one.thread);
        expect(one.values[one.which] == 3 && one.values[1 - one.which] == UNSET);
        int value = UNSET;
        expect_equal(cen_queue_try_pop(queue, &value), CEN_EMPTY);
        cen_queue_free(queue);
    }
}

/* guarantees: select.many */
TEST(a_select_may_push_to_and_pop_from_the_same_bounded_queue)
{
    cen_queue *queue = make_queue(CEN_QUEUE_BOUNDED, 1);
    select_call one = {.count = 0};
    add_push(&one, queue, 9);
    add_pop(&one, queue);
    for (size_t i = 0; i < 6; i++) {
        expect_equal(cen_select(one.cases, 2, CEN_NEVER, &one.which), CEN_OK);
        expect_equal(one.which, i % 2);
    }
    expect_equal(one.values[1], 9);
    cen_queue_free(queue);
}
