/* SPDX-License-Identifier: MIT */
/*
 * Status codes and the error that travels with an operation.
 *
 * Every function that can fail returns a cen_status. Those that can say more
 * also take a cen_error, owned by the caller and always optional (NULL).
 *
 *     cen_error err;
 *     if (cen_queue_new(&options, &queue, &err) != CEN_OK)
 *         fprintf(stderr, "%s\n", err.text);
 *
 * Threads: nothing here is shared; every function may be called anywhere.
 */
#ifndef CENOTE_STATUS_H
#define CENOTE_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CEN_API __attribute__((visibility("default")))
#else
#define CEN_API
#endif

/* Called by its address, without a detour that costs as much as what it does. */
#if defined(__GNUC__) && !defined(__clang__)
#define CEN_DIRECT_ __attribute__((noplt))
#else
#define CEN_DIRECT_
#endif

/* One list: code, name, sentence. New codes are appended, never renumbered. */
#define CEN_STATUS_LIST(X) \
    X(0, OK, "the operation succeeded") \
    X(1, TIMEOUT, "the deadline passed") \
    X(2, CLOSED, "it is closed") \
    X(3, FULL, "there is no room") \
    X(4, EMPTY, "there is nothing to take") \
    X(5, INVALID, "an argument or a setting is invalid") \
    X(6, NO_MEMORY, "the process is out of memory") \
    X(7, SYSTEM, "a system call failed") \
    X(8, STALE, "the lease has ended") \
    X(9, FOREIGN, "the lease belongs to another pool") \
    X(10, REVOKED, "the lease was revoked") \
    X(11, FORKED, "it belongs to the parent process") \
    X(12, MISUSE, "the call is not allowed here") \
    X(13, DRIVER, "the driver failed") \
    X(14, INTERRUPTED, "the wait was interrupted") \
    X(15, BUSY, "it is still in use") \
    X(16, OVERLOAD, "it was refused because of overload") \
    X(17, EXISTS, "the name is already taken") \
    X(18, ABSENT, "there is none of that name") \
    X(19, DOWN, "it is down or cannot be reached") \
    X(20, LOST, "the connection was lost")

typedef enum cen_status {
#define CEN_STATUS_ENUM_(code, name, sentence) CEN_##name = code,
    CEN_STATUS_LIST(CEN_STATUS_ENUM_)
#undef CEN_STATUS_ENUM_
} cen_status;

/* Why an operation was refused or failed: what a program decides by. The text of an error says the same to people, and no
 * program should read it. One list: number, name, word. New causes are appended, never renumbered. */
#define CEN_CAUSE_LIST(X) \
    X(0, NONE, "none")                      /* not known, or the status says it all */ \
    X(1, QUEUE_FULL, "queue_full")          /* as many wait as may: max_waiters */ \
    X(2, BREAKER_OPEN, "breaker_open")      /* opening fails, and the circuit breaker is open or half-open */ \
    X(3, LATE, "late")                      /* it would most likely be served after its deadline: refuse_late */ \
    X(4, SHED, "shed")                      /* load shedding: waits have been too long for too long */ \
    X(5, LANE_FULL, "lane_full")            /* as many tasks of this lane are admitted as may be: max_tasks */ \
    X(6, ALL_LANES_FULL, "all_lanes_full")  /* as many of all lanes: max_total */ \
    X(7, CLOSED, "closed")                  /* it has been closed or stopped */ \
    X(8, PAUSED, "paused")                  /* the pool is paused: nothing is lent until it is resumed */ \
    X(9, SELF_WAIT, "self_wait")            /* the holder that waits holds all objects itself */ \
    X(10, OPENING_FAILED, "opening_failed") /* there is room, and no object can be opened */ \
    X(11, OPENING_SLOW, "opening_slow")     /* an object is being opened, and was not ready in time */ \
    X(12, NOT_OPENED, "not_opened")         /* there is room, and no helper thread has begun to open */ \
    X(13, NO_OBJECTS, "no_objects")         /* the pool opens none, and none was adopted */ \
    X(14, LEAK, "leak")                     /* an object is held so long that a leak is suspected */ \
    X(15, EXHAUSTED, "exhausted")           /* all objects are in use, and come back too slowly */ \
    X(16, REVOKED, "revoked")     /* the lease was revoked; revoked ones are not given back, and none is in use */ \
    X(17, CLOSING, "closing")     /* no object is in use; they are being closed */ \
    X(18, RESETTING, "resetting") /* no object is in use; they are being reset */ \
    X(19, HEALTH_CHECK, "health_check")     /* the time went into health checks, which failed or still run */ \
    X(20, FREE_AGAIN, "free_again")         /* nothing was free in its time, and something is now */ \
    X(21, BEHIND_WAITERS, "behind_waiters") /* others wait, and most likely come first */ \
    X(22, INTERRUPTED, "interrupted")       /* by cen_pool_interrupt */ \
    X(23, STOPPED, "stopped")               /* the stop token is set */ \
    X(24, INSIDE_CALL, "inside_call")       /* the call comes from the pool's own driver or visitor */ \
    X(25, EXPIRED, "expired")               /* the deadline had passed before it began */ \
    X(26, NO_MEMBER, "no_member")           /* no member of the router is up */ \
    X(27, MEMBERS_FULL, "members_full")     /* every member of the router is full */ \
    X(28, READ_SECTION, "read_section")     /* it would have to wait, in a read section */ \
    X(29, NOT_LOOPBACK, "not_loopback")     /* other machines reach the address, and options.anywhere is not set */ \
    X(30, NO_HELPER, "no_helper")           /* a call of the driver waits for a helper thread: max_helpers */

typedef enum cen_cause {
#define CEN_CAUSE_ENUM_(code, name, word) CEN_CAUSE_##name = code,
    CEN_CAUSE_LIST(CEN_CAUSE_ENUM_)
#undef CEN_CAUSE_ENUM_
} cen_cause;

#define CEN_ERROR_TEXT_SIZE 480

/* What went wrong, in full. Flat and copyable; written only by a call that
 * received it and failed. */
typedef struct cen_error {
    cen_status status;
    int code;               /* the operating system's or the driver's own number, or 0 */
    cen_cause cause;        /* why it was refused or failed; NONE: not known */
    int64_t retry_after_ns; /* if it was refused: an estimate of when to try again; else 0 */
    int64_t current, max;   /* with a limit that was reached: how many there were, and how many there may be; else 0 */
    char text[CEN_ERROR_TEXT_SIZE]; /* a whole sentence that names the culprit */
} cen_error;

/* The code's name, "CEN_TIMEOUT"; for a number that is no code, "CEN_?". */
CEN_API const char *cen_status_name(cen_status status);

/* The code's sentence, without a full stop. */
CEN_API const char *cen_status_text(cen_status status);

/* The cause's word, "queue_full"; for a number that is no cause, "?". */
CEN_API const char *cen_cause_name(cen_cause cause);

#ifdef __cplusplus
}
#endif
#endif
