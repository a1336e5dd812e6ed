/* SPDX-License-Identifier: MIT */
/*
 * The end of a pool under every schedule: takes are refused, those who wait
 * are told, everything that was opened is closed once, what is out at the
 * deadline is revoked, and the memory is given back by whoever is last and
 * touched by nobody afterwards.
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

/* One that opens its objects, with one held. */
static cen_lease make_with_one_held(cen_pool_options options)
{
    ceni_world_set_cpus(1);
    make_opening(options);
    return take_one();
}

static void expect_closed(cen_status status, const cen_close_report *report)
{
    expect_equal(status, report->revoked + report->busy ? CEN_TIMEOUT : CEN_OK);
    expect(cen_pool_is_closed(pool));
    if (status == CEN_OK) expect_equal(alive, 0);
}

/* ---- Close and takes -------------------------------------------------------------------- */

/* A take, and perhaps an opening, while the pool is closed: it is lent and
 * awaited, or refused. */
static void close_beside_a_take(void (*who)(void *), cen_pool_options options)
{
    ceni_world_set_cpus(1);
    make_opening(options);
    taker other = {.deadline = CEN_NEVER};
    ceni_thread taking = start("take", who, &other);
    cen_close_report report = CEN_SIZED(cen_close_report);
    cen_status status = cen_pool_close(pool, CEN_NEVER, &report, NULL);
    expect_closed(status, &report);
    join(taking);
    expect(other.status == CEN_OK || other.status == CEN_CLOSED);
    if (other.status == CEN_OK) expect_equal(other.given, CEN_OK);
    expect_rest(0);
    end();
}

/* guarantees: pool.L15, pool-bugs.shutdown */
EXPLORE(L15_close_awaits_a_take_that_came_first_and_refuses_one_that_comes_later, 4)
{
    close_beside_a_take(take_and_give, (cen_pool_options)ONE);
}

/* guarantees: pool.L15, pool-bugs.shutdown */
EXPLORE(L15_close_of_a_strict_pool_awaits_a_take_or_refuses_it, 4)
{
    close_beside_a_take(take_and_give, (cen_pool_options)ONE_STRICT);
}

/* guarantees: pool.L15, pool-bugs.shutdown */
EXPLORE(L15_close_of_a_fifo_pool_awaits_a_take_or_refuses_it, 4)
{
    close_beside_a_take(take_and_give, (cen_pool_options)ONE_FIFO);
}

/* guarantees: pool.L15, pool-bugs.open-after-close */
EXPLORE(L15_close_tells_who_is_pending_although_an_opening_is_under_way, 4)
{
    close_beside_a_take(ask_and_give, (cen_pool_options)ONE);
}

/* The object is idle: the take gets it, or close does. */
/* guarantees: pool.L15 */
EXPLORE(L15_close_and_a_take_of_an_idle_object_do_not_both_have_it, 4)
{
    cen_lease mine = make_with_one_held((cen_pool_options)ONE);
    give_one(mine);
    taker other = {.deadline = CEN_NOW};
    ceni_thread taking = start("take", take_and_give, &other);
    cen_close_report report = CEN_SIZED(cen_close_report);
    expect_closed(cen_pool_close(pool, CEN_NEVER, &report, NULL), &report);
    join(taking);
    expect(other.status == CEN_OK || other.status == CEN_CLOSED || other.status == CEN_TIMEOUT);
    expect_equal(report.idle + report.given, 1);
    expect_rest(0);
    end();
}

/* ---- Close and waiters --------------------------------------------------------------------- */

static void close_now(void *into)
{
    *(cen_status *)into = cen_pool_close(pool, CEN_NEVER, NULL, NULL);
}

/* Main holds the only object; one waits for it while the pool is closed, and is
 * told so, or gets it if the give came first. */
static void close_tells_the_waiting(void (*who)(void *), cen_pool_options options, unsigned cpus)
{
    cen_lease mine = make_with_one_held(options);
    ceni_world_set_cpus(cpus);
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", who, &other);
    cen_close_report report = CEN_SIZED(cen_close_report);
    cen_status status = cen_pool_close(pool, CEN_NOW, &report, NULL);
    join(waiter); /* nobody has given anything: close alone must have told it */
    expect_equal(other.status, CEN_CLOSED);
    expect_closed(status, &report);
    expect_equal(report.revoked, 1);
    expect(report.waiting <= 1);
    expect_equal(look().sent_away, report.waiting);
    expect_equal(cen_pool_give(&mine), CEN_REVOKED);
    expect_rest(0);
    end();
}

