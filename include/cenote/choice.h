/* SPDX-License-Identifier: MIT */
/* Choices that several kinds of components offer. */
#ifndef CENOTE_CHOICE_H
#define CENOTE_CHOICE_H

/* Priority of a waiter or a task. */
typedef enum cen_priority { CEN_PRIORITY_NORMAL = 0, CEN_PRIORITY_HIGH, CEN_PRIORITY_LOW } cen_priority;

/* State of a component in the child of a fork. The parent is not affected. */
typedef enum cen_fork_policy {
    CEN_FORK_REFUSE = 0, /* every call in the child returns FORKED and touches nothing */
    CEN_FORK_RENEW,      /* the first call recreates it, empty and with the same options; each header says the rest */
} cen_fork_policy;

/* How a component that runs tasks stops. */
typedef enum cen_stop {
    CEN_STOP_DRAIN = 1, /* submitted work is done first; delayed work is done at once */
    CEN_STOP_DROP,      /* work that has not begun is dropped, and its waiters are notified */
} cen_stop;

#endif
