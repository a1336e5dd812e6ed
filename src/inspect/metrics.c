/* SPDX-License-Identifier: MIT */
/* Copies of all components for the metrics, and the calls that write them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/internal.h"
#include "inspect/metrics.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)

const int64_t ceni_metric_bounds[CENI_BOUNDS] = {100 * US,  250 * US,  500 * US,  1 * MS,    2500 * US, 5 * MS,
                                                 10 * MS,   25 * MS,   50 * MS,   100 * MS,  250 * MS,  500 * MS,
                                                 1000 * MS, 2500 * MS, 5000 * MS, 10000 * MS};

/* ---- Copying one component ------------------------------------------------------------- */

/* Return a label's value: quotes, backslashes and line ends escaped, invalid UTF-8 replaced. */
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

/* A bucket that extends beyond a bound is counted in the next one. So a value may appear up to 1/32 too slow, never too
 * fast. */
static void copy_histogram(ceni_metric_histogram *out, const cen_histogram_header *timing, const cen_histogram *d)
{
    *out = (ceni_metric_histogram){.timing = *timing, .count = d->count + timing->instant, .sum_ns = d->sum};
    uint64_t within = timing->instant;
    unsigned bucket = 0;
    for (unsigned bound = 0; bound < CENI_BOUNDS; bound++) {
        for (; bucket < CEN_HISTOGRAM_BUCKETS && cen_histogram_bucket_highest(bucket) <= ceni_metric_bounds[bound];
             bucket++)
            within += d->buckets[bucket];
        out->within[bound] = within;
    }
}

static bool copy_component(ceni_metric_component *out, const cen_component *component, cen_histogram *scratch)
{
    cen_metric metrics[CEN_METRICS_MAX];
    ceni_metric_histogram timings[CENI_METRIC_HISTOGRAMS_MAX];
    cen_histogram_header timing;
    const char *system = cen_component_system(component);
    out->number = cen_component_number(component);
    snprintf(out->kind, sizeof out->kind, "%s", cen_component_kind(component));
    snprintf(out->system, sizeof out->system, "%s", system ? system : "");
    for (char *at = out->system; *at; at++)
        if (!((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') || *at == '.' || *at == '_')) *at = '_';
    out->metric_count = cen_component_metrics(component, metrics, CEN_METRICS_MAX);
    if (out->metric_count > CEN_METRICS_MAX) out->metric_count = CEN_METRICS_MAX;
    while (out->timing_count < CENI_METRIC_HISTOGRAMS_MAX &&
           cen_component_histogram(component, out->timing_count, &timing, scratch))
        copy_histogram(&timings[out->timing_count++], &timing, scratch);
    out->name = label_of(cen_component_name(component));
    out->metrics = malloc(out->metric_count * sizeof metrics[0] + 1);
    out->timings = malloc(out->timing_count * sizeof timings[0] + 1);
    if (!out->name || !out->metrics || !out->timings) return false;
    memcpy(out->metrics, metrics, out->metric_count * sizeof metrics[0]);
    memcpy(out->timings, timings, out->timing_count * sizeof timings[0]);
    return true;
}

/* ---- Copying all components -------------------------------------------------------------- */

typedef struct copying {
    ceni_metric_components *all;
    cen_histogram *scratch;
} copying;

/* More components than this would not fit the text: each line has a name and a number. */
enum { THINGS_MOST = CENI_TEXT_MOST / 512 };

static void copy_next(void *argument, cen_component *component)
{
    copying *c = argument;
    ceni_metric_components *all = c->all;
    if (all->spoiled) return;
    if (all->count == all->room) {
        size_t room = all->room ? all->room * 2 : 64;
        ceni_metric_component *components =
            room <= THINGS_MOST ? realloc(all->components, room * sizeof *components) : NULL;
        if (!components) {
            all->spoiled = true;
            return;
        }
        all->components = components;
        all->room = room;
    }
    ceni_metric_component *out = &all->components[all->count++];
    *out = (ceni_metric_component){0};
    if (!copy_component(out, component, c->scratch)) all->spoiled = true;
}

static bool is_database(const ceni_metric_component *component)
{
    return strcmp(component->kind, "pool") == 0 && component->system[0] && strcmp(component->system, "http") != 0;
}

static bool is_taken(const ceni_metric_components *all, const char *name, const ceni_metric_component *but)
{
    for (size_t i = 0; i < all->count; i++) {
        const ceni_metric_component *other = &all->components[i];
        if (other != but && ((other->alone && strcmp(other->alone, name) == 0) ||
                             (other > but && is_database(other) && strcmp(other->name, name) == 0)))
            return true;
    }
    return false;
}

/* OpenTelemetry identifies pools by name only. The oldest pool of a name keeps it; the others get their number
 * appended. A name with a number is used only if no pool has it as its own name. */
static bool name_pools(ceni_metric_components *all)
{
    for (size_t i = 0; i < all->count; i++) {
        ceni_metric_component *component = &all->components[i];
        if (!is_database(component)) continue;
        bool first = true;
        for (size_t before = 0; before < i && first; before++)
            first = !all->components[before].alone || strcmp(all->components[before].alone, component->name) != 0;
        size_t room = strlen(component->name) + 64;
        if (!(component->alone = malloc(room))) return false;
        snprintf(component->alone, room, "%s", component->name);
        for (unsigned twice = 0; !first && (twice == 0 || is_taken(all, component->alone, component)); twice++)
            snprintf(component->alone, room, twice ? "%s#%llu.%u" : "%s#%llu", component->name,
                     (unsigned long long)component->number, twice);
    }
    return true;
}

void ceni_metric_components_copy(ceni_metric_components *out)
{
    *out = (ceni_metric_components){0};
    copying c = {out, malloc(sizeof *c.scratch)};
    if (c.scratch) cen_components_each(copy_next, &c);
    else out->spoiled = true;
    free(c.scratch);
    if (!out->spoiled && !name_pools(out)) out->spoiled = true;
}

void ceni_metric_components_fini(ceni_metric_components *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->components[i].name);
        free(all->components[i].alone);
        free(all->components[i].metrics);
        free(all->components[i].timings);
    }
    free(all->components);
}

const cen_metric *ceni_metric_sample(const ceni_metric_component *component, const char *name)
{
    for (size_t i = 0; i < component->metric_count; i++)
        if (strcmp(component->metrics[i].name, name) == 0) return &component->metrics[i];
    return NULL;
}

const ceni_metric_histogram *ceni_metric_histogram_of(const ceni_metric_component *component, const char *name)
{
    for (size_t i = 0; i < component->timing_count; i++)
        if (strcmp(component->timings[i].timing.name, name) == 0) return &component->timings[i];
    return NULL;
}

/* ---- Writing ---------------------------------------------------------------------------------- */

/* With thousands of pools the text may get too long. Then histograms are left out first. */
static void write_metrics(ceni_text *text, bool openmetrics)
{
    ceni_metric_components components;
    ceni_metric_components_copy(&components);
    if (components.spoiled) text->spoiled = true;
    else ceni_metric_expose(text, &components, openmetrics, CENI_WITHOUT_NOTHING);
    for (int without = CENI_WITHOUT_TWICE; text->too_long && without <= CENI_WITHOUT_HISTOGRAMS; without++) {
        ceni_text_fini(text);
        ceni_metric_expose(text, &components, openmetrics, (ceni_metric_without)without);
    }
    ceni_metric_components_fini(&components);
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
