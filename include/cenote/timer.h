/* SPDX-License-Identifier: MIT */
/*
 * A timer: a future that completes at a given moment.
 *
 * The struct is the program's own, and nothing is allocated for it. Use timer.future like any other future: wait for
 * it, give it a callback, cancel it, or put it into a group with the work that it limits.
 *
 *     cen_timer timer;
 *     cen_timer_init(&timer);
 *     cen_timer_start(&timer, NULL, cen_in_ms(500), NULL);
 *     cen_future_then(&timer.future, on_time, cen_inbox_executor(inbox));
 *     // ...
 *     if (cen_future_cancel(&timer.future)) puts("in time");      // on_time is never called
 *
 * Memory: from cen_timer_start until the future is done or cancelled, the struct belongs to the library and must stay
 * in place; see future.h.
 *
 * Threads: see future.h. A thread must start a timer before it shares the timer with other threads.
 * Fork: a timer that was started in the parent never completes in the child, where cen_future_cancel returns true.
 */
#ifndef CENOTE_TIMER_H
#define CENOTE_TIMER_H

#include <stdint.h>

#include <cenote/deadline.h>
#include <cenote/future.h>
#include <cenote/runtime.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A timer. Cancel it with cen_future_cancel(&timer.future). */
typedef struct cen_timer {
    cen_future future; /* completes with OK and the value NULL */
    /* private */
    cen_runtime *runtime_;
    uint64_t epoch_;
    union {
        int64_t aligned_;
        char room_[64];
    } alarm_;
    CEN_ATOMIC_(uint32_t) claim_;
    uint32_t reserved_[5];
} cen_timer;

/* Initialise a timer before its first use, and again before each further use. NULL is allowed. */
CEN_API void cen_timer_init(cen_timer *timer);

/* Start a timer: timer->future completes at `when` on the runtime's clock, or soon if that moment has passed. A
 * relative time counts from this call. With CEN_NEVER, the future never completes and can only be cancelled. `runtime`
 * NULL: the process's own. With any status other than OK, nothing changes.
 *
 * Life: until its future is done or cancelled, the timer is a user of the runtime. Until then, cen_runtime_free returns
 * BUSY for an explicit runtime. The process's own runtime ends with its last user. If it has no other users, and timers
 * are started only occasionally, a thread is started and stopped for each timer. To avoid this, start the next timer
 * before the last one completes, or in its inline `done`.
 * Callbacks: the future never completes from within this call. The runtime's timer thread completes it; in a manual
 * runtime, cen_runtime_poll or cen_runtime_advance completes it. An inline `done` runs on that thread and should be
 * short.
 * Returns:
 *   OK         the timer is running
 *   INVALID    timer is NULL, or `when` is CEN_DEFAULT: a timer has no default
 *   MISUSE     the timer was started before, and has not been initialised again
 *   NO_MEMORY  out of memory
 *   SYSTEM     the timer thread could not be started
 *   FORKED     the runtime belongs to the parent process
 */
CEN_API cen_status cen_timer_start(cen_timer *timer, cen_runtime *runtime, cen_deadline when, cen_error *error);

#ifdef __cplusplus
}
#endif
#endif
