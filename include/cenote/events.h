/* SPDX-License-Identifier: MIT */
/*
 * Events: a single stream of recent events from all pools, crews, routers and supervisors in this process. The stream
 * is a ring of fixed size, in which the newest event overwrites the oldest.
 *
 *     cen_events_listen(CEN_LEVEL_NOTICE, log_it, NULL, NULL);     // a log: called on a separate thread
 *
 *     cen_event_cursor at = {0};                                   // or read events at any time
 *     cen_event event;
 *     while (cen_events_read(&at, &event) == CEN_OK) puts(event.text);
 *
 * The ring survives a crash. A core file contains it. cen_events_persist puts it into a file, which remains however the
 * process ends. `cenote events FILE` shows the events in either kind of file.
 *
 * Writing an event never waits, never allocates and never calls the program. Takes and gives emit events, at the TRACE
 * level, only in pools whose options.trace_takes is set. These events are kept in a separate ring, so they do not
 * overwrite other events.
 *
 * Threads: any. A cursor belongs to one reader.
 * Fork: the child begins with no events, no listener and no file. It must zero any cursors that it inherited.
 */
#ifndef CENOTE_EVENTS_H
#define CENOTE_EVENTS_H

#include <stdint.h>

#include <cenote/status.h>
#include <cenote/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The severity of an event. */
typedef enum cen_event_level {
    CEN_LEVEL_TRACE = 1, /* taken, given */
    CEN_LEVEL_DETAIL,    /* opened, closed, waited, member_up */
    CEN_LEVEL_NOTICE,    /* paused, reloaded, breaker_closed, child_restarted */
    CEN_LEVEL_WARNING,   /* timed_out, leak, shed, member_down, open_failed */
    CEN_LEVEL_ERROR,     /* breaker_opened, gave_up */
} cen_event_level;

/* Kind of an event. New kinds are only appended, and numbers keep their meaning. Judge an unknown kind by its level.
 * `value` is 0 unless the comment of the kind says otherwise. */
