/* SPDX-License-Identifier: MIT */
/* The strategies that quick_route.h has inline pick as those of the library do. */
#include <cenote/quick_route.h>

#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "unit/router/strategies.h"

static cen_picker picker;

static void begin_quick(cen_strategy strategy, unsigned count)
{
    begin_with(strategy, count);
    expect_equal(cen_picker_init(&picker), CEN_OK);
    picker.random_ = test_seed() | 1;
}

static unsigned quick_peek(void)
{
    cen_member *member = NULL;
    cen_quick_read_begin();
    expect_equal(cen_quick_peek(router, &picker, &member), CEN_OK);
    unsigned number = number_of(cen_member_value(member));
    cen_quick_read_end();
    return number;
}

static unsigned quick_route_to(cen_route *route)
{
    expect_equal(cen_quick_route(router, &picker, route), CEN_OK);
    return number_of(route->value);
}

static void count_quick_peeks(unsigned times)
{
    memset(picked, 0, sizeof picked);
    for (unsigned i = 0; i < times; i++) picked[quick_peek()]++;
}

TEST(inline_random_picks_each_alike)
{
    begin_quick(cen_strategy_random(), 10);
    count_quick_peeks(1000 * 1000);
    expect_shares(picked, NULL, 10);
    end_router();
}

/* guarantees: router.counts */
TEST(inline_routes_beyond_what_can_be_counted_are_refused)
{
    const cen_strategy strategies[] = {cen_strategy_random(), cen_strategy_round_robin(), cen_strategy_two_choices()};
    for (unsigned i = 0; i < 3; i++) {
        cen_route route, none;
        cen_router_stats stats = CEN_SIZED(cen_router_stats);
        begin_quick(strategies[i], 1);
        quick_route_to(&route);
        CEN_ATOMIC_(uint64_t) *word = &cen_stripe_of_(route.member, picker.stripe_)->word;
        ceni_add_seq_cst(word, CEN_IN_FLIGHT_MAX - 2);
        cen_route last;
        quick_route_to(&last);
        expect_equal(cen_quick_route(router, &picker, &none), CEN_FULL);
        expect_equal(cen_router_stats_get(router, &stats), CEN_OK);
        expect_equal(stats.in_flight, CEN_IN_FLIGHT_MAX);
        expect_equal(cen_quick_done(&last), CEN_OK);
        quick_route_to(&last);
        ceni_sub_seq_cst(word, CEN_IN_FLIGHT_MAX - 2);
        expect_equal(cen_quick_done(&last), CEN_OK);
        expect_equal(cen_quick_done(&route), CEN_OK);
        expect_equal(cen_router_stats_get(router, &stats), CEN_OK);
        expect(stats.in_flight == 0 && stats.uses == 3);
        end_router();
    }
}

TEST(inline_round_robin_goes_round_also_when_members_change)
{
    begin_quick(cen_strategy_round_robin(), 10);
    unsigned last = quick_peek();
    for (int i = 0; i < 100; i++) {
        cen_route route;
        unsigned now = i % 2 ? quick_peek() : quick_route_to(&route);
        if (i % 2 == 0) expect_equal(cen_quick_done(&route), CEN_OK);
        expect_equal(now, (last + 1) % 10);
        last = now;
    }
    expect_equal(cen_member_down(members[9], NULL), CEN_OK);
    expect_equal(cen_member_down(members[8], NULL), CEN_OK);
    count_quick_peeks(800);
    for (unsigned i = 0; i < 8; i++) expect_equal(picked[i], 100);
    end_router();
}

TEST(inline_two_choices_leave_the_busy_one_alone_and_pick_the_others_alike)
{
    static uint64_t others[2];
    cen_route held;
    begin_quick(cen_strategy_two_choices(), 3);
    unsigned busy = quick_route_to(&held);
    count_quick_peeks(300 * 1000);
    expect_equal(picked[busy], 0);
    others[0] = picked[(busy + 1) % 3];
    others[1] = picked[(busy + 2) % 3];
    expect_shares(others, NULL, 2);
    expect_equal(cen_quick_done(&held), CEN_OK);
    end_router();
}

