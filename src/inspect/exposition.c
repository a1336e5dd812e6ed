/* SPDX-License-Identifier: MIT */
/*
 * Metrics as text, in the two forms that are asked for: OpenMetrics 1.0, and the
 * older text format of Prometheus. They differ in the names of counters' families, in
 * units and in the last line.
 *
 *     db_client_connection_...   pools of databases, by OpenTelemetry's names and labels
 *     cenote_KIND_READING        every component's metrics, with its name and number as labels
 *     cenote_KIND_TIMES_seconds  its histograms, as histograms
 *
 * A family is written in one piece: for each kind, and each reading that a component of that kind has, all components of the
 * kind are gone through.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "inspect/metrics.h"

typedef enum family_type { GAUGE, COUNTER, HISTOGRAM, INFO, UNKNOWN } family_type;

typedef struct exposing {
    ceni_text *text;
    const ceni_metric_components *all;
    bool openmetrics;
    ceni_metric_without without;
    uint64_t left_out; /* histograms */
} exposing;

/* ---- Lines ---------------------------------------------------------------------------------- */

static const char *type_word(const exposing *e, family_type type)
{
    switch (type) {
    case GAUGE: return "gauge";
    case COUNTER: return "counter";
    case HISTOGRAM: return "histogram";
    case INFO: return e->openmetrics ? "info" : "gauge";
    default: return e->openmetrics ? "unknown" : "untyped";
    }
}

static bool ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);
    return length > tail && strcmp(name + (length - tail), end) == 0;
}

/* `name` has no _total and no _info, which in one of the forms is part of it. */
static void begin_family(exposing *e, const char *name, family_type type, const char *help)
{
    const char *total = e->openmetrics ? "" : type == COUNTER ? "_total" : type == INFO ? "_info" : "";
    ceni_text_print(e->text, "# HELP %s%s %s\n", name, total, help);
    ceni_text_print(e->text, "# TYPE %s%s %s\n", name, total, type_word(e, type));
    if (e->openmetrics && ends_in(name, "_seconds")) ceni_text_print(e->text, "# UNIT %s seconds\n", name);
}

/* Nanoseconds as seconds, to the last digit. */
static void put_seconds(exposing *e, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    ceni_text_print(e->text, "%s%" PRIu64 ".%09" PRIu64 "\n", ns < 0 ? "-" : "", size / 1000000000, size % 1000000000);
}

/* The labels are complete, with their names: name="orders",number="3". They may be longer than a print is. */
static void put_sample(exposing *e, const char *name, const char *suffix, const char *labels, const char *more)
{
    ceni_text_print(e->text, "%s%s{", name, suffix);
    ceni_text_add(e->text, labels);
    ceni_text_add(e->text, more);
    ceni_text_add(e->text, "} ");
}

static void put_number(exposing *e, const char *name, const char *suffix, const char *labels, const char *more,
                       uint64_t value)
{
    put_sample(e, name, suffix, labels, more);
    ceni_text_print(e->text, "%" PRIu64 "\n", value);
}

static void put_histogram(exposing *e, const char *name, const char *labels, const ceni_metric_histogram *t)
{
    char bound[40];
    for (unsigned i = 0; i < CENI_BOUNDS; i++) {
        int64_t ns = ceni_metric_bounds[i];
        int length =
            snprintf(bound, sizeof bound, ",le=\"%" PRId64 ".%06" PRId64, ns / 1000000000, ns % 1000000000 / 1000);
        while (bound[length - 1] == '0' && bound[length - 2] != '.') length--; /* 1.0, 0.0025 */
        bound[length] = '"';
        bound[length + 1] = 0;
        put_number(e, name, "_bucket", labels, bound, t->within[i]);
    }
    put_number(e, name, "_bucket", labels, ",le=\"+Inf\"", t->count);
    put_number(e, name, "_count", labels, "", t->count);
    put_sample(e, name, "_sum", labels, "");
    put_seconds(e, t->sum_ns);
}

/* ---- Every component's --------------------------------------------------------------------------------- */

static void labels_of(const ceni_metric_component *component, ceni_text *labels)
{
    labels->length = 0;
    ceni_text_add(labels, "name=\"");
    ceni_text_add(labels, component->name);
    ceni_text_print(labels, "\",number=\"%" PRIu64 "\"", component->number);
    if (component->system[0]) ceni_text_print(labels, ",system=\"%s\"", component->system);
}

/* Whether an earlier component of the kind has had it, or this one twice. */
static bool is_first(const exposing *e, size_t component, size_t metric)
{
    const ceni_metric_component *own = &e->all->components[component];
    const char *name = own->metrics[metric].name;
    for (size_t i = 0; i < component; i++)
        if (strcmp(e->all->components[i].kind, own->kind) == 0 && ceni_metric_sample(&e->all->components[i], name))
            return false;
    return ceni_metric_sample(own, name) == &own->metrics[metric];
}

