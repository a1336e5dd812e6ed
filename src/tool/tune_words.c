/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tool/command.h"
#include "tool/tune.h"
#include "tool/words.h"

/* ---- The goal ---------------------------------------------------------------------------------------- */

static const char *const time_names[] = {[TUNE_WAIT] = "wait", [TUNE_USE] = "use", [TUNE_WHOLE] = "whole"};

const char *tune_time_name(tune_time time)
{
    return time_names[time];
}

static bool read_time(const char **text, tune_time *out)
{
    for (size_t i = 0; i < sizeof time_names / sizeof time_names[0]; i++) {
        size_t size = strlen(time_names[i]);
        if (strncmp(*text, time_names[i], size) != 0 || (*text)[size] != '.') continue;
        *text += size + 1;
        *out = (tune_time)i;
        return true;
    }
    return false;
}

bool tune_goal_read(const char *text, tune_time usual, tune_goal *out, char *why, size_t room)
{
    const char *at = text;
    char percent[16], duration[WORDS_ROOM];
    double number = 0;
    *out = (tune_goal){.time = usual};
    read_time(&at, &out->time);
    size_t size = *at == 'p' ? strcspn(at + 1, "=") : 0;
    if (size > 0 && size < sizeof percent && at[1 + size] == '=') {
        memcpy(percent, at + 1, size);
        percent[size] = '\0';
        bool is_good = options_number(percent, &number) && number > 0 && number <= 100 &&
                       options_duration(at + size + 2, &out->ns) && out->ns > 0;
        out->per_million = is_good ? (uint32_t)lround(number * 1e4) : 0;
    }
    if (out->per_million == 0) {
        snprintf(why, room,
                 "\"%.60s\" is not a goal: write a percentile and a time, such as p99=20ms, or prefix what is timed "
                 "(wait, use or whole), such as wait.p95=5ms.",
                 text);
        return false;
    }
    snprintf(out->text, sizeof out->text, "p%g of %s at most %s", number, tune_time_name(out->time),
             words_duration(duration, out->ns));
    return true;
}

int64_t tune_goal_value(const tune_goal *goal, const tune_size *size)
{
    const cen_histogram *times[] = {[TUNE_WAIT] = &size->wait, [TUNE_USE] = &size->use, [TUNE_WHOLE] = &size->whole};
    return cen_histogram_percentile(times[goal->time], goal->per_million);
}

/* ---- Numbers ----------------------------------------------------------------------------------------- */

double tune_utilisation(const tune_size *size)
{
    double all = size->seconds * size->size;
    return all > 0 ? fmin(size->held_seconds / all, 1) : 0;
}

tune_capacity tune_capacity_of(const tuning *self, uint32_t size)
{
    tune_capacity time_limit = {.replicas = self->replicas, .wanted = (uint64_t)self->replicas * size};
    if (self->limit.most > self->limit.reserved) time_limit.usable = self->limit.most - self->limit.reserved;
    time_limit.is_over = time_limit.usable && time_limit.wanted > time_limit.usable;
    if (time_limit.is_over) time_limit.fitting = time_limit.usable / self->replicas;
    return time_limit;
}

const char *tune_end_words(const tuning *self)
{
    if (self->stopped) return "stopped early";
    switch (self->end) {
    case SWEEP_SETTLED: return "the intervals separated";
    case SWEEP_TIME: return "the time was up before the intervals separated";
    case SWEEP_FAILED: return "the last visits failed";
    case SWEEP_FULL: return "the limit on visits was reached";
    case SWEEP_GOES_ON: break;
    }
    return "not finished";
}

/* ---- Sentences --------------------------------------------------------------------------------------- */

__attribute__((format(printf, 4, 5))) static void say(char *out, size_t room, size_t *size, const char *format, ...)
{
    if (*size >= room) return;
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(out + *size, room - *size, format, arguments);
    va_end(arguments);
    if (more > 0) *size += (size_t)more;
    if (*size >= room) *size = room - 1;
}

static const char *percent_range(char out[WORDS_ROOM], knee_interval share)
{
    double low = share.low * 100, high = share.high * 100;
    snprintf(out, WORDS_ROOM, "%.*f..%.*f", high - low < 1 ? 1 : 0, low, high - low < 1 ? 1 : 0, high);
    return out;
}

static const char *whole_number(char out[WORDS_ROOM], double number)
{
    return words_count(out, (uint64_t)llround(fmax(number, 0)));
}

static void say_latency(const tuning *self, const tune_size *size, char *out, size_t room, size_t *length)
{
    char text[WORDS_ROOM];
    tune_time time = self->rate > 0 ? TUNE_WHOLE : TUNE_USE;
    tune_goal usual = {.per_million = 990000, .time = time};
    const tune_goal *goal = self->goal.ns ? &self->goal : &usual;
    say(out, room, length, "p%g of %s %s", goal->per_million / 1e4, tune_time_name(goal->time),
        words_duration(text, tune_goal_value(goal, size)));
}

