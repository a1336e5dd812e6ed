/* SPDX-License-Identifier: MIT */
/* A worker's deque under every schedule: its owner, thieves, and one who withdraws. Each job carries a number that is
 * written and read by watched copies, so that it must come with the job. */
#include "crew/deque.h"
#include "support/world.h"

enum { JOBS = 8 };

typedef struct parcel {
    cen_job job; /* first */
    int number;
} parcel;

static ceni_deque deque;
static parcel parcels[JOBS];
static _Atomic uint32_t seen[JOBS]; /* how often each came out */

static void begin(void)
{
    memset(&deque, 0, sizeof deque);
    memset(parcels, 0, sizeof parcels);
    memset(seen, 0, sizeof seen);
}

static bool push(int i)
{
    ceni_watch_copy(&parcels[i].number, &i, sizeof i);
    return ceni_deque_push(&deque, &parcels[i].job);
}

static void open_parcel(cen_job *job)
{
    int number = -1;
    ceni_watch_copy(&number, &((parcel *)(void *)job)->number, sizeof number);
    expect(job == &parcels[number].job);
    expect_equal(ceni_add_relaxed(&seen[number], 1), 0); /* carries nothing: the deque alone orders what is read */
}

static uint32_t times(int i)
{
    return ceni_load_relaxed(&seen[i]); /* of threads that were joined; carries nothing */
}

static void pop_all(void)
{
    for (cen_job *job; (job = ceni_deque_pop(&deque));) open_parcel(job);
}

static void steal_once(void *unused)
{
    (void)unused;
    cen_job *jobs[JOBS];
    uint32_t got = ceni_deque_steal(&deque, jobs, JOBS);
    for (uint32_t i = 0; i < got; i++) open_parcel(jobs[i]);
}

static void steal_twice(void *unused)
{
    steal_once(unused);
    steal_once(unused);
}

/* guarantees: crew.once */
EXPLORE(the_owner_and_a_thief_take_each_job_once, 4)
{
    begin();
    ceni_thread thief = start("thief", steal_once, NULL);
    expect(push(0) && push(1));
    pop_all();
    join(thief);
    expect(times(0) == 1 && times(1) == 1);
    expect(!ceni_deque_has_any(&deque));
}

/* guarantees: crew.once */
EXPLORE(the_owner_and_two_thieves_take_each_job_once, 3)
{
    begin();
    expect(push(0) && push(1));
    ceni_thread one = start("one", steal_once, NULL), two = start("two", steal_once, NULL);
    expect(push(2));
    pop_all();
    join(one);
    join(two);
    for (int i = 0; i < 3; i++) expect_equal(times(i), 1);
}

/* The cells of the first round are filled again while a thief still looks at them. */
/* guarantees: crew.once */
EXPLORE(a_deque_that_comes_round_under_a_thief_loses_nothing_and_gives_nothing_twice, 3)
{
    begin();
    expect(push(0) && push(1) && push(2));
    ceni_thread thief = start("thief", steal_twice, NULL);
    cen_job *job = ceni_deque_pop(&deque);
    if (job) open_parcel(job);
    job = ceni_deque_pop(&deque);
    if (job) open_parcel(job);
    expect(push(3) && push(4));
    bool last = push(5);
    pop_all();
    join(thief);
    for (int i = 0; i < 5; i++) expect_equal(times(i), 1);
    expect_equal(times(5), last);
}

/* What a thief has taken makes room, and what is pushed there is not taken for what was. */
EXPLORE(a_full_deque_has_room_once_its_oldest_was_stolen, 4)
{
    begin();
    for (int i = 0; i < CENI_DEQUE_CELLS; i++) expect(push(i));
    ceni_thread thief = start("thief", steal_once, NULL);
    bool extra = push(CENI_DEQUE_CELLS);
    pop_all();
    expect(push(CENI_DEQUE_CELLS + 1));
    pop_all();
    join(thief);
    for (int i = 0; i < CENI_DEQUE_CELLS; i++) expect_equal(times(i), 1);
    expect_equal(times(CENI_DEQUE_CELLS), extra);
    expect_equal(times(CENI_DEQUE_CELLS + 1), 1);
}

