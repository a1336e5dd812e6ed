/* SPDX-License-Identifier: MIT */
/*
 * Deadlines and patience of the queue, to the nanosecond. The program is
 * linked so that every reading of the clock by the library is counted.
 */
#include "unit/sync/queues.h"

#define ZERO CEN_DEADLINE_(0)

int64_t __real_ceni_clock_now(void);
int64_t __wrap_ceni_clock_now(void);

static unsigned clock_readings;

int64_t __wrap_ceni_clock_now(void)
{
    clock_readings++;
    return __real_ceni_clock_now();
}

/* ---- When a wait ends --------------------------------------------------------- */

/* A call that began now and waits for `ns` ends then, and not one nanosecond earlier. */
static void expect_timeout_after(call *one, int64_t ns, int value)
{
    ceni_world_advance(ns - 1);
    ceni_world_settle();
    expect(!one->returned && ceni_world_waiting() == 1);
    ceni_world_advance(1);
    expect_call(one, CEN_TIMEOUT, value);
}

/* guarantees: queue.deadline, crossbeam.recv */
TEST(a_pop_times_out_after_thirty_seconds_and_not_a_nanosecond_earlier)
{
    for (int k = 0; k < 3; k++) {
        cen_queue *queue = make_queue(all_kinds[k], 1);
        call pop;
        begin_pop(&pop, queue, cen_in_s(30));
        expect_timeout_after(&pop, 30 * SECOND, UNSET);
        cen_queue_free(queue);
    }
}

/* guarantees: queue.deadline, crossbeam.send */
TEST(a_push_times_out_after_thirty_seconds_and_not_a_nanosecond_earlier)
{
    for (int k = 0; k < 3; k += 2) {
        cen_queue *queue = make_queue(all_kinds[k], 1);
        if (k == 0) push_all(queue, 1, 1);
        call push;
        begin_push(&push, queue, 2, cen_in_s(30));
        expect_timeout_after(&push, 30 * SECOND, 2);
        if (k == 0) expect_popped(queue, 1, 1);
        int value = UNSET;
        expect_equal(cen_queue_try_pop(queue, &value), CEN_EMPTY); /* nothing was pushed */
        cen_queue_free(queue);
    }
}

/* guarantees: queue.deadline, crossbeam.recv */
TEST(an_absolute_deadline_is_kept_to_the_nanosecond)
{
    for (int k = 0; k < 3; k++) {
        cen_queue *queue = make_queue(all_kinds[k], 1);
        call pop;
        begin_pop(&pop, queue, cen_at(cen_clock() + 7));
        expect_timeout_after(&pop, 7, UNSET);
        cen_queue_free(queue);
    }
}

/* guarantees: queue.deadline */
TEST(a_past_deadline_does_what_can_be_done_at_once_and_else_times_out)
{
    for (int k = 0; k < 2; k++) {
        cen_queue *queue = make_queue(all_kinds[k], 1);
        cen_deadline past = cen_at(1);
        int value = 4;
        expect_equal(cen_queue_push_until(queue, &value, past), CEN_OK);
        expect_equal(cen_queue_pop_until(queue, past, &value), CEN_OK);
        expect_equal(cen_queue_pop_until(queue, past, &value), CEN_TIMEOUT);
        expect_equal(cen_queue_pop_until(queue, cen_at(cen_clock()), &value), CEN_TIMEOUT);
        expect_equal(cen_clock(), SECOND); /* a world's clock begins there: no time has passed */
        cen_queue_free(queue);
    }
}

/* guarantees: queue.in-time */
TEST(an_element_that_came_in_time_is_delivered_although_the_deadline_has_passed_since)
{
    for (int k = 0; k < 3; k++) {
        cen_queue *queue = make_queue(all_kinds[k], 1);
        call pop;
        begin_pop(&pop, queue, cen_in_s(30));
        ceni_world_advance(30 * SECOND - 1);
        push_all(queue, 6, 6);
        ceni_world_advance(SECOND);
        expect_call(&pop, CEN_OK, 6);
        cen_queue_free(queue);
    }
}

