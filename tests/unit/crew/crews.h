/* SPDX-License-Identifier: MIT */
/* A crew, and tasks that leave a mark when they run. */
#ifndef TESTS_UNIT_CREW_CREWS_H
#define TESTS_UNIT_CREW_CREWS_H

#include <cenote/cenote.h>

#include "base/atomic.h"
#include "port/port.h"
#include "support/test.h"
#ifdef CENI_WATCHED
#include "support/world.h"
#endif

#define SECOND INT64_C(1000000000)
#define MS INT64_C(1000000)

static cen_crew *crew;
static char story[256]; /* the marks, in the order in which they were made */

typedef struct work {
    cen_task task;
    char mark;
    unsigned steps;
    int64_t ns;       /* how long it takes, or waits */
    cen_status asked; /* what its last step was told */
    cen_status got;
    void (*inside)(struct work *self); /* in its only step; may be NULL */
    cen_future *future;                /* what it waits for */
    struct work *other;
    cen_timer timer;
    cen_take_op take;
    cen_lease lease;
    cen_error error;
    uint32_t worker;
} work;

/* In a world one thread at a time runs, and what comes first comes first every time. */
static inline void mark(char letter)
{
#ifndef CENI_WATCHED
    return;
#endif
    size_t length = strlen(story);
    if (letter && length + 1 < sizeof story) memcpy(story + length, (char[]){letter, '\0'}, 2);
}

static inline void expect_story(const char *marks)
{
    expect_text(story, marks);
    story[0] = '\0';
}

static inline cen_next run_once(cen_task *task)
{
    work *self = (work *)task;
    self->steps++;
    self->asked = cen_task_check_stop(task);
    mark(self->mark);
    if (self->inside) self->inside(self);
    return cen_task_done(task, self);
}

static inline void init_work(work *self, char letter, cen_step first)
{
    *self = (work){.mark = letter, .got = CEN_OK};
    cen_task_init(&self->task, first);
    self->task.future.error = &self->error;
}

static inline void init_works(work *first, unsigned count)
{
    for (unsigned i = 0; i < count; i++) init_work(&first[i], (char)('a' + i), run_once);
}

static inline void make_crew_of(cen_crew_options options)
{
    cen_error error = {.text = ""};
    story[0] = '\0';
    if (cen_crew_new(&options, &crew, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "no crew: %s", error.text);
}

#define make_crew(...) make_crew_of(CEN_CREW_OPTIONS(__VA_ARGS__))

static inline void submit(work *self)
{
    expect_equal(cen_crew_submit(crew, &self->task, NULL), CEN_OK);
}

static inline void submit_works(work *first, unsigned count)
{
    cen_task *all[64];
    expect(count <= 64);
    for (unsigned i = 0; i < count; i++) all[i] = &first[i].task;
    expect_equal(cen_crew_submit_all(crew, all, count, NULL), CEN_OK);
}

/* Waits for its end and expects that status. */
static inline void expect_end(work *self, cen_status status)
{
    expect_equal(cen_future_wait(&self->task.future, CEN_NEVER), CEN_OK);
    if (self->task.future.status != status)
        test_fail(__FILE__, __LINE__, "it ended with %s (\"%s\"), expected %s",
                  cen_status_name(self->task.future.status), self->error.text, cen_status_name(status));
    expect(status == CEN_OK ? self->task.future.value == self : self->task.future.value == NULL);
}

static inline cen_crew_stats look(void)
{
    cen_crew_stats s = CEN_SIZED(cen_crew_stats);
    expect_equal(cen_crew_stats_get(crew, &s), CEN_OK);
    return s;
}

/* Nothing happens meanwhile. */
static inline cen_crew_stats sound_look(void)
{
    cen_crew_stats s = look();
    expect_equal(s.submitted, s.finished + s.queued + s.running + s.waiting);
    expect(s.idle + s.blocked <= s.threads);
    return s;
}

static inline void finish(void)
{
    cen_crew_report report = CEN_SIZED(cen_crew_report);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, &report, NULL), CEN_OK);
    expect_equal(report.running + report.waiting + report.queued, 0);
    cen_crew_stats s = sound_look();
    expect_equal(s.submitted, s.finished);
    expect_equal(s.threads, 0);
    expect(s.is_stopped);
    expect_equal(cen_crew_free(crew), CEN_OK);
    crew = NULL;
#ifdef CENI_WATCHED
    expect_equal(ceni_world_bytes(), 0);
#endif
}

static inline void nap(int64_t ns)
{
    ceni_sleep_until(ceni_clock_now() + ns);
}

static inline void take_long(work *self)
{
    nap(self->ns);
}

static inline void settle(void)
{
#ifdef CENI_WATCHED
    ceni_world_settle();
#else
    nap(20 * MS);
#endif
}

/* A worker that is busy until it is let go. */
static work blocker;

static inline void keep_busy(int64_t ns)
{
    init_work(&blocker, 0, run_once);
    blocker.inside = take_long;
    blocker.ns = ns;
    submit(&blocker);
    settle();
}

#endif
