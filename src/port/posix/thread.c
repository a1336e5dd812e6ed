/* SPDX-License-Identifier: MIT */
/*
 * Threads on pthreads, and what a thread can ask about itself.
 *
 * A new thread gets a record from the heap that says what to run; it frees
 * the record before it runs anything, so that a thread that never ends owns
 * nothing. Signals are blocked in the starting thread around the start,
 * because the mask is inherited and a thread that blocked them itself would
 * have a moment in which a handler of the program's could run on it.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/fault.h"
#include "port/posix/cancel.h"
#include "port/posix/own.h"

_Thread_local ceni_port_own ceni_own;

/* ---- Start and join ------------------------------------------------------ */

enum { NAME_SIZE = 16 }; /* what the kernel keeps, with the final zero */

typedef struct start_record {
    void (*run)(void *);
    void *argument;
    char name[NAME_SIZE]; /* empty: none */
} start_record;

_Static_assert(sizeof(pthread_t) <= sizeof(uint64_t), "a ceni_thread holds a pthread_t");

static void *thread_begins(void *start)
{
    start_record record = *(start_record *)start;
    ceni_free(NULL, start, sizeof record, _Alignof(start_record));
    if (record.name[0]) pthread_setname_np(pthread_self(), record.name);
    record.run(record.argument);
    return NULL;
}

static int create_with_signals_blocked(pthread_t *thread, start_record *record)
{
    if (ceni_fault(CENI_FAULT_THREAD)) return EAGAIN;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(thread, NULL, thread_begins, record);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

cen_status ceni_thread_start(ceni_thread *thread, const char *name, void (*run)(void *), void *argument, int *code)
{
    pthread_t started;
    int failure = ENOMEM;
    start_record *record = ceni_alloc(NULL, sizeof *record, _Alignof(start_record));
    if (!record) goto fail;
    record->run = run;
    record->argument = argument;
    if (name) memcpy(record->name, name, strnlen(name, NAME_SIZE - 1)); /* the rest is zero */
    failure = create_with_signals_blocked(&started, record);
    if (failure) goto undo_record;
    thread->handle = (uint64_t)(uintptr_t)started;
    return CEN_OK;

undo_record:
    ceni_free(NULL, record, sizeof *record, _Alignof(start_record));
fail:
    *code = failure;
    return CEN_SYSTEM;
}

void ceni_thread_join(ceni_thread *thread)
{
    int cancel = ceni_cancel_off();
    pthread_join((pthread_t)(uintptr_t)thread->handle, NULL);
    ceni_cancel_restore(cancel);
}

ceni_thread ceni_thread_self(void)
{
    return (ceni_thread){(uint64_t)(uintptr_t)pthread_self()};
}

void ceni_thread_detach(ceni_thread *thread)
{
    pthread_detach((pthread_t)(uintptr_t)thread->handle);
}

void ceni_thread_yield(void)
{
    sched_yield();
}

/* ---- What a thread can ask ------------------------------------------------ */

uint64_t ceni_thread_id(void)
{
    static _Atomic uint64_t last_id;
    if (!ceni_own.id) ceni_own.id = ceni_add_relaxed(&last_id, 1) + 1; /* a number only; carries nothing */
    return ceni_own.id;
}

uint64_t *ceni_thread_room(void)
{
    return ceni_own.room;
}

int ceni_cancel_hold(void)
{
    return ceni_cancel_off();
}

void ceni_cancel_release(int held)
{
    ceni_cancel_restore(held);
}

static unsigned count_cpus(void)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return (unsigned)CPU_COUNT(&allowed);
    long online = sysconf(_SC_NPROCESSORS_ONLN); /* more processors than a cpu_set_t has bits */
    return online > 0 ? (unsigned)online : 1;
}

unsigned ceni_cpu_count(void)
{
    static _Atomic unsigned known;
    unsigned count = ceni_load_relaxed(&known); /* every thread would count the same; carries nothing */
    if (count) return count;
    count = count_cpus();
    ceni_store_relaxed(&known, count);
    return count;
}

unsigned ceni_cpu_current(void)
{
    int cpu = sched_getcpu();
    return cpu < 0 ? 0 : (unsigned)cpu;
}

/* ---- Random numbers --------------------------------------------------------
 * Splitmix64: a counter with an odd stride, and a mix of shifts and products
 * in which every bit of the counter reaches every bit of the result. For
 * jitter and fairness, not for secrets. */

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* The process and the stack's address tell apart what the clock cannot:
 * threads and forked children that were born in the same tick. */
static uint64_t new_seed(uint64_t epoch)
{
    uint64_t seed = mix((uint64_t)ceni_clock_now());
    seed = mix(seed + ceni_thread_id());
    seed = mix(seed + ((uint64_t)getpid() << 32) + epoch);
    return mix(seed + (uint64_t)(uintptr_t)&ceni_own);
}

uint64_t ceni_random(void)
{
    uint64_t epoch = ceni_fork_epoch();
    if (ceni_own.random_epoch != epoch) {
        ceni_own.random = new_seed(epoch);
        ceni_own.random_epoch = epoch;
    }
    ceni_own.random += 0x9E3779B97F4A7C15u;
    return mix(ceni_own.random);
}
