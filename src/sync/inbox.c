/* SPDX-License-Identifier: MIT */
/*
 * An inbox: jobs for one thread, and a descriptor that wakes it.
 *
 *     head: EMPTY ──post──▶ job ▶ job ▶ ...      a stack, the last posted first
 *           EMPTY ──arm───▶ ARMED ──post──▶ job, and the bell is rung
 *           EMPTY ──park──▶ PARKED ──post──▶ job, and the sleeper is woken
 *           any ────poll──▶ EMPTY                the whole stack at once, turned round
 *
 * Invariants
 *  B1 A job is in the stack from the cas of post until the exchange of one poll,
 *     and then that poll's alone: it runs it, or leaves it in `ready`, whence the
 *     next takes it by another exchange. So however many poll at once, one runs it.
 *  B2 One that finds ARMED takes it away and rings; so of all that is posted
 *     while the loop sleeps, the first rings, and only that one.
 *  B3 A loop that was told by arm that it may sleep is rung for whatever is
 *     posted after: arm moves EMPTY to ARMED, and fails if anything is there.
 *  B4 The bell may be rung a little after its job was taken: the loop wakes once
 *     in vain. And the inbox may not be freed under the ringer, who is counted in
 *     `ringers` before its job can be seen.
 *  B5 `owed` is how many rings there were, or will be, that no poll has silenced:
 *     one for each arming that was taken away by another than a poll. While it is
 *     not 0 every poll silences, and takes off as many as it heard; while it is,
 *     the bell is silent, and a poll after an arm needs no system call.
 *
 * The naive version writes to the descriptor at every post: a system call for
 * each completion, and another one to read it. The next one reads it whenever
 * the loop wakes, also if something else has woken it. One that reads it only if
 * something was posted meets a ring that comes late never again: the descriptor
 * stays readable, and the loop never sleeps any more.
 *
 * Order table
 * [B1] post | cas of head        | acq_rel | B2 B3 | the job's bytes; that the poster is counted in ringers; what turns was, to who adds to it | the loop runs a job half written, or frees the inbox under the ringer
 * [B2] poll | exchange of head   | acquire | B1 | likewise | likewise
 * [B3] arm  | cas of head        | acq_rel | B1 | that turns was read before | a wake between the look and the sleep is lost (no search delays a load: only the argument says so)
 * [B4] post, free | sub of ringers, load of ringers | seq_cst | each other | that the inbox is touched no more | it is freed under the ringer
 * [B5] poll | exchange of ready   | acq_rel | each other | the jobs that one poll left, to the next | it runs a job half written
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

enum { EMPTY = 0, ARMED = 1, PARKED = 2 }; /* in head; above: the job posted last */
enum { DRAIN_MOST = 4096, DEFAULT_PATIENCE_S = 30 };

struct cen_inbox {
    cen_executor executor; /* first: it is its own executor */
    /* any thread, atomically */
    _Alignas(CENI_CACHE_LINE) _Atomic uintptr_t head;
    _Atomic uint32_t ringers; /* who may still touch the inbox after their job was taken */
    _Atomic uint32_t turns;   /* a futex: the sleeper in wait has been woken */
    _Atomic uint32_t polling; /* somebody does: told to jobs that would poll within, and to who would free it */
    /* fixed before use */
    uint64_t epoch;
    ceni_bell bell;
    const cen_allocator *allocator;
    /* the loop's */
    _Alignas(CENI_CACHE_LINE) _Atomic(cen_job *) ready; /* taken from the stack and not run, in order */
    _Atomic bool armed;                                 /* since the last poll */
    _Atomic uint32_t owed;                              /* rings that were not heard yet */
    _Atomic uint64_t thread;                            /* that polled last; whoever posts may ask for it */
};

/* ---- Posting ------------------------------------------------------------------------ */

