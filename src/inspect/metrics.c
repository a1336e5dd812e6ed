/* SPDX-License-Identifier: MIT */
/* The copies of all things that metrics are made of, and who wants them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/inside.h"
#include "inspect/metrics.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)

const int64_t ceni_metric_bounds[CENI_BOUNDS] = {100 * US,  250 * US,  500 * US,  1 * MS,    2500 * US, 5 * MS,
                                                 10 * MS,   25 * MS,   50 * MS,   100 * MS,  250 * MS,  500 * MS,
                                                 1000 * MS, 2500 * MS, 5000 * MS, 10000 * MS};

/* ---- Copying one ----------------------------------------------------------------------- */

/* A label's value: quotes, backslashes and ends of lines escaped, and nothing that is no UTF-8. */
static char *label_of(const char *name)
{
    ceni_text text = {0};
    ceni_text_add(&text, "");
    for (size_t length; *name; name += length ? length : 1) {
        length = ceni_utf8_length(name);
        if (*name == '\n') ceni_text_add(&text, "\\n");
        else if (*name == '"' || *name == '\\') ceni_text_print(&text, "\\%c", *name);
        else if (length) ceni_text_put(&text, name, length);
        else ceni_text_add(&text, "\xEF\xBF\xBD");
    }
    if (text.spoiled) ceni_text_fini(&text);
    return text.bytes;
}

/* A bucket that reaches beyond a bound counts for the next: it may tell too slow a story, by a 32nd, and none too fast. */
static void copy_durations(ceni_metric_timing *out, const cen_timing *timing, const cen_durations *d)
{
    *out = (ceni_metric_timing){.timing = *timing, .count = d->count + timing->instant, .sum_ns = d->sum};
    uint64_t within = timing->instant;
    unsigned bucket = 0;
    for (unsigned bound = 0; bound < CENI_BOUNDS; bound++) {
        for (; bucket < CEN_DURATIONS_BUCKETS && cen_durations_highest(bucket) <= ceni_metric_bounds[bound]; bucket++)
            within += d->buckets[bucket];
        out->within[bound] = within;
    }
}

