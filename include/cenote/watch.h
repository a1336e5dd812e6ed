/* SPDX-License-Identifier: MIT */
/*
 * Watching: every pool, crew, queue, router, supervisor and whatever else of
 * cenote's lives in this process, without knowing any of their kinds.
 *
 *     static void show(void *argument, cen_thing *thing)
 *     {
 *         (void)argument;
 *         cen_reading readings[CEN_READINGS_MOST];
 *         size_t count = cen_thing_readings(thing, readings, CEN_READINGS_MOST);
 *         for (size_t i = 0; i < count; i++)
 *             printf("%s %s %lld\n", cen_thing_name(thing), readings[i].name, (long long)readings[i].value);
 *     }
 *     cen_things_each(show, NULL);
 *
 * A thing tells of itself in four ways: readings (numbers, for metrics), durations
 * (histograms), a sketch (all of it, lists of holders, members, children, workers
 * included, for a page or JSON), and by the verbs it obeys.
 *
 * A thing cannot end while it is visited: whoever frees it waits for the visitor. So
 * a visitor copies what it wants and returns, and never waits for a network; it ends by returning, not by longjmp or pthread_exit.
 * What is seen of one thing was true at one moment of the call, as its own header
 * says of its numbers; two things are looked at one after the other.
 *
 * Threads: any, at any time, from any number of threads. Watching takes no lock that
 * a take or a give needs, and adds nothing to either.
 * Fork: a child has the things that it made itself.
 */
#ifndef CENOTE_WATCH_H
#define CENOTE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/durations.h>
#include <cenote/status.h>
#include <cenote/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Valid while it is visited. */
typedef struct cen_thing cen_thing;

/* ---- Who is there --------------------------------------------------------- */

/* Calls `visit` for every thing, oldest first. One that is there from the
 * beginning to the end of the call is visited once; one that comes or goes
 * meanwhile once or not at all. */
CEN_API void cen_things_each(void (*visit)(void *argument, cen_thing *thing), void *argument);

/* Visits the thing of that number. Errors: ABSENT (there is none, or no more), INVALID. */
CEN_API cen_status cen_thing_visit(uint64_t number, void (*visit)(void *argument, cen_thing *thing), void *argument);

CEN_API uint64_t cen_thing_number(const cen_thing *thing);  /* no two things of a process have or had the same */
CEN_API const char *cen_thing_kind(const cen_thing *thing); /* "pool", "crew", "queue", "router", ... */
CEN_API const char *cen_thing_name(const cen_thing *thing); /* need not be its alone */

/* What kind of server or service its objects belong to, in the words of OpenTelemetry's
 * db.system.name ("postgresql", "redis"), or "http"; NULL if it has no such. */
CEN_API const char *cen_thing_system(const cen_thing *thing);

/* ---- Readings ---------------------------------------------------------------- */

typedef enum cen_reading_kind {
    CEN_GAUGE = 0, /* may rise and fall */
    CEN_COUNTER,   /* only rises, until the thing is gone */
} cen_reading_kind;

typedef struct cen_reading {
    const char *name; /* lower case with underscores; one that ends in _ns is a time in nanoseconds; lives forever */
    int64_t value;
    cen_reading_kind kind;
} cen_reading;

/* No thing has more readings than this. */
#define CEN_READINGS_MOST 64

/* Write up to `room` readings. Returns: how many the thing has. The macro passes the size of an element. */
#define cen_thing_readings(thing, readings, room) \
    cen_thing_readings_sized((thing), (readings), sizeof(cen_reading), (room))
CEN_API size_t cen_thing_readings_sized(const cen_thing *thing, cen_reading *readings, size_t size, size_t room);

/* ---- Durations ----------------------------------------------------------------- */

typedef struct cen_timing {
    const char *name; /* "wait", "use", "create", "run": of what; lives forever */
    uint32_t one_in;  /* so many were there for each that is in the durations: 1 if all are, 64 by default for "use" */
    uint64_t instant; /* so many more took no time worth a clock: takes that did not wait, say; not in the durations */
} cen_timing;

/* Writes what times the thing has: the one at `index`, from 0. False: there is none. *out is for the caller to provide. */
CEN_API bool cen_thing_durations(const cen_thing *thing, size_t index, cen_timing *timing, cen_durations *out);

/* ---- Sketch ---------------------------------------------------------------------- */

/* Where a thing writes what it is: numbers, texts, lists of items, in the order of a
 * JSON document. All functions must be there. Names live forever; texts during the call only. */
typedef struct cen_sketch {
    void *argument;
    void (*number)(void *argument, const char *name, int64_t value); /* one that ends in _ns is a time */
    void (*truth)(void *argument, const char *name, bool value);
    void (*text)(void *argument, const char *name, const char *value); /* value may be NULL: not known */
    void (*list)(void *argument, const char *name);                    /* begins a list: item, ..., end */
    void (*item)(void *argument); /* begins an item of the list: number, text, list, ..., end */
    void (*end)(void *argument);  /* ends the list or the item */
} cen_sketch;

/* Lets the thing write itself. `most`: no list has more items than so many; a list that was cut is followed by
 * a number of its name with "_more": how many it had beyond. */
CEN_API void cen_thing_sketch(const cen_thing *thing, const cen_sketch *sketch, size_t most);

/* ---- Verbs ------------------------------------------------------------------------ */

/* What the thing can be told to do: "pause", "resume", "resize" (value: the new size), "reload" (value: over how many
 * nanoseconds), "evict" (closes what is idle), "test". The one at `index`, from 0; NULL: there is none. */
CEN_API const char *cen_thing_verb(const cen_thing *thing, size_t index);

/* Tells it. Errors: ABSENT (it has no such verb), INVALID (the value), and what the thing answers. */
CEN_API cen_status cen_thing_tell(cen_thing *thing, const char *verb, int64_t value, cen_error *error);

#ifdef __cplusplus
}
#endif
#endif
