/* SPDX-License-Identifier: MIT */
/*
 * The counts of a member's uses.
 *
 * Without a limit each thread counts on its own stripe, and only statistics and estimates sum up. With a limit there is
 * one word for all threads, because the limit must be exact: a use begins by a compare-and-swap that finds room.
 *
 * Order table
 * [C1] begin with a limit, load and cas | load, cas | seq_cst | O3 in route.c | `waiting` | a waiter looks for room before a use ends, the thread that ends it looks for waiters before the waiter joins: the request waits without end
 */
#include "base/statics.h"
#include "router/use.h"

static CENI_STATIC _Atomic uint32_t arrivals; /* threads that have a stripe */

static uint32_t choose_stripes(void)
{
    uint32_t count = 1;
    while (count < 2 * ceni_cpu_count() && count < CENI_ROUTER_STRIPES) count *= 2;
    return count;
}

/* Decided once, because an offset that a thread keeps must be inside every member. Each run of a world decides
 * again. */
uint32_t ceni_route_stripes(void)
{
    static CENI_STATIC _Atomic uint32_t decided;
    uint32_t found = ceni_load_relaxed(&decided); /* a number by itself; carries nothing */
    if (found) return found;
    uint32_t mine = choose_stripes();
    return ceni_cas_relaxed(&decided, &found, mine) ? mine : found; /* the same; carries nothing */
}

uint64_t ceni_route_arrive(void)
{
    uint32_t number = ceni_add_relaxed(&arrivals, 1); /* a number by itself; carries nothing */
    return UINT64_C(1) << 32 | (number % ceni_route_stripes() + 1) * CEN_STRIPES_APART_;
}

uint64_t ceni_member_in_flight(const ceni_member *member)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < member->stripes; i++)
        sum += CEN_IN_FLIGHT_(ceni_load_relaxed(&ceni_member_stripe(member, i)->word)); /* carries nothing */
    return sum;
}

uint64_t ceni_member_uses(const ceni_member *member)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < member->stripes; i++)
        sum += CENI_USES(ceni_load_relaxed(&ceni_member_stripe(member, i)->word)); /* carries nothing */
    return sum;
}

/* Touches only the stripes: with many members everything else is far away in memory. */
void cen_member_look_at_others_(cen_member *cell, uint32_t offset)
{
    cen_stripe_ *own = cen_stripe_of_(cell, offset);
    uint32_t end = (ceni_route_stripes() + 1) * CEN_STRIPES_APART_;
    uint64_t sum = 0;
    if (ceni_load_relaxed(&own->others) == CEN_COUNTED_FIRST_) return; /* fixed when it was added; carries nothing */
    for (uint32_t at = CEN_STRIPES_APART_; at < end; at += CEN_STRIPES_APART_) {
        if (at == offset) continue;
        sum += CEN_IN_FLIGHT_(ceni_load_relaxed(&cen_stripe_of_(cell, at)->word)); /* an estimate; carries nothing */
    }
    ceni_store_relaxed(&own->others, (uint32_t)sum); /* carries nothing */
}

/* Called in the section, or under the lock, in which the use was added. No bit is set yet (I2), and many uses are left,
 * so this ends no stripe. */
ceni_begun ceni_use_take_back(cen_stripe_ *stripe)
{
    ceni_sub_relaxed(&stripe->word, CEN_USE_BEGINS_); /* as the addition; carries nothing */
    return CENI_NOT_BEGUN;
}

ceni_begun ceni_use_begin_limited(ceni_member *member)
{
    _Atomic uint64_t *word = &member->cell->first.word;
    uint64_t seen = ceni_load_seq_cst(word); /* [C1] */
    for (unsigned losses = 0;; ceni_backoff_contend(&losses)) {
        uint64_t used = CENI_USES_SINCE(CENI_USES(seen), ceni_setting(&member->base));
        bool full = (CEN_IN_FLIGHT_(seen) >= member->max && !ceni_planted(use_beyond_max)) || CEN_TOO_MANY_(seen);
        if (full || used >= member->max_uses) return CENI_NOT_BEGUN;
        if (ceni_cas_seq_cst(word, &seen, seen + CEN_USE_BEGINS_)) /* [C1] */
            return used + 1 == member->max_uses ? CENI_BEGUN_LAST : CENI_BEGUN;
    }
}

uint64_t cen_member_load(const cen_member *member)
{
    cen_member *own = (cen_member *)(uintptr_t)member;
    ceni_use_look_now_and_then(own, ceni_route_random() >> 32);
    return ceni_member_load(own);
}
