/* SPDX-License-Identifier: MIT */
#include "support/forks.h"

#include <pthread.h>
#include <stddef.h>

/* The sanitizer's own names; absent elsewhere. */
#define SANITIZERS(name, symbol) extern void name(void) __asm__(symbol) __attribute__((weak))
SANITIZERS(lock_threads, "_ZN6__lsan18LockThreadRegistryEv");
SANITIZERS(unlock_threads, "_ZN6__lsan20UnlockThreadRegistryEv");
SANITIZERS(lock_allocator, "_ZN6__lsan13LockAllocatorEv");
SANITIZERS(unlock_allocator, "_ZN6__lsan15UnlockAllocatorEv");
SANITIZERS(lock_stacks, "_ZN11__sanitizer17StackDepotLockAllEv");
SANITIZERS(unlock_stacks, "_ZN11__sanitizer19StackDepotUnlockAllEv");

static void before(void)
{
    lock_threads();
    lock_allocator();
    lock_stacks();
}

static void after(void)
{
    unlock_stacks();
    unlock_allocator();
    unlock_threads();
}

__attribute__((constructor(101))) void forks_register(void)
{
    if (lock_threads && lock_allocator && lock_stacks) pthread_atfork(before, after, after);
}
