/* SPDX-License-Identifier: MIT */
/*
 * The scheduler: it decides which thread goes on at each point.
 *
 * A thread that is about to do something visible calls world_point(). There the possible next steps are listed and
 * the plan chooses one. Either the caller returns and performs its operation, or the scheduler switches to another
 * fiber, which returns from its own world_point(). So "run t" always means: t performs the operation that it stopped
 * at, and goes on to its next point.
 *
 * The first option is the default: the current thread if it can go on, otherwise the next one that can. Leaving a
 * thread that could go on costs one preemption. So do letting a deadline pass while a thread can run, and holding
 * back a store. A thread that polls (pause, yield) steps aside until another has written something: leaving it is
 * free, and letting it go on costs a preemption. So spin loops stay finite and no schedule is lost.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/statics.h"
#include "port/fake/internal.h"
#include "port/process_exit.h"

world the_world;

unsigned world_index(const world_thread *thread)
{
    return (unsigned)(thread - the_world.threads);
}

bool ceni_world_running(void)
{
    return the_world.running;
}

void ceni_world_fail(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    story_print();
    printf("     the world: %s\n", text);
    fflush(stdout);
    _exit(1);
}

/* ---- Listing the possible next steps ---------------------------------------- */

static bool can_go_on(const world_thread *thread)
{
    return thread->state == WORLD_READY;
}

static void add(world_step *options, unsigned *count, step_kind kind, const world_thread *thread, unsigned cost)
{
    options[*count] = (world_step){(uint8_t)kind, (uint8_t)world_index(thread), (uint8_t)cost};
    (*count)++;
}

/* Threads in round-robin order, beginning with the current one. */
static unsigned add_runs(world_step *options, bool aside_too, unsigned cost)
{
    unsigned count = 0;
    for (unsigned i = 0; i < the_world.count; i++) {
        unsigned turn = (world_index(the_world.current) + i) % the_world.count;
        world_thread *thread = &the_world.threads[turn];
        if (can_go_on(thread) && (aside_too || !thread->stepped_aside))
            add(options, &count, STEP_RUN, thread, thread == the_world.current ? 0 : cost);
    }
    return count;
}

/* Threads that poll may go on before another has written something; it costs a preemption. */
static void add_impatient_runs(world_step *options, unsigned *count, unsigned cost)
{
    for (unsigned i = 0; i < the_world.count; i++) {
        const world_thread *thread = &the_world.threads[i];
        if (can_go_on(thread) && thread->stepped_aside) add(options, count, STEP_RUN, thread, cost + 1);
    }
}

static unsigned add_settled(world_step *options)
{
    unsigned count = 0;
    for (unsigned i = 0; i < the_world.count; i++)
        if (the_world.threads[i].state == WORLD_SETTLING) add(options, &count, STEP_RUN, &the_world.threads[i], 0);
    return count;
}

static bool earlier_deadline(const world_thread *thread)
{
    for (unsigned i = 0; i < the_world.count; i++) {
        const world_thread *other = &the_world.threads[i];
        if (other->state == WORLD_PARKED && other->deadline < thread->deadline) return true;
    }
    return false;
}

/* Deadlines pass in their order, so that the clock never goes back. */
static void add_expiries(world_step *options, unsigned *count, unsigned cost)
{
    for (unsigned i = 0; i < the_world.count; i++) {
        const world_thread *thread = &the_world.threads[i];
        if (thread->state == WORLD_PARKED && thread->deadline != CENI_FOREVER && !earlier_deadline(thread))
            add(options, count, STEP_EXPIRE, thread, cost);
    }
}

/* The current thread's buffer is not listed: while it runs on, no other thread can see when its stores reach memory.
 * See before_leaving. */
static void add_drains(world_step *options, unsigned *count)
{
    for (unsigned i = 0; i < the_world.count; i++) {
        const world_thread *thread = &the_world.threads[i];
        if (thread->buffered && thread != the_world.current) add(options, count, STEP_DRAIN, thread, 0);
    }
}

static unsigned list_options(world_step *options)
{
    const world_thread *current = the_world.current;
    bool leaving_costs = can_go_on(current) && !current->stepped_aside;
    unsigned count = add_runs(options, false, leaving_costs);
    if (count == 0) count = add_runs(options, true, 0);
    else add_impatient_runs(options, &count, leaving_costs);
    if (count == 0) count = add_settled(options);
    add_drains(options, &count);
    add_expiries(options, &count, count > 0);
    return count;
}