/* guarantees: pool.L15 */
EXPLORE(L15_close_tells_a_thread_that_waits, 4)
{
    close_tells_the_waiting(take_and_give, (cen_pool_options)ONE, 1);
}

/* guarantees: pool.L15 */
EXPLORE(L15_close_tells_a_thread_that_polls, 4)
{
    close_tells_the_waiting(take_and_give, (cen_pool_options)ONE, 2);
}

/* guarantees: pool.L15 */
EXPLORE(L15_close_tells_a_thread_that_waits_for_a_strict_pool, 4)
{
    close_tells_the_waiting(take_and_give, (cen_pool_options)ONE_STRICT, 2);
}

/* guarantees: pool.L15 */
EXPLORE(L15_close_tells_who_is_pending, 4)
{
    close_tells_the_waiting(ask_and_give, (cen_pool_options)ONE, 1);
}

/* guarantees: pool.L15 */
EXPLORE(L15_a_give_and_a_close_at_once_leave_no_waiter_asleep, 3)
{
    cen_lease mine = make_with_one_held((cen_pool_options)ONE);
    taker other = {.deadline = CEN_NEVER};
    cen_status closed = CEN_OK;
    ceni_thread waiter = start("wait", take_and_give, &other), closer = start("close", close_now, &closed);
    give_one(mine);
    join(waiter);
    join(closer);
    expect(other.status == CEN_OK || other.status == CEN_CLOSED);
    expect_equal(closed, CEN_OK);
    expect_rest(0);
    end();
}

/* A place becomes free while the pool is closed: who waits for it opens nothing
 * that stays, and is counted once. */
/* guarantees: pool.L15, pool-bugs.open-after-close */
EXPLORE(L15_a_waiter_that_claims_a_place_while_the_pool_is_closed_opens_nothing_that_stays, 4)
{
    cen_lease mine = make_with_one_held((cen_pool_options)ONE);
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", take_and_give, &other);
    expect_equal(cen_pool_discard(&mine), CEN_OK);
    expect_equal(cen_pool_close(pool, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(alive, 0);
    join(waiter);
    expect(other.status == CEN_OK || other.status == CEN_CLOSED);
    expect_rest(0);
    end();
}

/* Two come back, one of which a waiter finds and the other of which it is
 * granted, while close takes away whatever is held. */
/* guarantees: pool.L15 */
EXPLORE(L15_what_a_waiter_found_beside_its_grant_is_closed_with_the_rest, 4)
{
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options){.max = 2});
    cen_lease mine = take_one(), more = take_one();
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", take_only, &other);
    give_one(mine);
    give_one(more);
    cen_pool_close(pool, CEN_NOW, NULL, NULL);
    join(waiter);
    expect(other.status == CEN_OK || other.status == CEN_CLOSED);
    if (other.status == CEN_OK) expect_equal(cen_pool_give(&other.lease), CEN_REVOKED);
    expect_equal(alive, 0);
    expect_rest(0);
    end();
}

/* The deadline of a waiter passes while the pool is closed: it is told one of the two. */
/* guarantees: pool.L15 */
EXPLORE(L15_a_waiter_whose_deadline_passes_while_the_pool_is_closed_is_told_one_of_the_two, 4)
{
    cen_lease mine = make_with_one_held((cen_pool_options)ONE);
    taker other = {.deadline = cen_in_us(50)};
    ceni_thread waiter = start("wait", take_and_give, &other);
    cen_close_report report = CEN_SIZED(cen_close_report);
    cen_pool_close(pool, CEN_NOW, &report, NULL);
    join(waiter);
    expect(other.status == CEN_TIMEOUT || other.status == CEN_CLOSED);
    cen_pool_stats s = look();
    expect_equal(s.sent_away, report.waiting);
    expect(report.waiting == 0 || other.status == CEN_CLOSED);
    expect_equal(cen_pool_give(&mine), CEN_REVOKED);
    end();
}

/* ---- The deadline of close, and revoking -------------------------------------------------------- */

/* A give while close takes the object away: it came back in time and was
 * closed, or it was revoked; interrupt and close do not meet. */
static void revoke_beside(void (*who)(void *), cen_pool_options options, cen_deadline deadline)
{
    taker holder = {.lease = make_with_one_held(options)};
    ceni_thread giver = start("give", who, &holder);
    cen_close_report report = CEN_SIZED(cen_close_report);
    cen_status status = cen_pool_close(pool, deadline, &report, NULL);
    expect_closed(status, &report);
    join(giver);
    expect(holder.given == CEN_OK || holder.given == CEN_REVOKED);
    expect(holder.lease.pool == NULL);
    uint32_t counted = report.idle + report.given + report.revoked + report.busy;
    expect(counted == 1 || (counted == 0 && who == discard_lease)); /* discarded before the pool was closed */
    if (report.revoked) expect_equal(holder.given, CEN_REVOKED);    /* and if not, it may have come back since */
    expect_equal(things[0].interrupted, holder.given == CEN_REVOKED ? 2 : 0);
    expect_equal(alive, 0);
    expect_rest(0);
    end();
}

