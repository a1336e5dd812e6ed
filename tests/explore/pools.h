/* SPDX-License-Identifier: MIT */
/*
 * What the explored tests of the pool share: one pool, objects that notice
 * when two have them at a time or when they are used after their end, and
 * threads and pending waiters that take from the pool.
 */
#ifndef TESTS_EXPLORE_POOLS_H
#define TESTS_EXPLORE_POOLS_H

#include <cenote/pool.h>

#include "base/atomic.h"
#include "pool/internal.h"
#include "pool/waiters.h"
#include "support/pending.h"
#include "support/world.h"

static cen_pool *pool;

/* ---- Objects ---------------------------------------------------------------------- */

enum { THINGS = 6 };

typedef struct thing {
    _Atomic uint32_t is_open;
    _Atomic uint32_t interrupted; /* 1 while the driver's interrupt runs, 2 afterwards */
    uint32_t bytes;               /* its holder's number */
} thing;

static thing things[THINGS]; /* no object is made twice */
static _Atomic uint32_t opens, alive;
static uint32_t opens_that_fail; /* the first so many */
static uint32_t alive_at_most;

/* Every schedule begins with this. */
static inline void begin(uint32_t at_most)
{
    ceni_world_without_hooks(); /* threads end and leave their leases to the test */
    memset(things, 0, sizeof things);
    opens = alive = 0;
    opens_that_fail = 0;
    alive_at_most = at_most;
}

static inline cen_status open_thing(void *unused, void **out, cen_error *error)
{
    (void)unused, (void)error;
    uint32_t number = ceni_add_relaxed(&opens, 1);
    expect(number < THINGS);
    if (number < opens_that_fail) return CEN_DRIVER;
    expect(ceni_add_relaxed(&alive, 1) < alive_at_most);
    ceni_add_relaxed(&things[number].is_open, 1); /* no store: whether it were held back is no question here */
    *out = &things[number];
    return CEN_OK;
}

static inline void close_thing(void *unused, void *object)
{
    (void)unused;
    thing *mine = object;
    uint32_t is_open = 1;
    expect(ceni_cas_relaxed(&mine->is_open, &is_open, 0));
    expect(ceni_load_relaxed(&mine->interrupted) != 1);
    ceni_sub_relaxed(&alive, 1);
}

static inline void interrupt_thing(void *unused, void *object)
{
    (void)unused;
    thing *mine = object;
    expect_equal(ceni_load_relaxed(&mine->is_open), 1);
    ceni_add_relaxed(&mine->interrupted, 1);
    ceni_add_relaxed(&mine->interrupted, 1);
}

static const cen_driver_calls thing_calls = {
    .size = sizeof thing_calls, .open = open_thing, .close = close_thing, .interrupt = interrupt_thing};

/* What a holder does. Whoever has the object by right sees it open, and writes
 * to it after the last holder did: the world sees to it that something orders
 * the two, which is not so if both have it at a time. */
static inline void use(const cen_lease *lease)
{
    thing *mine = lease->object;
    uint32_t number = (uint32_t)ceni_thread_id();
    expect_equal(ceni_load_relaxed(&mine->is_open), 1);
    ceni_watch_copy(&mine->bytes, &number, sizeof number);
}

/* ---- Pools --------------------------------------------------------------------------- */

/* A pool that opens its objects when they are wanted. */
static inline void make_opening(cen_pool_options options)
{
    begin(options.max);
    options.size = sizeof options;
    options.driver = (cen_driver){&thing_calls, NULL};
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
}

static inline void adopt_thing(uint32_t number)
{
    ceni_add_relaxed(&things[number].is_open, 1);
    expect_equal(cen_pool_adopt(pool, &things[number], NULL), CEN_OK);
}

/* One that has max objects and makes none. */
static inline void make_filled(cen_pool_options options)
{
    begin(0);
    options.size = sizeof options;
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    for (uint32_t i = 0; i < options.max; i++) adopt_thing(i);
}

static inline cen_lease take_one(void)
{
    cen_lease lease;
    expect_equal(cen_pool_try_take(pool, &lease, NULL), CEN_OK);
    return lease;
}

static inline void give_one(cen_lease lease)
{
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect(lease.pool == NULL);
}

