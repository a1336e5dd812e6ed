/* SPDX-License-Identifier: MIT */
/*
 * The wait list with both kinds of waiter. Most tests use places without
 * threads and look at their verdicts; the last ones use a toy semaphore built
 * on the list as its users are meant to build on it.
 */
#include "sync/waitlist.h"

#include "support/world.h"

enum { FIRST = CENI_VERDICT_CASE };

/* ---- A toy semaphore ------------------------------------------------------------ */

typedef struct semaphore {
    ceni_waitlist list;
    _Atomic uint32_t permits;
} semaphore;

static semaphore the_semaphore;

static bool take_permit(semaphore *s)
{
    uint32_t permits = ceni_load_seq_cst(&s->permits);
    while (permits > 0)
        if (ceni_cas_seq_cst(&s->permits, &permits, permits - 1)) return true;
    return false;
}

static bool serve_permit(ceni_waitlist *list, ceni_place *place)
{
    (void)place;
    return take_permit(CENI_LIST_ENTRY(list, semaphore, list));
}

static void begin(uint32_t permits)
{
    ceni_waitlist_init(&the_semaphore.list, NULL, serve_permit);
    ceni_store_seq_cst(&the_semaphore.permits, permits);
}

static void release(uint32_t count)
{
    ceni_add_seq_cst(&the_semaphore.permits, count);
    ceni_waitlist_nudge(&the_semaphore.list);
}

/* The heir's duty: having looked, it resigns and sees to the others. */
static void resign(semaphore *s)
{
    ceni_waitlist_resign(&s->list);
    if (ceni_load_seq_cst(&s->permits) > 0) ceni_waitlist_nudge(&s->list);
}

static bool acquire_until(semaphore *s, int64_t moment)
{
    for (;;) {
        if (take_permit(s)) return true;
        ceni_waiter self;
        ceni_place place;
        ceni_waiter_init_thread(&self);
        ceni_waitlist_join(&s->list, &place, &self, 0, NULL);
        if (ceni_load_seq_cst(&s->permits) == 0) ceni_waiter_park(&self, moment);
        ceni_waiter_settle(&self, CENI_VERDICT_WITHDRAWN);
        bool heir = ceni_waitlist_leave(&s->list, &place);
        bool taken = take_permit(s);
        if (heir) resign(s);
        if (taken) return true;
        if (ceni_clock_now() >= moment) return false;
    }
}

/* ---- A pending waiter --------------------------------------------------------------- */

typedef struct request {
    ceni_waiter waiter;
    ceni_place place;
    int delivered;
    uint32_t verdict;
} request;

static request *delivered[16];
static int deliveries;

static void on_delivery(ceni_waiter *waiter)
{
    request *mine = CENI_LIST_ENTRY(waiter, request, waiter);
    expect(ceni_mutex_try_lock(the_semaphore.list.mutex, CENI_RANK_WAITLIST)); /* no lock is held */
    ceni_mutex_unlock(the_semaphore.list.mutex, CENI_RANK_WAITLIST);
    mine->verdict = ceni_load_acquire(&waiter->verdict);
    mine->delivered++;
    delivered[deliveries++] = mine;
    memset(&mine->waiter, 0xDD, sizeof mine->waiter); /* it is the caller's again */
    memset(&mine->place, 0xDD, sizeof mine->place);
}

static void ask(request *one, uint32_t number)
{
    *one = (request){.delivered = 0};
    ceni_waiter_init_pending(&one->waiter, on_delivery);
    ceni_waitlist_join(&the_semaphore.list, &one->place, &one->waiter, number, NULL);
    if (ceni_load_seq_cst(&the_semaphore.permits) > 0) ceni_waitlist_nudge(&the_semaphore.list);
}

/* A thread's place without the thread. */
typedef struct standing {
    ceni_waiter waiter;
    ceni_place place;
} standing;

static void stand(standing *one, uint32_t number)
{
    ceni_waiter_init_thread(&one->waiter);
    ceni_waitlist_join(&the_semaphore.list, &one->place, &one->waiter, number, NULL);
}

