/* SPDX-License-Identifier: MIT */
/* Choices that several kinds of things offer. */
#ifndef CENOTE_CHOICE_H
#define CENOTE_CHOICE_H

/* Who comes first. */
typedef enum cen_priority { CEN_PRIORITY_NORMAL = 0, CEN_PRIORITY_HIGH, CEN_PRIORITY_LOW } cen_priority;

/* What the child of a fork has of it. The parent never notices. */
typedef enum cen_fork_policy {
    CEN_FORK_REFUSE = 0, /* every call answers FORKED and touches nothing */
    CEN_FORK_RENEW,      /* its first call makes it anew, empty and with the same options; each header says the rest */
} cen_fork_policy;

/* How something that runs work ends. */
typedef enum cen_stop {
    CEN_STOP_DRAIN = 1, /* what has been sent is done; for later: at once */
    CEN_STOP_DROP,      /* what has not begun is dropped, and whoever waits for it is told */
} cen_stop;

#endif
