/* SPDX-License-Identifier: MIT */
/* A manual runtime's descriptor, in a loop of the program's own. */
#include <poll.h>

#include "unit/runtime/runtimes.h"

static const int64_t us = 1000, ms = 1000000;

static bool readable(cen_runtime *runtime)
{
    struct pollfd one = {.fd = cen_runtime_fd(runtime), .events = POLLIN};
    expect(one.fd >= 0);
    int ready = poll(&one, 1, 0);
    expect(ready >= 0);
    return ready == 1;
}

/* guarantees: runtime.poll */
TEST(the_descriptor_is_readable_when_something_is_due_before_the_last_poll_said)
{
    cen_runtime *runtime = make_runtime(.manual = true, .virtual_time = true);
    int64_t began = cen_runtime_now(runtime);
    chime first, second;
    job errand;
    init_chime(&first, runtime, 0);
    init_chime(&second, runtime, 0);
    init_job(&errand, runtime);
    expect(!readable(runtime));
    set_chime(&first, began + 50 * us); /* nobody has polled yet */
    expect(readable(runtime));
    expect_equal(cen_runtime_poll(runtime), 50 * us);
    expect(!readable(runtime));
    set_chime(&second, began + 60 * us); /* later than poll said: nothing new for the loop */
    expect(!readable(runtime));
    set_chime(&second, began + 40 * us);
    expect(readable(runtime));
    expect_equal(cen_runtime_poll(runtime), 40 * us);
    expect(!readable(runtime));
    post_job(&errand);
    expect(readable(runtime));
    expect_equal(cen_runtime_poll(runtime), 40 * us);
    expect_equal(ceni_load_seq_cst(&errand.ended), 1);
    expect(!readable(runtime));
    expect(unset_chime(&first) && unset_chime(&second));
    free_runtime(runtime);
}

static chime *to_set;
static int64_t to_set_at;

static void set_another(chime *self)
{
    (void)self;
    set_chime(to_set, to_set_at);
}

/* A poll tells its caller what it found itself; one who tends or moves the clock tells the loop. */
/* guarantees: runtime.poll */
TEST(what_is_set_from_within_rings_unless_poll_itself_says_so)
{
    cen_runtime *runtime = make_runtime(.manual = true, .virtual_time = true);
    int64_t began = cen_runtime_now(runtime);
    chime outer, inner;
    init_chime(&outer, runtime, 0);
    init_chime(&inner, runtime, 0);
    outer.inside = set_another;
    to_set = &inner;
    to_set_at = began + 20 * us;
    set_chime(&outer, began);
    expect_equal(cen_runtime_poll(runtime), 20 * us);
    expect(!readable(runtime));
    expect(unset_chime(&inner));
    expect_equal(cen_runtime_poll(runtime), -1);
    set_chime(&outer, began);
    expect_equal(cen_runtime_poll(runtime), 20 * us); /* silences what the line above rang */
    set_chime(&outer, began + 5 * us);
    expect_equal(cen_runtime_poll(runtime), 5 * us);
    to_set_at = began + 6 * us;
    expect_equal(cen_runtime_advance(runtime, 5 * us), CEN_OK);
    expect(!readable(runtime)); /* the loop comes at 5 us anyway */
    expect_equal(cen_runtime_poll(runtime), us);
    expect(unset_chime(&inner));
    expect_equal(cen_runtime_poll(runtime), -1);
    set_chime(&outer, began);
    to_set_at = began + 10 * us;
    ceni_runtime_tend(runtime);
    expect_equal(outer.calls, 4);
    expect(readable(runtime));
    expect_equal(cen_runtime_poll(runtime), 5 * us);
    expect(unset_chime(&inner));
    free_runtime(runtime);
}

static void set_from_another_thread(void *argument)
{
    chime *one = argument;
    set_chime(one, ceni_clock_now() + ms);
}

/* The loop of the header: it sleeps without limit, and is woken by the descriptor. */
/* guarantees: runtime.poll */
TEST(a_poll_loop_sleeps_in_poll_and_runs_everything_in_time)
{
    cen_runtime *runtime = make_runtime(.manual = true);
    chime soon, later, from_outside;
    init_chime(&soon, runtime, 0);
    init_chime(&later, runtime, 0);
    init_chime(&from_outside, runtime, 0);
    int64_t began = ceni_clock_now();
    set_chime(&soon, began + ms);
    set_chime(&later, began + 10 * ms);
    ceni_thread thread = {0};
    while (from_outside.calls == 0) {
        int64_t ns = cen_runtime_poll(runtime);
        if (ns < 0 && !thread.handle) { /* nothing is foreseen: another thread sets something */
            int code;
            expect_equal(ceni_thread_start(&thread, NULL, set_from_another_thread, &from_outside, &code), CEN_OK);
        }
        struct pollfd one = {.fd = cen_runtime_fd(runtime), .events = POLLIN};
        if (from_outside.calls == 0) expect(poll(&one, 1, ns < 0 ? -1 : (int)(ns / ms) + 1) >= 0);
    }
    ceni_thread_join(&thread);
    expect(soon.calls == 1 && later.calls == 1);
    expect(soon.at >= began + ms && later.at >= began + 10 * ms);
    expect_equal(later.thread, ceni_thread_id());
    free_runtime(runtime);
}
