/* SPDX-License-Identifier: MIT */
/*
 * A pollable under every schedule, with the sources of the pollable and the poller that ship. What the system has to add is
 * here: the descriptors of a poller, and an edge-triggered epoll over them, in which the program's loop sleeps. An edge is
 * told once, to one who sleeps; a bell that rings already makes another edge when it is rung again, as an eventfd does.
 */
#include <cenote/pollable.h>

#include "base/atomic.h"
#include "explore/runtimes.h"
#include "poller/ready.h"

void __wrap_ceni_bell_ring(const ceni_bell *bell);
uint32_t __wrap_ceni_bell_silence(const ceni_bell *bell);
void __real_ceni_bell_ring(const ceni_bell *bell);
uint32_t __real_ceni_bell_silence(const ceni_bell *bell);

static _Atomic uint32_t edge;  /* a futex: there is one that nobody was told */
static _Atomic uint32_t rings; /* of the poller's bell, not heard yet */
static _Atomic int64_t timer;  /* when it fires; INT64_MAX: it does not */

static void make_edge(void)
{
    ceni_store_seq_cst(&edge, 1u);
    ceni_futex_wake(&edge, 1);
}

void __wrap_ceni_bell_ring(const ceni_bell *bell)
{
    __real_ceni_bell_ring(bell);
    make_edge();
}

uint32_t __wrap_ceni_bell_silence(const ceni_bell *bell)
{
    return __real_ceni_bell_silence(bell);
}

cen_status ceni_ready_open(ceni_ready *ready, int *code)
{
    (void)code;
    *ready = (ceni_ready){-1, -1, -1};
    edge = rings = 0;
    timer = INT64_MAX;
    return CEN_OK;
}

void ceni_ready_close(ceni_ready *ready)
{
    (void)ready;
}

cen_status ceni_ready_nest(ceni_ready *ready, int fd, int *code)
{
    (void)ready, (void)fd, (void)code; /* all bells of this program make edges */
    return CEN_OK;
}

cen_status ceni_ready_arm(ceni_ready *ready, int fd, unsigned events, uint32_t number)
{
    (void)ready, (void)fd, (void)events, (void)number;
    return CEN_INVALID;
}

void ceni_ready_disarm(ceni_ready *ready, int fd)
{
    (void)ready, (void)fd;
}

void ceni_ready_at(ceni_ready *ready, int64_t moment)
{
    (void)ready;
    ceni_store_seq_cst(&timer, moment);
    ceni_futex_wake(&edge, 1); /* who sleeps sleeps until that moment from now on */
}

void ceni_ready_ring(ceni_ready *ready)
{
    (void)ready;
    ceni_add_seq_cst(&rings, 1u);
    make_edge();
}

int ceni_ready_wait(ceni_ready *ready, ceni_ready_event events[CENI_READY_AT_A_TIME], int milliseconds)
{
    int count = 0;
    (void)ready;
    expect_equal(milliseconds, 0);
    if (ceni_exchange_seq_cst(&rings, 0u)) events[count++] = (ceni_ready_event){.kind = CENI_READY_BELL, .fd = -1};
    if (ceni_load_seq_cst(&timer) > ceni_clock_now()) return count;
    ceni_store_seq_cst(&timer, INT64_MAX);
    events[count++] = (ceni_ready_event){.kind = CENI_READY_TIMER, .fd = -1};
    return count;
}

/* epoll_wait without a timeout, for a loop that watches nothing but the pollable. */
static void sleep_in_the_loop(void)
{
    while (ceni_exchange_seq_cst(&edge, 0u) == 0)
        if (ceni_futex_wait(&edge, 0, ceni_load_seq_cst(&timer)) == CENI_TIMED_OUT) return; /* the timer has fired */
}

/* ---- What is run ------------------------------------------------------------------------------------ */

static cen_pollable *pollable;
static cen_job letter;
static _Atomic uint32_t runs;

static void run_letter(cen_job *posted)
{
    (void)posted;
    ceni_add_seq_cst(&runs, 1u);
    make_edge(); /* for who would sleep, although it has been run by another */
}

static uint32_t runs_now(void)
{
    return ceni_load_seq_cst(&runs);
}

