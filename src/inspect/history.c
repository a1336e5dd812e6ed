/* SPDX-License-Identifier: MIT */
/*
 * Each recorded component has a ring of samples. A gauge is stored as it is. For a counter each sample has the
 * increase, and the record has the latest total. So a float is exact for the changes of one period, and earlier totals
 * are computed backwards.
 *
 * Percentiles of a period come from the difference of two histograms. The previous one is kept with 4 buckets per
 * octave, so one byte identifies a bucket.
 */
#include "inspect/history.h"

#include <stdlib.h>
#include <string.h>

enum {
    MERGED = 8, /* buckets of a histogram merged into one here */
    BUCKETS = CEN_HISTOGRAM_BUCKETS / MERGED,
    MARKS = 4,
    STRANGERS = 64,   /* unrecorded components examined in one round */
    MARK_UNKNOWN = 0, /* no value in this period */
    MARK_NONE = 1,    /* the value took no time */
    MARK_FIRST = 2,   /* plus the index of the bucket */
};
_Static_assert(CEN_HISTOGRAM_BUCKETS % MERGED == 0 && BUCKETS + MARK_FIRST <= 256, "a byte names a bucket");

typedef struct sample {
    int64_t at_ms;
    float values[CENI_HISTORY_METRICS];
    uint8_t marks[CENI_HISTORY_HISTOGRAMS][MARKS];
} sample;

typedef struct past {
    uint64_t number; /* the component's number */
    uint64_t round;  /* the last round that saw it */
    bool has_trouble;
    unsigned metric_count, timing_count;
    const char *metrics[CENI_HISTORY_METRICS], *timings[CENI_HISTORY_HISTOGRAMS];
    bool counts[CENI_HISTORY_METRICS]; /* true for a counter */
    int64_t last[CENI_HISTORY_METRICS];
    uint64_t instant[CENI_HISTORY_HISTOGRAMS];
    /* totals; differences stay correct when they wrap at 2^32 */
    uint32_t buckets[CENI_HISTORY_HISTOGRAMS][BUCKETS];
    unsigned count, next;
    sample samples[CENI_HISTORY_SAMPLES];
} past;
_Static_assert(sizeof(past) <= 8192, "8 KiB for each component");

struct ceni_history {
    past *pasts[CENI_HISTORY_THINGS]; /* NULL: free */
    uint64_t rounds;
    /* the last unrecorded component examined: the next round continues after it */
    uint64_t met;
    unsigned strangers;
    int64_t now_ms;
    cen_metric metrics[CEN_METRICS_MAX]; /* of the current component */
    size_t count;
    cen_histogram histogram;
};

ceni_history *ceni_history_new(void)
{
    return calloc(1, sizeof(ceni_history));
}

void ceni_history_free(ceni_history *history)
{
    if (!history) return;
    for (size_t i = 0; i < CENI_HISTORY_THINGS; i++) free(history->pasts[i]);
    free(history);
}

/* ---- Choice of metrics -------------------------------------------------------------------- */

/* The metrics that the page draws. */
static const char *const charted[] = {
    "held",          "waiting",    "idle",           "max",         "taken",    "timed_out", "opening",
    "running",       "queued",     "in_flight",      "length",      "finished", "uses",      "failed",
    "answered",      "handled",    "down",           "up",          "children", "restarts",  "high_queued",
    "normal_queued", "low_queued", "pushes_waiting", "pops_waiting"};
/* A component has trouble if one of these is not 0, whatever its kind. */
static const char *const troubles[] = {"waiting",  "breaker", "leaked",  "revoked",  "orphans",
                                       "shedding", "down",    "ejected", "abandoned"};

static bool is_kept(const past *p, const char *name)
{
    for (unsigned i = 0; i < p->metric_count; i++)
        if (strcmp(p->metrics[i], name) == 0) return true;
    return false;
}

static void keep(past *p, const cen_metric *metric)
{
    if (p->metric_count == CENI_HISTORY_METRICS || is_kept(p, metric->name)) return;
    p->counts[p->metric_count] = metric->kind == CEN_COUNTER;
    p->metrics[p->metric_count++] = metric->name;
}

static const cen_metric *metric_of(const ceni_history *h, const char *name)
{
    for (size_t i = 0; i < h->count; i++)
        if (strcmp(h->metrics[i].name, name) == 0) return &h->metrics[i];
    return NULL;
}

static void choose_metrics(const ceni_history *h, past *p)
{
    for (size_t i = 0; i < sizeof charted / sizeof *charted; i++) {
        const cen_metric *metric = metric_of(h, charted[i]);
        if (metric) keep(p, metric);
    }
    for (size_t i = 0; i < h->count; i++) keep(p, &h->metrics[i]);
}

