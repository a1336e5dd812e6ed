/* SPDX-License-Identifier: MIT */
/*
 * A supervisor: starts children in order, starts again what dies, by rules, and
 * stops them in reverse order. libcenote-route.
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
 *     // ...                                                  when the link is lost: cen_child_report_ended(child, &why);
 *     cen_supervisor_stop(supervisor, cen_in_s(10), &report, NULL);
 *     cen_supervisor_free(supervisor);
 *
 * A child is whatever has a start and an end: a connection, a thread, another
 * supervisor. Each of its starts has a cen_child of its own, a small value that is
 * copied freely and stays harmless for ever: what is said of a start that is over,
 * or of a supervisor that is gone, is ignored.
 *
 * When a child dies, its restart policy says whether it is started again, and
 * `supervision` who else is: nobody, all, or those that come after it. Those are
 * stopped first, in reverse order, and then all are started in order. More
 * than max_restarts within window_ns and the supervisor gives up: it stops its
 * children and ends, which is a death to the supervisor above it. A child's first
 * restart comes at once; if it dies again soon, the next ones wait, at random up to a
 * time that doubles.
 *
 * Threads: every function may be called from any thread. The functions of
 * children are called by helpers of the runtime, with no lock held; they may block,
 * and one child's never hold up another's. The listener is called by one thread at
 * a time. A manual runtime calls all of them in poll; there they must not block.
 * Functions that wait must not be called from the listener (MISUSE), nor, with a
 * manual runtime, from anything that its poll has called.
 * Fork: in the child a supervisor of the parent's answers FORKED, what is said of its children finds nothing, as if they
 * were over, and free gives the memory back.
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

/* One start of one child. All zero: of none. */
typedef struct cen_child {
    uint64_t supervisor_, number_;
} cen_child;

/* ---- Children -------------------------------------------------------------------- */

/* Whether a child that has ended is started again. */
typedef enum cen_restart {
    CEN_RESTART_PERMANENT = 0, /* always */
    CEN_RESTART_TRANSIENT,     /* if its end was not normal, or its start failed */
    CEN_RESTART_TEMPORARY,     /* never; it is forgotten when it has ended */
} cen_restart;

/* Zero means default in every field. Fields are only ever appended. The struct and the name are copied. */
typedef struct cen_child_options {
    size_t size; /* sizeof(cen_child_options), set by the macro */
    /* Unlike its siblings', and without a '#' in front. NULL: it is numbered, "#1", and forgotten when it has ended for good. */
    const char *name;
    void *argument; /* of all of these */

    /* Starts it. OK: it runs, or, with reports_start, will say so. Anything else: it does
     * not, and nothing of it is left; the text says why. Either this or `run`. */
    cen_status (*start)(void *argument, cen_child child, cen_error *error);

    /* The child is a thread, which is in this function. That it returns is its end,
     * normal if it says OK; so is pthread_exit and cancellation, which are not normal. */
    cen_status (*run)(void *argument, cen_child child, cen_error *error);

    /* Asks it to end; it then says cen_child_report_ended, from in here or later. Called once for a
     * start that answered OK, and never before that returned. NULL: it looks at cen_child_is_stopping. */
    void (*stop)(void *argument, cen_child child);

    /* Ends it, whatever it does: it was asked, and shutdown_ns have passed. It may come while
     * start or stop are still in their call, to get them out. The end is told as ever, from in here or later. */
    void (*kill)(void *argument, cen_child child);

    cen_restart restart;
    bool significant;    /* that it ends for good may stop the supervisor: see auto_stop. Not for permanent ones */
    bool reports_start;  /* it has started when cen_child_report_started is called, from in start or later */
    bool stops_at_once;  /* it has ended when `stop` returns */
    bool kill_at_once;   /* it is never asked to end, but killed; needs `kill` */
    int64_t start_ns;    /* a start that takes longer has failed, and it is stopped; default no limit */
    int64_t shutdown_ns; /* for how long it is waited for when it was asked to end; default 5 s, CEN_OFF: no limit */
    /* and when it was killed; default 1 s. Then it is abandoned: counted, told, and ignored from then on */
    int64_t kill_ns;
    cen_supervisor *inner; /* the child is this supervisor: see cen_supervisor_child */
} cen_child_options;

