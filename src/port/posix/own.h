/* SPDX-License-Identifier: MIT */
/*
 * The thread-local variables of this room, in one struct beside the words of the rooms above. With the initial-exec
 * model an access is one instruction. But the space for this model is small and shared by all libraries that are
 * loaded late, so the whole project stays below 256 bytes.
 *
 * Threads: each thread touches only its own. After a fork the child's thread has a copy of the forking thread's.
 */
#ifndef CENI_PORT_POSIX_OWN_H
#define CENI_PORT_POSIX_OWN_H

#include <stdint.h>

#include "port/port.h"

typedef struct ceni_port_own {
    uint64_t id : CENI_THREAD_ID_BITS;         /* 0: not assigned yet */
    uint64_t exit_rounds : 8;                  /* rounds of the libc's destructors that have passed */
    bool exit_running : 1;                     /* the hooks are running */
    bool in_call : 1;                          /* runs code of a driver or of the program (process_exit.h) */
    bool leaving : 1;                          /* runs its destructors, and is counted until they have run */
    uint64_t random;                           /* the generator's state */
    uint64_t random_epoch;                     /* the fork epoch in which it was seeded; 0: not yet */
    void (*exit_hooks[CENI_EXIT_RANKS])(void); /* armed and not yet run; else NULL */
} ceni_port_own;

_Static_assert(sizeof(ceni_port_own) + CENI_THREAD_ROOM * sizeof(uint64_t) <= 256,
               "the thread-local budget of the project");

extern __attribute__((visibility("hidden"), tls_model("initial-exec"))) _Thread_local ceni_port_own ceni_own;

#endif
