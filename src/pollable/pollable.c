/* SPDX-License-Identifier: MIT */
/*
 * A pollable: a manual poller in which a manual runtime and an inbox nest.
 *
 *     the program's loop ── watches ──▶ the poller's epoll, which is the pollable's descriptor
 *                                         ├─ descriptors that drivers watch     for one event each
 *                                         ├─ the poller's timer                 first deadline of watches and runtime
 *                                         ├─ the poller's bell                  rung by a run that left something
 *                                         ├─ the runtime's bell     nested      an alarm was set before its next moment
 *                                         └─ the inbox's bell       nested      a job was posted after it was armed
 *
 * There is no second epoll and no second timer: the poller's are enough, and all system calls stay in src/poller and
 * src/port.
 *
 * A run turns the poller, again as long as a turn returns as many events as fit. Then it runs rounds of runtime and
 * inbox until a round has run nothing and the inbox is armed. So work that a job causes in the runtime runs in the same
 * run and costs no system call.
 *
 * Invariants, while no run is under way
 *  A1 The inbox is armed, or the poller's bell rings. So the first job that is posted makes the descriptor readable,
 *     also before the first run.
 *  A2 The poller's timer is set no later than the moment that the runtime returned last, or the poller's bell rings. An
 *     alarm or errand that becomes due earlier rings the runtime's bell (I2 and I4 in runtime/manual.c).
 *  A3 A run that leaves something rings the poller's bell after its last look: that is a new edge. Only the next turn
 *     silences the bell, and it looks at everything after that.
 *  A4 A thread that gets BUSY, because another one runs, may have been woken for work that came after the other's last
 *     look, and an edge is reported once. So it sets `again`, under the mutex, and the runner rings in the same
 *     critical section in which it ends. The same holds for a call from within a run.
 *  A5 The pollable is a user of the runtime until free has made sure that nothing else uses any part. So the program
 *     cannot free the runtime alone. Pools that were closed and are empty do not count: the last such pool, as the
 *     runtime's last user, then frees the parts.
 *
 * Why an edge is enough: the poller's epoll reports every event of its members to an epoll over it, also of a member
 * that is in its ready list already. Each cause of work ends in such an event: a write to a bell, the timer, a
 * descriptor. All of them come before the work could be missed: a run looks at a part only after it has silenced that
 * part's bell, and a post after that look rings again (B3 in sync/inbox.c, I2 in runtime/manual.c).
 *
 * The naive version polls the three in turn, drains the inbox and returns. An inbox that was never drained is not
 * armed, and the first post wakes no thread. What a drain posts to the runtime waits for another wake-up, which may
 * never come if the timeout was computed before. What a bounded run leaves is found again by a level-triggered loop
 * only. A thread that was refused has consumed the edge. If the runner rings for it before it ends, that thread is
 * woken, refused again, and so on.
 *
 * The mutex orders `runner`, `again` and `left`. No foreign code is called while it is held.
 *
 * Tested by tests/unit/pollable, tests/explore/pollable_test.c, tests/faults/pollable_faults_test.c.
 */
#include <cenote/pollable.h>

#include <stdio.h>

#include <cenote/inbox.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "poller/nest.h"
#include "port/mutex.h"
#include "port/port.h"
#include "runtime/runtime.h"
#include "sync/inbox.h"

enum {
    NAME = 16,
    CALLS_IN_A_RUN = 4096, /* a bound: calls that make more work must not keep the program's loop */
    ROUNDS_IN_A_RUN = 256, /* likewise for calls that make a little more work in each round */
    TURNS_IN_A_RUN = 64,   /* of the poller, each of CENI_READY_AT_A_TIME descriptors */
};

