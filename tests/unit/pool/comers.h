/* SPDX-License-Identifier: MIT */
/*
 * Those who come to a pool all of whose objects are out: threads and pending
 * waiters with a priority, each with a letter, and the order in which they are served.
 */
#ifndef TESTS_UNIT_POOL_COMERS_H
#define TESTS_UNIT_POOL_COMERS_H

#include "pool/internal.h"
#include "support/pending.h"
#include "unit/pool/takers.h"

#define MS INT64_C(1000000)

typedef enum way { THREAD, PENDING } way;

typedef struct comer {
    ceni_pool_waiter waiter; /* of a pending one; first, so that it is found again */
    taker take;              /* of a thread */
    char letter;
    way by;
    cen_priority priority;
    cen_status status;
    bool told, counted;
} comer;

enum { COMERS = 64 };

static cen_pool *pool;
static comer comers[COMERS];
static int comer_count;

static inline void run_comer(void *argument)
{
    comer *self = argument;
    taker *take = &self->take;
    self->status = cen_pool_take_priority(take->pool, self->priority, take->deadline, &take->lease, &take->error);
    if (self->status == CEN_OK) expect_equal(cen_pool_detach(&take->lease), CEN_OK); /* it outlives this thread */
    self->told = true;
}

static inline void tell_comer(ceni_pool_waiter *waiter, cen_status status)
{
    comer *self = (comer *)(void *)waiter;
    expect(!self->told);
    self->told = true;
    self->status = status;
}

/* Comes, and waits or is answered. */
static inline comer *come_until(char letter, way by, cen_priority priority, cen_deadline deadline)
{
    expect(comer_count < COMERS);
    comer *self = &comers[comer_count++];
    *self = (comer){.letter = letter, .by = by, .priority = priority, .take = {.pool = pool, .deadline = deadline}};
    if (by == THREAD) {
        self->take.thread = start("comer", run_comer, self);
        ceni_world_settle();
        return self;
    }
    self->waiter =
        (ceni_pool_waiter){.pending = true, .holder = 77, .priority = (uint8_t)priority, .deliver = tell_comer};
    expect_equal(join_pending(pool, &self->waiter), CEN_OK);
    return self;
}

static inline comer *come(char letter, way by, cen_priority priority)
{
    return come_until(letter, by, priority, CEN_NEVER);
}

static inline cen_lease lease_of(const comer *self)
{
    expect(self->told && self->status == CEN_OK);
    if (self->by == THREAD) return self->take.lease;
    const ceni_pool_waiter *w = &self->waiter;
    return (cen_lease){.object = w->slot->object, .pool = pool, .generation = w->generation, .slot = w->slot};
}

/* Who was told something since the last time; NULL if nobody was. */
static inline comer *next_told(void)
{
    ceni_world_settle();
    for (int i = 0; i < comer_count; i++) {
        if (!comers[i].told || comers[i].counted) continue;
        comers[i].counted = true;
        if (comers[i].by == THREAD) join(comers[i].take.thread);
        return &comers[i];
    }
    return NULL;
}

/* One object goes from one to the next until nobody waits: their letters in the order they had it, in lower case those
 * who were told something else. */
static inline void expect_order(cen_lease *lease, const char *letters)
{
    char order[COMERS + 1] = "";
    bool has = true;
    while (has) {
        has = false;
        give_back(lease);
        for (comer *told; (told = next_told());) {
            bool served = told->status == CEN_OK;
            strcat(order, (char[2]){served ? told->letter : (char)(told->letter | 32)});
            if (served) *lease = lease_of(told);
            has = has || served;
        }
    }
    expect_text(order, letters);
    expect_equal(expect_sound(pool).waiting, 0);
}

/* A pool of one object, which is out. */
static inline cen_lease begin_with(cen_pool_options options)
{
    comer_count = 0;
    options.size = sizeof options;
    options.max = 1;
    pool = make_stocked(options, 1);
    return take_now(pool);
}

#define begin_one(...) begin_with((cen_pool_options){__VA_ARGS__})

#endif
