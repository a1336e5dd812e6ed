/* SPDX-License-Identifier: MIT */
/* Tasks without a crew: holders that a test enters and leaves by hand, on any thread, and a count of looks at the pools. */
#ifndef TESTS_UNIT_POOL_TASKS_H
#define TESTS_UNIT_POOL_TASKS_H

#include "record/directory.h"
#include "sync/holder.h"
#include "unit/pool/takers.h"

typedef struct task {
    ceni_holder holder;
    ceni_holder_before before;
} task;

static inline void begin_step(task *self)
{
    ceni_holder_enter(&self->holder, &self->before);
}

static inline void end_step(task *self)
{
    ceni_holder_leave(&self->holder, &self->before);
}

static inline void end_task(task *self)
{
    ceni_holder_end(&self->holder);
}

/* One take in a step of the task, and no more. */
static inline cen_lease take_in_step(task *self, cen_pool *pool)
{
    begin_step(self);
    cen_lease lease = take_now(pool);
    end_step(self);
    return lease;
}

static inline void give_in_step(task *self, cen_lease *lease)
{
    begin_step(self);
    give_back(lease);
    end_step(self);
}

static inline bool holds_in_step(task *self)
{
    begin_step(self);
    bool answer = ceni_holder_holds();
    end_step(self);
    return answer;
}

/* Walks over a directory since the last time this was asked; the program is linked with --wrap. */
static int walks;

void __real_ceni_directory_each(ceni_directory *directory, void (*visit)(void *argument, ceni_directory_entry *entry),
                                void *argument);
void __wrap_ceni_directory_each(ceni_directory *directory, void (*visit)(void *argument, ceni_directory_entry *entry),
                                void *argument);

void __wrap_ceni_directory_each(ceni_directory *directory, void (*visit)(void *argument, ceni_directory_entry *entry),
                                void *argument)
{
    walks++;
    __real_ceni_directory_each(directory, visit, argument);
}

static inline int walks_since(void)
{
    int count = walks;
    walks = 0;
    return count;
}

/* The one that is held, or the first. */
static inline cen_object_view holder_of(cen_pool *pool)
{
    cen_object_view holding = {.holder = 0};
    size_t count;
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
    expect(count > 0);
    return holding;
}

#endif