/* cenote_pool_wait_ns is cenote_pool_wait_seconds; a gauge must not end as parts of other types do. */
static void name_family(char out[96], const char *kind, const cen_metric *metric)
{
    bool time = ends_in(metric->name, "_ns");
    const char *after = time ? "_seconds" : "";
    if (metric->kind == CEN_GAUGE &&
        (ends_in(metric->name, "_total") || ends_in(metric->name, "_count") || ends_in(metric->name, "_sum") ||
         ends_in(metric->name, "_bucket") || strcmp(metric->name, "total") == 0 || strcmp(metric->name, "count") == 0 ||
         strcmp(metric->name, "sum") == 0))
        after = "_now";
    if (metric->kind == CEN_COUNTER && ends_in(metric->name, "_total"))
        snprintf(out, 96, "cenote_%s_%.*s", kind, (int)strlen(metric->name) - 6, metric->name);
    else snprintf(out, 96, "cenote_%s_%.*s%s", kind, (int)strlen(metric->name) - (time ? 3 : 0), metric->name, after);
}

static void expose_metric(exposing *e, size_t first, const cen_metric *metric, ceni_text *labels)
{
    char name[96], help[160];
    const char *kind = e->all->components[first].kind;
    bool time = ends_in(metric->name, "_ns");
    name_family(name, kind, metric);
    snprintf(help, sizeof help, "What each %s says of %s.", kind, metric->name);
    begin_family(e, name, metric->kind == CEN_COUNTER ? COUNTER : GAUGE, help);
    for (size_t i = first; i < e->all->count; i++) {
        const ceni_metric_component *component = &e->all->components[i];
        const cen_metric *its = strcmp(component->kind, kind) == 0 ? ceni_metric_sample(component, metric->name) : NULL;
        if (!its) continue;
        labels_of(component, labels);
        put_sample(e, name, metric->kind == CEN_COUNTER ? "_total" : "", labels->bytes, "");
        if (time) put_seconds(e, its->value);
        else ceni_text_print(e->text, "%" PRId64 "\n", its->value);
    }
}

static bool is_first_timing(const exposing *e, size_t component, size_t timing)
{
    const ceni_metric_component *own = &e->all->components[component];
    const char *name = own->timings[timing].timing.name;
    for (size_t i = 0; i < component; i++)
        if (strcmp(e->all->components[i].kind, own->kind) == 0 &&
            ceni_metric_histogram_of(&e->all->components[i], name))
            return false;
    return ceni_metric_histogram_of(own, name) == &own->timings[timing];
}

/* Those of a database's pool are there under OpenTelemetry's names, too. */
static bool leaves_out(exposing *e, const ceni_metric_component *component)
{
    bool leaves = e->without == CENI_WITHOUT_HISTOGRAMS || (e->without == CENI_WITHOUT_TWICE && component->alone);
    e->left_out += leaves;
    return leaves;
}

static void expose_timing(exposing *e, size_t first, const char *times, ceni_text *labels)
{
    char name[96], help[200];
    const char *kind = e->all->components[first].kind;
    for (int part = 0; part < 2; part++) {
        size_t before = e->text->length;
        bool any = false;
        snprintf(name, sizeof name, part ? "cenote_%s_%s_one_in" : "cenote_%s_%s_seconds", kind, times);
        snprintf(help, sizeof help,
                 part ? "Of so many of each %s one is in cenote_%s_%s_seconds."
                      : "Times of each %s, one in cenote_%s_%s_one_in of them.",
                 kind, kind, times);
        begin_family(e, name, part ? GAUGE : HISTOGRAM, help);
        for (size_t i = first; i < e->all->count; i++) {
            const ceni_metric_component *component = &e->all->components[i];
            const ceni_metric_histogram *its =
                strcmp(component->kind, kind) == 0 ? ceni_metric_histogram_of(component, times) : NULL;
            if (!its || (!part && leaves_out(e, component))) continue;
            any = true;
            labels_of(component, labels);
            if (part) put_number(e, name, "", labels->bytes, "", its->timing.one_in);
            else put_histogram(e, name, labels->bytes, its);
        }
        if (!any) e->text->length = before; /* a family of nobody is not begun */
    }
}

static void expose_components(exposing *e)
{
    ceni_text labels = {0};
    ceni_text_add(&labels, "");
    for (size_t i = 0; i < e->all->count && !labels.spoiled; i++) {
        const ceni_metric_component *component = &e->all->components[i];
        for (size_t r = 0; r < component->metric_count; r++)
            if (is_first(e, i, r)) expose_metric(e, i, &component->metrics[r], &labels);
        for (size_t t = 0; t < component->timing_count; t++)
            if (is_first_timing(e, i, t)) expose_timing(e, i, component->timings[t].timing.name, &labels);
    }
    if (labels.spoiled) e->text->spoiled = true;
    ceni_text_fini(&labels);
}

/* ---- OpenTelemetry's, for pools of databases -------------------------------------------------------------- */

static int64_t sum_of(const ceni_metric_component *pool, const char *const *names)
{
    int64_t sum = 0;
    for (; *names; names++) {
        const cen_metric *metric = ceni_metric_sample(pool, *names);
        if (metric) sum += metric->value;
    }
    return sum;
}

