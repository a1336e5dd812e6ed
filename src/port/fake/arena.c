/* SPDX-License-Identifier: MIT */
/*
 * The world's memory. Every schedule gets the same addresses, and within a schedule no memory is used twice. So an
 * access to freed memory is always detected: by the watched atomics through the map below, by AddressSanitizer where
 * it is compiled in, and otherwise by the pattern in freed memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/statics.h"
#include "port/fake/asan.h"
#include "port/fake/internal.h"

#ifdef CENI_WITH_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

void *ceni_watch_alloc(size_t size, size_t align);
void ceni_watch_free(void *memory, size_t size);

enum { GRAIN = 16, FREED_PATTERN = 0xDD };
enum { GRAIN_NEVER, GRAIN_LIVE, GRAIN_FREED };

static const size_t arena_size = (size_t)1 << 30;
static char *arena;
static unsigned char *grains; /* one byte for each GRAIN bytes of the arena */
static size_t used, live;
static uint64_t allocations;

static void *reserve(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        perror("the world's memory");
        abort();
    }
    return memory;
}

void arena_begin(void)
{
    if (!arena) {
        arena = reserve(arena_size);
        grains = reserve(arena_size / GRAIN);
    }
    memset(grains, GRAIN_NEVER, used / GRAIN + 1);
    used = live = 0;
    allocations = 0;
}

void arena_end(void)
{
    if (live && !the_world.given_up) ceni_world_fail("%zu bytes were not freed", live);
}

void *ceni_watch_alloc(size_t size, size_t align)
{
    if (!the_world.running) {
        void *memory = NULL;
        return posix_memalign(&memory, align < GRAIN ? GRAIN : align, size) ? NULL : memory;
    }
    world_point();
    memory_event(&arena, 'A', true); /* the order of allocations determines the addresses */
    if (align < GRAIN) align = GRAIN;
    size_t start = (used + align - 1) & ~(align - 1);
    size_t grained = (size + GRAIN - 1) & ~(size_t)(GRAIN - 1);
    if (grained > arena_size || start > arena_size - grained - GRAIN) return NULL;
    used = start + grained + GRAIN; /* a gap, so that an access one past the end is detected */
    memset(grains + start / GRAIN, GRAIN_LIVE, grained / GRAIN);
    ASAN_UNPOISON_MEMORY_REGION(arena + start, size);
    ASAN_POISON_MEMORY_REGION(arena + start + grained, GRAIN);
    memset(arena + start, 0xA5, size);
    live += size;
    allocations++;
    story_note(NULL, "allocates bytes", size, 0);
    return arena + start;
}

void ceni_watch_free(void *memory, size_t size)
{
    if (!the_world.running) {
        free(memory);
        return;
    }
    world_point();
    memory_drain_all(the_world.current); /* a real allocator passes memory on through a lock */
    memory_event(&arena, 'f', true);
    size_t start = (size_t)((char *)memory - arena), grained = (size + GRAIN - 1) & ~(size_t)(GRAIN - 1);
    if (grains[start / GRAIN] != GRAIN_LIVE) ceni_world_fail("memory is freed twice, or was never allocated");
    order_free(world_index(the_world.current), memory, size);
    memset(memory, FREED_PATTERN, size);
    memset(grains + start / GRAIN, GRAIN_FREED, grained / GRAIN);
    ASAN_POISON_MEMORY_REGION(memory, size);
    live -= size;
    story_note(NULL, "frees bytes", size, 0);
}

/* An address on another thread's stack below its stack pointer belongs to a call that has returned. */
static void check_stacks(const volatile void *object, const char *doing)
{
    for (unsigned i = 0; i < the_world.count; i++) {
        const world_thread *thread = &the_world.threads[i];
        if (!ceni_fiber_owns(&thread->fiber, object)) continue;
        if (thread == the_world.current) return;
        if (thread->state == WORLD_ENDED || (uintptr_t)object < (uintptr_t)thread->fiber.stack_pointer)
            ceni_world_fail("use after return: %s on the stack of %s", doing, thread->name);
        return;
    }
}

void arena_check(const volatile void *object, const char *doing)
{
    uintptr_t at = (uintptr_t)object - (uintptr_t)arena;
    if (at >= arena_size) {
        check_stacks(object, doing);
        return;
    }
    if (grains[at / GRAIN] == GRAIN_FREED) ceni_world_fail("use after free: %s", doing);
    if (grains[at / GRAIN] == GRAIN_NEVER) ceni_world_fail("%s of memory that was never allocated", doing);
}

size_t ceni_world_bytes(void)
{
    return live;
}

uint64_t ceni_world_allocations(void)
{
    return allocations;
}

/* ---- The library's process-wide variables -------------------------------------- */

extern char __start_ceni_statics[] __attribute__((weak));
extern char __stop_ceni_statics[] __attribute__((weak));
static char *kept;

void statics_keep(void)
{
    size_t size = (size_t)(__stop_ceni_statics - __start_ceni_statics);
    if (!kept && size) kept = malloc(size);
    if (kept) memcpy(kept, __start_ceni_statics, size);
}

void statics_restore(void)
{
    size_t size = (size_t)(__stop_ceni_statics - __start_ceni_statics);
    if (kept) memcpy(__start_ceni_statics, kept, size);
}