static uint32_t verdict_of(standing *one)
{
    return ceni_load_acquire(&one->waiter.verdict);
}

/* ---- Places ----------------------------------------------------------------------------- */

/* guarantees: waitlist.count */
TEST(the_count_follows_joining_and_leaving_in_any_order)
{
    begin(0);
    standing all[4];
    expect_equal(ceni_waitlist_count(&the_semaphore.list), 0);
    for (uint32_t i = 0; i < 4; i++) {
        stand(&all[i], i);
        expect_equal(ceni_waitlist_count(&the_semaphore.list), i + 1);
    }
    static const int order[] = {2, 0, 3, 1};
    for (unsigned i = 0; i < 4; i++) {
        expect(!ceni_waitlist_leave(&the_semaphore.list, &all[order[i]].place));
        expect(!ceni_waitlist_leave(&the_semaphore.list, &all[order[i]].place)); /* twice is harmless */
        expect_equal(ceni_waitlist_count(&the_semaphore.list), 3 - i);
    }
}

/* guarantees: waitlist.verdict */
TEST(a_verdict_is_given_once)
{
    ceni_waiter waiter;
    ceni_waiter_init_thread(&waiter);
    expect_equal(ceni_load_acquire(&waiter.verdict), CENI_VERDICT_OPEN);
    expect(ceni_waiter_settle(&waiter, FIRST + 4));
    expect(!ceni_waiter_settle(&waiter, CENI_VERDICT_WITHDRAWN));
    expect_equal(ceni_waiter_park(&waiter, CENI_FOREVER), FIRST + 4); /* does not wait any more */
}

/* guarantees: park.deadline */
TEST(park_ends_at_its_moment_with_the_verdict_still_open)
{
    ceni_waiter waiter;
    ceni_waiter_init_thread(&waiter);
    int64_t moment = ceni_clock_now() + 12345;
    expect_equal(ceni_waiter_park(&waiter, moment), CENI_VERDICT_OPEN);
    expect_equal(ceni_clock_now(), moment);
}

/* ---- Threads ------------------------------------------------------------------------------ */

/* guarantees: waitlist.order */
TEST(threads_are_called_in_the_order_they_joined_each_after_the_one_before_resigned)
{
    begin(0);
    standing all[3];
    for (uint32_t i = 0; i < 3; i++) stand(&all[i], 10 + i);
    for (uint32_t i = 0; i < 3; i++) {
        for (int again = 0; again < 3; again++) ceni_waitlist_nudge(&the_semaphore.list);
        expect_equal(verdict_of(&all[i]), FIRST + 10 + i);
        expect_equal(ceni_waitlist_count(&the_semaphore.list), 2 - i);
        if (i < 2) expect_equal(verdict_of(&all[i + 1]), CENI_VERDICT_OPEN); /* while there is an heir */
        expect(ceni_waitlist_leave(&the_semaphore.list, &all[i].place));
        ceni_waitlist_resign(&the_semaphore.list);
    }
    ceni_waitlist_nudge(&the_semaphore.list); /* nobody is left */
    expect_equal(ceni_waitlist_count(&the_semaphore.list), 0);
}

/* guarantees: waitlist.heir */
TEST(leave_tells_the_heir_and_nobody_else_that_a_resign_is_due)
{
    begin(0);
    standing all[3];
    for (uint32_t i = 0; i < 3; i++) stand(&all[i], i);
    ceni_waitlist_nudge(&the_semaphore.list);
    expect(!ceni_waitlist_leave(&the_semaphore.list, &all[2].place));
    expect(!ceni_waitlist_leave(&the_semaphore.list, &all[1].place));
    expect(ceni_waitlist_leave(&the_semaphore.list, &all[0].place));
    ceni_waitlist_resign(&the_semaphore.list);
}

