/* SPDX-License-Identifier: MIT */
/* Compiled as the build compiles everything: without -fexceptions. */
#include <pthread.h>
#include <unistd.h>

#include "port/port.h"
#include "support/test.h"
#include "unit/port/asleep.h"

/* Who has done something, a letter each; threads are joined before it is read.
 * r: run was entered, e: its end was reached, l: lost, d: a destructor of the
 * program's, h: a hook. */
static char story[32];
static pthread_key_t key;
static pthread_t who_lost;
static void *lost_what;

static void tell(char letter)
{
    size_t length = strlen(story);
    expect(length + 1 < sizeof story);
    story[length] = letter;
}

static void lost(void *argument)
{
    tell('l');
    who_lost = pthread_self();
    lost_what = argument;
}

static void hook(void)
{
    tell('h');
}

static void destructor(void *value)
{
    (void)value;
    tell('d');
}

static void begin(void)
{
    tell('r');
    expect(ceni_thread_at_exit(CENI_EXIT_LEASES, hook) == CEN_OK);
    expect(pthread_setspecific(key, story) == 0);
}

typedef struct guarded {
    void (*run)(void *);
    bedside asleep;
    pthread_t thread;
    void *end; /* what the thread returned */
} guarded;

static void *guard(void *argument)
{
    guarded *one = argument;
    ceni_thread_run_guarded(one->run, lost, one);
    tell('e');
    return NULL;
}

static void start(guarded *one)
{
    expect(pthread_key_create(&key, destructor) == 0);
    expect(pthread_create(&one->thread, NULL, guard, one) == 0);
}

static void join(guarded *one)
{
    expect(pthread_join(one->thread, &one->end) == 0);
}

static void expect_lost_once(guarded *one, void *end)
{
    expect_text(story, "rldh");
    expect(pthread_equal(who_lost, one->thread));
    expect(lost_what == one);
    expect(one->end == end);
}

static void just_return(void *argument)
{
    (void)argument;
    begin();
}

TEST(a_guarded_call_that_returns_is_not_lost)
{
    guarded one = {.run = just_return};
    start(&one);
    join(&one);
    expect_text(story, "redh");
}

static void (*volatile at_the_bottom)(void *) = pthread_exit; /* for all that the compiler knows it comes back */

__attribute__((noinline)) static int go_down(int depth)
{
    volatile char frame[64];
    frame[depth % 64] = (char)depth;
    if (depth > 0) return go_down(depth - 1) + frame[depth % 64];
    at_the_bottom(story);
    return frame[0];
}

static void exit_from_deep_inside(void *argument)
{
    (void)argument;
    begin();
    go_down(50);
}

TEST(a_guarded_call_that_ends_its_thread_from_deep_inside_is_lost_once)
{
    guarded one = {.run = exit_from_deep_inside};
    start(&one);
    join(&one);
    expect_lost_once(&one, story);
}

static void sleep_cancellable(void *argument)
{
    guarded *one = argument;
    begin();
    expect(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL) == 0);
    bedside_sign(&one->asleep);
    for (;;) pause();
}

TEST(a_guarded_call_whose_thread_is_cancelled_is_lost_once)
{
    guarded one = {.run = sleep_cancellable};
    start(&one);
    await_asleep(&one.asleep);
    expect(pthread_cancel(one.thread) == 0);
    join(&one);
    expect_lost_once(&one, PTHREAD_CANCELED);
}

static void pass_a_cancellation_point_that_is_held(void *argument)
{
    (void)argument;
    begin();
    int held = ceni_cancel_hold();
    expect(pthread_cancel(pthread_self()) == 0);
    pthread_testcancel();
    ceni_cancel_release(held);
}

TEST(a_request_to_cancel_that_was_not_acted_upon_loses_nothing)
{
    guarded one = {.run = pass_a_cancellation_point_that_is_held};
    start(&one);
    join(&one);
    expect_text(story, "redh");
}

static void exit_in_the_inner(void *argument)
{
    (void)argument;
    tell('i');
    pthread_exit(NULL);
}

static void lose_inner(void *argument)
{
    (void)argument;
    tell('m');
}

static void guard_another_that_exits(void *argument)
{
    begin();
    ceni_thread_run_guarded(exit_in_the_inner, lose_inner, argument);
    tell('n');
}

TEST(of_guarded_calls_within_one_another_the_inner_is_lost_first)
{
    guarded one = {.run = guard_another_that_exits};
    start(&one);
    join(&one);
    expect_text(story, "rimldh");
}

static void guard_one_that_returns(void *argument)
{
    begin();
    ceni_thread_run_guarded(just_return, lose_inner, argument);
    pthread_exit(NULL);
}

TEST(a_guarded_call_that_has_returned_is_not_lost_with_its_thread)
{
    guarded one = {.run = guard_one_that_returns};
    start(&one);
    join(&one);
    expect_text(story, "rrldh");
}

static void lose_and_end(void *argument)
{
    (void)argument;
    _exit(0);
}

/* Without the guard nobody ends the process with 0. */
TEST(the_main_thread_is_guarded_as_any_other)
{
    ceni_thread_run_guarded(exit_in_the_inner, lose_and_end, NULL);
    _exit(1);
}
