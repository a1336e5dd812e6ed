/* SPDX-License-Identifier: MIT */
/*
 * A driver that does as it is told, and watches what is asked of it.
 *
 *     static script s;
 *     s = (script){.of[CALL_OPEN] = {.fail_from = 1, .fail_to = 3}};   the first three opens fail
 *     cen_pool *pool = begin_life(&s, BLOCKS | HAS_TEST, .max = 2);
 *     ...
 *     end_life(&s, pool);
 *
 * Objects are the numbers 1, 2, ... in the order they were opened. In every
 * call it expects that no lock is held, that the object is open, and that no
 * other call goes on for it; at the end, that each was closed once.
 */
#ifndef TESTS_UNIT_POOL_SCRIPTED_H
#define TESTS_UNIT_POOL_SCRIPTED_H

#include "port/rank.h"
#include "unit/pool/takers.h"
#include "unit/runtime/runtimes.h"

#define MS INT64_C(1000000)

typedef enum call_kind {
    CALL_OPEN,
    CALL_CLOSE,
    CALL_CHECK,
    CALL_RESET,
    CALL_TEST,
    CALL_INTERRUPT,
    CALL_ABANDON,
    CALL_KINDS
} call_kind;

/* One of the driver's functions; its calls are numbered from 1. */
typedef struct call_plan {
    unsigned fail_from, fail_to; /* these fail; asked when the call is about to return */
    unsigned hang_from, hang_to; /* these block until they are let go */
    int64_t takes_ns;            /* each takes so long */
    cen_status failure;          /* DRIVER if zero */
    int code;
    const char *text;
    unsigned calls, in_flight, most; /* so far; now; at a time */
    uint64_t thread;                 /* that made the last */
    _Atomic uint32_t let_go;         /* a futex: calls up to this number block no more */
} call_plan;

enum { MOST_THINGS = 200 };

typedef struct thing {
    bool open, busy;
    cen_condition condition; /* what a check says */
    bool broken;             /* a test fails */
    unsigned tests, resets, closes, interrupts, abandons;
    int64_t opened_at, closed_at;
} thing;

typedef struct script {
    call_plan of[CALL_KINDS];
    bool opens_null; /* the object is NULL: number 0 */
    int opened;      /* the number of the last */
    unsigned inits, finis;
    thing things[MOST_THINGS];
    cen_driver_calls calls;
    cen_runtime *runtime;
    bool own_runtime; /* the test frees it itself */
} script;

enum { MOST_CALLS = 200000 };
enum { BLOCKS = 1, HAS_CHECK = 2, HAS_RESET = 4, HAS_TEST = 8, HAS_ABANDON = 16 };

/* ---- The driver ---------------------------------------------------------------------- */

static inline bool is_within(unsigned number, unsigned from, unsigned to)
{
    return from <= number && number <= to;
}

/* One call; the answer is whether it succeeds. */
static inline bool scripted_call(script *s, call_kind kind, cen_error *error)
{
    call_plan *plan = &s->of[kind];
    unsigned number = ++plan->calls;
    if (number > MOST_CALLS) test_fail(__FILE__, __LINE__, "%u calls of one kind: the pool calls in a loop", number);
    ceni_rank_expect_none("a call of the scripted driver");
    plan->thread = cen_thread_number();
    if (++plan->in_flight > plan->most) plan->most = plan->in_flight;
    if (plan->takes_ns) ceni_sleep_until(cen_clock() + plan->takes_ns);
    if (is_within(number, plan->hang_from, plan->hang_to))
        for (uint32_t seen; (seen = ceni_load_seq_cst(&plan->let_go)) < number;)
            ceni_futex_wait(&plan->let_go, seen, CENI_FOREVER);
    plan->in_flight--;
    bool fails = is_within(number, plan->fail_from, plan->fail_to);
    if (fails && error) error->code = plan->code;
    if (fails && error && plan->text) snprintf(error->text, sizeof error->text, "%s", plan->text);
    return !fails;
}

static inline cen_status failure_of(const script *s, call_kind kind)
{
    return s->of[kind].failure ? s->of[kind].failure : CEN_DRIVER;
}

static inline thing *begin_with(script *s, void *object)
{
    intptr_t number = (intptr_t)object;
    expect(number >= 0 && number < MOST_THINGS);
    thing *it = &s->things[number];
    expect(it->open && !it->busy);
    it->busy = true;
    return it;
}

static inline cen_status scripted_open(void *argument, void **out, cen_error *error)
{
    script *s = argument;
    if (!scripted_call(s, CALL_OPEN, error)) return failure_of(s, CALL_OPEN);
    int number = s->opens_null ? 0 : ++s->opened;
    expect(number < MOST_THINGS && !s->things[number].open);
    s->things[number] = (thing){.open = true, .opened_at = cen_clock()};
    *out = object_of(number);
    return CEN_OK;
}

static inline void end_thing(script *s, call_kind kind, void *object)
{
    thing *it = begin_with(s, object);
    scripted_call(s, kind, NULL);
    it->busy = it->open = false;
    it->closes++;
    it->closed_at = cen_clock();
}

static inline void scripted_close(void *argument, void *object)
{
    end_thing(argument, CALL_CLOSE, object);
}

/* Cuts the object off. Its close follows. */
static inline void scripted_abandon(void *argument, void *object)
{
    thing *it = begin_with(argument, object);
    scripted_call(argument, CALL_ABANDON, NULL);
    it->abandons++;
    it->busy = false;
}

static inline void scripted_interrupt(void *argument, void *object)
{
    thing *it = begin_with(argument, object);
    scripted_call(argument, CALL_INTERRUPT, NULL);
    it->interrupts++;
    it->busy = false;
}

