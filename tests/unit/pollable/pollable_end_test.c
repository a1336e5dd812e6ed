/* SPDX-License-Identifier: MIT */
/* How a pollable is made, what keeps it from being freed, and a fork. */
#include <dirent.h>
#include <sys/wait.h>

#include "unit/pollable/pollables.h"

static unsigned count_descriptors(void)
{
    unsigned count = 0;
    DIR *open_now = opendir("/proc/self/fd");
    expect(open_now != NULL);
    for (struct dirent *entry; (entry = readdir(open_now));) count += entry->d_name[0] != '.';
    closedir(open_now);
    return count;
}

/* guarantees: pollable.out-of-memory */
TEST(free_closes_every_descriptor)
{
    cen_error error;
    unsigned before = count_descriptors();
    cen_pollable *pollable = make_pollable();
    expect(count_descriptors() > before);
    expect_equal(cen_pollable_free(pollable, &error), CEN_OK);
    expect_equal(count_descriptors(), before);
    expect_equal(cen_pollable_free(NULL, &error), CEN_OK);
}

TEST(options_that_are_wrong_are_refused_and_the_text_says_why)
{
    cen_pollable *pollable = NULL;
    cen_error error;
    cen_pollable_options small = {.size = 3};
    cen_allocator no_free = {.alloc = NULL};
    expect_equal(cen_pollable_new(NULL, NULL, &error), CEN_INVALID);
    expect(strstr(error.text, "cen_pollable_new: out is NULL") != NULL);
    expect_equal(cen_pollable_new(&small, &pollable, &error), CEN_INVALID);
    expect(strstr(error.text, "cen_pollable_new: options.size") != NULL);
    expect_equal(cen_pollable_new(&CEN_POLLABLE_OPTIONS(.allocator = &no_free), &pollable, &error), CEN_INVALID);
    expect(strstr(error.text, "options.allocator") != NULL);
    expect(pollable == NULL);
    expect_equal(cen_pollable_run_ready(NULL, NULL, NULL), CEN_INVALID);
    expect_equal(cen_pollable_fd(NULL), -1);
    expect(!cen_pollable_executor(NULL) && !cen_pollable_runtime(NULL) && !cen_pollable_poller(NULL));
}

/* ---- What keeps it ------------------------------------------------------------------------------------- */

static void expect_busy(cen_pollable *pollable, const char *why)
{
    cen_error error = {.status = CEN_OK};
    expect_equal(cen_pollable_free(pollable, &error), CEN_BUSY);
    expect_equal(error.status, CEN_BUSY);
    if (!strstr(error.text, "pollable \"loop\": still in use: ") || !strstr(error.text, why))
        test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error.text, why);
}

static void never(cen_watch *watch, unsigned events)
{
    (void)watch, (void)events;
    expect(false);
}

/* guarantees: pollable.A5 */
TEST(free_says_what_still_uses_it_and_changes_nothing)
{
    cen_pollable *pollable = make_pollable();
    cen_timer timer;
    cen_watch watch = {.ready = never};
    letter one = letter_to(pollable);
    post(&one);
    expect_busy(pollable, "in use: jobs waiting in its executor, at least: 1; ");
    expect(is_readable(pollable));
    expect_equal(run_ready(pollable, false), 1);
    expect_equal(cen_poller_watch(cen_pollable_poller(pollable), &watch, -1, 0, CEN_NEVER, NULL), CEN_OK);
    cen_timer_init(&timer);
    expect_equal(cen_timer_start(&timer, cen_pollable_runtime(pollable), cen_in_s(3600), NULL), CEN_OK);
    expect_busy(pollable, "in use: users of its runtime (pools, actors, timers): 1, watches of its poller: 1; ");
    expect(cen_future_cancel(&timer.future));
    expect_busy(pollable, "in use: watches of its poller: 1; ");
    expect(cen_poller_unwatch(cen_pollable_poller(pollable), &watch));
    cen_executor *executor = cen_runtime_executor(cen_pollable_runtime(pollable));
    executor->post(executor, &one.job);
    expect_busy(pollable, "in use: calls queued in its runtime: 1; ");
    expect_equal(run_ready(pollable, false), 1);
    expect_equal(one.runs, 2);
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
}

/* guarantees: pollable.A5 */
TEST(the_runtime_of_a_pollable_is_not_freed_alone)
{
    cen_pollable *pollable = make_pollable();
    letter one = letter_to(pollable);
    expect_equal(cen_runtime_free(cen_pollable_runtime(pollable)), CEN_BUSY);
    post(&one);
    expect_equal(run_ready(pollable, false), 1);
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
}

/* ---- A pool ------------------------------------------------------------------------------------------------ */

static unsigned lent, late;

static void on_take(cen_take_op *take)
{
    if (take->future.status == CEN_OK) lent++;
    else late += take->future.status == CEN_TIMEOUT;
}

static cen_pool *make_pool(cen_pollable *pollable)
{
    cen_pool *pool;
    cen_error error;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "words", .max = 1, .runtime = cen_pollable_runtime(pollable));
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    expect_equal(cen_pool_adopt(pool, "one", NULL), CEN_OK);
    return pool;
}

static void run_until(cen_pollable *pollable, const unsigned *counter)
{
    while (*counter == 0) {
        await_readable(pollable);
        expect_equal(cen_pollable_run_ready(pollable, NULL, NULL), CEN_OK);
    }
}