#define CEN_CHILD_OPTIONS(...) CEN_OPTIONS_(cen_child_options, __VA_ARGS__)

/* What a child says of itself, from any thread and at any time. True: it counts. False:
 * that start is over, or has said so before: ignored. */

/* It has started. For those that start later. */
CEN_API bool cen_child_report_started(cen_child child);

/* It has ended: normally (NULL), or why not. Before it has started: the start failed. The
 * supervisor goes on when start, stop and kill, if they are in their call, have returned. */
CEN_API bool cen_child_report_ended(cen_child child, const cen_error *why);

/* The same by a future: that it is done is the end, normal if its status is OK. The supervisor becomes its
 * consumer. The struct is the program's again when the supervisor tells that the child ended, failed to start or was abandoned,
 * starts it again, or is over; not before, though it may be done by then. Errors: INVALID (NULL), ABSENT (that start is over),
 * MISUSE (the future has a consumer, or the child has such a future already, or is a thread). */
CEN_API cen_status cen_child_watch(cen_child child, cen_future *death);

/* The owner of what it registers (see registry.h): that of this start, made when it is first asked for. When the start is over it
 * ends, before the child is started again or anybody is told: what was registered is gone then. It is held for the
 * caller, who lets go of it with cen_owner_drop. Errors: INVALID, ABSENT (that start is over), NO_MEMORY. */
CEN_API cen_status cen_child_owner(cen_child child, cen_owner **out, cen_error *error);

/* Whether it is to end. Also true of what is over. */
CEN_API bool cen_child_is_stopping(cen_child child);

/* ---- The supervisor ---------------------------------------------------------------- */

/* Who is started again when one died that is to be. */
typedef enum cen_supervision {
    CEN_ONE_FOR_ONE = 0, /* that one */
    CEN_ONE_FOR_ALL,     /* all */
    CEN_REST_FOR_ONE,    /* that one and those after it */
} cen_supervision;

/* Whether the supervisor stops by itself, as if it were asked to, when significant children have
 * ended that are not started again. */
typedef enum cen_auto_stop {
    CEN_AUTO_STOP_NEVER = 0,
    CEN_AUTO_STOP_ANY, /* with the first */
    CEN_AUTO_STOP_ALL, /* with the last that was there */
} cen_auto_stop;

typedef enum cen_child_state {
    CEN_CHILD_DOWN = 0, /* it has not been started yet, or has ended and is not to be started by itself */
    CEN_CHILD_WAITING,  /* it will be started again, after a while */
    CEN_CHILD_STARTING,
    CEN_CHILD_RUNNING,
    CEN_CHILD_STOPPING,
} cen_child_state;

/* Valid while the listener is called. */
typedef struct cen_supervisor_event {
    cen_event_kind kind; /* those of a supervisor: cenote/events.h */
    cen_supervisor *supervisor;
    const char *name;       /* the child's, or the supervisor's own */
    cen_child child;        /* the start that it is about, or none */
    const cen_error *error; /* or NULL */
    uint64_t restarts;      /* of the child, or of all */
    int64_t wait_ns;
} cen_supervisor_event;

/* Zero means default in every field. Fields are only ever appended. */
typedef struct cen_supervisor_options {
    size_t size;      /* sizeof(cen_supervisor_options), set by the macro */
    const char *name; /* copied; default "supervisor" */
    cen_supervision supervision;
    const cen_child_options *children; /* in the order in which they are started; copied */
    size_t child_count;

    /* within window_ns; default 3, CEN_OFF: no limit, CEN_NONE: it gives up with the first death that calls for a
     * restart */
    int32_t max_restarts;
    int64_t window_ns; /* default 5 s; two restarts that are just so far apart are both within */

    /* Before the second restart of a child, and those after it, it waits, at random up to a time that is at
     * first backoff_initial_ns and doubles each time up to backoff_max_ns; where several are started
     * again, all wait with it. A child that has run for backoff_reset_ns begins anew. */
    int64_t backoff_initial_ns; /* default 100 ms, CEN_OFF: none waits */
    int64_t backoff_max_ns;     /* default 30 s */
    int64_t backoff_reset_ns;   /* default 30 s */

    cen_auto_stop auto_stop;
    uint32_t max_children; /* how many there may be, down or not; default no limit */

    /* A child whose very first start fails is treated as if it had died: the start is tried again,
     * and new does not fail. In a supervisor of ONE_FOR_ONE new does not wait for the
     * second attempt, otherwise those after it depend on it and new waits. */
    bool retry_start;
    bool stop_together;  /* children are asked to end all at a time, and not in reverse order, one after the other */
    bool nested;         /* new makes it and starts nothing: it will be another one's child */
    cen_future *started; /* not NULL: new does not wait; this is done when all have started, or with the error */

    /* Told what happens, in order, one at a time. */
    void (*listener)(void *argument, const cen_supervisor_event *event);
    void *argument; /* of the listener */

    /* its helpers call the children's functions, by its clock; default the process' own */
    cen_runtime *runtime;
    const cen_allocator *allocator; /* default malloc */
} cen_supervisor_options;