/* As the_end_of_another_threads_uses_is_seen_although_the_member_is_left_alone says of those of the library. */
TEST(inline_two_choices_notice_that_others_have_ended_their_uses)
{
    enum { HEAVY = 100 };
    cen_route held[HEAVY];
    begin_quick(cen_strategy_two_choices(), 2);
    cen_route_hint pick = {.avoid = members[1]};
    /* this thread's calls count on one stripe ... */
    ceni_route_room()[CENI_ROUTE_STRIPE] = UINT64_C(1) << 32 | CEN_STRIPES_APART_;
    /* ... and its inline picks on another */
    picker.stripe_ = 2 * CEN_STRIPES_APART_;
    for (int i = 0; i < HEAVY; i++) expect_equal(route_with(&pick, &held[i]), 0);
    unsigned firsts = 0;
    for (int i = 0; i < 2000; i++) {
        cen_route route;
        firsts += quick_route_to(&route) == 0;
        expect_equal(cen_quick_done(&route), CEN_OK);
    }
    expect(firsts <= 64);
    for (int i = 0; i < HEAVY; i++) expect_equal(cen_route_done(&held[i], CEN_OUTCOME_OK, 0), CEN_OK);
    count_quick_peeks(2000); /* each looks again with probability 1/64 */
    count_quick_peeks(1000);
    expect(picked[0] > 300);
    end_router();
}

TEST(another_strategy_is_called)
{
    cen_route route;
    begin_quick(cen_strategy_strict_round_robin(), 4);
    for (unsigned i = 0; i < 20; i++) {
        expect_equal(quick_route_to(&route), i % 4);
        expect_equal(cen_quick_done(&route), CEN_OK);
    }
    end_router();
}

/* ---- What is not usual: the inline functions call those of the library ----------------------- */

static cen_member *add_limited(cen_member_options options)
{
    cen_member *member;
    options.value = &members[0]; /* nobody asks for its number */
    expect_equal(cen_router_add(router, &options, &member, NULL), CEN_OK);
    expect_equal(cen_member_up(member, NULL), CEN_OK);
    return member;
}

/* guarantees: router.inline */
TEST(inline_routes_do_not_exceed_the_max_of_a_member_that_was_added_later)
{
    begin_quick(cen_strategy_random(), 1);
    cen_route first, others[20];
    expect_equal(quick_route_to(&first), 0);
    cen_member *narrow = add_limited(CEN_MEMBER_OPTIONS(.max_in_flight = 2));
    unsigned on_narrow = 0;
    for (int i = 0; i < 20; i++) {
        expect_equal(cen_quick_route(router, &picker, &others[i]), CEN_OK);
        on_narrow += others[i].member == narrow;
    }
    expect(on_narrow <= 2);
    expect_equal(cen_quick_done(&first), CEN_OK); /* it began inline, and ends by a call */
    for (int i = 0; i < 20; i++) expect_equal(cen_quick_done(&others[i]), CEN_OK);
    for (int i = 0; i < 20; i++) expect_equal(cen_quick_done(&others[i]), CEN_STALE);
    expect_equal(cen_member_remove(narrow), CEN_OK);
    end_router();
}

/* One that has its target is passed over for another with less, of which three are tried: it is picked with probability 5^-4. */
/* guarantees: router.inline */
TEST(inline_routes_prefer_those_below_their_target)
{
    begin_quick(cen_strategy_random(), 4);
    cen_member *targeted = add_limited(CEN_MEMBER_OPTIONS(.target_in_flight = 1));
    cen_route held, route;
    while (cen_quick_route(router, &picker, &held) == CEN_OK && held.member != targeted)
        expect_equal(cen_quick_done(&held), CEN_OK);
    unsigned on_targeted = 0;
    for (int i = 0; i < 1000; i++) {
        expect_equal(cen_quick_route(router, &picker, &route), CEN_OK);
        on_targeted += route.member == targeted;
        expect_equal(cen_quick_done(&route), CEN_OK);
    }
    expect(on_targeted <= 20);
    expect_equal(cen_quick_done(&held), CEN_OK);
    expect_equal(cen_member_remove(targeted), CEN_OK);
    end_router();
}