static inline void expect_equations(const cen_pool_stats *s)
{
    expect_equal(s->idle + s->held + s->moving + s->revoked + s->opening + s->resetting + s->testing + s->closing +
                     s->vacant,
                 s->places);
    expect(s->places >= s->max);
    expect(s->held + s->revoked <= s->taken - s->ended);
    expect(s->taken - s->ended <= s->held + s->revoked + s->moving);
    if (s->moving + s->opening + s->closing == 0)
        expect_equal(s->opened + s->adopted - s->closed, s->places - s->vacant);
    expect_equal(s->waited, s->served + s->timed_out + s->sent_away + s->failed + s->shed + s->cancelled + s->waiting);
    uint64_t most = s->waited; /* no part is larger than the whole, or it went below zero */
    expect(s->served <= most && s->timed_out <= most && s->sent_away <= most && s->failed <= most);
}

static inline cen_pool_stats look(void)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(pool, &s), CEN_OK);
    expect_equations(&s);
    return s;
}

/* All threads are done: nobody waits, nothing is held, and so many are idle. */
static inline void expect_rest(uint32_t idle)
{
    cen_pool_stats s = look();
    expect_equal(s.idle, idle);
    expect_equal(s.held + s.moving + s.revoked + s.opening + s.closing, 0);
    expect_equal(s.waiting, 0);
    expect_equal(s.taken, s.ended);
}

static inline void end(void)
{
    expect_equal(cen_pool_free(pool), CEN_OK);
    expect_equal(alive, 0);
}

/* ---- Threads ------------------------------------------------------------------------------ */

/* What one thread did; looked at by main after it has joined the thread. */
typedef struct taker {
    cen_deadline deadline;
    cen_lease lease;
    cen_status status, given;
} taker;

static inline void take_only(void *into)
{
    taker *self = into;
    self->status = cen_pool_take(pool, self->deadline, &self->lease, NULL);
}

static inline void take_and_keep(void *into)
{
    taker *self = into;
    take_only(self);
    if (self->status == CEN_OK) use(&self->lease);
}

static inline void take_and_give(void *into)
{
    taker *self = into;
    take_and_keep(self);
    if (self->status != CEN_OK) return;
    cen_lease lease = self->lease; /* the copy ends; what is left tells which it was */
    self->given = cen_pool_give(&lease);
}

static inline void give_lease(void *into)
{
    taker *self = into;
    self->given = cen_pool_give(&self->lease);
}

static inline void discard_lease(void *into)
{
    taker *self = into;
    self->given = cen_pool_discard(&self->lease);
}

/* ---- Pending waiters --------------------------------------------------------------------------- */

/* Its asker's until it was told or cancelled. */
typedef struct asker {
    ceni_pool_waiter waiter;
    _Atomic uint32_t told;
    cen_status status;
} asker;

static inline void tell_asker(ceni_pool_waiter *waiter, cen_status status)
{
    asker *self = (asker *)(void *)waiter;
    self->status = status;
    ceni_add_seq_cst(&self->told, 1);
    ceni_futex_wake(&self->told, 1);
}

static inline cen_status ask(asker *self)
{
    *self = (asker){.waiter = {.pending = true, .holder = ceni_thread_id(), .deliver = tell_asker}};
    return join_pending(pool, &self->waiter);
}

static inline cen_status await(asker *self)
{
    while (ceni_load_seq_cst(&self->told) == 0) ceni_futex_wait(&self->told, 0, CENI_FOREVER);
    expect_equal(ceni_load_relaxed(&self->told), 1);
    return self->status;
}

/* The lease of one that was granted an object. */
static inline cen_lease lease_of(const asker *self)
{
    const ceni_pool_waiter *w = &self->waiter;
    return (cen_lease){
        .object = ceni_load_relaxed(&w->slot->object), .pool = pool, .generation = w->generation, .slot = w->slot};
}

static inline void ask_only(void *into)
{
    taker *self = into;
    asker mine;
    self->status = ask(&mine);
    if (self->status == CEN_OK) self->status = await(&mine);
    if (self->status == CEN_OK) self->lease = lease_of(&mine);
}

static inline void ask_and_give(void *into)
{
    taker *self = into;
    ask_only(self);
    if (self->status != CEN_OK) return;
    use(&self->lease);
    cen_lease lease = self->lease;
    self->given = cen_pool_give(&lease);
}

#endif
