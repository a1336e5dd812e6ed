/* SPDX-License-Identifier: MIT */
/* Alarms and errands for explored programs: what becomes of them is in watched words. */
#ifndef TESTS_EXPLORE_RUNTIMES_H
#define TESTS_EXPLORE_RUNTIMES_H

#include "runtime/runtime.h"
#include "support/world.h"

static inline cen_runtime *make_lingering(int64_t idle_timeout_ns)
{
    cen_runtime *runtime = NULL;
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.idle_timeout_ns = idle_timeout_ns);
    expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
    return runtime;
}

static inline cen_runtime *join_own(void)
{
    cen_runtime *runtime = NULL;
    expect_equal(ceni_runtime_join(NULL, &runtime), CEN_OK);
    return runtime;
}

static inline void count_up(_Atomic uint32_t *word)
{
    ceni_add_seq_cst(word, 1);
    ceni_futex_wake(word, UINT32_MAX);
}

static inline void await_count(_Atomic uint32_t *word, uint32_t count)
{
    for (uint32_t seen; (seen = ceni_load_seq_cst(word)) < count;) ceni_futex_wait(word, seen, CENI_FOREVER);
}

typedef struct chime {
    ceni_alarm alarm;
    _Atomic uint32_t calls;
} chime;

static inline void chime_is_due(ceni_alarm *alarm)
{
    count_up(&CENI_LIST_ENTRY(alarm, chime, alarm)->calls);
}

static inline void init_chime(chime *self)
{
    ceni_alarm_init(&self->alarm, chime_is_due);
    ceni_store_relaxed(&self->calls, 0); /* nobody knows it yet; carries nothing */
}

typedef struct job {
    ceni_errand errand;
    cen_runtime *runtime;
    struct job *waits_for; /* runs until that one has; NULL: does not */
    bool leaves;           /* the runtime, at its end */
    _Atomic uint32_t runs;
} job;

static inline void job_runs(ceni_errand *errand)
{
    job *self = CENI_LIST_ENTRY(errand, job, errand);
    cen_runtime *runtime = self->runtime;
    bool leaves = self->leaves;
    if (self->waits_for) await_count(&self->waits_for->runs, 1);
    count_up(&self->runs);
    if (leaves) ceni_runtime_leave(runtime);
}

static inline void init_job(job *self, cen_runtime *runtime)
{
    memset(self, 0, sizeof *self);
    self->runtime = runtime;
    ceni_errand_init(&self->errand, job_runs);
}

static inline void post_job(job *self)
{
    expect_equal(ceni_errand_post(self->runtime, &self->errand), CEN_OK);
}

static inline void post_from_thread(void *argument)
{
    post_job(argument);
}

/* Helpers that nobody joins run to their end. */
static inline void await_departed(void)
{
    ceni_world_settle();
    expect_equal(ceni_world_waiting(), 0);
    expect_equal(ceni_world_bytes(), 0);
}

#endif
