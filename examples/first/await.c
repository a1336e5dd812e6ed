/* SPDX-License-Identifier: MIT */
/* A task that waits for a connection without blocking its worker.
 * cc await.c $(pkg-config --cflags --libs cenote) */
#include <cenote/cenote.h>
static cen_pool *pool;
typedef struct query {
    cen_task task; /* first */
    cen_take_op take;
} query;
static cen_next use_it(cen_task *task) /* runs when the take has completed */
{
    query *self = (query *)task;
    return self->take.future.status == CEN_OK && cen_pool_give(&self->take.lease) == CEN_OK ? cen_task_done(task, NULL)
                                                                                            : cen_task_fail(task, NULL);
}
static cen_next begin(cen_task *task)
{
    query *self = (query *)task;
    cen_take_op_init(&self->take, NULL, NULL);
    if (cen_pool_take_async(pool, cen_in_s(1), &self->take) != CEN_OK) return cen_task_fail(task, NULL);
    return cen_task_wait(task, &self->take.future, use_it);
}
int main(void)
{
    static const cen_driver_calls adopts = {.size = sizeof adopts, .opens_nothing = true, .closes_nothing = true};
    cen_crew *crew;
    query one;
    if (cen_pool_new(&CEN_POOL_OPTIONS(.driver = {&adopts, NULL}), &pool, NULL) != CEN_OK) return 1;
    if (cen_crew_new(&CEN_CREW_OPTIONS(.workers = 2), &crew, NULL) != CEN_OK) return 1;
    cen_task_init(&one.task, begin);
    cen_crew_submit(crew, &one.task, NULL);
    cen_pool_adopt(pool, "a connection", NULL); /* the task may be waiting for it already */
    cen_crew_stop(crew, CEN_STOP_DRAIN, cen_in_s(5), NULL, NULL), cen_crew_free(crew);
    return cen_pool_free(pool) != CEN_OK || one.task.future.status != CEN_OK;
}