/* guarantees: pollable.A2 */
TEST(takes_of_a_pool_are_told_and_time_out_over_the_one_descriptor)
{
    cen_pollable *pollable = make_pollable();
    cen_pool *pool = make_pool(pollable);
    cen_take_op first, second;
    cen_take_op_init(&first, on_take, cen_pollable_executor(pollable));
    cen_take_op_init(&second, on_take, cen_pollable_executor(pollable));
    expect_equal(cen_pool_take_async(pool, CEN_NEVER, &first), CEN_OK);
    run_until(pollable, &lent);
    expect_equal(cen_pool_take_async(pool, cen_in_ms(5), &second), CEN_OK);
    run_until(pollable, &late);
    cen_pool_give(&first.lease);
    expect_busy(pollable, "users of its runtime (pools, actors, timers): 1;");
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK);
    cen_pool_free(pool);
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
}

/* guarantees: pollable.free */
TEST(a_pollable_is_freed_before_or_after_pools_that_were_closed)
{
    unsigned before = count_descriptors();
    for (int freed_before = 0; freed_before <= 2; freed_before++) {
        cen_pollable *pollable = make_pollable();
        cen_pool *pools[2] = {make_pool(pollable), make_pool(pollable)};
        cen_take_op takes[2];
        lent = 0;
        for (int i = 0; i < 2; i++) {
            cen_take_op_init(&takes[i], on_take, cen_pollable_executor(pollable));
            expect_equal(cen_pool_take_async(pools[i], cen_in_s(3600), &takes[i]), CEN_OK);
        }
        while (lent < 2) run_ready(pollable, false);
        for (int i = 0; i < 2; i++) cen_pool_give(&takes[i].lease);
        expect_equal(cen_pool_close(pools[1], CEN_NOW, NULL, NULL), CEN_OK);
        expect_busy(pollable, "users of its runtime (pools, actors, timers): 1; ");
        expect_equal(cen_pool_close(pools[0], CEN_NOW, NULL, NULL), CEN_OK);
        for (int i = 0; i < freed_before; i++) cen_pool_free(pools[i]);
        expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
        for (int i = freed_before; i < 2; i++) {
            cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
            expect_equal(cen_pool_stats_get(pools[i], &stats), CEN_OK);
            expect_equal(stats.taken, 1);
            cen_pool_free(pools[i]);
        }
        expect_equal(count_descriptors(), before);
    }
}

/* guarantees: pollable.free */
TEST(a_pollable_is_busy_while_something_of_a_pool_that_was_closed_is_out)
{
    cen_pollable *pollable = make_pollable();
    cen_pool *pool = make_pool(pollable);
    cen_lease lease;
    expect_equal(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_OK);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    expect_busy(pollable, "users of its runtime (pools, actors, timers): 1; ");
    cen_pool_give(&lease);
    cen_pool_free(pool);
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
}

/* ---- Fork ---------------------------------------------------------------------------------------------------- */

static void use_in_the_child(cen_pollable *pollable, letter *one)
{
    bool refused = cen_pollable_fd(pollable) == -1 && cen_pollable_next_deadline(pollable) == -1 &&
                   cen_pollable_run_ready(pollable, NULL, NULL) == CEN_FORKED;
    post(one); /* the parent's is armed, and is not rung */
    bool freed = cen_pollable_free(pollable, NULL) == CEN_OK;
    cen_pollable *own = make_pollable();
    letter other = letter_to(own);
    post(&other);
    await_readable(own);
    bool ran = run_ready(own, false) == 1 && other.runs == 1 && cen_pollable_free(own, NULL) == CEN_OK;
    _exit(refused && freed && ran ? 0 : 1);
}

/* guarantees: pollable.L14 */
TEST(a_child_runs_nothing_of_its_parents_frees_it_and_the_parent_notices_nothing)
{
    int status = -1;
    cen_pollable *pollable = make_pollable();
    cen_timer timer;
    letter one = letter_to(pollable);
    cen_timer_init(&timer);
    expect_equal(cen_timer_start(&timer, cen_pollable_runtime(pollable), cen_in_s(3600), NULL), CEN_OK);
    run_ready(pollable, false);
    pid_t child = fork();
    if (child == 0) use_in_the_child(pollable, &one);
    expect_equal(waitpid(child, &status, 0), child);
    expect_equal(status, 0);
    expect(!is_readable(pollable));
    post(&one);
    expect(is_readable(pollable));
    expect_equal(run_ready(pollable, false), 1);
    expect(cen_future_cancel(&timer.future));
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
}

static pid_t forked;

static void fork_here(letter *self)
{
    (void)self;
    forked = fork();
}

/* guarantees: pollable.L14 */
TEST(a_child_that_comes_back_into_the_run_is_told_so)
{
    int status = -1;
    cen_pollable *pollable = make_pollable();
    letter one = letter_to(pollable);
    one.act = fork_here;
    post(&one);
    cen_status ran = cen_pollable_run_ready(pollable, NULL, NULL);
    if (forked == 0) _exit(ran == CEN_FORKED && cen_pollable_free(pollable, NULL) == CEN_OK ? 0 : 1);
    expect_equal(ran, CEN_OK);
    expect_equal(waitpid(forked, &status, 0), forked);
    expect_equal(status, 0);
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
}
