/* SPDX-License-Identifier: MIT */
/*
 * A supervisor: starts children in order, restarts them according to their restart policies when they end, and stops
 * them in reverse order. libcenote-route.
 *
 *     cen_status connect(void *link, cen_child child, cen_error *error);                // may block
 *     void hang_up(void *link, cen_child child);                                        // asks it to end
 *
 *     cen_child_options children[] = {
 *         CEN_CHILD_OPTIONS(.name = "table", .start = open_table, .stop = close_table, .stops_at_once = true, .argument = &table),
 *         CEN_CHILD_OPTIONS(.name = "link", .start = connect, .stop = hang_up, .argument = &link),
 *         CEN_CHILD_OPTIONS(.name = "clock", .run = tick, .argument = &clock),          // a thread
 *     };
 *     cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.name = "store", .supervision = CEN_REST_FOR_ONE,
 *                                                             .children = children, .child_count = 3);
 *     cen_supervisor *supervisor;
 *     if (cen_supervisor_new(&options, &supervisor, &error) != CEN_OK) die(error.text);
 *     // ...                                         when the link is lost: cen_child_report_ended(child, &why);
 *     cen_supervisor_stop(supervisor, cen_in_s(10), &report, NULL);
 *     cen_supervisor_free(supervisor);
 *
 * A child is anything with a start and an end: a connection, a thread, another supervisor. Each run of a child is
 * identified by its own cen_child, a small value that may be copied and kept for any length of time. A report about a
 * run that has ended, or about a supervisor that was freed, is ignored.
 *
 * When a child ends, its restart policy decides whether it is restarted. `supervision` decides which other children are
 * restarted with it: none, all, or those that come after it. These children are stopped first, in reverse order. Then
 * all of them are started in order. If there are more than max_restarts restarts within window_ns, the supervisor gives
 * up: it stops its children and ends. If there is a supervisor above it, that supervisor treats this as the failure of
 * a child. The first restart of a child is immediate. If the child soon fails again, each further restart is delayed by
 * a random time whose upper bound doubles (back-off with jitter).
 *
 * Threads: every function may be called from any thread. The functions of children run on helpers of the runtime, with
 * no lock held; `run` has a thread of its own. They may block, and the functions of one child never delay those of
 * another. The listener is called by one thread at a time. With a manual runtime, all of these functions except `run`
 * are called from within its poll call, and must not block.
 *
 * The listener must not call functions that wait (MISUSE). With a manual runtime, code that runs within its poll call
 * must not call them either.
 *
 * Fork: in the child process, calls on a supervisor of the parent return FORKED, and reports about the supervisor's
 * children have no effect, as if these children had ended. cen_supervisor_free frees the memory.
 */
#ifndef CENOTE_SUPERVISOR_H
#define CENOTE_SUPERVISOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/deadline.h>
#include <cenote/events.h>
#include <cenote/future.h>
#include <cenote/owner.h>
#include <cenote/runtime.h>
#include <cenote/sized.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_supervisor cen_supervisor;

/* One run of one child, from its start to its end. A plain value; a value of all zeros refers to no run. */
typedef struct cen_child {
    uint64_t supervisor_, number_;
} cen_child;

/* ---- Children -------------------------------------------------------------------- */

/* Restart policy: whether a child that has ended is restarted. */
typedef enum cen_restart {
    CEN_RESTART_PERMANENT = 0, /* always */
    CEN_RESTART_TRANSIENT,     /* if it did not end normally, or its start failed */
    CEN_RESTART_TEMPORARY,     /* never; it is forgotten once it has ended */
} cen_restart;

/* Options of a child. In every field, zero means the default. Fields are only ever appended. The struct and the name are
 * copied. */
