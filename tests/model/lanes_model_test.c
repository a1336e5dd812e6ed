/* SPDX-License-Identifier: MIT */
/*
 * The lanes' admission and counts against a plain array of tasks, by one thread:
 * submits, refusals by the crew, steps, every way to end, changes of limits and
 * workers, and forks. The crews run nothing: each step says what becomes of a task.
 */
#include "support/model.h"

#include <stdarg.h>

#include "unit/lanes/hand_lanes.h"

enum { MODEL_TASKS = 12, STATES = 4, NONE = 0, QUEUED, RUNNING, WAITING };

typedef struct twin_task {
    cen_task task;
    int state, lane;
    bool begun;
} twin_task;

typedef struct twin_lane {
    uint64_t max, workers;
    bool is_default;
    uint64_t submitted, done, failed, cancelled, late, dropped, refused_full, refused_total;
} twin_lane;

typedef struct rig {
    twin_task tasks[MODEL_TASKS];
    twin_lane lanes[CEN_LANES];
    uint64_t max_total;
    char text[MODEL_TEXT];
} rig;

__attribute__((format(printf, 2, 3))) static const char *wrong(rig *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->text, sizeof r->text, format, arguments);
    va_end(arguments);
    return r->text;
}

/* ---- The model ------------------------------------------------------------------------------- */

/* Tasks of a lane, or of all (-1), in a state, or in any (-1). */
static uint64_t count(const rig *r, int lane, int state)
{
    uint64_t found = 0;
    for (int i = 0; i < MODEL_TASKS; i++) {
        const twin_task *t = &r->tasks[i];
        found += t->state != NONE && (lane < 0 || t->lane == lane) && (state < 0 || t->state == state);
    }
    return found;
}

static cen_status model_submit(rig *r, int i, int lane, cen_status crew)
{
    twin_lane *l = &r->lanes[lane];
    if (r->tasks[i].state != NONE) return CEN_MISUSE;
    if (count(r, lane, -1) >= l->max) {
        l->refused_full++;
        return CEN_FULL;
    }
    if (count(r, -1, -1) >= r->max_total) {
        l->refused_total++;
        return CEN_FULL;
    }
    if (crew != CEN_OK) return crew;
    l->submitted++;
    r->tasks[i].state = QUEUED;
    r->tasks[i].lane = lane;
    r->tasks[i].begun = false;
    return CEN_OK;
}

/* ---- Operations --------------------------------------------------------------------------------- */

static const char *check_refusal(rig *r, int lane, const cen_error *error)
{
    bool own = count(r, lane, -1) >= r->lanes[lane].max;
    uint64_t current = own ? count(r, lane, -1) : count(r, -1, -1), max = own ? r->lanes[lane].max : r->max_total;
    cen_cause cause = own ? CEN_CAUSE_LANE_FULL : CEN_CAUSE_ALL_LANES_FULL;
    if (error->cause != cause) return wrong(r, "refused because of %d, the model of %d", (int)error->cause, (int)cause);
    if ((uint64_t)error->current != current || (uint64_t)error->max != max)
        return wrong(r, "refused with %lld of %lld, the model %llu of %llu", (long long)error->current,
                     (long long)error->max, (unsigned long long)current, (unsigned long long)max);
    return error->retry_after_ns > 0 ? NULL : wrong(r, "a refusal does not say when to try again");
}

static const char *submit_one(rig *r, int i, int lane, cen_status crew)
{
    cen_error error = {.text = ""};
    if (r->tasks[i].state == NONE) cen_task_init(&r->tasks[i].task, NULL);
    hand_answer(crew);
    cen_status expected = model_submit(r, i, lane, crew);
    cen_status status = cen_lanes_submit(lanes, (cen_priority)lane, &r->tasks[i].task, NO_DEADLINE, &error);
    if (status != expected)
        return wrong(r, "submit: %s, the model: %s", cen_status_name(status), cen_status_name(expected));
    return status == CEN_FULL ? check_refusal(r, lane, &error) : NULL;
}

static const char *submit_op(void *state, int a, int b)
{
    return submit_one(state, a, b, CEN_OK);
}

static const char *submit_refused(void *state, int a, int b)
{
    return submit_one(state, a, b, CEN_CLOSED);
}

