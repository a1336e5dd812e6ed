/* SPDX-License-Identifier: MIT */
/*
 * The hand-off under every schedule, with both kinds of waiter: nobody sleeps
 * beside an object, those who wait are served in their order, and one whose
 * deadline passes or who is cancelled gets nothing and passes its role on.
 *
 * A pool with fewer objects than there are processors lets the first in line
 * poll; with one processor it does not. Both are run.
 */
#include "explore/pools.h"

#define ONE \
    { \
        .max = 1 \
    }
#define ONE_STRICT \
    { \
        .max = 1, .max_barging_ns = CEN_NONE \
    }
#define ONE_FIFO \
    { \
        .max = 1, .order = CEN_ORDER_FIFO \
    }

enum { POLLING = 2, NOT_POLLING = 1 };

static void make(cen_pool_options options, unsigned cpus)
{
    ceni_world_set_cpus(cpus);
    make_filled(options);
}

/* ---- L3: a give reaches who waits ----------------------------------------------------- */

static void a_give_reaches(void (*who)(void *), cen_pool_options options, unsigned cpus)
{
    make(options, cpus);
    cen_lease mine = take_one();
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", who, &other);
    give_one(mine);
    join(waiter);
    expect_equal(other.status, CEN_OK);
    expect_equal(other.given, CEN_OK);
    expect_rest(1);
    end();
}

/* guarantees: pool.L3, pool-bugs.join-wakeup */
EXPLORE(L3_a_give_reaches_a_thread_that_polls, 4)
{
    a_give_reaches(take_and_give, (cen_pool_options)ONE, POLLING);
}

/* guarantees: pool.L3, pool-bugs.join-wakeup */
EXPLORE(L3_a_give_reaches_a_thread_that_does_not_poll, 4)
{
    a_give_reaches(take_and_give, (cen_pool_options)ONE, NOT_POLLING);
}

/* guarantees: pool.L3, pool-bugs.join-wakeup */
EXPLORE(L3_a_give_reaches_a_thread_of_a_strict_pool, 4)
{
    a_give_reaches(take_and_give, (cen_pool_options)ONE_STRICT, POLLING);
}

/* guarantees: pool.L3, pool-bugs.join-wakeup */
EXPLORE(L3_a_give_reaches_a_thread_of_a_fifo_pool, 4)
{
    a_give_reaches(take_and_give, (cen_pool_options)ONE_FIFO, NOT_POLLING);
}

/* guarantees: pool.L3, pool-bugs.join-wakeup */
EXPLORE(L3_a_give_reaches_a_pending_waiter, 4)
{
    a_give_reaches(ask_and_give, (cen_pool_options)ONE, POLLING);
}

/* guarantees: pool.L3, pool-bugs.join-wakeup */
EXPLORE(L3_a_give_reaches_a_pending_waiter_of_a_strict_pool, 4)
{
    a_give_reaches(ask_and_give, (cen_pool_options)ONE_STRICT, POLLING);
}

static void one_object_serves_two(void (*one)(void *), void (*two)(void *), cen_pool_options options, unsigned cpus)
{
    make(options, cpus);
    cen_lease mine = take_one();
    taker a = {.deadline = CEN_NEVER}, b = {.deadline = CEN_NEVER};
    ceni_thread first = start("one", one, &a), second = start("two", two, &b);
    give_one(mine);
    join(first);
    join(second);
    expect_equal(a.status, CEN_OK);
    expect_equal(b.status, CEN_OK);
    expect_rest(1);
    end();
}

/* guarantees: pool.L3 */
EXPLORE(L3_one_object_serves_two_threads_that_poll, 3)
{
    one_object_serves_two(take_and_give, take_and_give, (cen_pool_options)ONE, POLLING);
}

/* guarantees: pool.L3 */
EXPLORE(L3_one_object_serves_two_threads_that_do_not_poll, 3)
{
    one_object_serves_two(take_and_give, take_and_give, (cen_pool_options)ONE, NOT_POLLING);
}

/* guarantees: pool.L3 */
EXPLORE(L3_one_object_serves_two_threads_of_a_strict_pool, 3)
{
    one_object_serves_two(take_and_give, take_and_give, (cen_pool_options)ONE_STRICT, POLLING);
}