typedef struct cen_child_options {
    size_t size; /* sizeof(cen_child_options), set by the macro */
    /* Unique among its siblings, not empty, and not beginning with '#'. NULL: the child gets a number as its name, such
     * as "#1", and is forgotten once it has ended for good. */
    const char *name;
    void *argument; /* passed to all functions below */

    /* Start the child. Return OK if the child is running or, if reports_start is set, will report later that it has
     * started. Return any other status if the child is not running and the start has left nothing behind; state the
     * reason in error->text. Set either this or `run`. */
    cen_status (*start)(void *argument, cen_child child, cen_error *error);

    /* The child is a thread that runs this function. The child ends when the function returns. The end is normal if the
     * function returns OK. The thread may also end through pthread_exit or cancellation; such an end is not normal. */
    cen_status (*run)(void *argument, cen_child child, cen_error *error);

    /* Ask the child to end. The child then calls cen_child_report_ended, during this call or later. Called at most once
     * for each start that returned OK, and only after that start has returned. NULL: the child must check
     * cen_child_is_stopping itself. */
    void (*stop)(void *argument, cen_child child);

    /* End the child by force. Called when shutdown_ns has passed since the child was asked to end, when the deadline of
     * cen_supervisor_stop passes, or, if kill_at_once is set, immediately. `kill` may be called while start or stop is
     * running, to make that call return. The child reports its end as usual, during this call or later. */
    void (*kill)(void *argument, cen_child child);

    cen_restart restart; /* default CEN_RESTART_PERMANENT */
    /* the supervisor may stop once this child has ended for good: see auto_stop, which must be set; not for permanent
     * children */
    bool significant;
    bool reports_start; /* the child has started once cen_child_report_started is called, in start or later */
    bool stops_at_once; /* the child has ended when `stop` returns; requires `stop`; not with `run` */
    bool kill_at_once;  /* the child is killed instead of being asked to end; requires `kill` */
    int64_t start_ns;   /* a start that takes longer counts as failed, and is stopped; default and CEN_OFF: no limit */
    /* how long the child may take to end after being asked to; after that, it is killed, or abandoned if it has no
     * `kill`; default 5 s, CEN_OFF: no limit */
    int64_t shutdown_ns;
    /* how long the child may take to end after `kill`; after that, it is abandoned: counted, reported to the listener,
     * and otherwise ignored; default 1 s, CEN_OFF is refused */
    int64_t kill_ns;
    cen_supervisor *inner; /* the child is this supervisor: see cen_supervisor_child */
} cen_child_options;

/* Options with the given fields: CEN_CHILD_OPTIONS(.name = "clock", .run = tick). All others are zero. */
#define CEN_CHILD_OPTIONS(...) CEN_OPTIONS_(cen_child_options, __VA_ARGS__)

/* Report that a child has started (options.reports_start), from any thread, at any time. Return true if the report is
 * accepted. Return false if it is ignored: that run of the child has ended, is being stopped, or was already reported. */
CEN_API bool cen_child_report_started(cen_child child);

/* Report that a child has ended, from any thread, at any time. `why` is NULL for a normal end; otherwise, it is the
 * reason. If the child has not started yet, the report means that its start has failed. Return true if the report is
 * accepted. Return false if it is ignored: that run of the child has ended, its end was already reported, or the child
 * is a thread.
 *
 * If the child's start, stop or kill function is running, the supervisor continues when that function has returned. */
CEN_API bool cen_child_report_ended(cen_child child, const cen_error *why);

/* Report the end of a child through a future: the child ends when the future completes, and the end is normal if the
 * status is OK. The supervisor becomes the consumer of the future.
 *
 * Ownership: the future must stay in place, even after it has completed, until the supervisor reports that the child
 * has ended, failed to start or was abandoned, or until the supervisor starts the child again or is over. After that,
 * the future belongs to the program again.
 * Returns:
 *   OK       the future is watched
 *   INVALID  death is NULL
 *   ABSENT   the run that the handle names has ended
 *   MISUSE   the future has a consumer or was cancelled; or the child already has such a future, or is a thread
 */
CEN_API cen_status cen_child_watch(cen_child child, cen_future *death);

/* Get the owner of the entries that this run of the child registers (see registry.h). The first call creates the owner.
 * The owner ends when the run ends, before the child is restarted and before the listener is called, so its entries are
 * gone by then.
 *
 * Ownership: *out is held for the caller, who must drop it with cen_owner_drop.
 * Returns:
 *   OK         *out is the owner
 *   INVALID    out is NULL
 *   ABSENT     the run that the handle names has ended
 *   NO_MEMORY  out of memory
 */
