/* SPDX-License-Identifier: MIT */
/*
 * Random load on checkout pools by threads of the system. A test is a plan:
 * which pools, how many workers, and what they do beside taking and giving.
 * pool_load.h names the oracle.
 *
 *     CENOTE_STRESS_SECONDS=n   for all tests of the program together
 *     CENOTE_SEED=n             the same choices, though not the same schedule
 */
#include "base/atomic.h"
#include "port/port.h"
#include "stress/pool_load.h"
#include "support/test.h"

enum { TESTS = 9, POOLS = 6, LETTERS = 6, HOARD = 30 };

/* What workers do. */
enum { MAIL = 1, DISCARD = 2, ADOPT = 4, LOOK = 8, SCOPE = 16, RESIZE = 32, PATIENT = 64 };

typedef struct plan {
    unsigned pools, workers;
    uint32_t max[POOLS];
    cen_order order[POOLS];
    bool strict[POOLS], eager, adopted_only;
    unsigned deeds;
    unsigned fail_one_in;
} plan;

static plan now;
static cen_pool *pools[POOLS];
static stock stocks[POOLS];
static _Atomic uint32_t enough;

static bool is_enough(void)
{
    return ceni_load_relaxed(&enough); /* carries nothing */
}

static bool one_in(worker *self, unsigned n)
{
    return draw_below(self, n) == 0;
}

/* ---- Leases that others give ------------------------------------------------------- */

typedef struct letter {
    _Atomic uint32_t state;
    cen_lease lease;
} letter;

enum { NO_LETTER, BEING_WRITTEN, WRITTEN, BEING_READ };
static letter letters[LETTERS];

static bool post(worker *self, cen_lease lease)
{
    letter *one = &letters[draw_below(self, LETTERS)];
    uint32_t found = NO_LETTER;
    if (!ceni_cas_acquire(&one->state, &found, BEING_WRITTEN)) return false;
    expect_equal(cen_pool_detach(&lease), CEN_OK); /* it may outlive its taker */
    one->lease = lease;
    ceni_store_release(&one->state, WRITTEN);
    return true;
}

static void give_what_came(worker *self, letter *one)
{
    uint32_t found = WRITTEN;
    if (!ceni_cas_acquire(&one->state, &found, BEING_READ)) return;
    is_doing(self, "giving another worker's lease");
    expect_equal(cen_pool_give(&one->lease), CEN_OK);
    self->given++;
    ceni_store_release(&one->state, NO_LETTER);
}

/* ---- Take, use, give ------------------------------------------------------------------ */

static cen_deadline some_deadline(worker *self)
{
    if ((now.deeds & PATIENT) && one_in(self, 2)) return CEN_NEVER;
    unsigned roll = draw_below(self, 8);
    if (roll == 0) return CEN_NOW;
    return roll < 6 ? cen_in_us(draw_below(self, 80)) : cen_in_us(500 + draw_below(self, 2000));
}

/* A take that may fail, in the ways in which it may. */
static bool take_some(worker *self, cen_pool *pool, cen_lease *lease)
{
    bool tries = one_in(self, 6);
    is_doing(self, tries ? "try_take" : "take");
    cen_status status =
        tries ? cen_pool_try_take(pool, lease, NULL) : cen_pool_take(pool, some_deadline(self), lease, NULL);
    if (status == CEN_OK) self->taken++;
    else if (status == CEN_DRIVER && now.fail_one_in) self->refused++;
    else if (status == (tries ? CEN_EMPTY : CEN_TIMEOUT)) self->timed_out++;
    else test_fail(__FILE__, __LINE__, "a take says %s", cen_status_name(status));
    return status == CEN_OK;
}