static void rouse(cen_inbox *inbox, uintptr_t before)
{
    if (ceni_planted(inbox_rings_nobody)) return;
    bool ours = ceni_fork_is(inbox->epoch) || ceni_planted(child_rings_the_parent);
    if (before == ARMED && ours) ceni_bell_ring(&inbox->bell); /* a child would ring its parent's */
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
            /* That it is counted, B1 tells; this carries nothing. */
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
    if (!ceni_load_relaxed(&inbox->ready)) return NULL; /* mostly; a guess; carries nothing */
    return ceni_exchange_acq_rel(&inbox->ready, NULL);  /* [B5] */
}

/* A ring that is still to come is left to a later poll. */
static void silence(cen_inbox *inbox)
{
    if (ceni_planted(inbox_never_silenced)) return;
    uint32_t heard = ceni_bell_silence(&inbox->bell);
    if (ceni_planted(late_ring_forgotten)) heard = ceni_load_relaxed(&inbox->owed); /* carries nothing */
    if (heard) ceni_sub_relaxed(&inbox->owed, heard); /* the loop's own; carries nothing */
}

/* All there is, in order. */
static cen_job *fetch(cen_inbox *inbox)
{
    uintptr_t word = ceni_exchange_acquire(&inbox->head, (uintptr_t)EMPTY); /* [B2] */
    ceni_store_relaxed(&inbox->thread, ceni_thread_id());     /* a guess, for who posts; carries nothing */
    if (ceni_load_relaxed(&inbox->armed)) {                   /* the loop's own; carries nothing */
        ceni_store_relaxed(&inbox->armed, false);             /* likewise; carries nothing */
        if (word != ARMED) ceni_add_relaxed(&inbox->owed, 1); /* likewise; carries nothing */
    }
    if (ceni_load_relaxed(&inbox->owed)) silence(inbox); /* likewise; carries nothing */
    cen_job *posted = word > PARKED ? (cen_job *)word : NULL, *older = left(inbox);
    if (!ceni_planted(inbox_last_first)) posted = turned_round(posted);
    return older ? appended(older, posted) : posted;
}

/* Jobs that were not run wait for the next poll, before all that is posted since. */
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

/* Runs up to `most` of what is there; 0: all of it that was there at first. */
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

/* From EMPTY to ARMED or PARKED; false if something is there. */
static bool arm(cen_inbox *inbox, uintptr_t how)
{
    if (ceni_load_relaxed(&inbox->ready)) return false; /* the loop's own; carries nothing */
    uintptr_t head = EMPTY;
    if (ceni_cas_acq_rel(&inbox->head, &head, how)) return true; /* [B3] */
    return head == how || ceni_planted(arm_without_looking);
}

bool cen_inbox_arm(cen_inbox *inbox)
{
    if (!begin(inbox)) return false;
    bool armed = arm(inbox, ARMED);
    if (armed) ceni_store_relaxed(&inbox->armed, true); /* the loop's own; carries nothing */
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
    ceni_store_relaxed(&inbox->armed, true); /* the loop's own; carries nothing */
    if (!armed) ceni_bell_ring(&inbox->bell);
    end(inbox);
    return count;
}

/* Sleeps until something is posted or the moment has come. The stack is PARKED, or has something. */
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
    return ceni_load_relaxed(&((cen_inbox *)(uintptr_t)executor)->thread); /* a guess; carries nothing */
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
    if (!inbox) return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_inbox_new: no memory");
    *inbox = (cen_inbox){.executor = {post}, .allocator = allocator, .epoch = ceni_fork_epoch()};
    int code = 0;
    status = ceni_bell_init(&inbox->bell, &code);
    if (status != CEN_OK) {
        ceni_free(allocator, inbox, sizeof *inbox, CENI_CACHE_LINE);
        return ceni_error_set(error, status, code, "cen_inbox_new: no descriptor could be had");
    }
    *out = inbox;
    return CEN_OK;
}

bool ceni_inbox_is_empty(const cen_inbox *inbox)
{
    /* Nobody posts any more, or it is a guess; carries nothing. */
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
