/* SPDX-License-Identifier: MIT */
/*
 * Fibers. The switch saves only the registers that the calling convention requires a function to preserve; the
 * compiler has saved all others around the call. That makes it about thirty times cheaper than swapcontext, which
 * also saves the signal mask by a system call. Processors other than x86-64 use swapcontext.
 */
#include "port/fake/fiber.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "port/fake/asan.h"

#ifdef CENI_WITH_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
enum { STACK_SIZE = 512 * 1024 };
#else
enum { STACK_SIZE = 128 * 1024 };
#endif

enum { GUARD_SIZE = 4096 };

static void make_stack(ceni_fiber *fiber)
{
    char *memory =
        mmap(NULL, STACK_SIZE + GUARD_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, GUARD_SIZE, PROT_NONE) != 0) {
        perror("a fiber's stack");
        abort();
    }
    fiber->stack = memory + GUARD_SIZE;
    fiber->stack_size = STACK_SIZE;
}

/* A fiber that was abandoned in the middle of a call leaves red zones on its stack. */
static void clean_stack(ceni_fiber *fiber)
{
#ifdef CENI_WITH_ASAN
    __asan_unpoison_memory_region(fiber->stack, fiber->stack_size);
#endif
    fiber->sanitizer = NULL;
}

#ifdef CENI_WITH_ASAN
static ceni_fiber *left;        /* the fiber that was left by the last switch */
static const void *home_bottom; /* of the system thread's stack, known after it was left once */
static size_t home_size;
#endif

static void arrived(ceni_fiber *fiber)
{
#ifdef CENI_WITH_ASAN
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(fiber->sanitizer, &bottom, &size);
    if (!left->stack) {
        home_bottom = bottom;
        home_size = size;
    }
#else
    (void)fiber;
#endif
}

#if defined(__x86_64__)

void ceni_fiber_swap_stacks(void **save, void *load);
__asm__(".text\n"
        ".globl ceni_fiber_swap_stacks\n"
        ".type ceni_fiber_swap_stacks,@function\n"
        "ceni_fiber_swap_stacks:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n"
        ".size ceni_fiber_swap_stacks,.-ceni_fiber_swap_stacks\n");

static ceni_fiber *starting;

static void first_entry(void)
{
    ceni_fiber *fiber = starting;
    arrived(fiber);
    fiber->entry();
    abort(); /* entry never returns */
}

static void prepare(ceni_fiber *fiber)
{
    /* Six registers to pop, the return address, and a slot that keeps the stack aligned as after a call. */
    uintptr_t top = ((uintptr_t)fiber->stack + fiber->stack_size) & ~(uintptr_t)15;
    void **frame = (void **)(top - 8 * sizeof(void *));
    for (int i = 0; i < 8; i++) frame[i] = NULL;
    frame[6] = (void *)(uintptr_t)first_entry;
    fiber->stack_pointer = frame;
}

static void swap_to(ceni_fiber *from, ceni_fiber *to)
{
    starting = to;
    ceni_fiber_swap_stacks(&from->stack_pointer, to->stack_pointer);
}

#else

#include <ucontext.h>

static ceni_fiber *starting;

static void first_entry(void)
{
    ceni_fiber *fiber = starting;
    arrived(fiber);
    fiber->entry();
    abort();
}

static void prepare(ceni_fiber *fiber)
{
    /* The context is at the low end of the stack that it describes. */
    ucontext_t *context = (ucontext_t *)(void *)fiber->stack;
    getcontext(context);
    context->uc_stack.ss_sp = fiber->stack + sizeof *context;
    context->uc_stack.ss_size = fiber->stack_size - sizeof *context;
    context->uc_link = NULL;
    makecontext(context, first_entry, 0);
    fiber->stack_pointer = context;
}

static void swap_to(ceni_fiber *from, ceni_fiber *to)
{
    static ucontext_t home;
    ucontext_t *mine = from->stack ? (ucontext_t *)(void *)from->stack : &home;
    from->stack_pointer = mine;
    starting = to;
    swapcontext(mine, to->stack ? (ucontext_t *)(void *)to->stack : &home);
}

#endif

void ceni_fiber_init(ceni_fiber *fiber, void (*entry)(void))
{
    if (!fiber->stack) make_stack(fiber);
    clean_stack(fiber);
    fiber->entry = entry;
    prepare(fiber);
}

void ceni_fiber_switch(ceni_fiber *from, ceni_fiber *to, bool ending)
{
#ifdef CENI_WITH_ASAN
    left = from;
    __sanitizer_start_switch_fiber(ending ? NULL : &from->sanitizer, to->stack ? to->stack : home_bottom,
                                   to->stack ? to->stack_size : home_size);
#else
    (void)ending;
#endif
    swap_to(from, to);
    arrived(from);
}

bool ceni_fiber_owns(const ceni_fiber *fiber, const volatile void *address)
{
    uintptr_t at = (uintptr_t)address, low = (uintptr_t)fiber->stack;
    return fiber->stack && at >= low && at < low + fiber->stack_size;
}