/* guarantees: router.inline */
TEST(an_inline_route_of_a_member_that_went_down_says_so)
{
    cen_route before, late;
    cen_member *member;
    begin_quick(cen_strategy_round_robin(), 1);
    expect_equal(quick_route_to(&before), 0);
    expect_equal(cen_member_down(members[0], NULL), CEN_OK);
    expect_equal(cen_quick_route(router, &picker, &late), CEN_EMPTY);
    cen_quick_read_begin();
    expect_equal(cen_quick_peek(router, &picker, &member), CEN_EMPTY);
    cen_quick_read_end();
    expect_equal(cen_member_up(members[0], NULL), CEN_OK);
    expect_equal(quick_route_to(&late), 0);
    expect_equal(cen_quick_done(&before), CEN_DOWN);
    expect_equal(cen_quick_done(&late), CEN_OK);
    end_router();
}

/* guarantees: router.inline */
TEST(an_inline_route_keeps_a_member_that_was_removed)
{
    cen_route held;
    cen_router_stats stats = CEN_SIZED(cen_router_stats);
    begin_quick(cen_strategy_random(), 2);
    unsigned number = quick_route_to(&held);
    expect_equal(cen_member_remove(members[number]), CEN_OK);
    cen_runtime_poll(runtime);
    expect_equal(cen_router_stats_get(router, &stats), CEN_OK);
    expect(stats.zombies == 1 && stats.in_flight == 1);
    expect_equal(number_of(held.value), number);
    expect_equal(cen_quick_done(&held), CEN_DOWN);
    cen_runtime_poll(runtime);
    expect_equal(cen_router_stats_get(router, &stats), CEN_OK);
    expect(stats.zombies == 0 && stats.in_flight == 0);
    end_router();
}

/* ---- With others ------------------------------------------------------------------------------ */

enum { THREADS = 2, CHANGES = 400, MEMBERS = 70 }; /* more than a block of cells has */
static _Atomic uint32_t enough;
static _Atomic uint64_t used, ends;

static void use_inline(void *unused)
{
    (void)unused;
    cen_picker own;
    cen_member *member;
    uint64_t uses = 0;
    expect_equal(cen_picker_init(&own), CEN_OK);
    while (!ceni_load_seq_cst(&enough)) {
        cen_route route;
        cen_status status = cen_quick_route(router, &own, &route);
        if (status == CEN_OK) {
            uses += number_of(route.value) < MEMBERS;
            status = cen_quick_done(&route);
            expect(status == CEN_OK || status == CEN_DOWN);
        } else {
            expect_equal(status, CEN_EMPTY);
        }
        cen_quick_read_begin();
        if (cen_quick_peek(router, &own, &member) == CEN_OK) expect(number_of(cen_member_value(member)) < MEMBERS);
        cen_quick_read_end();
    }
    ceni_add_seq_cst(&used, uses);
}

static void note_end(void *value)
{
    expect(number_of(value) < MEMBERS);
    ceni_add_seq_cst(&ends, 1);
}

static cen_member *add_counted(unsigned number)
{
    cen_member *member = NULL;
    cen_member_options o = CEN_MEMBER_OPTIONS(.value = (void *)(uintptr_t)(number + 1), .gone = note_end);
    expect_equal(cen_router_add(router, &o, &member, NULL), CEN_OK);
    expect_equal(cen_member_up(member, NULL), CEN_OK);
    return member;
}

