/* SPDX-License-Identifier: MIT */
/*
 * Random load on routers by threads of the system: some route, peek, ask, give up and
 * wait with short deadlines, while the owners of members add them, let them flap,
 * drain, eject and remove them. What a member brings is freed when it is gone, so that
 * whoever touches it afterwards is caught by a sanitizer. Some routes stay out while
 * the router is freed.
 *
 * The oracle: nobody has more uses than its maximum; the router counts as many uses
 * and failures as there were; nobody waits at the end; every member is gone once,
 * and not while one of its uses is out; a listener hears changes that fit one another.
 *
 *     CENOTE_STRESS_SECONDS=n   for all tests of the program together
 *     CENOTE_SEED=n             the same choices, though not the same schedule
 */
#include <stdlib.h>
#include <unistd.h>

#include <cenote/cenote.h>
#include <cenote/router.h>

#include "base/atomic.h"
#include "port/port.h"
#include "support/test.h"

enum { TESTS = 2, USERS = 3, OWNERS = 2, OWNED = 4, STEPS = 400, MAGIC = 0x5EA1 };

/* What a member brings. */
typedef struct peer {
    uint32_t magic; /* plain: a sanitizer sees who reads it too late */
    _Atomic uint32_t uses;
} peer;

typedef struct worker {
    ceni_thread thread;
    uint64_t dice;
    uint64_t begun, failed, in_vain;
    cen_route kept; /* until after the router is freed */
} worker;

static cen_router *router;
static int64_t max;
static _Atomic uint32_t added, gone, told;
static uint64_t totals[3];

static const cen_strategy_type *strategies[9];

static void note_gone(void *value)
{
    peer *self = value;
    expect_equal(self->magic, MAGIC);
    expect_equal(ceni_load_seq_cst(&self->uses), 0);
    self->magic = 0;
    free(self);
    ceni_add_seq_cst(&gone, 1);
}

static void listen(void *argument, cen_member *member, cen_member_state from, cen_member_state to,
                   const cen_error *cause)
{
    (void)argument;
    expect(from != to);
    expect(to != CEN_MEMBER_CONNECTING && from != CEN_MEMBER_FULL && to != CEN_MEMBER_FULL);
    expect(!cause || to == CEN_MEMBER_DOWN);
    expect_equal(((peer *)cen_member_value(member))->magic, MAGIC);
    ceni_add_seq_cst(&told, 1);
}

/* ---- Those who use ------------------------------------------------------------------------- */

static void begin_use(worker *self, const cen_route *route)
{
    peer *other = route->value;
    self->begun++;
    expect_equal(other->magic, MAGIC);
    uint32_t uses = ceni_add_seq_cst(&other->uses, 1) + 1;
    expect(max == 0 || uses <= max);
}

static void end_use(worker *self, cen_route *route)
{
    peer *other = route->value;
    bool fails = test_random(&self->dice) % 4 == 0;
    if (test_random(&self->dice) % 4 == 0) ceni_thread_yield();
    expect_equal(other->magic, MAGIC);
    expect_equal(cen_member_value(route->member) == other, 1);
    cen_status checked = cen_route_check(route);
    expect(checked == CEN_OK || checked == CEN_DOWN);
    ceni_sub_seq_cst(&other->uses, 1);
    self->failed += fails;
    cen_status status = cen_route_done(route, fails ? CEN_OUTCOME_FAILED : CEN_OUTCOME_OK, 0);
    expect(status == CEN_OK || status == CEN_DOWN);
    expect(checked == CEN_OK || status == CEN_DOWN);
}

static void keep_or_end(worker *self, cen_route *route)
{
    begin_use(self, route);
    if (self->kept.member && test_random(&self->dice) % 8 == 0) end_use(self, &self->kept);
    if (!self->kept.member && test_random(&self->dice) % 16 == 0) self->kept = *route;
    else end_use(self, route);
}