/* guarantees: waitlist.heir */
TEST(a_thread_that_is_on_its_way_out_is_passed_over)
{
    begin(0);
    standing all[3];
    for (uint32_t i = 0; i < 3; i++) stand(&all[i], i);
    expect(ceni_waiter_settle(&all[0].waiter, CENI_VERDICT_WITHDRAWN)); /* its deadline has passed */
    expect(ceni_waiter_settle(&all[1].waiter, CENI_VERDICT_WITHDRAWN));
    ceni_waitlist_nudge(&the_semaphore.list);
    expect_equal(verdict_of(&all[2]), FIRST + 2);
    expect_equal(verdict_of(&all[0]), CENI_VERDICT_WITHDRAWN);
    expect(!ceni_waitlist_leave(&the_semaphore.list, &all[0].place));
    expect(!ceni_waitlist_leave(&the_semaphore.list, &all[1].place));
    expect(ceni_waitlist_leave(&the_semaphore.list, &all[2].place));
    ceni_waitlist_resign(&the_semaphore.list);
}

/* guarantees: waitlist.verdict */
TEST(a_waiter_that_stands_in_two_lists_is_called_from_one_of_them)
{
    ceni_waitlist left, right;
    ceni_waitlist_init(&left, NULL, NULL);
    ceni_waitlist_init(&right, NULL, NULL);
    ceni_waiter waiter;
    ceni_place places[2];
    ceni_waiter_init_thread(&waiter);
    ceni_waitlist_join(&left, &places[0], &waiter, 0, NULL);
    ceni_waitlist_join(&right, &places[1], &waiter, 1, NULL);
    ceni_waitlist_nudge(&right);
    ceni_waitlist_nudge(&left);
    expect_equal(ceni_load_acquire(&waiter.verdict), FIRST + 1);
    expect(!ceni_waitlist_leave(&left, &places[0]));
    expect(ceni_waitlist_leave(&right, &places[1]));
    ceni_waitlist_resign(&right);
    ceni_waiter next; /* the list that called in vain has no heir and calls again */
    ceni_waiter_init_thread(&next);
    ceni_waitlist_join(&left, &places[0], &next, 5, NULL);
    ceni_waitlist_nudge(&left);
    expect_equal(ceni_load_acquire(&next.verdict), FIRST + 5);
    expect(ceni_waitlist_leave(&left, &places[0]));
}

/* guarantees: waitlist.verdict */
TEST(two_lists_can_share_one_lock)
{
    ceni_waitlist left, right;
    ceni_waitlist_init(&left, NULL, NULL);
    ceni_waitlist_init(&right, left.mutex, NULL);
    ceni_waitlist_lock(&right);
    expect(ceni_load_relaxed(&left.own_mutex.word) != 0);
    ceni_waitlist_unlock(&right);
    expect_equal(ceni_load_relaxed(&left.own_mutex.word), 0);
}

/* ---- Pending waiters ------------------------------------------------------------------------- */

/* guarantees: waitlist.order, waitlist.delivery */
TEST(pending_waiters_are_served_in_order_and_as_many_as_there_is_something_for)
{
    begin(0);
    request all[5];
    for (uint32_t i = 0; i < 5; i++) ask(&all[i], i);
    expect(deliveries == 0 && ceni_waitlist_count(&the_semaphore.list) == 5);
    release(2);
    expect_equal(deliveries, 2);
    expect_equal(ceni_waitlist_count(&the_semaphore.list), 3);
    release(4);
    expect_equal(deliveries, 5);
    for (uint32_t i = 0; i < 5; i++) {
        expect(delivered[i] == &all[i]);
        expect_equal(all[i].delivered, 1);
        expect_equal(all[i].verdict, FIRST + i);
    }
    expect_equal(ceni_load_seq_cst(&the_semaphore.permits), 1);
}

/* guarantees: waitlist.L3 */
TEST(a_pending_waiter_that_finds_something_at_once_is_delivered_by_its_own_nudge)
{
    begin(1);
    request one;
    ask(&one, 3);
    expect(one.delivered == 1 && one.verdict == FIRST + 3);
    expect_equal(ceni_load_seq_cst(&the_semaphore.permits), 0);
}

