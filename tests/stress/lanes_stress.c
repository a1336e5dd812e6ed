/* SPDX-License-Identifier: MIT */
/*
 * Random load on lanes by threads of the system: threads submit to all lanes, with
 * and without deadlines, and cancel; tasks end at once, yield, wait for futures that others
 * keep, fail, or submit more; limits and workers change; the lanes are stopped
 * under it, to drain or to drop.
 *
 * The oracle: between the user's own observer, told when a task begins, and its end no more
 * tasks of a lane, or of all, are alive than the highest limit in force; each task that was
 * admitted is over once; at the end all counts are 0 and their equation holds.
 *
 *     CENOTE_STRESS_SECONDS=n   for all tests of the program together
 *     CENOTE_SEED=n             the same choices, though not the same schedule
 */
#include <stdlib.h>
#include <unistd.h>

#include <cenote/cenote.h>

#include "base/atomic.h"
#include "port/port.h"
#include "support/test.h"

enum { FRESH, BEGUN, OVER }; /* of a life */
enum { TESTS = 2, SENDERS = 4, MINE = 6, SENDS = 150, MAX_HIGH = 3, MAX_NORMAL = 5, MAX_LOW = 4, MAX_TOTAL = 8 };

typedef struct errand {
    cen_task task;
    cen_future gate;
    cen_promise promise;
    unsigned kind, lane;
    _Atomic uint32_t life;
    bool in; /* its sender's: it was admitted, and must be waited for */
} errand;

static cen_lanes *lanes;
static _Atomic uint32_t alive[CEN_LANES], alive_in_all; /* submitted and not told to be over; counted after admission */
static _Atomic uint32_t admitted, over_count, looks;
static const uint32_t limits[CEN_LANES] = {
    [CEN_PRIORITY_NORMAL] = MAX_NORMAL, [CEN_PRIORITY_HIGH] = MAX_HIGH, [CEN_PRIORITY_LOW] = MAX_LOW};
static uint64_t totals[3];

/* ---- Tasks ------------------------------------------------------------------------------------ */

/* A task counts as alive from its first step, which is after its admission, until it is told to be over,
 * which is before its place is given back. */
static void come_alive(errand *self)
{
    expect_equal(ceni_exchange_seq_cst(&self->life, BEGUN), FRESH);
    uint32_t of_lane = ceni_add_seq_cst(&alive[self->lane], 1) + 1, in_all = ceni_add_seq_cst(&alive_in_all, 1) + 1;
    if (of_lane > limits[self->lane] || in_all > MAX_TOTAL)
        test_fail(__FILE__, __LINE__, "%" PRIu32 " tasks of lane %u are alive, and %" PRIu32 " in all", of_lane,
                  self->lane, in_all);
}

static void tell_over(void *argument, cen_task *task, cen_status status, bool begun)
{
    (void)argument, (void)status;
    errand *self = (errand *)(void *)task;
    ceni_add_seq_cst(&over_count, 1);
    expect_equal(ceni_exchange_seq_cst(&self->life, OVER), begun ? BEGUN : FRESH);
    if (!begun) return;
    ceni_sub_seq_cst(&alive_in_all, 1);
    ceni_sub_seq_cst(&alive[self->lane], 1);
}

static cen_next finish(cen_task *task)
{
    return ((errand *)(void *)task)->kind == 3 ? cen_task_fail(task, NULL) : cen_task_done(task, NULL);
}

static cen_next begin(cen_task *task)
{
    errand *self = (errand *)(void *)task;
    come_alive(self);
    if (self->kind == 1) return cen_task_yield(task, finish);
    if (self->kind == 2) return cen_task_wait(task, &self->gate, finish);
    return finish(task);
}

/* ---- Senders ------------------------------------------------------------------------------------- */

static void check_refusal(cen_status status, const cen_error *error)
{
    bool ruled = status == CEN_FULL || status == CEN_OVERLOAD;
    expect(ruled || status == CEN_CLOSED || status == CEN_TIMEOUT);
    if (!ruled) return;
    expect(error->retry_after_ns > 0);
    expect(error->current >= error->max || status == CEN_OVERLOAD);
}

static void await(errand *self)
{
    if (self->kind == 2) cen_promise_complete(&self->promise, NULL);
    expect_equal(cen_future_wait(&self->task.future, CEN_NEVER), CEN_OK);
    self->in = false;
}

static void send_one(errand *self, uint64_t *dice)
{
    cen_error error = {.text = ""};
    uint64_t chance = test_random(dice);
    cen_task_init(&self->task, begin);
    cen_future_init(&self->gate);
    expect_equal(cen_promise_init(&self->promise, &self->gate), CEN_OK);
    ceni_store_seq_cst(&self->life, FRESH);
    self->kind = (unsigned)(chance % 4);
    self->lane = (unsigned)(chance / 4 % CEN_LANES);
    cen_deadline deadline = chance / 16 % 4 ? (cen_deadline){0} : cen_in_us((int64_t)(chance / 64 % 200));
    cen_status status = cen_lanes_submit(lanes, (cen_priority)self->lane, &self->task, deadline, &error);
    self->in = status == CEN_OK;
    if (self->in) ceni_add_seq_cst(&admitted, 1);
    else check_refusal(status, &error);
    if (self->in && chance / 65536 % 4 == 0) cen_task_cancel(&self->task);
}

