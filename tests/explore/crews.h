/* SPDX-License-Identifier: MIT */
/* Crews for explored programs: few workers, and errands whose progress is in watched words. */
#ifndef TESTS_EXPLORE_CREWS_H
#define TESTS_EXPLORE_CREWS_H

#include <cenote/crew.h>

#include "base/alloc.h"
#include "crew/internal.h"
#include "sync/future.h"
#include "support/world.h"

enum { ERRANDS = 3 };

typedef struct errand {
    cen_task task;         /* first */
    _Atomic uint32_t runs; /* its last step */
} errand;

static cen_crew *crew;
static errand errands[ERRANDS];
static cen_promise promise;
static cen_future promised;
static _Atomic uint32_t steps; /* of all, a futex word */

static inline void count_step(void)
{
    ceni_add_seq_cst(&steps, 1);
    ceni_futex_wake(&steps, UINT32_MAX);
}

static inline void await_steps(uint32_t count)
{
    for (uint32_t now; (now = ceni_load_seq_cst(&steps)) < count;) ceni_futex_wait(&steps, now, CENI_FOREVER);
}

static inline uint32_t runs(int i)
{
    return ceni_load_seq_cst(&errands[i].runs);
}

static inline cen_next run_errand(cen_task *task)
{
    expect_equal(ceni_add_seq_cst(&((errand *)(void *)task)->runs, 1), 0);
    count_step();
    return cen_task_done(task, NULL);
}

#define make_crew(...) make_crew_of(CEN_CREW_OPTIONS(__VA_ARGS__))

static inline void make_crew_of(cen_crew_options options)
{
    ceni_world_without_hooks();
    expect_equal(cen_crew_new(&options, &crew, NULL), CEN_OK);
    ceni_store_relaxed(&steps, 0); /* nobody else is there; carries nothing */
    memset(errands, 0, sizeof errands);
    for (int i = 0; i < ERRANDS; i++) cen_task_init(&errands[i].task, run_errand);
    cen_future_init(&promised);
    expect_equal(cen_promise_init(&promise, &promised), CEN_OK);
}

static inline void submit(int i)
{
    expect_equal(cen_crew_submit(crew, &errands[i].task, NULL), CEN_OK);
}

static inline void submit_as(int i, cen_step first)
{
    errands[i].task.step_ = first;
    submit(i);
}

static inline void await(int i, cen_status status)
{
    expect_equal(cen_future_wait(&errands[i].task.future, CEN_NEVER), CEN_OK);
    expect_equal(errands[i].task.future.status, status);
}

static inline void free_crew(void)
{
    expect_equal(cen_crew_free(crew), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
    ceni_world_with_hooks();
}

static inline void end_crew(void)
{
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    free_crew();
}

/* ---- What other threads do ------------------------------------------------------------- */

static inline void submit_second(void *unused)
{
    (void)unused;
    submit(1);
}

static inline void keep_promise(void *unused)
{
    (void)unused;
    cen_promise_complete(&promise, NULL);
}

/* ---- Steps ---------------------------------------------------------------------------------- */

static inline cen_next wait_for_promise(cen_task *task)
{
    return cen_task_wait(task, &promised, run_errand);
}

#endif