static void end_some(worker *self, cen_lease *lease)
{
    cen_lease copy = *lease;
    if ((now.deeds & DISCARD) && one_in(self, 8)) {
        is_doing(self, "discard");
        expect_equal(cen_pool_discard(lease), CEN_OK);
        self->discarded++;
    } else if (!(now.deeds & MAIL) || !one_in(self, 8) || !post(self, *lease)) {
        is_doing(self, "give");
        expect_equal(cen_pool_give(lease), CEN_OK);
        self->given++;
    } else {
        return; /* it is another worker's now, and so is the copy */
    }
    is_doing(self, "giving a lease that has ended");
    if (one_in(self, 4)) expect_equal(cen_pool_give(&copy), CEN_STALE);
    if (one_in(self, 16)) expect_equal(cen_pool_discard(&copy), CEN_STALE);
}

static void borrow(worker *self, cen_pool *pool)
{
    cen_lease lease;
    if (!take_some(self, pool, &lease)) return;
    use_begin(self, lease.object);
    make_noise(self);
    use_end(self, lease.object);
    end_some(self, &lease);
}

/* ---- Scopes ------------------------------------------------------------------------------- */

/* Enters all pools, each twice: the inner scope has the outer one's object. */
static void enter_from(worker *self, unsigned first)
{
    if (first == now.pools) return;
    cen_scope outer, inner;
    is_doing(self, "enter");
    cen_status status = cen_pool_enter(pools[first], some_deadline(self), &outer, NULL);
    if (status != CEN_OK) {
        if (status == CEN_DRIVER) self->refused++;
        else expect_equal(status, CEN_TIMEOUT);
        return;
    }
    self->taken++;
    use_begin(self, outer.lease.object);
    enter_from(self, first + 1);
    expect_equal(cen_pool_enter(pools[first], CEN_NOW, &inner, NULL), CEN_OK);
    expect(inner.lease.object == outer.lease.object);
    make_noise(self);
    use_end(self, outer.lease.object);
    is_doing(self, "leave");
    bool swapped = one_in(self, 2);
    expect_equal(cen_pool_leave(swapped ? &outer : &inner), CEN_OK);
    expect_equal(cen_pool_leave(swapped ? &inner : &outer), CEN_OK);
    expect_equal(cen_pool_leave(&outer), CEN_STALE);
    self->given++;
}

/* ---- Looking ---------------------------------------------------------------------------------- */

static bool see(void *argument, const cen_object_view *holding)
{
    uint32_t *next = argument;
    expect(holding->index >= *next && holding->object);
    expect(holding->state >= CEN_OBJECT_IDLE && holding->state <= CEN_OBJECT_CLOSING);
    *next = holding->index + 1;
    return true;
}

static void look_around(worker *self, cen_pool *pool)
{
    is_doing(self, "look");
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(pool, &s), CEN_OK);
    check_equations(&s);
    uint32_t next = 0;
    is_doing(self, "visit");
    expect_equal(cen_pool_each(pool, see, &next), CEN_OK);
    cen_object_view holdings[4];
    size_t held = 0;
    is_doing(self, "holders");
    expect_equal(cen_pool_holders(pool, holdings, 4, &held), CEN_OK);
    for (size_t i = 0; i < held && i < 4; i++) expect(holdings[i].held_ns >= 0 && holdings[i].state != CEN_OBJECT_IDLE);
}

/* ---- Objects from outside, and another max -------------------------------------------------------- */

static void adopt_one(worker *self, unsigned which)
{
    is_doing(self, "adopt");
    object *o = stock_make(&stocks[which]);
    cen_status status = cen_pool_adopt(pools[which], o, NULL);
    if (status == CEN_OK) return;
    expect_equal(status, CEN_FULL);
    stock_unmake(&stocks[which], o);
}

/* By one worker only. What was being opened when max was lowered counts by the
 * old max; when nothing is any more, the new one holds. */