static void withdraw_second(void *answer)
{
    bool mine = ceni_deque_withdraw(&deque, &parcels[1].job);
    int number = 1;
    if (mine) ceni_watch_copy(&number, &parcels[1].number, sizeof number); /* it comes with its bytes */
    expect_equal(number, 1);
    *(bool *)answer = mine;
}

/* guarantees: crew.cancel */
EXPLORE(what_is_withdrawn_is_taken_by_nobody_else, 4)
{
    begin();
    bool mine = false;
    ceni_thread other = start("withdraw", withdraw_second, &mine);
    expect(push(0) && push(1) && push(2));
    pop_all();
    join(other);
    expect_equal(times(0), 1);
    expect_equal(times(1), !mine);
    expect_equal(times(2), 1);
}

/* guarantees: crew.cancel */
EXPLORE(a_thief_and_one_who_withdraws_do_not_both_have_it, 3)
{
    begin();
    bool mine = false;
    expect(push(0) && push(1) && push(2));
    ceni_thread thief = start("thief", steal_once, NULL), other = start("withdraw", withdraw_second, &mine);
    pop_all();
    join(thief);
    join(other);
    expect(times(0) == 1 && times(2) == 1);
    expect_equal(times(1), !mine);
}

/* What is pushed together becomes visible together; it is taken in its order. */
/* guarantees: crew.rough-order */
EXPLORE(many_that_are_pushed_at_once_are_stolen_from_the_oldest_on, 4)
{
    begin();
    cen_job *jobs[3];
    ceni_thread thief = start("thief", steal_once, NULL);
    for (int i = 0; i < 3; i++) {
        ceni_watch_copy(&parcels[i].number, &i, sizeof i);
        jobs[i] = &parcels[i].job;
    }
    ceni_deque_push_all(&deque, jobs, 3);
    join(thief);
    if (times(1)) expect_equal(times(0), 1);
    expect_equal(times(2), 0); /* half of them, at most */
    pop_all();
    for (int i = 0; i < 3; i++) expect_equal(times(i), 1);
}

/* ---- Lying down ----------------------------------------------------------------------- */

static _Atomic uint32_t sleeping; /* stands for the idle word */

static void lie_down(void *found)
{
    ceni_exchange_seq_cst(&sleeping, 1);
    *(bool *)found = ceni_deque_has_any(&deque);
}

/* guarantees: crew.L3 */
EXPLORE(one_who_lies_down_sees_what_was_pushed_or_is_seen_by_who_pushed, 4)
{
    begin();
    bool found = false;
    ceni_store_relaxed(&sleeping, 0); /* nobody else is there; carries nothing */
    ceni_thread other = start("sleeper", lie_down, &found);
    expect(push(0));
    bool called = ceni_load_seq_cst(&sleeping);
    join(other);
    expect(found || called);
}

static void take_one(void *unused)
{
    (void)unused;
    cen_job *jobs[1];
    if (ceni_deque_steal(&deque, jobs, 1)) open_parcel(jobs[0]);
}

/* Whatever moves meanwhile, a job that stays is never overlooked. */
/* guarantees: crew.L3 */
EXPLORE(a_look_does_not_miss_the_last_one_while_others_are_taken, 3)
{
    begin();
    for (int i = 0; i < CENI_DEQUE_CELLS; i++) expect(push(i));
    bool found = false;
    ceni_store_relaxed(&sleeping, 0); /* nobody else is there; carries nothing */
    ceni_thread thief = start("thief", take_one, NULL), other = start("sleeper", lie_down, &found);
    open_parcel(ceni_deque_pop(&deque));
    join(thief);
    join(other);
    expect(found);
}