/* guarantees: pool.L3 */
EXPLORE(L3_one_object_serves_a_thread_and_a_pending_waiter, 3)
{
    one_object_serves_two(take_and_give, ask_and_give, (cen_pool_options)ONE, NOT_POLLING);
}

/* guarantees: pool.L3 */
EXPLORE(L3_one_object_serves_two_pending_waiters, 3)
{
    one_object_serves_two(ask_and_give, ask_and_give, (cen_pool_options)ONE, NOT_POLLING);
}

/* Each give passes its own object on and looks for no other, so each must find who waits; nobody gives again before both
 * have one. */
static void two_objects_serve_two(void (*one)(void *), void (*two)(void *))
{
    make((cen_pool_options){.max = 2}, NOT_POLLING);
    cen_lease mine = take_one();
    taker a = {.deadline = CEN_NEVER}, b = {.deadline = CEN_NEVER}, other = {.lease = take_one()};
    ceni_thread first = start("one", one, &a), second = start("two", two, &b),
                giver = start("give", give_lease, &other);
    give_one(mine);
    join(first);
    join(second);
    join(giver);
    expect_equal(a.status, CEN_OK);
    expect_equal(b.status, CEN_OK);
    give_one(a.lease);
    give_one(b.lease);
    expect_rest(2);
    end();
}

EXPLORE(L3_two_gives_at_once_reach_two_pending_waiters, 2)
{
    two_objects_serve_two(ask_only, ask_only);
}

EXPLORE(L3_two_gives_at_once_reach_a_thread_and_a_pending_waiter, 2)
{
    two_objects_serve_two(take_only, ask_only);
}

/* The first in line is cancelled while two objects come; what it has all the same, main gives. */
typedef struct canceller {
    asker one;
    bool cancelled;
} canceller;

static void withdraw(void *into)
{
    canceller *self = into;
    self->cancelled = ceni_waiters_withdraw(pool->waiters, &self->one.waiter);
}

EXPLORE(L3_two_gives_beside_a_cancel_reach_a_thread_and_who_is_pending, 1)
{
    make((cen_pool_options){.max = 2}, NOT_POLLING);
    cen_lease mine = take_one();
    taker a = {.deadline = CEN_NEVER}, b = {.deadline = CEN_NEVER}, other = {.lease = take_one()};
    canceller first;
    expect_equal(ask(&first.one), CEN_OK);
    ceni_thread next = start("one", take_only, &a), last = start("two", ask_only, &b);
    ceni_thread cancels = start("cancel", withdraw, &first), giver = start("give", give_lease, &other);
    give_one(mine);
    join(cancels);
    if (!first.cancelled) expect_equal(await(&first.one), CEN_OK);
    if (!first.cancelled) give_one(lease_of(&first.one));
    join(next);
    join(last);
    join(giver);
    expect(a.status == CEN_OK && b.status == CEN_OK);
    give_one(a.lease);
    give_one(b.lease);
    expect_rest(2);
    end();
}

/* ---- Neighbours ------------------------------------------------------------------------------------ */

static void give_when_told(ceni_pool_waiter *waiter, cen_status status)
{
    cen_lease lease = lease_of((asker *)(void *)waiter);
    expect_equal(status, CEN_OK);
    use(&lease);
    give_one(lease);
    tell_asker(waiter, status);
}

static void ask_as_neighbour(asker *self, uint64_t home)
{
    *self = (asker){.waiter = {.pending = true, .holder = ceni_thread_id(), .deliver = give_when_told, .home = home}};
    expect_equal(join_pending(pool, &self->waiter), CEN_OK);
}

/* The first is told on another thread, the two behind it on this one, which gives, as another does; one of them is cancelled. */
static void neighbours_pass_while_one_is_cancelled(int which, bool beside_a_thread)
{
    make((cen_pool_options){.max = 2}, NOT_POLLING);
    cen_lease mine = take_one();
    taker a = {.deadline = CEN_NEVER}, other = {.lease = take_one()};
    canceller all[3] = {0};
    for (int i = 0; i < 3; i++) ask_as_neighbour(&all[i].one, ceni_thread_id() + (i == 0 ? CENI_HOMES : 0));
    ceni_thread waiter = {0}, cancels = start("cancel", withdraw, &all[which]),
                giver = start("give", give_lease, &other);
    if (beside_a_thread) waiter = start("wait", take_and_give, &a);
    give_one(mine);
    join(cancels);
    join(giver);
    for (int i = 0; i < 3; i++)
        if (!all[i].cancelled) expect_equal(await(&all[i].one), CEN_OK);
    if (beside_a_thread) join(waiter);
    expect_equal(a.status, CEN_OK);
    expect_rest(2);
    for (int i = 0; i < CENI_HOMES; i++) expect(ceni_list_empty(&pool->waiters->homes[i]));
    end();
}

