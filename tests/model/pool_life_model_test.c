/* SPDX-License-Identifier: MIT */
/*
 * The life of a pool's objects against a simple model, by one thread in
 * virtual time: openings that fail, gives of dirty and broken objects, reload,
 * reap, pause, rounds of tests, limits on idle time, life, uses and holding,
 * and changes of all of them. Who waits, and in which order, is the other
 * model's (pool_model_test.c).
 *
 * The model is a list of objects. The driver is its witness: whatever the pool
 * does to an object must be allowed at that moment, and what has to happen must
 * have happened by its latest moment. All counts are compared after every step.
 *
 *     CENOTE_MODEL_STEPS=n   about so many steps in all, instead of some hundred thousand
 */
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cenote/pool.h>

#include "support/model.h"
#include "support/run.h"
#include "support/test.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

enum { THINGS = 3000, MOST = 4, STEPS = 60, RUNS = 3000, PART = 10000 };

typedef struct thing {
    enum { GONE, IDLE, HELD, REVOKED } state;
    bool open, reloaded, is_cut;
    bool unsound;                  /* it failed a test or a reset, or is broken */
    bool doomed;                   /* it was too old once, by a limit that may have changed since */
    int64_t opened, since, tested; /* since: in this state */
    int64_t reload_by;             /* of a reload that is spread; 0: none */
    uint64_t uses;
    cen_lease lease;
} thing;

typedef struct twin {
    cen_pool *pool;
    cen_runtime *runtime;
    cen_pool_options limits;
    int64_t limits_since;
    thing things[THINGS];
    uint32_t made;
    unsigned failing; /* openings that will fail */
    bool tests_fail, resets_fail, paused;
    cen_condition condition;
    thing *ending;                     /* whose lease ends in this step */
    bool discards, closes_idle, frees; /* what this step may do */
    bool opened_now, failed_now;
    int64_t failed_at; /* the last opening that failed; 0: never */
    bool shut;         /* and nothing has been opened since, nor back-off been switched off */
    uint64_t opened, open_failed, closed, reclaimed, tested, test_failed, reset, reset_failed, taken, ended, discarded;
    char text[200];
    const char *wrong;
} twin;

static twin t;

/* ---- What is wrong ------------------------------------------------------------------------ */

__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
    if (t.wrong) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(t.text, sizeof t.text, format, arguments);
    va_end(arguments);
    t.wrong = t.text;
}

static int64_t now(void)
{
    return cen_runtime_now(t.runtime);
}

static unsigned number(const thing *it)
{
    return (unsigned)(it - t.things);
}

static uint32_t count(int state)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < t.made; i++) found += t.things[i].state == (unsigned)state;
    return found;
}

static uint32_t live(void)
{
    return count(IDLE) + count(HELD) + count(REVOKED);
}

/* ---- The driver, the model's witness -------------------------------------------------------- */

static cen_status open_thing(void *unused, void **out, cen_error *error)
{
    (void)unused, (void)error;
    if (t.paused) complain("an object is opened although the pool is paused");
    if (live() >= t.limits.max) complain("an object is opened and %u are there already", live());
    if (t.shut && t.failed_at == now()) complain("an opening is tried again at once");
    if (t.failing > 0) {
        t.shut = t.limits.backoff_initial_ns != CEN_OFF;
        t.failing--;
        t.open_failed++;
        t.failed_now = true;
        t.failed_at = now();
        return CEN_DRIVER;
    }
    if (t.made == THINGS) return complain("the test has too few objects"), CEN_NO_MEMORY;
    thing *it = &t.things[t.made++];
    *it = (thing){.state = IDLE, .open = true, .opened = now(), .since = now(), .tested = now()};
    t.opened++;
    t.opened_now = true;
    t.shut = false;
    *out = it;
    return CEN_OK;
}

static bool is_older(int64_t since, int64_t limit)
{
    return limit != CEN_OFF && now() - since >= limit;
}

/* Why the pool may end it at this moment. */
static bool may_end(const thing *it)
{
    if (t.frees || it->unsound || it->reloaded || it->doomed || it->state == REVOKED) return true;
    if (it->reload_by || is_older(it->opened, t.limits.max_lifetime_ns) || live() > t.limits.max) return true;
    if (it->state == HELD)
        return it == t.ending &&
               (t.discards || (t.limits.max_uses != CEN_OFF && it->uses >= (uint64_t)t.limits.max_uses));
    if (t.closes_idle) return true;
    if (t.limits.max_idle != CEN_OFF && count(IDLE) > (uint32_t)t.limits.max_idle) return true;
    return is_older(it->since, t.limits.idle_timeout_ns) && count(IDLE) > t.limits.min_idle;
}

