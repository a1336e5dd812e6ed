/* SPDX-License-Identifier: MIT */
/*
 * Read-copy-update by liburcu, its bulletproof flavour.
 *
 * What is left to do here: waiting for a grace period, and fork. liburcu keeps a
 * list of the threads that have ever read. In the child of a fork only one of
 * them is alive, and a wait there would wait for sections of threads that are gone;
 * liburcu offers three hooks that put this right. They are installed once; two
 * installers would lock the same lock twice at a fork, so a program that installs
 * them itself says so (cen_rcu_skip_fork_hooks) before it makes anything.
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
    /* Without memory for it the child must not wait for a grace period; nothing of ours in a child does. */
    (void)pthread_atfork(urcu_bp_before_fork, urcu_bp_after_fork_parent, urcu_bp_after_fork_child);
}

void cen_rcu_skip_fork_hooks(void)
{
    (void)ceni_exchange_acq_rel(&joined, true); /* [U1] */
}