/* guarantees: waitlist.cancel */
TEST(a_cancelled_waiter_never_gets_anything_and_a_served_one_cannot_be_cancelled)
{
    begin(0);
    request first, second;
    ask(&first, 0);
    ask(&second, 1);
    expect(ceni_waitlist_cancel(&the_semaphore.list, &first.place));
    expect(!ceni_waitlist_cancel(&the_semaphore.list, &first.place)); /* it was cancelled before */
    expect_equal(ceni_waitlist_count(&the_semaphore.list), 1);
    release(2);
    expect(first.delivered == 0 && second.delivered == 1);
    expect_equal(ceni_load_seq_cst(&the_semaphore.permits), 1);
}

static int cancels_that_came_too_late;

/* The first of two served together tries to cancel the second. */
static request *victim;
static void cancel_in_delivery(ceni_waiter *waiter)
{
    (void)waiter;
    cancels_that_came_too_late += !ceni_waitlist_cancel(&the_semaphore.list, &victim->place);
}

/* guarantees: waitlist.cancel */
TEST(a_cancel_between_being_served_and_being_told_comes_too_late)
{
    begin(0);
    request first = {.delivered = 0}, second;
    ceni_waiter_init_pending(&first.waiter, cancel_in_delivery);
    ceni_waitlist_join(&the_semaphore.list, &first.place, &first.waiter, 0, NULL);
    ask(&second, 1);
    victim = &second;
    release(2);
    expect_equal(cancels_that_came_too_late, 1);
    expect_equal(second.delivered, 1);
    expect_equal(ceni_load_seq_cst(&the_semaphore.permits), 0);
}

static void ask_again(ceni_waiter *waiter)
{
    request *mine = CENI_LIST_ENTRY(waiter, request, waiter);
    int before = mine->delivered + 1;
    if (before < 4) {
        ceni_waiter_init_pending(&mine->waiter, ask_again);
        ceni_waitlist_join(&the_semaphore.list, &mine->place, &mine->waiter, 0, NULL);
    }
    mine->delivered = before;
}

/* guarantees: waitlist.delivery */
TEST(a_delivery_may_use_its_waiter_to_ask_again)
{
    begin(0);
    request one = {.delivered = 0};
    ceni_waiter_init_pending(&one.waiter, ask_again);
    ceni_waitlist_join(&the_semaphore.list, &one.place, &one.waiter, 0, NULL);
    for (int i = 1; i <= 4; i++) {
        release(1);
        expect_equal(one.delivered, i);
    }
    expect_equal(ceni_waitlist_count(&the_semaphore.list), 0);
}

/* guarantees: waitlist.order */
TEST(threads_and_pending_waiters_stand_in_one_order)
{
    begin(0);
    request before, after;
    standing between;
    ask(&before, 0);
    stand(&between, 1);
    ask(&after, 2);
    release(3);
    expect(before.delivered == 1 && after.delivered == 0); /* the heir comes before it */
    expect_equal(verdict_of(&between), FIRST + 1);
    expect(ceni_waitlist_leave(&the_semaphore.list, &between.place));
    expect(take_permit(&the_semaphore));
    resign(&the_semaphore);
    expect_equal(after.delivered, 1);
    expect_equal(ceni_load_seq_cst(&the_semaphore.permits), 0);
}

/* guarantees: waitlist.heir */
TEST(an_heir_that_takes_nothing_leaves_it_to_the_next)
{
    begin(0);
    standing first;
    request second;
    stand(&first, 0);
    ask(&second, 1);
    release(1);
    expect_equal(second.delivered, 0);
    expect(ceni_waitlist_leave(&the_semaphore.list, &first.place)); /* its deadline has passed, say */
    resign(&the_semaphore);
    expect_equal(second.delivered, 1);
}

/* ---- Sending away -------------------------------------------------------------------------------- */

