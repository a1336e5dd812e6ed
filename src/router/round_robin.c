/* SPDX-License-Identifier: MIT */
/*
 * Round robin, in two cheap forms.
 *
 * By thread: each thread remembers its place in the four routers that it used last, and begins at a random place in any
 * other, so that threads do not go in step. Nothing is shared. The place is an index into the set: when members change,
 * it goes on from there.
 *
 * Shared: one counter for all threads. The place is the counter modulo the number of members. When that number changes,
 * the next place is a different one: some members are skipped and some have two turns. The counter wraps around after
 * 2^64.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/statics.h"
#include "router/set.h"

/* ---- By thread --------------------------------------------------------------- */

static CENI_STATIC _Atomic uint64_t numbers; /* of all rounds so far: by which a thread knows them */

static cen_status begin_own(const void *argument, const cen_allocator *allocator, void **state, cen_error *error)
{
    (void)argument, (void)allocator, (void)error;
    *state = (void *)(uintptr_t)(ceni_add_relaxed(&numbers, 1) + 1); /* a number by itself; carries nothing */
    return CEN_OK;
}

static cen_member *pick_own(void *state, const cen_member_set *set, const cen_route_hint *wish, bool used)
{
    (void)wish, (void)used;
    return ceni_pick_round(state, set);
}

cen_strategy cen_strategy_round_robin(void)
{
    static const cen_strategy_type type = {
        .size = sizeof type, .name = "round robin", .init = begin_own, .pick = pick_own};
    return (cen_strategy){.type = &type};
}

/* ---- Shared ------------------------------------------------------------------------- */

typedef struct shared {
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t next;
} shared;

static cen_status begin_shared(const void *argument, const cen_allocator *allocator, void **state, cen_error *error)
{
    shared *round = ceni_alloc(allocator, sizeof *round, CENI_CACHE_LINE);
    if (!round) return ceni_error_set(error, CEN_NO_MEMORY, 0, "strategy \"shared round robin\": out of memory");
    /* no other thread knows it yet; carries nothing */
    if (argument) ceni_store_relaxed(&round->next, *(const uint64_t *)argument);
    *state = round;
    return CEN_OK;
}

static void end_shared(void *state, const cen_allocator *allocator)
{
    ceni_free(allocator, state, sizeof(shared), CENI_CACHE_LINE);
}

static cen_member *pick_shared(void *state, const cen_member_set *set, const cen_route_hint *wish, bool used)
{
    (void)wish, (void)used;
    uint64_t turn = ceni_add_relaxed(&((shared *)state)->next, 1); /* a number by itself; carries nothing */
    return ceni_set_at(set, (uint32_t)(turn % set->count));
}

cen_strategy cen_strategy_shared_round_robin(void)
{
    static const cen_strategy_type type = {.size = sizeof type,
                                           .name = "shared round robin",
                                           .init = begin_shared,
                                           .fini = end_shared,
                                           .pick = pick_shared};
    return (cen_strategy){.type = &type};
}