#define CEN_SUPERVISOR_OPTIONS(...) CEN_OPTIONS_(cen_supervisor_options, __VA_ARGS__)

/* Makes it and starts the children one after the other; waits until the last has started. If one
 * cannot be started, those before it are stopped again, and there is no supervisor. With
 * options.started it does not wait, and if that fails the supervisor is over, to be freed.
 * Errors: INVALID (the text names the field), EXISTS (two of one name), FULL (more than
 * max_children), NO_MEMORY, SYSTEM, FORKED (the runtime is a parent's), MISUSE (options.started was
 * promised before), and whatever the child's start said. */
CEN_API cen_status cen_supervisor_new(const cen_supervisor_options *options, cen_supervisor **out, cen_error *error);

/* A supervisor as a child of another: permanent, without a limit for its shutdown. The inner one
 * was made with options.nested and stays the same through all its restarts, so that the
 * program can keep its address; what was added to it is forgotten when it ends. It is freed after the
 * outer one. The name is the inner one's, which must stay till the options were used; change what you like. */
CEN_API void cen_supervisor_child_fill_(cen_supervisor *inner, cen_child_options *out);
static inline cen_child_options cen_supervisor_child(cen_supervisor *inner)
{
    cen_child_options child = CEN_SIZED(cen_child_options);
    cen_supervisor_child_fill_(inner, &child);
    return child;
}

typedef struct cen_supervisor_report {
    size_t size;        /* sizeof(cen_supervisor_report), set by CEN_SIZED */
    uint32_t ended;     /* children that ended because of the stop, within their time */
    uint32_t killed;    /* of these, after kill */
    uint32_t abandoned; /* children that did not end in time */
} cen_supervisor_report;

/* Stops the children in reverse order, each within its own time, and waits till they have ended.
 * CEN_DEFAULT: CEN_NEVER. When the deadline passes, all that are left are killed, if they have a `kill`, and
 * abandoned, without waiting for any. The report may be NULL. One that is over already: OK, and its last report.
 * Errors: TIMEOUT (the deadline passed; it is over all the same), INVALID (NULL), FORKED, MISUSE (from
 * its own listener; or it is another's child, which stops it). */
CEN_API cen_status cen_supervisor_stop(cen_supervisor *supervisor, cen_deadline deadline, cen_supervisor_report *report,
                                       cen_error *error);

/* Begins to stop it and does not wait; from the listener too. Errors: INVALID, FORKED, MISUSE (it is another's child). */
CEN_API cen_status cen_supervisor_request_stop(cen_supervisor *supervisor);

/* `future` is done when it is over: with NULL, or with the error if it gave up or could not start. Errors: INVALID
 * (NULL), MISUSE (the future was promised before, or there is such a future already), FORKED. */
CEN_API cen_status cen_supervisor_watch(cen_supervisor *supervisor, cen_future *future);

/* NULL is allowed. Error: BUSY (it is not over): nothing changes. When stop has returned it is OK. What is still to come
 * from abandoned children keeps some memory, and the runtime, until it has come. */
CEN_API cen_status cen_supervisor_free(cen_supervisor *supervisor);

/* ---- Changes ------------------------------------------------------------------------- */

/* Adds a child, as the last in order, and waits until it has started; if it could not be, it is not there and the
 * error is the start's. When the deadline passes first, it stays there all the same, and so with CEN_NOW, which does
 * not wait: a start that fails then is treated as a death. CEN_DEFAULT: CEN_NEVER. *out, if it is not NULL, is the
 * start that was waited for.
 * Errors: INVALID, EXISTS, FULL (error: current and max), NO_MEMORY, CLOSED (it is not running), TIMEOUT, MISUSE, FORKED,
 * and the start's. */
