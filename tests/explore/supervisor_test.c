/* SPDX-License-Identifier: MIT */
/*
 * Supervisors under every schedule: what is said by one thread while another
 * is the steward. The runtime is manual, so that the steward is the thread that polls, or
 * the one that waits; the last test has the runtime's own threads.
 */
#include <cenote/supervisor.h>

#include "runtime/runtime.h"
#include "support/world.h"

static const int64_t second = 1000000000;

typedef struct kid {
    _Atomic uint32_t starts, stops;
    _Atomic uint64_t supervisor, number; /* the start it had last */
} kid;

static cen_runtime *runtime;
static cen_supervisor *supervisor;
static kid kids[2];
static _Atomic uint32_t counted; /* what was said and counted */

static cen_status start_kid(void *argument, cen_child child, cen_error *error)
{
    kid *self = argument;
    (void)error;
    ceni_store_relaxed(&self->supervisor, child.supervisor_); /* of a test; carries nothing */
    ceni_store_relaxed(&self->number, child.number_);         /* likewise; carries nothing */
    ceni_add_seq_cst(&self->starts, 1);
    return CEN_OK;
}

static void stop_kid(void *argument, cen_child child)
{
    ceni_add_seq_cst(&((kid *)argument)->stops, 1);
    cen_child_report_ended(child, NULL);
}

static cen_child child_of(int i)
{
    /* Before the threads were started; carries nothing. */
    return (cen_child){ceni_load_relaxed(&kids[i].supervisor), ceni_load_relaxed(&kids[i].number)};
}

static uint32_t starts(int i)
{
    return ceni_load_seq_cst(&kids[i].starts);
}

static uint32_t stops(int i)
{
    return ceni_load_seq_cst(&kids[i].stops);
}

static cen_child_options kid_options(int i)
{
    return CEN_CHILD_OPTIONS(.name = i ? "b" : "a", .argument = &kids[i], .start = start_kid, .stop = stop_kid);
}

static void make_of(cen_supervisor_options options)
{
    memset(kids, 0, sizeof kids);
    ceni_store_relaxed(&counted, 0); /* nobody else is there yet; carries nothing */
    cen_runtime_options manual = CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = true);
    if (!options.runtime) expect_equal(cen_runtime_new(&manual, &runtime, NULL), CEN_OK);
    if (!options.runtime) options.runtime = runtime;
    options.backoff_initial_ns = CEN_OFF;
    expect_equal(cen_supervisor_new(&options, &supervisor, NULL), CEN_OK);
}

#define make_supervisor(children_, count_, ...) \
    make_of(CEN_SUPERVISOR_OPTIONS(.children = (children_), .child_count = (count_), __VA_ARGS__))

static void poll(void)
{
    while (cen_runtime_poll(runtime) == 0) continue;
}

static cen_supervisor_stats look(void)
{
    cen_supervisor_stats stats = CEN_SIZED(cen_supervisor_stats);
    expect_equal(cen_supervisor_stats_get(supervisor, &stats), CEN_OK);
    return stats;
}

static void free_all(void)
{
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

static void stop_and_free(void)
{
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    free_all();
}

static void say_ended(void *argument)
{
    if (cen_child_report_ended(*(cen_child *)argument, NULL)) ceni_add_seq_cst(&counted, 1);
}

EXPLORE(a_death_that_meets_a_stop_is_one_or_the_other, 4)
{
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = NULL);
    cen_child child = child_of(0);
    ceni_thread other = start("other", say_ended, &child);
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    join(other);
    /* Each start has ended by its stop or by what was said; a stop that was called may find that it had been said already. */
    expect(starts(0) <= 2);
    expect(starts(0) <= stops(0) + ceni_load_seq_cst(&counted));
    expect(look().is_over);
    free_all();
}

