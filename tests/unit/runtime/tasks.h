/* SPDX-License-Identifier: MIT */
/* Jobs for executors that remember what became of them. */
#ifndef TESTS_UNIT_RUNTIME_TASKS_H
#define TESTS_UNIT_RUNTIME_TASKS_H

#include "unit/runtime/runtimes.h"

typedef struct task {
    cen_job job;
    cen_executor *executor;
    _Atomic uint32_t runs, ended;
    _Atomic uint32_t gate; /* a futex word; while it is 1 the job blocks */
    _Atomic uint64_t thread;
    void (*inside)(struct task *task);
} task;

static inline void task_runs(cen_job *part)
{
    task *self = (task *)(void *)part;
    memset(part, 0xA5, sizeof *part);                    /* the executor has done with it */
    ceni_store_relaxed(&self->thread, ceni_thread_id()); /* carries nothing */
    ceni_add_seq_cst(&self->runs, 1);
    ceni_futex_wake(&self->runs, UINT32_MAX);
    while (ceni_load_seq_cst(&self->gate) == 1) ceni_futex_wait(&self->gate, 1, CENI_FOREVER);
    if (self->inside) self->inside(self);
    ceni_add_seq_cst(&self->ended, 1);
    ceni_futex_wake(&self->ended, UINT32_MAX);
}

static inline void init_task(task *self, cen_executor *executor)
{
    memset(self, 0, sizeof *self);
    self->executor = executor;
}

static inline void post_task(task *self)
{
    self->job = (cen_job){.run = task_runs};
    self->executor->post(self->executor, &self->job);
}

static inline void block_task(task *self)
{
    ceni_store_seq_cst(&self->gate, 1);
}

static inline void unblock_task(task *self)
{
    ceni_store_seq_cst(&self->gate, 0);
    ceni_futex_wake(&self->gate, UINT32_MAX);
}

static inline uint32_t runs_of(task *self)
{
    return ceni_load_seq_cst(&self->runs);
}

#endif
