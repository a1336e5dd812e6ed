/* SPDX-License-Identifier: MIT */
/* Threads of the system: whoever calls the program's code on its behalf cannot be cancelled meanwhile. */
#include <pthread.h>

#include "unit/actor/actors.h"

static int state_inside = -1;

static void look_at_state(void)
{
    expect_equal(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_inside), 0);
    expect_equal(pthread_setcancelstate(state_inside, NULL), 0);
}

static void expect_disabled_and_restored(void)
{
    int now;
    expect_equal(state_inside, PTHREAD_CANCEL_DISABLE);
    expect_equal(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &now), 0);
    expect_equal(now, PTHREAD_CANCEL_ENABLE);
    state_inside = -1;
}

static void look_in_handler(letter *self)
{
    (void)self;
    look_at_state();
}

static void look_in_job(cen_job *job)
{
    (void)job;
    look_at_state();
}

static void look_in_dropped(void *argument, cen_message *message)
{
    (void)argument, (void)message;
    look_at_state();
}

TEST(handlers_jobs_and_dropped_are_called_with_cancellation_disabled)
{
    letter two[2];
    cen_job job = {.run = look_in_job};
    init_letters(two, 2);
    two[0].inside = look_in_handler;
    cen_actor_options options = CEN_ACTOR_OPTIONS(.handle = handle_letter, .dropped = look_in_dropped,
                                                  .argument = &order, .runtime = make_manual());
    expect_equal(cen_actor_new(&options, &actor, NULL), CEN_OK);
    tell(&two[0]);
    poll();
    expect_disabled_and_restored();
    cen_executor *executor = cen_actor_executor(actor);
    executor->post(executor, &job);
    poll();
    expect_disabled_and_restored();
    tell(&two[1]);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DROP, NULL, NULL), CEN_OK);
    poll();
    expect_disabled_and_restored();
    executor = cen_runtime_executor(runtime);
    job = (cen_job){.run = look_in_job};
    executor->post(executor, &job);
    poll();
    expect_disabled_and_restored();
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}