/* guarantees: supervisor.once */
EXPLORE(an_end_that_two_say_counts_once, 4)
{
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = NULL);
    cen_child child = child_of(0);
    ceni_thread other = start("other", say_ended, &child);
    say_ended(&child);
    poll();
    join(other);
    poll();
    expect_equal(ceni_load_seq_cst(&counted), 1);
    expect_equal(starts(0), 2);
    expect_equal(look().restarts, 1);
    expect_equal(look().running, 1);
    stop_and_free();
}

EXPLORE(of_two_deaths_at_once_the_second_is_taken_in_or_counted_and_all_run_again, 4)
{
    cen_child_options children[] = {kid_options(0), kid_options(1)};
    make_supervisor(children, 2, .supervision = CEN_ONE_FOR_ALL);
    cen_child first = child_of(0), second_one = child_of(1);
    ceni_thread other = start("other", say_ended, &first);
    say_ended(&second_one);
    poll();
    join(other);
    poll();
    expect_equal(look().running, 2);
    expect(look().restarts >= 1 && look().restarts <= 2);
    expect_equal(starts(0), starts(1));
    expect_equal(starts(0), 1 + look().restarts);
    stop_and_free();
}

static void say_started(void *argument)
{
    if (cen_child_report_started(*(cen_child *)argument)) ceni_add_seq_cst(&counted, 1);
}

EXPLORE(a_start_that_meets_its_limit_counts_or_has_failed, 4)
{
    cen_future started;
    cen_child_options children[] = {kid_options(0)};
    children[0].reports_start = true;
    children[0].start_ns = second;
    cen_future_init(&started);
    make_supervisor(children, 1, .started = &started);
    poll();
    cen_child child = child_of(0);
    ceni_thread other = start("other", say_started, &child);
    expect_equal(cen_runtime_advance(runtime, second), CEN_OK);
    join(other);
    poll();
    uint32_t said = ceni_load_seq_cst(&counted);
    expect(cen_future_is_done(&started));
    expect_equal(started.status, said ? CEN_OK : CEN_TIMEOUT);
    expect_equal(look().running, said);
    expect_equal(stops(0), 1 - said);
    if (said) expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    free_all();
}

/* guarantees: supervisor.once */
EXPLORE(what_is_said_while_a_supervisor_is_freed_touches_nothing_of_it, 4)
{
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = NULL);
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    cen_child child = child_of(0);
    ceni_thread other = start("other", say_ended, &child);
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
    join(other);
    expect_equal(ceni_load_seq_cst(&counted), 0);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

typedef struct watch {
    cen_child child;
    cen_future death;
    cen_promise promise;
} watch;

static void watch_and_die(void *argument)
{
    watch *self = argument;
    cen_status status = cen_child_watch(self->child, &self->death);
    expect(status == CEN_OK || status == CEN_ABSENT);
    cen_promise_complete(&self->promise, NULL);
}

EXPLORE(a_death_that_is_said_and_comes_by_its_future_counts_once, 4)
{
    watch one;
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = NULL);
    one.child = child_of(0);
    cen_future_init(&one.death);
    expect_equal(cen_promise_init(&one.promise, &one.death), CEN_OK);
    ceni_thread other = start("other", watch_and_die, &one);
    say_ended(&one.child);
    poll();
    join(other);
    poll();
    expect_equal(starts(0), 2);
    expect_equal(look().restarts, 1);
    stop_and_free();
}

static void add_one(void *argument)
{
    cen_child_options options = kid_options(*(int *)argument);
    cen_status status = cen_supervisor_add(supervisor, &options, CEN_NOW, NULL, NULL);
    expect(status == CEN_OK || status == CEN_FULL);
    if (status == CEN_OK) ceni_add_seq_cst(&counted, 1);
}

EXPLORE(of_two_who_add_a_last_child_one_is_refused, 4)
{
    int first = 0, next = 1;
    make_supervisor(NULL, 0, .max_children = 1);
    ceni_thread other = start("other", add_one, &first);
    add_one(&next);
    join(other);
    poll();
    expect_equal(ceni_load_seq_cst(&counted), 1);
    expect_equal(look().running, 1);
    stop_and_free();
}

