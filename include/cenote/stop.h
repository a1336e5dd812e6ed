/* SPDX-License-Identifier: MIT */
/*
 * A stop token: a flag that ends waits.
 *
 * Life: init, or CEN_STOP_TOKEN_INIT; pass it to calls that wait; set; reset to use it again.
 *
 *     static cen_stop_token stop = CEN_STOP_TOKEN_INIT;
 *
 *     static void on_sigterm(int signal) { (void)signal, cen_stop_token_set(&stop); }
 *
 *     while (cen_pool_take_stoppable(pool, CEN_NEVER, &stop, &lease, &error) == CEN_OK) {
 *         serve(lease.object);
 *         cen_pool_give(&lease);
 *     }
 *
 * Once set, a token stays set until it is reset. A call that receives the token later returns CEN_INTERRUPTED
 * immediately, so a stop that comes too early is not lost. These calls accept a token: cen_pool_take_stoppable,
 * cen_pool_take_with, cen_pool_enter_with (cenote/pool.h), cen_future_wait_stoppable (cenote/future.h),
 * cen_select_stoppable (cenote/queue.h).
 *
 * A stopped take leaves the wait queue. To keep its place in the queue, start an asynchronous take
 * (cenote/pool_async.h) and wait for its future with cen_future_wait_stoppable. If the wait is stopped, the take stays
 * pending, and the program can wait for it again.
 *
 * Threads: every function may be called from any thread, at any time, except cen_stop_token_init. One token serves any
 * number of threads, pools and queues. cen_stop_token_set and cen_stop_token_is_set are async-signal-safe:
 * cen_stop_token_set takes no lock, allocates nothing and preserves errno.
 *
 * Memory: the token belongs to the program. It must stay in place until every call that received it, including
 * cen_stop_token_set, has returned.
 */
#ifndef CENOTE_STOP_H
#define CENOTE_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/executor.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A stop token. Initialise it with CEN_STOP_TOKEN_INIT or cen_stop_token_init. */
typedef struct cen_stop_token {
    /* private */
    CEN_ATOMIC_(uint64_t) epoch_;
    CEN_ATOMIC_(void *) first_;
    CEN_ATOMIC_(uint32_t) set_;
    CEN_ATOMIC_(uint32_t) walkers_;
    CEN_ATOMIC_(uint32_t) lock_;
    uint32_t reserved_;
} cen_stop_token;

/* Initialise a token statically, as not set. A zeroed token is equivalent. */
#ifdef __cplusplus
#define CEN_STOP_TOKEN_INIT \
    { \
    }
#else
#define CEN_STOP_TOKEN_INIT \
    { \
        0 \
    }
#endif

/* Initialise a token, as not set. No call may be using it at the time. */
CEN_API void cen_stop_token_init(cen_stop_token *stop);

/* Set the token, and wake every call that is waiting with it. Each of these calls is stopped, even if
 * cen_stop_token_reset follows immediately. Setting a token that is already set has no further effect on later calls.
 * NULL is ignored. This function is async-signal-safe.
 * Blocking: never waits. The time is proportional to the number of waiting calls. */
CEN_API void cen_stop_token_set(cen_stop_token *stop);

/* Clear the token: calls that receive it from now on wait again. Calls that the token has already stopped are not
 * affected. */
CEN_API void cen_stop_token_reset(cen_stop_token *stop);

/* Return true if the token is set. A NULL token is never set. This function is async-signal-safe. */
CEN_API bool cen_stop_token_is_set(const cen_stop_token *stop);

/* ---- Caveats --------------------------------------------------------------
 * fork: the child may set, reset and test a token of its parent. Setting it wakes no thread of the parent. Before the
 * child can wait with the token, it must call cen_stop_token_init; until then, a call that receives the token returns
 * CEN_FORKED. If no call waited with the token before the fork, cen_stop_token_init is not needed.
 */

#ifdef __cplusplus
}
#endif
#endif
