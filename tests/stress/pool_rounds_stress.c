/* SPDX-License-Identifier: MIT */
/*
 * Rounds, each a race that happens once: the last release there is, and the
 * end of a pool while its objects come back. All workers go through a round
 * together; between rounds the books are checked.
 */
#include "base/atomic.h"
#include "port/port.h"
#include "stress/pool_load.h"
#include "support/test.h"

enum { TESTS = 4, MOST = 4 };

static cen_pool *pool;
static stock things;
static _Atomic uint32_t enough;
static int64_t until;

/* ---- All workers at one place ---------------------------------------------------------- */

typedef struct gate {
    _Atomic uint32_t turn; /* a futex */
    _Atomic uint32_t arrived;
    uint32_t members;
} gate;

static gate meeting;

/* Waits for all; true for the last that comes, which goes through `first`
 * before anybody else goes on. */
static void meet(worker *self, const char *where, void (*first)(void))
{
    is_doing(self, where);
    uint32_t turn = ceni_load_acquire(&meeting.turn);
    if (ceni_add_acq_rel(&meeting.arrived, 1) + 1 == meeting.members) {
        ceni_store_relaxed(&meeting.arrived, 0); /* published by turn */
        if (first) first();
        ceni_store_release(&meeting.turn, turn + 1);
        ceni_futex_wake(&meeting.turn, UINT32_MAX);
    } else {
        while (ceni_load_acquire(&meeting.turn) == turn) ceni_futex_wait(&meeting.turn, turn, CENI_FOREVER);
    }
}

static void spin_a_while(worker *self, unsigned most_us)
{
    int64_t end = ceni_clock_now() + (int64_t)draw_below(self, most_us * 1000);
    while (ceni_clock_now() < end) ceni_pause();
}

/* ---- The last release --------------------------------------------------------------------- */

/* `size` holders have everything. As many patient workers wait, and nobody gives
 * but the holders, once each, so that every give or discard is the last that
 * can serve somebody. Impatient workers come and go beside them; what they get
 * they give back at once.
 *
 * One who waits looks once more at its deadline. So a release that reached
 * nobody shows as a wait that lasted until then, not as one in vain. */
enum { WAIT_S = 60 };

typedef struct last_release {
    uint32_t size;
    cen_order order;
    bool strict, impatient;
} last_release;

static last_release now;
static uint64_t rounds;

static void make_pool(void)
{
    stock_begin(&things, now.size);
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = stock_driver(&things), .max = now.size, .order = now.order,
                                                .max_barging_ns = now.strict ? CEN_NONE : 0, .eager = true);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
}

static void hold_then_release(worker *self)
{
    cen_lease lease;
    expect_equal(cen_pool_try_take(pool, &lease, NULL), CEN_OK);
    self->taken++;
    use_begin(self, lease.object);
    meet(self, "the beginning of a round", NULL);
    spin_a_while(self, 60);
    use_end(self, lease.object);
    is_doing(self, "the last release");
    if (draw_below(self, 4)) {
        expect_equal(cen_pool_give(&lease), CEN_OK);
        self->given++;
    } else {
        expect_equal(cen_pool_discard(&lease), CEN_OK);
        self->discarded++;
    }
    meet(self, "the middle of a round", NULL);
}

static void wait_patiently(worker *self)
{
    cen_lease lease;
    meet(self, "the beginning of a round", NULL);
    if (draw_below(self, 2)) spin_a_while(self, 30);
    is_doing(self, "a take that somebody will serve");
    int64_t begin = ceni_clock_now();
    cen_status status = cen_pool_take(pool, cen_in_s(WAIT_S), &lease, NULL);
    if (status != CEN_OK || ceni_clock_now() - begin >= (int64_t)WAIT_S * 1000000000)
        test_fail(__FILE__, __LINE__, "no release reached worker %d in %d s: %s (size %u, order %d%s)", self->number,
                  WAIT_S, cen_status_name(status), now.size, (int)now.order, now.strict ? ", strict" : "");
    self->taken++;
    use_begin(self, lease.object);
    meet(self, "the middle of a round", NULL);
    use_end(self, lease.object);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    self->given++;
}

