/* SPDX-License-Identifier: MIT */
/*
 * Lanes as a thing that is watched: readings, times, one lane after the other, and
 * the verbs that change workers and limits.
 *
 * Tested by tests/unit/lanes/sketch_test.c.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "lanes/inside.h"

/* In which order they are shown. */
static const cen_priority shown[CEN_LANES] = {CEN_PRIORITY_HIGH, CEN_PRIORITY_NORMAL, CEN_PRIORITY_LOW};

static cen_lanes *lanes_of(const void *object)
{
    return (cen_lanes *)(uintptr_t)object;
}

/* ---- Readings ----------------------------------------------------------------------------------- */

enum { EACH = 10 };

static const char *const names[CEN_LANES][EACH] = {
    [CEN_PRIORITY_HIGH] = {"high_admitted", "high_max", "high_queued", "high_running", "high_suspended",
                           "high_submitted", "high_done", "high_failed", "high_unbegun", "high_refused"},
    [CEN_PRIORITY_NORMAL] = {"normal_admitted", "normal_max", "normal_queued", "normal_running", "normal_suspended",
                             "normal_submitted", "normal_done", "normal_failed", "normal_unbegun", "normal_refused"},
    [CEN_PRIORITY_LOW] = {"low_admitted", "low_max", "low_queued", "low_running", "low_suspended", "low_submitted",
                          "low_done", "low_failed", "low_unbegun", "low_refused"},
};

static void read_lane(const cen_lane_stats *s, const char *const *name, cen_reading *out)
{
    const uint64_t values[EACH] = {s->admitted,
                                   s->max,
                                   s->queued,
                                   s->running,
                                   s->suspended,
                                   s->submitted,
                                   s->done,
                                   s->failed,
                                   s->cancelled + s->late + s->dropped,
                                   s->refused_full + s->refused_total + s->refused_late};
    enum { GAUGES = 5 }; /* the others only rise */
    for (size_t i = 0; i < EACH; i++)
        out[i] = (cen_reading){name[i], (int64_t)values[i], i < GAUGES ? CEN_GAUGE : CEN_COUNTER};
}

size_t ceni_lanes_snapshot(const void *object, cen_reading *readings, size_t room)
{
    cen_lanes_stats stats = CEN_SIZED(cen_lanes_stats);
    if (cen_lanes_stats_get(lanes_of(object), &stats) != CEN_OK) return 0;
    cen_reading all[2 + CEN_LANES * EACH];
    size_t count = 0;
    all[count++] = (cen_reading){"admitted", (int64_t)stats.admitted, CEN_GAUGE};
    all[count++] = (cen_reading){"max_total", (int64_t)stats.max, CEN_GAUGE};
    for (unsigned i = 0; i < CEN_LANES; i++) {
        if (stats.lane[shown[i]].is_absent) continue;
        read_lane(&stats.lane[shown[i]], names[shown[i]], &all[count]);
        count += EACH;
    }
    for (size_t i = 0; i < count && i < room; i++) readings[i] = all[i];
    return count;
}

/* ---- Times ------------------------------------------------------------------------------------------ */

enum { CLOCKS = 3 };

static const char *const timings[CEN_LANES][CLOCKS] = {
    [CEN_PRIORITY_HIGH] = {"high_wait", "high_run", "high_total"},
    [CEN_PRIORITY_NORMAL] = {"normal_wait", "normal_run", "normal_total"},
    [CEN_PRIORITY_LOW] = {"low_wait", "low_run", "low_total"},
};

static bool durations(const void *object, size_t index, cen_timing *timing, cen_durations *out)
{
    cen_lanes *lanes = lanes_of(object);
    if (ceni_lanes_enter(lanes) != CEN_OK) return false;
    for (unsigned i = 0; i < CEN_LANES; i++) {
        const ceni_lane *lane = &lanes->lane[shown[i]];
        if (!lane->clocks) continue;
        if (index >= CLOCKS) {
            index -= CLOCKS;
            continue;
        }
        const ceni_histogram *const clocks[CLOCKS] = {&lane->clocks->wait, &lane->clocks->run, &lane->clocks->total};
        *timing = (cen_timing){.name = timings[shown[i]][index], .one_in = 1};
        ceni_histogram_snapshot(clocks[index], out);
        return true;
    }
    return false;
}

