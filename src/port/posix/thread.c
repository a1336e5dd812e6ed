/* SPDX-License-Identifier: MIT */
/*
 * Threads on pthreads; thread numbers, processors and random numbers.
 *
 * A new thread gets a record from the heap with the function to run. It frees the record before it calls the
 * function, so that a thread that never ends leaks nothing. The starting thread blocks all signals around the start,
 * because the mask is inherited. If the new thread blocked them itself, a signal handler of the program could run on
 * it before that.
 *
 * A thread that is bound to certain processors waits at its gate until the starting thread has placed it. The naive
 * version passes the set with the attributes of the start. Not every libc can do that, and the kernel uses the
 * processors it allows and silently ignores the others. So the starting thread sets the processors, reads them back,
 * and then opens the gate: the new thread runs, or it leaves before it has run anything. The starting thread's own
 * processors are not compared: it may be bound to one processor and still start threads for others.
 *
 * Order table
 * tag  site      | operation | order   | pairs with | carries                         | breaks if weakened
 * [G1] open_gate | store     | release | [G2]       | that it was the last touch      | the thread frees the record while the starter uses it
 * [G2] pass_gate | load      | acquire | [G1]       | the same                        | the same
 *
 * Tested by tests/unit/port/thread_test.c, tests/unit/port/thread_options_test.c.
 */
#include <errno.h>
#include <limits.h>
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
_Thread_local uint64_t ceni_words[CENI_THREAD_ROOM];

uint64_t *ceni_thread_room_of(void)
{
    return ceni_words;
}

/* ---- Start and join ------------------------------------------------------ */

enum { NAME_SIZE = 16 }; /* the kernel's limit, with the final zero */

typedef enum gate {
    GATE_HELD, /* the thread waits */
    GATE_GO,
    GATE_LEAVE, /* without having run anything */
} gate;

typedef struct start_record {
    void (*run)(void *);
    void *argument;
    _Atomic uint32_t gate; /* a futex word */
    char name[NAME_SIZE];  /* empty: none */
} start_record;

_Static_assert(sizeof(pthread_t) <= sizeof(uint64_t), "a ceni_thread holds a pthread_t");

static void open_gate(start_record *record, gate how)
{
    /* [G1] the thread may free the record from here on: the wake uses its address only as a name */
    ceni_store_release(&record->gate, (uint32_t)how);
    ceni_futex_wake(&record->gate, 1);
}

static gate pass_gate(start_record *record)
{
    for (;;) {
        uint32_t how = ceni_load_acquire(&record->gate); /* [G2] */
        if (how != GATE_HELD) return (gate)how;
        ceni_futex_wait(&record->gate, GATE_HELD, CENI_FOREVER);
    }
}

static void free_record(start_record *record)
{
    ceni_own_free(record, sizeof *record, _Alignof(start_record));
}

static void *thread_begins(void *start)
{
    start_record *record = start;
    gate how = pass_gate(record);
    void (*run)(void *) = record->run;
    void *argument = record->argument;
    if (record->name[0]) pthread_setname_np(pthread_self(), record->name);
    free_record(record);
    if (how == GATE_GO) run(argument);
    return NULL;
}