struct cen_pollable {
    /* fixed */
    uint64_t epoch; /* of the process that made it */
    const cen_allocator *allocator;
    char name[NAME];
    cen_poller *poller;
    cen_runtime *runtime;
    cen_inbox *inbox;
    /* under the mutex, of rank POLLABLE */
    ceni_mutex mutex;
    uint64_t runner; /* the thread in run_ready, or in free; 0: none */
    bool again;      /* a call was refused since the last ring */
    bool left;       /* the last run has left something */
};

static bool is_ours(const cen_pollable *pollable)
{
    return pollable && ceni_fork_is(pollable->epoch);
}

/* ---- Running ------------------------------------------------------------------------------------------ */

/* Errors: MISUSE (the caller runs already), BUSY (another thread does). */
static cen_status begin(cen_pollable *pollable)
{
    uint64_t self = ceni_thread_id();
    ceni_mutex_lock(&pollable->mutex, CENI_RANK_POLLABLE);
    uint64_t runner = pollable->runner;
    if (runner) pollable->again = true; /* A4 */
    else pollable->runner = self;
    ceni_mutex_unlock(&pollable->mutex, CENI_RANK_POLLABLE);
    return !runner ? CEN_OK : runner == self ? CEN_MISUSE : CEN_BUSY;
}

/* It rings under the mutex: a thread that this wakes finds the run ended, and a thread that frees finds no thread
 * ringing. */
static void end(cen_pollable *pollable, bool left)
{
    ceni_mutex_lock(&pollable->mutex, CENI_RANK_POLLABLE);
    bool again = pollable->again && !ceni_planted(pollable_forgets_the_refused);
    if (again) ceni_poller_ring(pollable->poller); /* A4 */
    pollable->again = false;
    pollable->left = left || again;
    pollable->runner = 0;
    ceni_mutex_unlock(&pollable->mutex, CENI_RANK_POLLABLE);
}

static size_t turn_poller(cen_pollable *pollable, bool *more)
{
    size_t calls = 0;
    unsigned turns = 0;
    do calls += ceni_poller_turn(pollable->poller, more);
    while (*more && ++turns < TURNS_IN_A_RUN);
    return calls;
}

/* Run rounds of runtime and inbox until nothing is due and the inbox is armed: then *settled. *next: the runtime's next
 * moment. Calls that the poller has made do not count for the limit: descriptors that are always ready must not starve
 * jobs. */
static size_t turn_others(cen_pollable *pollable, int64_t *next, bool *settled)
{
    size_t ran = 0;
    *settled = false;
    for (unsigned round = 0; round < ROUNDS_IN_A_RUN && ran < CALLS_IN_A_RUN && !*settled; round++) {
        unsigned calls;
        *next = ceni_runtime_turn(pollable->runtime, &calls);
        size_t jobs = cen_inbox_poll(pollable->inbox, CALLS_IN_A_RUN - ran);
        if (!is_ours(pollable)) break;
        ran += calls + jobs;
        if (calls + jobs == 0) *settled = ceni_planted(pollable_sleeps_unarmed) || cen_inbox_arm(pollable->inbox);
    }
    return ran;
}

/* True: something is left, and the bell rings. */
static bool run(cen_pollable *pollable, size_t *ran)
{
    bool more, settled;
    int64_t next = CENI_FOREVER;
    *ran = turn_poller(pollable, &more);
    *ran += turn_others(pollable, &next, &settled);
    more |= !settled;
    if (!is_ours(pollable)) return false; /* a call has forked, and this is the child */
    if (!more && !ceni_planted(pollable_keeps_no_time)) ceni_poller_set_alarm(pollable->poller, next);
    if (more && !ceni_planted(pollable_leaves_in_silence)) ceni_poller_ring(pollable->poller);
    return more;
}

cen_status cen_pollable_run_ready(cen_pollable *pollable, size_t *ran, bool *more)
{
    if (!pollable) return CEN_INVALID;
    if (!is_ours(pollable)) return CEN_FORKED;
    cen_status status = begin(pollable);
    if (status != CEN_OK) return status;
    size_t calls;
    bool left = run(pollable, &calls);
    if (!is_ours(pollable)) return CEN_FORKED;
    end(pollable, left);
    if (ran) *ran = calls;
    if (more) *more = left;
    return CEN_OK;
}

