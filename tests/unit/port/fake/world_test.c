/* SPDX-License-Identifier: MIT */
/*
 * The instrument itself: a world finds what it must find. Each kind of fault
 * is put into a body and the world has to end the process with a report.
 */
#include "unit/port/fake/reports.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "port/fake/asan.h"

static _Atomic uint32_t x, y, seen_x, seen_y;
static _Atomic uint32_t gate;

static void store_x_load_y(void *unused)
{
    (void)unused;
    ceni_store_release(&x, 1);
    ceni_store_relaxed(&seen_y, ceni_load_acquire(&y));
}

static void store_y_load_x(void *unused)
{
    (void)unused;
    ceni_store_release(&y, 1);
    ceni_store_relaxed(&seen_x, ceni_load_acquire(&x));
}

/* The publish-then-look pair without its barrier. */
static void dekker_without_barrier(void)
{
    x = y = seen_x = seen_y = 0;
    ceni_thread a = start("a", store_x_load_y, NULL), b = start("b", store_y_load_x, NULL);
    join(a);
    join(b);
    expect(ceni_load_relaxed(&seen_x) || ceni_load_relaxed(&seen_y));
}

PLAIN_TEST(a_missing_barrier_shows_with_store_buffers)
{
    expect(reports(&(ceni_exploration){.body = dekker_without_barrier, .preemptions = 2, .memory = CENI_MEMORY_TSO},
                   "seen_x"));
}

PLAIN_TEST(the_same_is_right_when_memory_is_sequentially_consistent)
{
    ceni_explored found = ceni_world_explore(&(ceni_exploration){.body = dekker_without_barrier, .preemptions = 4});
    expect(found.run > 2);
    expect_equal(found.threads, 3);
}

static void store_x_load_y_strongly(void *unused)
{
    (void)unused;
    ceni_store_seq_cst(&x, 1);
    ceni_store_relaxed(&seen_y, ceni_load_seq_cst(&y));
}

static void store_y_load_x_strongly(void *unused)
{
    (void)unused;
    ceni_store_seq_cst(&y, 1);
    ceni_store_relaxed(&seen_x, ceni_load_seq_cst(&x));
}

EXPLORE(the_barrier_makes_it_right_with_store_buffers_too, 4)
{
    x = y = seen_x = seen_y = 0;
    ceni_thread a = start("a", store_x_load_y_strongly, NULL), b = start("b", store_y_load_x_strongly, NULL);
    join(a);
    join(b);
    expect(ceni_load_relaxed(&seen_x) || ceni_load_relaxed(&seen_y));
}

static void add_carelessly(void *unused)
{
    (void)unused;
    ceni_store_relaxed(&x, ceni_load_relaxed(&x) + 1);
}

static void lost_update(void)
{
    x = 0;
    ceni_thread a = start("a", add_carelessly, NULL), b = start("b", add_carelessly, NULL);
    join(a);
    join(b);
    expect(ceni_load_relaxed(&x) == 2);
}

PLAIN_TEST(a_lost_update_is_found_with_one_preemption)
{
    expect(reports(&(ceni_exploration){.body = lost_update, .preemptions = 1}, "ceni_load_relaxed(&x) == 2"));
}

PLAIN_TEST(a_lost_update_needs_a_preemption)
{
    ceni_explored found = ceni_world_explore(&(ceni_exploration){.body = lost_update, .preemptions = 0});
    expect(found.run >= 1);
}

PLAIN_TEST(a_lost_update_is_found_at_random)
{
    expect(reports(&(ceni_exploration){.body = lost_update, .random_runs = 200, .changes = 2, .seed = 3}, "== 2"));
}

static void wait_without_looking_again(void *unused)
{
    (void)unused;
    if (ceni_load_seq_cst(&gate) == 0) {
        uint32_t word = ceni_load_seq_cst(&y);
        ceni_futex_wait(&y, word, CENI_FOREVER);
    }
}

static void open_the_gate(void *unused)
{
    (void)unused;
    ceni_store_seq_cst(&gate, 1);
    ceni_futex_wake(&y, 1);
}

static void lost_wake_up(void)
{
    gate = y = 0;
    ceni_thread a = start("sleeper", wait_without_looking_again, NULL), b = start("waker", open_the_gate, NULL);
    join(a);
    join(b);
}

PLAIN_TEST(a_lost_wake_up_is_reported_as_a_deadlock)
{
    expect(reports(&(ceni_exploration){.body = lost_wake_up, .preemptions = 2}, "deadlock"));
}

static void poll_for_nothing(void)
{
    x = 0;
    while (ceni_load_relaxed(&x) == 0) ceni_pause();
}

PLAIN_TEST(polling_for_what_never_comes_is_reported_as_no_progress)
{
    expect(reports(&(ceni_exploration){.body = poll_for_nothing, .preemptions = 1}, "no progress"));
}

static _Atomic uint32_t *shared;

static void touch(void *unused)
{
    (void)unused;
    ceni_store_relaxed(shared, 1);
}