static void resize_one(worker *self, unsigned which)
{
    stock *s = &stocks[which];
    uint32_t max = 1 + draw_below(self, 2 * now.max[which]), allowed = ceni_load_relaxed(&s->allowed); /* own writes */
    is_doing(self, "resize");
    if (max > allowed) ceni_store_release(&s->allowed, max);
    expect_equal(cen_pool_resize(pools[which], max, NULL), CEN_OK);
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(pools[which], &stats), CEN_OK);
    if (max < allowed && stats.opening == 0 && stats.moving == 0) ceni_store_release(&s->allowed, max);
}

/* ---- A round -------------------------------------------------------------------------------------------- */

static void mix(worker *self)
{
    while (!is_enough()) {
        unsigned which = draw_below(self, now.pools), roll = draw_below(self, 64);
        if (now.deeds & MAIL) give_what_came(self, &letters[draw_below(self, LETTERS)]);
        if (roll == 0 && (now.deeds & LOOK)) look_around(self, pools[which]);
        else if (roll == 1 && (now.deeds & ADOPT)) adopt_one(self, which);
        else if (roll == 2 && (now.deeds & RESIZE) && self->number == 0) resize_one(self, which);
        else if (roll < 8 && (now.deeds & SCOPE)) enter_from(self, 0);
        else borrow(self, pools[which]);
        make_noise(self);
    }
}

/* Workers that hold nearly everything between them, so that what is idle is hard to find. */
static void hoard(worker *self)
{
    cen_lease leases[HOARD];
    unsigned count = 0;
    while (!is_enough()) {
        if (count < HOARD && (count == 0 || !one_in(self, 3)) && take_some(self, pools[0], &leases[count])) {
            use_begin(self, leases[count].object);
            use_end(self, leases[count++].object);
        } else if (count > 0) {
            unsigned which = draw_below(self, count);
            end_some(self, &leases[which]);
            leases[which] = leases[--count];
        }
        make_noise(self);
    }
    while (count > 0) end_some(self, &leases[--count]);
}

static void make_pool(unsigned which)
{
    stock *s = &stocks[which];
    stock_begin(s, now.max[which]);
    ceni_store_relaxed(&s->fail_one_in, now.fail_one_in); /* nobody looks yet */
    static cen_driver_calls only_closes;
    cen_driver driver = stock_driver(s);
    if (now.adopted_only) {
        only_closes =
            (cen_driver_calls){.size = sizeof only_closes, .close = driver.calls->close, .opens_nothing = true};
        driver.calls = &only_closes;
    }
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = driver, .max = now.max[which], .order = now.order[which],
                                                .eager = now.eager, .max_barging_ns = now.strict[which] ? CEN_NONE : 0);
    expect_equal(cen_pool_new(&options, &pools[which], NULL), CEN_OK);
    for (uint32_t i = 0; i < now.max[which] && now.adopted_only; i++) adopt_one(load_main(), which);
}

/* All is given back: what the pools counted is what the workers did. */
static void settle(void)
{
    worker sum;
    uint64_t taken = 0, ended = 0, discarded = 0;
    for (unsigned i = 0; i < LETTERS; i++) give_what_came(load_main(), &letters[i]);
    for (unsigned i = 0; i < now.pools; i++) {
        cen_pool_stats s = CEN_SIZED(cen_pool_stats);
        cen_close_report report = CEN_SIZED(cen_close_report);
        expect_equal(cen_pool_stats_get(pools[i], &s), CEN_OK);
        check_equations(&s);
        expect_equal(s.held + s.moving + s.waiting + s.opening + s.closing, 0);
        expect(s.idle <= s.max);
        taken += s.taken;
        ended += s.ended;
        discarded += s.discarded;
        expect_equal(cen_pool_close(pools[i], CEN_NOW, &report, NULL), CEN_OK);
        expect_equal(report.idle, s.idle);
        cen_pool_free(pools[i]);
        stock_check(&stocks[i]);
    }
    sum = load_sum();
    printf("     %" PRIu64 " taken, %" PRIu64 " discarded, %" PRIu64 " in vain\n", sum.taken, sum.discarded,
           sum.timed_out);
    expect(sum.taken > 0);
    expect_equal(sum.taken, sum.given + sum.discarded);
    expect(taken >= sum.taken); /* one who is served twice at once gives the second back */
    expect_equal(ended, taken);
    expect_equal(sum.discarded, discarded);
}

