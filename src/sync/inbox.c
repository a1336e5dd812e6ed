/* SPDX-License-Identifier: MIT */
/*
 * An inbox: jobs for one thread, and a descriptor that wakes it.
 *
 *     head: EMPTY ──post──▶ job ▶ job ▶ ...      a stack, the last posted first
 *           EMPTY ──arm───▶ ARMED ──post──▶ job, and the bell is rung
 *           EMPTY ──park──▶ PARKED ──post──▶ job, and the sleeper is woken
 *           any ────poll──▶ EMPTY                the whole stack at once, reversed
 *
 * Invariants
 *  B1 A job is in the stack from the cas of post until the exchange of one poll. After that it belongs to this poll
 *     alone, which runs it, or leaves it in `ready`, from which the next poll takes it by another exchange. So
 *     however many threads poll at once, exactly one runs it.
 *  B2 A post that finds ARMED replaces it and rings. So of all jobs posted while the loop sleeps, the first one
 *     rings, and only that one.
 *  B3 If arm returned true, the loop may sleep: the next post rings. arm moves EMPTY to ARMED, and fails if there is
 *     a job.
 *  B4 The bell may be rung shortly after its job was taken: the loop then wakes once without a job. The inbox may not
 *     be freed while a thread rings. That thread is counted in `ringers` before its job can be seen.
 *  B5 `owed` is the number of rings, past or still to come, that no poll has silenced: one for each ARMED that a post
 *     replaced. While it is not 0 every poll silences the bell and subtracts the rings that it has found. While it is
 *     0 the bell is silent, and a poll after an arm needs no system call.
 *
 * The naive version writes to the descriptor at every post: a system call for each completion, and another one to
 * read it. The next version reads it whenever the loop wakes, even if something else has woken it. A version that
 * reads it only if a job was posted misses a ring that comes late: the descriptor stays readable, and the loop never
 * sleeps again.
 *
 * Order table
 * [B1] post | cas of head        | acq_rel | B2 B3 | the job's bytes; that the poster is counted in ringers; the value of turns, to the poster that adds to it | the loop runs a half-written job, or frees the inbox while a thread rings
 * [B2] poll | exchange of head   | acquire | B1 | likewise | likewise
 * [B3] arm  | cas of head        | acq_rel | B1 | that turns was read before | a wake between the check and the sleep is lost (the controlled scheduler does not delay loads, so no test shows it)
 * [B4] post, free | sub of ringers, load of ringers | seq_cst | each other | that the ringer has stopped touching the inbox | it is freed while a thread rings
 * [B5] poll | exchange of ready   | acq_rel | each other | the jobs that one poll left, to the next | it runs a half-written job
 */
#include <cenote/inbox.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/plant.h"
#include "port/deadline.h"
#include "port/port.h"
#include "port/rank.h"
#include "sync/backoff.h"
#include "sync/inbox.h"

#include <stddef.h>

enum { EMPTY = 0, ARMED = 1, PARKED = 2 }; /* in head; larger values: the job posted last */
enum { DRAIN_MOST = 4096, DEFAULT_PATIENCE_S = 30 };

struct cen_inbox {
    cen_executor executor; /* first: it is its own executor */
    /* any thread, atomically */
    _Alignas(CENI_CACHE_LINE) _Atomic uintptr_t head;
    _Atomic uint32_t ringers; /* threads that may still touch the inbox after their job was taken */
    _Atomic uint32_t turns;   /* a futex word: the sleeper in wait was woken */
    _Atomic uint32_t polling; /* a poll runs: refuses polls from within a job, and free */
    /* fixed before use */
    uint64_t epoch;
    ceni_bell bell;
    const cen_allocator *allocator;
    /* the loop's thread */
    _Alignas(CENI_CACHE_LINE) _Atomic(cen_job *) ready; /* taken from the stack and not run, in order */
    _Atomic bool armed;                                 /* armed since the last poll */
    _Atomic uint32_t owed;                              /* rings not silenced yet */
    _Atomic uint64_t thread;                            /* the thread that polled last; posters may read it */
};

/* ---- Posting ------------------------------------------------------------------------ */

static void rouse(cen_inbox *inbox, uintptr_t before)
{
    if (ceni_planted(inbox_rings_nobody)) return;
    bool ours = ceni_fork_is(inbox->epoch) || ceni_planted(child_rings_the_parent);
    if (before == ARMED && ours) ceni_bell_ring(&inbox->bell); /* a forked child would ring its parent's bell */
    if (before == PARKED) {
        ceni_add_relaxed(&inbox->turns, 1); /* after B1, and its reader before B3; carries nothing */
        ceni_futex_wake(&inbox->turns, 1);
    }
}