static void free_too_early(void)
{
    shared = ceni_alloc(NULL, sizeof *shared, 16);
    ceni_thread a = start("late", touch, NULL);
    ceni_free(NULL, (void *)shared, sizeof *shared, 16);
    join(a);
}

PLAIN_TEST(a_touch_of_freed_memory_is_reported)
{
    expect(reports(&(ceni_exploration){.body = free_too_early, .preemptions = 1}, "use after free"));
}

static int **indirect;

static void follow_pointer(void *unused)
{
    (void)unused;
    **indirect = 1;
}

static void free_a_pointer_too_early(void)
{
    static int target;
    indirect = ceni_alloc(NULL, sizeof *indirect, 16);
    *indirect = &target;
    ceni_thread a = start("late", follow_pointer, NULL);
    ceni_free(NULL, (void *)indirect, sizeof *indirect, 16);
    join(a);
}

/* AddressSanitizer reports the read itself, and first. */
PLAIN_TEST(the_use_of_a_pointer_from_freed_memory_is_reported_with_its_schedule)
{
    ceni_exploration plan = {.body = free_a_pointer_too_early, .preemptions = 1};
#ifdef CENI_WITH_ASAN
    expect(fails(&plan, NULL));
#else
    expect(reports(&plan, "crash: Segmentation fault"));
    expect(strstr(output, "CENOTE_REPLAY=") != NULL);
#endif
}

static void forget_memory(void)
{
    shared = ceni_alloc(NULL, sizeof *shared, 16);
}

PLAIN_TEST(memory_not_freed_is_reported)
{
    expect(reports(&(ceni_exploration){.body = forget_memory}, "not freed"));
}

static void leave_an_address_behind(void *unused)
{
    (void)unused;
    _Atomic uint32_t mine = 0;
    shared = &mine;
    ceni_store_seq_cst(&gate, 1);
}

static void touch_a_dead_stack(void)
{
    gate = 0;
    ceni_thread a = start("owner", leave_an_address_behind, NULL);
    join(a);
    ceni_store_relaxed(shared, 1);
}

PLAIN_TEST(a_touch_of_a_stack_that_is_gone_is_reported)
{
    expect(reports(&(ceni_exploration){.body = touch_a_dead_stack}, "use after return"));
}

/* ---- The story ----------------------------------------------------------------------- */

/* The trace that the last report ends with. */
static const char *trace_told(void)
{
    static char trace[4096];
    const char *told = strstr(output, "CENOTE_REPLAY=");
    expect(told != NULL);
    expect_equal(sscanf(told, "CENOTE_REPLAY=%4095s", trace), 1);
    return trace;
}

PLAIN_TEST(a_story_can_be_run_again_and_ends_the_same)
{
    static const ceni_exploration plans[] = {
        {.body = lost_update, .preemptions = 2},
        {.body = dekker_without_barrier, .preemptions = 2, .memory = CENI_MEMORY_TSO},
        {.body = lost_wake_up, .preemptions = 2},
        {.body = lost_update, .random_runs = 500, .changes = 2, .seed = 3},
    };
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        expect(fails(&plans[i], NULL));
        char story[4096];
        snprintf(story, sizeof story, "%s", strstr(output, "the story so far"));
        expect(fails(&plans[i], trace_told()));
        expect(strncmp(strstr(output, "the story so far"), story, strlen(story)) == 0);
    }
}

PLAIN_TEST(a_story_has_a_column_for_each_thread)
{
    expect(fails(&(ceni_exploration){.body = lost_update, .preemptions = 1}, NULL));
    expect(strstr(output, "1 is a") && strstr(output, "2 is b"));
    const char *first = strstr(output, " 1| world_test.c"), *second = strstr(output, " 2| world_test.c");
    expect(first && second);
    while (first > output && first[-1] != '\n') first--;
    while (second > output && second[-1] != '\n') second--;
    expect(strcspn(first, "1") + 20 < strcspn(second, "2"));
}

PLAIN_TEST(a_schedule_that_is_well_can_be_run_again_too)
{
    expect(!fails(&(ceni_exploration){.body = lost_update}, "0:r0"));
    expect(strstr(output, "the story so far"));
}

PLAIN_TEST(a_trace_that_cannot_be_read_is_refused)
{
    expect(!ceni_world_replay(&(ceni_exploration){.body = lost_update}, "not a trace"));
}

/* ---- Nothing hides ------------------------------------------------------------------ */

static void poll_once_then_expect(void *unused)
{
    (void)unused;
    if (ceni_load_seq_cst(&gate) == 0) ceni_pause();
    ceni_store_relaxed(&seen_x, ceni_load_seq_cst(&gate));
}

static void impatient_poll(void)
{
    gate = seen_x = 0;
    ceni_thread a = start("poll", poll_once_then_expect, NULL), b = start("open", open_the_gate, NULL);
    join(a);
    join(b);
    expect(ceni_load_relaxed(&seen_x) == 1);
}

