/* SPDX-License-Identifier: MIT */
/* port.h in a world: sleeping, waking, time and threads are states of fibers. */
#include "port/port.h"

#include <errno.h>

#include "base/fault.h"
#include "port/fake/internal.h"
#include "port/rank.h"

/* ---- Time --------------------------------------------------------------------- */

int64_t ceni_clock_now(void)
{
    if (!the_world.running) return 1000000000;
    world_point();
    /* A reading depends on all past changes of the clock. */
    memory_step(memory_mix(the_world.clock_past, 'T'));
    story_note(NULL, "reads the clock", (uint64_t)the_world.clock, 0);
    return the_world.clock;
}

/* Moves with the other clock. Not a scheduling point: no thread's next step depends on it. */
int64_t ceni_clock_wall(void)
{
    return INT64_C(1700000000000000000) + (the_world.running ? the_world.clock : 0);
}

static ceni_woken park(const volatile void *address, int64_t moment)
{
    world_thread *self = the_world.current;
    self->parked_on = address;
    self->deadline = moment;
    self->timed_out = false;
    self->parked_order = the_world.parked++;
    self->state = WORLD_PARKED;
    world_block();
    memory_step('w'); /* otherwise the state after the timeout would look like the state in which it expired */
    self->deadline = CENI_FOREVER;
    self->parked_on = NULL;
    return self->timed_out ? CENI_TIMED_OUT : CENI_WOKEN;
}

void ceni_sleep_until(int64_t moment)
{
    world_point();
    memory_step(memory_mix(the_world.clock_past, 'Z'));
    if (moment <= the_world.clock) return;
    memory_drain_all(the_world.current);
    story_note(NULL, "sleeps until", (uint64_t)moment, 0);
    park(NULL, moment);
}

/* ---- Futex ---------------------------------------------------------------------- */

/* A futex may return spuriously at any time: a choice that costs a preemption. */
static bool wakes_for_no_reason(void)
{
    uint8_t self = (uint8_t)world_index(the_world.current);
    const world_step options[2] = {{STEP_PARK, self, 0}, {STEP_SPURIOUS, self, 1}};
    bool wakes = world_decide(options, 2) == 1;
    if (wakes) memory_step('?');
    return wakes;
}

/* A cancelled thread leaves at its next cancellation point. */
static void leave_if_cancelled(void (*leave)(void *), void *argument)
{
    world_thread *self = the_world.current;
    if (!self->cancelled) return;
    self->cancelled = self->cancellable = false;
    story_note(NULL, "is cancelled", 0, 0);
    leave(argument);
    world_exit();
}

ceni_woken ceni_futex_wait_cancellable(_Atomic uint32_t *word, uint32_t expected, int64_t moment, void (*leave)(void *),
                                       void *argument)
{
    leave_if_cancelled(leave, argument);
    the_world.current->cancellable = true;
    ceni_woken woken = ceni_futex_wait(word, expected, moment);
    leave_if_cancelled(leave, argument);
    the_world.current->cancellable = false;
    return woken;
}

/* A cancel is a request. It wakes a thread that sleeps in a cancellation point. */
void ceni_world_cancel(ceni_thread thread)
{
    world_thread *other = &the_world.threads[thread.handle];
    world_point();
    memory_event(other, 'X', true);
    story_note(NULL, "cancels thread", thread.handle, 0);
    if (other->state == WORLD_ENDED) return;
    other->cancelled = true;
    if (other->state != WORLD_PARKED || !other->cancellable) return;
    other->past = memory_mix(other->past, the_world.current->past);
    other->state = WORLD_READY;
}

ceni_woken ceni_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t moment)
{
    if (!the_world.running) ceni_world_fail("a futex wait outside a world: no thread can end it");
    world_point();
    arena_check(word, "futex wait");
    memory_drain_all(the_world.current);
    memory_event(word, 'W', true);
    uint32_t found = *(const volatile uint32_t *)(const volatile void *)word;
    if (found != expected || ceni_fault(CENI_FAULT_WAIT)) return CENI_WOKEN;
    if (moment <= the_world.clock) return CENI_TIMED_OUT;
    if (wakes_for_no_reason()) {
        story_note(NULL, "wakes for no reason", 0, 0);
        return CENI_WOKEN;
    }
    story_note(NULL, "parks while it is", expected, 0);
    return park(word, moment);
}

