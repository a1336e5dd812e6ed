/* SPDX-License-Identifier: MIT */
/*
 * Planted bugs for the harness of picks, chosen by BENCH_BROKEN: a turn that
 * is skipped once (skip), a member that is never picked at random (shun),
 * something picked that is no member (foreign), a use that is never done (forget). The
 * harness must refuse each, and pass the sound ones, before anything is measured.
 */
#include <stdlib.h>
#include <string.h>

#include "plain.h"

static bool is_broken(const char *fault)
{
    const char *chosen = getenv("BENCH_BROKEN");
    return chosen != NULL && strcmp(chosen, fault) == 0;
}

static void *set_up(unsigned members)
{
    return make_array(members);
}

static void verify(void *set)
{
    expect_idle(set);
}

static unsigned index_of(void *set, const struct member *member)
{
    (void)set;
    return member->index;
}

static inline struct member *use_turn(void *set, struct pick_worker *worker)
{
    struct array *array = set;
    static _Thread_local unsigned uses;
    if (++uses == 1000 && is_broken("skip")) pick_turn(worker, array->count);
    return array->members[pick_turn(worker, array->count)];
}

static inline struct member *use_random(void *set, struct pick_worker *worker)
{
    static struct member foreign = {.index = UINT32_MAX};
    struct array *array = set;
    uint32_t index = pick_random(worker, array->count);
    if (index == 0 && is_broken("foreign")) return &foreign;
    struct member *member = array->members[index == 0 && is_broken("shun") ? 1 : index];
    atomic_fetch_add(&member->in_flight, 1);
    if (index > 0 || !is_broken("forget")) atomic_fetch_sub(&member->in_flight, 1);
    return member;
}

PICKS(broken_turn, use_turn, index_of)
PICKS(broken_random, use_random, index_of)

static const struct pick_contestant contestants[] = {
    {"turn", NULL, PICK_EVEN, set_up, broken_turn_loop, broken_turn_check, verify},
    {"random", NULL, PICK_RANDOM, set_up, broken_random_loop, broken_random_check, verify},
    {NULL, NULL, PICK_ANY, NULL, NULL, NULL, NULL},
};

const struct pick_contestant *const pick_tables[] = {contestants, NULL};