static void end_thing(thing *it, const char *how)
{
    if (!it->open) complain("object %u is %s twice", number(it), how);
    else if (!may_end(it))
        complain("object %u, which is %s, is %s for no reason", number(it), it->state == IDLE ? "idle" : "held", how);
    if (it->state == HELD && it != t.ending && !t.frees) complain("object %u is %s while it is held", number(it), how);
    it->open = false;
    it->state = GONE;
    t.closed++;
}

static void close_thing(void *unused, void *object)
{
    (void)unused;
    thing *it = object;
    if (!it->is_cut) end_thing(it, "closed");
    it->is_cut = false;
}

static void abandon_thing(void *unused, void *object)
{
    (void)unused;
    thing *it = object;
    if (!is_older(it->since, t.limits.leak_after_ns)) complain("object %u is abandoned too early", number(it));
    t.reclaimed++;
    t.ended++;
    end_thing(it, "abandoned");
    it->is_cut = true; /* its close follows, once */
}

static void interrupt_thing(void *unused, void *object)
{
    (void)unused;
    thing *it = object;
    bool late = is_older(it->since, t.limits.max_hold_ns) ||
                (t.limits.on_leak == CEN_LEAK_RECLAIM && is_older(it->since, t.limits.leak_after_ns));
    if (it->state != HELD) complain("object %u is interrupted and not held", number(it));
    if (!late && !t.frees)
        complain("object %u is revoked after %lld ms", number(it), (long long)((now() - it->since) / MS));
    it->state = REVOKED; /* with the age that it had */
}

static cen_condition check_thing(void *unused, void *object)
{
    (void)unused;
    thing *it = object;
    if (it != t.ending) complain("object %u is checked and not given", number(it));
    it->unsound |= t.condition == CEN_BROKEN;
    return t.condition;
}

static cen_status reset_thing(void *unused, void *object, cen_error *error)
{
    (void)unused, (void)error;
    thing *it = object;
    if (t.condition != CEN_DIRTY) complain("object %u is reset and not dirty", number(it));
    *(t.resets_fail ? &t.reset_failed : &t.reset) += 1;
    it->unsound |= t.resets_fail;
    return t.resets_fail ? CEN_DRIVER : CEN_OK;
}

static cen_status test_thing(void *unused, void *object, cen_error *error)
{
    (void)unused, (void)error;
    thing *it = object;
    if (!it->open || it->state != IDLE) complain("object %u is tested and not idle", number(it));
    it->tested = now();
    t.tested++;
    t.test_failed += t.tests_fail;
    it->unsound |= t.tests_fail;
    return t.tests_fail ? CEN_DRIVER : CEN_OK;
}

static const cen_driver_calls calls = {.size = sizeof calls,
                                       .open = open_thing,
                                       .close = close_thing,
                                       .interrupt = interrupt_thing,
                                       .check = check_thing,
                                       .reset = reset_thing,
                                       .test = test_thing,
                                       .abandon = abandon_thing};

/* ---- After every step --------------------------------------------------------------------------- */

#define AGREE(field, expected) \
    do { \
        if ((uint64_t)(s.field) != (uint64_t)(expected)) \
            complain("%s is %llu, the model says %llu", #field, (unsigned long long)s.field, \
                     (unsigned long long)(expected)); \
    } while (0)

static void compare(void)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    if (cen_pool_stats_get(t.pool, &s) != CEN_OK) complain("look fails");
    AGREE(max, t.limits.max);
    AGREE(idle, count(IDLE));
    AGREE(held, count(HELD));
    AGREE(revoked, count(REVOKED));
    AGREE(vacant, s.places - live());
    AGREE(moving + s.opening + s.resetting + s.testing + s.closing + s.waiting, 0);
    AGREE(opened, t.opened);
    AGREE(open_failed, t.open_failed);
    AGREE(closed, t.closed);
    AGREE(reclaimed, t.reclaimed);
    AGREE(tested, t.tested);
    AGREE(test_failed, t.test_failed);
    AGREE(reset, t.reset);
    AGREE(reset_failed, t.reset_failed);
    AGREE(taken, t.taken);
    AGREE(ended, t.ended);
    AGREE(discarded, t.discarded);
    AGREE(is_paused, t.paused);
    AGREE(opened - s.closed, s.places - s.vacant);
}

