/* SPDX-License-Identifier: MIT */
/* What a pool tells: events, times, why there is nothing, and itself to those who watch. */
#ifndef CENI_POOL_TELLING_H
#define CENI_POOL_TELLING_H

#include "pool/lending.h"
#include "pool/pool.h"
#include "record/events.h"

/* ---- events.c ------------------------------------------------------------------------------- */

/* Tells whoever listens, and never waits for it. With no lock held, by one who
 * keeps the pool. `event` has kind and what else is known; level, component and
 * time are filled in. The text is made as by printf, after the pool's name. */
void ceni_pool_event_tell(cen_pool *pool, ceni_occurrence event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Tries again what no thread could be had for. */
void ceni_pool_events_resume(cen_pool *pool);

/* The pool is being freed: tells what is still to be told, on this thread, and nobody listens any more. */
void ceni_pool_events_finish(cen_pool *pool);

/* Gives the memory back; also in a forked child. */
void ceni_pool_events_end(cen_pool *pool);

/* ---- trace.c -------------------------------------------------------------------------------- */

/* Notes from where the calling thread came, beginning with the return address `from`, if the pool has room for it. */
void ceni_trace_note(cen_pool *pool, const cen_lease *lease, const void *from);

/* Fills in the trace of the lease that `out` shows, if there is one. */
void ceni_trace_read(cen_pool *pool, uint32_t index, cen_object_view *out);

/* ---- look.c --------------------------------------------------------------------------------- */

/* As cen_pool_stats_get, but waits for nobody: false if another looks, or objects come and go all the while. */
bool ceni_pool_look_if_free(cen_pool *pool, cen_pool_stats *out);

/* ---- reason.c: what a take was told, kept for the next ones ------------------------------------ */

/* The kept reason, if it fits a take of that holder that has waited until now: true then. Else only made_at is written: now. */
bool ceni_reason_recall(cen_pool *pool, uint64_t holder, int64_t waited_ns, ceni_kept_reason *out);

/* Keeps it for a moment, unless it is the holder's alone. */
void ceni_reason_keep(cen_pool *pool, uint64_t holder, const ceni_kept_reason *reason);

/* ---- explain.c ------------------------------------------------------------------------------ */

/* The text of a take that got nothing: one that was refused, and any other. */
cen_status ceni_explain_refusal(cen_pool *pool, ceni_verdict verdict, int64_t waited_ns, uint64_t holder,
                                cen_error *error);

/* The text of a close that ended at its deadline: what is out, and whose. Returns TIMEOUT. */
cen_status ceni_explain_close(cen_pool *pool, const cen_close_report *report, cen_error *error);

/* As cen_pool_explain, without the list of holders, and with its cause: why a take would wait or fail now, or LEAK, which one
 * may be served in spite of; NONE: all is well. */
cen_cause ceni_pool_explain_briefly(cen_pool *pool, char *text, size_t room);

/* ---- who.c ---------------------------------------------------------------------------------- */

/* "thread 7 (worker, tid 4711)", "thread 7 (ended)", "task 12"; writes to `text`, and returns it. */
enum { CENI_HOLDER_ROOM = 96 };
const char *ceni_holder_say(uint64_t holder, char text[CENI_HOLDER_ROOM]);

/* "for at least 61 s"; of a lease that nobody has met before, "since when is not known". */
const char *ceni_held_say(int64_t ns, char text[CENI_HOLDER_ROOM]);

/* ---- times.c: how long components took ----------------------------------------------------- */

/* The pool's record, made with it; NULL without memory. The second: made anew in the child of a fork. */
ceni_times *ceni_times_make(const cen_allocator *allocator);
void ceni_times_renew(ceni_times *times);
void ceni_times_free(ceni_times *times, const cen_allocator *allocator);

/* Has more memory for it if it runs low, from the program's allocator: called with no lock held, by whoever has waited, opened,
 * looks at times, or keeps house. Never by a give, nor by a take that finds something idle. */
void ceni_times_tend(cen_pool *pool);

/* A wait has ended, however it did; an opening has succeeded. */
void ceni_wait_ends_locked(cen_pool *pool, int64_t waited);
void ceni_opening_took_locked(cen_pool *pool, int64_t took);

/* Whether it is noted when a lease begins, and taken how long it was when it ends. */
static inline bool ceni_use_is_timed(const cen_pool *pool, uint64_t generation)
{
    return ceni_pool_has(&pool->exact_times) ||
           ceni_word_is_sampled(ceni_word(generation, CENI_SLOT_HELD | CENI_LISTED));
}

/* The lease, one of those, has ended, in whatever way, and its slot is the caller's: how long it was is noted. */
void ceni_timed_use_ends(cen_pool *pool, ceni_slot *slot, uint64_t generation);

/* The same of any lease. */
static inline void ceni_use_ends(cen_pool *pool, ceni_slot *slot, uint64_t generation)
{
    if (ceni_use_is_timed(pool, generation)) ceni_timed_use_ends(pool, slot, generation);
}

/* Others are counted from now on: what was counted so far is forgotten. */
void ceni_use_begins_anew(cen_pool *pool);

/* As cen_component_histogram; the pool is an object of the directory. */
bool ceni_times_histogram(const void *object, size_t index, cen_histogram_header *timing, cen_histogram *out);

/* ---- tell.c: what the events of the process hear ------------------------------------------ */

/* Whether anything is told at all. */
#ifdef CENI_WATCHED
extern bool ceni_pool_tells; /* false, unless a test asks for it */
#else
#define ceni_pool_tells true
#endif

/* How much an event of that kind matters. */
cen_event_level ceni_tell_level(cen_event_kind kind);

/* A waiter is served; one that asked has waited for all of its time. */
void ceni_tell_waited_locked(cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now);
void ceni_tell_expired_locked(cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now);

/* As ceni_explain_refusal, and tells it. */
cen_status ceni_tell_refusal(cen_pool *pool, ceni_verdict verdict, int64_t waited_ns, uint64_t holder,
                             cen_error *error);

/* An event about a lease: who holds it, since when, and `what` became of it. */
void ceni_tell_held(cen_pool *pool, cen_event_kind kind, const cen_object_view *h, const char *what);

/* A lease begins; one has ended, after so long. */
void ceni_tell_taken(const cen_pool *pool, uint32_t index, const char *where);
void ceni_tell_given(const cen_pool *pool, int64_t held_ns, const char *where);

/* ---- component.c, describe.c: the pool as those see it who watch ------------------------------ */

/* Fills in its entry in the directory, which it has not joined. */
void ceni_pool_describe(cen_pool *pool);

/* As cen_component_describe. */
void ceni_pool_write_description(const void *object, const cen_description_writer *description, size_t most);

#endif