CEN_API cen_status cen_supervisor_add(cen_supervisor *supervisor, const cen_child_options *options,
                                      cen_deadline deadline, cen_child *out, cen_error *error);

/* Stops one child, which stays as one that is down, unless it is temporary or numbered; remove forgets it as well. Both
 * wait until it has ended (CEN_DEFAULT: CEN_NEVER). Errors: ABSENT (there is none of this name), TIMEOUT (it goes on), CLOSED,
 * INVALID, MISUSE, FORKED. */
CEN_API cen_status cen_supervisor_terminate(cen_supervisor *supervisor, const char *name, cen_deadline deadline);
CEN_API cen_status cen_supervisor_remove(cen_supervisor *supervisor, const char *name, cen_deadline deadline);

/* The same for one that is known by its start (CEN_DEFAULT: CEN_NEVER); ABSENT if that is over. */
CEN_API cen_status cen_child_terminate(cen_child child, cen_deadline deadline);

/* Starts a child that is down, or waiting, now; waits until it has started (CEN_DEFAULT: CEN_NEVER). If it could not be, it is
 * down again. Errors: ABSENT, BUSY (it is not down), TIMEOUT, CLOSED, INVALID, MISUSE, FORKED, and the start's. */
CEN_API cen_status cen_supervisor_restart(cen_supervisor *supervisor, const char *name, cen_deadline deadline,
                                          cen_error *error);

/* ---- A look at it --------------------------------------------------------------------- */

typedef struct cen_supervisor_stats {
    size_t size;       /* sizeof(cen_supervisor_stats), set by CEN_SIZED */
    uint32_t children; /* = down + waiting + starting + running + stopping */
    uint32_t down, waiting, starting, running, stopping;
    uint64_t starts;    /* children that have started, again or for the first time */
    uint64_t restarts;  /* that were decided on, of one child or several at a time */
    uint64_t abandoned; /* starts that did not end in time */
    bool is_running;    /* all have been started, and it is not being stopped */
    bool is_over;       /* it has been stopped, has given up, or could not start */
} cen_supervisor_stats;

/* All numbers are of one moment. Errors: INVALID, FORKED. */
CEN_API cen_status cen_supervisor_stats_get(cen_supervisor *supervisor, cen_supervisor_stats *out);

/* One child, in one moment. */
typedef struct cen_child_stats {
    size_t size;      /* the library's sizeof(cen_child_stats) */
    const char *name; /* valid in the visitor's call */
    cen_child_state state;
    cen_restart restart;
    bool significant;
    cen_child child;       /* its start; none if it is down or waiting */
    cen_supervisor *inner; /* if it is one, else NULL */
    uint64_t starts;       /* how often it has started, for whatever reason */
    uint64_t restarts;     /* that its own end, or a start of its that failed, has called for */
    int64_t since;         /* since when it is in this state, on the runtime's clock */
    int64_t until;         /* waiting: when it will be started; else 0 */
    cen_error error;       /* of its last end that was not normal, or start that failed; else status OK */
    uint64_t inner_number; /* cen_component_number of inner; 0: it is none */
} cen_child_stats;

/* Calls `visit` for every child, in order, with no lock held. One that is there from the beginning to the end of the call is
 * visited once. Errors: INVALID, FORKED. */
CEN_API cen_status cen_supervisor_each(cen_supervisor *supervisor,
                                       void (*visit)(void *argument, const cen_child_stats *child), void *argument);

/* The tree, supervisors that are children included, as lines of text: into `room` bytes, cut and ended by a zero if
 * there is any room; the answer is how long the whole is. Or piece by piece to `write`. 0 in a forked child. */
CEN_API size_t cen_supervisor_dump(cen_supervisor *supervisor, char *buffer, size_t room);
CEN_API size_t cen_supervisor_dump_to(cen_supervisor *supervisor,
                                      void (*write)(void *argument, const char *text, size_t length), void *argument);

/* "down", "waiting", "starting", "running", "stopping". */
CEN_API const char *cen_child_state_name(cen_child_state state);

#ifdef __cplusplus
}
#endif
#endif