/* What has to have happened by now. A round comes after a quarter of a limit, and one must have met the object first. */
static bool is_overdue(int64_t since, int64_t limit)
{
    if (limit == CEN_OFF) return false;
    int64_t from = since > t.limits_since ? since : t.limits_since;
    return now() - from > 2 * limit + SECOND;
}

static void expect_duties_done(void)
{
    for (uint32_t i = 0; i < t.made; i++) {
        const thing *it = &t.things[i];
        if (it->state == IDLE && it->reloaded) complain("object %u is idle although the pool was reloaded", i);
        if (it->state == IDLE && it->reload_by && now() > it->reload_by)
            complain("object %u has outlived a spread reload", i);
        if (it->state == IDLE && is_overdue(it->opened, t.limits.max_lifetime_ns)) complain("object %u is too old", i);
        if (it->state == IDLE && t.limits.min_idle == 0 && is_overdue(it->since, t.limits.idle_timeout_ns))
            complain("object %u is idle for too long", i);
        if (it->state == HELD && is_overdue(it->since, t.limits.max_hold_ns))
            complain("object %u is held for too long", i);
    }
    if (live() > t.limits.max && count(IDLE) > 0)
        complain("there are %u objects, more than max, and some are idle", live());
}

static const char *verdict(void)
{
    t.ending = NULL;
    t.discards = t.closes_idle = false;
    compare();
    expect_duties_done();
    return t.wrong;
}

/* ---- Steps ---------------------------------------------------------------------------------------- */

static void begin_step(void)
{
    t.opened_now = t.failed_now = false;
}

static bool gate_may_be_shut(void)
{
    return t.limits.backoff_initial_ns != CEN_OFF && t.failed_at && now() - t.failed_at <= t.limits.backoff_max_ns;
}

static const char *take(void *state, int a, int b)
{
    (void)state, (void)a, (void)b;
    begin_step();
    uint32_t idle = count(IDLE), room = live() < t.limits.max;
    uint64_t failed = t.test_failed;
    cen_lease lease;
    cen_status status = cen_pool_try_take(t.pool, &lease, NULL);
    t.taken += t.test_failed - failed; /* what it took and tested in vain were leases, too */
    t.ended += t.test_failed - failed;
    if (status == CEN_OK) {
        thing *it = lease.object;
        if (t.paused) complain("a paused pool lends");
        if (it->state != IDLE) complain("object %u is lent and was not idle", number(it));
        if (t.opened_now && idle > 0 && !t.tests_fail) complain("an object was opened although one was idle");
        it->state = HELD;
        it->since = now();
        it->uses++;
        it->lease = lease;
        t.taken++;
        return verdict();
    }
    if (status == CEN_DRIVER && !t.failed_now) complain("no opening has failed, and the take says so");
    if (status != CEN_DRIVER && status != CEN_EMPTY) complain("a take says %d", (int)status);
    if (!t.paused && count(IDLE) > 0) complain("a take gets nothing although something is idle");
    if (status == CEN_EMPTY && !t.paused && room && !t.tests_fail && !gate_may_be_shut())
        complain("a take opens nothing although it may");
    return verdict();
}

static thing *nth_out(int n)
{
    uint32_t out = count(HELD) + count(REVOKED), skip = out ? (uint32_t)n % out : 0;
    for (uint32_t i = 0; i < t.made; i++)
        if ((t.things[i].state == HELD || t.things[i].state == REVOKED) && skip-- == 0) return &t.things[i];
    return NULL;
}

static const char *end_lease(int a, int condition, bool discards)
{
    thing *it = nth_out(a);
    if (!it) return NULL;
    begin_step();
    t.ending = it;
    t.discards = discards;
    t.condition = (cen_condition)condition;
    cen_status expected = it->state == REVOKED ? CEN_REVOKED : CEN_OK;
    cen_lease lease = it->lease, copy = lease;
    cen_status status = discards ? cen_pool_discard(&lease) : cen_pool_give(&lease);
    if (status != expected) complain("the end of a lease says %d, not %d", (int)status, (int)expected);
    if (cen_pool_give(&copy) != CEN_STALE) complain("a lease ends twice");
    t.ended++;
    t.discarded += discards && expected == CEN_OK;
    if (it->state == HELD && it->reloaded) complain("object %u comes back and was to be closed", number(it));
    if (it->state == HELD) {
        it->state = IDLE;
        it->since = now();
    }
    return verdict();
}