static void post(cen_executor *executor, cen_job *job)
{
    cen_inbox *inbox = (cen_inbox *)(void *)executor;
    uintptr_t before = ceni_load_relaxed(&inbox->head); /* a guess for the cas; carries nothing */
    bool counted = false;
    do {
        if (before == ARMED || before == PARKED) {
            /* B1 publishes the count; carries nothing. */
            if (!counted && !ceni_planted(inbox_freed_under_ring)) ceni_add_relaxed(&inbox->ringers, 1);
            counted = true;
        }
        job->next = before > PARKED ? (cen_job *)before : NULL;
    } while (!ceni_cas_acq_rel(&inbox->head, &before, (uintptr_t)job)); /* [B1] */
    if (!counted) return;
    if (before == ARMED || before == PARKED) rouse(inbox, before);
    if (!ceni_planted(inbox_freed_under_ring)) ceni_sub_seq_cst(&inbox->ringers, 1); /* [B4] */
}

/* ---- Polling -------------------------------------------------------------------------- */

static cen_job *turned_round(cen_job *job)
{
    cen_job *turned = NULL;
    for (cen_job *next; job; job = next) {
        next = job->next;
        job->next = turned;
        turned = job;
    }
    return turned;
}

static cen_job *appended(cen_job *older, cen_job *newer)
{
    cen_job **end = &older;
    while (*end) end = &(*end)->next;
    *end = newer;
    return older;
}

static cen_job *left(cen_inbox *inbox)
{
    if (!ceni_load_relaxed(&inbox->ready)) return NULL; /* a hint, usually NULL; carries nothing */
    return ceni_exchange_acq_rel(&inbox->ready, NULL);  /* [B5] */
}

/* Silence the bell. A ring that is still to come is left to a later poll. */
static void silence(cen_inbox *inbox)
{
    if (ceni_planted(inbox_never_silenced)) return;
    uint32_t heard = ceni_bell_silence(&inbox->bell);
    if (ceni_planted(late_ring_forgotten)) heard = ceni_load_relaxed(&inbox->owed); /* carries nothing */
    if (heard) ceni_sub_relaxed(&inbox->owed, heard); /* only the loop's thread; carries nothing */
}

/* Take all jobs, in order. */
static cen_job *fetch(cen_inbox *inbox)
{
    uintptr_t word = ceni_exchange_acquire(&inbox->head, (uintptr_t)EMPTY); /* [B2] */
    ceni_store_relaxed(&inbox->thread, ceni_thread_id());                   /* a hint for posters; carries nothing */
    if (ceni_load_relaxed(&inbox->armed)) {                   /* only the loop's thread; carries nothing */
        ceni_store_relaxed(&inbox->armed, false);             /* likewise; carries nothing */
        if (word != ARMED) ceni_add_relaxed(&inbox->owed, 1); /* likewise; carries nothing */
    }
    if (ceni_load_relaxed(&inbox->owed)) silence(inbox); /* likewise; carries nothing */
    cen_job *posted = word > PARKED ? (cen_job *)word : NULL, *older = left(inbox);
    if (!ceni_planted(inbox_last_first)) posted = turned_round(posted);
    return older ? appended(older, posted) : posted;
}

/* Leave the jobs that were not run to the next poll, ahead of all jobs posted since. */
static void leave(cen_inbox *inbox, cen_job *batch)
{
    for (cen_job *others; batch; batch = others ? appended(others, left(inbox)) : NULL)
        others = ceni_exchange_acq_rel(&inbox->ready, batch); /* [B5] */
}

static bool begin(cen_inbox *inbox)
{
    if (!inbox || !ceni_fork_is(inbox->epoch)) return false;
    if (ceni_load_relaxed(&inbox->polling)) return false; /* B1 holds anyway; carries nothing */
    ceni_store_relaxed(&inbox->polling, 1u);              /* likewise; carries nothing */
    return true;
}

static void end(cen_inbox *inbox)
{
    ceni_store_relaxed(&inbox->polling, 0u); /* likewise; carries nothing */
}

/* Run up to `most` jobs; 0: all jobs that were posted before the call. */
static size_t poll_once(cen_inbox *inbox, size_t most)
{
    size_t count = 0;
    cen_job *batch = fetch(inbox);
    while (batch && (most == 0 || count < most)) {
        cen_job *job = batch;
        batch = job->next;
        count++;
        ceni_rank_expect_none("a job of an inbox");
        job->run(job);
    }
    if (batch) leave(inbox, batch);
    return count;
}

size_t cen_inbox_poll(cen_inbox *inbox, size_t most)
{
    if (!begin(inbox)) return 0;
    size_t count = poll_once(inbox, most);
    end(inbox);
    return count;
}

/* Change EMPTY to ARMED or PARKED; false if there is a job. */
static bool arm(cen_inbox *inbox, uintptr_t how)
{
    if (ceni_load_relaxed(&inbox->ready)) return false; /* only the loop's thread; carries nothing */
    uintptr_t head = EMPTY;
    if (ceni_cas_acq_rel(&inbox->head, &head, how)) return true; /* [B3] */
    return head == how || ceni_planted(arm_without_looking);
}

