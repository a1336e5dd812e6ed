/* SPDX-License-Identifier: MIT */
/*
 * The floor of a wake-up: one place, one futex word, nothing else. The waker
 * stores and calls FUTEX_WAKE, the sleeper calls FUTEX_WAIT at once and never
 * spins. For wake-up rounds only: there is one place and nobody waits for room.
 */
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../rules/transfer.h"

static _Alignas(128) atomic_uint filled;
static uint64_t place;

static void queue_make(const struct bench_plan *plan)
{
    if (!plan->wake) bench_fail("the floor takes wake-up rounds only");
}

static void queue_enter(bool producing)
{
    (void)producing;
}

static void queue_push(uint64_t element)
{
    place = element;
    atomic_store_explicit(&filled, 1, memory_order_release);
    syscall(SYS_futex, &filled, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static uint64_t queue_pop(void)
{
    while (atomic_load_explicit(&filled, memory_order_acquire) == 0)
        syscall(SYS_futex, &filled, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    uint64_t element = place;
    atomic_store_explicit(&filled, 0, memory_order_release);
    return element;
}

#include "../rules/transfer_loop.h"