static bool has_trouble(const ceni_history *h)
{
    for (size_t i = 0; i < sizeof troubles / sizeof *troubles; i++) {
        const cen_metric *metric = metric_of(h, troubles[i]);
        if (metric && metric->value > 0) return true;
    }
    return false;
}

/* ---- One sample ----------------------------------------------------------------------------- */

/* Return the mark of the value at `rank` among those added in the period; `instant` of them took no time. */
static uint8_t mark_of(const uint32_t added[BUCKETS], double instant, double one_in, double rank)
{
    double seen = instant;
    unsigned last = MARK_NONE;
    if (seen >= rank) return MARK_NONE;
    for (unsigned i = 0; i < BUCKETS && seen < rank; i++) {
        if (!added[i]) continue;
        seen += added[i] * one_in;
        last = i + MARK_FIRST;
    }
    return (uint8_t)last;
}

static void sample_histogram(ceni_history *h, const cen_component *component, past *p, sample *s, bool is_first)
{
    static const double shares[MARKS] = {0.5, 0.9, 0.99, 1};
    cen_histogram_header timing;
    uint32_t added[BUCKETS];
    p->timing_count = 0;
    for (size_t t = 0; t < CENI_HISTORY_HISTOGRAMS && cen_component_histogram(component, t, &timing, &h->histogram);
         t++) {
        double one_in = timing.one_in ? timing.one_in : 1, instant = (double)(timing.instant - p->instant[t]),
               all = instant;
        for (unsigned i = 0; i < BUCKETS; i++) {
            uint32_t total = 0;
            for (unsigned k = 0; k < MERGED; k++) total += (uint32_t)h->histogram.buckets[i * MERGED + k];
            added[i] = total - p->buckets[t][i];
            p->buckets[t][i] = total;
            all += added[i] * one_in;
        }
        p->instant[t] = timing.instant;
        p->timings[p->timing_count++] = timing.name;
        for (unsigned m = 0; m < MARKS && all > 0 && !is_first; m++)
            s->marks[t][m] = mark_of(added, instant, one_in, shares[m] * all - 1e-9);
    }
}

static void take_sample(ceni_history *h, const cen_component *component, past *p)
{
    sample s = {.at_ms = h->now_ms};
    bool is_first = p->count == 0;
    for (unsigned i = 0; i < p->metric_count; i++) {
        const cen_metric *metric = metric_of(h, p->metrics[i]);
        int64_t value = metric ? metric->value : p->last[i];
        s.values[i] = (float)(!p->counts[i] ? value : is_first ? 0 : value - p->last[i]);
        p->last[i] = value;
    }
    sample_histogram(h, component, p, &s, is_first);
    p->samples[p->next] = s;
    p->next = (p->next + 1) % CENI_HISTORY_SAMPLES;
    if (p->count < CENI_HISTORY_SAMPLES) p->count++;
}

/* ---- All components --------------------------------------------------------------------------- */

static past *past_of(const ceni_history *h, uint64_t number)
{
    for (size_t i = 0; i < CENI_HISTORY_THINGS; i++)
        if (h->pasts[i] && h->pasts[i]->number == number) return h->pasts[i];
    return NULL;
}

/* Return a free place or, for a component with trouble, the place of one without trouble. NULL: there is none. */
static past **place_for(ceni_history *h, bool trouble)
{
    past **calm = NULL;
    for (size_t i = 0; i < CENI_HISTORY_THINGS; i++) {
        if (!h->pasts[i]) return &h->pasts[i];
        if (trouble && !h->pasts[i]->has_trouble) calm = &h->pasts[i];
    }
    return calm;
}

static bool is_full(const ceni_history *h)
{
    for (size_t i = 0; i < CENI_HISTORY_THINGS; i++)
        if (!h->pasts[i]) return false;
    return true;
}

static void read_metrics(ceni_history *h, const cen_component *component)
{
    h->count = cen_component_metrics(component, h->metrics, CEN_METRICS_MAX);
    if (h->count > CEN_METRICS_MAX) h->count = CEN_METRICS_MAX;
}

/* Decide whether to record a component that is not recorded yet. */
static past *meet_stranger(ceni_history *h, const cen_component *component, uint64_t number)
{
    if (is_full(h) && (number <= h->met || h->strangers == STRANGERS)) return NULL;
    if (is_full(h)) h->met = number, h->strangers++;
    read_metrics(h, component);
    past **place = place_for(h, has_trouble(h));
    if (!place) return NULL;
    if (!*place) *place = malloc(sizeof(past));
    past *p = *place;
    if (!p) return NULL;
    *p = (past){.number = number};
    choose_metrics(h, p);
    return p;
}

