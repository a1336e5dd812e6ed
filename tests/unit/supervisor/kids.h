/* SPDX-License-Identifier: MIT */
/*
 * Children that write down what is done with them, under a manual runtime with
 * virtual time.
 *
 * The log has a small letter for a start, a capital for a stop, '!' and the letter for a kill. A child
 * ends in its stop, unless it `lingers`.
 */
#ifndef TESTS_UNIT_SUPERVISOR_KIDS_H
#define TESTS_UNIT_SUPERVISOR_KIDS_H

#include <cenote/cenote.h>
#include <cenote/supervisor.h>

#include "port/port.h"
#include "support/test.h"

static const int64_t second = 1000000000, milli = 1000000;

typedef struct kid {
    char letter;
    unsigned fails;   /* so many of its next starts fail */
    bool lingers;     /* a stop does not end it */
    bool dies_killed; /* a kill does */
    unsigned starts, stops, kills;
    cen_child child; /* the start it had last */
    cen_child before;
    void (*in_start)(struct kid *kid, cen_child child);
    void (*in_stop)(struct kid *kid, cen_child child);
} kid;

enum { KIDS = 8 };

static cen_runtime *runtime;
static cen_supervisor *supervisor;
static kid kids[KIDS]; /* a, b, c ... */
static char history[4096];
static char events[8192];

static inline void note(const char *text)
{
    size_t used = strlen(history);
    snprintf(history + used, sizeof history - used, "%s", text);
}

static inline void expect_history(const char *text)
{
    expect_text(history, text);
    history[0] = '\0';
}

static inline void expect_events(const char *text)
{
    expect_text(events, text);
    events[0] = '\0';
}

static inline cen_status start_kid(void *argument, cen_child child, cen_error *error)
{
    kid *self = argument;
    note((char[]){self->letter, '\0'});
    self->starts++;
    if (self->fails > 0) {
        self->fails--;
        error->status = CEN_DRIVER;
        error->code = 7;
        snprintf(error->text, sizeof error->text, "%c does not start", self->letter);
        return CEN_DRIVER;
    }
    self->before = self->child;
    self->child = child;
    if (self->in_start) self->in_start(self, child);
    return CEN_OK;
}

static inline void stop_kid(void *argument, cen_child child)
{
    kid *self = argument;
    note((char[]){(char)(self->letter - 'a' + 'A'), '\0'});
    self->stops++;
    expect(cen_child_is_stopping(child));
    if (self->in_stop) self->in_stop(self, child);
    if (!self->lingers) cen_child_report_ended(child, NULL);
}

static inline void kill_kid(void *argument, cen_child child)
{
    kid *self = argument;
    note((char[]){'!', self->letter, '\0'});
    self->kills++;
    if (self->dies_killed) cen_child_report_ended(child, NULL);
}

static inline void hear(void *argument, const cen_supervisor_event *event)
{
    (void)argument;
    const char *word = cen_event_kind_name(event->kind);
    bool of_child = strncmp(word, "child_", 6) == 0;
    size_t used = strlen(events);
    snprintf(events + used, sizeof events - used, "%s %s%s;", event->name, of_child ? word + 6 : word,
             event->error ? " badly" : "");
}

static inline cen_child_options kid_options(int i)
{
    static const char *const names[KIDS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    return CEN_CHILD_OPTIONS(.name = names[i], .argument = &kids[i], .start = start_kid, .stop = stop_kid);
}

static inline void init_kids(void)
{
    memset(kids, 0, sizeof kids);
    for (int i = 0; i < KIDS; i++) kids[i].letter = (char)('a' + i);
    history[0] = events[0] = '\0';
}

static inline cen_runtime *make_runtime(void)
{
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = true);
    expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
    return runtime;
}

/* Without a back-off and with a listener, unless said otherwise. */
#define make_supervisor(children_, count_, ...) \
    make_supervisor_of(CEN_SUPERVISOR_OPTIONS(.children = (children_), .child_count = (count_), __VA_ARGS__))

static inline cen_status try_supervisor(cen_supervisor_options options, cen_error *error)
{
    if (!options.runtime) options.runtime = runtime ? runtime : make_runtime();
    if (!options.listener) options.listener = hear;
    if (options.backoff_initial_ns == 0) options.backoff_initial_ns = CEN_OFF;
    supervisor = NULL;
    return cen_supervisor_new(&options, &supervisor, error);
}

static inline void make_supervisor_of(cen_supervisor_options options)
{
    cen_error error = {.text = ""};
    cen_status status = try_supervisor(options, &error);
    expect_text(error.text, "");
    expect_equal(status, CEN_OK);
}

static inline void poll(void)
{
    while (cen_runtime_poll(runtime) == 0) continue;
}

static inline void advance(int64_t ns)
{
    expect_equal(cen_runtime_advance(runtime, ns), CEN_OK);
}

static inline cen_error badly(void)
{
    cen_error error = {.status = CEN_LOST, .code = 9};
    snprintf(error.text, sizeof error.text, "the line was cut");
    return error;
}

/* It dies, and the supervisor does what it does. */
static inline void die(int i, bool normal)
{
    cen_error error = badly();
    expect(cen_child_report_ended(kids[i].child, normal ? NULL : &error));
    poll();
}

static inline cen_supervisor_stats look(void)
{
    cen_supervisor_stats stats = CEN_SIZED(cen_supervisor_stats);
    expect_equal(cen_supervisor_stats_get(supervisor, &stats), CEN_OK);
    expect_equal(stats.children, stats.down + stats.waiting + stats.starting + stats.running + stats.stopping);
    return stats;
}

typedef struct child_search {
    const char *name;
    cen_child_stats *out;
    bool found;
} child_search;

static inline void compare_child(void *argument, const cen_child_stats *child)
{
    child_search *search = argument;
    if (strcmp(child->name, search->name) != 0) return;
    *search->out = *child;
    search->out->name = search->name;
    search->found = true;
}

/* False: there is none of this name. */
static inline bool find_child(const char *name, cen_child_stats *out)
{
    child_search search = {.name = name, .out = out};
    expect_equal(cen_supervisor_each(supervisor, compare_child, &search), CEN_OK);
    return search.found;
}

static inline cen_child_stats child_at(int i)
{
    cen_child_stats stats = {.name = NULL};
    expect(find_child((char[]){(char)('a' + i), '\0'}, &stats));
    return stats;
}

static inline void free_all(void)
{
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    runtime = NULL;
    supervisor = NULL;
}

static inline void end_supervisor(void)
{
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    free_all();
}

#endif