static void terminate(void *argument)
{
    (void)argument;
    cen_status status = cen_supervisor_terminate(supervisor, "a", CEN_NOW, NULL);
    expect(status == CEN_OK || status == CEN_TIMEOUT);
}

EXPLORE(a_child_that_is_terminated_while_it_dies_is_down_in_the_end, 4)
{
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = NULL);
    cen_child child = child_of(0);
    ceni_thread other = start("other", terminate, NULL);
    say_ended(&child);
    poll();
    join(other);
    poll();
    expect_equal(look().down, 1);
    stop_and_free();
}

EXPLORE(a_child_that_ends_when_the_deadline_of_a_stop_passes_has_ended_or_is_abandoned, 4)
{
    cen_supervisor_report report = CEN_SIZED(cen_supervisor_report);
    cen_child_options children[] = {kid_options(0)};
    children[0].stop = NULL;
    make_supervisor(children, 1, .name = NULL);
    cen_child child = child_of(0);
    ceni_thread other = start("other", say_ended, &child);
    cen_status status = cen_supervisor_stop(supervisor, CEN_NOW, &report, NULL);
    join(other);
    uint32_t said = ceni_load_seq_cst(&counted);
    expect(status == CEN_TIMEOUT || (status == CEN_OK && said));
    /* What was said before the stop is a death: it may have been started again, and that one was abandoned. */
    expect(report.ended + report.abandoned <= 1);
    expect(starts(0) == 1 + look().restarts);
    if (starts(0) == 1) expect_equal(report.ended, said);
    if (starts(0) == 1) expect_equal(report.abandoned, 1 - said);
    expect(look().is_over);
    free_all();
}

static void make_and_free(void *argument)
{
    cen_supervisor *own;
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.nested = true, .runtime = argument);
    expect_equal(cen_supervisor_new(&options, &own, NULL), CEN_OK);
    expect_equal(cen_supervisor_free(own), CEN_OK);
}

EXPLORE(two_who_make_the_first_supervisors_of_a_process_find_one_table, 4)
{
    cen_runtime_options manual = CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = true);
    expect_equal(cen_runtime_new(&manual, &runtime, NULL), CEN_OK);
    ceni_thread other = start("other", make_and_free, runtime);
    make_and_free(runtime);
    join(other);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

/* The keeper, the helpers and one who stops; a start limit, whose alarm may be on its way. */
EXPLORE(when_a_stop_has_returned_supervisor_and_runtime_can_be_freed, 0)
{
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.name = "own", .idle_timeout_ns = CEN_OFF);
    cen_child_options children[] = {kid_options(0)};
    children[0].start_ns = CEN_US(100);
    children[0].stops_at_once = true;
    children[0].shutdown_ns = CEN_OFF; /* time passes as it likes: nobody is to be abandoned */
    expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
    make_supervisor(children, 1, .runtime = runtime, .retry_start = true, .max_restarts = CEN_OFF);
    stop_and_free();
}

static void poll_once(void *unused)
{
    (void)unused;
    cen_runtime_poll(runtime);
}

/* One thread drives; the other, once its stop has returned, frees the supervisor and then lets go of its future. */
EXPLORE(a_future_of_the_end_may_be_given_up_after_the_supervisor_was_freed, 3)
{
    cen_future over;
    make_supervisor(NULL, 0, .name = NULL);
    cen_future_init(&over);
    expect_equal(cen_supervisor_watch(supervisor, &over), CEN_OK);
    expect_equal(cen_supervisor_request_stop(supervisor), CEN_OK);
    ceni_thread driver = start("driver", poll_once, NULL);
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
    expect(!cen_future_cancel(&over));
    expect_equal(cen_future_wait(&over, CEN_NEVER), CEN_OK);
    join(driver);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}
