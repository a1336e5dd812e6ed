/* SPDX-License-Identifier: MIT */
/* The result of a run as one JSON object. docs/tool.md describes it. Fields are only ever added. */
#include <jansson.h>
#include <stdlib.h>

#include <cenote/version.h>

#include "tool/run.h"
#include "tool/text_json.h"

static json_t *times(const cen_histogram *from)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "count", (json_int_t)from->count, "mean_ns",
                     (json_int_t)(from->count ? from->sum / (int64_t)from->count : 0), "min_ns",
                     (json_int_t)from->smallest, "p50_ns", (json_int_t)cen_histogram_percentile(from, 500000), "p90_ns",
                     (json_int_t)cen_histogram_percentile(from, 900000), "p99_ns",
                     (json_int_t)cen_histogram_percentile(from, 990000), "p999_ns",
                     (json_int_t)cen_histogram_percentile(from, 999000), "max_ns", (json_int_t)from->largest);
}

static json_t *plan(const run_report *self)
{
    const run_settings *from = self->settings;
    return json_pack("{s:I, s:b, s:I, s:f, s:f, s:o, s:I, s:I, s:I, s:I}", "clients", (json_int_t)from->clients,
                     "futures", from->futures, "size", (json_int_t)from->size, "duration_s",
                     (double)from->duration_ns / 1e9, "warm_up_s", (double)from->warm_up_ns / 1e9, "rate",
                     from->rate > 0 ? json_real(from->rate) : json_null(), "think_ns", (json_int_t)from->think_ns,
                     "hold_ns", (json_int_t)from->hold_ns, "timeout_ns", (json_int_t)from->timeout_ns, "min_idle",
                     (json_int_t)from->min_idle);
}

static json_t *about_target(const run_report *self)
{
    const target *from = self->target;
    return json_pack("{s:s, s:o, s:o, s:o, s:f}", "system", from->kind->system, "url", text_as_json(from->shown),
                     "query", text_as_json(from->settings.query), "write",
                     text_as_json(from->settings.write_share > 0 ? from->settings.write : NULL), "write_share",
                     from->settings.write_share);
}

static json_t *causes(const load_result *from)
{
    json_t *all = json_array();
    for (unsigned i = 0; i < LOAD_CAUSES && from->causes[i].count; i++)
        json_array_append_new(
            all, json_pack("{s:s, s:s, s:i, s:I, s:o}", "in", from->causes[i].in_take ? "take" : "operation", "status",
                           cen_status_name(from->causes[i].status) + 4, "code", from->causes[i].code, "count",
                           (json_int_t)from->causes[i].count, "text", text_as_json(from->causes[i].text)));
    return all;
}

static json_t *pool(const cen_pool_stats *from)
{
    static const char *const breakers[] = {"closed", "open", "half-open"};
    if (from->max == 0) return json_null();
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "max", (json_int_t)from->max,
                     "opened", (json_int_t)from->opened, "open_failed", (json_int_t)from->open_failed, "closed",
                     (json_int_t)from->closed, "taken", (json_int_t)from->taken, "waited", (json_int_t)from->waited,
                     "timed_out", (json_int_t)from->timed_out, "discarded", (json_int_t)from->discarded, "tested",
                     (json_int_t)from->tested, "test_failed", (json_int_t)from->test_failed, "reset",
                     (json_int_t)from->reset, "leaked", (json_int_t)from->leaked, "breaker", breakers[from->breaker]);
}

static json_t *limit(const target_limit *from)
{
    if (from->most == 0) return json_null();
    return json_pack("{s:I, s:I, s:I, s:o}", "most", (json_int_t)from->most, "reserved", (json_int_t)from->reserved,
                     "in_use", (json_int_t)from->in_use, "text", text_as_json(from->words));
}

static json_t *windows(const load_result *from)
{
    json_t *counts = json_array();
    for (uint32_t i = 0; i < from->windows; i++)
        json_array_append_new(counts, json_integer((json_int_t)from->window[i]));
    return json_pack("{s:f, s:o}", "seconds", from->window_seconds, "operations", counts);
}

static void add_counts(json_t *all, const load_result *from)
{
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {
        {"attempts", from->attempts},       {"operations", from->operations}, {"timed_out", from->timed_out},
        {"refused", from->refused},         {"failed", from->failed},         {"unfinished", from->unfinished},
        {"never_begun", from->never_begun}, {"writes", from->writes},         {"other_causes", from->other_causes}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        json_object_set_new(all, counts[i].name, json_integer((json_int_t)counts[i].value));
    json_object_set_new(all, "throughput", json_real(from->seconds > 0 ? (double)from->operations / from->seconds : 0));
}

static void add_shares(json_t *all, const run_report *self)
{
    const load_result *from = &self->load;
    json_object_set_new(all, "utilisation", json_real(from->utilisation));
    json_object_set_new(all, "writer_utilisation",
                        self->writer.max ? json_real(from->writer_utilisation) : json_null());
    json_object_set_new(all, "waiting", json_real(from->waiting));
    json_object_set_new(all, "fairness",
                        json_pack("{s:f, s:I, s:I}", "jain", from->fairness, "least", (json_int_t)from->least, "most",
                                  (json_int_t)from->most));
    json_object_set_new(all, "cpu_seconds", json_real(from->cpu_seconds));
}

bool run_print_json(const run_report *self, FILE *out)
{
    const load_result *load = &self->load;
    char version[32];
    json_t *all = json_object();
    snprintf(version, sizeof version, "%d.%d.%d", CEN_VERSION_MAJOR, CEN_VERSION_MINOR, CEN_VERSION_PATCH);
    json_object_set_new(all, "schema", json_string("cenote-run/1"));
    json_object_set_new(all, "version", json_string(version));
    json_object_set_new(all, "target", about_target(self));
    json_object_set_new(all, "plan", plan(self));
    json_object_set_new(all, "seconds", json_real(load->seconds));
    json_object_set_new(all, "stopped", json_boolean(load->stopped));
    add_counts(all, load);
    json_object_set_new(all, "wait", times(&load->wait));
    json_object_set_new(all, "use", times(&load->use));
    json_object_set_new(all, "whole", times(&load->whole));
    add_shares(all, self);
    json_object_set_new(all, "causes", causes(load));
    json_object_set_new(all, "pool", pool(&self->pool));
    json_object_set_new(all, "writer", pool(&self->writer));
    json_object_set_new(all, "limit", limit(&self->limit));
    json_object_set_new(all, "windows", windows(load));
    json_object_set_new(all, "advice", text_as_json(self->advice));
    char *line = all ? json_dumps(all, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : NULL;
    if (line) fprintf(out, "%s\n", line);
    free(line);
    json_decref(all);
    return line != NULL;
}
