/* SPDX-License-Identifier: MIT */
/*
 * Fail the Nth: every allocation and every call of the seam that the system may
 * refuse asks ceni_fault() first, and a test can make the Nth such question answer
 * "fail". In builds without CENI_PLANTS the question costs nothing: it is the
 * constant false.
 *
 * A sweep runs an operation with n = 1, 2, ... until ceni_fault_disarm()
 * says false, that is, until the operation needed fewer than n of them.
 */
#ifndef CENI_BASE_FAULT_H
#define CENI_BASE_FAULT_H

#include <stdbool.h>

typedef enum ceni_fault_kind {
    CENI_FAULT_ALLOC = 1 << 0,  /* memory cannot be had */
    CENI_FAULT_THREAD = 1 << 1, /* a thread cannot be started */
    CENI_FAULT_WAIT = 1 << 2,   /* a futex wait returns at once, for no reason */
    CENI_FAULT_FD = 1 << 3,     /* a descriptor cannot be made */
    CENI_FAULT_MAP = 1 << 4,    /* a page cannot be mapped or marked */
    CENI_FAULT_KEY = 1 << 5,    /* a thread-specific key cannot be made */
    CENI_FAULT_ANY = (1 << 6) - 1,
} ceni_fault_kind;

#ifdef CENI_PLANTS
bool ceni_fault_asked(ceni_fault_kind kind);
#define ceni_fault(kind) ceni_fault_asked(kind)

/* From now on the nth question of a kind in the mask answers "fail", once. */
void ceni_fault_arm(unsigned mask, unsigned nth);

/* Stops failing; tells whether the fault armed last has been answered. */
bool ceni_fault_disarm(void);
#else
#define ceni_fault(kind) false
#endif

#endif