static bool keeps_goal(const tuning *self, const tune_size *size)
{
    return self->goal.ns == 0 || !self->answer.keeps_goal || tune_goal_value(&self->goal, size) <= self->goal.ns;
}

/* Return the size with the largest throughput in the table. */
static const tune_size *first_beside(const tuning *self, const tune_size *best)
{
    const tune_size *first = best;
    for (uint32_t i = 0; i < self->count; i++) {
        const tune_size *size = self->sizes[i];
        bool counts = !size->failed && size->visits > 0 && keeps_goal(self, size);
        if (counts && size->throughput.mean > first->throughput.mean) first = size;
    }
    return first;
}

const tune_size *tune_first(const tuning *self)
{
    return self->answer.best >= 0 ? first_beside(self, self->sizes[self->answer.best]) : NULL;
}

/* Another size had more throughput in the table, on fewer visits. That may be chance, so none is called the best. */
static void say_unproven(const tuning *self, const tune_size *chosen, const tune_size *first, char *out, size_t room,
                         size_t *length)
{
    char rate[WORDS_ROOM], low[WORDS_ROOM], high[WORDS_ROOM], most[WORDS_ROOM];
    bool is_smallest = self->answer.hope < 0 || self->answer.hope >= self->answer.chosen;
    say(out, room, length,
        "A pool of %u is %snot proven worse than another by more than %.3g %%: it gives %s (95 %% CI %s..%s), while ",
        chosen->size, is_smallest ? "the smallest size " : "", self->rule.margin * 100,
        words_rate(rate, chosen->throughput.mean), whole_number(low, chosen->throughput.low),
        whole_number(high, chosen->throughput.high));
    say(out, room, length, "%u gave %s (%s..%s) in %u visit%s", first->size, words_rate(most, first->throughput.mean),
        whole_number(low, first->throughput.low), whole_number(high, first->throughput.high), first->visits,
        first->visits == 1 ? "" : "s");
}

static void say_share(const tuning *self, const tune_size *chosen, const tune_size *best, char *out, size_t room,
                      size_t *length)
{
    char rate[WORDS_ROOM], range[WORDS_ROOM], text[WORDS_ROOM];
    const char *that = self->answer.best == self->answer.fastest ? "" : " that meets the goal";
    words_rate(rate, best->throughput.mean);
    if (chosen == best)
        say(out, room, length, "A pool of %u gives the best throughput%s (%s, 95 %% CI %s..%s)", chosen->size, that,
            rate, whole_number(text, best->throughput.low), whole_number(range, best->throughput.high));
    else
        say(out, room, length, "A pool of %u gives %.0f %% (95 %% CI %s) of the best throughput%s (%s at %u)",
            chosen->size, self->answer.share.mean * 100, percent_range(range, self->answer.share), that, rate,
            best->size);
}

size_t tune_advice(const tuning *self, char *out, size_t room)
{
    char rate[WORDS_ROOM], text[WORDS_ROOM];
    size_t length = 0;
    out[0] = '\0';
    if (self->answer.chosen < 0) {
        say(out, room, &length, "No size can be recommended: %s",
            self->trouble[0] ? self->trouble : "no operation completed.");
        return length;
    }
    const tune_size *chosen = self->sizes[self->answer.chosen], *best = self->sizes[self->answer.best];
    if (!self->answer.keeps_goal) {
        say(out, room, &length, "No size meets the goal (%s); a pool of %u comes closest, with ", self->goal.text,
            chosen->size);
        say_latency(self, chosen, out, room, &length);
        say(out, room, &length, " and %s.", words_rate(rate, chosen->throughput.mean));
        return length;
    }
    const tune_size *first = first_beside(self, best);
    if (first != best) say_unproven(self, chosen, first, out, room, &length);
    else say_share(self, chosen, best, out, room, &length);
    say(out, room, &length, "%s", first != best ? "; its " : " and ");
    say_latency(self, chosen, out, room, &length);
    if (self->replicas > 1 || self->limit.most) {
        tune_capacity time_limit = tune_capacity_of(self, chosen->size);
        say(out, room, &length, "; with %u replica%s that is %s", self->replicas, self->replicas == 1 ? "" : "s",
            words_count(text, time_limit.wanted));
        if (time_limit.is_over)
            say(out, room, &length, " connections, more than the server's %s", words_count(text, time_limit.usable));
        else if (time_limit.usable)
            say(out, room, &length, " of the server's %s usable connections", words_count(text, time_limit.usable));
        else say(out, room, &length, " connections");
    }
    say(out, room, &length, ".");
    return length;
}

