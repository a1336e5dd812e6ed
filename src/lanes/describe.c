/* SPDX-License-Identifier: MIT */
/*
 * Describes lanes as a component: metrics, latencies, a description with each lane, and the actions that change
 * workers and limits.
 *
 * Tested by tests/unit/lanes/describe_test.c.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "lanes/internal.h"

/* The order in which lanes are shown. */
static const cen_priority shown[CEN_LANES] = {CEN_PRIORITY_HIGH, CEN_PRIORITY_NORMAL, CEN_PRIORITY_LOW};

static cen_lanes *lanes_of(const void *object)
{
    return (cen_lanes *)(uintptr_t)object;
}

/* ---- Metrics ----------------------------------------------------------------------------------- */

enum { EACH = 10 };

static const char *const names[CEN_LANES][EACH] = {
    [CEN_PRIORITY_HIGH] = {"high_admitted", "high_max", "high_queued", "high_running", "high_suspended",
                           "high_submitted", "high_done", "high_failed", "high_unbegun", "high_refused"},
    [CEN_PRIORITY_NORMAL] = {"normal_admitted", "normal_max", "normal_queued", "normal_running", "normal_suspended",
                             "normal_submitted", "normal_done", "normal_failed", "normal_unbegun", "normal_refused"},
    [CEN_PRIORITY_LOW] = {"low_admitted", "low_max", "low_queued", "low_running", "low_suspended", "low_submitted",
                          "low_done", "low_failed", "low_unbegun", "low_refused"},
};

static void read_lane(const cen_lane_stats *s, const char *const *name, cen_metric *out)
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
        out[i] = (cen_metric){name[i], (int64_t)values[i], i < GAUGES ? CEN_GAUGE : CEN_COUNTER};
}

size_t ceni_lanes_snapshot(const void *object, cen_metric *metrics, size_t room)
{
    cen_lanes_stats stats = CEN_SIZED(cen_lanes_stats);
    if (cen_lanes_stats_get(lanes_of(object), &stats) != CEN_OK) return 0;
    cen_metric all[2 + CEN_LANES * EACH];
    size_t count = 0;
    all[count++] = (cen_metric){"admitted", (int64_t)stats.admitted, CEN_GAUGE};
    all[count++] = (cen_metric){"max_total", (int64_t)stats.max, CEN_GAUGE};
    for (unsigned i = 0; i < CEN_LANES; i++) {
        if (stats.lane[shown[i]].is_absent) continue;
        read_lane(&stats.lane[shown[i]], names[shown[i]], &all[count]);
        count += EACH;
    }
    for (size_t i = 0; i < count && i < room; i++) metrics[i] = all[i];
    return count;
}

/* ---- Times ------------------------------------------------------------------------------------------ */

enum { CLOCKS = 3 };

static const char *const timings[CEN_LANES][CLOCKS] = {
    [CEN_PRIORITY_HIGH] = {"high_wait", "high_run", "high_total"},
    [CEN_PRIORITY_NORMAL] = {"normal_wait", "normal_run", "normal_total"},
    [CEN_PRIORITY_LOW] = {"low_wait", "low_run", "low_total"},
};

static bool histogram(const void *object, size_t index, cen_histogram_header *timing, cen_histogram *out)
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
        const ceni_live_histogram *const clocks[CLOCKS] = {&lane->clocks->wait, &lane->clocks->run,
                                                           &lane->clocks->total};
        *timing = (cen_histogram_header){.name = timings[shown[i]][index], .one_in = 1};
        ceni_live_histogram_snapshot(clocks[index], out);
        return true;
    }
    return false;
}

/* ---- The description --------------------------------------------------------------------------------------- */

static void write_lane(const ceni_lane *lane, const cen_lane_stats *s, const cen_description_writer *description)
{
    void *to = description->argument;
    description->item(to);
    description->text(to, "name", ceni_lane_names[lane->index]);
    description->number(to, "workers", ceni_setting(&((ceni_lane *)(uintptr_t)lane)->workers));
    description->number(to, "max", (int64_t)s->max);
    description->number(to, "admitted", (int64_t)s->admitted);
    description->number(to, "queued", (int64_t)s->queued);
    description->number(to, "running", (int64_t)s->running);
    description->number(to, "suspended", (int64_t)s->suspended);
    description->number(to, "submitted", (int64_t)s->submitted);
    description->number(to, "done", (int64_t)s->done);
    description->number(to, "failed", (int64_t)s->failed);
    description->number(to, "cancelled", (int64_t)s->cancelled);
    description->number(to, "late", (int64_t)s->late);
    description->number(to, "dropped", (int64_t)s->dropped);
    description->number(to, "refused_full", (int64_t)s->refused_full);
    description->number(to, "refused_total", (int64_t)s->refused_total);
    description->number(to, "refused_late", (int64_t)s->refused_late);
    if (lane->clocks) description->number(to, "estimated_wait_ns", s->estimated_wait_ns);
    description->end(to);
}

static void describe_lanes(const void *object, const cen_description_writer *description, size_t most)
{
    cen_lanes *lanes = lanes_of(object);
    void *to = description->argument;
    cen_lanes_stats stats = CEN_SIZED(cen_lanes_stats);
    if (cen_lanes_stats_get(lanes, &stats) != CEN_OK) return;
    size_t written = 0, left = 0;
    description->truth(to, "stopped", stats.is_stopped);
    description->truth(to, "timed", lanes->timed);
    description->list(to, "lanes");
    for (unsigned i = 0; i < CEN_LANES; i++) {
        if (stats.lane[shown[i]].is_absent) continue;
        if (written == most) left++;
        else write_lane(&lanes->lane[shown[i]], &stats.lane[shown[i]], description), written++;
    }
    description->end(to);
    if (left > 0) description->number(to, "lanes_more", (int64_t)left);
}

/* ---- Actions ------------------------------------------------------------------------------------------ */

static const char *const actions[] = {"resize_high",  "resize_normal", "resize_low",  "limit_high",
                                      "limit_normal", "limit_low",     "limit_total", NULL};

static bool ends_in(const char *action, const char *end)
{
    return strcmp(strchr(action, '_') + 1, end) == 0;
}

static cen_status obey(cen_lanes *lanes, const char *action, int64_t value)
{
    if (ends_in(action, "total")) return cen_lanes_max_total_set(lanes, value, NULL);
    cen_priority priority = ends_in(action, "high")  ? CEN_PRIORITY_HIGH
                            : ends_in(action, "low") ? CEN_PRIORITY_LOW
                                                     : CEN_PRIORITY_NORMAL;
    if (strncmp(action, "limit", strlen("limit")) == 0) return cen_lanes_max_tasks_set(lanes, priority, value, NULL);
    return value < 1 || value > CEN_CREW_MAX ? CEN_INVALID : cen_lanes_resize(lanes, priority, (uint32_t)value, NULL);
}

static cen_status tell(void *object, const char *action, int64_t value, cen_error *error)
{
    cen_lanes *lanes = object;
    cen_status status = obey(lanes, action, value);
    if (status == CEN_OK) return CEN_OK;
    if (status == CEN_INVALID)
        return ceni_error_set(error, status, 0, "lanes \"%s\": %s: no such lane, or value out of range (got %lld)",
                              lanes->name, action, (long long)value);
    return ceni_error_set(error, status, 0, "lanes \"%s\": %s: %s", lanes->name, action, cen_status_text(status));
}

const ceni_component_calls ceni_lanes_calls = {
    .histogram = histogram, .description = describe_lanes, .actions = actions, .tell = tell};
