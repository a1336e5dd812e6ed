/* SPDX-License-Identifier: MIT */
/*
 * The wait list under every schedule, with both kinds of waiter, on the
 * smallest thing that can be waited for: a number of permits.
 */
#include "sync/waitlist.h"

#include "support/world.h"

static _Atomic uint32_t permits;
static ceni_waitlist waiting;

static bool take_permit(void)
{
    uint32_t have = ceni_load_seq_cst(&permits);
    while (have > 0)
        if (ceni_cas_seq_cst(&permits, &have, have - 1)) return true;
    return false;
}

static bool serve(ceni_waitlist *list, ceni_place *place)
{
    (void)list;
    (void)place;
    return take_permit();
}

static void begin(uint32_t count)
{
    permits = count;
    ceni_waitlist_init(&waiting, NULL, serve);
}

static void give_permit(void)
{
    ceni_add_seq_cst(&permits, 1);
    ceni_waitlist_nudge(&waiting);
}

static void resign(void)
{
    ceni_waitlist_resign(&waiting);
    if (ceni_load_seq_cst(&permits) > 0) ceni_waitlist_nudge(&waiting);
}

/* A thread's wait, as the pool will do it: true if it has a permit. */
static bool wait_for_permit(int64_t moment)
{
    for (;;) {
        if (take_permit()) return true;
        ceni_waiter waiter;
        ceni_place place;
        ceni_waiter_init_thread(&waiter);
        ceni_waitlist_join(&waiting, &place, &waiter, 0, NULL);
        if (ceni_load_seq_cst(&permits) == 0) ceni_waiter_park(&waiter, moment);
        ceni_waiter_settle(&waiter, CENI_VERDICT_WITHDRAWN);
        bool heir = ceni_waitlist_leave(&waiting, &place);
        bool got = take_permit();
        if (heir) resign();
        if (got) return true;
        if (ceni_clock_now() >= moment) return false;
    }
}

/* A future's wait: the struct is its owner's until it was delivered or cancelled. */
typedef struct pending {
    ceni_waiter waiter;
    ceni_place place;
    _Atomic uint32_t delivered;
} pending;

static void deliver(ceni_waiter *waiter)
{
    pending *mine = (pending *)(void *)waiter;
    ceni_add_seq_cst(&mine->delivered, 1);
    ceni_futex_wake(&mine->delivered, 1);
}

static void ask(pending *mine)
{
    mine->delivered = 0;
    ceni_waiter_init_pending(&mine->waiter, deliver);
    ceni_waitlist_join(&waiting, &mine->place, &mine->waiter, 0, NULL);
    if (ceni_load_seq_cst(&permits) > 0) ceni_waitlist_nudge(&waiting);
}

static void await(pending *mine)
{
    while (ceni_load_seq_cst(&mine->delivered) == 0) ceni_futex_wait(&mine->delivered, 0, CENI_FOREVER);
    expect_equal(ceni_load_relaxed(&mine->delivered), 1);
}

static void wait_forever(void *unused)
{
    (void)unused;
    expect(wait_for_permit(CENI_FOREVER));
}

static void wait_briefly(void *got)
{
    *(bool *)got = wait_for_permit(ceni_clock_now() + 1000);
}

static void ask_and_await(void *unused)
{
    (void)unused;
    pending mine;
    ask(&mine);
    await(&mine);
}

static void give_one(void *unused)
{
    (void)unused;
    give_permit();
}

/* guarantees: waitlist.L3 */
EXPLORE(a_thread_that_waits_gets_the_permit, 4)
{
    begin(0);
    ceni_thread waiter = start("wait", wait_forever, NULL);
    give_permit();
    join(waiter);
    expect_equal(permits, 0);
    expect_equal(waiting.crowd, 0);
}

/* guarantees: waitlist.L3 */
EXPLORE(a_pending_future_that_waits_gets_the_permit, 4)
{
    begin(0);
    ceni_thread waiter = start("ask", ask_and_await, NULL);
    give_permit();
    join(waiter);
    expect_equal(permits, 0);
    expect_equal(waiting.crowd, 0);
}

/* guarantees: waitlist.L3 */
EXPLORE(a_thread_and_a_future_share_two_permits, 3)
{
    begin(0);
    ceni_thread thread = start("wait", wait_forever, NULL);
    ceni_thread future = start("ask", ask_and_await, NULL);
    give_permit();
    give_permit();
    join(thread);
    join(future);
    expect_equal(permits, 0);
    expect_equal(waiting.crowd, 0);
}

/* guarantees: waitlist.L3 */
EXPLORE(two_givers_reach_two_waiting_threads, 3)
{
    begin(0);
    ceni_thread waiter = start("wait", wait_forever, NULL);
    ceni_thread giver = start("give", give_one, NULL);
    give_permit();
    expect(wait_for_permit(CENI_FOREVER));
    join(waiter);
    join(giver);
    expect_equal(permits, 0);
    expect_equal(waiting.crowd, 0);
}

/* The one that is next in line gives up; the one behind it must not sleep
 * beside the permit. */
/* guarantees: waitlist.heir */
EXPLORE(a_thread_that_expires_passes_the_role_on_to_a_thread, 3)
{
    begin(0);
    bool got = false;
    ceni_thread brief = start("brief", wait_briefly, &got);
    ceni_thread patient = start("patient", wait_forever, NULL);
    give_permit();
    join(brief);
    if (got) give_permit();
    join(patient);
    expect_equal(permits, 0);
    expect_equal(waiting.crowd, 0);
}

/* guarantees: waitlist.heir */
EXPLORE(a_thread_that_expires_passes_the_role_on_to_a_future, 3)
{
    begin(0);
    bool got = false;
    ceni_thread brief = start("brief", wait_briefly, &got);
    ceni_thread future = start("ask", ask_and_await, NULL);
    give_permit();
    join(brief);
    if (got) give_permit();
    join(future);
    expect_equal(permits, 0);
    expect_equal(waiting.crowd, 0);
}

/* guarantees: waitlist.cancel */
EXPLORE(cancel_says_cancelled_or_too_late_and_never_both, 4)
{
    begin(0);
    pending mine;
    ask(&mine);
    ceni_thread giver = start("give", give_one, NULL);
    bool cancelled = ceni_waitlist_cancel(&waiting, &mine.place);
    if (!cancelled) await(&mine);
    join(giver);
    expect_equal(permits, cancelled ? 1 : 0);
    expect_equal(mine.delivered, cancelled ? 0 : 1);
    expect_equal(waiting.crowd, 0);
}

static void wait_until_sent_away(void *unused)
{
    (void)unused;
    ceni_waiter waiter;
    ceni_place place;
    ceni_waiter_init_thread(&waiter);
    ceni_waitlist_join(&waiting, &place, &waiter, 0, NULL);
    if (ceni_load_seq_cst(&permits) == 0) ceni_waiter_park(&waiter, CENI_FOREVER);
    ceni_waitlist_leave(&waiting, &place);
}

/* guarantees: waitlist.send-away */
EXPLORE(everybody_who_is_sent_away_goes, 3)
{
    begin(0);
    ceni_thread one = start("one", wait_until_sent_away, NULL);
    ceni_thread two = start("two", wait_until_sent_away, NULL);
    ceni_add_seq_cst(&permits, 1); /* what makes later waiters go by themselves */
    ceni_waitlist_send_away(&waiting);
    join(one);
    join(two);
    expect_equal(waiting.crowd, 0);
}