/* guarantees: pool.L15 */
EXPLORE(L15_a_give_while_its_object_is_revoked_is_ok_or_revoked, 4)
{
    revoke_beside(give_lease, (cen_pool_options)ONE, CEN_NOW);
}

/* guarantees: pool.L15 */
EXPLORE(L15_a_give_to_a_fifo_pool_while_its_object_is_revoked_is_ok_or_revoked, 4)
{
    revoke_beside(give_lease, (cen_pool_options)ONE_FIFO, CEN_NOW);
}

/* guarantees: pool.L15 */
EXPLORE(L15_a_discard_while_its_object_is_revoked_is_ok_or_revoked, 4)
{
    revoke_beside(discard_lease, (cen_pool_options)ONE, CEN_NOW);
}

/* guarantees: pool.L15 */
EXPLORE(L15_a_give_at_the_deadline_of_close_is_ok_or_revoked, 4)
{
    revoke_beside(give_lease, (cen_pool_options)ONE, cen_in_us(50));
}

/* guarantees: pool.L15 */
EXPLORE(L15_of_two_gives_of_a_lease_that_is_revoked_one_is_stale, 4)
{
    taker a = {.lease = make_with_one_held((cen_pool_options)ONE)}, b = {.lease = a.lease};
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    ceni_thread other = start("give", give_lease, &a);
    give_lease(&b);
    join(other);
    expect((a.given == CEN_REVOKED && b.given == CEN_STALE) || (a.given == CEN_STALE && b.given == CEN_REVOKED));
    expect_equal(alive, 0);
    expect_rest(0);
    end();
}

/* guarantees: pool.L15 */
EXPLORE(L15_of_two_who_close_one_is_told_that_it_was_closed, 4)
{
    cen_lease mine = make_with_one_held((cen_pool_options)ONE);
    give_one(mine);
    cen_status one = CEN_OK;
    ceni_thread other = start("close", close_now, &one);
    cen_status two = cen_pool_close(pool, CEN_NEVER, NULL, NULL);
    join(other);
    expect((one == CEN_OK && two == CEN_CLOSED) || (one == CEN_CLOSED && two == CEN_OK));
    expect_rest(0);
    end();
}

/* ---- Free ------------------------------------------------------------------------------------------ */

/* The usual end of a program: a worker gives, main closes and frees. Nobody
 * has joined the worker, which may be anywhere in its give. */
static void close_and_free_beside(void (*who)(void *), cen_pool_options options)
{
    taker holder = {.lease = make_with_one_held(options)};
    ceni_thread giver = start("give", who, &holder);
    expect_equal(cen_pool_close(pool, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_pool_free(pool), CEN_OK);
    expect_equal(alive, 0);
    join(giver);
    expect_equal(holder.given, CEN_OK);
}

/* guarantees: pool.L15, pool-bugs.shutdown */
EXPLORE(L15_a_late_give_does_not_touch_a_pool_that_was_closed_and_freed, 4)
{
    close_and_free_beside(give_lease, (cen_pool_options)ONE);
}

/* guarantees: pool.L15, pool-bugs.shutdown */
EXPLORE(L15_a_late_give_does_not_touch_a_fifo_pool_that_was_closed_and_freed, 4)
{
    close_and_free_beside(give_lease, (cen_pool_options)ONE_FIFO);
}

/* guarantees: pool.L15, pool-bugs.shutdown */
EXPLORE(L15_a_late_discard_does_not_touch_a_pool_that_was_closed_and_freed, 4)
{
    close_and_free_beside(discard_lease, (cen_pool_options)ONE);
}

/* The slot was struck from the map, so the give has to list it again first. */
/* guarantees: pool.L15, pool-bugs.shutdown */
EXPLORE(L15_a_late_give_of_a_struck_slot_does_not_touch_a_pool_that_was_closed_and_freed, 4)
{
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options){.max = 2});
    cen_lease first = take_one(), none;
    taker holder = {.lease = take_one()};
    expect_equal(cen_pool_try_take(pool, &none, NULL), CEN_EMPTY); /* this strikes the second */
    give_one(first);
    ceni_thread giver = start("give", give_lease, &holder);
    expect_equal(cen_pool_close(pool, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_pool_free(pool), CEN_OK);
    join(giver);
    expect_equal(holder.given, CEN_OK);
}