/* guarantees: queue.role */
TEST(an_expired_pop_is_forgotten_and_the_next_element_goes_to_somebody_else)
{
    for (int k = 0; k < 3; k++) {
        cen_queue *queue = make_queue(all_kinds[k], 1);
        call brief, patient;
        begin_pop(&brief, queue, cen_in_s(1));
        begin_pop(&patient, queue, CEN_NEVER);
        ceni_world_advance(SECOND);
        expect_call(&brief, CEN_TIMEOUT, UNSET);
        push_all(queue, 8, 8);
        expect_call(&patient, CEN_OK, 8);
        int value = 9;
        if (k == 2) expect_equal(cen_queue_try_push(queue, &value), CEN_FULL);
        cen_queue_free(queue);
    }
}

/* guarantees: queue.relative */
TEST(a_relative_deadline_starts_anew_in_every_call_and_a_fixed_one_does_not)
{
    cen_queue *queue = make_queue(CEN_QUEUE_BOUNDED, 1);
    const cen_deadline relative = cen_in_s(2);
    int value;
    int64_t began = cen_clock();
    expect_equal(cen_queue_pop_until(queue, relative, &value), CEN_TIMEOUT);
    expect_equal(cen_queue_pop_until(queue, relative, &value), CEN_TIMEOUT);
    expect_equal(cen_clock() - began, 4 * SECOND);
    const cen_deadline fixed = cen_deadline_fix(relative);
    expect_equal(cen_queue_pop_until(queue, fixed, &value), CEN_TIMEOUT);
    expect_equal(cen_queue_pop_until(queue, fixed, &value), CEN_TIMEOUT);
    expect_equal(cen_clock() - began, 6 * SECOND);
    cen_queue_free(queue);
}

/* guarantees: crossbeam-bugs.795 */
TEST(a_huge_timeout_saturates_and_waits_instead_of_overflowing)
{
    const cen_deadline huge[] = {cen_in_ns(INT64_MAX), cen_in_ns(INT64_MAX - 1), cen_in_us(INT64_MAX),
                                 cen_in_ms(INT64_MAX), cen_in_s(INT64_MAX),      cen_in_s(INT64_MAX / 1000000000),
                                 cen_at(INT64_MAX),    cen_at(INT64_MAX - 1),    CEN_NEVER};
    enum { COUNT = sizeof huge / sizeof huge[0] };
    for (int k = 0; k < 3; k++) {
        cen_queue *queue = make_queue(all_kinds[k], COUNT);
        call pops[COUNT];
        for (int i = 0; i < COUNT; i++) begin_pop(&pops[i], queue, huge[i]);
        ceni_world_advance(INT64_C(1000000000000000000)); /* thirty years */
        ceni_world_settle();
        expect_equal(ceni_world_waiting(), COUNT);
        expect_equal(cen_queue_close(queue), CEN_OK);
        for (int i = 0; i < COUNT; i++) expect_call(&pops[i], CEN_CLOSED, UNSET);
        cen_queue_free(queue);
    }
}

/* ---- Patience ------------------------------------------------------------------------ */

static cen_queue *make_patient(cen_queue_kind kind, cen_deadline patience)
{
    cen_queue_options options =
        CEN_QUEUE_OPTIONS(.element_size = sizeof(int), .kind = kind, .default_deadline = patience,
                          .capacity = kind == CEN_QUEUE_BOUNDED ? 1 : 0);
    cen_queue *queue;
    expect_equal(cen_queue_new(&options, &queue, NULL), CEN_OK);
    return queue;
}

/* guarantees: queue.default-deadline */
TEST(a_zero_deadline_and_the_short_forms_mean_the_queues_patience)
{
    for (int k = 0; k < 3; k++) {
        cen_queue *queue = make_patient(all_kinds[k], cen_in_s(5));
        int value = UNSET;
        int64_t began = cen_clock();
        expect_equal(cen_queue_pop(queue, &value), CEN_TIMEOUT);
        expect_equal(cen_clock() - began, 5 * SECOND);
        expect_equal(cen_queue_pop_until(queue, ZERO, &value), CEN_TIMEOUT);
        expect_equal(cen_clock() - began, 10 * SECOND);
        if (k == 0) push_all(queue, 1, 1);
        if (k != 1) expect_equal(cen_queue_push(queue, &value), CEN_TIMEOUT);
        if (k != 1) expect_equal(cen_queue_push_until(queue, &value, ZERO), CEN_TIMEOUT);
        if (k != 1) expect_equal(cen_clock() - began, 20 * SECOND);
        cen_queue_free(queue);
    }
}

