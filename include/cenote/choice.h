/* SPDX-License-Identifier: MIT */
/* Enumerations that several kinds of components share. */
#ifndef CENOTE_CHOICE_H
#define CENOTE_CHOICE_H

/* Priority of a waiter or a task. */
typedef enum cen_priority { CEN_PRIORITY_NORMAL = 0, CEN_PRIORITY_HIGH, CEN_PRIORITY_LOW } cen_priority;

/* What happens to a component in the child of a fork. The parent is not affected. */
typedef enum cen_fork_policy {
    CEN_FORK_REFUSE = 0, /* every call in the child returns FORKED and touches nothing */
    /* the first call recreates it, empty and with the same options; each header gives the details */
    CEN_FORK_RENEW,
} cen_fork_policy;

/* How a component that runs tasks stops. */
typedef enum cen_stop {
    CEN_STOP_DRAIN = 1, /* submitted work is finished first; delayed work runs immediately */
    CEN_STOP_DROP,      /* work that has not started is dropped, and its waiters are notified */
} cen_stop;

#endif