static const char *begin(void *state, int a, int b)
{
    twin_task *t = &((rig *)state)->tasks[a];
    (void)b;
    if (t->state != QUEUED) return NULL;
    hand_begin(&t->task);
    t->state = RUNNING;
    t->begun = true;
    return NULL;
}

static const char *pause_op(void *state, int a, int b)
{
    twin_task *t = &((rig *)state)->tasks[a];
    if (t->state != RUNNING) return NULL;
    hand_pause(&t->task, b ? CEN_NEXT_WAIT : CEN_NEXT_AGAIN);
    t->state = b ? WAITING : QUEUED;
    return NULL;
}

static const char *resume(void *state, int a, int b)
{
    twin_task *t = &((rig *)state)->tasks[a];
    (void)b;
    if (t->state != WAITING) return NULL;
    hand_resume(&t->task);
    t->state = QUEUED;
    return NULL;
}

static const char *end(void *state, int a, int b)
{
    rig *r = state;
    twin_task *t = &r->tasks[a];
    if (t->state != RUNNING) return NULL;
    hand_end(&t->task, b ? CEN_MISUSE : CEN_OK);
    *(b ? &r->lanes[t->lane].failed : &r->lanes[t->lane].done) += 1;
    t->state = NONE;
    return NULL;
}

static const char *drop(void *state, int a, int b)
{
    static const cen_status why[] = {CEN_INTERRUPTED, CEN_TIMEOUT, CEN_CLOSED};
    rig *r = state;
    twin_task *t = &r->tasks[a];
    if (t->state != QUEUED || t->begun) return NULL;
    twin_lane *l = &r->lanes[t->lane];
    hand_drop(&t->task, why[b]);
    *(b == 0 ? &l->cancelled : b == 1 ? &l->late : &l->dropped) += 1;
    t->state = NONE;
    return NULL;
}

/* Of a lane, or, as the fourth, of all: 1 to 4, none (5), or the default (0). */
static const char *limit(void *state, int a, int b)
{
    rig *r = state;
    int64_t value = b == 5 ? CEN_OFF : b;
    if (a == CEN_LANES) {
        r->max_total = b > 0 && b < 5 ? (uint64_t)b : 3 * (uint64_t)CEN_LANE_TASKS_MAX;
        return cen_lanes_max_total_set(lanes, value, NULL) == CEN_OK ? NULL : "limit_total was refused";
    }
    twin_lane *l = &r->lanes[a];
    l->is_default = b == 0;
    l->max = b == 0 ? 2000 * l->workers : b == 5 ? CEN_LANE_TASKS_MAX : (uint64_t)b;
    return cen_lanes_max_tasks_set(lanes, (cen_priority)a, value, NULL) == CEN_OK ? NULL : "limit was refused";
}

static const char *resize(void *state, int a, int b)
{
    twin_lane *l = &((rig *)state)->lanes[a];
    l->workers = (uint64_t)b + 1;
    if (l->is_default) l->max = 2000 * l->workers;
    return cen_lanes_resize(lanes, (cen_priority)a, (uint32_t)b + 1, NULL) == CEN_OK ? NULL : "resize was refused";
}

static const char *fork_op(void *state, int a, int b)
{
    rig *r = state;
    (void)a, (void)b;
    ceni_world_fork();
    for (int i = 0; i < MODEL_TASKS; i++) {
        r->tasks[i].state = NONE;
        cen_task_init(&r->tasks[i].task, NULL);
    }
    for (int i = 0; i < CEN_LANES; i++)
        r->lanes[i] =
            (twin_lane){.max = r->lanes[i].max, .workers = r->lanes[i].workers, .is_default = r->lanes[i].is_default};
    return NULL;
}

static const char *compare(rig *r, int lane, const char *what, uint64_t actual, uint64_t expected)
{
    if (actual == expected) return NULL;
    return wrong(r, "lane %d: %s is %llu, the model has %llu", lane, what, (unsigned long long)actual,
                 (unsigned long long)expected);
}

