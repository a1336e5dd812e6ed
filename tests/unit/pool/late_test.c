/* SPDX-License-Identifier: MIT */
/* Deadlines are kept while others look, while many pass at once, and while the housekeeper has much to do. */
#include "pool/internal.h"
#include "unit/pool/scripted.h"
#include "unit/pool/takers.h"

enum { MANY = 25 };

static cen_pool *pool;
static taker many[MANY];

/* ---- While another looks ---------------------------------------------------------------------- */

static void time_out(void *argument)
{
    cen_error *error = argument;
    cen_lease none;
    expect_equal(cen_pool_take(pool, cen_in_ms(5), &none, error), CEN_TIMEOUT);
}

static void round_and_reap(void *unused)
{
    (void)unused;
    ceni_keeper_round(pool);
    expect_equal(cen_pool_reap(pool, SECOND, NULL, NULL), CEN_OK);
}

/* A call that needs the lock now hangs, and the world reports that. */
/* guarantees: life.L7-load */
TEST(L7_nobody_but_a_look_waits_for_one_who_looks)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.name = "orders", .max = 3), 3);
    cen_lease mine[3] = {take_now(pool), take_now(pool), take_now(pool)};
    cen_error error;
    ceni_mutex_lock(&pool->looking, CENI_RANK_LOOK);
    int64_t began = ceni_clock_now();
    join(start("taker", time_out, &error));
    expect_equal(ceni_clock_now(), began + 5 * MS);
    join(start("keeper", round_and_reap, NULL));
    ceni_mutex_unlock(&pool->looking, CENI_RANK_LOOK);
    /* What is kept anyway is told, and who holds what. */
    expect_because(&error, CEN_CAUSE_EXHAUSTED);
    expect_error(&error, CEN_TIMEOUT, "pool \"orders\": no object after 5000 us. ");
    expect_error(&error, CEN_TIMEOUT, "3 held or idle, ");
    expect_error(&error, CEN_TIMEOUT, "Held longest: ");
    join(start("taker", time_out, &error));
    expect_error(&error, CEN_TIMEOUT, "3 held, 0 idle, ");
    for (int i = 0; i < 3; i++) give_back(&mine[i]);
    free_pool(pool);
}

/* ---- Many at once ----------------------------------------------------------------------------- */

static void time_many_out(int64_t ns)
{
    for (int i = 0; i < MANY; i++) begin_take(&many[i], pool, cen_in_ns(ns));
    pass(ns);
    for (int i = 0; i < MANY; i++) expect_answer(&many[i], CEN_TIMEOUT);
}

/* guarantees: overload.causes, life.L7-load */
TEST(takes_that_time_out_at_one_moment_share_one_reason)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.name = "orders", .max = 1), 1);
    cen_lease mine = take_now(pool);
    time_many_out(5 * MS);
    expect_equal(pool->reasons, 1);
    for (int i = 0; i < MANY; i++) {
        expect_error(&many[i].error, CEN_TIMEOUT,
                     "pool \"orders\": no object after 5000 us. Exhausted: all objects are in use");
        expect_because(&many[i].error, CEN_CAUSE_EXHAUSTED);
    }
    give_back(&mine);
    free_pool(pool);
}

/* The second take begins when the first has ended: what was so before its wait is not told. */
/* guarantees: life.L7-load */
TEST(a_reason_is_of_a_moment_of_the_takes_own_wait)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    cen_lease mine = take_now(pool);
    cen_error error;
    begin_take(&many[0], pool, cen_in_us(10));
    pass(10000);
    expect_answer(&many[0], CEN_TIMEOUT);
    expect_because(&many[0].error, CEN_CAUSE_EXHAUSTED);
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    begin_take(&many[0], pool, cen_in_us(10));
    pass(10000);
    expect_answer(&many[0], CEN_TIMEOUT);
    expect_because(&many[0].error, CEN_CAUSE_PAUSED);
    expect_equal(pool->reasons, 2);
    expect_equal(cen_pool_resume(pool, NULL), CEN_OK);
    /* One who holds all itself is told so, and nobody else is. */
    begin_take(&many[0], pool, cen_in_us(10));
    expect_equal(cen_pool_take(pool, cen_in_us(10), &many[1].lease, &error), CEN_TIMEOUT);
    pass(1);
    expect_answer(&many[0], CEN_TIMEOUT);
    expect_because(&error, CEN_CAUSE_SELF_WAIT);
    expect_because(&many[0].error, CEN_CAUSE_EXHAUSTED);
    give_back(&mine);
    free_pool(pool);
}

static void time_out_silently(void *unused)
{
    (void)unused;
    cen_lease none;
    expect_equal(cen_pool_take(pool, cen_in_ms(5), &none, NULL), CEN_TIMEOUT);
}

