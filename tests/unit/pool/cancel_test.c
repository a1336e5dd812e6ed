/* SPDX-License-Identifier: MIT */
/*
 * Threads that are cancelled or end inside a scope. The file is compiled with
 * -fexceptions, as CEN_WITH asks for.
 */
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "port/port.h"
#include "unit/pool/pools.h"

static cen_pool *pool;
static workshop shop;
static sem_t reached;
static cen_lease kept;
static cen_status answer;

static void prepare(uint32_t max)
{
    shop = (workshop){0};
    answer = CEN_INVALID;
    expect_equal(sem_init(&reached, 0, 0), 0);
    pool = make_pool(.max = max, .driver = driver_of(&shop));
}

static void await_reached(void)
{
    while (sem_wait(&reached) != 0) continue;
}

static void expect_cancelled(pthread_t thread)
{
    void *result = NULL;
    expect_equal(pthread_join(thread, &result), 0);
    expect(result == PTHREAD_CANCELED);
}

/* ---- A take that waits is a cancellation point ------------------------------------------------- */

static void count(void *counter)
{
    ++*(int *)counter;
}

static int cleanups;

/* With a cleanup of the program's own around it, as ours must not keep it from running. AddressSanitizer does not hear of
 * a frame that a cancellation leaves, and would take its fences for those of whatever comes to lie there next. */
__attribute__((no_sanitize_address)) static void *take_and_be_cancelled(void *disabled)
{
    if (disabled) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cleanup_push(count, &cleanups);
    answer = cen_pool_take(pool, CEN_NEVER, &kept, NULL);
    pthread_cleanup_pop(0);
    if (disabled) pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    for (;;) pthread_testcancel();
    return NULL;
}

static pthread_t begin_to_wait(void *disabled)
{
    pthread_t thread;
    uint32_t before = expect_sound(pool).waiting;
    expect_equal(pthread_create(&thread, NULL, take_and_be_cancelled, disabled), 0);
    while (expect_sound(pool).waiting == before) ceni_thread_yield();
    return thread;
}

/* guarantees: pool-bugs.cancellation */
TEST(a_take_that_waits_is_a_cancellation_point_and_leaves_the_queue)
{
    prepare(1);
    cleanups = 0;
    cen_lease held = take_now(pool);
    pthread_t thread = begin_to_wait(NULL);
    expect_equal(pthread_cancel(thread), 0);
    expect_cancelled(thread); /* although nobody gives */
    expect_equal(cleanups, 1);
    expect_equal(answer, CEN_INVALID); /* the take never returned */
    expect_equal(expect_sound(pool).waiting, 0);
    give_back(&held);
    expect_counts(pool, 1, 0);
    free_pool(pool);
}

/* guarantees: pool-bugs.cancellation */
TEST(a_take_that_waits_with_cancellation_disabled_waits_on)
{
    prepare(1);
    cen_lease held = take_now(pool);
    pthread_t thread = begin_to_wait(&shop);
    expect_equal(pthread_cancel(thread), 0);
    for (int looks = 0; looks < 100; looks++) {
        expect_equal(expect_sound(pool).waiting, 1);
        ceni_thread_yield();
    }
    give_back(&held);
    expect_cancelled(thread);
    expect_equal(answer, CEN_OK);
    expect_equal(expect_sound(pool).revoked, 1); /* an orphan, whose driver has no abandon */
    expect_equal(cen_pool_give(&kept), CEN_REVOKED);
    free_pool(pool);
}

/* Whether the request or the object comes first, nothing is lost. */
/* guarantees: pool-bugs.cancellation */
TEST(takes_that_are_cancelled_while_they_are_served_lose_no_object)
{
    prepare(1);
    for (int round = 0; round < 300; round++) {
        cen_lease held = take_now(pool);
        pthread_t thread = begin_to_wait(NULL);
        if (round % 2) give_back(&held);
        expect_equal(pthread_cancel(thread), 0);
        if (round % 2 == 0) give_back(&held);
        expect_cancelled(thread);
        /* it had the object when it was cancelled */
        if (answer == CEN_OK) expect_equal(cen_pool_give(&kept), CEN_REVOKED);
        answer = CEN_INVALID;
        cen_pool_stats s = expect_sound(pool);
        expect(s.waiting == 0 && s.held == 0 && s.taken == s.ended);
    }
    free_pool(pool);
}

