/* SPDX-License-Identifier: MIT */
/*
 * The ways in which a thread of the system ends while it holds something. The
 * file is compiled twice: without -fexceptions, where nothing but the thread's
 * end takes back what a block holds, and with it, where leaving the block does.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port/port.h"
#include "unit/pool/pools.h"

#ifdef __EXCEPTIONS
enum { UNWINDS = 1 };
#else
enum { UNWINDS = 0 };
#endif

static cen_pool *pool;
static workshop shop;
static sem_t reached, may_go_on;
static cen_lease kept; /* not on a stack that a cancellation leaves */

static void prepare(cen_holder_end_policy policy)
{
    shop = (workshop){0};
    expect(sem_init(&reached, 0, 0) == 0 && sem_init(&may_go_on, 0, 0) == 0);
    pool = make_pool(.max = 2, .driver = driver_of(&shop), .on_holder_end = policy);
}

static void await(sem_t *sign)
{
    while (sem_wait(sign) != 0) continue;
}

/* A cancellation point that is no call of the system's: ThreadSanitizer loses sight of a thread that is cancelled in one. */
static void linger(void)
{
    pthread_testcancel();
    sched_yield();
}

/* AddressSanitizer does not hear of a frame that a cancellation leaves, and would take its fences for those of
 * whatever comes to lie there next. */
#define IS_CANCELLED __attribute__((no_sanitize_address))

static pthread_t begin(void *(*run)(void *))
{
    pthread_t thread;
    expect_equal(pthread_create(&thread, NULL, run, NULL), 0);
    return thread;
}

static void expect_end(pthread_t thread, void *result)
{
    void *found = NULL;
    expect_equal(pthread_join(thread, &found), 0);
    expect(found == result);
}

/* ---- Outside of blocks ------------------------------------------------------------------ */

static void *take_and_return(void *result)
{
    kept = take_now(pool);
    return result;
}

static void *take_and_exit(void *unused)
{
    (void)unused;
    kept = take_now(pool);
    pthread_exit(object_of(7));
}

IS_CANCELLED static void *take_and_be_cancelled(void *unused)
{
    (void)unused;
    kept = take_now(pool);
    sem_post(&reached);
    for (;;) linger();
    return NULL;
}

static void expect_taken_back(cen_holder_end_policy policy)
{
    expect_log(&shop, policy == CEN_HOLDER_END_CLOSE ? "+1 -1 " : "+1 ");
    expect_counts(pool, policy == CEN_HOLDER_END_REUSE, 0);
    expect_equal(cen_pool_give(&kept), CEN_STALE);
    free_pool(pool);
}

/* guarantees: pool.L13, pool-bugs.killed-thread, life-bugs.J */
TEST(L13_a_thread_that_returns_gives_up_what_it_holds)
{
    prepare(CEN_HOLDER_END_CLOSE);
    expect_end(begin(take_and_return), NULL);
    expect_taken_back(CEN_HOLDER_END_CLOSE);
}

/* guarantees: pool.L13 */
TEST(L13_a_thread_that_exits_gives_up_what_it_holds)
{
    prepare(CEN_HOLDER_END_REUSE);
    expect_end(begin(take_and_exit), object_of(7));
    expect_taken_back(CEN_HOLDER_END_REUSE);
}

/* guarantees: pool.L13, life-bugs.I */
TEST(L13_a_thread_that_is_cancelled_gives_up_what_it_holds)
{
    prepare(CEN_HOLDER_END_CLOSE);
    pthread_t thread = begin(take_and_be_cancelled);
    await(&reached);
    expect_equal(pthread_cancel(thread), 0);
    expect_end(thread, PTHREAD_CANCELED);
    expect_taken_back(CEN_HOLDER_END_CLOSE);
}

/* ---- Inside of blocks ---------------------------------------------------------------------- */

IS_CANCELLED static void *be_cancelled_in_a_block(void *unused)
{
    (void)unused;
    CEN_WITH (pool, CEN_NEVER, void *, outer, NULL) {
        CEN_WITH (pool, CEN_NEVER, void *, inner, NULL) {
            if (inner == outer) sem_post(&reached);
            for (;;) linger();
        }
    }
    return NULL;
}

static void *exit_in_a_block(void *unused)
{
    (void)unused;
    CEN_WITH (pool, CEN_NEVER, void *, object, NULL) {
        if (object) pthread_exit(object_of(7));
    }
    return NULL;
}

