/* SPDX-License-Identifier: MIT */
/*
 * Strategies when memory is scarce: a member that cannot join is refused and nothing
 * changes; one that leaves is not picked any more, although its set cannot be replaced.
 */
#include "unit/router/strategies.h"

#include <stdlib.h>

static size_t held;      /* bytes */
static unsigned allowed; /* allocations until one fails; 0: none fails */

static void *scarce_alloc(void *argument, size_t size, size_t align)
{
    (void)argument;
    if (allowed > 0 && --allowed == 0) {
        allowed = 1; /* from now on every one */
        return NULL;
    }
    void *memory = aligned_alloc(align, (size + align - 1) / align * align);
    if (memory) held += size;
    return memory;
}

static void scarce_free(void *argument, void *memory, size_t size, size_t align)
{
    (void)argument, (void)align;
    held -= size;
    free(memory);
}

static const cen_allocator scarce = {.alloc = scarce_alloc, .free = scarce_free};

static const struct {
    const char *name;
    cen_strategy (*make)(void);
} all[] = {
    {"random", cen_strategy_random},
    {"round robin", cen_strategy_round_robin},
    {"shared round robin", cen_strategy_shared_round_robin},
    {"strict round robin", cen_strategy_strict_round_robin},
    {"least in flight", cen_strategy_least_in_flight},
    {"two choices", cen_strategy_two_choices},
    {"peak EWMA", cen_strategy_peak_ewma},
    {"weighted", cen_strategy_weighted},
    {"consistent hash", cen_strategy_consistent_hash},
};
enum { ALL = sizeof all / sizeof *all, SIDE = 12 };

static cen_status try_router(cen_strategy strategy, cen_error *error)
{
    cen_router_options o = CEN_ROUTER_OPTIONS(.strategy = strategy, .runtime = runtime, .allocator = &scarce);
    return cen_router_new(&o, &router, error);
}

static void end_scarce(void)
{
    allowed = 0;
    end_router();
    expect_equal(held, 0);
}

/* Every key once, or so many picks: what is picked is up, in whatever way it is picked. */
static void expect_only(const bool *up)
{
    for (uint64_t i = 0; i < 300; i++) {
        cen_route_hint pick = {.key = i};
        cen_route route;
        expect(up[peek_from(router, &pick)]);
        expect(up[route_with(&pick, &route)]);
        expect_equal(cen_route_done(&route, CEN_OUTCOME_OK, 0), CEN_OK);
    }
}

TEST(a_strategy_says_by_its_names_what_it_is)
{
    for (int i = 0; i < ALL; i++) expect_text(all[i].make().type->name, all[i].name);
}

TEST(a_router_whose_strategy_gets_no_memory_says_so_and_leaves_nothing)
{
    for (int i = 0; i < ALL; i++) {
        make_runtime();
        cen_status status;
        unsigned faults = 0;
        do {
            cen_error error = {0};
            router = NULL;
            allowed = ++faults;
            status = try_router(all[i].make(), &error);
            allowed = 0;
            if (status == CEN_OK) break;
            expect_equal(status, CEN_NO_MEMORY);
            expect(error.status == status && error.text[0]);
            expect(!router && held == 0);
        } while (status != CEN_OK);
        expect(faults >= 2);
        end_scarce();
    }
}

TEST(a_member_for_whose_set_there_is_no_memory_stays_as_it_was)
{
    for (int i = 0; i < ALL; i++) {
        bool up[SIDE] = {false};
        make_runtime();
        expect_equal(try_router(all[i].make(), NULL), CEN_OK);
        for (unsigned k = 0; k < SIDE / 2; k++) members[k] = add_to(router, k, k), up[k] = true;
        cen_member *more = add_to(router, SIDE / 2, 0);
        expect_equal(cen_member_down(more, NULL), CEN_OK);
        allowed = 1;
        for (int k = 0; k < 3; k++) expect_equal(cen_member_up(more, NULL), CEN_NO_MEMORY);
        expect_equal(cen_member_state_of(more), CEN_MEMBER_DOWN);
        expect_only(up);
        allowed = 0;
        expect_equal(cen_member_up(more, NULL), CEN_OK);
        up[SIDE / 2] = true;
        expect_only(up);
        end_scarce();
    }
}

