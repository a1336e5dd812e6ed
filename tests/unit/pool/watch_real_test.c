/* SPDX-License-Identifier: MIT */
/* A pool that is watched, on real threads: their names, the calls that led to a take, and many who use it meanwhile. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "port/port.h"
#include "unit/pool/watchers.h"

static drawing d;

/* ---- Names --------------------------------------------------------------------------------- */

typedef struct holder {
    cen_pool *pool;
    atomic_int stage; /* 1: it holds; 2: it may end */
    uint64_t number;
    int tid;
} holder;

static void *take_by_name(void *argument)
{
    holder *h = argument;
    pthread_setname_np(pthread_self(), "order book");
    h->number = cen_thread_number();
    h->tid = (int)syscall(SYS_gettid);
    cen_lease lease = take_now(h->pool);
    atomic_store(&h->stage, 1);
    while (atomic_load(&h->stage) != 2) sched_yield();
    give_back(&lease);
    return NULL;
}

/* guarantees: pool-api.description */
TEST(a_holder_has_the_name_of_its_thread_and_the_calls_that_led_there)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "named", .max = 1, .backtraces = true), 1);
    holder h = {.pool = pool};
    pthread_t thread;
    expect_equal(pthread_create(&thread, NULL, take_by_name, &h), 0);
    while (atomic_load(&h.stage) != 1) sched_yield();
    draw_pool(pool, &d, 10);
    char name[CENI_THREAD_NAME_ROOM];
    if (ceni_thread_name(cen_thread_number(), name)) expect_drawn(&d, "thread_name=\"order book\"");
    else puts("the portable seam knows no names of threads"); /* and tells none */
    char text[2000], whose[100];
    cen_pool_explain(pool, text, sizeof text);
    snprintf(whose, sizeof whose, "held by thread %llu (order book, tid %d)", (unsigned long long)h.number, h.tid);
    if (ceni_thread_name(cen_thread_number(), name)) expect(strstr(text, whose));
    expect_drawn(&d, "[backtrace {at=\"");
    /* a function that the program does not export, by its place in the program */
    expect_drawn(&d, "watch_real_test+0x");
    expect_drawn(&d, "libc.so"); /* and what began the thread, by its name or its place */
    atomic_store(&h.stage, 2);
    pthread_join(thread, NULL);
    free_pool(pool);
}

static void *leave_one(void *argument)
{
    cen_lease lease;
    expect_equal(cen_pool_take(argument, CEN_NOW, &lease, NULL), CEN_OK);
    expect_equal(cen_pool_detach(&lease), CEN_OK);
    return NULL;
}

TEST(of_a_thread_that_has_ended_a_text_says_so)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "left", .max = 1), 1);
    pthread_t thread;
    expect_equal(pthread_create(&thread, NULL, leave_one, pool), 0);
    expect_equal(pthread_join(thread, NULL), 0);
    char text[2000], name[CENI_THREAD_NAME_ROOM];
    cen_pool_explain(pool, text, sizeof text);
    if (ceni_thread_name(cen_thread_number(), name)) expect(strstr(text, " (ended) (detached)"));
    free_pool(pool);
}

/* ---- Many ------------------------------------------------------------------------------------- */

enum { USERS = 4, PAIRS = 20000 };

static atomic_int running;

static void *use_much(void *argument)
{
    cen_pool *pool = argument;
    cen_lease lease;
    for (int i = 0; i < PAIRS; i++) {
        expect_equal(cen_pool_take(pool, cen_in_s(60), &lease, NULL), CEN_OK);
        if (i % 97 == 0) expect_equal(cen_pool_detach(&lease), CEN_OK);
        expect_equal(cen_pool_give(&lease), CEN_OK);
    }
    atomic_fetch_sub(&running, 1);
    return NULL;
}

static void watch_all(cen_pool *pool, bool exact)
{
    do {
        metrics r = metrics_of(pool);
        int64_t there = metric(&r, "idle") + metric(&r, "held") + metric(&r, "moving") + metric(&r, "resetting");
        expect_equal(there, 3);
        const times *used = times_of(pool, "use");
        expect_equal(used->timing.one_in, exact ? 1 : 64);
        expect(used->histogram.count <= (uint64_t)USERS * PAIRS);
        times_of(pool, "wait");
        draw_pool(pool, &d, 2);
        expect_drawn(&d, "[waiters ");
    } while (atomic_load(&running) > 0);
}

/* guarantees: pool-api.description */
TEST(many_threads_use_a_pool_that_is_watched_all_the_while)
{
    for (int exact = 0; exact < 2; exact++) {
        cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "watched", .max = 3, .exact_times = exact), 3);
        pthread_t threads[USERS];
        atomic_store(&running, USERS);
        for (int i = 0; i < USERS; i++) expect_equal(pthread_create(&threads[i], NULL, use_much, pool), 0);
        watch_all(pool, exact);
        for (int i = 0; i < USERS; i++) pthread_join(threads[i], NULL);
        cen_pool_stats s = expect_sound(pool);
        uint64_t used = times_of(pool, "use")->histogram.count, leases = (uint64_t)USERS * PAIRS;
        if (exact) expect_equal(used, leases); /* one that was granted twice is counted as taken, but used once */
        else expect(used >= leases / 64 * 9 / 10 && used <= s.taken / 64 + 3 * 4);
        const times *waited = times_of(pool, "wait");
        expect_equal(waited->histogram.count, s.waited);
        expect_equal(waited->timing.instant, s.taken - s.served);
        free_pool(pool);
    }
}