static void run_plan_by(plan p, void (*run)(worker *self))
{
    double seconds = load_begin(TESTS);
    now = p;
    ceni_store_relaxed(&enough, 0); /* nobody looks yet */
    for (unsigned i = 0; i < now.pools; i++) make_pool(i);
    load_start(now.workers, run);
    load_sleep(seconds);
    ceni_store_relaxed(&enough, 1); /* carries nothing */
    load_join();
    settle();
}

static void run_plan(plan p)
{
    run_plan_by(p, mix);
}

/* ---- The tests --------------------------------------------------------------------------------------------- */

/* guarantees: pool.L1 */
TEST(a_single_object_has_one_user_at_a_time_and_reaches_everybody)
{
    run_plan((plan){.pools = 1, .workers = 4, .max = {1}, .eager = true, .deeds = PATIENT | LOOK});
}

/* guarantees: pool.L1 */
TEST(every_operation_keeps_a_warm_pool_whole)
{
    run_plan((plan){.pools = 1, .workers = 8, .max = {3}, .deeds = MAIL | DISCARD | ADOPT | LOOK | SCOPE});
}

/* guarantees: pool.L1 */
TEST(every_operation_keeps_a_strict_pool_whole)
{
    run_plan(
        (plan){.pools = 1, .workers = 6, .max = {2}, .strict = {true}, .deeds = MAIL | DISCARD | ADOPT | LOOK | SCOPE});
}

/* guarantees: pool.L1 */
TEST(every_operation_keeps_pools_of_every_order_whole)
{
    run_plan((plan){.pools = 4,
                    .workers = 8,
                    .max = {2, 2, 1, 3},
                    .strict = {false, false, true, true},
                    .order = {CEN_ORDER_LIFO, CEN_ORDER_FIFO, CEN_ORDER_LIFO, CEN_ORDER_FIFO},
                    .deeds = MAIL | DISCARD | ADOPT | LOOK});
}

/* guarantees: pool.L2, pool-bugs.limit */
TEST(L2_another_max_is_kept_while_everything_goes_on)
{
    run_plan((plan){.pools = 2,
                    .workers = 8,
                    .max = {3, 2},
                    .order = {CEN_ORDER_WARM, CEN_ORDER_FIFO},
                    .deeds = MAIL | DISCARD | LOOK | RESIZE});
}

/* guarantees: pool.L3, pool-bugs.count-leak */
TEST(L3_whoever_waits_without_limit_is_served_although_openings_fail)
{
    run_plan((plan){.pools = 1, .workers = 8, .max = {2}, .deeds = DISCARD | PATIENT, .fail_one_in = 3});
}

/* guarantees: pool-api.adopt */
TEST(objects_that_were_adopted_are_lent_like_any_other)
{
    run_plan((plan){.pools = 2,
                    .workers = 6,
                    .max = {2, 2},
                    .strict = {false, true},
                    .adopted_only = true,
                    .deeds = MAIL | ADOPT | LOOK});
}

/* guarantees: pool-api.size */
TEST(a_few_idle_objects_among_many_that_are_held_are_found)
{
    run_plan_by((plan){.pools = 1, .workers = 8, .max = {8 * HOARD - 20}, .eager = true, .deeds = DISCARD}, hoard);
}

/* guarantees: pool-bugs.nesting */
TEST(scopes_in_more_pools_than_a_thread_can_note_borrow)
{
    run_plan((plan){.pools = POOLS, .workers = 3, .max = {3, 2, 2, 3, 2, 2}, .deeds = SCOPE});
}