/* guarantees: life.L7-load */
TEST(no_words_are_made_for_takes_that_want_none_but_for_the_events_now_and_then)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    cen_lease mine = take_now(pool);
    for (int i = 0; i < 3; i++) join(start("taker", time_out_silently, NULL));
    expect_equal(pool->reasons, 0);
    ceni_pool_tells = true;
    ceni_thread threads[MANY];
    for (int i = 0; i < MANY; i++) threads[i] = start("taker", time_out_silently, NULL);
    for (int i = 0; i < MANY; i++) join(threads[i]);
    expect_equal(pool->reasons, 1);
    join(start("taker", time_out_silently, NULL)); /* 5 ms later */
    expect_equal(pool->reasons, 1);
    join(start("taker", time_out_silently, NULL));
    expect_equal(pool->reasons, 2);
    ceni_pool_tells = false;
    give_back(&mine);
    free_pool(pool);
}

/* ---- The housekeeper -------------------------------------------------------------------------- */

enum { LARGE = 10000 };

static unsigned calls, calls_before, most_calls; /* of the driver; most: between two calls of the other alarm */
static int objects[LARGE];
static chime other;

/* It is set by the first call of the driver, and due all the while from then on. */
static void beat(chime *self)
{
    unsigned since = calls - calls_before;
    if (since > most_calls) most_calls = since;
    calls_before = calls;
    if (calls < LARGE) set_chime(self, self->at);
}

static cen_runtime *begin_beating(void)
{
    cen_runtime *runtime = make_runtime(.manual = true, .virtual_time = true);
    calls = calls_before = most_calls = 0;
    init_chime(&other, runtime, 0);
    other.inside = beat;
    return runtime;
}

static void count_call(void)
{
    if (calls++ == 0) set_chime(&other, cen_runtime_now(other.runtime));
}

static void count_close(void *unused, void *object)
{
    (void)unused;
    (void)object;
    count_call();
}

static const cen_driver_calls closing = {.size = sizeof(cen_driver_calls), .close = count_close, .opens_nothing = true};

/* guarantees: life.L7-load */
TEST(a_round_that_has_much_to_do_lets_the_alarms_of_others_through)
{
    cen_runtime *runtime = begin_beating();
    cen_pool_options o = CEN_POOL_OPTIONS(.max = LARGE, .idle_timeout_ns = 10 * SECOND, .runtime = runtime);
    o.driver = (cen_driver){&closing, NULL};
    expect_equal(cen_pool_new(&o, &pool, NULL), CEN_OK);
    for (int i = 0; i < LARGE; i++) expect_equal(cen_pool_adopt(pool, &objects[i], NULL), CEN_OK);
    cen_runtime_advance(runtime, 3 * SECOND); /* one round: they are counted, and met */
    uint64_t pieces = pool->pieces;
    expect(pieces >= 2 * LARGE / 4096);
    cen_runtime_advance(runtime, 20 * SECOND);
    expect_equal(calls, LARGE);
    expect(most_calls <= 64);
    expect(pool->pieces - pieces >= LARGE / 64 - 1);
    free_pool(pool);
    free_runtime(runtime);
}

/* The bug this looks for: a round after the end of a reap closes whatever has been idle for so long by then. Nobody polls
 * when the reap ends. */
TEST(a_round_that_is_late_closes_for_a_reap_nothing_that_became_idle_after_it)
{
    cen_runtime *runtime = make_runtime(.manual = true);
    cen_pool_options o =
        CEN_POOL_OPTIONS(.max = 2, .idle_timeout_ns = CEN_OFF, .max_lifetime_ns = CEN_OFF, .runtime = runtime);
    o.driver = (cen_driver){&closing, NULL};
    calls = 1; /* no other alarm */
    expect_equal(cen_pool_new(&o, &pool, NULL), CEN_OK);
    expect_equal(cen_pool_adopt(pool, &objects[0], NULL), CEN_OK);
    cen_lease lease = take_now(pool);
    give_back(&lease); /* since when it has been idle is not known */
    pass(400 * MS);
    expect_equal(cen_pool_reap(pool, 200 * MS, NULL, NULL), CEN_OK);
    expect_equal(calls, 1);
    pass(1 * MS);
    expect_equal(cen_pool_adopt(pool, &objects[1], NULL), CEN_OK);
    pass(300 * MS);
    cen_runtime_poll(runtime);
    expect_equal(calls, 2); /* the first alone */
    lease = take_now(pool);
    expect(lease.object == &objects[1]);
    give_back(&lease);
    free_pool(pool);
    free_runtime(runtime);
}

static cen_status open_one(void *unused, void **out, cen_error *error)
{
    (void)unused;
    (void)error;
    *out = objects;
    count_call();
    return CEN_OK;
}

static const cen_driver_calls opening = {.size = sizeof(cen_driver_calls), .open = open_one, .closes_nothing = true};

/* The same of objects that are opened because of min_idle. */
/* guarantees: life.L7-load */
TEST(what_a_round_opens_lets_the_alarms_of_others_through)
{
    cen_runtime *runtime = begin_beating();
    cen_pool_options o = CEN_POOL_OPTIONS(.max = LARGE, .min_idle = LARGE, .runtime = runtime);
    o.driver = (cen_driver){&opening, NULL};
    expect_equal(cen_pool_new(&o, &pool, NULL), CEN_OK);
    cen_runtime_advance(runtime, SECOND);
    expect_equal(calls, LARGE);
    expect(most_calls <= 64);
    free_pool(pool);
    free_runtime(runtime);
}