static world_thread *first_parked_on(const volatile void *word)
{
    world_thread *first = NULL;
    for (unsigned i = 0; i < the_world.count; i++) {
        world_thread *thread = &the_world.threads[i];
        if (thread->state != WORLD_PARKED || thread->parked_on != word) continue;
        if (!first || thread->parked_order < first->parked_order) first = thread;
    }
    return first;
}

void ceni_futex_wake(_Atomic uint32_t *word, uint32_t count)
{
    if (!the_world.running) return;
    world_point();
    memory_drain_all(the_world.current);
    memory_event(word, 'K', true);
    for (; count > 0; count--) {
        world_thread *thread = first_parked_on(word);
        if (!thread) break;
        thread->past = memory_mix(thread->past, the_world.current->past);
        thread->state = WORLD_READY;
        story_note(NULL, "wakes thread", world_index(thread), 0);
    }
}

/* ---- Threads ----------------------------------------------------------------------- */

/* In a world the options for processors and stack size have no effect. */
cen_status ceni_thread_start_with(ceni_thread *thread, const ceni_thread_options *options, void (*run)(void *),
                                  void *argument, int *code)
{
    if (ceni_fault(CENI_FAULT_THREAD)) {
        if (code) *code = EAGAIN;
        return CEN_SYSTEM;
    }
    world_point();
    memory_drain_all(the_world.current);
    memory_event(&the_world, 'N', true);
    thread->handle = world_index(world_spawn(options->name, run, argument));
    story_note(NULL, "starts thread", thread->handle, 0);
    return CEN_OK;
}

cen_status ceni_thread_start(ceni_thread *thread, const char *name, void (*run)(void *), void *argument, int *code)
{
    return ceni_thread_start_with(thread, &(ceni_thread_options){.name = name}, run, argument, code);
}

size_t ceni_thread_stack_size(void)
{
    return the_world.running ? the_world.current->fiber.stack_size : 0;
}

/* A fiber leaves `run` only by returning. */
void ceni_thread_run_guarded(void (*run)(void *), void (*lost)(void *), void *argument)
{
    (void)lost;
    run(argument);
}

void ceni_thread_join(ceni_thread *thread)
{
    world_point();
    world_thread *self = the_world.current, *other = &the_world.threads[thread->handle];
    memory_drain_all(self);
    if (other->state != WORLD_ENDED) {
        self->joined = other;
        self->state = WORLD_JOINING;
        world_block();
    }
    memory_event(other, 'J', true);
    order_joined(world_index(self), world_index(other));
}

ceni_thread ceni_thread_self(void)
{
    return (ceni_thread){world_index(the_world.current)};
}

/* A world's thread owns nothing that outlives it, so a detach needs no action. */
void ceni_thread_detach(ceni_thread *thread)
{
    (void)thread;
}

void ceni_thread_yield(void)
{
    ceni_watch_pause(__FILE__, __LINE__);
}

uint64_t ceni_thread_id(void)
{
    return the_world.running ? world_index(the_world.current) + 1 : 1;
}

uint64_t *ceni_thread_room(void)
{
    static uint64_t outside[CENI_THREAD_ROOM + CENI_THREAD_ROOM_BEYOND + CENI_THREAD_ROOM_NOTED];
    return the_world.running ? the_world.current->room : outside;
}

int ceni_cancel_hold(void)
{
    return 0;
}

void ceni_cancel_release(int held)
{
    (void)held;
}

unsigned ceni_cpu_count(void)
{
    return the_world.running ? the_world.cpus : 2;
}

unsigned ceni_cpu_current(void)
{
    return 0;
}

uint64_t ceni_random(void)
{
    static uint64_t outside;
    if (!the_world.running) return memory_mix(outside++, 7);
    return memory_mix(the_world.current->randoms++, world_index(the_world.current));
}

/* Three made-up addresses that contain the thread's number. */
unsigned ceni_backtrace(void **frames, unsigned most, const void *from)
{
    (void)from;
    unsigned count = most < 3 ? most : 3;
    for (unsigned i = 0; i < count; i++) frames[i] = (void *)(uintptr_t)(ceni_thread_id() << 8 | (i + 1));
    return count;
}

