/* SPDX-License-Identifier: MIT */
/*
 * A strategy of the program's own, by include/cenote alone: which of its functions are called
 * when, and what they find. This one picks the member of the highest weight, of which its
 * table has the index, and counts everything.
 */
#include "unit/router/strategies.h"

#include <stdlib.h>

static struct {
    unsigned inits, finis, arranged, joins, leaves, begun, ended, failed;
    unsigned picks[2]; /* by `used` */
    int64_t latency;
    const void *argument;
    cen_status answer; /* of init */
    bool says;         /* init says more */
} told;

typedef struct highest {
    uint32_t index;
    uint32_t count;
} highest;

typedef struct tally {
    uint32_t present; /* joins minus leaves */
    uint32_t in_flight;
} tally;

static cen_status own_init(const void *argument, const cen_allocator *allocator, void **state, cen_error *error)
{
    (void)allocator;
    told.inits++;
    told.argument = argument;
    if (told.answer != CEN_OK) {
        if (told.says) {
            error->status = told.answer;
            snprintf(error->text, sizeof error->text, "the strategy does not like it here");
        }
        return told.answer;
    }
    *state = &told;
    return CEN_OK;
}

static void own_fini(void *state, const cen_allocator *allocator)
{
    (void)allocator;
    expect(state == &told);
    told.finis++;
}

static size_t own_table_size(void *state, uint32_t count)
{
    expect(state == &told && count > 0);
    return sizeof(highest);
}

static void own_arrange(void *state, const cen_member_set *set, void *table)
{
    expect(state == &told && set->table == table);
    highest *own = table;
    expect(own->index == 0 && own->count == 0);
    own->count = set->count;
    for (uint32_t i = 0; i < set->count; i++)
        if (cen_member_weight(cen_member_set_at(set, i)) > cen_member_weight(cen_member_set_at(set, own->index)))
            own->index = i;
    told.arranged++;
}

static void own_joined(void *state, cen_member *member)
{
    expect(state == &told);
    expect_equal(((tally *)cen_member_data(member))->present++, 0);
    told.joins++;
}

static void own_left(void *state, cen_member *member)
{
    expect(state == &told);
    expect_equal(--((tally *)cen_member_data(member))->present, 0);
    told.leaves++;
}

static cen_member *own_pick(void *state, const cen_member_set *set, const cen_route_hint *pick, bool used)
{
    const highest *table = set->table;
    expect(state == &told && pick && set->count > 0);
    expect_equal(table->count, set->count);
    told.picks[used]++;
    cen_member *member = cen_member_set_at(set, table->index);
    if (used) ((tally *)cen_member_data(member))->in_flight++;
    return member;
}

static void own_begun(void *state, cen_member *member)
{
    expect(state == &told);
    ((tally *)cen_member_data(member))->in_flight++;
    told.begun++;
}

static void own_ended(void *state, cen_member *member, int64_t latency_ns, bool failed)
{
    expect(state == &told);
    expect(((tally *)cen_member_data(member))->in_flight-- > 0);
    told.ended++;
    told.failed += failed;
    told.latency = latency_ns;
}

static const cen_strategy_type heaviest = {.size = sizeof heaviest,
                                           .name = "heaviest",
                                           .needs = CEN_STRATEGY_LATENCY,
                                           .member_size = sizeof(tally),
                                           .init = own_init,
                                           .fini = own_fini,
                                           .table_size = own_table_size,
                                           .arrange = own_arrange,
                                           .joined = own_joined,
                                           .left = own_left,
                                           .pick = own_pick,
                                           .begun = own_begun,
                                           .ended = own_ended};

static void begin_own(void)
{
    make_runtime();
    router = make_router((cen_strategy){.type = &heaviest, .argument = "an argument"});
    for (unsigned i = 0; i < 3; i++) members[i] = add_to(router, i, i + 1);
}

TEST(a_strategy_of_the_programs_own_picks_by_its_table)
{
    begin_own();
    expect_text(told.argument, "an argument");
    expect_equal(told.arranged, 3);
    expect_equal(peek(), 2);
    expect_equal(cen_member_down(members[2], NULL), CEN_OK);
    expect_equal(peek(), 1);
    expect_equal(cen_member_up(members[2], NULL), CEN_OK);
    expect_equal(use(), 2);
    expect_equal(told.picks[0], 2);
    expect_equal(told.picks[1], 1);
    end_router();
    expect_equal(told.inits, 1);
    expect_equal(told.finis, 1);
}

TEST(it_is_told_of_every_join_and_every_leave)
{
    begin_own();
    expect_equal(told.joins, 3);
    expect_equal(cen_member_up(members[0], NULL), CEN_OK); /* is up already */
    expect_equal(told.joins, 3);
    expect_equal(cen_member_eject(members[0], second, NULL), CEN_OK);
    expect_equal(told.leaves, 1);
    expect_equal(cen_runtime_advance(runtime, 2 * second), CEN_OK);
    expect_equal(told.joins, 4);
    expect_equal(cen_member_drain(members[1], NULL), CEN_OK);
    expect_equal(told.leaves, 2);
    expect_equal(cen_member_remove(members[1]), CEN_OK); /* had left */
    expect_equal(told.leaves, 2);
    end_router();
    expect_equal(told.leaves, 4);
    expect_equal(told.joins, 4);
}