CEN_API cen_status cen_child_owner(cen_child child, cen_owner **out, cen_error *error);

/* Return true if the child should end, or if the run that this handle names has already ended. */
CEN_API bool cen_child_is_stopping(cen_child child);

/* ---- The supervisor ---------------------------------------------------------------- */

/* Which children are restarted when the policy of one of them calls for a restart. */
typedef enum cen_supervision {
    CEN_ONE_FOR_ONE = 0, /* only that child */
    CEN_ONE_FOR_ALL,     /* all children */
    CEN_REST_FOR_ONE,    /* that child and those after it */
} cen_supervision;

/* Whether the supervisor stops by itself, as if by cen_supervisor_request_stop, when significant children have ended
 * for good. */
typedef enum cen_auto_stop {
    CEN_AUTO_STOP_NEVER = 0,
    CEN_AUTO_STOP_ANY, /* when the first of them has ended */
    CEN_AUTO_STOP_ALL, /* when the last of them has ended */
} cen_auto_stop;

/* State of a child. */
typedef enum cen_child_state {
    CEN_CHILD_DOWN = 0, /* not started yet, or ended and not waiting to be restarted because of its own end */
    CEN_CHILD_WAITING,  /* it will be restarted after its back-off */
    CEN_CHILD_STARTING,
    CEN_CHILD_RUNNING,
    CEN_CHILD_STOPPING,
} cen_child_state;

/* An event. It is valid only until the listener returns. */
typedef struct cen_supervisor_event {
    cen_event_kind kind; /* a kind for supervisors, CEN_EVENT_CHILD_STARTED to CEN_EVENT_OVER: see cenote/events.h */
    cen_supervisor *supervisor;
    const char *name;       /* the child's; in GAVE_UP and OVER, the supervisor's */
    cen_child child;        /* the start that the event is about, or none */
    const cen_error *error; /* the reason, or NULL */
    uint64_t restarts;      /* restarts of the child; in GAVE_UP and OVER, of all children */
    int64_t wait_ns;        /* CHILD_WAITING: the time until the restart; otherwise 0 */
} cen_supervisor_event;

/* Options of a supervisor. In every field, zero means the default. Fields are only ever appended. */
typedef struct cen_supervisor_options {
    size_t size;                       /* sizeof(cen_supervisor_options), set by the macro */
    const char *name;                  /* copied, cut after 31 bytes; default "supervisor" */
    cen_supervision supervision;       /* default CEN_ONE_FOR_ONE */
    const cen_child_options *children; /* in the order in which they are started; copied */
    size_t child_count;

    /* maximum number of restarts within window_ns; default 3, at most 1,048,576; CEN_OFF: no limit; CEN_NONE: the
     * supervisor gives up at the first end that calls for a restart */
    int32_t max_restarts;
    int64_t window_ns; /* default 5 s; two restarts that are exactly this far apart are both within the window */

    /* Back-off with jitter: the second restart of a child, and each later one, is delayed by a random time. The upper
     * bound of this delay is backoff_initial_ns at first, and doubles with each restart, up to backoff_max_ns. Children
     * that are restarted together are all delayed. Once a child has run for backoff_reset_ns, its back-off starts again
     * from the beginning. */
    int64_t backoff_initial_ns; /* default 100 ms, CEN_OFF: no back-off */
    int64_t backoff_max_ns;     /* default 30 s; CEN_OFF is refused */
    int64_t backoff_reset_ns;   /* default 30 s; CEN_OFF is refused */

    cen_auto_stop auto_stop; /* default CEN_AUTO_STOP_NEVER */
    uint32_t max_children;   /* maximum number of children, including those that are down; default 0: no limit */

    /* A child whose first start fails is treated like one that fails later: its start is retried, and
     * cen_supervisor_new does not fail because of it. With ONE_FOR_ONE, cen_supervisor_new does not wait for the second
     * attempt. With the other values of `supervision`, it does, because the children after the failed one depend on
     * it. */
    bool retry_start;
    bool stop_together; /* all children are asked to end at the same time, instead of one by one in reverse order */
    bool nested;        /* cen_supervisor_new starts nothing: this one will be the child of another supervisor */
    /* If this is not NULL, cen_supervisor_new does not wait. The future completes when all children have started, or
     * fails with the error of the start that failed. If the supervisor is stopped before that, the future completes
     * with OK when the supervisor is over. Not allowed with `nested`. */
    cen_future *started;

    /* Called with each event, in order, one at a time. */
    void (*listener)(void *argument, const cen_supervisor_event *event);
    void *argument; /* passed to the listener */

    /* its helpers call the functions of the children, and its clock is used for all times; default the process's own */
    cen_runtime *runtime;
    const cen_allocator *allocator; /* default malloc */
} cen_supervisor_options;