static const char *give(void *state, int a, int b)
{
    (void)state;
    return end_lease(a, b < 4 ? CEN_CLEAN : b < 6 ? CEN_DIRTY : CEN_BROKEN, false);
}

static const char *discard(void *state, int a, int b)
{
    (void)state, (void)b;
    return end_lease(a, CEN_CLEAN, true);
}

static const char *reload(void *state, int a, int b)
{
    (void)state, (void)b;
    begin_step();
    int64_t spread = a == 0 ? SECOND : 0;
    for (uint32_t i = 0; i < t.made; i++) {
        thing *it = &t.things[i];
        if (it->state == GONE) continue;
        if (spread) it->reload_by = now() + 2 * spread;
        else it->reloaded = true;
    }
    if (cen_pool_reload(t.pool, spread, NULL) != CEN_OK) complain("a reload fails");
    return verdict();
}

static const char *reap(void *state, int a, int b)
{
    (void)state, (void)b;
    begin_step();
    uint32_t before = count(IDLE), closed = 0;
    t.closes_idle = a == 0;
    if (cen_pool_reap(t.pool, a == 0 ? 0 : 3600 * SECOND, &closed, NULL) != CEN_OK) complain("a reap fails");
    if (closed != before - count(IDLE)) complain("a reap says %u", closed);
    if (a == 0 && count(IDLE) > 0) complain("a reap leaves something");
    return verdict();
}

static const char *pause_or_resume(void *state, int a, int b)
{
    (void)state, (void)b;
    begin_step();
    t.paused = a == 0;
    if ((t.paused ? cen_pool_pause(t.pool, NULL) : cen_pool_resume(t.pool, NULL)) != CEN_OK) complain("a pause fails");
    return verdict();
}

static const char *test_round(void *state, int a, int b)
{
    (void)state, (void)a, (void)b;
    begin_step();
    uint64_t tested = t.tested, idle = count(IDLE);
    if (cen_pool_test_idle(t.pool, NULL) != CEN_OK) complain("a round of tests fails");
    if (cen_runtime_poll(t.runtime) == 0) cen_runtime_advance(t.runtime, 0);
    if (t.tested - tested < idle && t.closed == 0)
        complain("a round tests %llu of %llu", (unsigned long long)(t.tested - tested), (unsigned long long)idle);
    for (uint32_t i = 0; i < t.made; i++)
        if (t.things[i].state == IDLE && t.things[i].tested < now()) complain("object %u was not tested", i);
    return verdict();
}

static const char *pass_time(void *state, int a, int b)
{
    (void)state;
    static const int64_t times[] = {MS, 50 * MS, 300 * MS, SECOND, 5 * SECOND};
    begin_step();
    if (cen_runtime_advance(t.runtime, times[a] + b) != CEN_OK) complain("time does not pass");
    return verdict();
}

static const char *trouble(void *state, int a, int b)
{
    (void)state;
    if (a == 0) t.failing = (unsigned)b;
    if (a == 1) t.tests_fail = b == 0;
    if (a == 2) t.resets_fail = b == 0;
    return NULL;
}

static const char *resize(void *state, int a, int b)
{
    (void)state, (void)b;
    begin_step();
    t.limits.max = (uint32_t)a + 1;
    if (t.limits.min_idle > t.limits.max) t.limits.max = t.limits.min_idle;
    if (cen_pool_resize(t.pool, t.limits.max, NULL) != CEN_OK) complain("a resize fails");
    return verdict();
}