static const char *look_at(rig *r, int i, const cen_lane_stats *s)
{
    const twin_lane *l = &r->lanes[i];
    const struct {
        const char *name;
        uint64_t actual, expected;
    } numbers[] = {
        {"max", s->max, l->max},
        {"admitted", s->admitted, count(r, i, -1)},
        {"queued", s->queued, count(r, i, QUEUED)},
        {"running", s->running, count(r, i, RUNNING)},
        {"suspended", s->suspended, count(r, i, WAITING)},
        {"submitted", s->submitted, l->submitted},
        {"done", s->done, l->done},
        {"failed", s->failed, l->failed},
        {"cancelled", s->cancelled, l->cancelled},
        {"late", s->late, l->late},
        {"dropped", s->dropped, l->dropped},
        {"refused_full", s->refused_full, l->refused_full},
        {"refused_total", s->refused_total, l->refused_total},
        {"submitted and not over", s->submitted - s->done - s->failed - s->cancelled - s->late - s->dropped,
         s->admitted},
    };
    const char *text = NULL;
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers && !text; n++)
        text = compare(r, i, numbers[n].name, numbers[n].actual, numbers[n].expected);
    return text;
}

static const char *look_op(void *state, int a, int b)
{
    rig *r = state;
    cen_lanes_stats stats = CEN_SIZED(cen_lanes_stats);
    (void)a, (void)b;
    if (cen_lanes_stats_get(lanes, &stats) != CEN_OK) return "look was refused";
    const char *text = compare(r, -1, "admitted", stats.admitted, count(r, -1, -1));
    if (!text) text = compare(r, -1, "max", stats.max, r->max_total);
    for (int i = 0; i < CEN_LANES && !text; i++) text = look_at(r, i, &stats.lane[i]);
    return text;
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

static void *setup(void)
{
    static rig the_rig;
    rig *r = &the_rig;
    static const cen_crew_options one = CEN_CREW_OPTIONS(.workers = 1);
    *r = (rig){.max_total = 5};
    make_lanes(.high = {.crew = &one, .max_tasks = 2}, .normal = {.crew = &one, .max_tasks = 3}, .low = {.crew = &one},
               .max_total = 5, .without_latency = true, .on_fork = CEN_FORK_RENEW);
    for (int i = 0; i < MODEL_TASKS; i++) cen_task_init(&r->tasks[i].task, NULL);
    for (int i = 0; i < CEN_LANES; i++) r->lanes[i].workers = 1;
    r->lanes[HIGH].max = 2;
    r->lanes[NORMAL].max = 3;
    r->lanes[LOW].max = 2000;
    r->lanes[LOW].is_default = true;
    return r;
}

static const char *teardown(void *state)
{
    const char *text = look_op(state, 0, 0);
    cen_lanes_stop(lanes, CEN_STOP_DROP, CEN_NEVER, NULL, NULL);
    if (!text && cen_lanes_free(lanes) != CEN_OK) text = "free was refused";
    return text;
}

static const model_op ops[] = {
    {"submit", 10, MODEL_TASKS, CEN_LANES, submit_op, NULL},
    {"submit_refused", 1, MODEL_TASKS, CEN_LANES, submit_refused, NULL},
    {"begin", 6, MODEL_TASKS, 0, begin, NULL},
    {"pause", 4, MODEL_TASKS, 2, pause_op, NULL},
    {"resume", 3, MODEL_TASKS, 0, resume, NULL},
    {"end", 4, MODEL_TASKS, 2, end, NULL},
    {"drop", 3, MODEL_TASKS, 3, drop, NULL},
    {"limit", 2, CEN_LANES + 1, 6, limit, NULL},
    {"resize", 1, CEN_LANES, 3, resize, NULL},
    {"look", 4, 0, 0, look_op, NULL},
    {"fork", 1, 0, 0, fork_op, NULL},
};

static model lanes_model(unsigned steps, unsigned runs)
{
    return (model){.name = "lanes",
                   .ops = ops,
                   .op_count = sizeof ops / sizeof *ops,
                   .setup = setup,
                   .teardown = teardown,
                   .steps = steps,
                   .runs = runs};
}

/* guarantees: lanes.limits, task-bugs.limit */
PLAIN_TEST(lanes_match_their_model_in_short_runs)
{
    model m = lanes_model(40, 3000);
    model_check(&m);
}

/* guarantees: lanes.limits */
PLAIN_TEST(lanes_match_their_model_in_long_runs)
{
    model m = lanes_model(1000, 100);
    model_check(&m);
}