/* Options with the given fields: CEN_SUPERVISOR_OPTIONS(.name = "store"). All others are zero. */
#define CEN_SUPERVISOR_OPTIONS(...) CEN_OPTIONS_(cen_supervisor_options, __VA_ARGS__)

/* Create a supervisor and start its children, one after the other. If a child cannot be started, the children before it
 * are stopped again, and no supervisor is created.
 *
 * Blocking: until the last child has started. If options.nested is set, nothing is started. If options.started is set,
 * this function does not wait; if a start fails later, the supervisor is over and must be freed.
 * Returns:
 *   OK         *out is the supervisor
 *   INVALID    out is NULL, or an option is invalid; the text names it
 *   EXISTS     two children have the same name
 *   FULL       more children than options.max_children; error->current and error->max contain the numbers
 *   NO_MEMORY  out of memory
 *   SYSTEM     the timer thread could not be started
 *   FORKED     options.runtime belongs to the parent process
 *   MISUSE     options.started was promised or cancelled before
 *   TIMEOUT    a child did not start within its start_ns
 *   others     a child could not be started: the status of its start
 */
CEN_API cen_status cen_supervisor_new(const cen_supervisor_options *options, cen_supervisor **out, cen_error *error);

/* A part of cen_supervisor_child, not for use by programs. */
CEN_API void cen_supervisor_child_fill_(cen_supervisor *inner, cen_child_options *out);

/* Return the options for a supervisor that is the child of another one: permanent, with no limit on its shutdown time.
 * The program may change them. The inner supervisor must have been created with options.nested. It stays the same
 * object through all its restarts, so the program can keep its address. Children that were added to it are forgotten
 * when it ends. Free it after the outer one. The child's name is the inner supervisor's name, which must stay in place
 * until the options have been used. */
static inline cen_child_options cen_supervisor_child(cen_supervisor *inner)
{
    cen_child_options child = CEN_SIZED(cen_child_options);
    cen_supervisor_child_fill_(inner, &child);
    return child;
}

/* Report of a stop. */
typedef struct cen_supervisor_report {
    size_t size;        /* sizeof(cen_supervisor_report), set by CEN_SIZED */
    uint32_t ended;     /* children that ended because of the stop, within their time */
    uint32_t killed;    /* of these, children that ended after `kill` was called */
    uint32_t abandoned; /* children that did not end in time */
} cen_supervisor_report;

/* Stop the children in reverse order, each within its shutdown time. When the deadline passes, all children that remain
 * are killed, if they have a `kill`, and are abandoned without any further wait. *report, if not NULL, is filled in if
 * the status is OK or TIMEOUT. If the supervisor is already over, this returns OK and the last report.
 *
 * Blocking: until all children have ended, or until the deadline (CEN_DEFAULT: CEN_NEVER).
 * Returns:
 *   OK       the supervisor is over
 *   TIMEOUT  the deadline passed first; the supervisor is over nevertheless
 *   INVALID  supervisor is NULL, or report->size is not valid
 *   FORKED   the supervisor belongs to the parent process
 *   MISUSE   called by its listener; or it is the child of another supervisor, which stops it
 */
CEN_API cen_status cen_supervisor_stop(cen_supervisor *supervisor, cen_deadline deadline, cen_supervisor_report *report,
                                       cen_error *error);

/* Begin to stop the supervisor.
 *
 * Blocking: does not wait, and may be called by the listener.
 * Returns:
 *   OK       it is being stopped, or is over
 *   INVALID  supervisor is NULL
 *   FORKED   the supervisor belongs to the parent process
 *   MISUSE   it is the child of another supervisor, which stops it
 */