/* Which of the limits are on; everything else is as it was. */
static const char *set_limits(void *state, int a, int b)
{
    (void)state;
    begin_step();
    cen_pool_options o = CEN_SIZED(cen_pool_options);
    if (cen_pool_options_get(t.pool, &o) != CEN_OK) complain("options cannot be had");
    o.idle_timeout_ns = a & 1 ? SECOND : CEN_OFF;
    o.max_lifetime_ns = a & 2 ? 3 * SECOND : CEN_OFF;
    o.test_after_idle_ns = a & 4 ? 200 * MS : CEN_OFF;
    o.test_interval_ns = a & 8 ? 500 * MS : CEN_OFF;
    o.max_hold_ns = a & 16 ? SECOND : CEN_OFF;
    o.leak_after_ns = a & 32 ? 2 * SECOND : CEN_OFF;
    o.on_leak = CEN_LEAK_RECLAIM;
    o.max_uses = b & 1 ? 3 : CEN_OFF;
    o.max_idle = b & 2 ? 2 : CEN_OFF;
    o.min_idle = b & 4 ? 1 : 0;
    o.order = (cen_order)(b / 8 % 3);
    o.exact_times = a & 64;
    o.backoff_initial_ns = a & 128 ? 100 * MS : CEN_OFF;
    o.backoff_max_ns = SECOND;
    for (uint32_t i = 0; i < t.made; i++) t.things[i].doomed |= is_older(t.things[i].opened, t.limits.max_lifetime_ns);
    if (o.backoff_initial_ns == CEN_OFF) t.shut = false;
    t.limits = o;
    t.limits_since = now();
    if (cen_pool_options_set(t.pool, &o, NULL) != CEN_OK) complain("options cannot be set");
    return verdict();
}

static const model_op ops[] = {
    {"take", 14, 0, 0, take, NULL},
    {"give", 10, 4, 8, give, NULL},
    {"discard", 2, 4, 0, discard, NULL},
    {"reload", 2, 2, 0, reload, NULL},
    {"reap", 1, 2, 0, reap, NULL},
    {"pause_or_resume", 3, 3, 0, pause_or_resume, NULL},
    {"test_round", 2, 0, 0, test_round, NULL},
    {"pass_time", 8, 5, 3, pass_time, NULL},
    {"trouble", 4, 3, 3, trouble, NULL},
    {"resize", 2, MOST, 0, resize, NULL},
    {"set_limits", 3, 256, 24, set_limits, NULL},
};

static void ignore(void *unused, const cen_event *event, uint64_t missed)
{
    (void)missed;
    (void)unused, (void)event; /* leaks are printed if nobody listens */
}

/* ---- A run ------------------------------------------------------------------------------------------ */

static void *setup(void)
{
    memset(&t, 0, sizeof t);
    cen_runtime_options manual = CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = true);
    expect_equal(cen_runtime_new(&manual, &t.runtime, NULL), CEN_OK);
    cen_pool_options o =
        CEN_POOL_OPTIONS(.driver = {&calls, NULL}, .max = 3, .runtime = t.runtime, .lifetime_jitter = CEN_NO_JITTER,
                         .breaker_failures = CEN_OFF, .test_after_idle_ns = CEN_OFF, .test_interval_ns = CEN_OFF);
    expect_equal(cen_pool_new(&o, &t.pool, NULL), CEN_OK);
    t.limits = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(t.pool, &t.limits), CEN_OK);
    expect_equal(cen_pool_listen(t.pool, ignore, NULL, NULL), CEN_OK);
    return &t;
}

static const char *teardown(void *state)
{
    (void)state;
    t.frees = true;
    cen_pool_close(t.pool, CEN_NOW, NULL, NULL);
    for (thing *it; (it = nth_out(0));) {
        t.ending = it;
        if (cen_pool_give(&it->lease) != CEN_REVOKED) return "what close took away does not come back";
    }
    expect_equal(cen_pool_free(t.pool), CEN_OK);
    expect_equal(cen_runtime_free(t.runtime), CEN_OK);
    if (live() > 0) complain("%u objects are left", live());
    return t.wrong;
}

/* In parts, each with a seed of its own, because one may take a hundred seconds at most. */
PLAIN_TEST(objects_live_as_their_model_says)
{
    const char *wanted = getenv("CENOTE_MODEL_STEPS");
    unsigned long runs = wanted ? strtoul(wanted, NULL, 0) / STEPS + 1 : RUNS;
    if (wanted) run_limit(7200);
    while (runs > 0) {
        unsigned part = runs > PART ? PART : (unsigned)runs;
        model m = {.name = "lives",
                   .ops = ops,
                   .op_count = sizeof ops / sizeof ops[0],
                   .setup = setup,
                   .teardown = teardown,
                   .steps = STEPS,
                   .runs = part};
        model_check(&m);
        runs -= part;
    }
}