/* Return the larger size to mention as a rival. The answer has the one with the fewest visits, to be measured next. If
 * others had more than the margin, a reader sees that in the curve, so the one with the most is named. */
static const tune_size *rival_named(const tuning *self)
{
    const tune_size *named = self->sizes[self->answer.rival];
    double most = self->sizes[self->answer.chosen]->throughput.mean / (1 - self->rule.margin);
    for (uint32_t i = (uint32_t)self->answer.chosen + 1; i < self->count && self->rule.goal <= 0; i++) {
        if (self->sizes[i]->failed || self->sizes[i]->throughput.mean <= most) continue;
        named = self->sizes[i];
        most = named->throughput.mean;
    }
    return named;
}

/* as a share of the mean: beyond it the order of the sizes is mostly chance */
#define SPREAD_TOLD 0.2

size_t tune_doubts(const tuning *self, char *out, size_t room)
{
    size_t length = 0;
    char range[WORDS_ROOM];
    out[0] = '\0';
    if (self->answer.chosen < 0) return 0;
    const tune_size *chosen = self->sizes[self->answer.chosen];
    if (self->answer.keeps_goal && self->answer.doubt >= 0)
        say(out, room, &length,
            "A pool of %u may also be within %.3g %% of the best: the intervals do not separate the two. ",
            self->sizes[self->answer.doubt]->size, self->rule.margin * 100);
    if (self->answer.keeps_goal && !self->answer.is_sure)
        say(out, room, &length,
            "A pool of %u is likely, but not certain, to be within %.3g %% of the best: the interval of its share is "
            "%s %%. ",
            chosen->size, self->rule.margin * 100, percent_range(range, self->answer.share));
    if (self->answer.rival >= 0)
        say(out, room, &length, "A pool of %u may do better than one of %u by more than %.3g %%. ",
            rival_named(self)->size, chosen->size, self->rule.margin * 100);
    if (self->spread > SPREAD_TOLD)
        say(out, room, &length,
            "Visits to the same size differ by %.0f %%: this machine or the server is busy with other work, or the "
            "load is not steady. Repeat the sweep on a quiet machine. ",
            self->spread * 100);
    if (self->answer.best == self->answer.chosen && chosen->size >= self->max && self->max > 1)
        say(out, room, &length, "This is the largest size tried, and a larger one may be better%s%s. ",
            self->max_words[0] ? ". Larger sizes were not tried: " : "", self->max_words);
    if (length && !self->stopped && self->end == SWEEP_TIME)
        say(out, room, &length, "A --time longer than %g s gives a clearer result. ", self->time_limit);
    if (!self->stopped && self->end == SWEEP_FAILED)
        say(out, room, &length,
            "The sweep ended after %.1f s of %g s because the last visits failed; these are the results until then. ",
            self->elapsed, self->time_limit);
    if (self->stopped)
        say(out, room, &length, "The sweep was stopped after %.1f s of %g s; these are the results until then. ",
            self->elapsed, self->time_limit);
    while (length && out[length - 1] == ' ') out[--length] = '\0';
    return length;
}

size_t tune_capacity_words(const tuning *self, char *out, size_t room)
{
    size_t length = 0;
    char wanted[WORDS_ROOM], usable[WORDS_ROOM];
    out[0] = '\0';
    if (self->answer.chosen < 0) return 0;
    uint32_t size = self->sizes[self->answer.chosen]->size;
    tune_capacity time_limit = tune_capacity_of(self, size);
    words_count(wanted, time_limit.wanted), words_count(usable, time_limit.usable);
    if (!time_limit.usable) {
        say(out, room, &length, "%u replica%s with a pool of %u need%s %s connection%s; the resource reports no limit.",
            self->replicas, self->replicas == 1 ? "" : "s", size, self->replicas == 1 ? "s" : "", wanted,
            time_limit.wanted == 1 ? "" : "s");
        return length;
    }
    if (!time_limit.is_over) {
        say(out, room, &length,
            "%u replica%s with a pool of %u need%s %s of the server's %s usable connections. The server %s.",
            self->replicas, self->replicas == 1 ? "" : "s", size, self->replicas == 1 ? "s" : "", wanted, usable,
            self->limit.words);
        return length;
    }
    say(out, room, &length,
        "%u replicas with a pool of %u need %s connections, but the server has only %s usable ones. ", self->replicas,
        size, wanted, usable);
    if (time_limit.fitting)
        say(out, room, &length,
            "A pool of %u in each replica fits; or put a connection pooler between the replicas and the server. ",
            time_limit.fitting);
    else
        say(out, room, &length,
            "Not even one connection per replica fits: put a connection pooler between the replicas and the server. ");
    say(out, room, &length, "The server %s.", self->limit.words);
    return length;
}
