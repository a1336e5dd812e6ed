/* SPDX-License-Identifier: MIT */
/*
 * Events: what happened lately in this process, to all its pools, crews, routers and
 * supervisors: one stream in a ring of fixed size, in which the newest overwrites
 * the oldest.
 *
 *     cen_events_listen(CEN_LEVEL_NOTICE, log_it, NULL, NULL);     // a log: called for each, on a thread of its own
 *
 *     cen_event_cursor at = {0};                                   // or read when it suits
 *     cen_event event;
 *     while (cen_events_read(&at, &event) == CEN_OK) puts(event.text);
 *
 * The ring outlives a crash: a core file has it, and cen_events_persist puts it into a
 * file that is there when the process is gone, however it went. `cenote events FILE`
 * shows either.
 *
 * Writing never waits, never allocates and never calls the program. Objects taken and
 * given are told only of pools whose options ask for trace_takes, and then at the
 * level TRACE, in a ring of their own, so that they push nothing else out.
 *
 * Threads: any. A cursor belongs to one reader.
 * Fork: the child begins with no events, no listener and no file; it zeroes cursors that it got from there.
 */
#ifndef CENOTE_EVENTS_H
#define CENOTE_EVENTS_H

#include <stdint.h>

#include <cenote/status.h>
#include <cenote/version.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cen_event_level {
    CEN_LEVEL_TRACE = 1, /* taken, given */
    CEN_LEVEL_DETAIL,    /* opened, closed, waited, member_up */
    CEN_LEVEL_NOTICE,    /* paused, reloaded, breaker_closed, child_restarted */
    CEN_LEVEL_WARNING,   /* timed_out, leak, shed, member_down, open_failed */
    CEN_LEVEL_ERROR,     /* breaker_opened, gave_up */
} cen_event_level;

/* What happened. Only appended to, and a number keeps its meaning: judge a kind that you do not know by its level.
 * `value` is 0 where nothing else is said. */
