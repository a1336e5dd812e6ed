/* SPDX-License-Identifier: MIT */
/* What a loop gives goes to its own first, within the bound: askers who are told on two threads, by two inboxes. */
#include "unit/pool/askers.h"
#include "unit/pool/scripted.h"

enum { US = 1000, OVERTAKE = 1000 * US, THEIRS = 3 };

static workshop shop;
static cen_pool *pool;
static cen_inbox *here, *there;
static cen_lease held;
static asker theirs[THEIRS], ours[2];

static void ask_by(asker *self, cen_inbox *inbox)
{
    ready(self, cen_inbox_executor(inbox));
    expect_equal(cen_pool_take_async(pool, CEN_NEVER, &self->take), CEN_OK);
}

/* The thread that polls an inbox is where its jobs run, until another does. */
static void ask_as_another_loop(void *count)
{
    cen_inbox_poll(there, 0);
    for (int i = 0; i < *(int *)count; i++) ask_by(&theirs[i], there);
}

/* One object, which is held here; so many of another loop wait for it. */
static void prepare(int64_t max_barging_ns, int count)
{
    told_so_far = 0;
    shop = (workshop){0};
    pool = make_pool(.max = 1, .driver = driver_of(&shop), .max_barging_ns = max_barging_ns);
    held = take_now(pool);
    expect_equal(cen_inbox_new(NULL, &here, NULL), CEN_OK);
    expect_equal(cen_inbox_new(NULL, &there, NULL), CEN_OK);
    cen_inbox_poll(here, 0);
    ceni_world_advance(OVERTAKE); /* the world begins at an early hour */
    ceni_thread another = start("another loop", ask_as_another_loop, &count);
    ceni_thread_join(&another);
}

static void finish(void)
{
    expect_sound(pool);
    free_pool(pool);
    expect_equal(cen_inbox_free(here), CEN_OK);
    expect_equal(cen_inbox_free(there), CEN_OK);
}

static bool is_lent(const asker *self)
{
    return cen_future_is_done(&self->take.future);
}

/* Ours asks again, and gives what it has; true: it passed them once more. */
static bool go_round(int round)
{
    asker *next = &ours[round % 2], *last = &ours[(round + 1) % 2];
    ask_by(next, here);
    if (round == 0) give_back(&held);
    else give_asked(last);
    if (!is_lent(next)) return false;
    expect_equal(cen_inbox_poll(here, 0), 1);
    return true;
}

/* Theirs are served in their order, by gives of this thread, which now has nobody else to give to. */
static void serve_theirs(int from, int count)
{
    for (int i = from; i < count; i++) {
        expect(is_lent(&theirs[i]));
        expect_equal(cen_inbox_poll(there, 0), 1);
        expect_told(&theirs[i], CEN_OK);
        give_asked(&theirs[i]);
    }
}

/* guarantees: pool.L4 */
TEST(L4_what_a_loop_gives_goes_to_its_own_before_one_of_another)
{
    prepare(OVERTAKE, 1);
    expect(go_round(0));
    expect_pending(&theirs[0]);
    give_asked(&ours[0]);
    serve_theirs(0, 1);
    finish();
}

/* guarantees: pool.L4 */
TEST(L4_neighbours_pass_for_half_of_the_bound_and_then_all_are_served_who_were_there)
{
    prepare(OVERTAKE, THEIRS);
    int round = 0;
    for (; round < 5; round++) {
        expect(go_round(round));
        ceni_world_advance(100 * US);
    }
    expect(!go_round(round)); /* one of ours is the last in line now */
    expect(is_lent(&theirs[0]) && !is_lent(&theirs[1]));
    serve_theirs(0, THEIRS);
    expect_equal(cen_inbox_poll(here, 0), 1);
    expect_told(&ours[round % 2], CEN_OK);
    give_asked(&ours[round % 2]);
    finish();
}

/* Ours go round for ever; one of theirs comes in the midst of a time of passing, and sees the rest of that and another. */
/* guarantees: pool.L4 */
TEST(L4_one_who_waits_is_passed_by_neighbours_for_no_longer_than_the_bound_in_all)
{
    enum { STEP = 50 * US };
    asker late;
    prepare(OVERTAKE, 1);
    int round = 0, passed = 0;
    for (; round < 4; round++) {
        expect(go_round(round));
        ceni_world_advance(STEP);
    }
    int64_t came = cen_clock();
    ask_by(&late, there);
    while (!is_lent(&late)) {
        expect(cen_clock() - came <= OVERTAKE);
        passed += go_round(round);
        ceni_world_advance(STEP);
        if (is_lent(&ours[round % 2])) {
            round++;
        } else if (!is_lent(&late)) { /* theirs[0] has it, and gives: to one of ours again, because a new time begins */
            serve_theirs(0, 1);
            expect_equal(cen_inbox_poll(here, 0), 1);
            round++;
        }
    }
    expect(passed >= 12); /* more than one time of passing */
    expect_equal(cen_inbox_poll(there, 0), 1);
    give_asked(&late);
    expect_equal(cen_inbox_poll(here, 0), 1);
    give_asked(&ours[round % 2]);
    finish();
}

/* guarantees: pool.L4 */
TEST(L4_with_overtaking_off_neighbours_do_not_pass)
{
    prepare(CEN_NONE, 1);
    expect(!go_round(0));
    serve_theirs(0, 1);
    expect_equal(cen_inbox_poll(here, 0), 1);
    give_asked(&ours[0]);
    finish();
}

TEST(one_who_is_told_inline_is_not_passed_since_that_wakes_nobody)
{
    asker first;
    prepare(OVERTAKE, 0);
    ask(&first, pool, CEN_NEVER);
    expect(!go_round(0));
    expect_told(&first, CEN_OK);
    give_asked(&first);
    expect_equal(cen_inbox_poll(here, 0), 1);
    give_asked(&ours[0]);
    finish();
}

TEST(neighbours_do_not_pass_while_some_have_another_priority)
{
    asker low;
    prepare(OVERTAKE, 1);
    ready(&low, cen_inline());
    low.take.priority = CEN_PRIORITY_LOW;
    expect_equal(cen_pool_take_async(pool, CEN_NEVER, &low.take), CEN_OK);
    expect(!go_round(0));
    serve_theirs(0, 1);
    expect_equal(cen_inbox_poll(here, 0), 1);
    give_asked(&ours[0]);
    expect_told(&low, CEN_OK);
    give_asked(&low);
    finish();
}
