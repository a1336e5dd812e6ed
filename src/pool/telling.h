/* SPDX-License-Identifier: MIT */
/* What a pool reports: events, histograms, explanations, and its component with metrics and a description. */
#ifndef CENI_POOL_TELLING_H
#define CENI_POOL_TELLING_H

#include "pool/lending.h"
#include "pool/pool.h"
#include "record/events.h"

/* ---- events.c ------------------------------------------------------------------------------- */

/* Write an event and queue it for the pool's listener; never waits for the listener. No lock is held, and the caller
 * keeps the pool alive. `event` has the kind and all other known fields; level, component and time are filled in. The
 * text is formatted as by printf, after the pool's name. */
void ceni_pool_event_tell(cen_pool *pool, ceni_occurrence event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Post the errand again if it could not be posted before. */
void ceni_pool_events_resume(cen_pool *pool);

/* The pool is being freed: deliver the remaining events on this thread, and remove the listener. */
void ceni_pool_events_finish(cen_pool *pool);

/* Free the memory; also in a forked child. */
void ceni_pool_events_end(cen_pool *pool);

/* ---- trace.c -------------------------------------------------------------------------------- */

/* Note the backtrace of the calling thread, beginning with the return address `from`, if the pool records backtraces.
 * */
void ceni_trace_note(cen_pool *pool, const cen_lease *lease, const void *from);

/* Fill in the backtrace of the lease in `out`, if there is one. */
void ceni_trace_read(cen_pool *pool, uint32_t index, cen_object_view *out);

/* ---- stats.c -------------------------------------------------------------------------------- */

/* Read the statistics. */
void ceni_pool_stats_read(cen_pool *pool, cen_pool_stats *out);

/* The same, but never waits: returns false if another thread reads the statistics, or if objects are
 * opened and closed all the time. */
bool ceni_pool_look_if_free(cen_pool *pool, cen_pool_stats *out);

/* ---- reason.c: the reason of a failed take, kept for the next ones ------------------------------ */

/* Copy the kept reason if it fits a take of that holder that has waited until now. Returns true then. Otherwise only
 * made_at is written. */
bool ceni_reason_recall(cen_pool *pool, uint64_t holder, int64_t waited_ns, ceni_kept_reason *out);

/* Keep the reason for a short time, unless it applies only to the holder's own takes. */
void ceni_reason_keep(cen_pool *pool, uint64_t holder, const ceni_kept_reason *reason);

/* ---- explain.c ------------------------------------------------------------------------------ */

/* Fill in the error of a take that failed or was refused. Returns the status. */
cen_status ceni_explain_refusal(cen_pool *pool, ceni_verdict verdict, int64_t waited_ns, uint64_t holder,
                                cen_error *error);

/* Fill in the error of a close that timed out: the leases that are out, and their holders. Returns TIMEOUT. */
cen_status ceni_explain_close(cen_pool *pool, const cen_close_report *report, cen_error *error);

/* As cen_pool_explain, without the list of holders. Returns the cause: why a take would wait or fail now, or LEAK,
 * with which a take may still be served; NONE: no problem. */
cen_cause ceni_pool_explain_briefly(cen_pool *pool, char *text, size_t room);

/* ---- who.c ---------------------------------------------------------------------------------- */

/* Write "thread 7 (worker, tid 4711)", "thread 7 (ended)" or "task 12" to `text`, and return it. */
enum { CENI_HOLDER_ROOM = 96 };
const char *ceni_holder_say(uint64_t holder, char text[CENI_HOLDER_ROOM]);

/* Write "for at least 61 s"; for a lease that was not marked before (holding.c), "for an unknown time". */
const char *ceni_held_say(int64_t ns, char text[CENI_HOLDER_ROOM]);

/* ---- times.c: histograms of leases, waits and openings -------------------------------------- */

/* Make the pool's histograms; NULL if there is no memory. ceni_times_renew resets them in a forked child. */
ceni_times *ceni_times_make(const cen_allocator *allocator);
void ceni_times_renew(ceni_times *times);
void ceni_times_free(ceni_times *times, const cen_allocator *allocator);

/* Allocate more memory if it runs low, from the program's allocator. Called with no lock held, after a wait, after an
 * opening, by readers of the histograms and by the housekeeper. Never called by a give, nor by a take that finds an
 * idle object. */
void ceni_times_tend(cen_pool *pool);

/* Record a wait, with any outcome; and an opening that succeeded. */
void ceni_wait_ends_locked(cen_pool *pool, int64_t waited);
void ceni_opening_took_locked(cen_pool *pool, int64_t took);

/* Return true if the lease is timed. */
static inline bool ceni_use_is_timed(const cen_pool *pool, uint64_t generation)
{
    return ceni_pool_has(&pool->exact_times) ||
           ceni_word_is_sampled(ceni_word(generation, CENI_SLOT_HELD | CENI_LISTED));
}

/* A timed lease has ended, in any way, and the caller owns its slot: record its duration. */
void ceni_timed_use_ends(cen_pool *pool, ceni_slot *slot, uint64_t generation);

/* The same for any lease. */
static inline void ceni_use_ends(cen_pool *pool, ceni_slot *slot, uint64_t generation)
{
    if (ceni_use_is_timed(pool, generation)) ceni_timed_use_ends(pool, slot, generation);
}

/* Reset the histogram of leases, because exact_times was changed. */
void ceni_use_begins_anew(cen_pool *pool);

/* As cen_component_histogram; `object` is the pool. */
bool ceni_times_histogram(const void *object, size_t index, cen_histogram_header *timing, cen_histogram *out);

/* ---- tell.c: the pool's events among those of the process ---------------------------------- */

/* Whether events are written at all. */
#ifdef CENI_WATCHED
extern bool ceni_pool_tells; /* false, unless a test sets it */
#else
#define ceni_pool_tells true
#endif

/* The level of events of that kind. */
cen_event_level ceni_tell_level(cen_event_kind kind);

/* A waiter is served; a pending take has timed out. */
void ceni_tell_waited_locked(cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now);
void ceni_tell_expired_locked(cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now);

/* As ceni_explain_refusal, and write the event. */
cen_status ceni_tell_refusal(cen_pool *pool, ceni_verdict verdict, int64_t waited_ns, uint64_t holder,
                             cen_error *error);

/* Write an event about a lease: its holder, its age, and `what` happened to it. */
void ceni_tell_held(cen_pool *pool, cen_event_kind kind, const cen_object_view *h, const char *what);

/* Trace events: a lease begins; a lease has ended after held_ns. */
void ceni_tell_taken(const cen_pool *pool, uint32_t index, const char *where);
void ceni_tell_given(const cen_pool *pool, int64_t held_ns, const char *where);

/* ---- component.c, describe.c: the pool as a component ------------------------------------------ */

size_t ceni_pool_metrics(const void *object, cen_metric *metrics, size_t room);
extern const ceni_component_calls ceni_pool_calls;

/* Fill in the pool's entry for the directory, before it joins. */
static inline void ceni_pool_describe(cen_pool *pool)
{
    pool->entry = (ceni_directory_entry){
        .kind = "pool", .name = pool->name, .snapshot = ceni_pool_metrics, .object = pool, .calls = &ceni_pool_calls};
}

/* As cen_component_describe. */
void ceni_pool_write_description(const void *object, const cen_description_writer *description, size_t most);

#endif
