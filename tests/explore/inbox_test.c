/* SPDX-License-Identifier: MIT */
/*
 * The inbox under every schedule. The bell is replaced by a flag of the test's
 * own, on which the loop sleeps as it would in epoll_wait. Whoever rings reads
 * the bell's memory in a way that the world watches.
 */
#include <cenote/future.h>
#include <cenote/inbox.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "support/world.h"

void __wrap_ceni_bell_ring(const ceni_bell *bell);
uint32_t __wrap_ceni_bell_silence(const ceni_bell *bell);

static _Atomic uint32_t ringing, rings;

void __wrap_ceni_bell_ring(const ceni_bell *bell)
{
    (void)ceni_load_relaxed((_Atomic int *)(uintptr_t)&bell->write_fd); /* as the system would; carries nothing */
    ceni_add_seq_cst(&rings, 1);
    ceni_add_seq_cst(&ringing, 1);
    ceni_futex_wake(&ringing, 1);
}

uint32_t __wrap_ceni_bell_silence(const ceni_bell *bell)
{
    (void)bell;
    return ceni_exchange_seq_cst(&ringing, 0);
}

static void sleep_in_the_loop(void)
{
    while (ceni_load_seq_cst(&ringing) == 0) ceni_futex_wait(&ringing, 0, CENI_FOREVER);
}

/* ---- Jobs that carry a number, written and read by watched copies -------------------------- */

typedef struct letter {
    cen_job job; /* first */
    int number;
} letter;

static cen_inbox *inbox;
static letter letters[4];
static int read[4];
static _Atomic uint32_t reads;

static void run_letter(cen_job *job)
{
    letter *self = (letter *)(void *)job;
    uint32_t place = ceni_add_relaxed(&reads, 1); /* carries nothing: what is read must be ordered by the inbox alone */
    expect(place < 4);
    ceni_watch_copy(&read[place], &self->number, sizeof self->number);
}

static void begin(void)
{
    ringing = rings = 0;
    reads = 0;
    expect_equal(cen_inbox_new(NULL, &inbox, NULL), CEN_OK);
}

static void post(int number)
{
    letter *one = &letters[number];
    ceni_watch_copy(&one->number, &number, sizeof number);
    one->job.run = run_letter;
    cen_executor *executor = cen_inbox_executor(inbox);
    executor->post(executor, &one->job);
}

static void post_one(void *number)
{
    post((int)(intptr_t)number);
}

static void post_two(void *number)
{
    post((int)(intptr_t)number);
    post((int)(intptr_t)number + 1);
}

/* ---- Loops ------------------------------------------------------------------------------------ */

static uint32_t reads_now(void)
{
    return ceni_load_relaxed(&reads); /* our own, or of one who was joined; carries nothing */
}

static void poll_arm_and_sleep_until(uint32_t wanted)
{
    for (;;) {
        while (cen_inbox_poll(inbox, 0) > 0 || !cen_inbox_arm(inbox)) continue;
        if (reads_now() >= wanted) break;
        sleep_in_the_loop();
    }
}

static void drain_and_sleep_until(uint32_t wanted)
{
    while (cen_inbox_run_ready(inbox), reads_now() < wanted) sleep_in_the_loop();
}

/* guarantees: inbox.wakes */
EXPLORE(what_is_posted_while_the_loop_arms_wakes_it, 4)
{
    begin();
    ceni_thread poster = start("post", post_one, NULL);
    poll_arm_and_sleep_until(1);
    join(poster);
    expect_equal(reads_now(), 1);
    expect(ceni_load_seq_cst(&rings) <= 1);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
}

/* guarantees: inbox.wakes */
EXPLORE(what_is_posted_while_the_loop_drains_is_run_or_wakes_it, 4)
{
    begin();
    ceni_thread poster = start("post", post_two, NULL);
    drain_and_sleep_until(2);
    join(poster);
    expect(read[0] == 0 && read[1] == 1);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
}

/* guarantees: inbox.wakes */
EXPLORE(two_who_post_to_one_loop_wake_it_and_each_is_run_once, 3)
{
    begin();
    ceni_thread one = start("one", post_one, NULL), two = start("two", post_one, (void *)(intptr_t)1);
    drain_and_sleep_until(2);
    join(one);
    join(two);
    expect_equal(reads_now(), 2);
    expect_equal(read[0] + read[1], 1);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
}

/* The bell is rung by the one that takes the arming away. */
/* guarantees: inbox.one-write */
EXPLORE(of_two_who_post_to_a_loop_that_sleeps_one_rings, 3)
{
    begin();
    expect(cen_inbox_arm(inbox));
    ceni_thread one = start("one", post_one, NULL), two = start("two", post_one, (void *)(intptr_t)1);
    join(one);
    join(two);
    expect_equal(ceni_load_seq_cst(&rings), 1);
    expect_equal(cen_inbox_poll(inbox, 0), 2);
    expect_equal(ceni_load_seq_cst(&ringing), 0);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
}

/* Its job was taken before it came to ring: the loop may wake in vain, but once. */
/* guarantees: inbox.one-write */
EXPLORE(a_ring_that_comes_late_is_silenced_by_the_poll_after_it, 4)
{
    begin();
    expect(cen_inbox_arm(inbox));
    ceni_thread poster = start("post", post_one, NULL);
    while (cen_inbox_poll(inbox, 0) == 0) ceni_thread_yield();
    expect(cen_inbox_arm(inbox));
    join(poster);
    expect_equal(cen_inbox_poll(inbox, 0), 0);
    expect_equal(ceni_load_seq_cst(&ringing), 0);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
}

