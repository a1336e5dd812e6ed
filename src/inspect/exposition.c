/* SPDX-License-Identifier: MIT */
/*
 * Metrics as text, in two formats: OpenMetrics 1.0 and the older Prometheus text format. They differ in the names of
 * counters' families, in units and in the last line.
 *
 *     db_client_connection_...   database pools, with OpenTelemetry's names and labels
 *     cenote_KIND_READING        every component's metrics, with its name and number as labels
 *     cenote_KIND_TIMES_seconds  its histograms
 *
 * A family must be contiguous. So for each kind, and each metric that a component of that kind has, all components of
 * the kind are visited.
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
    uint64_t left_out; /* number of histograms */
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

/* `name` lacks the suffix _total or _info, which one of the formats adds to the family's name. */
static void begin_family(exposing *e, const char *name, family_type type, const char *help)
{
    const char *total = e->openmetrics ? "" : type == COUNTER ? "_total" : type == INFO ? "_info" : "";
    ceni_text_print(e->text, "# HELP %s%s %s\n", name, total, help);
    ceni_text_print(e->text, "# TYPE %s%s %s\n", name, total, type_word(e, type));
    if (e->openmetrics && ends_in(name, "_seconds")) ceni_text_print(e->text, "# UNIT %s seconds\n", name);
}

/* Write nanoseconds as seconds with all digits. */
static void put_seconds(exposing *e, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    ceni_text_print(e->text, "%s%" PRIu64 ".%09" PRIu64 "\n", ns < 0 ? "-" : "", size / 1000000000, size % 1000000000);
}

/* `labels` has names and values: name="orders",number="3". It may be longer than one print allows. */
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
        while (bound[length - 1] == '0' && bound[length - 2] != '.') length--; /* as in 1.0, 0.0025 */
        bound[length] = '"';
        bound[length + 1] = 0;
        put_number(e, name, "_bucket", labels, bound, t->within[i]);
    }
    put_number(e, name, "_bucket", labels, ",le=\"+Inf\"", t->count);
    put_number(e, name, "_count", labels, "", t->count);
    put_sample(e, name, "_sum", labels, "");
    put_seconds(e, t->sum_ns);
}

/* ---- Metrics of all components ------------------------------------------------------------------------- */

static void labels_of(const ceni_metric_component *component, ceni_text *labels)
{
    labels->length = 0;
    ceni_text_add(labels, "name=\"");
    ceni_text_add(labels, component->name);
    ceni_text_print(labels, "\",number=\"%" PRIu64 "\"", component->number);
    if (component->system[0]) ceni_text_print(labels, ",system=\"%s\"", component->system);
}

/* Return true unless an earlier component of the kind, or this one before, has a metric of that name. */
static bool is_first(const exposing *e, size_t component, size_t metric)
{
    const ceni_metric_component *own = &e->all->components[component];
    const char *name = own->metrics[metric].name;
    for (size_t i = 0; i < component; i++)
        if (strcmp(e->all->components[i].kind, own->kind) == 0 && ceni_metric_sample(&e->all->components[i], name))
            return false;
    return ceni_metric_sample(own, name) == &own->metrics[metric];
}

/* Name a family: cenote_pool_wait_ns becomes cenote_pool_wait_seconds. A gauge's name must not end like parts of other
 * types. */
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
    snprintf(help, sizeof help, "The metric %s of each %s%s.", metric->name, kind,
             time ? ", converted to seconds" : "");
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

/* Database pools also have these histograms under OpenTelemetry's names. */
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
                 part ? "Sampling rate: 1 in this many durations of each %s is recorded in cenote_%s_%s_seconds."
                      : "Durations of each %s. 1 in cenote_%s_%s_one_in is recorded.",
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
        if (!any) e->text->length = before; /* no family without samples */
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

/* ---- OpenTelemetry's metrics of database pools ------------------------------------------------------------ */

static int64_t sum_of(const ceni_metric_component *pool, const char *const *names)
{
    int64_t sum = 0;
    for (; *names; names++) {
        const cen_metric *metric = ceni_metric_sample(pool, *names);
        if (metric) sum += metric->value;
    }
    return sum;
}

/* Call `put` for each database pool to write its samples. A family without samples is not written. */
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
    /* The Prometheus linter forbids gauges that end in _count, and OpenTelemetry prescribes this name. */
    each_pool(e, "db_client_connection_count", UNKNOWN, "Connections in each state, idle or used.", put_states, NULL);
    each_pool(e, "db_client_connection_idle_max", GAUGE, "Maximum number of idle connections.", put_gauge, "max_idle");
    each_pool(e, "db_client_connection_idle_min", GAUGE, "Minimum number of idle connections.", put_gauge, "min_idle");
    each_pool(e, "db_client_connection_max", GAUGE, "Maximum number of open connections.", put_gauge, "max");
    each_pool(e, "db_client_connection_pending_requests", GAUGE, "Takes that are waiting for a connection.", put_gauge,
              "waiting");
    each_pool(e, "db_client_connection_timeouts", COUNTER, "Takes that timed out.", put_counter, "timed_out");
    each_pool(e, "db_client_connection_create_time_seconds", HISTOGRAM, "Time to open a connection.", put_times,
              "create");
    each_pool(e, "db_client_connection_wait_time_seconds", HISTOGRAM,
              "Time to take a connection. Takes that did not wait count as 0.", put_times, "wait");
    each_pool(e, "db_client_connection_use_time_seconds", HISTOGRAM,
              "Time between take and give. 1 in cenote_pool_use_one_in is recorded.", put_times, "use");
}

void ceni_metric_expose(ceni_text *text, const ceni_metric_components *components, bool openmetrics,
                        ceni_metric_without without)
{
    exposing e = {text, components, openmetrics, without, 0};
    unsigned v = cen_version();
    begin_family(&e, "cenote", INFO, "The version of libcenote.");
    ceni_text_print(text, "cenote_info{version=\"%u.%u.%u\"} 1\n", v / 1000000, v / 1000 % 1000, v % 1000);
    begin_family(&e, "cenote_components", GAUGE, "Number of components: pools, crews, queues and others.");
    ceni_text_print(text, "cenote_components %zu\n", components->count);
    expose_pools(&e);
    expose_components(&e);
    begin_family(&e, "cenote_histograms_left_out", GAUGE, "Histograms left out because the text would be too long.");
    ceni_text_print(text, "cenote_histograms_left_out %" PRIu64 "\n", e.left_out);
    ceni_text_add(text, "# EOF\n");
}