static int create_with_signals_blocked(pthread_t *thread, const pthread_attr_t *attributes, start_record *record)
{
    if (ceni_fault(CENI_FAULT_THREAD)) return EAGAIN;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(thread, attributes, thread_begins, record);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

static int set_stack_size(pthread_attr_t *attributes, size_t wanted)
{
    size_t least = (size_t)PTHREAD_STACK_MIN, page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = wanted < least ? least : wanted;
    if (size > SIZE_MAX - page) return EINVAL;
    return pthread_attr_setstacksize(attributes, (size + page - 1) / page * page);
}

/* Room for as many processors as a kernel can be built for. */
enum { CPU_SETS = 8, CPUS = CPU_SETS * CPU_SETSIZE };

/* Places a thread that is held at its gate. */
static int place(pthread_t thread, const uint32_t *cpus, size_t count)
{
    cpu_set_t wanted[CPU_SETS], had[CPU_SETS];
    CPU_ZERO_S(sizeof wanted, wanted);
    for (size_t i = 0; i < count; i++) {
        if (cpus[i] >= CPUS) return EINVAL;
        CPU_SET_S(cpus[i], sizeof wanted, wanted);
    }
    if (ceni_fault(CENI_FAULT_THREAD)) return EAGAIN;
    CPU_ZERO_S(sizeof had, had);
    int failure = pthread_setaffinity_np(thread, sizeof wanted, wanted);
    if (!failure) failure = pthread_getaffinity_np(thread, sizeof had, had);
    if (failure) return failure;
    return CPU_EQUAL_S(sizeof had, had, wanted) ? 0 : EINVAL;
}

static int place_and_let_go(pthread_t thread, start_record *record, const ceni_thread_options *options)
{
    int failure = place(thread, options->cpus, options->cpu_count);
    open_gate(record, failure ? GATE_LEAVE : GATE_GO);
    if (failure) ceni_thread_join(&(ceni_thread){(uint64_t)(uintptr_t)thread});
    return failure;
}

cen_status ceni_thread_start_with(ceni_thread *thread, const ceni_thread_options *options, void (*run)(void *),
                                  void *argument, int *code)
{
    pthread_t started;
    pthread_attr_t attributes;
    int failure = ENOMEM;
    start_record *record = ceni_own_alloc(sizeof *record, _Alignof(start_record));
    if (!record) goto fail;
    record->run = run;
    record->argument = argument;
    /* No other thread has the record yet; carries nothing. */
    ceni_store_relaxed(&record->gate, (uint32_t)(options->cpu_count ? GATE_HELD : GATE_GO));
    if (options->name)
        memcpy(record->name, options->name, strnlen(options->name, NAME_SIZE - 1)); /* the rest is zero */
    failure = pthread_attr_init(&attributes);
    if (failure) goto undo_record;
    if (options->stack_size) failure = set_stack_size(&attributes, options->stack_size);
    if (!failure) failure = create_with_signals_blocked(&started, &attributes, record);
    pthread_attr_destroy(&attributes);
    if (failure) goto undo_record;
    if (options->cpu_count) failure = place_and_let_go(started, record, options);
    if (failure) goto fail; /* the thread has freed the record */
    thread->handle = (uint64_t)(uintptr_t)started;
    return CEN_OK;

undo_record:
    free_record(record);
fail:
    *code = failure;
    return CEN_SYSTEM;
}

cen_status ceni_thread_start(ceni_thread *thread, const char *name, void (*run)(void *), void *argument, int *code)
{
    return ceni_thread_start_with(thread, &(ceni_thread_options){.name = name}, run, argument, code);
}

size_t ceni_thread_stack_size(void)
{
    pthread_attr_t attributes;
    size_t size = 0;
    if (pthread_attr_init(&attributes) != 0) return 0;
    pthread_attr_getstacksize(&attributes, &size);
    pthread_attr_destroy(&attributes);
    return size;
}

/* The libc's record of a cleanup is in a frame without other locals: without -fexceptions the libc returns to this
 * frame by a longjmp, after which locals that have changed are undefined. */
void ceni_thread_run_guarded(void (*run)(void *), void (*lost)(void *), void *argument)
{
    pthread_cleanup_push(lost, argument);
    run(argument);
    pthread_cleanup_pop(0);
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

/* ---- Numbers, marks, processors ------------------------------------------- */

uint64_t ceni_thread_id(void)
{
    static _Atomic uint64_t last_id;
    if (ceni_own.id) return ceni_own.id;
    uint64_t id = ceni_add_relaxed(&last_id, 1) + 1; /* only a number; carries nothing */
    ceni_own.id = id & ((UINT64_C(1) << CENI_THREAD_ID_BITS) - 1);
    ceni_thread_remember(ceni_own.id);
    return ceni_own.id;
}

void ceni_thread_set_in_call(bool in_call)
{
    ceni_own.in_call = in_call;
}

bool ceni_thread_in_call(void)
{
    return ceni_own.in_call;
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
    long online = sysconf(_SC_NPROCESSORS_ONLN); /* there are more processors than bits in a cpu_set_t */
    return online > 0 ? (unsigned)online : 1;
}

unsigned ceni_cpu_count(void)
{
    static _Atomic unsigned known;
    unsigned count = ceni_load_relaxed(&known); /* every thread counts the same number; carries nothing */
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
 * Splitmix64: a counter with an odd stride, mixed by shifts and products until every bit of the counter affects every
 * bit of the result. For jitter and fairness, not for secrets. */

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* The thread's number, the process, the epoch and an address distinguish threads and forked children that were
 * created in the same tick of the clock. */
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