int64_t cen_pollable_next_deadline(cen_pollable *pollable)
{
    if (!is_ours(pollable)) return -1;
    ceni_mutex_lock(&pollable->mutex, CENI_RANK_POLLABLE);
    bool left = pollable->left;
    ceni_mutex_unlock(&pollable->mutex, CENI_RANK_POLLABLE);
    if (left || !ceni_inbox_is_empty(pollable->inbox)) return 0;
    int64_t watched = ceni_poller_next(pollable->poller), alarm = ceni_runtime_next(pollable->runtime);
    int64_t next = watched < alarm ? watched : alarm, now = ceni_clock_now();
    return next == CENI_FOREVER ? -1 : next > now ? next - now : 0;
}

/* ---- The parts ------------------------------------------------------------------------------------------ */

int cen_pollable_fd(const cen_pollable *pollable)
{
    return is_ours(pollable) ? cen_poller_fd(pollable->poller) : -1;
}

cen_executor *cen_pollable_executor(cen_pollable *pollable)
{
    return pollable ? cen_inbox_executor(pollable->inbox) : NULL;
}

cen_runtime *cen_pollable_runtime(cen_pollable *pollable)
{
    return pollable ? pollable->runtime : NULL;
}

cen_poller *cen_pollable_poller(cen_pollable *pollable)
{
    return pollable ? pollable->poller : NULL;
}

/* ---- Creating -------------------------------------------------------------------------------------------- */

static cen_status check(const cen_pollable_options *given, cen_pollable_options *o, cen_pollable **out,
                        cen_error *error)
{
    *o = CEN_SIZED(cen_pollable_options);
    if (!out) return ceni_error_set(error, CEN_INVALID, 0, "cen_pollable_new: out is NULL");
    cen_status status = given ? cen_sized_read(o, sizeof *o, given, "cen_pollable_new: options", error) : CEN_OK;
    if (status != CEN_OK) return status;
    if (o->allocator && (!o->allocator->alloc || !o->allocator->free))
        return ceni_error_set(error, CEN_INVALID, 0, "cen_pollable_new: options.allocator lacks alloc or free");
    return CEN_OK;
}

static cen_status make_parts(cen_pollable *pollable, cen_error *error)
{
    const cen_allocator *allocator = pollable->allocator;
    cen_poller_options poller = CEN_POLLER_OPTIONS(.name = pollable->name, .manual = true, .allocator = allocator);
    cen_runtime_options runtime = CEN_RUNTIME_OPTIONS(.name = pollable->name, .manual = true, .allocator = allocator);
    cen_status status = cen_poller_new(&poller, &pollable->poller, error);
    if (status == CEN_OK) status = cen_runtime_new(&runtime, &pollable->runtime, error);
    if (status == CEN_OK) status = cen_inbox_new(&CEN_INBOX_OPTIONS(.allocator = allocator), &pollable->inbox, error);
    return status;
}

static cen_status nest_parts(cen_pollable *pollable, cen_error *error)
{
    int code = 0;
    cen_status status = ceni_poller_nest(pollable->poller, cen_runtime_fd(pollable->runtime), &code);
    if (status == CEN_OK) status = ceni_poller_nest(pollable->poller, cen_inbox_fd(pollable->inbox), &code);
    if (status == CEN_OK) return CEN_OK;
    return ceni_error_set(error, status, code, "cen_pollable_new: cannot watch the descriptors (errno %d)", code);
}

static void release(cen_pollable *pollable)
{
    (void)cen_inbox_free(pollable->inbox);
    (void)cen_poller_free(pollable->poller);
    (void)cen_runtime_free(pollable->runtime); /* NULL if it has ended already */
    ceni_free(pollable->allocator, pollable, sizeof *pollable, _Alignof(cen_pollable));
}