static void park_for_ever(void *argument)
{
    standing *mine = argument;
    stand(mine, 0);
    expect_equal(ceni_waiter_park(&mine->waiter, CENI_FOREVER), CENI_VERDICT_WITHDRAWN);
    expect(!ceni_waitlist_leave(&the_semaphore.list, &mine->place));
}

/* guarantees: waitlist.send-away */
TEST(sending_away_wakes_threads_and_delivers_to_pending_waiters_that_there_is_nothing)
{
    begin(0);
    request pending[2];
    standing sleeping[2];
    ceni_thread threads[2];
    for (uint32_t i = 0; i < 2; i++) {
        ask(&pending[i], i);
        threads[i] = start("sleeper", park_for_ever, &sleeping[i]);
        ceni_world_settle();
    }
    expect_equal(ceni_waitlist_count(&the_semaphore.list), 4);
    ceni_waitlist_send_away(&the_semaphore.list);
    expect_equal(ceni_waitlist_count(&the_semaphore.list), 0);
    for (int i = 0; i < 2; i++) {
        join(threads[i]);
        expect(pending[i].delivered == 1 && pending[i].verdict == CENI_VERDICT_WITHDRAWN);
    }
    ceni_waitlist_send_away(&the_semaphore.list); /* nobody is there */
}

/* ---- The toy semaphore at work --------------------------------------------------------------------- */

typedef struct worker {
    int64_t patience;
    int taken, missed;
} worker;

static int inside, most_inside;

static void work(void *argument)
{
    worker *mine = argument;
    for (int i = 0; i < 20; i++) {
        if (!acquire_until(&the_semaphore, ceni_clock_now() + mine->patience)) {
            mine->missed++;
            continue;
        }
        mine->taken++;
        inside++;
        if (inside > most_inside) most_inside = inside;
        ceni_sleep_until(ceni_clock_now() + 1000);
        inside--;
        release(1);
    }
}

/* guarantees: waitlist.L3 */
TEST(a_semaphore_of_patient_impatient_and_pending_waiters_loses_no_permit)
{
    enum { THREADS = 8 };
    begin(2);
    worker workers[THREADS];
    ceni_thread threads[THREADS];
    request requests[4];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.patience = i % 2 ? 1500 : INT64_C(1000000000)};
        threads[i] = start("worker", work, &workers[i]);
    }
    for (uint32_t i = 0; i < 4; i++) {
        ceni_sleep_until(ceni_clock_now() + 1700);
        ask(&requests[i], i);
        while (!requests[i].delivered) ceni_sleep_until(ceni_clock_now() + 500);
        release(1);
    }
    for (int i = 0; i < THREADS; i++) join(threads[i]);
    for (int i = 0; i < THREADS; i++) expect_equal(workers[i].taken + workers[i].missed, 20);
    for (int i = 0; i < THREADS; i += 2) expect_equal(workers[i].taken, 20); /* the patient ones */
    expect(most_inside == 2 && deliveries == 4);
    expect_equal(ceni_load_seq_cst(&the_semaphore.permits), 2);
    expect_equal(ceni_waitlist_count(&the_semaphore.list), 0);
}

/* guarantees: waitlist.order */
TEST(sleeping_threads_get_permits_in_the_order_they_came)
{
    begin(0);
    worker workers[4];
    ceni_thread threads[4];
    for (int i = 0; i < 4; i++) {
        workers[i] = (worker){.patience = INT64_C(1000000000)};
        threads[i] = start("worker", work, &workers[i]);
        ceni_world_settle();
    }
    for (int i = 0; i < 4; i++) {
        expect_equal(ceni_waitlist_count(&the_semaphore.list), 4 - (unsigned)i);
        release(1);
        ceni_world_settle();
        expect_equal(workers[i].taken, 1);
        for (int later = i + 1; later < 4; later++) expect_equal(workers[later].taken, 0);
    }
    for (int i = 0; i < 4; i++) join(threads[i]);
    expect_equal(ceni_load_seq_cst(&the_semaphore.permits), 4);
}
