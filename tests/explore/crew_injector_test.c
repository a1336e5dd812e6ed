/* SPDX-License-Identifier: MIT */
/* The injector under every schedule: those who put in, those who take out, a withdraw, a shut. A ring has two cells here, so
 * that the chain behind it is used. Tasks carry a number, written and read by watched copies. */
#include "crew/injector.h"
#include "crew/internal.h"
#include "support/world.h"

enum { TASKS = 6 };

typedef struct parcel {
    cen_task task; /* first */
    int number;
} parcel;

static ceni_shard shards[2];
static ceni_injector injector;
static parcel parcels[TASKS];
static _Atomic uint32_t seen[TASKS]; /* how often each came out */

static void begin(uint32_t count)
{
    memset(shards, 0, sizeof shards);
    memset(parcels, 0, sizeof parcels);
    memset(seen, 0, sizeof seen);
    injector = (ceni_injector){.count = count, .shards = shards};
    for (int i = 0; i < TASKS; i++) parcels[i].task.job_.run = ceni_task_run;
}

static bool put_as(int i, ceni_put what)
{
    cen_task *task = &parcels[i].task;
    ceni_watch_copy(&parcels[i].number, &i, sizeof i);
    ceni_load load = {.what = what, .count = 1, .tasks = &task};
    return ceni_injector_put(&injector, &load, false) != NULL;
}

/* As a submit does. */
static bool put(int i)
{
    ceni_watch_copy(&parcels[i].number, &i, sizeof i);
    return ceni_injector_put_task(&injector, &parcels[i].task);
}

static int open_parcel(cen_job *job)
{
    int number = -1;
    ceni_watch_copy(&number, &((parcel *)(void *)CENI_TASK_OF_JOB(job))->number, sizeof number);
    expect(job == &parcels[number].task.job_);
    expect_equal(ceni_add_relaxed(&seen[number], 1), 0); /* carries nothing: the injector alone orders what is read */
    return number;
}

static uint32_t times(int i)
{
    return ceni_load_relaxed(&seen[i]); /* of threads that were joined; carries nothing */
}

/* What one took, in its order. */
typedef struct taken {
    uint32_t most, count;
    int numbers[TASKS];
} taken;

static bool take_into(taken *into)
{
    cen_job *jobs[TASKS];
    uint32_t got = ceni_injector_take(&injector, 0, 1, jobs, into->most);
    for (uint32_t i = 0; i < got; i++) into->numbers[into->count++] = open_parcel(jobs[i]);
    return got > 0;
}

static void take_once(void *into)
{
    take_into(into);
}

static void take_all(taken *into)
{
    while (take_into(into)) continue;
}

/* Of one producer, whose tasks are first, first + 1, ... */
static void expect_order(const taken *from, int first, int count)
{
    int last = -1;
    for (uint32_t i = 0; i < from->count; i++) {
        if (from->numbers[i] < first || from->numbers[i] >= first + count) continue;
        expect(from->numbers[i] > last);
        last = from->numbers[i];
    }
}

static void put_one(void *number)
{
    expect(put((int)(intptr_t)number));
}

static void put_two(void *first)
{
    expect(put((int)(intptr_t)first));
    expect(put((int)(intptr_t)first + 1));
}

static void put_three(void *first)
{
    put_two(first);
    expect(put((int)(intptr_t)first + 2));
}

/* ---- Put and take ----------------------------------------------------------------------- */

/* guarantees: crew.once */
EXPLORE(what_is_put_in_while_somebody_takes_comes_out_once, 4)
{
    begin(1);
    taken mine = {.most = TASKS};
    ceni_thread other = start("put", put_two, NULL);
    take_once(&mine);
    join(other);
    take_all(&mine);
    expect(times(0) == 1 && times(1) == 1);
    expect_order(&mine, 0, 2);
    expect(!ceni_injector_has_any(&injector));
}

/* guarantees: crew.rough-order */
EXPLORE(what_goes_by_the_chain_comes_out_once_and_in_order, 3)
{
    begin(1);
    taken mine = {.most = 1};
    ceni_thread other = start("put", put_three, (void *)1);
    expect(put(0));
    take_once(&mine);
    join(other);
    take_all(&mine);
    for (int i = 0; i < 4; i++) expect_equal(times(i), 1);
    expect_order(&mine, 1, 3);
    expect(!ceni_injector_has_any(&injector));
}

