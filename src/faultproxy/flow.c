/* SPDX-License-Identifier: MIT */
#include "faultproxy/flow.h"

#include <stdlib.h>

/* Timers are late by 1 or 2 ms. Up to this much lateness is made up for, so that the rate is exact on average. */
static const uint64_t slack = 20 * FP_MS;

/* A throttled direction moves at once what it may move in 1/STEPS_PER_SECOND s. */
enum { STEPS_PER_SECOND = 100 };

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void fp_flow_fini(fp_flow *flow)
{
    free(flow->ring);
    flow->ring = NULL;
}

size_t fp_flow_room(fp_flow *flow, unsigned char **into)
{
    if (!flow->ring && !(flow->ring = malloc(FP_RING))) return SIZE_MAX;
    uint64_t free_bytes = FP_RING - (flow->in - flow->out), at = flow->in % FP_RING;
    if (flow->marks_used == FP_MARKS) return 0;
    *into = flow->ring + at;
    return (size_t)least(free_bytes, FP_RING - at);
}

static fp_mark *last_mark(fp_flow *flow)
{
    return flow->marks_used ? &flow->marks[(flow->mark + flow->marks_used - 1) % FP_MARKS] : NULL;
}

/* Return when bytes that arrive now are due. Bytes never overtake one another. */
static uint64_t due_at(fp_flow *flow, uint64_t delay, uint64_t now)
{
    const fp_mark *last = last_mark(flow);
    return last ? most(last->due, now + delay) : now + delay;
}

void fp_flow_added(fp_flow *flow, const fp_way *way, size_t size, uint64_t now, uint64_t *random)
{
    uint64_t extra = way->jitter ? fp_random(random) % (way->jitter + 1) : 0;
    uint64_t due = due_at(flow, way->delay + extra, now);
    fp_mark *last = last_mark(flow);
    flow->in += size;
    /* Bytes that arrive at almost the same time share a mark, so that long delays need few marks. */
    if (last && due - last->first <= (way->delay + way->jitter) / (FP_MARKS / 2)) {
        last->upto = flow->in;
        last->due = due;
        return;
    }
    flow->marks[(flow->mark + flow->marks_used++) % FP_MARKS] = (fp_mark){flow->in, due, due};
}

void fp_flow_ended(fp_flow *flow, const fp_way *way, fp_end how, uint64_t now)
{
    if (flow->end != FP_NO_END) return;
    flow->end = how;
    flow->end_at = due_at(flow, way->delay, now);
}

/* Return the number of bytes that are due. */
static uint64_t due_bytes(const fp_flow *flow, uint64_t now, uint64_t *wake)
{
    uint64_t upto = flow->out;
    for (unsigned i = 0; i < flow->marks_used; i++) {
        const fp_mark *mark = &flow->marks[(flow->mark + i) % FP_MARKS];
        if (mark->due > now) {
            if (upto == flow->out) *wake = least(*wake, mark->due);
            break;
        }
        upto = mark->upto;
    }
    return upto - flow->out;
}

size_t fp_flow_next(const fp_flow *flow, const fp_way *way, uint64_t now, const unsigned char **from, uint64_t *wake)
{
    uint64_t size = due_bytes(flow, now, wake), at = flow->out % FP_RING;
    if (!size) return 0;
    if (flow->next_at > now) {
        *wake = least(*wake, flow->next_at);
        return 0;
    }
    size = least(size, FP_RING - at);
    if (way->slice) size = least(size, way->slice);
    if (way->rate) size = least(size, most(way->rate / STEPS_PER_SECOND, 1));
    *from = flow->ring + at;
    return (size_t)size;
}

void fp_flow_passed(fp_flow *flow, const fp_way *way, size_t size, uint64_t now)
{
    flow->out += size;
    while (flow->marks_used && flow->marks[flow->mark].upto <= flow->out) {
        flow->mark = (flow->mark + 1) % FP_MARKS;
        flow->marks_used--;
    }
    /* An empty ring starts again at its beginning, so that the rest of it often stays untouched. */
    if (flow->in == flow->out) flow->in = flow->out = 0;
    if (way->rate) flow->next_at = most(flow->next_at, now - slack) + size * 1000 * (uint64_t)FP_MS / way->rate;
    if (way->slice && way->pause) flow->next_at = most(flow->next_at, now + way->pause);
}

bool fp_flow_ends(const fp_flow *flow, uint64_t now, uint64_t *wake)
{
    if (flow->end == FP_NO_END || flow->over || flow->in != flow->out) return false;
    if (flow->end_at <= now) return true;
    *wake = least(*wake, flow->end_at);
    return false;
}

void fp_flow_refit(fp_flow *flow, const fp_way *way, uint64_t now)
{
    uint64_t latest = now + way->delay + way->jitter;
    for (unsigned i = 0; i < flow->marks_used; i++) {
        fp_mark *mark = &flow->marks[(flow->mark + i) % FP_MARKS];
        mark->due = least(mark->due, latest);
        mark->first = least(mark->first, latest);
    }
    flow->end_at = least(flow->end_at, latest);
    flow->next_at = now;
}
