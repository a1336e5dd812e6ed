/* SPDX-License-Identifier: MIT */
/* The listener of events, with the system's threads and processes. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cenote/events.h>

#include "base/atomic.h"
#include "base/fault.h"
#include "port/port.h"
#include "record/events.h"
#include "support/test.h"

enum { MOST = 8192 };

/* What one listener was told. */
typedef struct diary {
    char what[MOST][8];
    uint64_t missed;
    _Atomic uint32_t count; /* a futex; written after the rest */
} diary;

static diary first, second;

static void note(void *argument, const cen_event *event, uint64_t missed)
{
    diary *d = argument;
    uint32_t count = ceni_load_relaxed(&d->count);
    if (count < MOST) snprintf(d->what[count], sizeof d->what[0], "%.7s", event->what);
    d->missed += missed;
    ceni_store_release(&d->count, count + 1);
    ceni_futex_wake(&d->count, 1);
}

static void await(_Atomic uint32_t *word, uint32_t wanted)
{
    for (uint32_t seen; (seen = ceni_load_acquire(word)) < wanted;) ceni_futex_wait(word, seen, CENI_FOREVER);
}

static void listen(cen_event_level least, diary *d)
{
    cen_error error = {.text = ""};
    if (cen_events_listen(least, note, d, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
}

static void unlisten(void)
{
    expect_equal(cen_events_listen(CEN_LEVEL_NOTICE, NULL, NULL, NULL), CEN_OK);
}

/* guarantees: events.listener */
TEST(a_listener_is_told_each_event_of_its_level_from_then_on_in_order)
{
    cen_event_emit(CEN_LEVEL_ERROR, "before", NULL);
    listen(CEN_LEVEL_WARNING, &first);
    for (int i = 0; i < 500; i++) {
        char what[8];
        snprintf(what, sizeof what, "%d", i);
        cen_event_emit(i % 2 ? CEN_LEVEL_ERROR : CEN_LEVEL_WARNING, what, NULL);
        cen_event_emit(CEN_LEVEL_NOTICE, "low", NULL);
        cen_event_emit(CEN_LEVEL_TRACE, "lowest", NULL);
    }
    await(&first.count, 500);
    unlisten();
    expect_equal(ceni_load_relaxed(&first.count), 500);
    for (int i = 0; i < 500; i++) {
        char what[8];
        snprintf(what, sizeof what, "%d", i);
        expect_text(first.what[i], what);
    }
    expect_equal(first.missed, 0);
}

/* guarantees: events.listener */
TEST(one_who_asks_for_traces_is_told_of_both_rings)
{
    listen(CEN_LEVEL_TRACE, &first);
    cen_event_emit(CEN_LEVEL_TRACE, "taken", NULL);
    await(&first.count, 1);
    cen_event_emit(CEN_LEVEL_ERROR, "gave_up", NULL);
    await(&first.count, 2);
    cen_event_emit(CEN_LEVEL_TRACE, "given", NULL);
    await(&first.count, 3);
    unlisten();
    expect_text(first.what[0], "taken");
    expect_text(first.what[1], "gave_up");
    expect_text(first.what[2], "given");
}

/* guarantees: events.replace */
TEST(one_that_is_ended_is_told_what_there_was_before)
{
    listen(CEN_LEVEL_DETAIL, &first);
    for (int i = 0; i < 1000; i++) cen_event_emit(CEN_LEVEL_NOTICE, "a", NULL);
    unlisten();
    expect_equal(ceni_load_relaxed(&first.count) + first.missed, 1000);
    cen_event_emit(CEN_LEVEL_NOTICE, "late", NULL);
    unlisten(); /* there is none: nothing to do */
    expect_equal(ceni_load_relaxed(&first.count) + first.missed, 1000);
}

/* guarantees: events.replace */
TEST(another_listener_replaces_the_first)
{
    listen(CEN_LEVEL_NOTICE, &first);
    cen_event_emit(CEN_LEVEL_NOTICE, "one", NULL);
    listen(CEN_LEVEL_NOTICE, &second);
    uint32_t told = ceni_load_relaxed(&first.count);
    cen_event_emit(CEN_LEVEL_NOTICE, "two", NULL);
    await(&second.count, 1);
    listen(CEN_LEVEL_NOTICE, &first);
    cen_event_emit(CEN_LEVEL_NOTICE, "three", NULL);
    await(&first.count, 2);
    unlisten();
    expect_equal(told, 1);
    expect_text(first.what[1], "three");
    expect_equal(ceni_load_relaxed(&second.count), 1);
    expect_text(second.what[0], "two");
}

/* ---- From within ---------------------------------------------------------------- */

static _Atomic uint32_t within; /* 1: has answered */
static cen_status answered[2];

static void replace_myself(void *argument, const cen_event *event, uint64_t missed)
{
    (void)argument, (void)missed;
    if (strcmp(event->what, "go") != 0) return;
    cen_error error;
    answered[0] = cen_events_listen(CEN_LEVEL_NOTICE, NULL, NULL, &error);
    answered[1] = cen_events_listen(CEN_LEVEL_NOTICE, note, &first, &error);
    expect(strstr(error.text, "the listener cannot remove or replace itself") != NULL);
    cen_event_emit(CEN_LEVEL_ERROR, "may", "It may do anything else.");
    ceni_store_release(&within, 1);
    ceni_futex_wake(&within, 1);
}

/* guarantees: events.self-replace */
TEST(a_listener_cannot_replace_itself_and_may_do_anything_else)
{
    expect_equal(cen_events_listen(CEN_LEVEL_NOTICE, replace_myself, NULL, NULL), CEN_OK);
    cen_event_emit(CEN_LEVEL_NOTICE, "go", NULL);
    await(&within, 1);
    expect_equal(answered[0], CEN_MISUSE);
    expect_equal(answered[1], CEN_MISUSE);
    unlisten();
}

/* guarantees: events.self-replace */
TEST(a_level_that_is_none_is_refused)
{
    cen_error error;
    expect_equal(cen_events_listen((cen_event_level)0, note, &first, &error), CEN_INVALID);
    expect_equal(error.status, CEN_INVALID);
    expect_equal(cen_events_listen((cen_event_level)6, note, &first, NULL), CEN_INVALID);
    expect_equal(cen_events_listen((cen_event_level)0, NULL, NULL, NULL), CEN_OK); /* ends, whatever the level */
}

/* guarantees: events.self-replace */
TEST(without_a_thread_the_former_listener_stays)
{
    listen(CEN_LEVEL_NOTICE, &first);
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    cen_error error;
    expect_equal(cen_events_listen(CEN_LEVEL_NOTICE, note, &second, &error), CEN_SYSTEM);
    expect(ceni_fault_disarm());
    expect(error.code != 0);
    expect(strlen(error.text) > 60);
    cen_event_emit(CEN_LEVEL_NOTICE, "on", NULL);
    await(&first.count, 1);
    unlisten();
}

/* ---- Too slow -------------------------------------------------------------------- */

static _Atomic uint32_t gate; /* 1: may go on */

static void wait_first(void *argument, const cen_event *event, uint64_t missed)
{
    await(&gate, 1);
    note(argument, event, missed);
}

/* guarantees: events.slow-listener */
TEST(one_that_is_too_slow_learns_how_many_it_missed)
{
    expect_equal(cen_events_listen(CEN_LEVEL_NOTICE, wait_first, &first, NULL), CEN_OK);
    for (int i = 0; i < 5000; i++) cen_event_emit(CEN_LEVEL_NOTICE, "a", NULL);
    ceni_store_release(&gate, 1);
    ceni_futex_wake(&gate, 1);
    unlisten();
    expect_equal(ceni_load_relaxed(&first.count) + first.missed, 5000);
    expect(first.missed >= 5000 - 2048 - 1);
}

/* ---- Many threads ------------------------------------------------------------------ */

enum { WRITERS = 3, EACH = 600 };

static void write_many(void *argument)
{
    (void)argument;
    for (int i = 0; i < EACH; i++) cen_event_emit(CEN_LEVEL_NOTICE, "a", NULL);
}

/* guarantees: events.listener */
TEST(what_several_threads_tell_reaches_the_listener_or_is_counted)
{
    listen(CEN_LEVEL_NOTICE, &first);
    ceni_thread threads[WRITERS];
    int code;
    for (int i = 0; i < WRITERS; i++)
        expect_equal(ceni_thread_start(&threads[i], "write", write_many, NULL, &code), CEN_OK);
    for (int i = 0; i < WRITERS; i++) ceni_thread_join(&threads[i]);
    unlisten();
    expect_equal(ceni_load_relaxed(&first.count) + first.missed, WRITERS * EACH);
}

/* ---- Fork --------------------------------------------------------------------------- */

static void expect_child_succeeds(pid_t child)
{
    int status;
    expect(waitpid(child, &status, 0) == child);
    expect_equal(status, 0);
}

/* guarantees: events.L14 */
TEST(a_forked_child_has_no_listener_and_can_have_its_own)
{
    listen(CEN_LEVEL_NOTICE, &first);
    cen_event_emit(CEN_LEVEL_NOTICE, "one", NULL);
    await(&first.count, 1);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        cen_event_emit(CEN_LEVEL_NOTICE, "untold", NULL);
        listen(CEN_LEVEL_NOTICE, &second);
        cen_event_emit(CEN_LEVEL_NOTICE, "child", NULL);
        await(&second.count, 1);
        unlisten();
        expect_text(second.what[0], "child");
        expect_equal(ceni_load_relaxed(&first.count), 1);
        _exit(0);
    }
    expect_child_succeeds(child);
    cen_event_emit(CEN_LEVEL_NOTICE, "two", NULL);
    await(&first.count, 2);
    unlisten();
    expect_text(first.what[1], "two");
}

static void fork_here(void *argument, const cen_event *event, uint64_t missed)
{
    (void)argument, (void)event, (void)missed;
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        listen(CEN_LEVEL_NOTICE, &second); /* in the child this thread is nobody's listener */
        cen_event_emit(CEN_LEVEL_NOTICE, "child", NULL);
        await(&second.count, 1);
        unlisten();
        _exit(0);
    }
    expect_child_succeeds(child);
    ceni_store_release(&within, 1);
    ceni_futex_wake(&within, 1);
}