/* Where leaving the block gives back, the policy has nothing left to do. */
static void expect_block_ended(void)
{
    expect_log(&shop, UNWINDS ? "+1 " : "+1 -1 ");
    expect_counts(pool, UNWINDS, 0);
    CEN_WITH (pool, CEN_NOW, void *, object, NULL) expect(object == object_of(UNWINDS ? 1 : 2));
    free_pool(pool);
}

/* guarantees: pool.L13, pool-bugs.killed-thread, life-bugs.I */
TEST(L13_a_thread_that_is_cancelled_in_nested_blocks_does_not_lose_the_object)
{
    prepare(CEN_HOLDER_END_CLOSE);
    pthread_t thread = begin(be_cancelled_in_a_block);
    await(&reached);
    expect_counts(pool, 0, 1);
    expect_equal(pthread_cancel(thread), 0);
    expect_end(thread, PTHREAD_CANCELED);
    expect_block_ended();
}

/* guarantees: pool.L13 */
TEST(L13_a_thread_that_exits_in_a_block_does_not_lose_the_object)
{
    prepare(CEN_HOLDER_END_CLOSE);
    expect_end(begin(exit_in_a_block), object_of(7));
    expect_block_ended();
}

static void *return_from_a_block(void *unused)
{
    (void)unused;
    CEN_WITH (pool, CEN_NEVER, void *, object, NULL) return object;
    return NULL;
}

TEST(a_thread_that_returns_from_a_block_leaves_nothing_to_the_policy)
{
    prepare(CEN_HOLDER_END_CLOSE);
    expect_end(begin(return_from_a_block), object_of(1));
    expect_log(&shop, "+1 ");
    expect_counts(pool, 1, 0);
    free_pool(pool);
}

enum { KILLS = 100, LOOPERS = 4 };

IS_CANCELLED static void *loop_in_blocks(void *unused)
{
    (void)unused;
    sem_post(&reached);
    for (;;) {
        CEN_WITH (pool, CEN_NEVER, void *, object, NULL) {
            for (int i = 0; object && i < 5; i++) linger();
        }
    }
    return NULL;
}

/* Threads are killed all the time; what they held comes back every time. */
/* guarantees: pool.L13, pool-bugs.killed-thread, life-bugs.I */
TEST(L13_a_hundred_threads_that_are_cancelled_in_the_midst_of_work_leave_the_pool_whole)
{
    prepare(CEN_HOLDER_END_REUSE);
    cen_lease both[2] = {take_now(pool), take_now(pool)}; /* opened here, so that the driver is called by one thread */
    give_back(&both[0]);
    give_back(&both[1]);
    for (int i = 0; i < KILLS; i += LOOPERS) {
        pthread_t threads[LOOPERS];
        for (int j = 0; j < LOOPERS; j++) threads[j] = begin(loop_in_blocks);
        for (int j = 0; j < LOOPERS; j++) await(&reached);
        usleep(300); /* somewhere in the midst of it */
        for (int j = 0; j < LOOPERS; j++) expect_equal(pthread_cancel(threads[j]), 0);
        for (int j = 0; j < LOOPERS; j++) expect_end(threads[j], PTHREAD_CANCELED);
    }
    cen_pool_stats s = expect_sound(pool);
    expect_equal(s.held, 0);
    expect_equal(s.idle, 2);
    expect_equal(shop.closed, 0);
    free_pool(pool);
}

/* ---- Passed on ----------------------------------------------------------------------------------- */

static void *take_and_wait(void *unused)
{
    (void)unused;
    kept = take_now(pool);
    sem_post(&reached);
    await(&may_go_on);
    return NULL;
}

/* guarantees: pool.L13 */
TEST(L13_a_lease_that_was_passed_on_and_given_before_its_taker_ended_is_left_alone)
{
    prepare(CEN_HOLDER_END_CLOSE);
    pthread_t thread = begin(take_and_wait);
    await(&reached);
    give_back(&kept);
    cen_lease mine = take_now(pool); /* the same object, and another lease */
    sem_post(&may_go_on);
    expect_end(thread, NULL);
    expect_counts(pool, 0, 1);
    expect_log(&shop, "+1 ");
    give_back(&mine);
    free_pool(pool);
}

/* guarantees: pool.L13 */
TEST(L13_a_lease_that_was_passed_on_attached_ends_with_its_taker)
{
    prepare(CEN_HOLDER_END_CLOSE);
    pthread_t thread = begin(take_and_wait);
    await(&reached);
    cen_lease passed = kept;
    sem_post(&may_go_on);
    expect_end(thread, NULL);
    expect_equal(cen_pool_give(&passed), CEN_STALE);
    expect_log(&shop, "+1 -1 ");
    free_pool(pool);
}