/* ---- Carrying out a choice --------------------------------------------------- */

unsigned world_decide(const world_step *options, unsigned count)
{
    unsigned choice = count > 1 ? the_world.plan(options, count) : 0;
    if (count > 1) story_step(choice, options[choice]);
    return choice;
}

void world_wrote(const world_thread *writer)
{
    for (unsigned i = 0; i < the_world.count; i++)
        if (&the_world.threads[i] != writer) the_world.threads[i].stepped_aside = false;
}

static void expire(world_thread *thread)
{
    if (the_world.clock < thread->deadline) the_world.clock = thread->deadline;
    the_world.clock_past = memory_mix(the_world.clock_past, (uint64_t)the_world.clock + world_index(thread));
    thread->past = memory_mix(thread->past, the_world.clock_past);
    thread->state = WORLD_READY;
    thread->timed_out = true;
    world_wrote(NULL); /* time has passed, and a polling thread may wait for that */
}

static void deadlock(void)
{
    for (unsigned i = 0; i < the_world.count; i++) {
        const world_thread *thread = &the_world.threads[i];
        if (thread->state == WORLD_ENDED) continue;
        printf("     %s waits %s\n", thread->name,
               thread->state == WORLD_JOINING ? "for another thread to end" : "for a wake-up that cannot come");
    }
    ceni_world_fail("deadlock: no thread can run");
}

/* The scheduler switches from the current thread to `next`. It is a choice how many of the current thread's held-back
 * stores reach memory first. */
static void before_leaving(const world_thread *next)
{
    world_thread *current = the_world.current;
    if (next == current) return;
    while (current->buffered) {
        const world_step options[2] = {{STEP_GO, (uint8_t)world_index(next), 0},
                                       {STEP_DRAIN, (uint8_t)world_index(current), 0}};
        if (world_decide(options, 2) == 0) return;
        memory_drain_one(current);
    }
}

/* Carry out steps until one of them is to run a thread; returns that thread. */
static world_thread *next_to_run(void)
{
    world_step options[WORLD_OPTIONS];
    for (;;) {
        unsigned count = list_options(options);
        if (count == 0) deadlock();
        world_step step = options[world_decide(options, count)];
        world_thread *thread = &the_world.threads[step.thread];
        if (step.kind == STEP_DRAIN) memory_drain_one(thread);
        else if (step.kind == STEP_EXPIRE) expire(thread);
        else {
            before_leaving(thread);
            return thread;
        }
    }
}

static void switch_to(world_thread *next, bool ending)
{
    world_thread *previous = the_world.current;
    next->state = WORLD_READY; /* a settling thread has now settled */
    the_world.current = next;
    if (next != previous) ceni_fiber_switch(&previous->fiber, &next->fiber, ending);
}

void world_point(void)
{
    if (++the_world.steps > the_world.step_limit) ceni_world_fail("no progress: more steps than a schedule may have");
    switch_to(next_to_run(), false);
    the_world.current->stepped_aside = false;
}

void world_block(void)
{
    the_world.steps++;
    switch_to(next_to_run(), false);
    the_world.current->stepped_aside = false;
}

/* ---- Threads -------------------------------------------------------------------- */

static void end_thread(world_thread *self)
{
    for (int rank = 0; rank < CENI_EXIT_RANKS; rank++)
        if (self->exit_hooks[rank]) self->exit_hooks[rank]();
    if (self->leaving) ceni_exit_left();
    world_point(); /* a join can see the end */
    memory_drain_all(self);
    memory_event(self, 'E', true);
    self->state = WORLD_ENDED;
    for (unsigned i = 0; i < the_world.count; i++) {
        world_thread *other = &the_world.threads[i];
        if (other->state == WORLD_JOINING && other->joined == self) other->state = WORLD_READY;
    }
}

static void thread_entry(void)
{
    world_thread *self = the_world.current;
    self->run(self->argument);
    world_exit();
}

