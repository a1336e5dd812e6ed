/* SPDX-License-Identifier: MIT */
/* Fibers: several stacks on one system thread, switched explicitly. */
#ifndef CENI_PORT_FAKE_FIBER_H
#define CENI_PORT_FAKE_FIBER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ceni_fiber {
    void *stack_pointer; /* while it does not run */
    char *stack;         /* lowest byte; NULL for the system thread's stack */
    size_t stack_size;
    void *sanitizer; /* AddressSanitizer's state of the fiber while it does not run */
    void (*entry)(void);
} ceni_fiber;

/* Prepare a fiber that calls entry() on its first switch; entry never returns. The stack is kept, and the next init
 * uses it again. */
void ceni_fiber_init(ceni_fiber *fiber, void (*entry)(void));

/* Leave `from` and continue in `to`. With `ending`, `from` never continues. */
void ceni_fiber_switch(ceni_fiber *from, ceni_fiber *to, bool ending);

/* Return true if the address is on the fiber's stack. */
bool ceni_fiber_owns(const ceni_fiber *fiber, const volatile void *address);

#endif
