/* SPDX-License-Identifier: MIT */
/*
 * The last five minutes of a pool, as the process recorded them (GET /api/history), a line per 30 s: the worst values,
 * and the increase of counters.
 */
#include <string.h>

#include "tool/command.h"
#include "tool/view.h"
#include "tool/words.h"

enum { SPANS = 10, PERCENTILES = 4, P99 = 2 };
#define SPAN_NS (30 * SECOND_NS)

/* The positions of numbers in a sample; below 0: none. */
typedef struct places {
    int held, waiting, taken, timed_out, wait_p99;
} places;

/* The values of 30 s; `first` and `last` are of counters. */
typedef struct span {
    bool known;
    double held, waiting, wait_p99, taken_first, taken_last, timed_out_first, timed_out_last;
    int64_t began, ended; /* of its samples */
} span;

static int place_of(json_t *names, const char *name)
{
    size_t i;
    json_t *each;
    json_array_foreach(names, i,
                       each) if (json_is_string(each) && strcmp(json_string_value(each), name) == 0) return (int)i +
        1; /* the time comes first */
    return -1;
}

static places places_of(json_t *entry)
{
    json_t *metrics = json_object_get(entry, "metrics");
    int timing = place_of(json_object_get(entry, "timings"), "wait");
    return (places){
        .held = place_of(metrics, "held"),
        .waiting = place_of(metrics, "waiting"),
        .taken = place_of(metrics, "taken"),
        .timed_out = place_of(metrics, "timed_out"),
        .wait_p99 = timing < 0 ? -1 : (int)json_array_size(metrics) + (timing - 1) * PERCENTILES + 1 + P99,
    };
}

static double number_at(json_t *sample, int place)
{
    json_t *value = place < 0 ? NULL : json_array_get(sample, (size_t)place);
    return json_is_number(value) ? json_number_value(value) : 0;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void add_sample(span *s, json_t *sample, const places *at)
{
    double taken = number_at(sample, at->taken), timed_out = number_at(sample, at->timed_out);
    int64_t when = (int64_t)number_at(sample, 0);
    if (!s->known) *s = (span){.known = true, .taken_first = taken, .timed_out_first = timed_out, .began = when};
    s->held = larger(s->held, number_at(sample, at->held));
    s->waiting = larger(s->waiting, number_at(sample, at->waiting));
    s->wait_p99 = larger(s->wait_p99, number_at(sample, at->wait_p99));
    s->taken_last = taken;
    s->timed_out_last = timed_out;
    s->ended = when;
}

/* Counters of a span start from the last sample of the span before. */
static void go_on(span *s, const span *before)
{
    if (!before->known) return;
    s->taken_first = before->taken_last;
    s->timed_out_first = before->timed_out_last;
    s->began = before->ended;
}

static void say_span(view_page *page, const span *s, int64_t ago_s)
{
    char wait[WORDS_ROOM], takes[16] = "-";
    double taken = s->taken_last - s->taken_first, timed_out = s->timed_out_last - s->timed_out_first;
    if (s->ended > s->began && taken >= 0) view_count(takes, taken * (double)SECOND_NS / (double)(s->ended - s->began));
    view_say(page, timed_out > 0 ? STYLE_WARN : STYLE_PLAIN, "  %3lld s    %6.0f %8.0f %10.0f %10s %8s",
             (long long)ago_s, s->held, s->waiting, timed_out > 0 ? timed_out : 0,
             s->wait_p99 > 0 ? words_duration(wait, (int64_t)s->wait_p99) : "-", takes);
}

void view_say_history(view_page *page, json_t *entry, int64_t now_ns)
{
    json_t *sample, *samples = json_object_get(entry, "samples");
    places at = places_of(entry);
    span spans[SPANS] = {{.known = false}};
    size_t i, known = 0;
    json_array_foreach(samples, i, sample)
    {
        int64_t ago = now_ns - (int64_t)number_at(sample, 0);
        int64_t from_now = ago < 0 ? 0 : ago / SPAN_NS;
        if (from_now < SPANS) add_sample(&spans[SPANS - 1 - from_now], sample, &at);
    }
    for (int s = 0; s < SPANS; s++) known += spans[s].known;
    if (known == 0) return;
    for (int s = SPANS - 1; s > 0; s--) go_on(&spans[s], &spans[s - 1]);
    view_say(page, STYLE_DIM, "%s", "");
    view_say(page, STYLE_DIM, "Last five minutes, with the peaks of HELD and WAITING per half minute");
    view_say(page, STYLE_DIM, "  %-8s %6s %8s %10s %10s %8s", "AGO", "HELD", "WAITING", "TIMED OUT", "WAIT P99",
             "TAKES/s");
    for (int s = 0; s < SPANS; s++)
        if (spans[s].known) say_span(page, &spans[s], (SPANS - s) * (SPAN_NS / SECOND_NS));
}
