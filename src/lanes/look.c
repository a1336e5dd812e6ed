/* SPDX-License-Identifier: MIT */
/* Statistics and latencies of lanes. */
#include "base/alloc.h"
#include "lanes/internal.h"

static uint64_t count_of(const ceni_lane *lane, ceni_lane_count which)
{
    return ceni_load_relaxed((_Atomic uint64_t *)(uintptr_t)&lane->counts[which]); /* a number; carries nothing */
}

static void look_at(const ceni_lane *lane, const ceni_ledger_entry *entry, int64_t now, cen_lane_stats *out)
{
    uint64_t states = ceni_load_relaxed((_Atomic uint64_t *)(uintptr_t)&lane->states); /* a number; carries nothing */
    *out = (cen_lane_stats){
        .max = entry->max[lane->index],
        .admitted = entry->admitted[lane->index],
        .queued = ceni_lane_in(states, CENI_LANE_QUEUED),
        .running = ceni_lane_in(states, CENI_LANE_RUNNING),
        .suspended = ceni_lane_in(states, CENI_LANE_SUSPENDED),
        .submitted = count_of(lane, CENI_LANE_SUBMITTED),
        .done = count_of(lane, CENI_LANE_DONE),
        .failed = count_of(lane, CENI_LANE_FAILED),
        .cancelled = count_of(lane, CENI_LANE_CANCELLED),
        .late = count_of(lane, CENI_LANE_LATE),
        .dropped = count_of(lane, CENI_LANE_DROPPED),
        .refused_full = count_of(lane, CENI_LANE_REFUSED_FULL),
        .refused_total = count_of(lane, CENI_LANE_REFUSED_TOTAL),
        .refused_late = count_of(lane, CENI_LANE_REFUSED_LATE),
        .estimated_wait_ns = lane->clocks ? ceni_pace_wait(lane, now) : 0,
    };
}

cen_status cen_lanes_stats_get(cen_lanes *lanes, cen_lanes_stats *out)
{
    if (!lanes) return CEN_INVALID;
    cen_status status = cen_sized_check(out, sizeof *out, "cen_lanes_stats_get: out", NULL);
    if (status == CEN_OK) status = ceni_lanes_enter(lanes);
    if (status != CEN_OK) return status;
    ceni_ledger_entry entry;
    ceni_ledger_read(&lanes->ledger, &entry);
    int64_t now = lanes->timed ? ceni_lanes_now(lanes) : 0;
    cen_lanes_stats all = {
        .max = entry.max_total, .admitted = entry.total, .is_stopped = ceni_setting(&lanes->stopped) != 0};
    for (unsigned i = 0; i < CEN_LANES; i++) {
        if (lanes->lane[i].is_absent) all.lane[i].is_absent = true;
        else look_at(&lanes->lane[i], &entry, now, &all.lane[i]);
    }
    cen_sized_write(out, &all, sizeof all);
    return CEN_OK;
}

static void summarise(const ceni_live_histogram *histogram, cen_histogram *room, cen_latency_summary *out)
{
    ceni_live_histogram_snapshot(histogram, room);
    *out = (cen_latency_summary){
        .count = room->count,
        .sum_ns = room->sum,
        .shortest_ns = room->smallest,
        .p50_ns = cen_histogram_percentile(room, 500000),
        .p90_ns = cen_histogram_percentile(room, 900000),
        .p99_ns = cen_histogram_percentile(room, 990000),
        .p999_ns = cen_histogram_percentile(room, 999000),
        .longest_ns = room->largest,
    };
}

cen_status cen_lanes_latency_get(cen_lanes *lanes, cen_priority priority, cen_lane_latency *out)
{
    if (!lanes) return CEN_INVALID;
    cen_status status = cen_sized_check(out, sizeof *out, "cen_lanes_latency_get: out", NULL);
    if (status == CEN_OK) status = ceni_lanes_enter(lanes);
    if (status != CEN_OK) return status;
    cen_lane_latency times = CEN_SIZED(cen_lane_latency);
    const ceni_lane *lane = ceni_lanes_route(lanes, priority);
    if (!lane) return CEN_INVALID;
    if (!lane->clocks) return CEN_EMPTY;
    cen_histogram *room = ceni_alloc(lanes->allocator, sizeof *room, _Alignof(cen_histogram));
    if (!room) return CEN_NO_MEMORY;
    summarise(&lane->clocks->wait, room, &times.wait);
    summarise(&lane->clocks->run, room, &times.run);
    summarise(&lane->clocks->total, room, &times.total);
    cen_sized_write(out, &times, sizeof times);
    ceni_free(lanes->allocator, room, sizeof *room, _Alignof(cen_histogram));
    return CEN_OK;
}