static void post_letter(void *unused)
{
    (void)unused;
    cen_executor *executor = cen_pollable_executor(pollable);
    executor->post(executor, &letter);
}

static void begin(void)
{
    runs = 0;
    letter = (cen_job){.run = run_letter};
    expect_equal(cen_pollable_new(NULL, &pollable, NULL), CEN_OK);
}

static void finish(void)
{
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

/* ---- Tests -------------------------------------------------------------------------------------------- */

/* guarantees: pollable.A1 */
EXPLORE(a_job_that_is_posted_before_the_first_run_wakes_a_loop_that_sleeps, 3)
{
    begin();
    ceni_thread poster = start("post", post_letter, NULL);
    while (sleep_in_the_loop(), cen_pollable_run_ready(pollable, NULL, NULL) == CEN_OK && runs_now() == 0) continue;
    join(poster);
    finish();
}

/* guarantees: pollable.A1 */
EXPLORE(a_job_that_is_posted_while_the_loop_runs_is_run_or_wakes_it, 3)
{
    begin();
    ceni_thread poster = start("post", post_letter, NULL);
    while (cen_pollable_run_ready(pollable, NULL, NULL) == CEN_OK && runs_now() == 0) sleep_in_the_loop();
    join(poster);
    expect_equal(runs_now(), 1);
    finish();
}

static chime first, second;

static void set_first(void *unused)
{
    (void)unused;
    ceni_alarm_set(cen_pollable_runtime(pollable), &first.alarm, ceni_clock_now() + 5, NULL);
}

/* guarantees: pollable.A2 */
EXPLORE(a_deadline_that_another_sets_while_the_loop_runs_wakes_it_in_time, 3)
{
    begin();
    init_chime(&first);
    ceni_thread other = start("other", set_first, NULL);
    int64_t began = ceni_clock_now();
    while (cen_pollable_run_ready(pollable, NULL, NULL) == CEN_OK && ceni_load_seq_cst(&first.calls) == 0)
        sleep_in_the_loop();
    expect(ceni_clock_now() >= began + 5);
    join(other);
    finish();
}

static void second_is_due(ceni_alarm *alarm)
{
    chime_is_due(alarm);
    make_edge(); /* as the letter does: the other thread may have run it */
}

static void first_is_due(ceni_alarm *alarm)
{
    (void)alarm;
    ceni_alarm_set(cen_pollable_runtime(pollable), &second.alarm, ceni_clock_now() + 5, NULL);
}

static void tend_when_first_is_due(void *moment)
{
    ceni_sleep_until(*(int64_t *)moment);
    ceni_runtime_tend(cen_pollable_runtime(pollable));
}

/* The one who tends may be in the middle of it when the loop comes, and leave a later moment than the loop was told. */
/* guarantees: pollable.A2 */
EXPLORE(what_a_thread_that_waits_for_a_pool_leaves_to_be_done_wakes_the_loop, 3)
{
    begin();
    int64_t moment = ceni_clock_now() + 5;
    ceni_alarm_init(&first.alarm, first_is_due);
    init_chime(&second);
    ceni_alarm_init(&second.alarm, second_is_due);
    ceni_alarm_set(cen_pollable_runtime(pollable), &first.alarm, moment, NULL);
    expect_equal(cen_pollable_run_ready(pollable, NULL, NULL), CEN_OK);
    ceni_thread other = start("tends", tend_when_first_is_due, &moment);
    while (ceni_load_seq_cst(&second.calls) == 0) {
        sleep_in_the_loop();
        expect_equal(cen_pollable_run_ready(pollable, NULL, NULL), CEN_OK);
    }
    join(other);
    finish();
}

static void run_once(void *unused)
{
    (void)unused;
    cen_status status = cen_pollable_run_ready(pollable, NULL, NULL);
    expect(status == CEN_OK || status == CEN_BUSY);
}

/* guarantees: pollable.A4 */
EXPLORE(who_is_refused_because_another_runs_is_woken_again_when_that_has_ended, 3)
{
    begin();
    ceni_thread other = start("other", run_once, NULL);
    post_letter(NULL);
    while (runs_now() == 0) {
        sleep_in_the_loop();
        run_once(NULL);
    }
    join(other);
    expect_equal(runs_now(), 1);
    finish();
}