/* Lets `put` write the samples of each pool of a database. A family that none has anything for is not begun. */
static void each_pool(exposing *e, const char *name, family_type type, const char *help,
                      bool (*put)(exposing *e, const char *name, const char *labels, const ceni_metric_component *pool,
                                  const void *what),
                      const void *what)
{
    ceni_text labels = {0};
    size_t before = e->text->length;
    bool any = false;
    begin_family(e, name, type, help);
    for (size_t i = 0; i < e->all->count; i++) {
        const ceni_metric_component *pool = &e->all->components[i];
        if (!pool->alone) continue;
        labels.length = 0;
        ceni_text_add(&labels, "db_client_connection_pool_name=\"");
        ceni_text_add(&labels, pool->alone);
        ceni_text_add(&labels, "\"");
        if (!labels.spoiled) any |= put(e, name, labels.bytes, pool, what);
    }
    if (!any) e->text->length = before;
    if (labels.spoiled) e->text->spoiled = true;
    ceni_text_fini(&labels);
}

static bool put_states(exposing *e, const char *name, const char *labels, const ceni_metric_component *pool,
                       const void *what)
{
    static const char *const idle[] = {"idle", NULL}, *const used[] = {"held",      "moving",  "revoked",
                                                                       "resetting", "testing", NULL};
    (void)what;
    put_number(e, name, "", labels, ",db_client_connection_state=\"idle\"", (uint64_t)sum_of(pool, idle));
    put_number(e, name, "", labels, ",db_client_connection_state=\"used\"", (uint64_t)sum_of(pool, used));
    return true;
}

static bool put_gauge(exposing *e, const char *name, const char *labels, const ceni_metric_component *pool,
                      const void *what)
{
    const cen_metric *metric = ceni_metric_sample(pool, what);
    if (metric) put_number(e, name, "", labels, "", (uint64_t)metric->value);
    return metric;
}

static bool put_counter(exposing *e, const char *name, const char *labels, const ceni_metric_component *pool,
                        const void *what)
{
    const cen_metric *metric = ceni_metric_sample(pool, what);
    if (metric) put_number(e, name, "_total", labels, "", (uint64_t)metric->value);
    return metric;
}

static bool put_times(exposing *e, const char *name, const char *labels, const ceni_metric_component *pool,
                      const void *what)
{
    const ceni_metric_histogram *timing = ceni_metric_histogram_of(pool, what);
    if (!timing) return false;
    if (e->without == CENI_WITHOUT_HISTOGRAMS) {
        e->left_out++;
        return false;
    }
    put_histogram(e, name, labels, timing);
    return true;
}

static void expose_pools(exposing *e)
{
    bool any = false;
    for (size_t i = 0; i < e->all->count; i++) any |= e->all->components[i].alone != NULL;
    if (!any) return;
    /* A gauge must not end in _count, says the check of Prometheus, and the name is not ours to choose. */
    each_pool(e, "db_client_connection_count", UNKNOWN, "Connections of the pool that are idle, and that are used.",
              put_states, NULL);
    each_pool(e, "db_client_connection_idle_max", GAUGE, "Idle connections that are kept at most.", put_gauge,
              "max_idle");
    each_pool(e, "db_client_connection_idle_min", GAUGE, "Idle connections that are kept ready.", put_gauge,
              "min_idle");
    each_pool(e, "db_client_connection_max", GAUGE, "Connections that may be open.", put_gauge, "max");
    each_pool(e, "db_client_connection_pending_requests", GAUGE, "Takes that wait for a connection now.", put_gauge,
              "waiting");
    each_pool(e, "db_client_connection_timeouts", COUNTER, "Takes that ran out of time.", put_counter, "timed_out");
    each_pool(e, "db_client_connection_create_time_seconds", HISTOGRAM, "Time to open a connection.", put_times,
              "create");
    each_pool(e, "db_client_connection_wait_time_seconds", HISTOGRAM,
              "Time to get a connection; takes that did not wait are in the lowest bucket, and add nothing to the sum.",
              put_times, "wait");
    each_pool(e, "db_client_connection_use_time_seconds", HISTOGRAM,
              "Time between take and give, of a sample: one in cenote_pool_use_one_in of them.", put_times, "use");
}

void ceni_metric_expose(ceni_text *text, const ceni_metric_components *components, bool openmetrics,
                        ceni_metric_without without)
{
    exposing e = {text, components, openmetrics, without, 0};
    unsigned v = cen_version();
    begin_family(&e, "cenote", INFO, "The version of libcenote.");
    ceni_text_print(text, "cenote_info{version=\"%u.%u.%u\"} 1\n", v / 1000000, v / 1000 % 1000, v % 1000);
    begin_family(&e, "cenote_components", GAUGE, "Pools, crews, queues and whatever else is there.");
    ceni_text_print(text, "cenote_components %zu\n", components->count);
    expose_pools(&e);
    expose_components(&e);
    begin_family(&e, "cenote_histograms_left_out", GAUGE,
                 "Histograms that are not here because this text would be too long.");
    ceni_text_print(text, "cenote_histograms_left_out %" PRIu64 "\n", e.left_out);
    ceni_text_add(text, "# EOF\n");
}
