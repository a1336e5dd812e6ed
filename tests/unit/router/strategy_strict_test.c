/* SPDX-License-Identifier: MIT */
/*
 * Strict round robin: between two picks of a member every other that was there all the
 * time is picked exactly once, while members come and go, beside the cheap ones, which
 * skip. The order of picks of several threads is known from inside: a strategy that
 * hands on to the strict one and writes down what it picks, both under one lock.
 */
#include <pthread.h>

#include "unit/router/strategies.h"

/* ---- A strategy that writes down --------------------------------------------------------- */

enum { LOG = 200000 };
static unsigned picks[LOG];
static unsigned noted;
static const cen_strategy_type *inner;
static pthread_mutex_t note_lock = PTHREAD_MUTEX_INITIALIZER;

static cen_member *pick_and_note(void *state, const cen_member_set *set, const cen_route_hint *pick, bool used)
{
    pthread_mutex_lock(&note_lock);
    cen_member *member = inner->pick(state, set, pick, used);
    if (noted < LOG) picks[noted++] = number_of(cen_member_value(member));
    pthread_mutex_unlock(&note_lock);
    return member;
}

/* How many so far, while others go on. */
static unsigned noted_now(void)
{
    pthread_mutex_lock(&note_lock);
    unsigned now = noted;
    pthread_mutex_unlock(&note_lock);
    return now;
}

static cen_strategy noting(cen_strategy strategy)
{
    static cen_strategy_type type;
    inner = strategy.type;
    type = *inner;
    type.pick = pick_and_note;
    return (cen_strategy){.type = &type, .argument = strategy.argument};
}

/* How often the order of those below `stayed`, who were there all the time, was not the one of the round before. */
static unsigned count_breaks(unsigned stayed)
{
    static unsigned filtered[LOG];
    unsigned count = 0, breaks = 0;
    for (unsigned i = 0; i < noted; i++)
        if (picks[i] < stayed) filtered[count++] = picks[i];
    expect(count > 2 * stayed);
    for (unsigned i = 0; i < stayed; i++)
        for (unsigned k = 0; k < i; k++) breaks += filtered[i] == filtered[k];
    for (unsigned i = stayed; i < count; i++) breaks += filtered[i] != filtered[i - stayed];
    return breaks;
}

/* ---- 10 members shrink to 8 ---------------------------------------------------------------- */

/* Two leave in the middle of a round, such that members below 8 stay; they are added first, so they go from the front. */
static unsigned breaks_when_ten_shrink_to_eight(cen_strategy strategy)
{
    noted = 0;
    make_runtime();
    router = make_router(noting(strategy));
    members[8] = add_to(router, 8, 0);
    members[9] = add_to(router, 9, 0);
    for (unsigned i = 0; i < 8; i++) members[i] = add_to(router, i, 0);
    for (int i = 0; i < 25; i++) peek();
    expect_equal(cen_member_down(members[8], NULL), CEN_OK);
    expect_equal(cen_member_remove(members[9]), CEN_OK);
    for (int i = 0; i < 40; i++) peek();
    unsigned breaks = count_breaks(8);
    end_router();
    return breaks;
}

/* guarantees: router.round-robin */
TEST(when_ten_shrink_to_eight_the_shared_counter_skips_and_the_strict_one_does_not)
{
    uint64_t first = 0;
    cen_strategy shared = cen_strategy_shared_round_robin();
    shared.argument = &first;
    expect(breaks_when_ten_shrink_to_eight(shared) > 0);
    expect_equal(breaks_when_ten_shrink_to_eight(cen_strategy_strict_round_robin()), 0);
}

/* It begins anywhere, and if it is at one of the two that leave no one is skipped: 40 times so has probability 1e-27. */
TEST(when_ten_shrink_to_eight_the_one_of_each_thread_skips_too)
{
    unsigned breaks = 0;
    for (int i = 0; i < 40; i++) breaks += breaks_when_ten_shrink_to_eight(cen_strategy_round_robin());
    expect(breaks > 0);
}

/* ---- Against a model --------------------------------------------------------------------------- */

