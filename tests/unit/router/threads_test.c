/* SPDX-License-Identifier: MIT */
/* Limits and sums with threads of the system. */
#include <pthread.h>
#include <stdlib.h>

#include "unit/router/routers.h"

enum { THREADS = 4, ROUNDS = 20000, MAX = 3 };

static _Atomic uint32_t inside_of[2], most;
static _Atomic uint64_t had, refused;

static void use_in_rounds(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        cen_route route;
        if (try_route(&route) != CEN_OK) {
            ceni_add_seq_cst(&refused, 1);
            continue;
        }
        _Atomic uint32_t *count = &inside_of[(int *)route.value - values];
        uint32_t now = ceni_add_seq_cst(count, 1) + 1;
        uint32_t before = ceni_load_seq_cst(&most);
        while (now > before && !ceni_cas_seq_cst(&most, &before, now)) continue;
        if (i % 16 == 0) ceni_thread_yield();
        ceni_sub_seq_cst(count, 1);
        ceni_add_seq_cst(&had, 1);
        expect_equal(done(&route), CEN_OK);
    }
}

static void run_threads(void (*run)(void *))
{
    ceni_thread threads[THREADS];
    for (int i = 0; i < THREADS; i++) expect_equal(ceni_thread_start(&threads[i], NULL, run, NULL, NULL), CEN_OK);
    for (int i = 0; i < THREADS; i++) ceni_thread_join(&threads[i]);
}

TEST(a_max_is_never_exceeded_by_threads_and_the_sums_agree)
{
    make_router(.max_in_flight = MAX);
    add_up(0, .max_in_flight = 1);
    add_up(1);
    run_threads(use_in_rounds);
    expect(ceni_load_seq_cst(&most) <= MAX);
    expect_equal(ceni_load_seq_cst(&had) + ceni_load_seq_cst(&refused), THREADS * ROUNDS);
    expect_equal(look().uses, ceni_load_seq_cst(&had));
    expect_equal(look().empty, ceni_load_seq_cst(&refused));
    expect_equal(look().in_flight, 0);
    end_router();
}

static cen_route handed[THREADS * 100];
static _Atomic uint32_t next;

static void take_and_keep(void *unused)
{
    (void)unused;
    for (int i = 0; i < 100; i++) handed[ceni_add_seq_cst(&next, 1)] = route_now();
}

static void end_what_others_took(void *unused)
{
    (void)unused;
    for (int i = 0; i < 100; i++) expect_equal(done(&handed[ceni_add_seq_cst(&next, 1)]), CEN_OK);
}

TEST(a_route_may_be_done_by_another_thread_than_the_one_that_has_it)
{
    make_router(.name = NULL);
    add_up(0);
    add_up(1);
    run_threads(take_and_keep);
    expect_equal(look().in_flight, THREADS * 100);
    ceni_store_seq_cst(&next, 0);
    run_threads(end_what_others_took);
    expect(look().in_flight == 0 && look().uses == THREADS * 100);
    end_router();
}

static void wait_and_use(void *unused)
{
    (void)unused;
    for (int i = 0; i < 2000; i++) {
        cen_route route;
        expect_equal(cen_router_route(router, NULL, cen_in_s(60), &route, NULL), CEN_OK);
        ceni_add_seq_cst(&had, 1);
        expect_equal(done(&route), CEN_OK);
    }
}

TEST(threads_that_wait_for_one_place_all_have_it)
{
    make_router(.max_in_flight = 1);
    add_up(0);
    ceni_store_seq_cst(&had, 0);
    run_threads(wait_and_use);
    expect_equal(ceni_load_seq_cst(&had), THREADS * 2000);
    expect(look().waiting == 0 && look().timeouts == 0 && look().in_flight == 0);
    end_router();
}

static _Atomic uint32_t lives;

static void come_up_again(void *unused, cen_member *member, cen_member_state from, cen_member_state to,
                          const cen_error *cause)
{
    (void)unused, (void)from, (void)cause;
    if (to != CEN_MEMBER_DOWN) return;
    ceni_add_seq_cst(&lives, 1);
    expect_equal(cen_member_up(member, NULL), CEN_OK);
}

TEST(max_uses_is_exact_with_threads_and_a_member_that_comes_up_again_goes_on)
{
    make_router(.max_uses = 50, .changed = come_up_again);
    add_up(0);
    ceni_store_seq_cst(&had, 0);
    run_threads(wait_and_use);
    expect_equal(ceni_load_seq_cst(&had), THREADS * 2000);
    for (int i = 0; i < 6000 && ceni_load_seq_cst(&lives) < THREADS * 2000 / 50; i++)
        ceni_sleep_until(ceni_clock_now() + 10 * ms);
    expect_equal(ceni_load_seq_cst(&lives), THREADS * 2000 / 50);
    end_router();
}

static void be_cancelled_meanwhile(void *argument, const cen_member_stats *member)
{
    (void)member;
    ++*(unsigned *)argument;
    pthread_cancel(pthread_self());
    pthread_testcancel();
}

static void *walk_once(void *argument)
{
    cen_router_each(router, be_cancelled_meanwhile, argument);
    pthread_testcancel();
    *(unsigned *)argument = 0;
    return NULL;
}

TEST(a_thread_that_is_cancelled_in_its_walk_ends_when_the_walk_is_over)
{
    unsigned visits = 0;
    void *how = NULL;
    pthread_t thread;
    make_router(.name = NULL);
    add_up(0);
    add_up(1);
    expect_equal(pthread_create(&thread, NULL, walk_once, &visits), 0);
    expect_equal(pthread_join(thread, &how), 0);
    expect(how == PTHREAD_CANCELED);
    expect_equal(visits, 2);
    end_router();
}
