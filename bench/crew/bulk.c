/* SPDX-License-Identifier: MIT */
/* The same crew, whose producers submit 64 at a time. */
#define POOL_PRODUCES 64
#include "cenote.c"

static void pool_produce(struct task *first, uint32_t count)
{
    cen_task *batch[POOL_PRODUCES];
    for (uint32_t i = 0; i < count; i++) {
        batch[i] = &first[i].node.task;
        cen_task_init(batch[i], step);
    }
    must(cen_crew_submit_all(crew, batch, count, NULL));
}
