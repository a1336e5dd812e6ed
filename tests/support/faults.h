/* SPDX-License-Identifier: MIT */
/*
 * Fail the Nth: an operation is run with its first allocation (or wait, or
 * whatever the mask names) failing, then with its second, and so on, until it
 * needs fewer than are to fail. Needs a world, which counts the memory.
 *
 *     static cen_status make(void) { return cen_queue_new(&options, &queue, NULL); }
 *     static const char *check(cen_status status) { return status == CEN_NO_MEMORY ? NULL : "not NO_MEMORY"; }
 *     static void undo(void) { cen_queue_free(queue); queue = NULL; }
 *
 *     TEST(a_queue_that_gets_no_memory_leaves_none_behind)
 *     {
 *         fault_sweep_check(&(fault_sweep){.mask = CENI_FAULT_ALLOC, .operation = make, .check = check, .undo = undo});
 *     }
 *
 * The sweep itself sees to it that an operation that failed holds as much
 * memory as before it, and that after undo there is as much as before setup.
 */
#ifndef TESTS_SUPPORT_FAULTS_H
#define TESTS_SUPPORT_FAULTS_H

#include <cenote/status.h>

#include "base/fault.h"

typedef struct fault_sweep {
    unsigned mask;                           /* of ceni_fault_kind */
    void (*setup)(void);                     /* before each round, nothing fails; may be NULL */
    cen_status (*operation)(void);           /* the Nth question in here is answered "fail" */
    const char *(*check)(cen_status status); /* after a fault: NULL, or what is wrong with the status or the state */
    void (*undo)(void);                      /* ends what setup and operation made, whether it failed or not */
} fault_sweep;

/* Fails the test if a round goes wrong, or if nothing could be made to fail. Returns how many faults there were. */
unsigned fault_sweep_check(const fault_sweep *sweep);

/* The same without a verdict: NULL, or what was wrong, in memory that the next call uses again. */
const char *fault_sweep_find(const fault_sweep *sweep, unsigned *faults);

#endif