static bool copy_thing(ceni_metric_thing *out, const cen_thing *thing, cen_durations *scratch)
{
    cen_reading readings[CEN_READINGS_MOST];
    ceni_metric_timing timings[CENI_METRIC_TIMINGS_MOST];
    cen_timing timing;
    const char *system = cen_thing_system(thing);
    out->number = cen_thing_number(thing);
    snprintf(out->kind, sizeof out->kind, "%s", cen_thing_kind(thing));
    snprintf(out->system, sizeof out->system, "%s", system ? system : "");
    for (char *at = out->system; *at; at++)
        if (!((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') || *at == '.' || *at == '_')) *at = '_';
    out->reading_count = cen_thing_readings(thing, readings, CEN_READINGS_MOST);
    if (out->reading_count > CEN_READINGS_MOST) out->reading_count = CEN_READINGS_MOST;
    while (out->timing_count < CENI_METRIC_TIMINGS_MOST &&
           cen_thing_durations(thing, out->timing_count, &timing, scratch))
        copy_durations(&timings[out->timing_count++], &timing, scratch);
    out->name = label_of(cen_thing_name(thing));
    out->readings = malloc(out->reading_count * sizeof readings[0] + 1);
    out->timings = malloc(out->timing_count * sizeof timings[0] + 1);
    if (!out->name || !out->readings || !out->timings) return false;
    memcpy(out->readings, readings, out->reading_count * sizeof readings[0]);
    memcpy(out->timings, timings, out->timing_count * sizeof timings[0]);
    return true;
}

/* ---- Copying all ------------------------------------------------------------------------- */

typedef struct copying {
    ceni_metric_things *all;
    cen_durations *scratch;
} copying;

/* More than so many things would not fit into the text, whose lines have a name and a number each. */
enum { THINGS_MOST = CENI_TEXT_MOST / 512 };

static void copy_next(void *argument, cen_thing *thing)
{
    copying *c = argument;
    ceni_metric_things *all = c->all;
    if (all->spoiled) return;
    if (all->count == all->room) {
        size_t room = all->room ? all->room * 2 : 64;
        ceni_metric_thing *things = room <= THINGS_MOST ? realloc(all->things, room * sizeof *things) : NULL;
        if (!things) {
            all->spoiled = true;
            return;
        }
        all->things = things;
        all->room = room;
    }
    ceni_metric_thing *out = &all->things[all->count++];
    *out = (ceni_metric_thing){0};
    if (!copy_thing(out, thing, c->scratch)) all->spoiled = true;
}

static bool is_database(const ceni_metric_thing *thing)
{
    return strcmp(thing->kind, "pool") == 0 && thing->system[0] && strcmp(thing->system, "http") != 0;
}

static bool is_taken(const ceni_metric_things *all, const char *name, const ceni_metric_thing *but)
{
    for (size_t i = 0; i < all->count; i++) {
        const ceni_metric_thing *other = &all->things[i];
        if (other != but && ((other->alone && strcmp(other->alone, name) == 0) ||
                             (other > but && is_database(other) && strcmp(other->name, name) == 0)))
            return true;
    }
    return false;
}

/* OpenTelemetry tells pools apart by their name alone. The oldest of a name keeps it, the others have their number, too: a
 * name with a number is taken only if no pool has it as its own. */
static bool name_pools(ceni_metric_things *all)
{
    for (size_t i = 0; i < all->count; i++) {
        ceni_metric_thing *thing = &all->things[i];
        if (!is_database(thing)) continue;
        bool first = true;
        for (size_t before = 0; before < i && first; before++)
            first = !all->things[before].alone || strcmp(all->things[before].alone, thing->name) != 0;
        size_t room = strlen(thing->name) + 64;
        if (!(thing->alone = malloc(room))) return false;
        snprintf(thing->alone, room, "%s", thing->name);
        for (unsigned twice = 0; !first && (twice == 0 || is_taken(all, thing->alone, thing)); twice++)
            snprintf(thing->alone, room, twice ? "%s#%llu.%u" : "%s#%llu", thing->name,
                     (unsigned long long)thing->number, twice);
    }
    return true;
}

void ceni_metric_things_copy(ceni_metric_things *out)
{
    *out = (ceni_metric_things){0};
    copying c = {out, malloc(sizeof *c.scratch)};
    if (c.scratch) cen_things_each(copy_next, &c);
    else out->spoiled = true;
    free(c.scratch);
    if (!out->spoiled && !name_pools(out)) out->spoiled = true;
}

void ceni_metric_things_fini(ceni_metric_things *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->things[i].name);
        free(all->things[i].alone);
        free(all->things[i].readings);
        free(all->things[i].timings);
    }
    free(all->things);
}

const cen_reading *ceni_metric_reading(const ceni_metric_thing *thing, const char *name)
{
    for (size_t i = 0; i < thing->reading_count; i++)
        if (strcmp(thing->readings[i].name, name) == 0) return &thing->readings[i];
    return NULL;
}

const ceni_metric_timing *ceni_metric_timing_of(const ceni_metric_thing *thing, const char *name)
{
    for (size_t i = 0; i < thing->timing_count; i++)
        if (strcmp(thing->timings[i].timing.name, name) == 0) return &thing->timings[i];
    return NULL;
}

/* ---- Who wants them --------------------------------------------------------------------------- */

/* One who has thousands of pools loses histograms before he loses all of it. */
static void write_metrics(ceni_text *text, bool openmetrics)
{
    ceni_metric_things things;
    ceni_metric_things_copy(&things);
    if (things.spoiled) text->spoiled = true;
    else ceni_metric_expose(text, &things, openmetrics, CENI_WITHOUT_NOTHING);
    for (int without = CENI_WITHOUT_TWICE; text->too_long && without <= CENI_WITHOUT_HISTOGRAMS; without++) {
        ceni_text_fini(text);
        ceni_metric_expose(text, &things, openmetrics, (ceni_metric_without)without);
    }
    ceni_metric_things_fini(&things);
}

void ceni_answer_metrics(bool openmetrics, ceni_answer *answer)
{
    answer->type = openmetrics ? CEN_INSPECT_METRICS_TYPE : "text/plain; version=0.0.4; charset=utf-8";
    write_metrics(&answer->json.text, openmetrics);
}

char *cen_inspect_metrics(size_t *length)
{
    ceni_text text = {0};
    write_metrics(&text, true);
    if (text.spoiled) ceni_text_fini(&text);
    if (length) *length = text.length;
    return text.bytes;
}