/* ---- The sketch --------------------------------------------------------------------------------------- */

static void write_lane(const ceni_lane *lane, const cen_lane_stats *s, const cen_sketch *sketch)
{
    void *to = sketch->argument;
    sketch->item(to);
    sketch->text(to, "name", ceni_lane_names[lane->index]);
    sketch->number(to, "workers", ceni_setting(&((ceni_lane *)(uintptr_t)lane)->workers));
    sketch->number(to, "max", (int64_t)s->max);
    sketch->number(to, "admitted", (int64_t)s->admitted);
    sketch->number(to, "queued", (int64_t)s->queued);
    sketch->number(to, "running", (int64_t)s->running);
    sketch->number(to, "suspended", (int64_t)s->suspended);
    sketch->number(to, "submitted", (int64_t)s->submitted);
    sketch->number(to, "done", (int64_t)s->done);
    sketch->number(to, "failed", (int64_t)s->failed);
    sketch->number(to, "cancelled", (int64_t)s->cancelled);
    sketch->number(to, "late", (int64_t)s->late);
    sketch->number(to, "dropped", (int64_t)s->dropped);
    sketch->number(to, "refused_full", (int64_t)s->refused_full);
    sketch->number(to, "refused_total", (int64_t)s->refused_total);
    sketch->number(to, "refused_late", (int64_t)s->refused_late);
    if (lane->clocks) sketch->number(to, "estimated_wait_ns", s->estimated_wait_ns);
    sketch->end(to);
}

static void sketch_lanes(const void *object, const cen_sketch *sketch, size_t most)
{
    cen_lanes *lanes = lanes_of(object);
    void *to = sketch->argument;
    cen_lanes_stats stats = CEN_SIZED(cen_lanes_stats);
    if (cen_lanes_stats_get(lanes, &stats) != CEN_OK) return;
    size_t written = 0, left = 0;
    sketch->truth(to, "stopped", stats.is_stopped);
    sketch->truth(to, "timed", lanes->timed);
    sketch->list(to, "lanes");
    for (unsigned i = 0; i < CEN_LANES; i++) {
        if (stats.lane[shown[i]].is_absent) continue;
        if (written == most) left++;
        else write_lane(&lanes->lane[shown[i]], &stats.lane[shown[i]], sketch), written++;
    }
    sketch->end(to);
    if (left > 0) sketch->number(to, "lanes_more", (int64_t)left);
}

/* ---- What they obey ----------------------------------------------------------------------------------- */

static const char *const verbs[] = {"resize_high",  "resize_normal", "resize_low",  "limit_high",
                                    "limit_normal", "limit_low",     "limit_total", NULL};

static bool ends_in(const char *verb, const char *end)
{
    return strcmp(strchr(verb, '_') + 1, end) == 0;
}

static cen_status obey(cen_lanes *lanes, const char *verb, int64_t value)
{
    if (ends_in(verb, "total")) return cen_lanes_limit_total(lanes, value);
    cen_priority priority = ends_in(verb, "high")  ? CEN_PRIORITY_HIGH
                            : ends_in(verb, "low") ? CEN_PRIORITY_LOW
                                                   : CEN_PRIORITY_NORMAL;
    if (strncmp(verb, "limit", strlen("limit")) == 0) return cen_lanes_limit(lanes, priority, value);
    return value < 1 || value > CEN_CREW_MOST ? CEN_INVALID : cen_lanes_resize(lanes, priority, (uint32_t)value);
}

static cen_status tell(void *object, const char *verb, int64_t value, cen_error *error)
{
    cen_lanes *lanes = object;
    cen_status status = obey(lanes, verb, value);
    if (status == CEN_OK) return CEN_OK;
    if (status == CEN_INVALID)
        return ceni_error_set(error, status, 0,
                              "lanes \"%s\": %s: there is no such lane, or %lld is not what it can have", lanes->name,
                              verb, (long long)value);
    return ceni_error_set(error, status, 0, "lanes \"%s\": %s: %s", lanes->name, verb, cen_status_text(status));
}

const ceni_thing_calls ceni_lanes_calls = {
    .durations = durations, .sketch = sketch_lanes, .verbs = verbs, .tell = tell};