enum { SIDE = 12 };
static unsigned line[SIDE], length; /* the numbers of those who are up, the next first */

static void line_remove(unsigned at)
{
    memmove(&line[at], &line[at + 1], (--length - at) * sizeof *line);
}

static unsigned line_turn(unsigned at)
{
    unsigned number = line[at];
    line_remove(at);
    line[length++] = number;
    return number;
}

static void join_or_leave(unsigned number)
{
    for (unsigned i = 0; i < length; i++) {
        if (line[i] != number) continue;
        if (length == 1) return;
        line_remove(i);
        expect_equal(cen_member_down(members[number], NULL), CEN_OK);
        return;
    }
    line[length++] = number;
    expect_equal(cen_member_up(members[number], NULL), CEN_OK);
}

/* guarantees: router.round-robin */
TEST(the_one_picked_longest_ago_is_picked_under_random_joins_and_leaves)
{
    uint64_t seed = test_seed();
    begin_with(cen_strategy_strict_round_robin(), SIDE);
    for (length = 0; length < SIDE; length++) line[length] = length;
    for (int i = 0; i < 100 * 1000; i++) {
        uint64_t dice = test_random(&seed);
        if (dice % 8 == 0) join_or_leave((unsigned)(dice >> 8) % SIDE);
        else expect_equal(dice % 2 ? peek() : use(), line_turn(0));
        if (i % 100 == 0) cen_runtime_poll(runtime);
    }
    end_router();
}

/* One who is to be avoided keeps its turn, and the one after it is picked. */
TEST(who_is_avoided_is_the_next_to_be_picked)
{
    begin_with(cen_strategy_strict_round_robin(), 3);
    cen_route_hint pick = {.avoid = members[0]};
    expect_equal(peek_from(router, &pick), 1);
    expect_equal(peek_from(router, &pick), 2);
    expect_equal(peek_from(router, &pick), 1);
    expect_equal(peek(), 0);
    expect_equal(peek(), 2);
    expect_equal(peek(), 1);
    end_router();
}

TEST(who_is_to_be_avoided_is_picked_if_there_is_nobody_else)
{
    begin_with(cen_strategy_strict_round_robin(), 2);
    expect_equal(cen_member_down(members[1], NULL), CEN_OK);
    cen_route_hint pick = {.avoid = members[0]};
    for (int i = 0; i < 4; i++) expect_equal(peek_from(router, &pick), 0);
    end_router();
}

/* ---- With several threads ------------------------------------------------------------------------ */

static _Atomic bool stop;

static void pick_until_stopped(void *argument)
{
    (void)argument;
    while (!atomic_load(&stop)) use();
}

/* guarantees: router.round-robin */
TEST(several_threads_together_go_round_strictly_while_members_come_and_go)
{
    enum { THREADS = 3, STAYERS = 5, COMERS = 4 };
    ceni_thread threads[THREADS];
    bool up[COMERS] = {true, true, true, true};
    uint64_t seed = test_seed();
    cen_router_options o = CEN_ROUTER_OPTIONS(.strategy = noting(cen_strategy_strict_round_robin()));
    expect_equal(cen_router_new(&o, &router, NULL), CEN_OK);
    for (unsigned i = 0; i < STAYERS + COMERS; i++) members[i] = add_to(router, i, 0);
    for (int i = 0; i < THREADS; i++) start_thread(&threads[i], pick_until_stopped, NULL);
    /* on a busy machine threads may not have run yet */
    for (int i = 0; i < 2000 || noted_now() < 200 * (STAYERS + COMERS); i++) {
        unsigned which = (unsigned)(test_random(&seed) % COMERS);
        if (up[which]) expect_equal(cen_member_down(members[STAYERS + which], NULL), CEN_OK);
        else expect_equal(cen_member_up(members[STAYERS + which], NULL), CEN_OK);
        up[which] = !up[which];
        ceni_thread_yield();
    }
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++) ceni_thread_join(&threads[i]);
    expect_equal(count_breaks(STAYERS), 0);
    expect_equal(cen_router_free(router), CEN_OK);
}