/* guarantees: events.L14 */
TEST(a_listener_may_fork)
{
    expect_equal(cen_events_listen(CEN_LEVEL_NOTICE, fork_here, NULL, NULL), CEN_OK);
    cen_event_emit(CEN_LEVEL_NOTICE, "go", NULL);
    await(&within, 1);
    unlisten();
}

static pid_t returning;

static void fork_and_return(void *argument, const cen_event *event, uint64_t missed)
{
    (void)argument, (void)event, (void)missed;
    fflush(NULL);
    returning = fork(); /* an alarm would not help the child: this thread takes no signals */
    ceni_store_release(&within, 1);
    ceni_futex_wake(&within, 1);
}

TEST(a_child_that_a_listener_forks_ends_when_it_returns_as_the_only_thread_there)
{
    expect_equal(cen_events_listen(CEN_LEVEL_NOTICE, fork_and_return, NULL, NULL), CEN_OK);
    cen_event_emit(CEN_LEVEL_NOTICE, "go", NULL);
    await(&within, 1);
    unlisten();
    int status = -1;
    pid_t ended = 0;
    for (int looks = 0; looks < 5000 && ended == 0; looks++) {
        ended = waitpid(returning, &status, WNOHANG);
        if (ended == 0) usleep(1000);
    }
    expect(ended == returning);
    if (ended == 0) {
        kill(returning, SIGKILL);
        waitpid(returning, &status, 0);
    }
    expect_equal(status, 0);
}

static void end_the_thread(void *argument, const cen_event *event, uint64_t missed)
{
    (void)argument, (void)event, (void)missed;
    ceni_store_release(&within, 1);
    ceni_futex_wake(&within, 1);
    pthread_exit(NULL);
}

/* guarantees: events.replace */
TEST(a_listener_that_ends_its_thread_can_still_be_replaced)
{
    expect_equal(cen_events_listen(CEN_LEVEL_NOTICE, end_the_thread, NULL, NULL), CEN_OK);
    cen_event_emit(CEN_LEVEL_NOTICE, "go", NULL);
    await(&within, 1);
    listen(CEN_LEVEL_NOTICE, &first);
    cen_event_emit(CEN_LEVEL_NOTICE, "on", NULL);
    await(&first.count, 1);
    unlisten();
}
