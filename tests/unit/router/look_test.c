/* SPDX-License-Identifier: MIT */
/* Looking at routers: the numbers agree with one another, members one by one, and the directory. */
#include "record/directory.h"
#include "support/world.h"
#include "unit/router/routers.h"

static void expect_sums(void)
{
    cen_router_stats s = look();
    expect_equal(s.members, s.connecting + s.up + s.full + s.draining + s.down + s.ejected);
    expect(s.in_flight <= s.uses && s.failed <= s.uses && s.timeouts <= s.waited);
}

static void change(cen_member **member, int i, uint64_t what, uint64_t *dice)
{
    if (!*member) *member = add(i);
    switch (what) {
    case 0: cen_member_down(*member, NULL); break;
    case 1: cen_member_drain(*member, NULL); break;
    case 2: cen_member_eject(*member, (int64_t)(test_random(dice) % 3) * second, NULL); break;
    case 3: cen_member_restore(*member, NULL); break;
    case 4: cen_runtime_advance(runtime, (int64_t)(test_random(dice) % 2) * second); break;
    case 5:
        if (test_random(dice) % 8) break;
        cen_member_remove(*member);
        *member = NULL;
        break;
    default: cen_member_up(*member, NULL); break;
    }
}

TEST(the_states_add_up_to_the_members_whatever_happens)
{
    uint64_t dice = test_seed();
    make_router(.runtime = make_manual(), .max_in_flight = 2, .max_uses = 40, .max_lifetime_ns = 50 * second);
    cen_member *members[6] = {0};
    cen_route routes[24] = {{0}};
    for (int step = 0; step < 4000; step++) {
        int i = (int)(test_random(&dice) % 6), k = (int)(test_random(&dice) % 24);
        cen_route *route = &routes[k];
        uint64_t what = test_random(&dice) % 10;
        if (what == 8 && !route->member) try_route(route);
        if (what == 9 && route->member) cen_route_done(route, (cen_outcome)(test_random(&dice) % 3), 0);
        if (what < 8) change(&members[i], i, what, &dice);
        expect_sums();
        unsigned held = 0;
        for (k = 0; k < 24; k++) held += routes[k].member != NULL;
        expect_equal(look().in_flight, held);
    }
    for (int k = 0; k < 24; k++)
        if (routes[k].member) done(&routes[k]);
    expect_equal(look().in_flight, 0);
    end_all();
    expect_equal(ceni_world_bytes(), 0);
}

static cen_member_stats rows[4];
static char names[4][64];
static unsigned count;
static void (*inside)(void);

static void note_row(void *argument, const cen_member_stats *member)
{
    expect(argument == rows);
    rows[count] = *member;
    snprintf(names[count], sizeof names[count], "%s", member->name);
    count++;
    if (inside) inside();
}

TEST(each_shows_the_members_in_the_order_in_which_they_were_added)
{
    make_router(.runtime = make_manual());
    cen_member *a = add(0, .name = "a", .weight = 3),
               *b = add_up(1, .name = "b", .max_in_flight = 5, .target_in_flight = 2), *c = add(2, .name = "c");
    cen_runtime_advance(runtime, second);
    cen_route route = route_now(), other = route_now();
    cen_route_done(&other, CEN_OUTCOME_FAILED, 17);
    cen_member_remove(c);
    bring_up(a);
    cen_runtime_advance(runtime, 5);
    count = 0;
    inside = NULL;
    expect_equal(cen_router_each(router, note_row, rows), CEN_OK);
    expect_equal(count, 2);
    expect_text(names[0], "a");
    expect_text(names[1], "b");
    expect(rows[0].state == CEN_MEMBER_UP && rows[0].weight == 3 && rows[0].uses == 0 && rows[0].since_ns == 5);
    expect(rows[1].state == CEN_MEMBER_UP && rows[1].in_flight == 1 && rows[1].uses == 2 && rows[1].failed == 1);
    expect(rows[1].max_in_flight == 5 && rows[1].target_in_flight == 2 && rows[1].since_ns == second + 5 &&
           rows[1].latency_ns == 17);
    expect(rows[1].value == &values[1]);
    done(&route);
    (void)b;
    end_all();
}

static void use_router(void)
{
    cen_route route = route_now();
    done(&route);
    add_up(3);
    expect(look().members >= 2);
}

TEST(a_visitor_may_use_the_router_and_add_members)
{
    make_router(.name = NULL);
    add_up(0);
    inside = use_router;
    count = 0;
    expect_equal(cen_router_each(router, note_row, rows), CEN_OK);
    expect_equal(count, 1);
    expect_equal(look().members, 2);
    inside = NULL;
    end_router();
}

typedef struct sight {
    unsigned entries;
    size_t metrics;
    int64_t members, up;
} sight;

static void look_at(void *argument, ceni_directory_entry *entry)
{
    sight *seen = argument;
    cen_metric metrics[32];
    if (strcmp(entry->kind, "router") != 0) return;
    seen->entries++;
    expect_text(entry->name, "listed");
    seen->metrics = entry->snapshot(entry->object, metrics, 32);
    expect(seen->metrics <= 32);
    for (size_t i = 0; i < seen->metrics; i++) {
        if (strcmp(metrics[i].name, "members") == 0) seen->members = metrics[i].value;
        if (strcmp(metrics[i].name, "up") == 0) seen->up = metrics[i].value;
    }
    expect_equal(entry->snapshot(entry->object, metrics, 0), seen->metrics);
}

TEST(a_router_is_in_the_directory_from_new_to_free)
{
    sight seen = {0};
    make_router(.name = "listed");
    add(0);
    add_up(1);
    ceni_directory_each(ceni_directory_process(), look_at, &seen);
    expect(seen.entries == 1 && seen.members == 2 && seen.up == 1 && seen.metrics > 10);
    end_router();
    seen = (sight){0};
    ceni_directory_each(ceni_directory_process(), look_at, &seen);
    expect_equal(seen.entries, 0);
}