PLAIN_TEST(a_thread_that_pauses_may_go_on_before_anybody_else)
{
    expect(reports(&(ceni_exploration){.body = impatient_poll, .preemptions = 2}, "seen_x) == 1"));
}

static void wait_once(void *unused)
{
    (void)unused;
    ceni_futex_wait(&y, 0, CENI_FOREVER);
    ceni_store_relaxed(&seen_y, ceni_load_seq_cst(&gate));
}

static void open_and_change(void *unused)
{
    (void)unused;
    ceni_store_seq_cst(&gate, 1);
    ceni_store_seq_cst(&y, 1);
    ceni_futex_wake(&y, 1);
}

static void trust_in_one_wake_up(void)
{
    gate = y = seen_y = 0;
    ceni_thread a = start("sleep", wait_once, NULL), b = start("open", open_and_change, NULL);
    join(a);
    join(b);
    expect(ceni_load_relaxed(&seen_y) == 1);
}

PLAIN_TEST(a_futex_may_wake_for_no_reason)
{
    expect(reports(&(ceni_exploration){.body = trust_in_one_wake_up, .preemptions = 1}, "seen_y) == 1"));
}

static void pause_then_fail(void)
{
    x = 0;
    ceni_thread a = start("a", add_carelessly, NULL);
    ceni_pause();
    ceni_thread_yield();
    ceni_sleep_until(0);
    join(a);
    expect(ceni_load_relaxed(&x) == 2);
}

PLAIN_TEST(a_point_without_an_effect_is_not_taken_for_a_state_seen_before)
{
    expect(reports(&(ceni_exploration){.body = pause_then_fail, .preemptions = 2}, "== 2"));
}

static void poll_the_gate(void *unused)
{
    (void)unused;
    while (ceni_load_acquire(&gate) == 0) ceni_pause();
}

EXPLORE(two_who_poll_and_one_who_opens_come_to_an_end, 3)
{
    gate = y = 0;
    ceni_thread a = start("a", poll_the_gate, NULL), b = start("b", poll_the_gate, NULL);
    ceni_store_release(&gate, 1);
    join(a);
    join(b);
}

/* ---- Pruning ---------------------------------------------------------------------- */

static _Atomic uint32_t apart[3];

static void work_alone(void *word)
{
    for (int i = 0; i < 4; i++) ceni_add_relaxed((_Atomic uint32_t *)word, 1);
}

static void independent_threads(void)
{
    ceni_thread threads[3];
    for (int i = 0; i < 3; i++) {
        apart[i] = 0;
        threads[i] = start("alone", work_alone, &apart[i]);
    }
    for (int i = 0; i < 3; i++) join(threads[i]);
    for (int i = 0; i < 3; i++) expect(ceni_load_relaxed(&apart[i]) == 4);
}

PLAIN_TEST(schedules_of_independent_threads_are_pruned_to_a_handful)
{
    ceni_explored found = ceni_world_explore(&(ceni_exploration){.body = independent_threads, .preemptions = 3});
    expect(found.run * 10 < found.pruned);
}

static void append_digit(void *digit)
{
    for (int i = 0; i < 2; i++) {
        uint32_t old = ceni_load_relaxed(&x);
        while (!ceni_cas_relaxed(&x, &old, old * 10 + (uint32_t)(uintptr_t)digit)) ceni_pause();
    }
}

static uint32_t outcomes[64];
static unsigned outcomes_found;

static void all_orders(void)
{
    x = 0;
    ceni_thread a = start("one", append_digit, (void *)1), b = start("two", append_digit, (void *)2);
    join(a);
    join(b);
    uint32_t value = ceni_load_relaxed(&x);
    for (unsigned i = 0; i < outcomes_found; i++)
        if (outcomes[i] == value) return;
    outcomes[outcomes_found++] = value;
}

PLAIN_TEST(pruning_loses_no_outcome)
{
    outcomes_found = 0;
    ceni_world_explore(&(ceni_exploration){.body = all_orders, .preemptions = 4});
    expect_equal(outcomes_found, 6); /* 1122 1212 1221 2112 2121 2211 */
}

/* ---- Time --------------------------------------------------------------------------- */

TEST(thirty_seconds_pass_in_no_time)
{
    int64_t before = ceni_clock_now();
    ceni_sleep_until(before + 30000000000);
    expect_equal(ceni_clock_now() - before, 30000000000);
}

static void wait_a_second(void *unused)
{
    (void)unused;
    expect(ceni_futex_wait(&y, 0, ceni_clock_now() + 1000000000) == CENI_TIMED_OUT);
}

TEST(a_deadline_passes_when_the_test_says_so)
{
    y = 0;
    ceni_thread a = start("waiter", wait_a_second, NULL);
    ceni_world_settle();
    expect_equal(ceni_world_waiting(), 1);
    ceni_world_advance(999999999);
    ceni_world_settle();
    expect_equal(ceni_world_waiting(), 1);
    ceni_world_advance(1);
    ceni_world_settle();
    expect_equal(ceni_world_waiting(), 0);
    join(a);
}
