/* SPDX-License-Identifier: MIT */
/*
 * Read-copy-update by liburcu, its bulletproof flavour.
 *
 * This file waits for grace periods and handles fork. liburcu has a list of the threads that have ever read. In a
 * forked child only one of them exists, and a wait for a grace period would wait for sections of the others. liburcu
 * offers three fork hooks that correct this. They must be installed only once: two installations would lock the same
 * lock twice at a fork. A program that installs them itself declares that (cen_rcu_skip_fork_hooks) before it makes
 * any object.
 *
 * Order table
 * [U1] join, exchange | exchange | acq_rel | itself in another thread | `joined` | the hooks are installed twice, and a fork locks a lock twice
 */
#include <pthread.h>

#include <cenote/read.h>

#include "rcu/rcu.h"

_Thread_local uint64_t ceni_route_words[CENI_ROUTE_ROOM];

#ifdef CENI_RCU_TSAN
char ceni_rcu_tag;
#endif

static _Atomic bool joined;

void ceni_rcu_wait(void)
{
    urcu_bp_synchronize_rcu();
#ifdef CENI_RCU_TSAN
    __tsan_acquire(&ceni_rcu_tag);
#endif
}

void ceni_rcu_join(void)
{
    if (ceni_exchange_acq_rel(&joined, true)) return; /* [U1] */
    /* If there is no memory for the hooks, a child must not wait for a grace period; cenote does not do that in a
     * child. */
    (void)pthread_atfork(urcu_bp_before_fork, urcu_bp_after_fork_parent, urcu_bp_after_fork_child);
}

void cen_rcu_skip_fork_hooks(void)
{
    (void)ceni_exchange_acq_rel(&joined, true); /* [U1] */
}
