/* SPDX-License-Identifier: MIT */
/* Things as JSON, as docs/inspect.md shows them. */
#include <stdlib.h>
#include <string.h>

#include "inspect/inside.h"

typedef struct showing {
    ceni_json *json;
    size_t most; /* of a sketch's lists */
    bool parts;
    cen_durations *durations; /* to copy one into */
} showing;

static void show_readings(ceni_json *json, const cen_thing *thing)
{
    cen_reading readings[CEN_READINGS_MOST];
    size_t count = cen_thing_readings(thing, readings, CEN_READINGS_MOST);
    if (count > CEN_READINGS_MOST) count = CEN_READINGS_MOST;
    ceni_json_open(json, "readings", '{');
    for (size_t i = 0; i < count; i++) ceni_json_number(json, readings[i].name, readings[i].value);
    ceni_json_close(json, '}');
    ceni_json_open(json, "counters", '[');
    for (size_t i = 0; i < count; i++)
        if (readings[i].kind == CEN_COUNTER) ceni_json_words(json, NULL, readings[i].name);
    ceni_json_close(json, ']');
}

/* Four of the buckets make one: eight to an octave are as many as can be seen. */
static void show_buckets(ceni_json *json, const cen_durations *d)
{
    ceni_json_open(json, "buckets", '[');
    for (unsigned i = 0; i < CEN_DURATIONS_BUCKETS; i += 4) {
        uint64_t count = d->buckets[i] + d->buckets[i + 1] + d->buckets[i + 2] + d->buckets[i + 3];
        if (!count) continue;
        ceni_json_open(json, NULL, '[');
        ceni_json_number(json, NULL, cen_durations_highest(i + 3));
        ceni_json_count(json, NULL, count);
        ceni_json_close(json, ']');
    }
    ceni_json_close(json, ']');
}

static void show_durations(showing *s, const cen_thing *thing)
{
    ceni_json *json = s->json;
    cen_timing timing;
    ceni_json_open(json, "durations", '{');
    for (size_t i = 0; cen_thing_durations(thing, i, &timing, s->durations); i++) {
        ceni_json_open(json, timing.name, '{');
        ceni_json_number(json, "one_in", timing.one_in);
        ceni_json_count(json, "instant", timing.instant);
        ceni_json_count(json, "count", s->durations->count);
        ceni_json_number(json, "sum_ns", s->durations->sum);
        ceni_json_number(json, "smallest_ns", s->durations->smallest);
        ceni_json_number(json, "largest_ns", s->durations->largest);
        show_buckets(json, s->durations);
        ceni_json_close(json, '}');
    }
    ceni_json_close(json, '}');
}

static void show_members(showing *s, cen_thing *thing)
{
    ceni_json *json = s->json;
    ceni_json_count(json, "number", cen_thing_number(thing));
    ceni_json_words(json, "kind", cen_thing_kind(thing));
    ceni_json_words(json, "name", cen_thing_name(thing));
    ceni_json_words(json, "system", cen_thing_system(thing));
    show_readings(json, thing);
    show_durations(s, thing);
    ceni_json_open(json, "verbs", '[');
    for (size_t i = 0; cen_thing_verb(thing, i); i++) ceni_json_words(json, NULL, cen_thing_verb(thing, i));
    ceni_json_close(json, ']');
    if (s->parts) {
        ceni_json_open(json, "sketch", '{');
        ceni_json_sketch(json, thing, s->most);
        ceni_json_close(json, '}');
    }
    ceni_json_close(json, '}');
}

static void show_element(void *argument, cen_thing *thing)
{
    showing *s = argument;
    if (s->json->text.spoiled) return;
    ceni_json_open(s->json, NULL, '{');
    show_members(s, thing);
}

static void show_member(void *argument, cen_thing *thing)
{
    showing *s = argument;
    ceni_json_open(s->json, "thing", '{');
    show_members(s, thing);
}

void ceni_answer_things(const cen_inspect *inspect, const ceni_query *query, ceni_answer *answer)
{
    showing s = {
        .json = &answer->json, .most = query->most, .parts = query->parts, .durations = malloc(sizeof *s.durations)};
    if (!s.durations) {
        answer->json.text.spoiled = true;
        return;
    }
    ceni_json_open(s.json, NULL, '{');
    ceni_json_number(s.json, "now_ns", ceni_inspect_now_ns());
    ceni_json_number(s.json, "pid", inspect->process); /* whoever looks again and again sees that it is another one */
    ceni_json_number(s.json, "started_ns", inspect->began_ns);
    ceni_json_open(s.json, "things", '[');
    cen_things_each(show_element, &s);
    ceni_json_close(s.json, ']');
    ceni_json_close(s.json, '}');
    free(s.durations);
}

void ceni_answer_thing(uint64_t number, const ceni_query *query, ceni_answer *answer)
{
    showing s = {.json = &answer->json, .most = query->most, .parts = true, .durations = malloc(sizeof *s.durations)};
    if (!s.durations) {
        answer->json.text.spoiled = true;
        return;
    }
    ceni_json_open(s.json, NULL, '{');
    ceni_json_number(s.json, "now_ns", ceni_inspect_now_ns());
    cen_status status = cen_thing_visit(number, show_member, &s);
    ceni_json_close(s.json, '}');
    free(s.durations);
    if (status != CEN_OK)
        ceni_answer_error(answer, MHD_HTTP_NOT_FOUND, CEN_ABSENT, "there is no thing number %llu, or no more",
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