void world_exit(void)
{
    world_thread *self = the_world.current;
    end_thread(self);
    bool last = true;
    for (unsigned i = 0; i < the_world.count; i++) last = last && the_world.threads[i].state == WORLD_ENDED;
    if (self == &the_world.threads[0] && !last) ceni_world_fail("the body ended before the threads it started");
    if (last) ceni_fiber_switch(&self->fiber, &the_world.home, true);
    switch_to(next_to_run(), true);
    abort(); /* no switch goes back to a thread that has ended */
}

world_thread *world_spawn(const char *name, void (*run)(void *), void *argument)
{
    if (the_world.count == WORLD_THREADS) ceni_world_fail("a world has room for %d threads", WORLD_THREADS);
    world_thread *thread = &the_world.threads[the_world.count++];
    ceni_fiber fiber = thread->fiber;
    memset(thread, 0, sizeof *thread);
    thread->fiber = fiber;
    thread->run = run;
    thread->argument = argument;
    thread->deadline = CENI_FOREVER;
    thread->past = memory_mix(the_world.current ? the_world.current->past : 0, the_world.count);
    snprintf(thread->name, sizeof thread->name, "%s", name ? name : "thread");
    ceni_fiber_init(&thread->fiber, thread_entry);
    if (the_world.current) order_started(world_index(thread), world_index(the_world.current));
    return thread;
}

static void run_body(void *unused)
{
    (void)unused;
    the_world.body();
}

void world_once(void (*body)(void), world_plan plan, uint64_t step_limit)
{
    the_world.count = 0;
    the_world.current = NULL;
    the_world.clock = 1000000000;
    the_world.clock_past = the_world.steps = the_world.parked = 0;
    the_world.step_limit = step_limit;
    the_world.cpus = 2;
    the_world.forks = 0;
    the_world.no_hooks = false;
    the_world.plan = plan;
    the_world.body = body;
    the_world.given_up = false;
    statics_keep();
    memory_begin();
    order_begin();
    arena_begin();
    story_begin();
    the_world.current = world_spawn("main", run_body, NULL);
    crash_report();
    the_world.running = true;
    ceni_fiber_switch(&the_world.home, &the_world.current->fiber, false);
    the_world.running = false;
    if (the_world.count > the_world.most) the_world.most = the_world.count;
    arena_end();
    statics_restore();
}

static unsigned first_option(const world_step *options, unsigned count)
{
    (void)options;
    (void)count;
    return 0;
}

void ceni_world_run(void (*body)(void))
{
    the_world.tso = the_world.weak = false;
    world_once(body, first_option, WORLD_LONG_STEPS);
}

/* The hash of the state: each thread's past and where it stands, the current thread, and the clock. */
uint64_t world_key(void)
{
    uint64_t key = memory_mix((uint64_t)world_index(the_world.current), (uint64_t)the_world.clock);
    for (unsigned i = 0; i < the_world.count; i++) {
        const world_thread *thread = &the_world.threads[i];
        uint64_t standing = (uint64_t)thread->state << 8 | (uint64_t)thread->stepped_aside << 4 | thread->buffered;
        key = memory_mix(key, memory_mix(thread->past, standing));
    }
    return key;
}

/* ---- From inside a body ------------------------------------------------------------ */

void ceni_world_settle(void)
{
    the_world.current->state = WORLD_SETTLING;
    world_block();
    memory_step('s');
}

void ceni_world_advance(int64_t ns)
{
    the_world.clock += ns;
    the_world.clock_past = memory_mix(the_world.clock_past, (uint64_t)the_world.clock);
    for (unsigned i = 0; i < the_world.count; i++) {
        world_thread *thread = &the_world.threads[i];
        if (thread->state == WORLD_PARKED && thread->deadline <= the_world.clock) expire(thread);
    }
}

unsigned ceni_world_waiting(void)
{
    unsigned waiting = 0;
    for (unsigned i = 0; i < the_world.count; i++) {
        const world_thread *thread = &the_world.threads[i];
        if (thread != the_world.current && thread->state != WORLD_READY && thread->state != WORLD_ENDED) waiting++;
    }
    return waiting;
}

void ceni_world_fork(void)
{
    the_world.forks++;
}

void ceni_world_without_hooks(void)
{
    the_world.no_hooks = true;
}

void ceni_world_with_hooks(void)
{
    the_world.no_hooks = false;
}

void ceni_world_set_cpus(unsigned count)
{
    the_world.cpus = count;
}

void ceni_world_story(void)
{
    story_print();
}
