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

/* Runs inline on the thread that ended the task. That thread does not touch the task afterwards. */
static void ended(cen_future *future)
{
    call *c = (call *)CENI_TASK_OF_FUTURE(future);
    const cen_allocator *allocator = c->allocator; /* not through the crew: within an inline job this runs late */
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
        return ceni_crew_refuse(crew, CEN_MISUSE,
                                "the result's future was used before; cen_future_init makes it ready again", error);
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
