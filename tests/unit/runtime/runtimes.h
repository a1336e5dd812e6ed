/* SPDX-License-Identifier: MIT */
/* Runtimes, and alarms and errands that remember what became of them. */
#ifndef TESTS_UNIT_RUNTIME_RUNTIMES_H
#define TESTS_UNIT_RUNTIME_RUNTIMES_H

#include "port/port.h"
#include "runtime/runtime.h"
#include "support/test.h"

#define make_runtime(...) make_runtime_of(CEN_RUNTIME_OPTIONS(__VA_ARGS__))

static inline cen_runtime *make_runtime_of(cen_runtime_options options)
{
    cen_runtime *runtime = NULL;
    cen_error error = {.text = ""};
    if (cen_runtime_new(&options, &runtime, &error) != CEN_OK)
        test_fail(__FILE__, __LINE__, "no runtime: %s", error.text);
    return runtime;
}

static inline void free_runtime(cen_runtime *runtime)
{
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

static inline cen_runtime *join_own(void)
{
    cen_runtime *runtime = NULL;
    expect_equal(ceni_runtime_join(NULL, &runtime), CEN_OK);
    expect(runtime != NULL);
    return runtime;
}

static inline cen_runtime_stats look_at(cen_runtime *runtime)
{
    cen_runtime_stats stats = CEN_SIZED(cen_runtime_stats);
    expect_equal(cen_runtime_stats_get(runtime, &stats), CEN_OK);
    expect(stats.busy <= stats.helpers);
    return stats;
}

#ifdef CENI_WATCHED
#include "port/fake/world.h"

/* Lets time pass until the moment, and all that is due then happen. */
static inline void pass_until(int64_t moment)
{
    ceni_sleep_until(moment);
    ceni_world_advance(0); /* or those who sleep until the same moment would wait for another step of the clock */
    ceni_world_settle();
}

static inline void pass(int64_t ns)
{
    pass_until(ceni_clock_now() + ns);
}
#endif

/* ---- Alarms -------------------------------------------------------------------- */

typedef struct chime {
    ceni_alarm alarm;
    cen_runtime *runtime;
    unsigned calls;
    int64_t at;       /* the runtime's clock in the last call */
    uint64_t thread;  /* that made it */
    char letter;      /* for chime_log */
    int64_t again_in; /* sets itself anew, so much later; 0: does not */
    void (*inside)(struct chime *chime);
} chime;

/* The letters of those that were due, in their order. One thread at a time writes it. */
static char chime_log[64];

static inline void chime_is_due(ceni_alarm *alarm)
{
    chime *self = CENI_LIST_ENTRY(alarm, chime, alarm);
    size_t length = strlen(chime_log);
    self->calls++;
    self->at = ceni_runtime_now(self->runtime);
    self->thread = ceni_thread_id();
    if (self->letter && length + 1 < sizeof chime_log) memcpy(chime_log + length, (char[]){self->letter, '\0'}, 2);
    if (self->again_in) ceni_alarm_set(self->runtime, alarm, self->at + self->again_in, NULL);
    if (self->inside) self->inside(self);
}

static inline void init_chime(chime *self, cen_runtime *runtime, char letter)
{
    *self = (chime){.runtime = runtime, .letter = letter};
    ceni_alarm_init(&self->alarm, chime_is_due);
}

/* True if it was set before. */
static inline bool set_chime(chime *self, int64_t moment)
{
    cen_status status = CEN_CLOSED;
    bool was_set = ceni_alarm_set(self->runtime, &self->alarm, moment, &status);
    expect_equal(status, CEN_OK);
    return was_set;
}

static inline bool unset_chime(chime *self)
{
    return ceni_alarm_unset(self->runtime, &self->alarm);
}

/* ---- Errands -------------------------------------------------------------------- */

typedef struct job {
    ceni_errand errand;
    cen_runtime *runtime;
    _Atomic uint32_t runs, ended;
    _Atomic uint32_t gate; /* a futex word; while it is 1 the errand blocks */
    _Atomic uint64_t thread;
    void (*inside)(struct job *job);
} job;

static inline void job_runs(ceni_errand *errand)
{
    job *self = CENI_LIST_ENTRY(errand, job, errand);
    ceni_store_relaxed(&self->thread, ceni_thread_id()); /* carries nothing */
    ceni_add_seq_cst(&self->runs, 1);
    ceni_futex_wake(&self->runs, UINT32_MAX);
    while (ceni_load_seq_cst(&self->gate) == 1) ceni_futex_wait(&self->gate, 1, CENI_FOREVER);
    if (self->inside) self->inside(self);
    ceni_add_seq_cst(&self->ended, 1);
    ceni_futex_wake(&self->ended, UINT32_MAX);
}

static inline void init_job(job *self, cen_runtime *runtime)
{
    memset(self, 0, sizeof *self);
    self->runtime = runtime;
    ceni_errand_init(&self->errand, job_runs);
}

static inline void shut_gate(job *self)
{
    ceni_store_seq_cst(&self->gate, 1);
}

static inline void open_gate(job *self)
{
    ceni_store_seq_cst(&self->gate, 0);
    ceni_futex_wake(&self->gate, UINT32_MAX);
}

static inline void post_job(job *self)
{
    expect_equal(ceni_errand_post(self->runtime, &self->errand), CEN_OK);
}

static inline void await_count(_Atomic uint32_t *word, uint32_t count)
{
    for (uint32_t seen; (seen = ceni_load_seq_cst(word)) < count;) ceni_futex_wait(word, seen, CENI_FOREVER);
}

#endif
