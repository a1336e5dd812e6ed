/* SPDX-License-Identifier: MIT */
/* Tasks that carry a number, and notice when one worker begins them out of order. */
#ifndef TESTS_UNIT_CREW_ORDERS_H
#define TESTS_UNIT_CREW_ORDERS_H

#include "unit/crew/crews.h"

#include <stdlib.h>

#ifdef CENI_WATCHED
enum { MANY = 500, BURST = 6, BURSTS = 20, SUBMITTERS = 2, AT_ONCE = 9 };
#else
enum { MANY = 30000, BURST = 300, BURSTS = 20, SUBMITTERS = 4, AT_ONCE = 400 };
#endif

typedef struct numbered {
    cen_task task; /* first */
    unsigned submitter;
    unsigned number;
} numbered;

static unsigned begun[SUBMITTERS]; /* tasks of each submitter; the one worker writes */
static unsigned misplaced;         /* tasks that did not begin when it was their turn */
static numbered *tasks[SUBMITTERS];

static inline cen_next note_begin(cen_task *task)
{
    const numbered *self = (const numbered *)task;
    if (begun[self->submitter] != self->number) misplaced++;
    begun[self->submitter]++;
    return cen_task_done(task, NULL);
}

static inline void make_tasks(unsigned submitter, unsigned count)
{
    tasks[submitter] = calloc(count, sizeof(numbered));
    expect(tasks[submitter] != NULL);
    for (unsigned i = 0; i < count; i++) {
        numbered *one = &tasks[submitter][i];
        cen_task_init(&one->task, note_begin);
        one->submitter = submitter;
        one->number = i;
    }
}

static inline void begin_with(unsigned submitters, unsigned count)
{
    misplaced = 0;
    memset(begun, 0, sizeof begun);
    for (unsigned i = 0; i < submitters; i++) make_tasks(i, count);
}

static inline void end_with(unsigned submitters, unsigned count)
{
    finish();
    expect_equal(misplaced, 0);
    for (unsigned i = 0; i < submitters; i++) {
        expect_equal(begun[i], count);
        free(tasks[i]);
    }
}

static inline void submit_one(unsigned submitter, unsigned i)
{
    expect_equal(cen_crew_submit(crew, &tasks[submitter][i].task, NULL), CEN_OK);
}

static inline void submit_many(void *argument)
{
    unsigned submitter = (unsigned)(uintptr_t)argument;
    for (unsigned i = 0; i < MANY; i++) submit_one(submitter, i);
}

static inline void run_submitters(void)
{
    ceni_thread threads[SUBMITTERS];
    begin_with(SUBMITTERS, MANY);
    make_crew(.workers = 1);
    for (uintptr_t i = 0; i < SUBMITTERS; i++) {
        int code = 0;
        expect_equal(ceni_thread_start(&threads[i], "submitter", submit_many, (void *)i, &code), CEN_OK);
    }
    for (unsigned i = 0; i < SUBMITTERS; i++) ceni_thread_join(&threads[i]);
    end_with(SUBMITTERS, MANY);
}

typedef struct parent {
    cen_task task; /* first */
    unsigned submitter, next, end;
    bool at_once;
} parent;

/* More than the worker's own queue takes, again and again, with others in between. */
static inline cen_next submit_burst(cen_task *task)
{
    parent *self = (parent *)task;
    cen_task *all[BURST];
    for (unsigned i = 0; i < BURST; i++) all[i] = &tasks[self->submitter][self->next++].task;
    if (self->at_once) expect_equal(cen_crew_submit_all(crew, all, BURST, NULL), CEN_OK);
    for (unsigned i = 0; i < BURST && !self->at_once; i++) expect_equal(cen_crew_submit(crew, all[i], NULL), CEN_OK);
    return self->next < self->end ? cen_task_yield(task, submit_burst) : cen_task_done(task, NULL);
}

/* Awaiting the oldest makes room in the worker's own queue, while newer ones are elsewhere. */
static inline cen_next submit_and_await(cen_task *task)
{
    parent *self = (parent *)task;
    for (unsigned oldest = 0; self->next < self->end; oldest++) {
        for (unsigned i = 0; i < BURST; i++) submit_one(self->submitter, self->next++);
        expect_equal(cen_await(&tasks[self->submitter][oldest].task.future, CEN_NEVER), CEN_OK);
    }
    return cen_task_done(task, NULL);
}

static inline void run_parent(cen_step step, bool at_once)
{
    parent one = {.end = BURST * BURSTS, .at_once = at_once};
    begin_with(1, BURST * BURSTS);
    make_crew(.workers = 1, .max = 1);
    cen_task_init(&one.task, step);
    expect_equal(cen_crew_submit(crew, &one.task, NULL), CEN_OK);
    end_with(1, BURST * BURSTS);
}

#endif