static inline cen_condition scripted_check(void *argument, void *object)
{
    thing *it = begin_with(argument, object);
    scripted_call(argument, CALL_CHECK, NULL);
    it->busy = false;
    return it->condition;
}

static inline cen_status scripted_reset(void *argument, void *object, cen_error *error)
{
    thing *it = begin_with(argument, object);
    bool done = scripted_call(argument, CALL_RESET, error);
    it->resets++;
    it->busy = false;
    if (done) it->condition = CEN_CLEAN;
    return done ? CEN_OK : failure_of(argument, CALL_RESET);
}

static inline cen_status scripted_test(void *argument, void *object, cen_error *error)
{
    thing *it = begin_with(argument, object);
    bool works = scripted_call(argument, CALL_TEST, error) && !it->broken;
    it->tests++;
    it->busy = false;
    return works ? CEN_OK : failure_of(argument, CALL_TEST);
}

static inline cen_status scripted_init(void *argument, cen_error *error)
{
    (void)error;
    ((script *)argument)->inits++;
    return CEN_OK;
}

static inline void scripted_fini(void *argument)
{
    ((script *)argument)->finis++;
}

static bool checks_only_read; /* what the drivers made from now on say of their check */

static inline cen_driver scripted_driver(script *s, unsigned kind)
{
    s->calls = (cen_driver_calls){.size = sizeof(cen_driver_calls),
                                  .open = scripted_open,
                                  .close = scripted_close,
                                  .interrupt = scripted_interrupt,
                                  .init = scripted_init,
                                  .fini = scripted_fini};
    s->calls.blocks = kind & BLOCKS;
    if (kind & HAS_CHECK) s->calls.check = scripted_check;
    s->calls.check_only_reads = checks_only_read;
    if (kind & HAS_RESET) s->calls.reset = scripted_reset;
    if (kind & HAS_TEST) s->calls.test = scripted_test;
    if (kind & HAS_ABANDON) s->calls.abandon = scripted_abandon;
    return (cen_driver){&s->calls, s};
}

/* ---- What a test does to it ------------------------------------------------------------ */

/* Lets the calls up to that number return that hang, and sees what comes of it. */
static inline void let_go(script *s, call_kind kind, unsigned upto)
{
    ceni_store_seq_cst(&s->of[kind].let_go, upto);
    ceni_futex_wake(&s->of[kind].let_go, UINT32_MAX);
    ceni_world_settle();
}

static inline void let_all_go(script *s, call_kind kind)
{
    let_go(s, kind, UINT32_MAX);
}

/* From now on nothing fails. */
static inline void recover(script *s, call_kind kind)
{
    s->of[kind].fail_to = 0;
}

static inline void fail_all(script *s, call_kind kind)
{
    s->of[kind].fail_from = 1;
    s->of[kind].fail_to = UINT32_MAX;
}

/* ---- Pools -------------------------------------------------------------------------------- */

/* Everything in cen_pool_stats that must agree, whatever goes on in other threads. */
static inline cen_pool_stats look(cen_pool *pool)
{
    cen_pool_stats n = CEN_SIZED(cen_pool_stats);
    ceni_world_settle();
    expect_equal(cen_pool_stats_get(pool, &n), CEN_OK);
    uint32_t there = n.idle + n.held + n.revoked + n.opening + n.resetting + n.testing + n.closing;
    expect_equal(there + n.moving + n.vacant, n.places);
    expect_equal(n.waited, n.served + n.timed_out + n.sent_away + n.failed + n.shed + n.cancelled + n.waiting);
    if (n.opening + n.closing == 0) expect_equal(n.opened + n.adopted - n.closed, n.places - n.vacant);
    return n;
}

static inline cen_pool *begin_life_of(script *s, unsigned kind, cen_pool_options o)
{
    o.driver = scripted_driver(s, kind);
    s->own_runtime = o.runtime != NULL;
    /* a world has room for few threads */
    if (!s->own_runtime) o.runtime = make_runtime(.name = "life", .idle_timeout_ns = CEN_OFF);
    s->runtime = o.runtime;
    return make_from(o);
}

#define begin_life(s, kind, ...) begin_life_of(s, kind, CEN_POOL_OPTIONS(__VA_ARGS__))

/* Closes the pool, which must drain, and frees it with its runtime. */
static inline void end_life(script *s, cen_pool *pool)
{
    for (int kind = 0; kind < CALL_KINDS; kind++) let_all_go(s, (call_kind)kind);
    if (!cen_pool_is_closed(pool)) expect_equal(cen_pool_close(pool, cen_in_s(600), NULL, NULL), CEN_OK);
    unsigned opens = s->of[CALL_OPEN].calls;
    ceni_world_settle();
    free_pool(pool);
    ceni_world_settle();
    expect_equal(s->finis, s->inits);
    if (!s->own_runtime) free_runtime(s->runtime);
    expect_equal(s->of[CALL_OPEN].calls, opens); /* nothing is opened after the close */
    for (int i = 1; i <= s->opened; i++) expect_equal(s->things[i].closes, 1);
    for (int kind = 0; kind < CALL_KINDS; kind++) expect_equal(s->of[kind].in_flight, 0);
}

/* Takes and waits for it; for a driver that blocks, where a try opens nothing. */
static inline cen_lease take(cen_pool *pool)
{
    cen_lease lease = {.object = NULL};
    cen_error error;
    if (cen_pool_take(pool, cen_in_s(60), &lease, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    return lease;
}

/* Has `count` objects opened, and makes them all idle. */
static inline void warm_up(cen_pool *pool, unsigned count)
{
    cen_lease leases[64];
    for (unsigned i = 0; i < count; i++) leases[i] = take(pool);
    for (unsigned i = 0; i < count; i++) give_back(&leases[i]);
    ceni_world_settle();
}

#endif