EXPLORE(L6_one_who_is_passed_by_neighbours_and_cancelled_leaves_its_object_to_the_others, 2)
{
    neighbours_pass_while_one_is_cancelled(0, false);
}

EXPLORE(L6_a_neighbour_that_is_cancelled_leaves_its_object_to_the_others, 2)
{
    neighbours_pass_while_one_is_cancelled(1, false);
}

EXPLORE(L3_neighbours_pass_and_a_thread_behind_them_is_served, 1)
{
    neighbours_pass_while_one_is_cancelled(1, true);
}

/* The thread may find one of the two by itself while it is granted the other:
 * both are there again afterwards. */
static void two_gives_leave_two(cen_pool_options options, unsigned cpus)
{
    options.max = 2;
    make(options, cpus);
    cen_lease mine = take_one(), more = take_one();
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", take_and_give, &other);
    give_one(mine);
    give_one(more);
    join(waiter);
    expect_equal(other.status, CEN_OK);
    expect_rest(2);
    end();
}

/* guarantees: pool.L1 */
EXPLORE(L1_one_who_finds_an_object_and_is_granted_another_gives_one_back, 4)
{
    two_gives_leave_two((cen_pool_options)ONE, NOT_POLLING);
}

/* guarantees: pool.L1 */
EXPLORE(L1_one_who_polls_and_is_granted_another_gives_one_back, 4)
{
    two_gives_leave_two((cen_pool_options)ONE, 3);
}

/* guarantees: pool.L1 */
EXPLORE(L1_two_gives_to_one_thread_of_a_strict_pool_leave_two_objects, 4)
{
    two_gives_leave_two((cen_pool_options)ONE_STRICT, POLLING);
}

/* The bound has passed, so a give hands over to the first even if it is about to look by itself. */
static void overtaking_ends(void (*who)(void *), unsigned cpus)
{
    make((cen_pool_options){.max = 1, .max_barging_ns = 1000}, cpus);
    cen_lease mine = take_one();
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", who, &other);
    ceni_clock_now(); /* here it may join */
    ceni_world_advance(1000000);
    expect_equal(cen_pool_give(&mine), CEN_OK);
    if (cen_pool_try_take(pool, &mine, NULL) == CEN_OK) give_one(mine);
    join(waiter);
    expect_equal(other.status, CEN_OK);
    expect_rest(1);
    end();
}

/* guarantees: pool.L3 */
EXPLORE(L3_a_thread_whose_bound_has_passed_is_handed_the_object, 4)
{
    overtaking_ends(take_and_give, NOT_POLLING);
}

/* guarantees: pool.L3 */
EXPLORE(L3_a_thread_whose_bound_has_passed_while_it_polled_is_handed_the_object, 4)
{
    overtaking_ends(take_and_give, POLLING);
}

/* One object comes back and is left to the first in line, who is about to look;
 * then the bound passes, and the first is handed the next that comes back. What
 * was left to it is the second's now. */
/* guarantees: pool.L3 */
EXPLORE(L3_two_whose_bound_has_passed_are_both_served, 3)
{
    make((cen_pool_options){.max = 2, .max_barging_ns = 1000}, NOT_POLLING);
    cen_lease mine = take_one(), more = take_one();
    taker a = {.deadline = CEN_NEVER}, b = {.deadline = CEN_NEVER};
    ceni_thread first = start("first", take_only, &a), second = start("second", ask_only, &b);
    give_one(mine);
    ceni_world_advance(1000000);
    give_one(more);
    join(first);
    join(second);
    expect_equal(a.status, CEN_OK);
    expect_equal(b.status, CEN_OK);
    give_one(a.lease);
    give_one(b.lease);
    expect_rest(2);
    end();
}