bool cen_inbox_arm(cen_inbox *inbox)
{
    if (!begin(inbox)) return false;
    bool armed = arm(inbox, ARMED);
    if (armed) ceni_store_relaxed(&inbox->armed, true); /* only the loop's thread; carries nothing */
    end(inbox);
    return armed;
}

size_t cen_inbox_run_ready(cen_inbox *inbox)
{
    if (!begin(inbox)) return 0;
    size_t count = 0;
    bool armed = false;
    while (!armed && (count < DRAIN_MOST || ceni_planted(drain_has_no_end))) {
        count += poll_once(inbox, 0);
        armed = arm(inbox, ARMED);
    }
    ceni_store_relaxed(&inbox->armed, true); /* only the loop's thread; carries nothing */
    if (!armed) ceni_bell_ring(&inbox->bell);
    end(inbox);
    return count;
}

/* Sleep until a job is posted or the moment has passed. Afterwards `head` is PARKED, or there is a job. */
static void sleep_until(cen_inbox *inbox, int64_t moment)
{
    for (;;) {
        uint32_t seen = ceni_load_relaxed(&inbox->turns); /* before B3; carries nothing */
        if (!arm(inbox, PARKED)) return;
        if (ceni_futex_wait(&inbox->turns, seen, moment) == CENI_TIMED_OUT) return;
    }
}

size_t cen_inbox_wait(cen_inbox *inbox, cen_deadline deadline)
{
    if (!begin(inbox)) return 0;
    size_t count = poll_once(inbox, 0);
    if (count == 0 && !ceni_deadline_is_now(deadline)) {
        deadline = ceni_deadline_or(deadline, cen_in_s(DEFAULT_PATIENCE_S));
        sleep_until(inbox, ceni_deadline_moment(deadline, ceni_clock_now()));
        count = poll_once(inbox, 0);
    }
    end(inbox);
    return count;
}

uint64_t ceni_executor_thread(const cen_executor *executor)
{
    if (!executor || executor->post != post) return 0;
    return ceni_load_relaxed(&((cen_inbox *)(uintptr_t)executor)->thread); /* a hint; carries nothing */
}

/* ---- Life ------------------------------------------------------------------------------- */

cen_executor *cen_inbox_executor(cen_inbox *inbox)
{
    return inbox ? &inbox->executor : NULL;
}

int cen_inbox_fd(const cen_inbox *inbox)
{
    return inbox ? inbox->bell.read_fd : -1;
}

cen_status cen_inbox_new(const cen_inbox_options *options, cen_inbox **out, cen_error *error)
{
    if (!out) return ceni_error_set(error, CEN_INVALID, 0, "cen_inbox_new: out is NULL");
    cen_inbox_options known = CEN_SIZED(cen_inbox_options);
    cen_status status =
        options ? cen_sized_read(&known, sizeof known, options, "cen_inbox_new: options", error) : CEN_OK;
    if (status != CEN_OK) return status;
    const cen_allocator *allocator = known.allocator;
    if (allocator && (!allocator->alloc || !allocator->free))
        return ceni_error_set(error, CEN_INVALID, 0, "cen_inbox_new: options.allocator lacks alloc or free");
    cen_inbox *inbox = ceni_alloc(allocator, sizeof *inbox, CENI_CACHE_LINE);
    if (!inbox) return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_inbox_new: out of memory");
    *inbox = (cen_inbox){.executor = {post}, .allocator = allocator, .epoch = ceni_fork_epoch()};
    int code = 0;
    status = ceni_bell_init(&inbox->bell, &code);
    if (status != CEN_OK) {
        ceni_free(allocator, inbox, sizeof *inbox, CENI_CACHE_LINE);
        return ceni_error_set(error, status, code, "cen_inbox_new: cannot create a descriptor");
    }
    *out = inbox;
    return CEN_OK;
}

bool ceni_inbox_is_empty(const cen_inbox *inbox)
{
    /* Exact if no thread posts, otherwise a hint; carries nothing. */
    return !ceni_load_relaxed(&inbox->ready) && ceni_load_relaxed(&inbox->head) <= PARKED;
}

cen_status cen_inbox_free(cen_inbox *inbox)
{
    if (!inbox) return CEN_OK;
    bool ours = ceni_fork_is(inbox->epoch);
    if (ours && !begin(inbox)) return CEN_BUSY;
    if (ours && !ceni_inbox_is_empty(inbox)) {
        end(inbox);
        return CEN_BUSY;
    }
    ceni_backoff backoff = {0};
    while (ours && ceni_load_seq_cst(&inbox->ringers) != 0) ceni_backoff_wait(&backoff); /* [B4] */
    ceni_bell_fini(&inbox->bell);
    ceni_free(inbox->allocator, inbox, sizeof *inbox, CENI_CACHE_LINE);
    return CEN_OK;
}
