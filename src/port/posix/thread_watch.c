/* SPDX-License-Identifier: MIT */
/*
 * Thread watches: they report that a thread has ended, after its last destructor.
 *
 * The watched thread locks a robust mutex and never unlocks it. When the thread has ended, the kernel or the libc
 * marks the mutex and wakes the threads that wait for it. Exit hooks cannot do that: the libc runs a limited number
 * of rounds of destructors, and code of the program may run after the last hook.
 *
 * Tested by tests/unit/pool/last_round_test.c.
 */
#include <errno.h>
#include <pthread.h>

#include "base/fault.h"
#include "port/posix/own.h"

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(ceni_thread_watch), "a watch has room for a mutex");

static pthread_mutex_t *mutex_of(ceni_thread_watch *watch)
{
    return (pthread_mutex_t *)(void *)watch->room;
}

cen_status ceni_thread_watch_begin(ceni_thread_watch *watch)
{
    pthread_mutexattr_t attributes;
    if (ceni_fault(CENI_FAULT_KEY) || pthread_mutexattr_init(&attributes) != 0) return CEN_SYSTEM;
    int code = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    if (code == 0) code = pthread_mutex_init(mutex_of(watch), &attributes);
    pthread_mutexattr_destroy(&attributes);
    if (code != 0) return CEN_SYSTEM;
    return pthread_mutex_lock(mutex_of(watch)) == 0 ? CEN_OK : CEN_SYSTEM;
}

void ceni_thread_watch_await(ceni_thread_watch *watch)
{
    /* Another result than EOWNERDEAD cannot happen, because the watched thread never unlocks. The caller goes on in
     * any case. */
    if (pthread_mutex_lock(mutex_of(watch)) == EOWNERDEAD) pthread_mutex_consistent(mutex_of(watch));
    pthread_mutex_unlock(mutex_of(watch));
    pthread_mutex_destroy(mutex_of(watch));
}