/* The pool is gone, and its line is there for the next. */
static void expect_line_is_back(const ceni_waiters *waiters)
{
    cen_pool_options options = CEN_POOL_OPTIONS(.max = 1);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    expect(pool->waiters == waiters);
    expect_equal(cen_pool_free(pool), CEN_OK);
}

/* Nobody closed before: what is out is revoked, and its give gives the memory back. */
static void free_beside(void (*who)(void *), cen_pool_options options)
{
    taker holder = {.lease = make_with_one_held(options)};
    const ceni_waiters *waiters = pool->waiters;
    ceni_thread giver = start("give", who, &holder);
    expect_equal(cen_pool_free(pool), CEN_OK);
    join(giver);
    expect(holder.given == CEN_OK || holder.given == CEN_REVOKED);
    expect_equal(alive, 0); /* and the world sees that no memory is left */
    expect_line_is_back(waiters);
}

/* guarantees: pool.L15, pool-bugs.shutdown */
EXPLORE(L15_the_last_give_to_a_freed_pool_gives_the_memory_back, 4)
{
    free_beside(give_lease, (cen_pool_options)ONE);
}

/* guarantees: pool.L15, pool-bugs.shutdown */
EXPLORE(L15_the_last_give_to_a_freed_fifo_pool_gives_the_memory_back, 4)
{
    free_beside(give_lease, (cen_pool_options)ONE_FIFO);
}

/* guarantees: pool.L15, pool-bugs.shutdown */
EXPLORE(L15_the_last_discard_to_a_freed_pool_gives_the_memory_back, 4)
{
    free_beside(discard_lease, (cen_pool_options)ONE);
}

/* guarantees: pool.L15, pool-bugs.shutdown */
EXPLORE(L15_the_later_of_two_gives_to_a_freed_pool_gives_the_memory_back, 4)
{
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options){.max = 2});
    taker a = {.lease = take_one()}, b = {.lease = take_one()};
    expect_equal(cen_pool_free(pool), CEN_OK);
    ceni_thread other = start("give", give_lease, &a);
    give_lease(&b);
    join(other);
    expect_equal(a.given, CEN_REVOKED);
    expect_equal(b.given, CEN_REVOKED);
    expect_equal(alive, 0);
}

static void leave_scope(void *into)
{
    taker *self = into;
    cen_scope scope;
    self->status = cen_pool_enter(pool, CEN_NOW, &scope, NULL);
    if (self->status == CEN_OK) self->given = cen_pool_leave(&scope);
}

/* guarantees: pool.L15, pool-bugs.shutdown */
EXPLORE(L15_a_scope_that_is_left_late_is_closed_once, 4)
{
    cen_lease mine = make_with_one_held((cen_pool_options)ONE);
    give_one(mine);
    taker other = {.status = CEN_OK};
    ceni_thread thread = start("scope", leave_scope, &other);
    cen_close_report report = CEN_SIZED(cen_close_report);
    expect_closed(cen_pool_close(pool, CEN_NOW, &report, NULL), &report);
    join(thread);
    if (other.status == CEN_OK) expect(other.given == CEN_REVOKED || (other.given == CEN_OK && report.revoked == 0));
    expect_equal(report.idle + report.given + report.revoked + report.busy, 1);
    end();
}

/* The line of the freed pool is lent to the next one, whose waiter the late
 * giver of the first must neither serve nor disturb. */
/* guarantees: pool.L15, pool-bugs.shutdown, pool-api.outlives */
EXPLORE(L15_a_late_give_leaves_the_next_pool_alone, 4)
{
    taker holder = {.lease = make_with_one_held((cen_pool_options)ONE)};
    ceni_thread giver = start("give", give_lease, &holder);
    expect_equal(cen_pool_close(pool, CEN_NEVER, NULL, NULL), CEN_OK);
    const ceni_waiters *waiters = pool->waiters;
    expect_equal(cen_pool_free(pool), CEN_OK);
    cen_pool_options options = CEN_POOL_OPTIONS(.max = 1);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    expect(pool->waiters == waiters);
    asker mine;
    expect_equal(ask(&mine), CEN_OK);
    join(giver);
    expect_equal(holder.given, CEN_OK);
    expect_equal(mine.told, 0);
    adopt_thing(THINGS - 1);
    expect_equal(await(&mine), CEN_OK);
    give_one(lease_of(&mine));
    expect_rest(1);
    end();
}