/* A place becomes free after the bound has passed. */
/* guarantees: pool.L3 */
EXPLORE(L3_a_thread_whose_bound_has_passed_is_handed_a_place, 4)
{
    ceni_world_set_cpus(NOT_POLLING);
    make_opening((cen_pool_options){.max = 1, .max_barging_ns = 1000});
    cen_lease mine = take_one();
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", take_only, &other);
    ceni_clock_now(); /* here it may join */
    ceni_world_advance(1000000);
    expect_equal(cen_pool_discard(&mine), CEN_OK);
    join(waiter);
    expect_equal(other.status, CEN_OK);
    give_one(other.lease);
    expect_rest(1);
    end();
}

/* ---- L4: order -------------------------------------------------------------------------------- */

static _Atomic uint32_t turns;

typedef struct queued {
    taker take;
    bool pending;
    uint32_t turn;
} queued;

static void take_turn(void *into)
{
    queued *self = into;
    asker mine;
    if (self->pending) {
        expect_equal(ask(&mine), CEN_OK);
        expect_equal(await(&mine), CEN_OK);
        self->take.lease = lease_of(&mine);
    } else {
        expect_equal(cen_pool_take(pool, CEN_NEVER, &self->take.lease, NULL), CEN_OK);
    }
    self->turn = ceni_add_relaxed(&turns, 1);
    give_one(self->take.lease);
}

/* Two wait, one after the other; then the holder gives, and comes again at once. */
static void turns_are_kept(bool pending_first, bool pending_second, cen_pool_options options, bool comes_again)
{
    make(options, NOT_POLLING);
    turns = 0;
    queued mine = {.take = {.lease = take_one()}};
    queued a = {.pending = pending_first}, b = {.pending = pending_second};
    ceni_thread first = start("first", take_turn, &a);
    ceni_world_settle();
    ceni_thread second = start("second", take_turn, &b);
    ceni_world_settle();
    give_one(mine.take.lease);
    if (comes_again) take_turn(&mine);
    join(first);
    join(second);
    expect_equal(a.turn, 0);
    expect_equal(b.turn, 1);
    expect_rest(1);
    end();
}

/* guarantees: pool.L4 */
EXPLORE(L4_two_threads_are_served_in_their_order, 3)
{
    turns_are_kept(false, false, (cen_pool_options)ONE, false);
}

/* guarantees: pool.L4 */
EXPLORE(L4_a_pending_waiter_and_a_thread_are_served_in_their_order, 3)
{
    turns_are_kept(true, false, (cen_pool_options)ONE, false);
}

/* guarantees: pool.L4 */
EXPLORE(L4_a_thread_and_a_pending_waiter_are_served_in_their_order, 3)
{
    turns_are_kept(false, true, (cen_pool_options)ONE, false);
}

/* guarantees: pool.L4 */
EXPLORE(L4_nobody_overtakes_two_threads_of_a_strict_pool, 3)
{
    turns_are_kept(false, false, (cen_pool_options)ONE_STRICT, true);
}

/* guarantees: pool.L4 */
EXPLORE(L4_nobody_overtakes_a_pending_waiter_and_a_thread_of_a_strict_pool, 3)
{
    turns_are_kept(true, false, (cen_pool_options)ONE_STRICT, true);
}

/* guarantees: pool.L4 */
EXPLORE(L4_nobody_overtakes_a_thread_and_a_pending_waiter_of_a_strict_pool, 3)
{
    turns_are_kept(false, true, (cen_pool_options)ONE_STRICT, true);
}

/* guarantees: pool.L4 */
EXPLORE(L4_two_threads_of_a_fifo_pool_are_served_in_their_order, 3)
{
    turns_are_kept(false, false, (cen_pool_options)ONE_FIFO, false);
}

/* ---- L5, L7: deadlines ------------------------------------------------------------------------- */

static void a_grant_or_a_timeout(cen_pool_options options, unsigned cpus)
{
    make(options, cpus);
    cen_lease mine = take_one();
    taker brief = {.deadline = cen_in_us(50)};
    ceni_thread waiter = start("brief", take_and_keep, &brief);
    give_one(mine);
    join(waiter);
    expect(brief.status == CEN_OK || brief.status == CEN_TIMEOUT);
    if (brief.status == CEN_OK) give_one(brief.lease);
    expect_rest(1); /* a timeout left the object where it was */
    cen_pool_stats s = look();
    expect_equal(s.taken, brief.status == CEN_OK ? 2 : 1);
    expect(s.timed_out == (brief.status == CEN_TIMEOUT));
    end();
}