cen_status cen_pollable_new(const cen_pollable_options *options, cen_pollable **out, cen_error *error)
{
    cen_pollable_options o;
    cen_runtime *joined;
    cen_status status = check(options, &o, out, error);
    if (status != CEN_OK) return status;
    cen_pollable *pollable = ceni_alloc(o.allocator, sizeof *pollable, _Alignof(cen_pollable));
    if (!pollable) return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_pollable_new: out of memory");
    pollable->epoch = ceni_fork_epoch();
    pollable->allocator = o.allocator;
    snprintf(pollable->name, sizeof pollable->name, "%s", o.name ? o.name : "pollable");
    status = make_parts(pollable, error);
    if (status == CEN_OK) status = nest_parts(pollable, error);
    if (status != CEN_OK) {
        release(pollable);
        return status;
    }
    (void)ceni_runtime_join(pollable->runtime, &joined); /* A5; it cannot fail: an explicit runtime of this process */
    if (!ceni_planted(pollable_armed_by_a_run)) (void)cen_inbox_arm(pollable->inbox); /* A1; no job was posted yet */
    *out = pollable;
    return CEN_OK;
}

/* ---- Freeing --------------------------------------------------------------------------------------------- */

typedef struct words {
    char text[200];
    size_t length;
} words;

static void add(words *to, uint32_t count, const char *what)
{
    if (count == 0) return;
    size_t room = sizeof to->text - to->length;
    int written = snprintf(to->text + to->length, room, "%s%s: %u", to->length ? ", " : "", what, count);
    to->length += written > 0 && (size_t)written < room ? (size_t)written : 0;
}

/* What still uses the pollable, as text; empty if nothing does. */
static words uses(cen_pollable *pollable)
{
    words all = {.text = ""};
    cen_runtime_stats use = CEN_SIZED(cen_runtime_stats);
    (void)cen_runtime_stats_get(pollable->runtime, &use);
    add(&all, ceni_runtime_active_users(pollable->runtime) - 1,
        "users of its runtime (pools, actors, timers)"); /* A5 */
    add(&all, use.queued, "calls queued in its runtime");
    add(&all, ceni_poller_watched(pollable->poller), "watches of its poller");
    add(&all, !ceni_inbox_is_empty(pollable->inbox), "jobs waiting in its executor, at least");
    return all;
}

/* Called by the runtime's last user: the pollable, or a pool that was closed before. */
static void runtime_is_gone(void *argument)
{
    cen_pollable *pollable = argument;
    pollable->runtime = NULL;
    release(pollable);
}

static cen_status refuse(cen_pollable *pollable, cen_status status, cen_error *error)
{
    return ceni_error_set(error, status, 0,
                          status == CEN_MISUSE
                              ? "pollable \"%s\": cen_pollable_free was called inside cen_pollable_run_ready; "
                                "call it after that has returned"
                              : "pollable \"%s\": another thread is in cen_pollable_run_ready; free it after that "
                                "has returned",
                          pollable->name);
}

cen_status cen_pollable_free(cen_pollable *pollable, cen_error *error)
{
    if (!pollable) return CEN_OK;
    if (is_ours(pollable)) {
        cen_status status = begin(pollable);
        if (status != CEN_OK) return refuse(pollable, status, error);
        words what = uses(pollable);
        if (what.length == 0 && ceni_runtime_let_go(pollable->runtime, runtime_is_gone, pollable) != CEN_OK)
            add(&what, 1, "threads using its runtime, at least");
        if (what.length > 0) {
            end(pollable, pollable->left);
            return ceni_error_set(error, CEN_BUSY, 0,
                                  "pollable \"%s\": still in use: %s; free its users, then call cen_pollable_run_ready "
                                  "until nothing is left",
                                  pollable->name, what.text);
        }
        return CEN_OK;
    }
    release(pollable);
    return CEN_OK;
}
