/* SPDX-License-Identifier: MIT */
/*
 * A function as a task, in memory that cenote allocates.
 *
 * The result's promise is in that memory too, so that whoever asked may cancel, and
 * free its future, at any time: the task does not know the future's address but by it.
 *
 * Tested by tests/unit/crew/call_test.c.
 */
#include "base/alloc.h"
#include "base/plant.h"
#include "crew/internal.h"
#include "sync/future.h"

typedef struct call {
    cen_task task;
    const cen_allocator *allocator;
    void *(*function)(void *argument);
    void *argument;
    bool has_result;
    cen_promise result;
    cen_error error; /* why it was not called */
} call;

static cen_next run(cen_task *task)
{
    call *c = (call *)task;
    if (c->has_result && !cen_promise_is_wanted(&c->result)) return cen_task_done(task, NULL);
    return cen_task_done(task, c->function(c->argument));
}

/* Inline, so on the thread that ended the task, which touches it no more. */
static void ended(cen_future *future)
{
    call *c = (call *)CENI_TASK_OF_FUTURE(future);
    const cen_allocator *allocator = c->allocator; /* not by way of the crew: within an inline job this comes late */
    if (c->has_result) {
        if (future->status == CEN_OK) cen_promise_complete(&c->result, future->value);
        else cen_promise_fail(&c->result, &c->error);
    }
    ceni_free(allocator, c, sizeof *c, _Alignof(call));
}

cen_status cen_crew_submit_function(cen_crew *crew, const char *name, void *(*function)(void *argument), void *argument,
                                    cen_future *result, cen_error *error)
{
    if (!crew || !function) return ceni_crew_refuse(crew, CEN_INVALID, "the function is NULL", error);
    if (result && !ceni_future_is_fresh(result))
        return ceni_crew_refuse(crew, CEN_MISUSE, "the future of the result was used before", error);
    const cen_allocator *allocator = crew->options.allocator;
    call *c = ceni_alloc(allocator, sizeof *c, _Alignof(call));
    if (!c) return ceni_crew_refuse(crew, CEN_NO_MEMORY, "out of memory", error);
    cen_task_init(&c->task, run);
    c->allocator = allocator;
    c->task.name = name ? name : "a call";
    c->task.future.error = &c->error;
    c->function = function;
    c->argument = argument;
    c->has_result = result != NULL;
    if (result) cen_promise_init(&c->result, result);
    cen_future_then(&c->task.future, ended, cen_inline());
    cen_status status = cen_crew_submit(crew, &c->task, error);
    if (status == CEN_OK) return CEN_OK;
    if (result) ceni_future_undo(result);
    ceni_free(allocator, c, sizeof *c, _Alignof(call));
    return status;
}