static void route_once(worker *self)
{
    cen_route route;
    cen_route_hint pick = {.key = test_random(&self->dice)};
    uint64_t how = test_random(&self->dice) % 4;
    cen_deadline deadline = how == 0 ? cen_in_us((int64_t)(test_random(&self->dice) % 500)) : CEN_NOW;
    cen_status status = cen_router_route(router, &pick, deadline, &route, NULL);
    if (status == CEN_OK) keep_or_end(self, &route);
    else self->in_vain++;
    expect(status == CEN_OK || status == CEN_EMPTY || status == CEN_FULL || status == CEN_TIMEOUT);
}

static void ask_once(worker *self)
{
    cen_route_op routing;
    cen_route_op_init(&routing, NULL, NULL);
    expect_equal(cen_router_route_async(router, NULL, cen_in_us((int64_t)(test_random(&self->dice) % 500)), &routing),
                 CEN_OK);
    if (test_random(&self->dice) % 2 && cen_future_cancel(&routing.future)) return;
    expect_equal(cen_future_wait(&routing.future, cen_in_s(60)), CEN_OK);
    if (routing.future.status == CEN_OK) keep_or_end(self, &routing.route);
    else self->in_vain++;
}

static void peek_once(void)
{
    cen_member *member;
    cen_read_begin();
    if (cen_router_peek(router, NULL, &member) == CEN_OK)
        expect_equal(((peer *)cen_member_value(member))->magic, MAGIC);
    cen_read_end();
}

static void use(void *argument)
{
    worker *self = argument;
    for (int i = 0; i < STEPS; i++) {
        uint64_t what = test_random(&self->dice) % 8;
        if (what == 0) ask_once(self);
        else if (what == 1) peek_once();
        else route_once(self);
    }
}

/* ---- Those who own --------------------------------------------------------------------------- */

static cen_member *add(void)
{
    peer *value = calloc(1, sizeof *value);
    expect(value != NULL);
    value->magic = MAGIC;
    cen_member *member;
    cen_member_options options = CEN_MEMBER_OPTIONS(.value = value, .gone = note_gone);
    expect_equal(cen_router_add(router, &options, &member, NULL), CEN_OK);
    ceni_add_seq_cst(&added, 1);
    return member;
}

static void change(cen_member **member, uint64_t *dice)
{
    static const cen_error lost = {.status = CEN_LOST, .text = "lost"};
    if (!*member) *member = add();
    cen_status status = CEN_OK;
    switch (test_random(dice) % 8) {
    case 0: status = cen_member_down(*member, &lost); break;
    case 1: status = cen_member_drain(*member, NULL); break;
    case 2: status = cen_member_eject(*member, (int64_t)(test_random(dice) % 200000), NULL); break;
    case 3: status = cen_member_restore(*member, NULL); break;
    case 4:
        if (test_random(dice) % 4) break;
        status = cen_member_remove(*member);
        *member = NULL;
        break;
    default: status = cen_member_up(*member, NULL); break;
    }
    expect(status == CEN_OK || status == CEN_BUSY || status == CEN_INVALID);
}

static void own(void *argument)
{
    worker *self = argument;
    cen_member *members[OWNED] = {0};
    for (int i = 0; i < STEPS; i++) {
        change(&members[test_random(&self->dice) % OWNED], &self->dice);
        if (test_random(&self->dice) % 4 == 0) ceni_thread_yield();
    }
}

/* ---- Rounds ------------------------------------------------------------------------------------- */

static void make_router(uint64_t *dice)
{
    cen_router_options options = CEN_ROUTER_OPTIONS(.max_waiters = 2, .changed = test_random(dice) % 2 ? listen : NULL);
    options.strategy.type = strategies[test_random(dice) % 9];
    max = options.max_in_flight = test_random(dice) % 2 ? 2 : 0;
    options.max_uses = test_random(dice) % 2 ? 20 : 0;
    options.max_lifetime_ns = test_random(dice) % 2 ? 1000000 : 0;
    options.target_in_flight = test_random(dice) % 2 ? 1 : 0;
    options.measure = test_random(dice) % 2;
    expect_equal(cen_router_new(&options, &router, NULL), CEN_OK);
    ceni_store_seq_cst(&added, 0);
    ceni_store_seq_cst(&gone, 0);
}