/* guarantees: crew.once */
EXPLORE(what_two_put_in_comes_out_once_and_each_keeps_its_order, 3)
{
    begin(1);
    taken mine = {.most = TASKS};
    ceni_thread one = start("one", put_two, NULL), two = start("two", put_two, (void *)2);
    take_once(&mine);
    join(one);
    join(two);
    take_all(&mine);
    for (int i = 0; i < 4; i++) expect_equal(times(i), 1);
    expect_order(&mine, 0, 2);
    expect_order(&mine, 2, 2);
}

/* guarantees: crew.once */
EXPLORE(two_who_take_what_goes_by_the_chain_have_each_task_once, 3)
{
    begin(1);
    taken one = {.most = 1}, two = {.most = 2}, rest = {.most = TASKS};
    for (int i = 0; i < 4; i++) expect(put(i));
    ceni_thread a = start("one", take_once, &one), b = start("two", take_once, &two);
    expect(put(4));
    join(a);
    join(b);
    take_all(&rest);
    for (int i = 0; i < 5; i++) expect_equal(times(i), 1);
    expect_order(&rest, 0, 5);
}

/* The taker has moved head over a cell and not emptied it yet. */
/* guarantees: crew.once */
EXPLORE(a_cell_that_somebody_is_about_to_empty_is_not_filled_again, 4)
{
    begin(1);
    taken one = {.most = 1}, rest = {.most = TASKS};
    expect(put(0) && put(1));
    ceni_thread other = start("take", take_once, &one);
    expect(put(2) && put(3));
    join(other);
    take_all(&rest);
    for (int i = 0; i < 4; i++) expect_equal(times(i), 1);
}

/* guarantees: crew.once */
EXPLORE(what_two_put_into_two_shards_comes_out_once, 3)
{
    begin(2);
    taken mine = {.most = TASKS};
    ceni_thread one = start("one", put_one, NULL), two = start("two", put_one, (void *)1);
    expect(put(2));
    take_once(&mine);
    join(one);
    join(two);
    take_all(&mine);
    for (int i = 0; i < 3; i++) expect_equal(times(i), 1);
}

/* One of the two others has the same shard as this thread. Taking begins with that shard, so a task that went to the other
 * one would come last. */
/* guarantees: crew.order */
EXPLORE(what_one_thread_puts_into_an_ordered_injector_comes_out_in_its_order_whoever_holds_its_shard, 2)
{
    begin(2);
    ceni_setting_put(&injector.is_ordered, 1u);
    taken all = {.most = TASKS};
    cen_job *jobs[TASKS];
    ceni_thread one = start("one", put_one, (void *)2), two = start("two", put_one, (void *)3);
    expect(put(0) && put(1));
    join(one);
    join(two);
    for (uint32_t got; (got = ceni_injector_take(&injector, (uint32_t)ceni_thread_id(), 1, jobs, TASKS)) > 0;)
        for (uint32_t i = 0; i < got; i++) all.numbers[all.count++] = open_parcel(jobs[i]);
    expect_order(&all, 0, 2);
    expect_equal(all.count, 4);
}

/* ---- Withdraw ---------------------------------------------------------------------------- */

typedef struct withdrawal {
    int task;
    bool mine;
} withdrawal;

static void withdraw(void *argument)
{
    withdrawal *self = argument;
    self->mine = ceni_injector_withdraw(&injector, 0, &parcels[self->task].task);
}

static void withdraw_against_take(int task)
{
    begin(1);
    taken mine = {.most = 2}, rest = {.most = TASKS};
    withdrawal w = {.task = task};
    for (int i = 0; i < 4; i++) expect(put(i));
    ceni_thread other = start("withdraw", withdraw, &w);
    take_once(&mine);
    take_once(&mine);
    join(other);
    take_all(&rest);
    for (int i = 0; i < 4; i++) expect_equal(times(i), i == task ? !w.mine : 1);
    expect(!ceni_injector_has_any(&injector));
}

/* guarantees: crew.cancel */
EXPLORE(what_is_withdrawn_from_the_ring_comes_out_of_it_once, 4)
{
    withdraw_against_take(1);
}

/* guarantees: crew.cancel */
EXPLORE(what_is_withdrawn_from_the_chain_comes_out_of_it_once, 3)
{
    withdraw_against_take(2);
}

/* guarantees: crew.cancel */
EXPLORE(two_who_withdraw_one_task_do_not_both_have_it, 4)
{
    begin(1);
    withdrawal one = {.task = 2}, two = {.task = 2};
    for (int i = 0; i < 4; i++) expect(put(i));
    ceni_thread other = start("withdraw", withdraw, &one);
    withdraw(&two);
    join(other);
    expect_equal((int)one.mine + (int)two.mine, 1);
    taken rest = {.most = TASKS};
    take_all(&rest);
    for (int i = 0; i < 4; i++) expect_equal(times(i), i != 2);
}