void ceni_symbol(const void *address, char text[CENI_SYMBOL_ROOM])
{
    uint64_t at = (uint64_t)(uintptr_t)address;
    snprintf(text, CENI_SYMBOL_ROOM, "call_%llu+0x0 (thread %llu)", (unsigned long long)(at & 0xff),
             (unsigned long long)(at >> 8));
}

ceni_thread_life ceni_thread_look(uint64_t id, char name[CENI_THREAD_NAME_ROOM], uint32_t *tid)
{
    snprintf(name, CENI_THREAD_NAME_ROOM, "fiber %llu", (unsigned long long)id);
    *tid = 0;
    return CENI_THREAD_LIVES;
}

cen_status ceni_thread_at_exit(ceni_exit_rank rank, void (*hook)(void))
{
    if (ceni_fault(CENI_FAULT_KEY) || the_world.no_hooks) return CEN_SYSTEM;
    the_world.current->exit_hooks[rank] = hook;
    return CEN_OK;
}

bool ceni_thread_exit_is_late(void)
{
    return false; /* a fiber has no rounds of destructors */
}

cen_status ceni_thread_watch_begin(ceni_thread_watch *watch)
{
    (void)watch;
    return CEN_SYSTEM;
}

void ceni_thread_watch_await(ceni_thread_watch *watch)
{
    (void)watch;
}

bool ceni_thread_mark_leaving(void)
{
    if (the_world.no_hooks) return false;
    return the_world.current->leaving = true;
}

void ceni_thread_set_in_call(bool in_call)
{
    if (the_world.running) the_world.current->in_call = in_call;
}

bool ceni_thread_in_call(void)
{
    return the_world.running && the_world.current->in_call;
}

/* Tests call the handler themselves. */
bool ceni_process_at_exit(void (*handler)(void))
{
    (void)handler;
    return true;
}

uint32_t *ceni_rank_mask(void)
{
    static uint32_t outside;
    return the_world.running ? &the_world.current->rank_mask : &outside;
}

/* ---- Fork and bell ------------------------------------------------------------------- */

uint64_t ceni_fork_epoch(void)
{
    return 1 + the_world.forks;
}

/* A bell in a world is a count of rings since it was silenced last. */
cen_status ceni_bell_init(ceni_bell *bell, int *code)
{
    if (ceni_fault(CENI_FAULT_FD)) {
        if (code) *code = EMFILE;
        return CEN_SYSTEM;
    }
    *bell = (ceni_bell){.read_fd = -1, .write_fd = 0};
    return CEN_OK;
}

void ceni_bell_fini(ceni_bell *bell)
{
    *bell = (ceni_bell){-1, -1};
}

static int *rings_of(const ceni_bell *bell)
{
    return &((ceni_bell *)(uintptr_t)bell)->write_fd;
}

void ceni_bell_ring(const ceni_bell *bell)
{
    world_point();
    memory_step('G');
    ++*rings_of(bell);
}

uint32_t ceni_bell_silence(const ceni_bell *bell)
{
    world_point();
    memory_step('G');
    uint32_t heard = (uint32_t)*rings_of(bell);
    *rings_of(bell) = 0;
    return heard;
}

/* ---- Pages: a world keeps all of them, so that every word keeps its history ---------------- */

void ceni_pages_forget(void *start, size_t size)
{
    (void)start, (void)size;
}

/* ---- Files: a world has none ------------------------------------------------------------ */

static cen_status no_files(int *code)
{
    if (code) *code = ENOSYS;
    return CEN_SYSTEM;
}

cen_status ceni_shared_file_make(ceni_shared_file *file, const char *path, size_t size, int *code)
{
    (void)file, (void)path, (void)size;
    return no_files(code);
}

cen_status ceni_shared_file_name(ceni_shared_file *file, const char *path, const char *old, int *code)
{
    (void)file, (void)path, (void)old;
    return no_files(code);
}

void ceni_shared_file_discard(ceni_shared_file *file)
{
    (void)file;
}

bool ceni_file_is_special(const char *path)
{
    (void)path;
    return false;
}

cen_status ceni_file_open(int *file, const char *path, int *code)
{
    (void)file, (void)path;
    return no_files(code);
}

cen_status ceni_file_read(int file, uint64_t at, void *bytes, size_t size, size_t *read, int *code)
{
    (void)file, (void)at, (void)bytes, (void)size, (void)read;
    return no_files(code);
}

void ceni_file_close(int file)
{
    (void)file;
}