CEN_API cen_status cen_supervisor_request_stop(cen_supervisor *supervisor);

/* Complete `future` when the supervisor is over: with NULL, or with the error if it gave up or could not start. There
 * can be only one such future at a time. It may be cancelled.
 * Returns:
 *   OK       the future will complete, or already has
 *   INVALID  supervisor or future is NULL
 *   MISUSE   the future was promised or cancelled before, or there is already such a future
 *   FORKED   the supervisor belongs to the parent process
 */
CEN_API cen_status cen_supervisor_watch(cen_supervisor *supervisor, cen_future *future);

/* Free a supervisor that is over. NULL is allowed. After cen_supervisor_stop has returned OK or TIMEOUT, this function
 * returns OK. If a function of an abandoned child has not returned yet, the runtime and some of the memory remain in
 * use until that function returns. In a forked child, cen_supervisor_free only frees memory.
 * Returns:
 *   OK    the supervisor is freed, or was NULL
 *   BUSY  it is not over; nothing changes
 */
CEN_API cen_status cen_supervisor_free(cen_supervisor *supervisor);

/* ---- Changes ------------------------------------------------------------------------- */

/* Add a child, as the last in order, and wait until it has started. If its start fails, the child is not added, and the
 * status is that of the start. If the deadline passes first, the child stays and continues to start. With CEN_NOW, the
 * call does not wait: the child stays, and a start that fails is treated like the failure of a running child. *out, if
 * not NULL, is set to the handle of the run that was awaited; with CEN_NOW, it refers to no run.
 *
 * Blocking: until the child has started, or until the deadline (CEN_DEFAULT: CEN_NEVER).
 * Returns:
 *   OK         the child has started; with CEN_NOW: it is added
 *   TIMEOUT    the deadline passed first
 *   EXISTS     there is already a child of that name
 *   FULL       there are already options.max_children children; error->current and error->max contain the numbers
 *   CLOSED     the supervisor is not running, or the child was stopped before it had started
 *   MISUSE     called by the listener, and the deadline is not CEN_NOW
 *   INVALID    supervisor is NULL, or an option is invalid; the text names it
 *   NO_MEMORY  out of memory
 *   FORKED     the supervisor belongs to the parent process
 *   others     the status of the child's start
 */
CEN_API cen_status cen_supervisor_add(cen_supervisor *supervisor, const cen_child_options *options,
                                      cen_deadline deadline, cen_child *out, cen_error *error);

/* Stop one child. cen_supervisor_terminate leaves it in the state DOWN, unless it is temporary or numbered.
 * cen_supervisor_remove also forgets it. error->text names the supervisor and, for ABSENT and TIMEOUT, the child.
 *
 * Blocking: until the child has ended, or until the deadline (CEN_DEFAULT: CEN_NEVER).
 * Returns:
 *   OK       the child has ended, or was down
 *   TIMEOUT  the deadline passed first, and the child is still being stopped
 *   ABSENT   there is no child of that name
 *   CLOSED   the supervisor is not running
 *   MISUSE   called by the listener, and the deadline is not CEN_NOW
 *   INVALID  supervisor or name is NULL
 *   FORKED   the supervisor belongs to the parent process
 */
CEN_API cen_status cen_supervisor_terminate(cen_supervisor *supervisor, const char *name, cen_deadline deadline,
                                            cen_error *error);
CEN_API cen_status cen_supervisor_remove(cen_supervisor *supervisor, const char *name, cen_deadline deadline,
                                         cen_error *error);

/* Stop one child, identified by its handle, as cen_supervisor_terminate does.
 *
 * Blocking: until the child has ended, or until the deadline (CEN_DEFAULT: CEN_NEVER).
 * Returns:
 *   OK       the child has ended
 *   TIMEOUT  the deadline passed first, and the child is still being stopped
 *   ABSENT   that run of the child has ended; also in a forked child
 *   CLOSED   the supervisor is not running
 *   MISUSE   called by the listener, and the deadline is not CEN_NOW
 */
CEN_API cen_status cen_child_terminate(cen_child child, cen_deadline deadline, cen_error *error);

