/* SPDX-License-Identifier: MIT */
/*
 * Status codes, causes, and the error of an operation.
 *
 * Every function that can fail returns a cen_status. A function that has more to report also takes a pointer to a
 * cen_error, which belongs to the caller. The pointer may always be NULL.
 *
 *     cen_error err;
 *     if (cen_queue_new(&options, &queue, &err) != CEN_OK)
 *         fprintf(stderr, "%s\n", err.text);
 *
 * Threads: nothing here is shared. Every function may be called from any thread.
 */
#ifndef CENOTE_STATUS_H
#define CENOTE_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An exported function. */
#if defined(__GNUC__)
#define CEN_API __attribute__((visibility("default")))
#else
#define CEN_API
#endif

/* A function that is called directly by its address, because a call through a PLT would cost as much as the function
 * itself. */
#if defined(__GNUC__) && !defined(__clang__)
#define CEN_DIRECT_ __attribute__((noplt))
#else
#define CEN_DIRECT_
#endif

/* The status codes: code, name, sentence. New codes are appended; no code is renumbered. */
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

/* Result of an operation. */
typedef enum cen_status {
#define CEN_STATUS_ENUM_(code, name, sentence) CEN_##name = code,
    CEN_STATUS_LIST(CEN_STATUS_ENUM_)
#undef CEN_STATUS_ENUM_
} cen_status;

/* The causes: why an operation was refused or failed. Programs should act on the cause. The text of an error explains
 * the cause to people; programs should not parse it. Each entry consists of a number, a name and a word. New causes are
 * appended; no cause is renumbered. */
#define CEN_CAUSE_LIST(X) \
    X(0, NONE, "none")                      /* unknown, or the status says everything */ \
    X(1, QUEUE_FULL, "queue_full")          /* the wait queue is full: max_waiters */ \
    X(2, BREAKER_OPEN, "breaker_open")      /* opens are failing, and the circuit breaker is open or half-open */ \
    X(3, LATE, "late")                      /* it would most likely be served after its deadline: refuse_late */ \
    X(4, SHED, "shed")                      /* load shedding: waits have exceeded the target for too long */ \
    X(5, LANE_FULL, "lane_full")            /* the lane has as many tasks as allowed: max_tasks */ \
    X(6, ALL_LANES_FULL, "all_lanes_full")  /* all lanes together have as many tasks as allowed: max_total */ \
    X(7, CLOSED, "closed")                  /* the component is closed or stopped */ \
    X(8, PAUSED, "paused")                  /* the pool is paused: nothing is lent until it is resumed */ \
    X(9, SELF_WAIT, "self_wait")            /* the waiting holder holds all objects itself */ \
    X(10, OPENING_FAILED, "opening_failed") /* there is room, but no object can be opened */ \
    X(11, OPENING_SLOW, "opening_slow")     /* an object is being opened, but was not ready in time */ \
    X(12, NOT_OPENED, "not_opened")         /* there is room, but no helper thread has started an open */ \
    X(13, NO_OBJECTS, "no_objects")         /* the pool opens no objects, and none was adopted */ \
    X(14, LEAK, "leak")                     /* an object has been held for so long that a leak is suspected */ \
    X(15, EXHAUSTED, "exhausted")           /* all objects are in use and are given back too slowly */ \
    X(16, REVOKED, "revoked")               /* the lease was revoked, or all leases were revoked and not given back */ \
    X(17, CLOSING, "closing")               /* no object is in use; objects are being closed */ \
    X(18, RESETTING, "resetting")           /* no object is in use; objects are being reset */ \
    X(19, HEALTH_CHECK, "health_check")     /* health checks used up the time: they failed or are still running */ \
    X(20, FREE_AGAIN, "free_again")         /* nothing was free in time; an object is free now */ \
    X(21, BEHIND_WAITERS, "behind_waiters") /* other waiters will most likely be served first */ \
    X(22, INTERRUPTED, "interrupted")       /* by cen_pool_interrupt */ \
    X(23, STOPPED, "stopped")               /* the stop token is set */ \
    X(24, INSIDE_CALL, "inside_call")       /* called inside a callback of the pool */ \
    X(25, EXPIRED, "expired")               /* the deadline had passed before the work began */ \
    X(26, NO_MEMBER, "no_member")           /* no member of the router is up */ \
    X(27, MEMBERS_FULL, "members_full")     /* every member of the router is full */ \
    X(28, READ_SECTION, "read_section")     /* the call would have to wait inside a read section */ \
    X(29, NOT_LOOPBACK, "not_loopback")     /* other machines can reach the address; options.anywhere is not set */ \
    X(30, NO_HELPER, "no_helper")           /* a driver call is waiting for a helper thread: max_helpers */ \
    X(31, LOOKUP_FAILED, "lookup_failed")   /* the host name has no address, or the name service failed */ \
    X(32, CONNECT_FAILED, "connect_failed") /* the address refused the connection or cannot be reached */ \
    X(33, CONNECT_TIMEOUT, "connect_timeout")     /* the connection was not established in time */ \
    X(34, PEER_CLOSED, "peer_closed")             /* the other side closed the connection */ \
    X(35, CONNECTION_FAILED, "connection_failed") /* a read or a write failed; the error's code is errno */ \
    X(36, PROTOCOL_ERROR, "protocol_error")       /* the other side violated the protocol */ \
    X(37, REQUESTS_FULL, "requests_full")         /* the connection has as many requests as allowed: max_in_flight */ \
    X(38, LOGIN_REFUSED, "login_refused")         /* the server refused the user, the password or the database */

/* Why an operation was refused or failed. */
typedef enum cen_cause {
#define CEN_CAUSE_ENUM_(code, name, word) CEN_CAUSE_##name = code,
    CEN_CAUSE_LIST(CEN_CAUSE_ENUM_)
#undef CEN_CAUSE_ENUM_
} cen_cause;

/* The size of an error's text, including the terminating zero. */
#define CEN_ERROR_TEXT_SIZE 480

/* The full report of a failure. It may be copied. It is written only by a call that receives it and fails. */
typedef struct cen_error {
    cen_status status;
    int code;                       /* the operating system's or the driver's code, or 0 */
    cen_cause cause;                /* why the operation was refused or failed; NONE: unknown */
    int64_t retry_after_ns;         /* after a refusal, an estimate of when to try again; otherwise 0 */
    int64_t current, max;           /* if a limit was reached: the current number and the limit; otherwise 0 */
    char text[CEN_ERROR_TEXT_SIZE]; /* a whole sentence that names the component and the reason */
} cen_error;

/* Return the name of a status, such as "CEN_TIMEOUT", or "CEN_?" for an invalid number. */
CEN_API const char *cen_status_name(cen_status status);

/* Return the sentence of a status, without a full stop. */
CEN_API const char *cen_status_text(cen_status status);

/* Return the word of a cause, such as "queue_full", or "?" for an invalid number. */
CEN_API const char *cen_cause_name(cen_cause cause);

#ifdef __cplusplus
}
#endif
#endif