static void come_and_go(worker *self)
{
    cen_lease lease;
    meet(self, "the beginning of a round", NULL);
    is_doing(self, "an impatient take");
    cen_status status = cen_pool_take(pool, cen_in_us(draw_below(self, 60)), &lease, NULL);
    if (status == CEN_OK) {
        self->taken++;
        use_begin(self, lease.object);
        use_end(self, lease.object);
        expect_equal(cen_pool_give(&lease), CEN_OK);
        self->given++;
    } else {
        expect_equal(status, CEN_TIMEOUT);
        self->timed_out++;
    }
    meet(self, "the middle of a round", NULL);
}

/* Between two rounds all is at rest. */
static void check_rest(void)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(pool, &s), CEN_OK);
    check_equations(&s);
    expect_equal(s.idle, now.size);
    expect_equal(s.waiting, 0);
    rounds++;
    if (ceni_clock_now() >= until) ceni_store_relaxed(&enough, 1); /* published by the meeting */
}

static void run_rounds(worker *self)
{
    uint32_t role = (uint32_t)self->number / now.size;
    while (!ceni_load_relaxed(&enough)) { /* came with the meeting; carries nothing */
        if (role == 0) hold_then_release(self);
        else if (role == 1) wait_patiently(self);
        else come_and_go(self);
        meet(self, "the end of a round", check_rest);
    }
}

static void release_last(last_release what, double seconds)
{
    now = what;
    ceni_store_relaxed(&enough, 0); /* nobody looks yet */
    until = ceni_clock_now() + (int64_t)(seconds * 1e9);
    make_pool();
    uint32_t workers = 2 * now.size + (now.impatient ? now.size + 1 : 0);
    meeting = (gate){.members = workers};
    load_start(workers, run_rounds);
    load_sleep(seconds);
    load_join();
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK);
    cen_pool_free(pool);
    stock_check(&things);
}

/* Every size, order and bound. */
static void release_last_everywhere(bool impatient)
{
    static const uint32_t sizes[] = {1, 2, MOST};
    double seconds = load_begin(TESTS) / (3 * 3 * 2);
    rounds = 0;
    for (int i = 0; i < 3 * 3 * 2; i++)
        release_last((last_release){sizes[i % 3], (cen_order)(i / 3 % 3), i / 9, impatient}, seconds);
    worker sum = load_sum();
    printf("     %" PRIu64 " rounds, %" PRIu64 " takes, %" PRIu64 " in vain\n", rounds, sum.taken, sum.timed_out);
    expect_equal(sum.taken, sum.given + sum.discarded);
    expect(rounds >= 18);
}

/* guarantees: pool.L3 */
TEST(L3_each_of_the_last_releases_reaches_somebody_who_waits)
{
    release_last_everywhere(false);
}

/* guarantees: pool.L5, pool-bugs.handoff-race */
TEST(L5_those_who_give_up_leave_what_was_theirs_to_those_who_wait)
{
    release_last_everywhere(true);
}

/* ---- The end of a pool ------------------------------------------------------------------------ */

/* Workers take and give until they are told that the pool is closed, and some
 * keep what they have. Then the pool is freed while they give it back. */
enum { ENDERS = 6 };

static _Atomic uint32_t round_over;
static unsigned round_number;
static _Atomic uint64_t revoked;

static void begin_ending(void)
{
    uint64_t dice = ++round_number;
    unsigned shape = (unsigned)(test_random(&dice) % 36);
    now = (last_release){1 + shape % 3, (cen_order)(shape / 3 % 3), shape / 9 % 2, false};
    stock_begin(&things, now.size);
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = stock_driver(&things), .max = now.size, .order = now.order,
                                                .max_barging_ns = now.strict ? CEN_NONE : 0, .eager = shape / 18);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    ceni_store_relaxed(&round_over, 0); /* published by the meeting */
}

/* True if it ends with a lease. */
static bool use_until_closed(worker *self, cen_lease *lease)
{
    for (;;) {
        is_doing(self, "a take from a pool that will be closed");
        cen_deadline deadline = draw_below(self, 3) ? cen_in_us(draw_below(self, 300)) : CEN_NEVER;
        cen_status status = cen_pool_take(pool, deadline, lease, NULL);
        if (status == CEN_CLOSED) return false;
        if (status == CEN_TIMEOUT) continue;
        expect_equal(status, CEN_OK);
        self->taken++;
        use_begin(self, lease->object);
        make_noise(self);
        use_end(self, lease->object);
        if (ceni_load_relaxed(&round_over) && draw_below(self, 4)) return true; /* carries nothing */
        if (draw_below(self, 8)) expect(cen_pool_give(lease) != CEN_STALE);
        else expect(cen_pool_discard(lease) != CEN_STALE);
        self->given++;
    }
}