static void check_look(void)
{
    cen_lanes_stats stats = CEN_SIZED(cen_lanes_stats);
    expect_equal(cen_lanes_stats_get(lanes, &stats), CEN_OK);
    uint64_t sum = 0;
    for (unsigned i = 0; i < CEN_LANES; i++) {
        const cen_lane_stats *lane = &stats.lane[i];
        expect(lane->admitted <= limits[i]);
        expect(lane->queued + lane->running + lane->suspended <= limits[i]);
        sum += lane->admitted;
    }
    expect_equal(stats.admitted, sum);
    expect(sum <= MAX_TOTAL);
    ceni_add_seq_cst(&looks, 1);
}

static void send_all(void *argument)
{
    uint64_t dice = *(uint64_t *)argument;
    errand *mine = calloc(MINE, sizeof *mine);
    expect(mine != NULL);
    for (unsigned n = 0; n < SENDS; n++) {
        errand *self = &mine[test_random(&dice) % MINE];
        if (self->in) await(self);
        send_one(self, &dice);
        if (test_random(&dice) % 16 == 0) check_look();
        if (test_random(&dice) % 64 == 0) /* never more than the first */
            cen_lanes_max_tasks_set(lanes, (cen_priority)(test_random(&dice) % 2),
                                    1 + (int64_t)(test_random(&dice) % MAX_HIGH), NULL);
        if (test_random(&dice) % 128 == 0)
            cen_lanes_resize(lanes, CEN_PRIORITY_LOW, 1 + (uint32_t)(test_random(&dice) % 2), NULL);
    }
    for (unsigned i = 0; i < MINE; i++)
        if (mine[i].in) await(&mine[i]);
    free(mine);
}

/* ---- Rounds -------------------------------------------------------------------------------------------- */

static void start_lanes(bool timed)
{
    static const cen_crew_options crew = CEN_CREW_OPTIONS(.workers = 2, .observer = {.over = tell_over});
    cen_lanes_options options = CEN_LANES_OPTIONS(.high = {.crew = &crew, .max_tasks = MAX_HIGH},
                                                  .normal = {.crew = &crew, .max_tasks = MAX_NORMAL},
                                                  .low = {.crew = &crew, .max_tasks = MAX_LOW}, .max_total = MAX_TOTAL,
                                                  .without_latency = !timed);
    ceni_store_seq_cst(&admitted, 0);
    ceni_store_seq_cst(&over_count, 0);
    expect_equal(cen_lanes_new(&options, &lanes, NULL), CEN_OK);
}

static void check_end(void)
{
    cen_lanes_stats stats = CEN_SIZED(cen_lanes_stats);
    uint64_t submitted = 0;
    expect_equal(cen_lanes_stats_get(lanes, &stats), CEN_OK);
    expect_equal(stats.admitted, 0);
    for (unsigned i = 0; i < CEN_LANES; i++) {
        const cen_lane_stats *lane = &stats.lane[i];
        expect_equal(lane->admitted + lane->queued + lane->running + lane->suspended, 0);
        expect_equal(lane->submitted, lane->done + lane->failed + lane->cancelled + lane->late + lane->dropped);
        expect_equal(ceni_load_seq_cst(&alive[i]), 0);
        submitted += lane->submitted;
        totals[1] += lane->refused_full + lane->refused_total + lane->refused_late;
        totals[2] += lane->cancelled + lane->late + lane->dropped;
    }
    expect_equal(submitted, ceni_load_seq_cst(&admitted));
    expect_equal(submitted, ceni_load_seq_cst(&over_count));
    totals[0] += submitted;
}

static void one_round(uint64_t *dice, bool stops)
{
    uint64_t seeds[SENDERS];
    ceni_thread threads[SENDERS];
    int code;
    start_lanes(test_random(dice) % 2);
    for (unsigned i = 0; i < SENDERS; i++) {
        seeds[i] = test_random(dice);
        expect_equal(ceni_thread_start(&threads[i], NULL, send_all, &seeds[i], &code), CEN_OK);
    }
    if (stops) {
        ceni_sleep_until(ceni_clock_now() + (int64_t)(test_random(dice) % 2000000));
        cen_stop how = test_random(dice) % 2 ? CEN_STOP_DRAIN : CEN_STOP_DROP;
        cen_status status = cen_lanes_stop(lanes, how, cen_in_ms(test_random(dice) % 2 ? 10000 : 1), NULL, NULL);
        expect(status == CEN_OK || status == CEN_TIMEOUT);
    }
    for (unsigned i = 0; i < SENDERS; i++) ceni_thread_join(&threads[i]);
    expect_equal(cen_lanes_stop(lanes, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    check_end();
    expect_equal(cen_lanes_free(lanes), CEN_OK);
}

static void load(bool stops)
{
    const char *text = getenv("CENOTE_STRESS_SECONDS");
    double seconds = (text ? strtod(text, NULL) : 2.0) / TESTS;
    uint64_t seed = test_seed(), rounds = 0;
    alarm((unsigned)seconds + 60);
    int64_t until = ceni_clock_now() + (int64_t)(seconds * 1e9);
    for (; rounds == 0 || ceni_clock_now() < until; rounds++) one_round(&seed, stops);
    expect(totals[0] > 0 && ceni_load_seq_cst(&looks) > 0);
    if (!stops) expect(totals[1] > 0);
    printf("     %" PRIu64 " rounds, %" PRIu64 " tasks admitted, %" PRIu64 " of them never began, %" PRIu64
           " refused\n",
           rounds, totals[0], totals[2], totals[1]);
}

/* guarantees: lanes.limits, task-bugs.limit */
TEST(O_many_who_submit_at_once_never_exceed_a_limit_and_every_place_comes_back)
{
    load(false);
}

/* guarantees: lanes.places */
TEST(D_lanes_that_are_stopped_under_load_lose_no_place)
{
    load(true);
}