/* guarantees: pool.L7, pool-bugs.handoff-race */
EXPLORE(L7_a_thread_that_polls_has_the_object_or_a_timeout, 4)
{
    a_grant_or_a_timeout((cen_pool_options)ONE, POLLING);
}

/* guarantees: pool.L7, pool-bugs.handoff-race */
EXPLORE(L7_a_thread_that_does_not_poll_has_the_object_or_a_timeout, 4)
{
    a_grant_or_a_timeout((cen_pool_options)ONE, NOT_POLLING);
}

/* guarantees: pool.L7, pool-bugs.handoff-race */
EXPLORE(L7_a_thread_of_a_strict_pool_has_the_object_or_a_timeout, 4)
{
    a_grant_or_a_timeout((cen_pool_options)ONE_STRICT, POLLING);
}

/* guarantees: pool.L7, pool-bugs.handoff-race */
EXPLORE(L7_a_thread_of_a_fifo_pool_has_the_object_or_a_timeout, 4)
{
    a_grant_or_a_timeout((cen_pool_options)ONE_FIFO, NOT_POLLING);
}

/* It waited, and the give had returned before the deadline passed: the object is the waiter's. */
static void a_grant_that_came_first_wins(cen_pool_options options)
{
    make(options, NOT_POLLING);
    cen_lease mine = take_one();
    int64_t moment = ceni_clock_now() + 50000;
    taker brief = {.deadline = cen_at(moment)};
    ceni_thread waiter = start("brief", take_and_keep, &brief);
    ceni_world_settle();
    bool waits = look().waiting == 1;
    give_one(mine);
    bool in_time = ceni_clock_now() < moment;
    ceni_world_advance(1000000);
    join(waiter);
    if (waits && in_time) expect_equal(brief.status, CEN_OK);
    if (brief.status == CEN_OK) give_one(brief.lease);
    expect_rest(1);
    end();
}

/* guarantees: pool.L7 */
EXPLORE(L7_a_grant_that_came_first_wins, 4)
{
    a_grant_that_came_first_wins((cen_pool_options)ONE);
}

/* guarantees: pool.L7 */
EXPLORE(L7_a_grant_that_came_first_wins_in_a_strict_pool, 4)
{
    a_grant_that_came_first_wins((cen_pool_options)ONE_STRICT);
}

/* The one that is next in line may give up at any step; the one behind it must
 * not sleep beside the object. */
static void an_expired_first_passes_on(void (*behind)(void *), cen_pool_options options, unsigned cpus)
{
    make(options, cpus);
    cen_lease mine = take_one();
    taker brief = {.deadline = cen_in_us(50)}, patient = {.deadline = CEN_NEVER};
    ceni_thread one = start("brief", take_and_give, &brief);
    ceni_thread two = start("patient", behind, &patient);
    give_one(mine);
    join(one);
    join(two);
    expect(brief.status == CEN_OK || brief.status == CEN_TIMEOUT);
    expect_equal(patient.status, CEN_OK);
    expect_rest(1);
    end();
}

/* guarantees: pool.L5, pool-bugs.handoff-race, pool-bugs.expired-waiter */
EXPLORE(L5_a_thread_that_expires_passes_its_role_on_to_a_thread, 3)
{
    an_expired_first_passes_on(take_and_give, (cen_pool_options)ONE, NOT_POLLING);
}

/* guarantees: pool.L5, pool-bugs.handoff-race, pool-bugs.expired-waiter */
EXPLORE(L5_a_thread_that_expires_passes_its_role_on_to_a_pending_waiter, 3)
{
    an_expired_first_passes_on(ask_and_give, (cen_pool_options)ONE, NOT_POLLING);
}

/* guarantees: pool.L5, pool-bugs.handoff-race, pool-bugs.expired-waiter */
EXPLORE(L5_a_thread_that_expires_while_it_polls_passes_its_role_on, 3)
{
    an_expired_first_passes_on(take_and_give, (cen_pool_options)ONE, POLLING);
}