/* guarantees: router.together */
TEST(many_for_whose_set_there_is_no_memory_stay_as_they_were_and_come_up_later)
{
    for (int i = 0; i < ALL; i++) {
        bool up[SIDE] = {false};
        make_runtime();
        expect_equal(try_router(all[i].make(), NULL), CEN_OK);
        for (unsigned k = 0; k < SIDE; k++) members[k] = add_to(router, k, k), up[k] = true;
        for (unsigned k = SIDE / 2; k < SIDE; k++) {
            expect_equal(cen_member_down(members[k], NULL), CEN_OK);
            up[k] = false;
        }
        allowed = 1;
        size_t done = 1;
        expect_equal(cen_members_up(members, SIDE, &done, NULL), CEN_NO_MEMORY);
        expect_equal(done, 0);
        expect_only(up);
        allowed = 0;
        /* the first half is up, so the table is smaller than there is room */
        expect_equal(cen_members_up(members, SIDE, &done, NULL), CEN_OK);
        expect_equal(done, SIDE);
        for (unsigned k = 0; k < SIDE; k++) up[k] = true;
        expect_only(up);
        end_scarce();
    }
}

TEST(a_member_that_leaves_without_memory_is_not_picked_any_more)
{
    for (int i = 0; i < ALL; i++) {
        uint64_t seed = 5;
        bool up[SIDE];
        make_runtime();
        expect_equal(try_router(all[i].make(), NULL), CEN_OK);
        for (unsigned k = 0; k < SIDE; k++) members[k] = add_to(router, k, k), up[k] = true;
        allowed = 1;
        for (unsigned left = SIDE; left > 1; left--) {
            unsigned gone;
            do gone = (unsigned)(test_random(&seed) % SIDE);
            while (!up[gone]);
            expect_equal(cen_member_down(members[gone], NULL), CEN_OK);
            up[gone] = false;
            expect_only(up);
        }
        allowed = 0;
        for (unsigned k = 0; k < SIDE; k++) {
            expect_equal(cen_member_up(members[k], NULL), CEN_OK);
            up[k] = true;
            expect_only(up);
        }
        memset(picked, 0, sizeof picked);
        for (uint64_t k = 0; k < 3000; k++) {
            cen_route_hint pick = {.key = k};
            picked[peek_from(router, &pick)]++;
        }
        for (unsigned k = 0; k < SIDE; k++) expect(picked[k] > 0); /* all are back, and nobody stands for another */
        end_scarce();
    }
}

/* It stands in all places then: whoever looks for another one finds an end. */
TEST(one_that_is_to_be_avoided_is_picked_when_it_has_replaced_all_others)
{
    for (int i = 0; i < ALL; i++) {
        make_runtime();
        expect_equal(try_router(all[i].make(), NULL), CEN_OK);
        for (unsigned k = 0; k < 3; k++) members[k] = add_to(router, k, 0);
        allowed = 1;
        for (unsigned k = 0; k < 2; k++) expect_equal(cen_member_down(members[k], NULL), CEN_OK);
        for (uint64_t k = 0; k < 300; k++) {
            cen_route_hint pick = {.key = k, .avoid = members[2]};
            expect_equal(peek_from(router, &pick), 2);
        }
        end_scarce();
    }
}

/* The last one leaves too, and comes back. */
TEST(the_last_member_leaves_without_memory)
{
    for (int i = 0; i < ALL; i++) {
        cen_member *nobody = NULL;
        make_runtime();
        expect_equal(try_router(all[i].make(), NULL), CEN_OK);
        for (unsigned k = 0; k < 3; k++) members[k] = add_to(router, k, 0);
        allowed = 1;
        for (unsigned k = 0; k < 3; k++) expect_equal(cen_member_remove(members[k]), CEN_OK);
        cen_read_begin();
        expect_equal(cen_router_peek(router, NULL, &nobody), CEN_EMPTY);
        cen_read_end();
        allowed = 0;
        cen_runtime_poll(runtime);
        add_to(router, 7, 0);
        expect_equal(use(), 7);
        end_scarce();
    }
}
