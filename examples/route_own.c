/* SPDX-License-Identifier: MIT */
/*
 * A routing strategy of your own. Servers of the first rank share the requests. Those of the second rank get requests
 * only while no server of the first is up. A member's rank is its weight, and the highest comes first.
 *
 * The table that a strategy may have for each set of members is enough for that: the members of the highest rank are
 * determined when the set changes, and a pick is one random number.
 */
#undef NDEBUG /* in every build */
#include <assert.h>
#include <stdio.h>

#include <cenote/router.h>

/* ---- The strategy ------------------------------------------------------------------------- */

typedef struct first_rank {
    uint32_t count;
    uint32_t at[]; /* indexes of members in the set */
} first_rank;

static size_t rank_table_size(void *state, uint32_t count)
{
    (void)state;
    return sizeof(first_rank) + count * sizeof(uint32_t);
}

/* Called when a set is about to be published, under the router's lock: be short and never wait. */
static void rank_arrange(void *state, const cen_member_set *set, void *table)
{
    (void)state;
    first_rank *first = table;
    uint32_t highest = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        uint32_t rank = cen_member_weight(cen_member_set_at(set, i));
        if (rank < highest) continue;
        if (rank > highest) first->count = 0;
        highest = rank;
        first->at[first->count++] = i;
    }
}

/* Called on any thread, in a read section, once per request. */
static cen_member *rank_pick(void *state, const cen_member_set *set, const cen_route_hint *pick, bool used)
{
    (void)state, (void)pick, (void)used;
    const first_rank *first = set->table;
    return cen_member_set_at(set, first->at[cen_strategy_below(first->count)]);
}

static const cen_strategy_type by_rank = {
    .size = sizeof(cen_strategy_type),
    .name = "by rank",
    .table_size = rank_table_size,
    .arrange = rank_arrange,
    .pick = rank_pick,
};

/* ---- Four servers, two ranks ------------------------------------------------------------------ */

enum { SERVERS = 4, REQUESTS = 1000 };
static int answered[SERVERS];

static void request_some(cen_router *router, const char *when)
{
    for (int i = 0; i < SERVERS; i++) answered[i] = 0;
    for (int i = 0; i < REQUESTS; i++) {
        cen_route route;
        assert(cen_router_route(router, NULL, CEN_NOW, &route, NULL) == CEN_OK);
        ++*(int *)route.value;
        assert(cen_route_done(&route, CEN_OUTCOME_OK, 0) == CEN_OK);
    }
    printf("%-20s %4d %4d   %4d %4d\n", when, answered[0], answered[1], answered[2], answered[3]);
}

int main(void)
{
    cen_router *router;
    cen_member *members[SERVERS];
    cen_error error;
    cen_router_options options = CEN_ROUTER_OPTIONS(.name = "orders", .strategy = {.type = &by_rank});
    assert(cen_router_new(&options, &router, &error) == CEN_OK);
    for (int i = 0; i < SERVERS; i++) {
        cen_member_options member = CEN_MEMBER_OPTIONS(.value = &answered[i], .weight = i < 2 ? 2 : 1);
        assert(cen_router_add(router, &member, &members[i], &error) == CEN_OK);
        assert(cen_member_up(members[i], NULL) == CEN_OK);
    }
    request_some(router, "all are up");
    assert(answered[0] > 0 && answered[1] > 0 && answered[0] + answered[1] == REQUESTS);

    cen_member_down(members[0], NULL);
    request_some(router, "one is down");
    assert(answered[1] == REQUESTS);

    cen_member_down(members[1], NULL);
    request_some(router, "both are down");
    assert(answered[2] > 0 && answered[3] > 0 && answered[2] + answered[3] == REQUESTS);

    cen_member_up(members[0], NULL);
    request_some(router, "one is back");
    assert(answered[0] == REQUESTS);
    assert(cen_router_free(router) == CEN_OK);
    return 0;
}