static void be_cancelled_inside(workshop *unused, char what, void *object)
{
    (void)unused;
    (void)object;
    (void)what;
    sem_post(&reached);
    usleep(5000); /* a cancellation point */
    pthread_testcancel();
}

static void *take_give_and_discard(void *unused)
{
    (void)unused;
    /* Not on the stack: AddressSanitizer does not hear of a frame that a cancellation leaves, and would take its
     * fences for those of whatever comes to lie there next. */
    static cen_lease lease;
    answer = cen_pool_take(pool, CEN_NEVER, &lease, NULL);
    if (answer == CEN_OK) answer = cen_pool_discard(&lease);
    for (;;) pthread_testcancel();
    return NULL;
}

/* guarantees: pool-bugs.killed-thread */
TEST(a_driver_is_called_with_cancellation_disabled)
{
    prepare(1);
    shop.inside = be_cancelled_inside;
    pthread_t thread;
    expect_equal(pthread_create(&thread, NULL, take_give_and_discard, NULL), 0);
    await_reached();
    expect_equal(pthread_cancel(thread), 0);
    expect_cancelled(thread);
    expect_equal(answer, CEN_OK);
    expect_log(&shop, "+1 -1 "); /* both were called and came to their end */
    expect_equal(expect_sound(pool).vacant, 1);
    free_pool(pool);
}

static bool visit_and_be_cancelled(void *argument, const cen_object_view *holding)
{
    (void)holding;
    ++*(int *)argument;
    be_cancelled_inside(NULL, 0, NULL);
    return true;
}

static void *visit_all(void *argument)
{
    answer = cen_pool_each(pool, visit_and_be_cancelled, argument);
    for (;;) pthread_testcancel();
    return NULL;
}

TEST(a_visitor_is_called_with_cancellation_disabled)
{
    prepare(2);
    cen_lease leases[2] = {take_now(pool), take_now(pool)};
    int visits = 0;
    pthread_t thread;
    expect_equal(pthread_create(&thread, NULL, visit_all, &visits), 0);
    await_reached();
    expect_equal(pthread_cancel(thread), 0);
    expect_cancelled(thread);
    expect(answer == CEN_OK && visits == 2);
    give_back(&leases[0]);
    give_back(&leases[1]);
    free_pool(pool);
}

/* ---- Scopes --------------------------------------------------------------------------------------- */

static void *be_cancelled_in_a_scope(void *unused)
{
    (void)unused;
    CEN_WITH (pool, CEN_NEVER, void *, outer, NULL) {
        CEN_WITH (pool, CEN_NEVER, void *, inner, NULL) {
            if (inner == outer) sem_post(&reached);
            for (;;) usleep(1000);
        }
    }
    return NULL;
}

/* guarantees: pool-bugs.killed-thread */
TEST(a_thread_that_is_cancelled_inside_a_scope_gives_the_object_back)
{
    prepare(1);
    pthread_t thread;
    expect_equal(pthread_create(&thread, NULL, be_cancelled_in_a_scope, NULL), 0);
    await_reached();
    expect_counts(pool, 0, 1);
    expect_equal(pthread_cancel(thread), 0);
    expect_cancelled(thread);
    expect_counts(pool, 1, 0);
    free_pool(pool);
}

static void exit_from_a_scope(void)
{
    CEN_WITH (pool, CEN_NEVER, void *, object, NULL) {
        if (object) pthread_exit(object_of(7));
    }
}

static void *exit_deep_inside(void *unused)
{
    (void)unused;
    CEN_WITH (pool, CEN_NEVER, void *, object, NULL) {
        if (object) exit_from_a_scope();
    }
    return NULL;
}

/* guarantees: pool-bugs.killed-thread */
TEST(a_thread_that_exits_inside_a_scope_gives_the_object_back)
{
    prepare(1);
    pthread_t thread;
    void *result = NULL;
    expect_equal(pthread_create(&thread, NULL, exit_deep_inside, NULL), 0);
    expect_equal(pthread_join(thread, &result), 0);
    expect(result == object_of(7));
    expect_counts(pool, 1, 0);
    cen_lease lease = take_now(pool);
    give_back(&lease);
    free_pool(pool);
}
