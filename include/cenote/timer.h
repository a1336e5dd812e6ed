/* SPDX-License-Identifier: MIT */
/*
 * A timer: a future that is done when a moment has come.
 *
 * The struct is the program's own; nothing is allocated for it. What can be done
 * with a future can be done with timer.future: wait for it, be told, put it into a
 * group with what it limits, give it up.
 *
 *     cen_timer timer;
 *     cen_timer_init(&timer);
 *     cen_timer_start(&timer, NULL, cen_in_ms(500));
 *     cen_future_then(&timer.future, on_time, cen_inbox_executor(inbox));
 *     // ...
 *     if (cen_future_cancel(&timer.future)) puts("in time");      // it never will be done
 *
 * Memory: from start until the future is done or given up the struct is the
 * library's and must stay where it is, as future.h says. A timer that was started
 * in the parent of a fork is never done in the child, where cancel says true.
 *
 * Threads: as future.h says. One thread starts it, and has it seen by the others.
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

typedef struct cen_timer {
    cen_future future; /* done with OK and NULL */
    /* cenote's */
    cen_runtime *runtime_;
    uint64_t epoch_;
    union {
        int64_t aligned_;
        char room_[64];
    } alarm_;
    CEN_ATOMIC_(uint32_t) claim_;
    uint32_t reserved_[5];
} cen_timer;

/* Makes it ready, the first time and each further one. NULL is allowed. */
CEN_API void cen_timer_init(cen_timer *timer);

/* Lets timer->future be done at `when` on the runtime's clock, or soon if that has
 * passed; from CEN_NEVER only a cancel delivers it. A relative time counts from this
 * call. It is never done within the call: the runtime's keeper does it, or poll and
 * advance of a manual runtime; an inline `done` runs there and should be short.
 *
 * Until it is done or given up it is a user of the runtime: the free of an explicit
 * one answers BUSY before, and not after. NULL: the process' own, which ends with its
 * last user. Whoever has nothing but a timer now and then has a thread begun and
 * ended for each, unless the next is started before or in an inline `done`.
 *
 * Errors: INVALID (NULL, or CEN_DEFAULT: a timer has none), MISUSE (it was started, and not made
 * ready since), NO_MEMORY, SYSTEM (no thread could be had that keeps time), FORKED: nothing changes. */
CEN_API cen_status cen_timer_start(cen_timer *timer, cen_runtime *runtime, cen_deadline when);

#ifdef __cplusplus
}
#endif
#endif
