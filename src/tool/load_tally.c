/* SPDX-License-Identifier: MIT */
/*
 * The counts of operations, by the rules in load.h. Times are cut to the measured time. An operation that was running
 * at its end is unfinished, whatever its later result.
 */
#include <stdlib.h>
#include <string.h>

#include "tool/load_internal.h"

tally *tally_new(const load_course *load)
{
    tally *self = calloc(1, sizeof *self);
    if (!self) return NULL;
    self->window = calloc(load->windows, sizeof *self->window);
    if (self->window) return self;
    free(self);
    return NULL;
}

void tally_free(tally *self)
{
    if (!self) return;
    free(self->window);
    free(self);
}

/* Return the part of the time from `began` to `ended` that lies within the measured time. */
static int64_t within(const load_course *load, int64_t until, int64_t began, int64_t ended)
{
    if (began < load->from) began = load->from;
    if (ended > until) ended = until;
    return ended > began ? ended - began : 0;
}

/* ---- Causes ---------------------------------------------------------------------------------------------- */

static void add_cause(tally *self, const load_cause *cause)
{
    for (unsigned i = 0; i < LOAD_CAUSES; i++) {
        load_cause *at = &self->causes[i];
        if (at->count == 0) {
            *at = *cause;
            return;
        }
        if (at->status != cause->status || at->code != cause->code || at->in_take != cause->in_take) continue;
        if (cause->first < at->first) memcpy(at->text, cause->text, sizeof at->text);
        if (cause->first < at->first) at->first = cause->first;
        at->count += cause->count;
        return;
    }
    self->other_causes += cause->count;
}

static void count_failure(tally *self, const load_turn *turn, const cen_error *error)
{
    load_cause cause = {
        .status = turn->status, .code = error->code, .in_take = turn->got == 0, .count = 1, .first = turn->end};
    memcpy(cause.text, error->text, sizeof cause.text);
    if (!cause.text[0]) snprintf(cause.text, sizeof cause.text, "%s", cen_status_text(turn->status));
    add_cause(self, &cause);
    if (cause.in_take && turn->status == CEN_TIMEOUT) self->timed_out++;
    else if (cause.in_take && (turn->status == CEN_FULL || turn->status == CEN_OVERLOAD)) self->refused++;
    else self->failed++;
}

/* ---- Operations ------------------------------------------------------------------------------------------ */

void tally_add_never_begun(tally *self, int64_t due, int64_t until)
{
    cen_histogram_record(&self->whole, until - due);
    self->unfinished++;
    self->never_begun++;
}

/* Return the first number above `below` that is due at `moment` or later. */
static uint64_t first_due(const load_course *load, uint64_t below, int64_t moment)
{
    uint64_t low = below, high = below + 1;
    while (load_due(load, high) < moment) {
        low = high;
        high += high - below;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (load_due(load, middle) < moment) low = middle;
        else high = middle;
    }
    return high;
}

/* Add the numbers from `number` up to `end`, which all fall into the bucket of the first. Their times decrease
 * evenly. */
static void add_row(tally *self, load_course *load, uint64_t number, uint64_t end)
{
    int64_t until = load_until(load);
    int64_t longest = until - load_due(load, number), shortest = until - load_due(load, end - 1);
    cen_histogram *whole = &self->whole;
    double sum = (double)whole->sum + ((double)longest + (double)shortest) / 2 * (double)(end - number);
    if (whole->count == 0 || shortest < whole->smallest) whole->smallest = shortest;
    if (whole->count == 0 || longest > whole->largest) whole->largest = longest;
    whole->count += end - number;
    whole->buckets[cen_histogram_bucket_of(longest)] += end - number;
    whole->sum = sum < 0x1p63 ? (int64_t)sum : INT64_MAX;
}

void tally_add_rest(tally *self, load_course *load, uint64_t number)
{
    int64_t until = load_until(load);
    while (load_due(load, number) < until) {
        int64_t least = cen_histogram_bucket_lowest(cen_histogram_bucket_of(until - load_due(load, number)));
        uint64_t end = first_due(load, number, least > 0 ? until - least + 1 : until);
        add_row(self, load, number, end);
        self->unfinished += end - number;
        self->never_begun += end - number;
        number = end;
    }
}

static void count_unfinished(tally *self, const load_turn *turn, int64_t until)
{
    if (turn->began >= until) { /* the end came before the take */
        if (turn->due < until) tally_add_never_begun(self, turn->due, until);
        return;
    }
    bool waited_on = turn->got == 0 || turn->got > until;
    cen_histogram_record(&self->wait, (waited_on ? until : turn->got) - turn->began);
    cen_histogram_record(&self->whole, until - turn->due);
    self->unfinished++;
}

bool tally_add(tally *self, load_course *load, const load_turn *turn, const cen_error *error)
{
    int64_t until = load_until(load);
    bool good = turn->status == CEN_OK;
    int64_t held = turn->got ? within(load, until, turn->got, turn->end) : 0;
    self->waiting_ns += within(load, until, turn->began, turn->got ? turn->got : turn->end);
    if (load->plan.writer && turn->turn.writes) self->writer_held_ns += held;
    else self->held_ns += held;
    atomic_fetch_add(good ? &self->shown : &self->shown_failed, 1);
    if (turn->end < load->from) return false;
    if (turn->end >= until) {
        count_unfinished(self, turn, until);
        return false;
    }
    cen_histogram_record(&self->wait, (turn->got ? turn->got : turn->end) - turn->began);
    cen_histogram_record(&self->whole, turn->end - turn->due);
    if (turn->got) cen_histogram_record(&self->use, turn->end - turn->got);
    if (!good) {
        count_failure(self, turn, error);
        return false;
    }
    int64_t window = (turn->end - load->from) / load->window_ns;
    if (window < load->windows) self->window[window]++;
    self->operations++;
    self->writes += turn->turn.writes;
    return true;
}

void tally_merge(tally *self, const tally *other, uint32_t windows)
{
    cen_histogram_merge(&self->wait, &other->wait);
    cen_histogram_merge(&self->use, &other->use);
    cen_histogram_merge(&self->whole, &other->whole);
    self->operations += other->operations;
    self->timed_out += other->timed_out;
    self->refused += other->refused;
    self->failed += other->failed;
    self->unfinished += other->unfinished;
    self->never_begun += other->never_begun;
    self->writes += other->writes;
    self->held_ns += other->held_ns;
    self->writer_held_ns += other->writer_held_ns;
    self->waiting_ns += other->waiting_ns;
    self->other_causes += other->other_causes;
    for (unsigned i = 0; i < LOAD_CAUSES && other->causes[i].count; i++) add_cause(self, &other->causes[i]);
    for (uint32_t i = 0; i < windows; i++) self->window[i] += other->window[i];
}
