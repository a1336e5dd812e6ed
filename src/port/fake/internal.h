/* SPDX-License-Identifier: MIT */
/* The fake port's internal header. Only files of this folder include it. */
#ifndef CENI_PORT_FAKE_INTERNAL_H
#define CENI_PORT_FAKE_INTERNAL_H

#include "base/atomic.h"
#include "port/fake/fiber.h"
#include "port/fake/world.h"
#include "port/port.h"

enum {
    WORLD_THREADS = 32,
    WORLD_BUFFER = 8,             /* stores in a store buffer */
    WORLD_STEPS = 20000,          /* in one schedule; more is reported as no progress */
    WORLD_LONG_STEPS = 400000000, /* the same for a single run */
};

typedef enum world_state {
    WORLD_READY,
    WORLD_PARKED,   /* asleep, on an address or without one; perhaps with a deadline */
    WORLD_JOINING,  /* until another thread has ended */
    WORLD_SETTLING, /* until no other thread can go on */
    WORLD_ENDED,
} world_state;

typedef struct world_store {
    volatile void *object;
    uint64_t value;
    uint8_t size;
    const ceni_site *site;
    uint32_t stamp[WORLD_THREADS]; /* the thread's clock when it was issued */
} world_store;

typedef struct world_thread {
    ceni_fiber fiber;
    char name[16];
    void (*run)(void *);
    void *argument;
    world_state state;
    bool stepped_aside; /* has polled: others go first until one of them has written something */
    bool timed_out;
    bool cancelled, cancellable; /* a cancel was requested; it is at a cancellation point */
    const volatile void *parked_on;
    int64_t deadline;
    uint64_t parked_order; /* among the sleepers on one address, which are woken FIFO */
    struct world_thread *joined;
    uint64_t past; /* hash of all events of this thread and of the events they depended on */
    world_store buffer[WORLD_BUFFER];
    unsigned buffered;
    uint64_t randoms;
    uint32_t rank_mask;
    uint64_t room[CENI_THREAD_ROOM + CENI_THREAD_ROOM_BEYOND + CENI_THREAD_ROOM_NOTED];
    void (*exit_hooks[CENI_EXIT_RANKS])(void);
    bool in_call, leaving;
} world_thread;

typedef enum step_kind {
    STEP_RUN,      /* a thread performs the operation it stopped at */
    STEP_DRAIN,    /* a store that was held back reaches memory */
    STEP_EXPIRE,   /* a deadline passes */
    STEP_HOLD,     /* a store is held back, or ... */
    STEP_COMMIT,   /* ... is not */
    STEP_GO,       /* a thread is left as it is, or its stores are drained first */
    STEP_PARK,     /* a thread sleeps, or ... */
    STEP_SPURIOUS, /* ... wakes spuriously */
    STEP_NEWEST,   /* a load returns the newest value, or ... */
    STEP_STALE,    /* ... an older one */
} step_kind;

/* One possible next step, and what it costs against the preemption bound. */
typedef struct world_step {
    uint8_t kind, thread, cost;
} world_step;

/* The letter of a kind of step in a trace. */
static inline char step_letter(world_step step)
{
    return "rdxhcgpsno"[step.kind];
}

enum { WORLD_OPTIONS = 3 * WORLD_THREADS };

/* Choose among `count` options; the first is the default: no preemption, no delay, no stale value. */
typedef unsigned (*world_plan)(const world_step *options, unsigned count);

typedef struct world {
    bool running, tso, weak;
    bool given_up; /* pruned: the schedule was abandoned in the middle */
    world_thread threads[WORLD_THREADS];
    unsigned count, most;
    world_thread *current;
    int64_t clock;
    uint64_t clock_past; /* hash of the last change of the clock */
    uint64_t steps, step_limit, parked;
    unsigned cpus;
    unsigned forks; /* forks so far; the epoch is one more */
    bool no_hooks;  /* exit hooks cannot be armed */
    world_plan plan;
    ceni_fiber home;
    void (*body)(void);
} world;

extern world the_world;

/* world.c */
void world_once(void (*body)(void), world_plan plan, uint64_t step_limit);
void world_point(void); /* the current thread is about to do something that others can see */
unsigned world_decide(const world_step *options, unsigned count);
unsigned world_index(const world_thread *thread);
uint64_t world_key(void); /* hash of the state at this point */
world_thread *world_spawn(const char *name, void (*run)(void *), void *argument);
void world_wrote(const world_thread *writer); /* threads that have polled may find a change now */
_Noreturn void world_exit(void);              /* the current thread ends here */
void world_block(void);                       /* the current thread's state is the reason why it cannot go on */

/* memory.c */
void memory_begin(void);
void memory_drain_one(world_thread *thread);
void memory_drain_all(world_thread *thread);
uint64_t memory_mix(uint64_t a, uint64_t b);
/* Add an event to the current thread's past: a read or a write of the object. */
void memory_event(const volatile void *object, uint64_t what, bool writes);
/* Add an event without an object. Every point adds an event; otherwise the state after the point would have the same
 * hash as the state before. */
void memory_step(uint64_t what);

/* order.c */
void order_begin(void);
void order_started(unsigned child, unsigned parent);
void order_joined(unsigned joiner, unsigned ended);
void order_stamp(unsigned thread, uint32_t *out);
uint64_t order_load(unsigned thread, const volatile void *address, ceni_watch_order order, uint64_t newest,
                    uint32_t *stale);
void order_peek(unsigned thread, const volatile void *address, ceni_watch_order order, uint64_t newest);
void order_store(unsigned thread, const volatile void *address, ceni_watch_order order, const uint32_t *stamp,
                 uint64_t before, uint64_t value);
void order_rmw(unsigned thread, const volatile void *address, ceni_watch_order order, uint64_t before, uint64_t value);
void order_copy(unsigned thread, const void *to, const void *from);
void order_free(unsigned thread, const void *memory, size_t size);

/* arena.c */
void arena_begin(void);
void arena_end(void);
void arena_check(const volatile void *object, const char *doing);

/* story.c */
void story_begin(void);
void story_note(const ceni_site *site, const char *what, uint64_t a, uint64_t b);
void story_step(unsigned point, world_step step);
void story_print(void);

/* From now on an invalid memory access in a body prints a report and ends the process. Idempotent. */
void crash_report(void);

#endif
