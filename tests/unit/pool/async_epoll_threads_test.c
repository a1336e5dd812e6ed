/* SPDX-License-Identifier: MIT */
/*
 * The loop of ask_epoll_test.c beside other threads: helpers that open for it,
 * and threads that take from the same pool and wait.
 */
#include <sched.h>
#include <semaphore.h>

#include "unit/pool/epoll_loop.h"

static sem_t opening; /* an open waits for it */
static atomic_int opens_begun;

static cen_status open_late(void *argument, void **out, cen_error *error)
{
    opens_begun++;
    while (sem_wait(&opening) != 0) continue;
    return open_connection(argument, out, error);
}

static const cen_driver_calls slow = {
    .size = sizeof slow, .open = open_late, .close = close_connection, .blocks = true};

/* The opening waits for the loop: a call that waited for the opening would never return. */
/* guarantees: epoll.never-parks */
TEST(while_open_hangs_asks_and_cancels_return_and_afterwards_all_are_served)
{
    expect_equal(sem_init(&opening, 0, 0), 0);
    begin(&slow, false, CEN_OFF);
    ask_a_thousand();
    asker given_up[10];
    for (uint32_t i = 0; i < 10; i++) ask(&given_up[i], i, cen_in_s(30), on_never);
    for (uint32_t i = 0; i < 10; i++) expect(cen_future_cancel(&given_up[i].take.future));
    while (opens_begun == 0) sched_yield();
    expect_equal(cen_inbox_poll(loop.inbox, 0), 0);
    for (int i = 0; i < CONNECTIONS; i++) sem_post(&opening);
    run_until(&loop.answered, ASKS);
    end();
}

/* All connections but one are held, and that one goes from hand to hand: each writes its name while it has it. */
enum { PAIRS = 6 };
static int order[2 * PAIRS];
static atomic_uint served;

static void sign_and_give(int name, cen_lease *lease)
{
    order[served] = name;
    served++;
    expect_equal(cen_pool_give(lease), CEN_OK);
}

static void on_turn(cen_take_op *take)
{
    expect_equal(take->future.status, CEN_OK);
    sign_and_give((int)((asker *)take)->number, &take->lease);
    loop.told++;
}

static void *wait_for_turn(void *argument)
{
    cen_lease lease;
    expect_equal(cen_pool_take(loop.pool, cen_in_s(60), &lease, NULL), CEN_OK);
    sign_and_give((int)(intptr_t)argument, &lease);
    return NULL;
}

static void await_waiting(uint32_t wanted)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    while (s.waiting < wanted) {
        sched_yield();
        expect_equal(cen_pool_stats_get(loop.pool, &s), CEN_OK);
    }
}

/* guarantees: epoll.one-queue */
TEST(L4_asks_of_a_loop_and_threads_that_wait_stand_in_one_line_and_are_served_in_its_order)
{
    pthread_t threads[PAIRS];
    begin(&quick, false, CEN_OFF);
    keep_all();
    loop.told = 0;
    for (int i = 0; i < PAIRS; i++) {
        ask(&askers[i], (uint32_t)(2 * i), cen_in_s(60), on_turn);
        expect_equal(pthread_create(&threads[i], NULL, wait_for_turn, (void *)(intptr_t)(2 * i + 1)), 0);
        await_waiting((uint32_t)(2 * i + 2));
    }
    expect_equal(cen_pool_give(&keepers[0].take.lease), CEN_OK);
    run_until(&loop.told, PAIRS);
    for (int i = 0; i < PAIRS; i++) expect_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 2 * PAIRS; i++) expect_equal(order[i], i);
    for (int i = 1; i < CONNECTIONS; i++) expect_equal(cen_pool_give(&keepers[i].take.lease), CEN_OK);
    end();
}

static atomic_int finished;

static void *take_and_give(void *argument)
{
    for (uint32_t i = 0; i < 300; i++) {
        cen_lease lease;
        expect_equal(cen_pool_take(loop.pool, cen_in_s(60), &lease, NULL), CEN_OK);
        connection *c = lease.object;
        expect_equal(c->users++, 0);
        sched_yield();
        c->users--;
        expect_equal(cen_pool_give(&lease), CEN_OK);
    }
    finished++;
    return argument;
}

/* guarantees: epoll.one-queue */
TEST(asks_of_the_loop_and_takes_of_threads_share_the_connections_and_all_are_served)
{
    pthread_t threads[2];
    begin(&quick, false, CEN_OFF);
    for (int i = 0; i < 2; i++) expect_equal(pthread_create(&threads[i], NULL, take_and_give, NULL), 0);
    for (int round = 0; round < 3 || finished < 2; round++) {
        ask_a_thousand();
        run_until(&loop.answered, ASKS);
    }
    for (int i = 0; i < 2; i++) expect_equal(pthread_join(threads[i], NULL), 0);
    end();
}
