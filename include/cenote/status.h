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
    X(0, OK, "the operation was done") \
    X(1, TIMEOUT, "the deadline passed before the operation could be done") \
    X(2, CLOSED, "it has been closed") \
    X(3, FULL, "there is no room at the moment") \
    X(4, EMPTY, "there is nothing to take at the moment") \
    X(5, INVALID, "an argument or setting is not allowed") \
    X(6, NO_MEMORY, "memory could not be had") \
    X(7, SYSTEM, "the operating system refused a call") \
    X(8, STALE, "the lease has ended") \
    X(9, FOREIGN, "the lease is not one of this pool") \
    X(10, REVOKED, "the object had been taken away from its holder") \
    X(11, FORKED, "it belongs to the process that this one was forked from") \
    X(12, MISUSE, "the call is not allowed from here") \
    X(13, DRIVER, "the driver could not do it") \
    X(14, INTERRUPTED, "another thread asked that it be given up") \
    X(15, BUSY, "it is still in use") \
    X(16, OVERLOAD, "it was refused because too much waits already") \
    X(17, EXISTS, "there is one of this name already") \
    X(18, ABSENT, "there is none of this name") \
    X(19, DOWN, "it has gone down since it was picked") \
    X(20, LOST, "the connection ended before the answer came")

typedef enum cen_status {
#define CEN_STATUS_ENUM_(code, name, sentence) CEN_##name = code,
    CEN_STATUS_LIST(CEN_STATUS_ENUM_)
#undef CEN_STATUS_ENUM_
} cen_status;

/* Which rule refused, where something is refused because there is too much of it. */
typedef enum cen_rule {
    CEN_RULE_NONE = 0,
    CEN_RULE_MAX_WAITERS, /* so many wait already */
    CEN_RULE_BREAKER,     /* nothing can be opened, and nothing else will come */
    CEN_RULE_DEADLINE,    /* it would most likely be served too late for its own deadline */
    CEN_RULE_SHED,        /* those who wait have waited for too long, for too long a time */
    CEN_RULE_MAX_TASKS,   /* so many tasks of this kind are there already */
    CEN_RULE_MAX_TOTAL,   /* so many in all */
} cen_rule;

#define CEN_ERROR_TEXT_SIZE 480

/* What went wrong, in full. Flat and copyable; written only by a call that
 * received it and failed. */
typedef struct cen_error {
    cen_status status;
    int code;               /* the operating system's or the driver's own number, or 0 */
    cen_rule rule;          /* which rule refused it, or NONE */
    int64_t retry_after_ns; /* with a rule: an estimate of when to try again; else 0 */
    int64_t current, max;   /* with a limit that was reached: how many there were, and how many there may be; else 0 */
    char text[CEN_ERROR_TEXT_SIZE]; /* a whole sentence that names the culprit */
} cen_error;

/* The code's name, "CEN_TIMEOUT"; for a number that is no code, "CEN_?". */
CEN_API const char *cen_status_name(cen_status status);

/* The code's sentence, without a full stop. */
CEN_API const char *cen_status_text(cen_status status);

#ifdef __cplusplus
}
#endif
#endif