typedef enum cen_event_kind {
    CEN_EVENT_PROGRAM = 0, /* an event of the program (cen_event_emit); `what` names it */

    /* Pools. The listener of cen_pool_listen receives these kinds up to CEN_EVENT_STALE_GIVE. */
    CEN_EVENT_OPENED,       /* an object was opened; value: its index */
    CEN_EVENT_OPEN_FAILED,  /* an open failed; status, code and text are the driver's; value: the index */
    CEN_EVENT_OPEN_OVERDUE, /* a blocking open is taking longer than open_timeout_ns; value: the index */
    /* an object of a pool was closed (value: its index; text: why), or the component itself was closed */
    CEN_EVENT_CLOSED,
    CEN_EVENT_TEST_FAILED,       /* a health check failed; value: the index */
    CEN_EVENT_TEST_OVERDUE,      /* a health check is taking longer than test_timeout_ns; value: the index */
    CEN_EVENT_RESET_FAILED,      /* a reset failed; value: the index */
    CEN_EVENT_BREAKER_OPENED,    /* the circuit breaker opened */
    CEN_EVENT_BREAKER_HALF_OPEN, /* a single open is being tried */
    CEN_EVENT_BREAKER_CLOSED,
    /* a lease has been held too long; holder, where and held_ns identify it; value: the index */
    CEN_EVENT_LEAK,
    CEN_EVENT_REVOKED,      /* a lease was revoked by max_hold_ns or close; fields as for LEAK */
    CEN_EVENT_HOLDER_ENDED, /* a thread or a task ended, and its lease ended with it; fields as for LEAK */
    CEN_EVENT_SELF_WAIT,    /* a holder is waiting for a pool although it holds all of the pool's objects itself */
    CEN_EVENT_PAUSED,
    CEN_EVENT_RESUMED,
    CEN_EVENT_RELOADED,
    CEN_EVENT_POOL_CLOSED,
    CEN_EVENT_CALL_REFUSED, /* an alarm or a helper thread could not be started */
    /* load shedding of waiters has begun or ended; when it has ended, the text states how many were refused */
    CEN_EVENT_SHED,
    CEN_EVENT_ORPHANED, /* a holder ended without giving its lease back (CEN_HOLDER_END_ORPHAN); fields as for LEAK */
    /* a reset ended something that a holder had left open: "transaction left open by orders.c:40"; one event per call
     * site, for at most 64 call sites per pool; value: the index */
    CEN_EVENT_LEFT_OPEN,
    /* a lease that had already ended was given again; given_where: the call that gave it; where: the call that took it;
     * value: the index */
    CEN_EVENT_STALE_GIVE,
    /* A take was served after a wait of 1 ms or more; value: its wait in nanoseconds. At most one per 10 ms. */
    CEN_EVENT_WAITED,
    /* A take, or a request to a router, timed out after a wait; value: its wait in nanoseconds. A pool emits at most
     * one per 10 ms, including INTERRUPTED, and a router at most one per second. */
    CEN_EVENT_TIMED_OUT,
    CEN_EVENT_INTERRUPTED, /* a take was interrupted; value: its wait in nanoseconds */
    /* A take, task or client was refused; cause and text state why. value: in a pool, the number of refusals since the
     * last such event; elsewhere, the number of waiters, tasks or clients at the time of the refusal. A pool emits at
     * most one per 100 ms, other components at most one per second. */
    CEN_EVENT_REFUSED,
    CEN_EVENT_TAKEN, /* a take, at the level TRACE; value: the index */
    CEN_EVENT_GIVEN, /* a give, at the level TRACE; held_ns: how long the object was held */

    /* Supervisors. `part` is the child. value: the number of restarts, except for CHILD_WAITING. */
    CEN_EVENT_CHILD_STARTED,   /* a child started for the first time since its supervisor was started */
    CEN_EVENT_CHILD_RESTARTED, /* it started again, for whatever reason */
    CEN_EVENT_CHILD_FAILED,    /* it did not start */
    CEN_EVENT_CHILD_ENDED,     /* it ended, by itself or on request; status: why, if it did not end normally */
    CEN_EVENT_CHILD_WAITING,   /* it will be started again; value: the delay in nanoseconds */
    CEN_EVENT_CHILD_KILLED,    /* its kill function is about to be called */
    CEN_EVENT_CHILD_ABANDONED, /* it did not end in time */
    CEN_EVENT_GAVE_UP,         /* too many restarts; all children will be stopped */
    CEN_EVENT_OVER,            /* all children have ended; status: why, if the supervisor gave up or could not start */

    /* Routers. `part` is the member. */
    CEN_EVENT_MEMBER_ADDED,
    CEN_EVENT_MEMBER_UP,
    CEN_EVENT_MEMBER_DOWN,
    CEN_EVENT_MEMBER_DRAINING,
    CEN_EVENT_MEMBER_EJECTED,
    CEN_EVENT_MEMBER_REMOVED,

    /* Multiplexed connections and their pools. `part` is the connection, `where` its address. */
    CEN_EVENT_CONNECTED,
    CEN_EVENT_CONNECT_FAILED,
    CEN_EVENT_LOST,
    CEN_EVENT_CONNECTION_UP,     /* a connection was established; it is in the set or is about to be */
    CEN_EVENT_CONNECTION_DOWN,   /* a connection has ended and left the set; status: why, or OK if it was closed */
    CEN_EVENT_CONNECTION_FAILED, /* a connection could not be established; status, code and text state why */
    CEN_EVENT_LISTENING,         /* a server is listening; the text contains its address */

    /* Crews, lanes and actors */
    CEN_EVENT_WORKER_FAILED, /* a thread could not be started */
    CEN_EVENT_WORKER_LOST,   /* a task ended its worker thread; value: the worker's number */
    CEN_EVENT_STEP_SLOW,     /* a step is taking a long time; value: its duration so far, in nanoseconds */
    CEN_EVENT_RESIZED,       /* the number of a crew's workers changed; value: the new number */
    CEN_EVENT_LIMITED,       /* a limit of the lanes changed; value: the new limit */
    CEN_EVENT_STOPPED,
    CEN_EVENT_MESSAGE_SLOW, /* handling a message takes a long time; value: its duration in nanoseconds */
} cen_event_kind;

/* One event, in the same form for every listener, for the ring and for the file. It is plain memory. Texts are
 * terminated by a zero. Text that is too long is cut at the boundary of a UTF-8 character. A field that is unknown or
 * does not apply is zero. */
