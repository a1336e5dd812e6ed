/* SPDX-License-Identifier: MIT */
/* A stop that drops many suspended tasks, with real threads that complete their futures meanwhile. */
#include "unit/crew/crews.h"

#include <stdlib.h>

enum { MANY = 4000, KEEPERS = 2, ROUNDS = 5 };

typedef struct waiter {
    cen_task task; /* first */
    cen_future future;
    cen_promise promise;
    unsigned steps; /* after the wait */
    bool kept;
} waiter;

static waiter *waiters;
static _Atomic uint32_t told;
static _Atomic uint32_t may_keep; /* a futex word */

static cen_next go_on(cen_task *task)
{
    ((waiter *)task)->steps++;
    return cen_task_done(task, NULL);
}

static cen_next wait_for_promise(cen_task *task)
{
    return cen_task_wait(task, &((waiter *)task)->future, go_on);
}

static void count_told(cen_future *future)
{
    (void)future;
    ceni_add_seq_cst(&told, 1u);
}

static void keep_some(void *argument)
{
    while (!ceni_load_seq_cst(&may_keep)) ceni_futex_wait(&may_keep, 0, CENI_FOREVER);
    for (size_t i = (size_t)(uintptr_t)argument; i < MANY; i += KEEPERS)
        waiters[i].kept = cen_promise_complete(&waiters[i].promise, NULL);
}

static void make_waiters(void)
{
    waiters = calloc(MANY, sizeof *waiters);
    expect(waiters != NULL);
    for (size_t i = 0; i < MANY; i++) {
        waiter *one = &waiters[i];
        cen_future_init(&one->future);
        expect_equal(cen_promise_init(&one->promise, &one->future), CEN_OK);
        cen_task_init(&one->task, wait_for_promise);
        expect_equal(cen_future_then(&one->task.future, count_told, cen_inline()), CEN_OK);
        expect_equal(cen_crew_submit(crew, &one->task, NULL), CEN_OK);
    }
    while (look().waiting < MANY) nap(MS);
}

static void expect_one_end(const waiter *one)
{
    cen_status status = one->task.future.status;
    expect(status == CEN_OK || status == CEN_CLOSED);
    expect_equal(one->kept, status == CEN_OK);
    expect_equal(one->steps, status == CEN_OK);
}

/* guarantees: crew.stop-suspended */
TEST(of_many_suspended_tasks_each_goes_on_if_its_future_is_kept_and_is_dropped_if_it_is_not)
{
    for (int round = 0; round < ROUNDS; round++) {
        ceni_thread keepers[KEEPERS];
        cen_crew_report report = CEN_SIZED(cen_crew_report);
        int code = 0;
        told = may_keep = 0;
        make_crew(.workers = 2);
        make_waiters();
        for (uintptr_t i = 0; i < KEEPERS; i++)
            expect_equal(ceni_thread_start(&keepers[i], "keeper", keep_some, (void *)i, &code), CEN_OK);
        ceni_store_seq_cst(&may_keep, 1u);
        ceni_futex_wake(&may_keep, UINT32_MAX);
        expect_equal(cen_crew_stop(crew, CEN_STOP_DROP, CEN_NEVER, &report, NULL), CEN_OK);
        for (int i = 0; i < KEEPERS; i++) ceni_thread_join(&keepers[i]);
        expect_equal(ceni_load_seq_cst(&told), MANY);
        expect(report.finished + report.dropped <= MANY); /* some may have ended before the stop */
        for (size_t i = 0; i < MANY; i++) expect_one_end(&waiters[i]);
        expect_equal(cen_crew_free(crew), CEN_OK);
        free(waiters);
    }
}
