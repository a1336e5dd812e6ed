/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the pool share: a driver that numbers its objects and
 * remembers what was asked of it, and the equations of cen_pool_stats.
 */
#ifndef TESTS_UNIT_POOL_POOLS_H
#define TESTS_UNIT_POOL_POOLS_H

#include <cenote/pool.h>

#include "support/test.h"
#ifdef CENI_WATCHED
#include "port/fake/world.h"
#endif

#define SECOND INT64_C(1000000000)
#define ZERO CEN_DEADLINE_(0)

/* For a line that must not be reached; `object` is what it has got there. */
#define unexpected(object, words) test_fail(__FILE__, __LINE__, "%s (%p)", words, (const void *)(object))

/* ---- A driver that remembers ---------------------------------------------------- */

/* Objects are the numbers 1, 2, ... in the order they were opened. The log says
 * "+3" when object 3 was opened, "x" when an open failed, "!3" when 3 was
 * interrupted and "-3" when it was closed, each followed by a blank. */
typedef struct workshop {
    int opens, opened, closed, interrupted;
    int fail_from, fail_to; /* the opens of these numbers fail, counted from 1 */
    cen_status failure;     /* with this; DRIVER if zero */
    int failure_code;
    const char *failure_text;                                       /* NULL: the driver says nothing */
    void (*inside)(struct workshop *shop, char what, void *object); /* called by each function; may be NULL */
    void *argument;                                                 /* for it */
    char log[4000];
} workshop;

static inline void *object_of(int number)
{
    return (void *)(intptr_t)number;
}

static inline void workshop_log(workshop *shop, char what, int number)
{
    char event[24];
    if (what == 'x') snprintf(event, sizeof event, "x ");
    else snprintf(event, sizeof event, "%c%d ", what, number);
    if (strlen(shop->log) + strlen(event) < sizeof shop->log) strcat(shop->log, event);
}

static inline cen_status workshop_open(void *argument, void **out, cen_error *error)
{
    workshop *shop = argument;
    int number = ++shop->opens;
    expect(error != NULL);
    if (number >= shop->fail_from && number <= shop->fail_to) {
        workshop_log(shop, 'x', 0);
        if (shop->inside) shop->inside(shop, 'x', NULL);
        error->code = shop->failure_code;
        if (shop->failure_text) snprintf(error->text, sizeof error->text, "%s", shop->failure_text);
        return shop->failure ? shop->failure : CEN_DRIVER;
    }
    void *object = object_of(++shop->opened);
    workshop_log(shop, '+', shop->opened);
    if (shop->inside) shop->inside(shop, '+', object);
    *out = object;
    return CEN_OK;
}

static inline void workshop_close(void *argument, void *object)
{
    workshop *shop = argument;
    shop->closed++;
    workshop_log(shop, '-', (int)(intptr_t)object);
    if (shop->inside) shop->inside(shop, '-', object);
}

static inline void workshop_interrupt(void *argument, void *object)
{
    workshop *shop = argument;
    shop->interrupted++;
    workshop_log(shop, '!', (int)(intptr_t)object);
    if (shop->inside) shop->inside(shop, '!', object);
}

static const cen_driver_calls workshop_calls = {
    .size = sizeof(cen_driver_calls), .open = workshop_open, .close = workshop_close, .interrupt = workshop_interrupt};

static inline cen_driver driver_of(workshop *shop)
{
    return (cen_driver){&workshop_calls, shop};
}

/* What happened since the last time, and forgets it. */
static inline void expect_log(workshop *shop, const char *events)
{
    expect_text(shop->log, events);
    shop->log[0] = '\0';
}

/* ---- Pools and leases ------------------------------------------------------------- */

static inline cen_pool *make_from(cen_pool_options options)
{
    cen_pool *pool = NULL;
    cen_error error;
#ifdef CENI_WATCHED
    ceni_world_set_cpus(1); /* the first in line does not stay awake to look again */
#endif
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    return pool;
}

#define make_pool(...) make_from(CEN_POOL_OPTIONS(__VA_ARGS__))

/* A pool without a driver that has the objects 1 to `count`. */
static inline cen_pool *make_stocked(cen_pool_options options, int count)
{
    cen_pool *pool = make_from(options);
    for (int i = 1; i <= count; i++) expect_equal(cen_pool_adopt(pool, object_of(i), NULL), CEN_OK);
    return pool;
}

static inline cen_lease take_now(cen_pool *pool)
{
    cen_lease lease = {.object = NULL};
    cen_error error;
    if (cen_pool_try_take(pool, &lease, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    expect(lease.pool == pool);
    return lease;
}

static inline int number_of(const cen_lease *lease)
{
    return (int)(intptr_t)lease->object;
}

static inline void give_back(cen_lease *lease)
{
    expect_equal(cen_pool_give(lease), CEN_OK);
    expect(lease->pool == NULL);
}

static inline void expect_none(cen_pool *pool)
{
    cen_lease lease;
    expect_equal(cen_pool_try_take(pool, &lease, NULL), CEN_EMPTY);
}

static inline void free_pool(cen_pool *pool)
{
    expect_equal(cen_pool_free(pool), CEN_OK);
}

/* ---- Numbers ------------------------------------------------------------------------ */

/* All equations of cen_pool_stats; nobody else is in the middle of a take or give. */
static inline cen_pool_stats expect_sound(cen_pool *pool)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    memset(&s, 0x5A, sizeof s);
    s.size = sizeof s;
    expect_equal(cen_pool_stats_get(pool, &s), CEN_OK);
    expect_equal(s.idle + s.held + s.moving + s.revoked + s.opening + s.closing + s.vacant, s.places);
    expect_equal(s.moving, 0);
    expect(s.places >= s.max);
    expect_equal(s.max, cen_pool_max(pool));
    expect_equal(s.taken - s.ended, s.held + s.revoked);
    if (s.opening + s.closing == 0) expect_equal(s.opened + s.adopted - s.closed, s.places - s.vacant);
    expect_equal(s.waited, s.served + s.timed_out + s.sent_away + s.failed + s.shed + s.cancelled + s.waiting);
    expect(s.served <= s.waited && s.timed_out <= s.waited && s.sent_away <= s.waited && s.failed <= s.waited &&
           s.shed <= s.waited);
    expect(s.waiting > 0 || s.oldest_wait_ns == 0);
    expect(s.discarded <= s.ended);
    expect_equal(s.is_closed, cen_pool_is_closed(pool));
    return s;
}

/* Byte for byte, but for what lies behind the last field. */
static inline bool same_stats(const cen_pool_stats *a, const cen_pool_stats *b)
{
    return memcmp(a, b, offsetof(cen_pool_stats, is_shedding) + sizeof a->is_shedding) == 0;
}

static inline void expect_counts(cen_pool *pool, uint32_t idle, uint32_t held)
{
    cen_pool_stats s = expect_sound(pool);
    expect_equal(s.idle, idle);
    expect_equal(s.held, held);
}

/* ---- Errors --------------------------------------------------------------------------- */

static inline void expect_error(const cen_error *error, cen_status status, const char *words)
{
    expect_equal(error->status, status);
    if (!strstr(error->text, words)) test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error->text, words);
}

#define expect_because(error, expected_cause) \
    expect_text(cen_cause_name((error)->cause), cen_cause_name(expected_cause))

#endif
