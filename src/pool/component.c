/* SPDX-License-Identifier: MIT */
/*
 * A pool as a component (include/cenote/component.h): its metrics and actions. times.c has its histograms, describe.c
 * its description.
 *
 * The metrics come from one cen_pool_stats_get, so they satisfy the same equations (L19). In addition there are the
 * settings min_idle, max_idle and max_waiters as gauges, the last two unless they are CEN_OFF, because idle objects
 * and waiters are compared with them.
 *
 * `served` and `failed` are gauges although they are counts. A waiter that was handed a place counts as served, and
 * changes to failed if its opening fails. A counter that falls would look like a counter that was reset.
 */
#include "base/error.h"
#include "pool/internal.h"
#include "port/port.h"

/* ---- Metrics --------------------------------------------------------------------------- */

/* Metrics beyond the room are only counted. */
typedef struct list {
    cen_metric *metrics;
    size_t room, count;
} list;

static void add(list *l, const char *name, int64_t value, cen_metric_kind kind)
{
    if (l->count < l->room) l->metrics[l->count] = (cen_metric){name, value, kind};
    l->count++;
}

static void gauge(list *l, const char *name, int64_t value)
{
    add(l, name, value, CEN_GAUGE);
}

static void count(list *l, const char *name, uint64_t value)
{
    add(l, name, (int64_t)value, CEN_COUNTER);
}

static void add_objects(list *l, const cen_pool_stats *s)
{
    gauge(l, "max", s->max);
    gauge(l, "places", s->places);
    gauge(l, "idle", s->idle);
    gauge(l, "held", s->held);
    gauge(l, "moving", s->moving);
    gauge(l, "revoked", s->revoked);
    gauge(l, "opening", s->opening);
    gauge(l, "resetting", s->resetting);
    gauge(l, "testing", s->testing);
    gauge(l, "closing", s->closing);
    gauge(l, "vacant", s->vacant);
    count(l, "opened", s->opened);
    count(l, "open_failed", s->open_failed);
    count(l, "adopted", s->adopted);
    count(l, "closed", s->closed);
    count(l, "expired", s->expired);
    count(l, "tested", s->tested);
    count(l, "test_failed", s->test_failed);
    count(l, "reset", s->reset);
    count(l, "reset_failed", s->reset_failed);
}

static void add_leases(list *l, const cen_pool_stats *s)
{
    count(l, "taken", s->taken);
    count(l, "ended", s->ended);
    count(l, "discarded", s->discarded);
    count(l, "leaked", s->leaked);
    count(l, "reclaimed", s->reclaimed);
    count(l, "orphaned", s->orphaned);
    gauge(l, "orphans", s->orphans);
    count(l, "stale_gives", s->stale_gives);
}

static void add_waits(list *l, const cen_pool_stats *s)
{
    gauge(l, "waiting", s->waiting);
    count(l, "waited", s->waited);
    gauge(l, "served", (int64_t)s->served);
    count(l, "timed_out", s->timed_out);
    count(l, "sent_away", s->sent_away);
    gauge(l, "failed", (int64_t)s->failed);
    count(l, "shed", s->shed);
    count(l, "cancelled", s->cancelled);
    count(l, "missed", s->missed);
    count(l, "refused", s->refused);
    count(l, "refused_late", s->refused_late);
    count(l, "refused_breaker", s->refused_breaker);
    gauge(l, "wait_p50_ns", s->wait_p50_ns);
    gauge(l, "wait_p99_ns", s->wait_p99_ns);
    gauge(l, "wait_longest_ns", s->wait_longest_ns);
    count(l, "wait_total_ns", (uint64_t)s->wait_total_ns);
    gauge(l, "oldest_wait_ns", s->oldest_wait_ns);
    gauge(l, "estimated_wait_ns", s->estimated_wait_ns);
}

static void add_state(list *l, const cen_pool_stats *s)
{
    gauge(l, "breaker", (int64_t)s->breaker);
    gauge(l, "open_failures", s->open_failures);
    gauge(l, "next_open_ns", s->next_open_ns);
    gauge(l, "is_closed", s->is_closed);
    gauge(l, "paused", s->is_paused);
    gauge(l, "shedding", s->is_shedding);
}

static void add_settings(list *l, const cen_pool_options *o)
{
    gauge(l, "min_idle", o->min_idle);
    if (o->max_idle != CEN_OFF) gauge(l, "max_idle", (int64_t)ceni_settings_number(o->max_idle));
    if (o->max_waiters != CEN_OFF) gauge(l, "max_waiters", (int64_t)ceni_settings_number(o->max_waiters));
}

size_t ceni_pool_metrics(const void *object, cen_metric *metrics, size_t room)
{
    cen_pool *pool = (cen_pool *)(uintptr_t)object;
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    cen_pool_options o = CEN_SIZED(cen_pool_options);
    if (cen_pool_stats_get(pool, &s) != CEN_OK || cen_pool_options_get(pool, &o) != CEN_OK) return 0;
    list l = {.metrics = metrics, .room = room};
    add_objects(&l, &s);
    add_leases(&l, &s);
    add_waits(&l, &s);
    add_state(&l, &s);
    add_settings(&l, &o);
    return l.count;
}

/* ---- Actions --------------------------------------------------------------------------------- */

static cen_status resize(cen_pool *pool, int64_t max, cen_error *error)
{
    if (max >= 1 && max <= CEN_POOL_MAX) return cen_pool_resize(pool, (uint32_t)max, error);
    return ceni_error_set(error, CEN_INVALID, 0, "pool \"%s\": max must be 1 to %d (got %lld)", pool->name,
                          CEN_POOL_MAX, (long long)max);
}

static const char *const actions[] = {"pause", "resume", "resize", "reload", "evict", "test", NULL};

static cen_status tell(void *object, const char *action, int64_t value, cen_error *error)
{
    cen_pool *pool = object;
    if (strcmp(action, "pause") == 0) return cen_pool_pause(pool, error);
    if (strcmp(action, "resume") == 0) return cen_pool_resume(pool, error);
    if (strcmp(action, "resize") == 0) return resize(pool, value, error);
    if (strcmp(action, "reload") == 0) return cen_pool_reload(pool, value, error);
    if (strcmp(action, "evict") == 0) return cen_pool_reap(pool, 0, NULL, error);
    return cen_pool_test_idle(pool, error);
}

/* ---- The entry ------------------------------------------------------------------------------ */

static const char *system_of(const void *object)
{
    return ((const cen_pool *)object)->calls.system;
}

const ceni_component_calls ceni_pool_calls = {.histogram = ceni_times_histogram,
                                              .description = ceni_pool_write_description,
                                              .actions = actions,
                                              .tell = tell,
                                              .system = system_of};
