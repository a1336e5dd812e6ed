/* SPDX-License-Identifier: MIT */
/*
 * A function as a task, in memory that cenote allocates.
 *
 * The result's promise is in that memory too, and the task reaches the caller's future only through the promise. So the
 * caller may cancel and free its future at any time.
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
    cen_future *result; /* the caller's, which may be gone once the task was submitted; NULL: none */
    cen_promise promise;
    cen_error error; /* why it was not called */
} call;

static cen_next run(cen_task *task)
{
    call *c = (call *)task;
    if (c->result && !cen_promise_is_wanted(&c->promise)) return cen_task_done(task, NULL);
    return cen_task_done(task, c->function(c->argument));
}

/* Runs inline on the thread that ended the task. That thread does not touch the task afterwards. */
static void ended(cen_future *future)
{
    call *c = (call *)CENI_TASK_OF_FUTURE(future);
    const cen_allocator *allocator = c->allocator; /* not through the crew: within an inline job this runs late */
    if (c->result) {
        if (future->status == CEN_OK) cen_promise_complete(&c->promise, future->value);
        else cen_promise_fail(&c->promise, &c->error);
    }
    ceni_free(allocator, c, sizeof *c, _Alignof(call));
}

cen_status cen_function_task_new(const char *name, void *(*function)(void *argument), void *argument,
                                 cen_future *result, const cen_allocator *allocator, cen_task **out)
{
    if (!function || !out) return CEN_INVALID;
    if (result && !ceni_future_is_fresh(result)) return CEN_MISUSE;
    call *c = ceni_alloc(allocator, sizeof *c, _Alignof(call));
    if (!c) return CEN_NO_MEMORY;
    cen_task_init(&c->task, run);
    c->allocator = allocator;
    c->task.name = name ? name : "a call";
    c->task.future.error = &c->error;
    c->function = function;
    c->argument = argument;
    c->result = result;
    if (result) cen_promise_init(&c->promise, result);
    cen_future_then(&c->task.future, ended, cen_inline());
    *out = &c->task;
    return CEN_OK;
}

void cen_function_task_free(cen_task *task)
{
    if (!task) return;
    call *c = (call *)task;
    if (c->result) ceni_future_undo(c->result);
    ceni_free(c->allocator, c, sizeof *c, _Alignof(call));
}

static const char *words_for(cen_status status)
{
    switch (status) {
    case CEN_INVALID: return "the function is NULL";
    case CEN_MISUSE: return "the result's future is not initialised, or was used before; call cen_future_init";
    default: return "out of memory";
    }
}

cen_status cen_crew_submit_function(cen_crew *crew, const char *name, void *(*function)(void *argument), void *argument,
                                    cen_future *result, cen_error *error)
{
    cen_task *task;
    if (!crew) return ceni_crew_refuse(crew, CEN_INVALID, "the function is NULL", error);
    cen_status status = cen_function_task_new(name, function, argument, result, crew->options.allocator, &task);
    if (status != CEN_OK) return ceni_crew_refuse(crew, status, words_for(status), error);
    status = cen_crew_submit(crew, task, error);
    if (status != CEN_OK) cen_function_task_free(task);
    return status;
}