static void change_beside_inline_uses(cen_strategy strategy)
{
    ceni_thread threads[THREADS];
    uint64_t random = test_seed() | 1;
    unsigned added = MEMBERS;
    begin_with(strategy, 0);
    ceni_store_seq_cst(&enough, 0);
    ceni_store_seq_cst(&used, 0);
    ceni_store_seq_cst(&ends, 0);
    for (unsigned i = 0; i < MEMBERS; i++) members[i] = add_counted(i);
    for (int i = 0; i < THREADS; i++) start_thread(&threads[i], use_inline, NULL);
    for (int i = 0; i < CHANGES; i++, added++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        unsigned at = (unsigned)(random >> 33) % MEMBERS;
        expect_equal(cen_member_remove(members[at]), CEN_OK);
        cen_runtime_poll(runtime);
        members[at] = add_counted(at);
    }
    ceni_store_seq_cst(&enough, 1);
    for (int i = 0; i < THREADS; i++) ceni_thread_join(&threads[i]);
    cen_router_stats stats = CEN_SIZED(cen_router_stats);
    for (int i = 0; i < 3; i++) cen_runtime_poll(runtime);
    expect_equal(cen_router_stats_get(router, &stats), CEN_OK);
    expect(stats.in_flight == 0 && stats.zombies == 0 && stats.members == MEMBERS);
    expect_equal(stats.uses, ceni_load_seq_cst(&used));
    end_router();
    expect_equal(ceni_load_seq_cst(&ends), added);
}

/* guarantees: router.inline */
TEST(members_come_and_go_beside_inline_uses_and_every_use_is_counted)
{
    change_beside_inline_uses(cen_strategy_random());
    change_beside_inline_uses(cen_strategy_two_choices());
}

/* ---- Fork -------------------------------------------------------------------------------------- */

static cen_route of_the_parent;

static int use_inline_in_the_child(void)
{
    cen_route route = {0};
    cen_member *member = NULL;
    cen_router *parents = router;
    if (cen_quick_route(parents, &picker, &route) != CEN_FORKED) return 1;
    cen_quick_read_begin();
    if (cen_quick_peek(parents, &picker, &member) != CEN_FORKED) return 2;
    cen_quick_read_end();
    if (cen_quick_done(&of_the_parent) != CEN_FORKED || !of_the_parent.member) return 3;
    /* A router of its own does not open the parent's door. */
    begin_with(cen_strategy_random(), 2);
    if (cen_quick_route(router, &picker, &route) != CEN_OK || cen_quick_done(&route) != CEN_OK) return 4;
    if (cen_quick_route(parents, &picker, &route) != CEN_FORKED) return 5;
    return cen_quick_done(&of_the_parent) == CEN_FORKED ? 0 : 6;
}

static void expect_forked_in_a_child(void)
{
    begin_quick(cen_strategy_random(), 3);
    quick_route_to(&of_the_parent);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(use_inline_in_the_child());
    int status = -1;
    expect(waitpid(child, &status, 0) == child);
    expect_equal(status, 0);
    expect_equal(cen_quick_done(&of_the_parent), CEN_OK);
    end_router();
}

/* guarantees: router.inline */
TEST(in_a_child_the_inline_functions_answer_forked)
{
    expect_forked_in_a_child();
}

/* guarantees: router.inline */
TEST(in_a_child_the_inline_functions_answer_forked_where_the_kernel_cannot_wipe_a_page)
{
    ceni_fault_arm(CENI_FAULT_MAP, 1);
    ceni_fork_epoch();
    expect(ceni_fault_disarm());
    expect_forked_in_a_child();
}

/* guarantees: router.inline */
TEST(routers_that_find_no_door_are_called)
{
    enum { ALL = 10000 };
    static _Atomic uint64_t *words[ALL];
    size_t count = 0;
    while (count < ALL && (words[count] = ceni_fork_take_word()) != NULL) count++;
    expect(count > 100 && count < ALL);
    begin_quick(cen_strategy_round_robin(), 3);
    expect(!cen_set_at_door_(router));
    cen_route route;
    for (int i = 0; i < 6; i++) {
        quick_route_to(&route);
        expect_equal(cen_quick_done(&route), CEN_OK);
    }
    end_router();
    while (count > 0) ceni_fork_give_word(words[--count]);
    begin_quick(cen_strategy_round_robin(), 3);
    expect(cen_set_at_door_(router) != NULL);
    end_router();
}
