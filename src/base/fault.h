/* SPDX-License-Identifier: MIT */
/*
 * Fault injection, "fail the Nth": every allocation, and every call of port/ that the system may refuse, asks
 * ceni_fault() first. A test can make the Nth such question return true, and the call then fails. In builds without
 * CENI_PLANTS ceni_fault() is the constant false and costs nothing.
 *
 * A sweep runs an operation with n = 1, 2, ... until ceni_fault_disarm() returns false, that is, until the operation
 * needed fewer than n of these calls.
 */
#ifndef CENI_BASE_FAULT_H
#define CENI_BASE_FAULT_H

#include <stdbool.h>

typedef enum ceni_fault_kind {
    CENI_FAULT_ALLOC = 1 << 0,  /* an allocation fails */
    CENI_FAULT_THREAD = 1 << 1, /* a thread cannot be started */
    CENI_FAULT_WAIT = 1 << 2,   /* a futex wait returns at once, spuriously */
    CENI_FAULT_FD = 1 << 3,     /* a descriptor cannot be created */
    CENI_FAULT_MAP = 1 << 4,    /* a page cannot be mapped or protected */
    CENI_FAULT_KEY = 1 << 5,    /* a thread-specific key cannot be created */
    CENI_FAULT_ANY = (1 << 6) - 1,
} ceni_fault_kind;

#ifdef CENI_PLANTS
bool ceni_fault_asked(ceni_fault_kind kind);
#define ceni_fault(kind) ceni_fault_asked(kind)

/* Make the nth question of a kind in the mask, counted from now, return true, once. */
void ceni_fault_arm(unsigned mask, unsigned nth);

/* Disarm. Returns true if the fault that was armed last has happened. */
bool ceni_fault_disarm(void);
#else
#define ceni_fault(kind) false
#endif

#endif