/* guarantees: pool.L13 */
TEST(L13_a_lease_that_was_passed_on_detached_survives_its_taker)
{
    prepare(CEN_HOLDER_END_CLOSE);
    pthread_t thread = begin(take_and_wait);
    await(&reached);
    expect_equal(cen_pool_detach(&kept), CEN_OK); /* whoever has it may */
    sem_post(&may_go_on);
    expect_end(thread, NULL);
    expect_counts(pool, 0, 1);
    give_back(&kept);
    expect_log(&shop, "+1 ");
    free_pool(pool);
}

/* ---- Destructors of the program ------------------------------------------------------------------------ */

static pthread_key_t key;

static void give_in_destructor(void *lease)
{
    give_back(lease);
}

static void *take_for_a_destructor(void *unused)
{
    (void)unused;
    kept = take_now(pool);
    expect_equal(pthread_setspecific(key, &kept), 0);
    return NULL;
}

/* guarantees: pool.L13 */
TEST(a_destructor_of_the_programs_may_still_give_what_the_thread_held)
{
    prepare(CEN_HOLDER_END_CLOSE);
    expect_equal(pthread_key_create(&key, give_in_destructor), 0);
    expect_end(begin(take_for_a_destructor), NULL);
    expect_log(&shop, "+1 ");
    expect_counts(pool, 1, 0);
    free_pool(pool);
}

static void take_in_destructor(void *unused)
{
    (void)unused;
    kept = take_now(pool);
}

static void *leave_taking_to_a_destructor(void *unused)
{
    (void)unused;
    cen_lease lease = take_now(pool);
    give_back(&lease);
    expect_equal(pthread_setspecific(key, &kept), 0);
    return NULL;
}

/* guarantees: pool.L13 */
TEST(L13_what_a_destructor_of_the_programs_took_is_taken_back_too)
{
    prepare(CEN_HOLDER_END_REUSE);
    expect_equal(pthread_key_create(&key, take_in_destructor), 0);
    expect_end(begin(leave_taking_to_a_destructor), NULL);
    expect_counts(pool, 1, 0);
    expect_equal(cen_pool_give(&kept), CEN_STALE);
    free_pool(pool);
}

/* ---- The end of the process ------------------------------------------------------------------------------ */

static void *hold_for_ever(void *unused)
{
    (void)unused;
    CEN_WITH (pool, CEN_NEVER, void *, object, NULL) {
        if (object) sem_post(&reached);
        await(&may_go_on);
    }
    return NULL;
}

static void return_from_main_while_others_hold(void)
{
    prepare(CEN_HOLDER_END_CLOSE);
    begin(take_and_wait);
    await(&reached);
    begin(hold_for_ever);
    await(&reached);
    expect_counts(pool, 0, 2);
    exit(7); /* as main's return does */
}

/* guarantees: pool.L13 */
TEST(a_process_ends_with_its_code_while_threads_hold_objects)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        return_from_main_while_others_hold();
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void *end_process_when_all_is_back(void *unused)
{
    (void)unused;
    while (expect_sound(pool).closed == 0) ceni_thread_yield(); /* it is no longer held before it has been closed */
    _exit(shop.closed == 1 && expect_sound(pool).held == 0 ? 7 : 1);
}

/* guarantees: pool.L13 */
TEST(L13_a_main_thread_that_exits_alone_gives_up_what_it_holds)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        prepare(CEN_HOLDER_END_CLOSE);
        kept = take_now(pool);
        begin(end_process_when_all_is_back);
        pthread_exit(NULL);
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* ---- Backtraces ------------------------------------------------------------------------------------------- */

__attribute__((noinline)) static void *take_deep_inside(cen_lease *out)
{
    *out = take_now(pool);
    return __builtin_return_address(0);
}

TEST(with_backtraces_the_calls_that_led_to_a_take_are_listed)
{
    shop = (workshop){0};
    pool = make_pool(.max = 1, .driver = driver_of(&shop), .backtraces = true);
    cen_lease lease;
    void *caller = take_deep_inside(&lease);
    cen_object_view holding;
    size_t count;
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
    expect(count == 1 && holding.backtrace_count >= 2 && holding.backtrace_count <= CEN_BACKTRACE_MAX);
    uint32_t at = 0;
    while (at < holding.backtrace_count && holding.backtrace[at] != caller) at++;
    expect(at < holding.backtrace_count && at <= 3); /* and not many of the library's own before it */
    give_back(&lease);
    free_pool(pool);
}