static void check_sums(const worker *workers)
{
    cen_router_stats stats = CEN_SIZED(cen_router_stats);
    uint64_t begun = 0, failed = 0, out = 0;
    expect_equal(cen_router_stats_get(router, &stats), CEN_OK);
    for (int i = 0; i < USERS; i++) {
        begun += workers[i].begun;
        failed += workers[i].failed;
        out += workers[i].kept.member != NULL;
        totals[1] += workers[i].in_vain;
    }
    expect_equal(stats.uses, begun);
    expect_equal(stats.failed, failed);
    expect_equal(stats.in_flight, out);
    expect_equal(stats.waiting, 0);
    expect(stats.timeouts <= stats.waited);
    expect_equal(stats.members, stats.connecting + stats.up + stats.full + stats.draining + stats.down + stats.ejected);
    totals[0] += begun;
}

/* Members that were in use when the router was freed go on a helper. */
static void await_gone(void)
{
    int64_t until = ceni_clock_now() + INT64_C(30000000000);
    while (ceni_load_seq_cst(&gone) < ceni_load_seq_cst(&added) && ceni_clock_now() < until)
        ceni_sleep_until(ceni_clock_now() + 100000);
    expect_equal(ceni_load_seq_cst(&gone), ceni_load_seq_cst(&added));
    totals[2] += ceni_load_seq_cst(&added);
}

static void one_round(uint64_t *dice, bool closed_first)
{
    worker workers[USERS + OWNERS] = {0};
    make_router(dice);
    for (int i = 0; i < USERS + OWNERS; i++) {
        workers[i].dice = test_random(dice);
        expect_equal(ceni_thread_start(&workers[i].thread, NULL, i < USERS ? use : own, &workers[i], NULL), CEN_OK);
    }
    for (int i = 0; i < USERS + OWNERS; i++) ceni_thread_join(&workers[i].thread);
    check_sums(workers);
    if (closed_first) {
        cen_router_report report = CEN_SIZED(cen_router_report);
        cen_status status = cen_router_close(router, CEN_NOW, &report, NULL);
        expect_equal(status, report.left ? CEN_TIMEOUT : CEN_OK);
    }
    expect_equal(cen_router_free(router), CEN_OK);
    for (int i = 0; i < USERS; i++)
        if (workers[i].kept.member) end_use(&workers[i], &workers[i].kept);
    await_gone();
}

static void load(bool closed_first)
{
    const cen_strategy all[] = {cen_strategy_random(),
                                cen_strategy_round_robin(),
                                cen_strategy_shared_round_robin(),
                                cen_strategy_strict_round_robin(),
                                cen_strategy_least_in_flight(),
                                cen_strategy_two_choices(),
                                cen_strategy_peak_ewma(),
                                cen_strategy_weighted(),
                                cen_strategy_consistent_hash()};
    for (int i = 0; i < 9; i++) strategies[i] = all[i].type;
    const char *text = getenv("CENOTE_STRESS_SECONDS");
    double seconds = (text ? strtod(text, NULL) : 4.0) / TESTS;
    uint64_t seed = test_seed(), rounds = 0;
    alarm((unsigned)seconds + 60);
    int64_t until = ceni_clock_now() + (int64_t)(seconds * 1e9);
    for (; rounds == 0 || ceni_clock_now() < until; rounds++) one_round(&seed, closed_first);
    expect(totals[0] > 0);
    printf("     %" PRIu64 " routers, %" PRIu64 " uses, %" PRIu64 " in vain, %" PRIu64 " members, %u changes told\n",
           rounds, totals[0], totals[1], totals[2], (unsigned)ceni_load_seq_cst(&told));
}

TEST(routers_whose_members_come_and_go_count_every_use_and_let_go_of_all)
{
    load(false);
}

TEST(routers_that_are_closed_before_they_are_freed_let_go_of_all)
{
    load(true);
}