typedef enum cen_event_kind {
    CEN_EVENT_PROGRAM = 0, /* an event of the program: cen_event_emit; `what` is its word */

    /* Pools. Of these, to CEN_EVENT_STALE_GIVE, cen_pool_listen tells. */
    CEN_EVENT_OPENED,            /* an object; value: its index */
    CEN_EVENT_OPEN_FAILED,       /* status, code and text are the driver's; value: the index */
    CEN_EVENT_OPEN_OVERDUE,      /* a blocking open has taken longer than open_timeout_ns; value: the index */
    CEN_EVENT_CLOSED,            /* an object of a pool, value: its index; or the component itself. The text says why */
    CEN_EVENT_TEST_FAILED,       /* value: the index */
    CEN_EVENT_TEST_OVERDUE,      /* value: the index */
    CEN_EVENT_RESET_FAILED,      /* value: the index */
    CEN_EVENT_BREAKER_OPENED,    /* the circuit breaker */
    CEN_EVENT_BREAKER_HALF_OPEN, /* one opening is tried */
    CEN_EVENT_BREAKER_CLOSED,
    CEN_EVENT_LEAK,         /* holder, where and held_ns say whose; value: the index */
    CEN_EVENT_REVOKED,      /* a lease, by max_hold_ns or close; as LEAK */
    CEN_EVENT_HOLDER_ENDED, /* a lease was taken back from a thread or a task that ended; as LEAK */
    CEN_EVENT_SELF_WAIT,    /* a holder waits for a pool all of whose objects it holds */
    CEN_EVENT_PAUSED,
    CEN_EVENT_RESUMED,
    CEN_EVENT_RELOADED,
    CEN_EVENT_POOL_CLOSED,
    CEN_EVENT_CALL_REFUSED, /* an alarm or a helper thread could not be started */
    CEN_EVENT_SHED,         /* takes that wait begin to be refused, or are no more: the text says how many were */
    CEN_EVENT_ORPHANED,     /* a holder ended without giving its lease (CEN_HOLDER_END_ORPHAN); as LEAK */
    /* a reset ended what a holder left open: "transaction left open by orders.c:40"; once for each call site, of at
     * most 64 in a pool; value: the index */
    CEN_EVENT_LEFT_OPEN,
    /* an ended lease was given again; given_where says by which call, `where` which call took it; value: the index */
    CEN_EVENT_STALE_GIVE,
    CEN_EVENT_WAITED,      /* a take that was served; value: how long it waited, in nanoseconds */
    CEN_EVENT_TIMED_OUT,   /* a take; value: how long it waited, in nanoseconds */
    CEN_EVENT_INTERRUPTED, /* a take; value: how long it waited, in nanoseconds */
    CEN_EVENT_REFUSED,     /* takes, tasks, clients: cause and text say why; value: as docs/components.md says */
    CEN_EVENT_TAKEN,       /* at the level TRACE; value: the index */
    CEN_EVENT_GIVEN,       /* at the level TRACE; held_ns */

    /* Supervisors. `part` is the child. */
    CEN_EVENT_CHILD_STARTED,   /* for the first time since its supervisor was started */
    CEN_EVENT_CHILD_RESTARTED, /* again, for whatever reason; value: its restarts, as in all of these but WAITING */
    CEN_EVENT_CHILD_FAILED,    /* to start */
    CEN_EVENT_CHILD_ENDED,     /* by itself or because it was asked; status: why, if that was not normal */
    CEN_EVENT_CHILD_WAITING,   /* for `value` nanoseconds until it is started again */
    CEN_EVENT_CHILD_KILLED,    /* kill is about to be called */
    CEN_EVENT_CHILD_ABANDONED, /* it did not end in time */
    CEN_EVENT_GAVE_UP,         /* there were too many restarts; all children will be stopped */
    CEN_EVENT_OVER,            /* all children have ended; status: if it gave up or could not start */

    /* Routers. `part` is the member. */
    CEN_EVENT_MEMBER_ADDED,
    CEN_EVENT_MEMBER_UP,
    CEN_EVENT_MEMBER_DOWN,
    CEN_EVENT_MEMBER_DRAINING,
    CEN_EVENT_MEMBER_EJECTED,
    CEN_EVENT_MEMBER_REMOVED,

    /* Connections that share requests, and their pools. `part` is the connection, `where` its address. */
    CEN_EVENT_CONNECTED,
    CEN_EVENT_CONNECT_FAILED,
    CEN_EVENT_LOST,
    CEN_EVENT_CONNECTION_UP,     /* a connection was made, and is in the set, or will be in a moment */
    CEN_EVENT_CONNECTION_DOWN,   /* it has ended, and is not in the set any more; status: why, or OK if it was closed */
    CEN_EVENT_CONNECTION_FAILED, /* it could not be made; status, code and text say why */
    CEN_EVENT_LISTENING,         /* a server; text: at which address */

    /* Crews, lanes and actors */
    CEN_EVENT_WORKER_FAILED, /* a thread could not be started */
    CEN_EVENT_WORKER_LOST,   /* a task has ended its thread */
    CEN_EVENT_STEP_SLOW,     /* value: its duration in nanoseconds */
    CEN_EVENT_RESIZED,       /* value: the new number */
    CEN_EVENT_LIMITED,       /* value: the new number */
    CEN_EVENT_STOPPED,
    CEN_EVENT_MESSAGE_SLOW, /* value: its duration in nanoseconds */
} cen_event_kind;

/* One event, the same for every listener, for the ring and for the file. Plain memory: texts end with a zero, and what is
 * longer is cut, between two characters of UTF-8. What is not known, or does not apply, is zero. */