static void sample_component(void *argument, cen_component *component)
{
    ceni_history *h = argument;
    uint64_t number = cen_component_number(component);
    past *p = past_of(h, number);
    if (p) read_metrics(h, component);
    else p = meet_stranger(h, component, number);
    if (!p) return;
    p->round = h->rounds;
    p->has_trouble = has_trouble(h);
    take_sample(h, component, p);
}

void ceni_history_sample(ceni_history *history, int64_t now_ms)
{
    history->rounds++;
    history->now_ms = now_ms;
    history->strangers = 0;
    cen_components_each(sample_component, history);
    if (history->strangers < STRANGERS) history->met = 0; /* the round reached the last component */
    for (size_t i = 0; i < CENI_HISTORY_THINGS; i++) {
        if (!history->pasts[i] || history->pasts[i]->round == history->rounds) continue;
        free(history->pasts[i]); /* the component is gone */
        history->pasts[i] = NULL;
    }
}

/* ---- Output --------------------------------------------------------------------------------------- */

static const sample *sample_at(const past *p, unsigned index) /* 0: the oldest */
{
    return &p->samples[(p->next + CENI_HISTORY_SAMPLES - p->count + index) % CENI_HISTORY_SAMPLES];
}

/* Return the middle of a bucket. */
static int64_t nanoseconds_of(uint8_t mark)
{
    if (mark == MARK_NONE) return 0;
    unsigned first = (unsigned)(mark - MARK_FIRST) * MERGED;
    int64_t low = first ? cen_histogram_bucket_highest(first - 1) + 1 : 0;
    return low + (cen_histogram_bucket_highest(first + MERGED - 1) - low) / 2;
}

static void show_sample(const past *p, const sample *s, const int64_t totals[], int64_t at_ns, ceni_json *json)
{
    ceni_json_open(json, NULL, '[');
    ceni_json_number(json, NULL, at_ns);
    for (unsigned i = 0; i < p->metric_count; i++)
        ceni_json_number(json, NULL, p->counts[i] ? totals[i] : (int64_t)s->values[i]);
    for (unsigned t = 0; t < p->timing_count; t++)
        for (unsigned m = 0; m < MARKS; m++) {
            if (s->marks[t][m] == MARK_UNKNOWN) ceni_json_words(json, NULL, NULL);
            else ceni_json_number(json, NULL, nanoseconds_of(s->marks[t][m]));
        }
    ceni_json_close(json, ']');
}

static void show_names(ceni_json *json, const char *name, const char *const *names, unsigned count)
{
    ceni_json_open(json, name, '[');
    for (unsigned i = 0; i < count; i++) ceni_json_words(json, NULL, names[i]);
    ceni_json_close(json, ']');
}

static void show_past(const past *p, int64_t now_ms, int64_t now_ns, ceni_json *json)
{
    int64_t totals[CENI_HISTORY_METRICS];
    memcpy(totals, p->last, sizeof totals);
    for (unsigned s = 1; s < p->count; s++) /* back to the values at the oldest sample */
        for (unsigned i = 0; i < p->metric_count; i++)
            totals[i] -= p->counts[i] ? (int64_t)sample_at(p, s)->values[i] : 0;
    ceni_json_open(json, NULL, '{');
    ceni_json_count(json, "number", p->number);
    show_names(json, "metrics", p->metrics, p->metric_count);
    show_names(json, "timings", p->timings, p->timing_count);
    ceni_json_open(json, "samples", '[');
    for (unsigned s = 0; s < p->count && !json->text.spoiled; s++) {
        const sample *one = sample_at(p, s);
        for (unsigned i = 0; s > 0 && i < p->metric_count; i++) totals[i] += p->counts[i] ? (int64_t)one->values[i] : 0;
        show_sample(p, one, totals, now_ns - (now_ms - one->at_ms) * 1000000, json);
    }
    ceni_json_close(json, ']');
    ceni_json_close(json, '}');
}

void ceni_history_show(const ceni_history *history, int64_t now_ms, int64_t now_ns, ceni_json *json)
{
    ceni_json_number(json, "period_ns", (int64_t)CENI_HISTORY_PERIOD_MS * 1000000);
    ceni_json_open(json, "components", '[');
    for (size_t i = 0; i < CENI_HISTORY_THINGS; i++)
        if (history->pasts[i]) show_past(history->pasts[i], now_ms, now_ns, json);
    ceni_json_close(json, ']');
}