typedef struct cen_event {
    uint64_t number; /* counts the process's events from 0; TRACE events are numbered separately */
    int64_t time_ns; /* nanoseconds since 1970 */
    cen_event_level level;
    cen_event_kind kind;
    uint64_t component;      /* cen_component_number of the component */
    uint64_t holder;         /* cen_holder_number of the holder */
    int64_t held_ns;         /* how long the holder held the object, on the runtime's clock */
    int64_t value;           /* a time in nanoseconds, an index or a count, depending on the kind */
    cen_status status;       /* of a failure */
    int code;                /* the driver's or the system's code of the failure */
    cen_cause cause;         /* of a refusal */
    char what[32];           /* cen_event_kind_name, or `what` of cen_event_emit */
    char component_kind[16]; /* "pool" */
    char component_name[48];
    char part[48]; /* the child, member or connection of the component */
    /* the call that took the object (only its end, if it is too long); or a connection's address */
    char where[64];
    char given_where[64]; /* STALE_GIVE: the call that gave the lease again */
    char text[480];       /* a whole sentence */
} cen_event;

/* The position of a reader. A zeroed cursor points to the oldest event that is still in the ring. */
typedef struct cen_event_cursor {
    uint64_t next;                     /* the number of the next event to be read */
    uint64_t missed;                   /* events that were dropped, or overwritten before they were read */
    uint64_t next_trace, missed_trace; /* as above, for TRACE events */
} cen_event_cursor;

/* Read the oldest event at the cursor into *out, and advance the cursor. TRACE events have a separate ring. If both
 * rings contain an unread event, this reads the one with the earlier time.
 * Blocking: never waits.
 * Returns:
 *   OK       *out is filled in
 *   EMPTY    there are no more events now
 *   INVALID  cursor or out is NULL
 */
CEN_API cen_status cen_events_read(cen_event_cursor *cursor, cen_event *out);

/* Return the number of events so far, not counting TRACE events. */
CEN_API uint64_t cen_events_total(void);

/* Write an event of the program: CEN_EVENT_PROGRAM, without a component. An invalid level becomes the nearest valid
 * one. NULL counts as an empty text. Never fails. If another thread is stuck while writing to this event's place in the
 * ring, the event is dropped and counts as missed. */
CEN_API void cen_event_emit(cen_event_level level, const char *what, const char *text);

/* Set the process's listener. NULL removes it. From now on, the listener is called for each event whose level is at
 * least `least`. There is only one listener: setting another replaces it.
 *
 * Blocking: the previous listener first receives the events that were written before this call, as far as they can
 * still be read. When this returns, the previous listener has returned and is not called again.
 * Callbacks: events are delivered one at a time, in order, on a separate thread, with no lock held. A listener may do
 * anything except call this function. `missed` is the number of events, of any level, that were overwritten since the
 * previous call because the listener was too slow.
 * Returns:
 *   OK       the listener is set
 *   INVALID  listener is not NULL, and `least` is not a valid level
 *   MISUSE   called by the listener itself
 *   SYSTEM   the thread could not be started; the previous listener stays in place
 */
CEN_API cen_status cen_events_listen(cen_event_level least,
                                     void (*listener)(void *argument, const cen_event *event, uint64_t missed),
                                     void *argument, cen_error *error);

/* Return the level's name: "trace", "detail", "notice", "warning" or "error"; "?" for an invalid level. */
CEN_API const char *cen_event_level_name(cen_event_level level);

/* Return the kind's name, such as "opened", "leak", "breaker_closed" or "program"; "?" for an invalid kind. */
CEN_API const char *cen_event_kind_name(cen_event_kind kind);

/* ---- After a crash ------------------------------------------------------------ */

/* Move the rings into a 2.6 MB file that only the same user can read. Events written before this call are also in the
 * file. The file remains however the process ends, and no call is needed at exit. If a file with this name already
 * exists, for example from an earlier run, it is renamed to PATH.old. This can be done only once per process.
 * Returns:
 *   OK       the rings are in the file
 *   INVALID  path is NULL, empty or too long, or names something that is not a regular file
 *   EXISTS   the process already has such a file
 *   SYSTEM   the file could not be created; the text states why
 */
CEN_API cen_status cen_events_persist(const char *path, cen_error *error);

/* Call `show` for each event in a file made by cen_events_persist, or in a core file, oldest first. The process may
 * still be writing to the file. A core file is searched from beginning to end. Damaged events are skipped. Texts are
 * passed on as they are in the file. They may contain any byte except zero, because anyone may have created the file.
 * Returns:
 *   OK         all events were shown
 *   INVALID    path or show is NULL
 *   ABSENT     the file contains no event rings
 *   SYSTEM     the file cannot be read
 *   NO_MEMORY  out of memory
 */
CEN_API cen_status cen_events_read_file(const char *path, void (*show)(void *argument, const cen_event *event),
                                        void *argument, cen_error *error);

#ifdef __cplusplus
}
#endif
#endif
