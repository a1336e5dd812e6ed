/* SPDX-License-Identifier: MIT */
/* The result of a run as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/events.h>

#include "tool/run.h"
#include "tool/terminal.h"
#include "tool/words.h"

/* ---- Advice ---------------------------------------------------------------------------------------------- */

static double share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static bool advise_on_failure(run_report *self)
{
    const load_result *load = &self->load;
    uint64_t failed = load->timed_out + load->refused + load->failed;
    char share[WORDS_ROOM];
    if (load->operations == 0 && load->attempts > 0)
        snprintf(self->advice, sizeof self->advice, "No operation succeeded%s.",
                 failed ? ": see the causes" : " in that time; use a longer --duration");
    else if (load->attempts == 0)
        snprintf(self->advice, sizeof self->advice, "The run ended before anything was measured.");
    else if (failed && load->timed_out > failed / 2)
        snprintf(self->advice, sizeof self->advice,
                 "%s of the operations timed out waiting for an object: the pool is too small for this many clients, "
                 "objects are held too long, or --timeout is too short.",
                 words_share(share, share_of(failed, load->attempts)));
    else if (failed)
        snprintf(self->advice, sizeof self->advice, "%s of the operations failed; see the causes.",
                 words_share(share, share_of(failed, load->attempts)));
    else return false;
    return true;
}

/* Copy the pool's last event about a failed open; "": it was overwritten by later events. */
static void last_refusal(char *out, size_t room)
{
    cen_event_cursor at = {0};
    cen_event event;
    out[0] = 0;
    while (cen_events_read(&at, &event) == CEN_OK)
        if (event.kind == CEN_EVENT_OPEN_FAILED) snprintf(out, room, " Last error: %.380s", event.text);
}

/* The pool could not reach its limit, so clients waited. Neither a larger limit nor more clients would help. */
static bool advise_on_opening(run_report *self)
{
    const cen_pool_stats *pool = &self->pool;
    uint64_t there = pool->opened - pool->closed;
    char count[WORDS_ROOM], refusal[400];
    const load_result *load = &self->load;
    bool failed = load->timed_out || load->refused || load->failed; /* these have causes of their own */
    if (failed || !pool->open_failed || there >= pool->max || load->waiting <= 0.1) return false;
    last_refusal(refusal, sizeof refusal);
    snprintf(self->advice, sizeof self->advice,
             "Clients waited for objects that could not be opened: the pool ended with %u of %u objects, after %s "
             "failed opens.%s",
             (unsigned)there, pool->max, words_count(count, pool->open_failed), refusal);
    return true;
}

static bool advise_on_rate(run_report *self)
{
    const load_result *load = &self->load;
    double reached = load->seconds > 0 ? (double)load->operations / load->seconds : 0, rate = self->settings->rate;
    char asked[WORDS_ROOM], had[WORDS_ROOM];
    if (rate <= 0 || reached >= rate * 0.98 || load->stopped) return false;
    snprintf(self->advice, sizeof self->advice, "The rate of %s was not reached (%s): %s.", words_rate(asked, rate),
             words_rate(had, reached),
             load->utilisation > 0.9 ? "all objects were in use; cenote tune finds out whether a larger pool helps"
                                     : "the pool had idle objects left; use more --clients");
    return true;
}

/* Return a size that would have been 75 % in use. */
static unsigned smaller_size(const run_report *self)
{
    double busy = self->load.utilisation * (double)self->pool.max;
    unsigned size = (unsigned)ceil(busy / 0.75);
    return size < 1 ? 1 : size;
}

void run_advise(run_report *self)
{
    const load_result *load = &self->load;
    char waited[WORDS_ROOM], used[WORDS_ROOM];
    words_share(waited, load->waiting);
    words_share(used, load->utilisation);
    if (advise_on_opening(self) || advise_on_failure(self) || advise_on_rate(self)) return;
    if (load->writer_utilisation > 0.9 && load->utilisation < 0.5)
        snprintf(self->advice, sizeof self->advice,
                 "The single writer was always busy and the readers were not: shorter transactions help, more readers "
                 "do not.");
    else if (load->waiting > 0.1 && load->utilisation > 0.5)
        snprintf(self->advice, sizeof self->advice,
                 "Clients waited for an object %s of the time: the bottleneck is the pool or the resource behind it. "
                 "cenote tune finds out which.",
                 waited);
    else if (load->waiting > 0.1 && self->pool.closed > self->pool.max)
        snprintf(self->advice, sizeof self->advice,
                 "Clients waited for an object %s of the time although the pool was only %s in use: objects are "
                 "constantly closed and reopened.",
                 waited, used);
    else if (load->waiting > 0.1)
        snprintf(self->advice, sizeof self->advice,
                 "Clients waited for an object %s of the time although the pool was only %s in use: they waited for a "
                 "processor of this machine, not for the pool, so more objects would not help.",
                 waited, used);
    else if (load->fairness < 0.8)
        snprintf(self->advice, sizeof self->advice,
                 "Clients were served unequally: the luckiest one was served %.1f times as often as the unluckiest.",
                 load->least ? (double)load->most / (double)load->least : INFINITY);
    else if (load->utilisation < 0.3 && smaller_size(self) < self->pool.max)
        snprintf(self->advice, sizeof self->advice,
                 "The pool is larger than this load needs: it was %s in use, so a size of %u is enough.", used,
                 smaller_size(self));
    else snprintf(self->advice, sizeof self->advice, "Clients hardly waited: the pool is large enough for this load.");
}

/* ---- Tables ---------------------------------------------------------------------------------------------- */