/* guarantees: inbox.one-write */
EXPLORE(nobody_rings_for_a_loop_that_does_not_sleep, 4)
{
    begin();
    ceni_thread one = start("one", post_one, NULL);
    while (reads_now() < 1) cen_inbox_poll(inbox, 0), ceni_thread_yield();
    join(one);
    expect_equal(ceni_load_seq_cst(&rings), 0);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
}

/* guarantees: inbox.wait */
EXPLORE(a_thread_that_waits_is_woken_by_what_is_posted, 4)
{
    begin();
    ceni_thread poster = start("post", post_one, NULL);
    expect_equal(cen_inbox_wait(inbox, CEN_NEVER), 1);
    join(poster);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
}

/* guarantees: inbox.wait */
EXPLORE(a_wait_that_times_out_while_something_is_posted_loses_nothing, 4)
{
    begin();
    ceni_thread poster = start("post", post_one, NULL);
    size_t first = cen_inbox_wait(inbox, cen_in_ms(1));
    if (first == 0) expect_equal(cen_inbox_wait(inbox, CEN_NEVER), 1);
    else expect_equal(first, 1);
    join(poster);
    expect_equal(reads_now(), 1);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
}

/* guarantees: inbox.wait */
EXPLORE(two_who_post_to_a_thread_that_waits_are_both_run, 3)
{
    begin();
    ceni_thread one = start("one", post_one, NULL), two = start("two", post_one, (void *)(intptr_t)1);
    size_t ran = 0;
    while (ran < 2) ran += cen_inbox_wait(inbox, CEN_NEVER);
    join(one);
    join(two);
    expect_equal(read[0] + read[1], 1);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
}

/* Freed as soon as the last job has run, while its poster may still be about to ring. */
/* guarantees: inbox.free */
EXPLORE(an_inbox_that_is_freed_after_its_last_job_is_not_touched_by_who_posted_it, 4)
{
    begin();
    expect(cen_inbox_arm(inbox));
    ceni_thread poster = start("post", post_one, NULL);
    while (cen_inbox_poll(inbox, 0) == 0) ceni_thread_yield();
    expect_equal(cen_inbox_free(inbox), CEN_OK);
    join(poster);
}

/* guarantees: inbox.free */
EXPLORE(an_inbox_that_is_freed_by_who_waited_is_not_touched_by_who_woke_it, 4)
{
    begin();
    ceni_thread poster = start("post", post_one, NULL);
    while (cen_inbox_wait(inbox, cen_in_ms(1)) == 0) continue;
    expect_equal(cen_inbox_free(inbox), CEN_OK);
    join(poster);
}

/* An arming that is taken back by a poll while somebody posts. */
/* guarantees: inbox.free */
EXPLORE(an_inbox_that_is_polled_while_two_post_is_freed_when_both_have_gone, 3)
{
    begin();
    expect(cen_inbox_arm(inbox));
    ceni_thread one = start("one", post_one, NULL), two = start("two", post_one, (void *)(intptr_t)1);
    while (reads_now() < 2)
        if (cen_inbox_poll(inbox, 1) == 0) ceni_thread_yield();
    expect_equal(cen_inbox_free(inbox), CEN_OK);
    join(one);
    join(two);
}

static size_t polled_by_another;

static void poll_too(void *unused)
{
    (void)unused;
    polled_by_another = cen_inbox_poll(inbox, 1);
}

/* What one has fetched and left is passed on to the next who polls. */
/* guarantees: inbox.order */
EXPLORE(of_two_who_poll_at_once_each_job_is_run_by_one, 3)
{
    begin();
    ceni_thread poster = start("post", post_two, NULL), other = start("poll too", poll_too, NULL);
    size_t mine = cen_inbox_poll(inbox, 1);
    join(other);
    join(poster);
    size_t rest = cen_inbox_poll(inbox, 0);
    expect_equal(mine + polled_by_another + rest, 2);
    expect_equal(reads_now(), 2);
    expect(read[0] + read[1] == 1 && read[0] * read[1] == 0); /* each once; who polls beside another keeps no order */
    expect_equal(cen_inbox_free(inbox), CEN_OK);
}

/* ---- Futures that tell an inbox ------------------------------------------------------------------- */

static cen_promise promise;
static bool kept;
static uint32_t told;

static void note_done(cen_future *future)
{
    (void)future;
    told++;
}

static void keep(void *unused)
{
    (void)unused;
    kept = cen_promise_complete(&promise, NULL);
}

/* Whoever of the two posts, the keeper or a canceller that came too late, the inbox is freed under neither. */
/* guarantees: future.cancel */
EXPLORE(a_future_that_tells_an_inbox_and_is_cancelled_meanwhile_tells_once_or_never, 4)
{
    begin();
    told = 0;
    cen_future *future = ceni_alloc(NULL, sizeof *future, 16);
    expect(future != NULL);
    cen_future_init(future);
    expect_equal(cen_promise_init(&promise, future), CEN_OK);
    expect_equal(cen_future_then(future, note_done, cen_inbox_executor(inbox)), CEN_OK);
    ceni_thread keeper = start("keep", keep, NULL);
    bool cancelled = cen_future_cancel(future);
    if (!cancelled) expect_equal(cen_inbox_wait(inbox, CEN_NEVER), 1);
    _Atomic uint32_t barrier = 0;
    ceni_add_seq_cst(&barrier, 1); /* our own late store reaches the future before it is gone */
    ceni_free(NULL, future, sizeof *future, 16);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
    join(keeper);
    expect_equal(kept, !cancelled);
    expect_equal(told, !cancelled);
}
