/* SPDX-License-Identifier: MIT */
/* Components as JSON, in the format of docs/inspect.md. */
#include <stdlib.h>
#include <string.h>

#include "inspect/internal.h"

typedef struct showing {
    ceni_json *json;
    size_t most; /* items of a description's lists */
    bool parts;
    cen_histogram *histogram; /* scratch for copies */
} showing;

static void show_metrics(ceni_json *json, const cen_component *component)
{
    cen_metric metrics[CEN_METRICS_MAX];
    size_t count = cen_component_metrics(component, metrics, CEN_METRICS_MAX);
    if (count > CEN_METRICS_MAX) count = CEN_METRICS_MAX;
    ceni_json_open(json, "metrics", '{');
    for (size_t i = 0; i < count; i++) ceni_json_number(json, metrics[i].name, metrics[i].value);
    ceni_json_close(json, '}');
    ceni_json_open(json, "counters", '[');
    for (size_t i = 0; i < count; i++)
        if (metrics[i].kind == CEN_COUNTER) ceni_json_words(json, NULL, metrics[i].name);
    ceni_json_close(json, ']');
}

/* Write the buckets, merging 4 into 1: a chart shows no more than 8 per octave. */
static void show_buckets(ceni_json *json, const cen_histogram *d)
{
    ceni_json_open(json, "buckets", '[');
    for (unsigned i = 0; i < CEN_HISTOGRAM_BUCKETS; i += 4) {
        uint64_t count = d->buckets[i] + d->buckets[i + 1] + d->buckets[i + 2] + d->buckets[i + 3];
        if (!count) continue;
        ceni_json_open(json, NULL, '[');
        ceni_json_number(json, NULL, cen_histogram_bucket_highest(i + 3));
        ceni_json_count(json, NULL, count);
        ceni_json_close(json, ']');
    }
    ceni_json_close(json, ']');
}

static void show_histogram(showing *s, const cen_component *component)
{
    ceni_json *json = s->json;
    cen_histogram_header timing;
    ceni_json_open(json, "histograms", '{');
    for (size_t i = 0; cen_component_histogram(component, i, &timing, s->histogram); i++) {
        ceni_json_open(json, timing.name, '{');
        ceni_json_number(json, "one_in", timing.one_in);
        ceni_json_count(json, "instant", timing.instant);
        ceni_json_count(json, "count", s->histogram->count);
        ceni_json_number(json, "sum_ns", s->histogram->sum);
        ceni_json_number(json, "smallest_ns", s->histogram->smallest);
        ceni_json_number(json, "largest_ns", s->histogram->largest);
        show_buckets(json, s->histogram);
        ceni_json_close(json, '}');
    }
    ceni_json_close(json, '}');
}

static void show_members(showing *s, cen_component *component)
{
    ceni_json *json = s->json;
    ceni_json_count(json, "number", cen_component_number(component));
    ceni_json_words(json, "kind", cen_component_kind(component));
    ceni_json_words(json, "name", cen_component_name(component));
    ceni_json_words(json, "system", cen_component_system(component));
    show_metrics(json, component);
    show_histogram(s, component);
    ceni_json_open(json, "actions", '[');
    for (size_t i = 0; cen_component_action_name(component, i); i++)
        ceni_json_words(json, NULL, cen_component_action_name(component, i));
    ceni_json_close(json, ']');
    if (s->parts) {
        ceni_json_open(json, "description", '{');
        ceni_json_description(json, component, s->most);
        ceni_json_close(json, '}');
    }
    ceni_json_close(json, '}');
}

static void show_element(void *argument, cen_component *component)
{
    showing *s = argument;
    if (s->json->text.spoiled) return;
    ceni_json_open(s->json, NULL, '{');
    show_members(s, component);
}

static void show_member(void *argument, cen_component *component)
{
    showing *s = argument;
    ceni_json_open(s->json, "component", '{');
    show_members(s, component);
}

void ceni_answer_components(const cen_inspect *inspect, const ceni_query *query, ceni_answer *answer)
{
    showing s = {
        .json = &answer->json, .most = query->most, .parts = query->parts, .histogram = malloc(sizeof *s.histogram)};
    if (!s.histogram) {
        answer->json.text.spoiled = true;
        return;
    }
    ceni_json_open(s.json, NULL, '{');
    ceni_json_number(s.json, "now_ns", ceni_inspect_now_ns());
    ceni_json_number(s.json, "pid", inspect->process); /* a client that polls sees that this is another process */
    ceni_json_number(s.json, "started_ns", inspect->began_ns);
    ceni_json_open(s.json, "components", '[');
    cen_components_each(show_element, &s);
    ceni_json_close(s.json, ']');
    ceni_json_close(s.json, '}');
    free(s.histogram);
}

void ceni_answer_component(uint64_t number, const ceni_query *query, ceni_answer *answer)
{
    showing s = {.json = &answer->json, .most = query->most, .parts = true, .histogram = malloc(sizeof *s.histogram)};
    if (!s.histogram) {
        answer->json.text.spoiled = true;
        return;
    }
    ceni_json_open(s.json, NULL, '{');
    ceni_json_number(s.json, "now_ns", ceni_inspect_now_ns());
    cen_status status = cen_component_visit(number, show_member, &s);
    ceni_json_close(s.json, '}');
    free(s.histogram);
    if (status != CEN_OK)
        ceni_answer_error(answer, MHD_HTTP_NOT_FOUND, CEN_ABSENT, "no component number %llu",
                          (unsigned long long)number);
}

void ceni_answer_history(const cen_inspect *inspect, ceni_answer *answer)
{
    ceni_json *json = &answer->json;
    int64_t now_ns = ceni_inspect_now_ns();
    ceni_json_open(json, NULL, '{');
    ceni_json_number(json, "now_ns", now_ns);
    ceni_json_number(json, "pid", inspect->process);
    ceni_json_number(json, "started_ns", inspect->began_ns);
    ceni_history_show(inspect->history, ceni_inspect_now_ms(), now_ns, json);
    ceni_json_close(json, '}');
}
