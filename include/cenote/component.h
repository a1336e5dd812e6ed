/* SPDX-License-Identifier: MIT */
/*
 * Components: a uniform way to observe every pool, crew, queue, router, supervisor and other component of cenote in
 * this process, without knowing its kind.
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
 * A component offers four things:
 *  - metrics: its numbers
 *  - histograms: its durations
 *  - a description: its whole state, with lists of holders, members, children and workers, for a web page or JSON
 *  - actions: operations that a program can invoke
 *
 * A component cannot be freed while it is being visited: the call that frees it waits for the visitor. A visitor should
 * therefore copy what it needs and return. It must not wait for the network, and must not end by longjmp or
 * pthread_exit. The header of each kind of component states how consistent its numbers are. Components are read one
 * after another.
 *
 * Threads: any number of threads may call these functions at any time. Observing takes no lock that a take or a give
 * needs, and adds nothing to their cost.
 * Fork: a child has only the components that it created itself.
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

/* A component. The pointer is valid only during the visit. */
typedef struct cen_component cen_component;

/* ---- Visiting components -------------------------------------------------- */

/* Call `visit` for every component, oldest first. A component that exists during the whole call is visited exactly
 * once. A component that is created or freed during the call is visited at most once. */
CEN_API void cen_components_each(void (*visit)(void *argument, cen_component *component), void *argument);

/* Visit the component with the given number.
 * Returns:
 *   OK       the component was visited
 *   ABSENT   there is no such component, or it has ended
 *   INVALID  visit is NULL, or number is 0
 */
CEN_API cen_status cen_component_visit(uint64_t number, void (*visit)(void *argument, cen_component *component),
                                       void *argument);

/* Return the component's number, kind and name. */
CEN_API uint64_t
cen_component_number(const cen_component *component); /* a number is never reused within the same process */
CEN_API const char *cen_component_kind(const cen_component *component); /* "pool", "crew", "queue", "router", ... */
CEN_API const char *cen_component_name(const cen_component *component); /* need not be unique */

/* Return the kind of server or service that the component's objects belong to: a name from OpenTelemetry's
 * db.system.name ("postgresql", "redis") or "http". Return NULL if there is none. */
CEN_API const char *cen_component_system(const cen_component *component);

/* ---- Metrics ---------------------------------------------------------------- */

/* How a metric changes. */
typedef enum cen_metric_kind {
    CEN_GAUGE = 0, /* rises and falls */
    CEN_COUNTER,   /* only rises while the component exists */
} cen_metric_kind;

/* One number of a component. */
typedef struct cen_metric {
    const char *name; /* lower case with underscores; ends in _ns if the value is a time in nanoseconds; never freed */
    int64_t value;
    cen_metric_kind kind;
} cen_metric;

/* The maximum number of metrics of a component. */
#define CEN_METRICS_MAX 64

/* Write up to `room` metrics of the component to the array. Return the total number of its metrics. The macro passes
 * the size of an element. */
#define cen_component_metrics(component, metrics, room) \
    cen_component_metrics_sized((component), (metrics), sizeof(cen_metric), (room))
CEN_API size_t cen_component_metrics_sized(const cen_component *component, cen_metric *metrics, size_t size,
                                           size_t room);

/* ---- Histograms ----------------------------------------------------------------- */

/* Describes a histogram. */
typedef struct cen_histogram_header {
    const char *name; /* "wait", "use", "create", "run": what was timed; never freed */
    uint32_t one_in;  /* one duration in this many is recorded: 1 if all are, 64 by default for "use" */
    /* additional events too short to be timed, such as takes that did not wait; not in the histogram */
    uint64_t instant;
} cen_histogram_header;

/* Write the component's histogram at `index`, counting from 0, to *timing and *out, which the caller provides. Return
 * false if there is no such histogram. */
CEN_API bool cen_component_histogram(const cen_component *component, size_t index, cen_histogram_header *timing,
                                     cen_histogram *out);

/* ---- Description ---------------------------------------------------------------------- */

/* A writer of descriptions. A component calls it with numbers, texts and lists of items, in the order of a JSON
 * document. All functions must be set. Names are never freed. Texts are valid only during the call. */
typedef struct cen_description_writer {
    void *argument;
    /* the value is a time in nanoseconds if the name ends in _ns */
    void (*number)(void *argument, const char *name, int64_t value);
    void (*truth)(void *argument, const char *name, bool value);
    void (*text)(void *argument, const char *name, const char *value); /* value may be NULL: unknown */
    void (*list)(void *argument, const char *name);                    /* begins a list: item, ..., end */
    void (*item)(void *argument); /* begins an item of the list: number, text, list, ..., end */
    void (*end)(void *argument);  /* ends the list or the item */
} cen_description_writer;

/* Write the component's description. No list contains more than `most` items. A list that was cut is followed by the
 * number of items left out. The name of this number is the list's name followed by "_more". */
CEN_API void cen_component_describe(const cen_component *component, const cen_description_writer *description,
                                    size_t most);

/* ---- Actions ------------------------------------------------------------------------ */

/* Return the name of the component's action at `index`, counting from 0; NULL if there is none. Actions are "pause",
 * "resume", "resize" (value: the new size), "reload" (value: the spread in nanoseconds), "evict" (closes idle objects)
 * and "test". */
CEN_API const char *cen_component_action_name(const cen_component *component, size_t index);

/* Invoke an action of the component.
 * Returns:
 *   OK       the action was carried out
 *   ABSENT   the component has no such action
 *   INVALID  action is NULL, or the action refused the value
 *   others   the status that the action returned
 */
CEN_API cen_status cen_component_invoke(cen_component *component, const char *action, int64_t value, cen_error *error);

#ifdef __cplusplus
}
#endif
#endif