typedef struct cen_event {
    uint64_t number; /* from 0, one more for each of the process; those of TRACE are numbered by themselves */
    int64_t time_ns; /* when, since 1970 */
    cen_event_level level;
    cen_event_kind kind;
    uint64_t component;      /* cen_component_number */
    uint64_t holder;         /* cen_holder_number of the holder */
    int64_t held_ns;         /* how long it held the object, by the runtime's clock */
    int64_t value;           /* a time in nanoseconds, an index or a count, as the kind says */
    cen_status status;       /* of a failure */
    int code;                /* the driver's or the system's own number for it */
    cen_cause cause;         /* of a refusal */
    char what[32];           /* cen_event_kind_name, or the word that cen_event_emit was given */
    char component_kind[16]; /* "pool" */
    char component_name[48];
    char part[48];        /* the child, member or connection of the component that it is about */
    char where[64];       /* the call that took the object: its end if it is longer; or a connection's address */
    char given_where[64]; /* STALE_GIVE: the call that gave the lease again */
    char text[480];       /* a whole sentence */
} cen_event;

/* Where a reader is. Zeroed: at the oldest event that is still there. */
typedef struct cen_event_cursor {
    uint64_t next;                     /* the number of the one to be read */
    uint64_t missed;                   /* so many were overwritten, or found no place, before they could be read */
    uint64_t next_trace, missed_trace; /* the same of TRACE */
} cen_event_cursor;

/* Copies the oldest event at the cursor out and moves on; of both rings the earlier one, as far as it can be told.
 * Never waits. Errors: EMPTY (no more now), INVALID. */
CEN_API cen_status cen_events_read(cen_event_cursor *cursor, cen_event *out);

/* How many there have been, those of TRACE not counted. */
CEN_API uint64_t cen_events_total(void);

/* Writes one of the program's own, CEN_EVENT_PROGRAM: of no component. A level that is none is the nearest that is one;
 * NULL is no text. Never fails: what finds no place, because another thread is stuck in the middle of writing there, is
 * counted as missed. */
CEN_API void cen_event_emit(cen_event_level level, const char *what, const char *text);

/* Lets `listener` be called for each event of at least that level from now on, in their order, one at a time, on a
 * thread of its own, with no lock held. It may do anything but call this. One listener: another replaces it, and
 * NULL ends it. The former one is told what there was before that, as far as it can still be read; when this returns it has
 * returned and is not called again. `missed`: so many, of any level, were overwritten since the call before because it was too
 * slow. Errors: SYSTEM (no thread; the former one stays), MISUSE (from the listener itself), INVALID. */
CEN_API cen_status cen_events_listen(cen_event_level least,
                                     void (*listener)(void *argument, const cen_event *event, uint64_t missed),
                                     void *argument, cen_error *error);

/* "trace", "detail", "notice", "warning", "error"; "?" if it is none. */
CEN_API const char *cen_event_level_name(cen_event_level level);

/* "opened", "leak", "breaker_closed"; "program"; "?" if it is none. */
CEN_API const char *cen_event_kind_name(cen_event_kind kind);

/* ---- After a crash ------------------------------------------------------------ */

/* From now on the rings, 2.5 megabytes, are in this file, which only the same user may read; what was told before is in it,
 * too. It stays when the process is gone, however it went, and needs no end. What was there under that name, of an
 * earlier run say, is now PATH.old. Once per process. Errors: SYSTEM (the text says why), EXISTS (it has one),
 * INVALID (no path, too long a one, or something is there that is no file). */
CEN_API cen_status cen_events_persist(const char *path, cen_error *error);

/* Calls `show` for all events in such a file, or in a core file, oldest first. The process may still be writing. A core file is
 * searched from one end to the other. What is damaged is left out. The texts are as the process wrote them, or as whoever
 * made the file did: they may have anything in them but a zero. Errors: SYSTEM (it cannot be read), ABSENT (it is no such
 * file), NO_MEMORY, INVALID. */
CEN_API cen_status cen_events_read_file(const char *path, void (*show)(void *argument, const cen_event *event),
                                        void *argument, cen_error *error);

#ifdef __cplusplus
}
#endif
#endif
