/* SPDX-License-Identifier: MIT */
/* Timers under every schedule: due and cancel meet, and the runtime ends with the last of them. */
#include <cenote/timer.h>

#include "base/alloc.h"
#include "explore/runtimes.h"

static _Atomic uint32_t told;

static void note(cen_future *future)
{
    (void)future;
    count_up(&told);
}

/* From the heap, whose memory the world watches: whoever touches it too late is found out. */
static cen_timer *make_timer(cen_runtime *runtime, cen_deadline when)
{
    cen_timer *timer = ceni_alloc(NULL, sizeof *timer, _Alignof(cen_timer));
    expect(timer != NULL);
    cen_timer_init(timer);
    expect_equal(cen_future_then(&timer->future, note, cen_inline()), CEN_OK);
    expect_equal(cen_timer_start(timer, runtime, when, NULL), CEN_OK);
    return timer;
}

static void free_timer(cen_timer *timer)
{
    ceni_free(NULL, timer, sizeof *timer, _Alignof(cen_timer));
}

static void begin(void)
{
    ceni_store_seq_cst(&told, 0);
}

/* Cancels it, frees it as soon as that is allowed, and tells whether it was done. One of them at a time is told. */
static uint32_t cancel_and_free(cen_timer *timer)
{
    uint32_t done = !cen_future_cancel(&timer->future);
    if (done) await_count(&told, 1);
    free_timer(timer);
    return done;
}

/* guarantees: runtime.timer-cancel */
EXPLORE(a_timer_is_done_or_given_up_and_never_both, 4)
{
    begin();
    uint32_t done = cancel_and_free(make_timer(NULL, CEN_NOW));
    await_departed();
    expect_equal(ceni_load_seq_cst(&told), done);
}

/* guarantees: runtime.timer-cancel */
EXPLORE(a_timer_of_an_explicit_runtime_is_done_or_given_up_and_the_runtime_can_be_freed, 4)
{
    begin();
    cen_runtime *runtime = make_lingering(0);
    uint32_t done = cancel_and_free(make_timer(runtime, CEN_NOW));
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    expect_equal(ceni_load_seq_cst(&told), done);
    expect_equal(ceni_world_bytes(), 0);
}

static void cancel_there(void *argument)
{
    cancel_and_free(argument);
}

/* The runtime's end and the canceller's look at it are as far apart as they can be. */
/* guarantees: runtime.timer-cancel */
EXPLORE(a_thread_that_gives_up_a_timer_does_not_touch_a_runtime_that_has_ended, 3)
{
    begin();
    ceni_thread other = start("other", cancel_there, make_timer(NULL, CEN_NOW));
    join(other);
    await_departed();
    expect(ceni_load_seq_cst(&told) <= 1);
}

/* guarantees: runtime.timer-life */
EXPLORE(whoever_has_waited_for_a_timer_can_free_its_runtime, 4)
{
    cen_timer timer;
    cen_runtime *runtime = make_lingering(0);
    cen_timer_init(&timer);
    expect_equal(cen_timer_start(&timer, runtime, CEN_NOW, NULL), CEN_OK);
    expect_equal(cen_future_wait(&timer.future, CEN_NEVER), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: runtime.timer-life */
EXPLORE(of_two_timers_the_last_ends_the_process_own_runtime, 3)
{
    begin();
    cen_timer *never = make_timer(NULL, CEN_NEVER), *now = make_timer(NULL, CEN_NOW);
    expect_equal(cancel_and_free(never), 0);
    uint32_t done = cancel_and_free(now);
    await_departed();
    expect_equal(ceni_load_seq_cst(&told), done);
}

static void start_there(void *unused)
{
    (void)unused;
    cancel_and_free(make_timer(NULL, CEN_NOW));
}

/* One may have made the runtime that the other joins, or just ended. */
/* guarantees: runtime.timer-life */
EXPLORE(one_who_starts_a_timer_while_another_ends_has_a_runtime, 2)
{
    cen_timer timer;
    begin();
    ceni_thread other = start("other", start_there, NULL);
    cen_timer_init(&timer);
    expect_equal(cen_timer_start(&timer, NULL, CEN_NOW, NULL), CEN_OK);
    expect_equal(cen_future_wait(&timer.future, CEN_NEVER), CEN_OK);
    join(other);
    await_departed();
}
