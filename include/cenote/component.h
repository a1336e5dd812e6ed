/* SPDX-License-Identifier: MIT */
/*
 * Watching: every pool, crew, queue, router, supervisor and whatever else of
 * cenote's lives in this process, without knowing any of their kinds.
 *
 *     static void show(void *argument, cen_component *component)
 *     {
 *         (void)argument;
 *         cen_metric metrics[CEN_METRICS_MAX];
 *         size_t count = cen_component_metrics(component, metrics, CEN_METRICS_MAX);
 *         for (size_t i = 0; i < count; i++)
 *             printf("%s %s %lld\n", cen_component_name(component), metrics[i].name, (long long)metrics[i].value);
 *     }
 *     cen_components_each(show, NULL);
 *
 * A component describes itself in four ways: metrics (numbers), histograms (of durations), a
 * description (all of it, with lists of holders, members, children and workers, for a page or
 * JSON), and actions that it can be told to do.
 *
 * A component cannot end while it is visited: whoever frees it waits for the visitor. So
 * a visitor copies what it wants and returns, and never waits for a network; it ends by returning, not by longjmp or pthread_exit.
 * What is seen of one component was true at one moment of the call, as its own header
 * says of its numbers; two components are looked at one after the other.
 *
 * Threads: any, at any time, from any number of threads. Watching takes no lock that
 * a take or a give needs, and adds nothing to either.
 * Fork: a child has the components that it made itself.
 */
#ifndef CENOTE_COMPONENT_H
#define CENOTE_COMPONENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/histogram.h>
#include <cenote/status.h>
#include <cenote/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Valid while it is visited. */
typedef struct cen_component cen_component;

/* ---- Who is there --------------------------------------------------------- */

/* Calls `visit` for every component, oldest first. One that is there from the
 * beginning to the end of the call is visited once; one that comes or goes
 * meanwhile once or not at all. */
CEN_API void cen_components_each(void (*visit)(void *argument, cen_component *component), void *argument);

/* Visits the component of that number. Errors: ABSENT (there is none, or no more), INVALID. */
CEN_API cen_status cen_component_visit(uint64_t number, void (*visit)(void *argument, cen_component *component),
                                       void *argument);

CEN_API uint64_t
cen_component_number(const cen_component *component); /* no two components of a process have or had the same */
CEN_API const char *cen_component_kind(const cen_component *component); /* "pool", "crew", "queue", "router", ... */
CEN_API const char *cen_component_name(const cen_component *component); /* need not be its alone */

/* What kind of server or service its objects belong to, in the words of OpenTelemetry's
 * db.system.name ("postgresql", "redis"), or "http"; NULL if it has no such. */
CEN_API const char *cen_component_system(const cen_component *component);

/* ---- Metrics ---------------------------------------------------------------- */

typedef enum cen_metric_kind {
    CEN_GAUGE = 0, /* may rise and fall */
    CEN_COUNTER,   /* only rises, until the component is gone */
} cen_metric_kind;

typedef struct cen_metric {
    const char *name; /* lower case with underscores; one that ends in _ns is a time in nanoseconds; lives forever */
    int64_t value;
    cen_metric_kind kind;
} cen_metric;

/* No component has more metrics than this. */
#define CEN_METRICS_MAX 64

/* Write up to `room` metrics. Returns: how many the component has. The macro passes the size of an element. */
#define cen_component_metrics(component, metrics, room) \
    cen_component_metrics_sized((component), (metrics), sizeof(cen_metric), (room))
CEN_API size_t cen_component_metrics_sized(const cen_component *component, cen_metric *metrics, size_t size,
                                           size_t room);

/* ---- Histograms ----------------------------------------------------------------- */

typedef struct cen_histogram_header {
    const char *name; /* "wait", "use", "create", "run": of what; lives forever */
    uint32_t one_in;  /* so many were there for each that is in the histograms: 1 if all are, 64 by default for "use" */
    uint64_t instant; /* so many more took no time worth a clock: takes that did not wait, say; not in the histograms */
} cen_histogram_header;

/* Writes what times the component has: the one at `index`, from 0. False: there is none. *out is for the caller to provide. */
CEN_API bool cen_component_histogram(const cen_component *component, size_t index, cen_histogram_header *timing,
                                     cen_histogram *out);

/* ---- Description ---------------------------------------------------------------------- */

/* Where a component writes what it is: numbers, texts, lists of items, in the order of a
 * JSON document. All functions must be there. Names live forever; texts during the call only. */
typedef struct cen_description_writer {
    void *argument;
    void (*number)(void *argument, const char *name, int64_t value); /* one that ends in _ns is a time */
    void (*truth)(void *argument, const char *name, bool value);
    void (*text)(void *argument, const char *name, const char *value); /* value may be NULL: not known */
    void (*list)(void *argument, const char *name);                    /* begins a list: item, ..., end */
    void (*item)(void *argument); /* begins an item of the list: number, text, list, ..., end */
    void (*end)(void *argument);  /* ends the list or the item */
} cen_description_writer;

/* Lets the component write itself. `most`: no list has more items than so many; a list that was cut is followed by
 * a number of its name with "_more": how many it had beyond. */
CEN_API void cen_component_describe(const cen_component *component, const cen_description_writer *description,
                                    size_t most);

/* ---- Actions ------------------------------------------------------------------------ */

/* What the component can be told to do: "pause", "resume", "resize" (value: the new size), "reload" (value: over how many
 * nanoseconds), "evict" (closes what is idle), "test". The one at `index`, from 0; NULL: there is none. */
CEN_API const char *cen_component_action_name(const cen_component *component, size_t index);

/* Tells it. Errors: ABSENT (it has no such action), INVALID (the value), and what the component answers. */
CEN_API cen_status cen_component_invoke(cen_component *component, const char *action, int64_t value, cen_error *error);

#ifdef __cplusplus
}
#endif
#endif