/* guarantees: queue.default-deadline */
TEST(a_deadline_that_is_given_is_stronger_than_patience)
{
    cen_queue *queue = make_patient(CEN_QUEUE_BOUNDED, cen_in_s(5));
    int value;
    int64_t began = cen_clock();
    expect_equal(cen_queue_pop_until(queue, cen_in_s(1), &value), CEN_TIMEOUT);
    expect_equal(cen_queue_pop_until(queue, CEN_NOW, &value), CEN_TIMEOUT);
    expect_equal(cen_clock() - began, SECOND);
    call pop;
    begin_pop(&pop, queue, CEN_NEVER);
    ceni_world_advance(1000 * SECOND);
    ceni_world_settle();
    expect(!pop.returned);
    push_all(queue, 1, 1);
    expect_call(&pop, CEN_OK, 1);
    cen_queue_free(queue);
}

/* guarantees: queue.default-deadline */
TEST(patience_is_without_limit_by_default)
{
    for (int k = 0; k < 3; k++) {
        cen_queue *queue = make_patient(all_kinds[k], ZERO);
        call pop;
        begin_pop(&pop, queue, ZERO);
        ceni_world_advance(INT64_C(1000000000000000000));
        ceni_world_settle();
        expect(!pop.returned);
        push_all(queue, 1, 1);
        expect_call(&pop, CEN_OK, 1);
        cen_queue_free(queue);
    }
}

/* guarantees: queue.default-deadline */
TEST(patience_can_be_not_to_wait_at_all)
{
    cen_queue *queue = make_patient(CEN_QUEUE_BOUNDED, CEN_NOW);
    int value = 1;
    expect_equal(cen_queue_pop(queue, &value), CEN_TIMEOUT);
    expect_equal(cen_queue_push(queue, &value), CEN_OK);
    expect_equal(cen_queue_push(queue, &value), CEN_TIMEOUT);
    cen_queue_free(queue);
}

/* ---- Reading the clock ----------------------------------------------------------------- */

/* guarantees: queue.clock */
TEST(now_neither_waits_nor_reads_the_clock)
{
    for (int k = 0; k < 3; k++) {
        cen_queue *queue = make_queue(all_kinds[k], 1);
        int value = UNSET, number = 3;
        clock_readings = 0;
        expect_equal(cen_queue_pop_until(queue, CEN_NOW, &value), CEN_TIMEOUT);
        expect_equal(cen_queue_try_pop(queue, &value), CEN_EMPTY);
        if (k < 2) expect_equal(cen_queue_push_until(queue, &number, CEN_NOW), CEN_OK);
        if (k != 1) expect_equal(cen_queue_push_until(queue, &number, CEN_NOW), CEN_TIMEOUT);
        if (k != 1) expect_equal(cen_queue_try_push(queue, &number), CEN_FULL);
        if (k < 2) expect_equal(cen_queue_pop_until(queue, CEN_NOW, &value), CEN_OK);
        expect_equal(clock_readings, 0);
        expect_equal(value, k < 2 ? 3 : UNSET);
        cen_queue_free(queue);
    }
}

/* guarantees: queue.clock */
TEST(a_call_that_need_not_wait_reads_no_clock_whatever_its_deadline)
{
    const cen_deadline deadlines[] = {ZERO, CEN_NOW, CEN_NEVER, cen_in_ms(5), cen_at(12345)};
    for (int k = 0; k < 2; k++) {
        cen_queue *queue = make_queue(all_kinds[k], 2);
        clock_readings = 0;
        for (int i = 0; i < 5; i++) {
            int value = i;
            expect_equal(cen_queue_push_until(queue, &value, deadlines[i]), CEN_OK);
            expect_equal(cen_queue_pop_until(queue, deadlines[i], &value), CEN_OK);
        }
        expect_equal(clock_readings, 0);
        cen_queue_free(queue);
    }
}

/* guarantees: queue.clock, crossbeam-bugs.1154 */
TEST(a_wait_of_an_hour_reads_the_clock_no_more_than_three_times)
{
    for (int k = 0; k < 3; k++) {
        cen_queue *queue = make_queue(all_kinds[k], 1);
        call pop;
        clock_readings = 0;
        begin_pop(&pop, queue, cen_in_s(3600));
        for (int minute = 0; minute < 60; minute++) {
            ceni_world_advance(60 * SECOND);
            ceni_world_settle();
        }
        expect_call(&pop, CEN_TIMEOUT, UNSET);
        expect(clock_readings <= 3);
        cen_queue_free(queue);
    }
}