/* A worker that ends leaves what it has to any shard: its chains are its own. */
static void withdraw_moved(int task)
{
    begin(2);
    ceni_store_relaxed(&shards[0].lock, 1u); /* so that all goes to the other; nobody else is there; carries nothing */
    for (int i = 0; i < 3; i++) expect(put(i)); /* two in the ring, one chained */
    ceni_store_relaxed(&shards[0].lock, 0u);    /* carries nothing */
    ceni_store_relaxed(&shards[1].lock, 1u);    /* carries nothing */
    for (int i = 3; i < 5; i++) expect(put(i));
    taken one = {.most = 2};
    ceni_store_relaxed(&shards[1].lock, 0u); /* carries nothing */
    cen_job *jobs[2];
    expect_equal(ceni_injector_take(&injector, 1, 1, jobs, 2), 2);
    expect_equal(ceni_injector_take(&injector, 1, 1, jobs, 1), 1); /* the chained one */
    ceni_store_relaxed(&shards[1].lock, 1u);                       /* carries nothing */
    expect(put_as(2, CENI_PUT_MOVED));                             /* into the chain of the first */
    ceni_store_relaxed(&shards[1].lock, 0u);                       /* carries nothing */
    expect(!ceni_injector_withdraw(&injector, 1, &parcels[task].task));
    expect(ceni_injector_withdraw(&injector, 0, &parcels[task].task));
    take_all(&one);
    expect(times(3) == 1 && times(4) == 1 && times(2) == 0);
    expect(!ceni_injector_has_any(&injector));
}

/* guarantees: crew.cancel */
EXPLORE(a_task_that_was_moved_is_withdrawn_from_the_chain_in_which_it_is, 1)
{
    withdraw_moved(2);
}

/* ---- Shut ----------------------------------------------------------------------------------- */

static void try_put(void *answer)
{
    *(bool *)answer = put(0);
}

/* guarantees: crew.stop */
EXPLORE(once_shut_has_returned_nothing_comes, 4)
{
    begin(2);
    bool in = false;
    ceni_thread other = start("put", try_put, &in);
    ceni_injector_shut(&injector, CENI_SHUT_OUTSIDE);
    taken before = {.most = TASKS}, after = {.most = TASKS};
    take_all(&before);
    join(other);
    take_all(&after);
    expect_equal(after.count, 0);
    expect_equal(before.count, in);
    expect(!put(1));
    expect(put_as(2, CENI_PUT_INSIDE));
    expect(put_as(3, CENI_PUT_AGAIN));
}

/* ---- Lying down ------------------------------------------------------------------------------ */

static _Atomic uint32_t sleeping; /* stands for the idle word */

static void lie_down(void *found)
{
    ceni_exchange_seq_cst(&sleeping, 1);
    *(bool *)found = ceni_injector_has_any(&injector);
}

static void put_against_sleep(int before)
{
    begin(1);
    taken mine = {.most = TASKS};
    bool found = false;
    ceni_store_relaxed(&sleeping, 0); /* nobody else is there; carries nothing */
    for (int i = 0; i < before; i++) expect(put(i));
    ceni_thread other = start("sleeper", lie_down, &found);
    if (before) take_once(&mine);
    expect(put(before));
    bool called = ceni_load_seq_cst(&sleeping);
    join(other);
    expect(found || called);
}

/* guarantees: crew.L3 */
EXPLORE(one_who_lies_down_sees_what_was_put_in_or_is_seen_by_who_put_it_in, 4)
{
    put_against_sleep(0);
}

/* guarantees: crew.L3 */
EXPLORE(one_who_lies_down_sees_what_was_chained_or_is_seen_by_who_put_it_in, 4)
{
    put_against_sleep(3);
}

/* The chain is moved to the ring meanwhile, and not all of it is taken. */
/* guarantees: crew.L3 */
EXPLORE(a_look_does_not_miss_what_is_on_its_way_from_the_chain_to_the_ring, 4)
{
    begin(1);
    taken mine = {.most = 1};
    bool found = false;
    ceni_store_relaxed(&sleeping, 0); /* nobody else is there; carries nothing */
    for (int i = 0; i < 4; i++) expect(put(i));
    take_once(&mine);
    take_once(&mine);
    ceni_thread other = start("sleeper", lie_down, &found);
    take_once(&mine);
    join(other);
    expect_equal(mine.count, 3);
    expect(found);
}