TEST(it_is_told_of_the_end_of_every_use_that_it_began)
{
    cen_route route;
    begin_own();
    for (int i = 0; i < 3; i++) {
        static const cen_outcome outcomes[] = {CEN_OUTCOME_OK, CEN_OUTCOME_FAILED, CEN_OUTCOME_CANCELLED};
        route_with(NULL, &route);
        expect_equal(cen_runtime_advance(runtime, (i + 1) * ms), CEN_OK);
        expect_equal(cen_route_done(&route, outcomes[i], 0), CEN_OK);
        expect_equal(told.ended, i + 1);
        expect_equal(told.latency, i == 2 ? -1 : (i + 1) * ms);
        expect_equal(told.failed, i > 0);
    }
    route_with(NULL, &route);
    expect_equal(cen_route_done(&route, CEN_OUTCOME_OK, 77), CEN_OK); /* the caller knows better */
    expect_equal(told.latency, 77);
    route_with(NULL, &route);
    expect_equal(cen_member_remove(members[2]), CEN_OK);
    expect_equal(cen_route_done(&route, CEN_OUTCOME_OK, 0), CEN_DOWN); /* a member that has gone too */
    expect_equal(told.ended, 5);
    end_router();
}

/* Of one that has room for one use: whoever waits is served without a pick, and the strategy hears of it. */
TEST(it_is_told_of_a_use_that_it_did_not_pick)
{
    cen_route route;
    cen_route_op routing;
    cen_member_options o = CEN_MEMBER_OPTIONS(.name = "narrow", .max_in_flight = 1);
    make_runtime();
    router = make_router((cen_strategy){.type = &heaviest});
    expect_equal(cen_router_add(router, &o, &members[0], NULL), CEN_OK);
    expect_equal(cen_member_up(members[0], NULL), CEN_OK);
    expect_equal(cen_router_route(router, NULL, CEN_NOW, &route, NULL), CEN_OK);
    cen_route_op_init(&routing, NULL, NULL);
    expect_equal(cen_router_route_async(router, NULL, cen_in_ms(1000), &routing), CEN_OK);
    tally *own = cen_member_data(members[0]);
    expect_equal(own->in_flight, 1); /* what it picked in vain has ended */
    expect_equal(cen_route_done(&route, CEN_OUTCOME_OK, 0), CEN_OK);
    expect_equal(cen_future_wait(&routing.future, CEN_NOW), CEN_OK);
    expect_equal(told.begun, 1);
    expect_equal(own->in_flight, 1);
    expect_equal(cen_route_done(&routing.route, CEN_OUTCOME_OK, 0), CEN_OK);
    expect_equal(own->in_flight, 0);
    end_router();
}

/* What is to be avoided need not interest a strategy: the router tries again, and then takes any other. */
TEST(what_it_picks_although_it_is_to_be_avoided_is_not_used)
{
    cen_route route;
    begin_own();
    cen_route_hint pick = {.avoid = members[2]};
    expect(peek_from(router, &pick) != 2);
    unsigned number = route_with(&pick, &route);
    expect(number != 2);
    expect_equal(((tally *)cen_member_data(members[2]))->in_flight, 0);
    expect_equal(((tally *)cen_member_data(members[number]))->in_flight, 1);
    expect_equal(cen_route_done(&route, CEN_OUTCOME_OK, 0), CEN_OK);
    expect_equal(((tally *)cen_member_data(members[number]))->in_flight, 0);
    end_router();
}

/* ---- Refused -------------------------------------------------------------------------------- */

static size_t held; /* bytes */

static void *counted_alloc(void *argument, size_t size, size_t align)
{
    (void)argument;
    void *memory = aligned_alloc(align, (size + align - 1) / align * align);
    if (memory) held += size;
    return memory;
}

static void counted_free(void *argument, void *memory, size_t size, size_t align)
{
    (void)argument, (void)align;
    held -= size;
    free(memory);
}

static const cen_allocator counted = {.alloc = counted_alloc, .free = counted_free};

TEST(a_strategy_whose_init_fails_leaves_no_router)
{
    cen_error error = {0};
    make_runtime();
    told.answer = CEN_SYSTEM;
    told.says = true;
    cen_router_options o =
        CEN_ROUTER_OPTIONS(.strategy = {.type = &heaviest}, .runtime = runtime, .allocator = &counted);
    expect_equal(cen_router_new(&o, &router, &error), CEN_SYSTEM);
    expect_text(error.text, "the strategy does not like it here");
    expect(!router);
    expect_equal(told.finis, 0);
    expect_equal(held, 0);
    expect_equal(cen_runtime_free(runtime), CEN_OK); /* and nobody uses it */
}

static cen_status refused(const cen_strategy_type *type, const char *because)
{
    cen_error error = {0};
    cen_router_options o = CEN_ROUTER_OPTIONS(.strategy = {.type = type});
    cen_status status = cen_router_new(&o, &router, &error);
    expect(strstr(error.text, because) != NULL);
    return status;
}

TEST(a_type_that_is_not_filled_in_is_refused)
{
    static const cen_strategy_type no_pick = {.size = sizeof no_pick, .name = "none"};
    static const cen_strategy_type no_size = {.name = "none", .pick = own_pick};
    static const cen_strategy_type no_name = {.size = sizeof no_name, .pick = own_pick};
    static const cen_strategy_type no_table = {
        .size = sizeof no_table, .name = "tableless", .pick = own_pick, .arrange = own_arrange};
    expect_equal(refused(&no_pick, "pick"), CEN_INVALID);
    expect_equal(refused(&no_size, "size"), CEN_INVALID);
    expect_equal(refused(&no_name, "name"), CEN_INVALID);
    expect_equal(refused(&no_table, "tableless"), CEN_INVALID);
}
