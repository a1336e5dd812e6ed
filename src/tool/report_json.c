/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <math.h>

#include "tool/report.h"
#include "tool/text_json.h"

/* Non-finite numbers are left out, because JSON has none. jansson functions accept NULL, so failures are checked once
 * at the end: an object that could not be created is NULL, and so is everything set in it. */
static void set_real(json_t *object, const char *name, double value)
{
    json_object_set_new(object, name, isfinite(value) ? json_real(value) : json_null());
}

static void set_integer(json_t *object, const char *name, uint64_t value)
{
    json_object_set_new(object, name, json_integer((json_int_t)value));
}

static void set_text(json_t *object, const char *name, const char *text)
{
    json_object_set_new(object, name, text_as_json(text));
}

static json_t *interval_json(knee_interval interval)
{
    json_t *object = json_object();
    set_real(object, "mean", interval.mean);
    set_real(object, "low", interval.low);
    set_real(object, "high", interval.high);
    return object;
}

static json_t *histogram_json(const cen_histogram *histogram)
{
    static const struct {
        const char *name;
        uint32_t per_million;
    } parts[] = {{"p50_ns", 500000}, {"p95_ns", 950000}, {"p99_ns", 990000}, {"p999_ns", 999000}};
    json_t *object = json_object();
    set_integer(object, "count", histogram->count);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        set_integer(object, parts[i].name, (uint64_t)cen_histogram_percentile(histogram, parts[i].per_million));
    set_integer(object, "max_ns", (uint64_t)histogram->largest);
    return object;
}

static json_t *size_json(const tuning *self, const tune_size *size)
{
    json_t *object = json_object();
    set_integer(object, "size", size->size);
    json_object_set_new(object, "failed", json_boolean(size->failed));
    json_object_set_new(object, "cause", json_null());
    if (size->cause[0]) set_text(object, "cause", size->cause);
    set_integer(object, "visits", size->visits);
    set_real(object, "seconds", size->seconds);
    set_integer(object, "operations", size->operations);
    set_integer(object, "failures", size->failures);
    json_object_set_new(object, "throughput", interval_json(size->throughput));
    const tune_size *best = self->answer.best >= 0 ? self->sizes[self->answer.best] : size;
    set_real(object, "share_of_best", best->throughput.mean > 0 ? size->throughput.mean / best->throughput.mean : 0);
    json_object_set_new(object, "use", histogram_json(&size->use));
    json_object_set_new(object, "wait", histogram_json(&size->wait));
    json_object_set_new(object, "whole", histogram_json(&size->whole));
    set_real(object, "utilisation", tune_utilisation(size));
    set_real(object, "cpu_seconds", size->cpu_seconds);
    return object;
}

static json_t *recommendation_json(const tuning *self)
{
    char text[1024];
    if (self->answer.chosen < 0) return json_null();
    const tune_size *chosen = self->sizes[self->answer.chosen];
    json_t *object = json_object();
    set_integer(object, "size", chosen->size);
    set_integer(object, "best_size", self->sizes[self->answer.best]->size);
    json_object_set_new(object, "share_of_best", interval_json(self->answer.share));
    json_object_set_new(object, "keeps_goal", self->goal.ns ? json_boolean(self->answer.keeps_goal) : json_null());
    json_object_set_new(object, "sure", json_boolean(self->answer.is_sure));
    json_object_set_new(object, "settled", json_boolean(self->answer.is_settled));
    json_object_set_new(object, "doubt",
                        self->answer.doubt < 0 ? json_null() : json_integer(self->sizes[self->answer.doubt]->size));
    tune_advice(self, text, sizeof text);
    set_text(object, "text", text);
    tune_doubts(self, text, sizeof text);
    set_text(object, "doubts", text);
    return object;
}

static json_t *time_json(const tuning *self)
{
    char text[640];
    if (self->answer.chosen < 0) return json_null();
    tune_capacity time_limit = tune_capacity_of(self, self->sizes[self->answer.chosen]->size);
    json_t *object = json_object();
    set_integer(object, "replicas", time_limit.replicas);
    set_integer(object, "connections", time_limit.wanted);
    json_object_set_new(object, "usable", time_limit.usable ? json_integer(time_limit.usable) : json_null());
    json_object_set_new(object, "over", json_boolean(time_limit.is_over));
    json_object_set_new(object, "fitting", time_limit.is_over ? json_integer(time_limit.fitting) : json_null());
    tune_capacity_words(self, text, sizeof text);
    set_text(object, "text", text);
    return object;
}

bool report_json(const tuning *self, FILE *out)
{
    static const char *const ends[] = {[SWEEP_GOES_ON] = "stopped",
                                       [SWEEP_SETTLED] = "settled",
                                       [SWEEP_TIME] = "time_limit",
                                       [SWEEP_FAILED] = "failed",
                                       [SWEEP_FULL] = "full"};
    json_t *all = json_object(), *points = json_array();
    set_text(all, "schema", "cenote-tune/1");
    set_text(all, "version", self->version);
    set_text(all, "when", self->when);
    set_text(all, "machine", self->machine);
    set_text(all, "target", self->shown);
    set_text(all, "system", self->system);
    set_text(all, "query", self->query);
    set_integer(all, "clients", self->clients);
    json_object_set_new(all, "rate", self->rate > 0 ? json_real(self->rate) : json_null());
    set_real(all, "margin", self->rule.margin);
    json_object_set_new(all, "goal", json_null());
    if (self->goal.ns) set_text(all, "goal", self->goal.text);
    set_integer(all, "max", self->max);
    set_real(all, "time_seconds", self->time_limit);
    set_real(all, "elapsed_seconds", self->elapsed);
    set_integer(all, "visits", self->visits);
    set_text(all, "end", self->stopped ? "stopped" : ends[self->end]);
    json_object_set_new(all, "trouble", json_null());
    if (self->trouble[0]) set_text(all, "trouble", self->trouble);
    json_object_set_new(all, "report", json_null());
    if (self->report) set_text(all, "report", self->report);
    json_object_set_new(all, "recommendation", recommendation_json(self));
    json_object_set_new(all, "connections", time_json(self));
    for (uint32_t i = 0; i < self->count; i++) json_array_append_new(points, size_json(self, self->sizes[i]));
    bool is_whole = all && points && json_array_size(points) == self->count;
    json_object_set_new(all, "points", points);
    is_whole = is_whole && json_dumpf(all, out, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0;
    json_decref(all);
    if (is_whole) fputc('\n', out);
    return is_whole;
}