static void give_late(worker *self, cen_lease *lease)
{
    spin_a_while(self, 40);
    is_doing(self, "a late give");
    cen_status status = draw_below(self, 4) ? cen_pool_give(lease) : cen_pool_discard(lease);
    if (status == CEN_REVOKED) ceni_add_relaxed(&revoked, 1); /* a number; carries nothing */
    else expect_equal(status, CEN_OK);
    self->given++;
}

/* Worker 0 ends the pool; the others may still be giving. */
static void end_pool(worker *self, bool closes)
{
    ceni_store_relaxed(&round_over, 1); /* carries nothing */
    is_doing(self, "close");
    cen_close_report report = CEN_SIZED(cen_close_report);
    cen_status status = cen_pool_close(pool, closes ? cen_in_us(draw_below(self, 200)) : CEN_NOW, &report, NULL);
    expect(status == CEN_OK || status == CEN_TIMEOUT);
}

static void check_ending(void)
{
    stock_check(&things);
    rounds++;
    if (ceni_clock_now() >= until) ceni_store_relaxed(&enough, 1); /* published by the meeting */
}

static void run_endings(worker *self)
{
    while (!ceni_load_relaxed(&enough)) { /* came with the meeting; carries nothing */
        cen_lease lease;
        meet(self, "the beginning of a round", begin_ending);
        bool holds = false;
        if (self->number > 0) holds = use_until_closed(self, &lease);
        else {
            load_sleep(draw_below(self, 400) * 1e-6);
            end_pool(self, draw_below(self, 2));
        }
        meet(self, "the time when nobody takes any more", NULL);
        if (holds) give_late(self, &lease);
        if (self->number == 0) {
            is_doing(self, "free");
            expect_equal(cen_pool_free(pool), CEN_OK);
        }
        meet(self, "the end of a round", check_ending);
    }
}

static void run_until_enough(void (*run)(worker *self))
{
    double seconds = load_begin(TESTS);
    ceni_store_relaxed(&enough, 0); /* nobody looks yet */
    rounds = round_number = 0;
    until = ceni_clock_now() + (int64_t)(seconds * 1e9);
    meeting = (gate){.members = ENDERS};
    load_start(ENDERS, run);
    load_sleep(seconds);
    load_join();
    worker sum = load_sum();
    printf("     %" PRIu64 " rounds, %" PRIu64 " takes, %" PRIu64 " revoked\n", rounds, sum.taken, (uint64_t)revoked);
    expect(rounds > 0);
    expect_equal(sum.taken, sum.given);
}

/* guarantees: pool.L15 */
TEST(L15_a_pool_that_ends_while_its_objects_come_back_closes_each_once)
{
    run_until_enough(run_endings);
}

/* The pool is freed without a close, by whoever sees that nobody takes any more. */
static void run_frees(worker *self)
{
    while (!ceni_load_relaxed(&enough)) { /* came with the meeting; carries nothing */
        cen_lease lease = {0};
        meet(self, "the beginning of a round", begin_ending);
        for (unsigned i = draw_below(self, 20); i > 0; i--) {
            is_doing(self, "a take");
            if (cen_pool_take(pool, cen_in_us(draw_below(self, 50)), &lease, NULL) != CEN_OK) continue;
            self->taken++;
            use_begin(self, lease.object);
            use_end(self, lease.object);
            if (i == 1) break;
            expect_equal(cen_pool_give(&lease), CEN_OK);
            self->given++;
        }
        meet(self, "the time when nobody takes any more", NULL);
        if (self->number == 0) {
            spin_a_while(self, 10);
            if (lease.pool) give_late(self, &lease);
            is_doing(self, "free");
            expect_equal(cen_pool_free(pool), CEN_OK);
        } else if (lease.pool) {
            give_late(self, &lease);
        }
        meet(self, "the end of a round", check_ending);
    }
}

/* guarantees: pool.L15, pool-bugs.shutdown */
TEST(L15_the_last_that_comes_back_to_a_freed_pool_takes_its_memory_along)
{
    run_until_enough(run_frees);
}
