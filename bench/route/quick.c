/* SPDX-License-Identifier: MIT */
/*
 * cenote's router by its inline functions, <cenote/quick_route.h>: the same routers as in
 * cenote.c, for the strategies that are inlined.
 */
#include <cenote/quick_route.h>

#include "../rules/picks_loop.h"
#include "contestants.h"

static _Thread_local cen_picker picker; /* its stripe is 0 until it was made ready */
static _Thread_local bool ready;

/* What a thread's first use needs is not measured. */
static inline cen_picker *own_picker(void)
{
    if (__builtin_expect(!ready, 0)) {
        if (cen_picker_init(&picker) != CEN_OK) bench_fail("the library has another layout than quick_route.h");
        ready = true;
    }
    return &picker;
}

static inline cen_member *use_peek(void *set, struct pick_worker *worker)
{
    (void)worker;
    cen_member *member;
    cen_quick_read_begin();
    if (cen_quick_peek(set, own_picker(), &member) != CEN_OK) bench_fail("cen_quick_peek found nothing");
    cen_quick_read_end();
    return member;
}

static inline cen_member *use_route(void *set, struct pick_worker *worker)
{
    (void)worker;
    cen_route route;
    if (cen_quick_route(set, own_picker(), &route) != CEN_OK) bench_fail("cen_quick_route found nothing");
    cen_member *member = route.member;
    cen_quick_done(&route);
    return member;
}

static unsigned index_of(void *set, const cen_member *member)
{
    (void)set;
    return (unsigned)(uintptr_t)cen_member_value(member) - 1;
}

PICKS(peek, use_peek, index_of)
PICKS(route, use_route, index_of)

#define BOTH(name, strategy, own, kind) \
    {"quick-peek-" name, own, kind, set_up_##strategy, peek_loop, peek_check, verify_router}, \
    { \
        "quick-route-" name, own "-counted", kind, set_up_##strategy, route_loop, route_check, verify_router \
    }

const struct pick_contestant quick_contestants[] = {
    BOTH("random", random, "random", PICK_RANDOM),
    BOTH("turn", round_robin, "turn", PICK_EVEN),
    BOTH("two", two_choices, "two", PICK_ANY),
    {NULL, NULL, PICK_ANY, NULL, NULL, NULL, NULL},
};