static void print_head(const run_report *self, FILE *out)
{
    const run_settings *settings = self->settings;
    const target *aim = self->target;
    char text[WORDS_ROOM], more[WORDS_ROOM];
    fprintf(out, "%s%s%s\n", terminal_ink(out, INK_BOLD), aim->shown, terminal_ink(out, INK_PLAIN));
    fprintf(out, "  %s\n", aim->settings.query);
    if (aim->settings.write_share > 0)
        fprintf(out, "  %s: %s\n", words_share(text, aim->settings.write_share), aim->settings.write);
    fprintf(out, "  %s %s on a pool of %u", words_count(text, (uint64_t)settings->clients),
            settings->futures        ? "futures"
            : settings->clients == 1 ? "thread"
                                     : "threads",
            self->pool.max);
    if (self->writer.max) fprintf(out, " readers and one writer");
    if (settings->rate > 0) fprintf(out, ", open loop, %s due", words_rate(text, settings->rate));
    else fprintf(out, ", closed loop");
    fprintf(out, ", measured for %s%s\n", words_duration(more, (int64_t)(self->load.seconds * 1e9)),
            self->load.stopped ? " (ended early)" : "");
}

static void print_counts(const run_report *self, FILE *out)
{
    const load_result *load = &self->load;
    double seconds = load->seconds;
    char text[WORDS_ROOM], more[WORDS_ROOM];
    fprintf(out, "\n%s%s%s  %s operations", terminal_ink(out, INK_ACCENT),
            words_rate(text, seconds > 0 ? (double)load->operations / seconds : 0), terminal_ink(out, INK_PLAIN),
            words_count(more, load->operations));
    if (load->writes) fprintf(out, ", %s of them writes", words_count(more, load->writes));
    if (load->timed_out) fprintf(out, ", %s timed out", words_count(more, load->timed_out));
    if (load->refused) fprintf(out, ", %s refused", words_count(more, load->refused));
    if (load->failed) fprintf(out, ", %s failed", words_count(more, load->failed));
    if (load->never_begun) fprintf(out, ", %s due but never started", words_count(more, load->never_begun));
    fputs("\n\n", out);
}

static void add_times(table *to, const char *name, const cen_histogram *histogram)
{
    static const uint32_t places[] = {500000, 900000, 990000, 999000, 1000000};
    char text[WORDS_ROOM];
    table_row(to);
    table_set(to, 0, "%s", name);
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++)
        table_set(to, i + 1, "%s",
                  histogram->count ? words_duration(text, cen_histogram_percentile(histogram, places[i])) : "-");
    table_set(to, 6, "%s", histogram->count ? words_duration(text, histogram->sum / (int64_t)histogram->count) : "-");
}

static void print_times(const run_report *self, FILE *out)
{
    static const char *const heads[] = {"", "p50", "p90", "p99", "p99.9", "max", "mean"};
    table *times = malloc(sizeof *times);
    if (!times) return;
    table_begin(times, 7);
    table_row(times);
    for (unsigned i = 0; i < 7; i++) table_set(times, i, "%s", heads[i]);
    add_times(times, "wait for an object", &self->load.wait);
    add_times(times, "use of it", &self->load.use);
    add_times(times, self->settings->rate > 0 ? "whole, from when due" : "whole", &self->load.whole);
    table_print(times, out, 2);
    free(times);
}

static void print_pool(const run_report *self, FILE *out)
{
    const load_result *load = &self->load;
    const cen_pool_stats *pool = &self->pool;
    char text[WORDS_ROOM], more[WORDS_ROOM];
    fprintf(out, "\n  pool      in use %s of the time", words_share(text, load->utilisation));
    if (self->writer.max) fprintf(out, ", the writer %s", words_share(text, load->writer_utilisation));
    fprintf(out, "; clients spent %s of it waiting\n", words_share(text, load->waiting));
    fprintf(out, "  objects   %s opened, %s closed", words_count(text, pool->opened), words_count(more, pool->closed));
    if (pool->open_failed) fprintf(out, ", %s opens failed", words_count(text, pool->open_failed));
    if (pool->test_failed) fprintf(out, ", %s health checks failed", words_count(text, pool->test_failed));
    if (pool->reset) fprintf(out, ", %s resets", words_count(text, pool->reset));
    if (pool->breaker != CEN_BREAKER_CLOSED) fprintf(out, ", the circuit breaker is not closed");
    fprintf(out,
            "\n"
            "  fairness  %.3f; clients did %s to %s operations each\n",
            load->fairness, words_count(text, load->least), words_count(more, load->most));
    fprintf(out, "  processor %.2f s of this program, %s of a core\n", load->cpu_seconds,
            words_share(text, load->seconds > 0 ? load->cpu_seconds / load->seconds : 0));
    if (self->limit.words[0]) fprintf(out, "  server    %s\n", self->limit.words);
}

static void print_causes(const run_report *self, FILE *out)
{
    const load_result *load = &self->load;
    char text[WORDS_ROOM];
    if (!load->causes[0].count) return;
    fprintf(out,
            "\n"
            "%sFailures by cause, with the first error of each%s\n",
            terminal_ink(out, INK_BAD), terminal_ink(out, INK_PLAIN));
    for (unsigned i = 0; i < LOAD_CAUSES && load->causes[i].count; i++)
        fprintf(out, "  %s x %s in the %s: %s\n", words_count(text, load->causes[i].count),
                cen_status_name(load->causes[i].status) + 4, load->causes[i].in_take ? "take" : "operation",
                load->causes[i].text);
    if (load->other_causes) fprintf(out, "  %s x other causes\n", words_count(text, load->other_causes));
}

void run_print(const run_report *self, FILE *out)
{
    print_head(self, out);
    print_counts(self, out);
    print_times(self, out);
    print_pool(self, out);
    print_causes(self, out);
    fprintf(out, "\n%s\n", self->advice);
}
