/* SPDX-License-Identifier: MIT */
/* The order in which one worker begins tasks, with real threads and queues of their real sizes. */
#include "unit/crew/orders.h"

/* guarantees: crew.order */
TEST(with_real_threads_one_worker_begins_what_a_thread_submits_in_its_order)
{
    begin_with(1, MANY);
    make_crew(.workers = 1);
    for (unsigned i = 0; i < MANY; i++) submit_one(0, i);
    end_with(1, MANY);
}

/* guarantees: crew.order */
TEST(with_real_threads_what_each_of_several_submits_begins_in_its_order)
{
    run_submitters();
}

/* guarantees: crew.order */
TEST(with_real_threads_what_a_task_submits_begins_in_its_order)
{
    run_parent(submit_burst, false);
    run_parent(submit_burst, true);
    run_parent(submit_and_await, false);
}