/* guarantees: pool.L5, pool-bugs.handoff-race, pool-bugs.expired-waiter */
EXPLORE(L5_a_thread_of_a_strict_pool_that_expires_passes_its_role_on, 3)
{
    an_expired_first_passes_on(take_and_give, (cen_pool_options)ONE_STRICT, POLLING);
}

/* ---- L6: cancel ------------------------------------------------------------------------------------ */

static void cancel_or_grant(cen_pool_options options)
{
    make(options, POLLING);
    taker holder = {.lease = take_one()};
    asker mine;
    expect_equal(ask(&mine), CEN_OK);
    ceni_thread giver = start("give", give_lease, &holder);
    bool cancelled = ceni_waiters_withdraw(pool->waiters, &mine.waiter);
    if (!cancelled) {
        expect_equal(await(&mine), CEN_OK);
        give_one(lease_of(&mine));
    }
    join(giver);
    expect_equal(holder.given, CEN_OK);
    expect_equal(mine.told, cancelled ? 0 : 1);
    expect_rest(1);
    end();
}

/* guarantees: pool.L6, pool-bugs.handoff-race */
EXPLORE(L6_cancel_says_cancelled_or_yours_and_never_both, 4)
{
    cancel_or_grant((cen_pool_options)ONE);
}

/* guarantees: pool.L6, pool-bugs.handoff-race */
EXPLORE(L6_cancel_in_a_strict_pool_says_cancelled_or_yours_and_never_both, 4)
{
    cancel_or_grant((cen_pool_options)ONE_STRICT);
}

/* Two are pending, the first is cancelled while the object is given: it gets
 * it, or the second does. */
/* guarantees: pool.L6, pool-bugs.handoff-race */
EXPLORE(L6_a_pending_waiter_that_is_cancelled_passes_its_role_on_to_another, 4)
{
    make((cen_pool_options)ONE, POLLING);
    taker holder = {.lease = take_one()};
    asker first, second;
    expect_equal(ask(&first), CEN_OK);
    expect_equal(ask(&second), CEN_OK);
    ceni_thread giver = start("give", give_lease, &holder);
    if (!ceni_waiters_withdraw(pool->waiters, &first.waiter)) {
        expect_equal(await(&first), CEN_OK);
        give_one(lease_of(&first));
    }
    expect_equal(await(&second), CEN_OK);
    give_one(lease_of(&second));
    join(giver);
    expect_rest(1);
    end();
}

static void a_cancelled_first_passes_on(cen_pool_options options)
{
    make(options, NOT_POLLING);
    cen_lease lease = take_one();
    asker first;
    expect_equal(ask(&first), CEN_OK);
    taker patient = {.deadline = CEN_NEVER};
    ceni_thread thread = start("patient", take_and_give, &patient);
    give_one(lease);
    if (!ceni_waiters_withdraw(pool->waiters, &first.waiter)) {
        expect_equal(await(&first), CEN_OK);
        give_one(lease_of(&first));
    }
    join(thread);
    expect_equal(patient.status, CEN_OK);
    expect_rest(1);
    end();
}

/* guarantees: pool.L6, pool-bugs.handoff-race */
EXPLORE(L6_a_pending_waiter_that_is_cancelled_passes_its_role_on_to_a_thread, 4)
{
    a_cancelled_first_passes_on((cen_pool_options)ONE);
}

/* The cancelled one and the giver race while a thread is behind. */
/* guarantees: pool.L6, pool-bugs.handoff-race */
EXPLORE(L6_cancel_and_give_at_once_leave_no_thread_asleep, 3)
{
    make((cen_pool_options)ONE, NOT_POLLING);
    taker holder = {.lease = take_one()}, patient = {.deadline = CEN_NEVER};
    asker first;
    expect_equal(ask(&first), CEN_OK);
    ceni_thread thread = start("patient", take_and_give, &patient);
    ceni_thread giver = start("give", give_lease, &holder);
    if (!ceni_waiters_withdraw(pool->waiters, &first.waiter)) {
        expect_equal(await(&first), CEN_OK);
        give_one(lease_of(&first));
    }
    join(giver);
    join(thread);
    expect_equal(patient.status, CEN_OK);
    expect_rest(1);
    end();
}