/* Immediately start a child that is down or waiting. If its start fails, it is down again.
 *
 * Blocking: until the child has started, or until the deadline (CEN_DEFAULT: CEN_NEVER).
 * Returns:
 *   OK         the child has started; with CEN_NOW: it is being started
 *   TIMEOUT    the deadline passed first, and the child continues to start
 *   ABSENT     there is no child of that name
 *   BUSY       the child is neither down nor waiting; error->text names its state
 *   CLOSED     the supervisor is not running, or the child was stopped before it had started
 *   MISUSE     called by the listener, and the deadline is not CEN_NOW
 *   INVALID    supervisor or name is NULL
 *   FORKED     the supervisor belongs to the parent process
 *   NO_MEMORY  out of memory for the start
 *   others     the status of the child's start
 */
CEN_API cen_status cen_supervisor_restart(cen_supervisor *supervisor, const char *name, cen_deadline deadline,
                                          cen_error *error);

/* ---- Stats ----------------------------------------------------------------------------- */

/* Stats of a supervisor. The numbers are a consistent snapshot. */
typedef struct cen_supervisor_stats {
    size_t size;       /* sizeof(cen_supervisor_stats), set by CEN_SIZED */
    uint32_t children; /* = down + waiting + starting + running + stopping */
    uint32_t down, waiting, starting, running, stopping;
    uint64_t starts;    /* starts that succeeded, restarts included */
    uint64_t restarts;  /* restarts that were decided on; a restart of several children counts once */
    uint64_t abandoned; /* starts of children that did not end in time */
    bool is_running;    /* all children were started, and the supervisor is not being stopped */
    bool is_over;       /* it was stopped, has given up, or could not start */
} cen_supervisor_stats;

/* Read the stats.
 * Returns:
 *   OK       *out is filled in
 *   INVALID  supervisor or out is NULL, or out->size is not valid
 *   FORKED   the supervisor belongs to the parent process
 */
CEN_API cen_status cen_supervisor_stats_get(cen_supervisor *supervisor, cen_supervisor_stats *out);

/* A snapshot of one child. */
typedef struct cen_child_stats {
    size_t size;      /* the library's sizeof(cen_child_stats) */
    const char *name; /* valid during the visitor's call */
    cen_child_state state;
    cen_restart restart;
    bool significant;
    cen_child child;       /* its start; none while it is down or waiting */
    cen_supervisor *inner; /* the supervisor that is the child, or NULL */
    uint64_t starts;       /* how often it has started, regardless of the reason */
    uint64_t restarts;     /* restarts that were caused by its own end or its own failed start */
    int64_t since;         /* the time at which it entered this state, as measured by the runtime's clock */
    int64_t until;         /* WAITING: the time at which it will be started; otherwise 0 */
    cen_error error;       /* of its last abnormal end or failed start; if there was none, the status is OK */
    uint64_t inner_number; /* cen_component_number of inner; 0: there is none */
} cen_child_stats;

/* Call `visit` for every child, in order. A child that exists during the whole call is visited exactly once.
 *
 * Callbacks: `visit` is called with no lock held and with cancellation disabled.
 * Returns:
 *   OK       all children were visited
 *   INVALID  supervisor or visit is NULL
 *   FORKED   the supervisor belongs to the parent process
 */
CEN_API cen_status cen_supervisor_each(cen_supervisor *supervisor,
                                       void (*visit)(void *argument, const cen_child_stats *child), void *argument);

/* Write the tree as lines of text, including supervisors that are children. cen_supervisor_dump writes up to `room`
 * bytes to `buffer`: the text is cut to fit, and ends with a zero if room is not 0. cen_supervisor_dump_to passes the
 * text to `write` piece by piece. Return the length of the whole text, without the zero; 0 for NULL and in a forked
 * child. */
CEN_API size_t cen_supervisor_dump(cen_supervisor *supervisor, char *buffer, size_t room);
CEN_API size_t cen_supervisor_dump_to(cen_supervisor *supervisor,
                                      void (*write)(void *argument, const char *text, size_t length), void *argument);

/* Return the state's name: "down", "waiting", "starting", "running" or "stopping"; "?" for an invalid state. */
CEN_API const char *cen_child_state_name(cen_child_state state);

#ifdef __cplusplus
}
#endif
#endif
