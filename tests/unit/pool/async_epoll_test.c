/* SPDX-License-Identifier: MIT */
/*
 * One epoll thread with a thousand asks over eight connections, and no other
 * thread: the runtime is manual, and its time virtual.
 *
 * The program is linked so that what parks a thread, what allocates and what
 * writes to a descriptor is counted, on the loop's thread. A bound in time would
 * be a bound on the machine; a count is one on the code.
 */
#include <stdlib.h>

#include "port/port.h"
#include "unit/pool/epoll_loop.h"

#define MS INT64_C(1000000)

/* ---- What is counted ---------------------------------------------------------------------- */

static _Thread_local bool is_loop;
static unsigned parks, allocations, rings; /* by the loop's thread */

ceni_woken __real_ceni_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t moment);
ceni_woken __wrap_ceni_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t moment);
void __real_ceni_sleep_until(int64_t moment);
void __wrap_ceni_sleep_until(int64_t moment);
void __real_ceni_bell_ring(const ceni_bell *bell);
void __wrap_ceni_bell_ring(const ceni_bell *bell);
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
int __real_posix_memalign(void **out, size_t align, size_t size);
int __wrap_posix_memalign(void **out, size_t align, size_t size);

ceni_woken __wrap_ceni_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t moment)
{
    parks += is_loop;
    return __real_ceni_futex_wait(word, expected, moment);
}

void __wrap_ceni_sleep_until(int64_t moment)
{
    parks += is_loop;
    __real_ceni_sleep_until(moment);
}

void __wrap_ceni_bell_ring(const ceni_bell *bell)
{
    rings += is_loop && bell->read_fd == cen_inbox_fd(loop.inbox);
    __real_ceni_bell_ring(bell);
}

void *__wrap_malloc(size_t size)
{
    allocations += is_loop;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations += is_loop;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    allocations += is_loop;
    return __real_realloc(memory, size);
}

int __wrap_posix_memalign(void **out, size_t align, size_t size)
{
    allocations += is_loop;
    return __real_posix_memalign(out, align, size);
}

static void *count_alloc(void *argument, size_t size, size_t align)
{
    void *memory = NULL;
    (void)argument;
    return posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : align, size) == 0
               ? memory
               : NULL; /* counted there */
}

static void count_free(void *argument, void *memory, size_t size, size_t align)
{
    (void)argument, (void)size, (void)align;
    free(memory);
}

static const cen_allocator counting = {.alloc = count_alloc, .free = count_free};

static void begin_counted(int32_t max_waiters)
{
    is_loop = true;
    loop.allocator = &counting;
    begin(&quick, true, max_waiters);
}

/* ---- The tests -------------------------------------------------------------------------------------- */

/* guarantees: epoll.served */
TEST(a_thousand_asks_on_one_epoll_thread_are_all_served_in_the_order_they_came)
{
    begin_counted(CEN_OFF);
    for (int round = 0; round < 3; round++) {
        ask_a_thousand();
        run_until(&loop.answered, ASKS);
        expect_equal(loop.told, ASKS);
    }
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(loop.pool, &s), CEN_OK);
    expect_equal(s.taken, 3 * ASKS);
    expect_equal(s.opened, CONNECTIONS);
    end();
}

static void on_late(cen_take_op *take)
{
    expect_equal(take->future.status, CEN_TIMEOUT);
    loop.late++;
}

/* A third is cancelled, a third has 5 ms and gets nothing in time, the rest are served. */
static void mix(void)
{
    keep_all();
    loop.told = loop.answered = loop.next = loop.late = 0;
    uint32_t served = 0;
    for (uint32_t i = 0; i < ASKS; i++) {
        if (i % 3 == 0) ask(&askers[i], i, cen_in_s(30), on_never);
        else if (i % 3 == 1) ask(&askers[i], i, cen_in_ms(5), on_late);
        else ask(&askers[i], served++, cen_in_s(30), on_ready);
    }
    for (uint32_t i = 0; i < ASKS; i += 3) expect(cen_future_cancel(&askers[i].take.future));
    expect_equal(cen_runtime_advance(loop.runtime, 5 * MS), CEN_OK);
    run_until(&loop.late, (ASKS + 1) / 3);
    expect_equal(loop.told, 0);
    give_all();
    run_until(&loop.answered, served);
}

/* guarantees: epoll.served */
TEST(of_a_thousand_asks_that_are_served_cancelled_or_late_each_ends_in_its_own_way_and_once)
{
    begin_counted(CEN_OFF);
    mix();
    for (int i = 0; i < 3; i++) turn(&loop.answered, 0); /* nothing comes after */
    expect_equal(loop.told, loop.answered);
    expect_equal(loop.late, (ASKS + 1) / 3);
    end();
}

/* guarantees: epoll.never-parks */
TEST(no_call_of_the_loop_ever_parks)
{
    begin_counted(CEN_OFF);
    parks = 0;
    ask_a_thousand();
    run_until(&loop.answered, ASKS);
    mix();
    expect_equal(parks, 0);

    cen_future never; /* the counter counts */
    cen_promise promise;
    cen_future_init(&never);
    expect_equal(cen_promise_init(&promise, &never), CEN_OK);
    expect_equal(cen_future_wait(&never, cen_in_ms(1)), CEN_TIMEOUT);
    expect(parks > 0);
    expect(cen_future_cancel(&never));
    end();
}

/* guarantees: epoll.no-allocation */
TEST(asks_cancels_deadlines_and_gives_allocate_nothing)
{
    begin_counted(CEN_OFF);
    expect(allocations > 0); /* the counter counts: the pool itself */
    mix();                   /* the first deadline of a pool gets it its clockwork */
    allocations = 0;
    ask_a_thousand();
    run_until(&loop.answered, ASKS);
    mix();
    expect_equal(allocations, 0);
    end();
}

static void on_burst(cen_take_op *take)
{
    if (((asker *)take)->number < ASKS) {
        on_ready(take);
        return;
    }
    expect_equal(take->future.status, CEN_FULL);
    expect_equal(take->cause, CEN_CAUSE_QUEUE_FULL);
    loop.full++;
}

/* guarantees: epoll.full */
TEST(in_a_burst_those_beyond_max_waiters_are_told_full_and_the_others_are_served)
{
    begin_counted(ASKS);
    keep_all();
    loop.told = loop.answered = loop.next = loop.full = 0;
    for (uint32_t i = 0; i < 2 * ASKS; i++) ask(&askers[i], i, cen_in_s(30), on_burst);
    expect_equal(loop.full, 0); /* not from within ask */
    run_until(&loop.full, ASKS);
    expect_equal(loop.told, 0);
    give_all();
    run_until(&loop.answered, ASKS);
    end();
}

/* guarantees: epoll.one-ring */
TEST(a_loop_that_arms_before_it_sleeps_is_not_rung_by_its_own_gives)
{
    begin_counted(CEN_OFF);
    rings = 0;
    ask_a_thousand();
    run_until(&loop.answered, ASKS);
    expect_equal(rings, 0);
    end();
}

/* The short form: when the descriptor is readable, drain. */
static void turn_simply(void)
{
    struct epoll_event events[2 * CONNECTIONS + 2];
    cen_runtime_poll(loop.runtime);
    int count = sleep_in_epoll(events, -1);
    for (int i = 0; i < count; i++) {
        if (events[i].data.u32 == INBOX) cen_inbox_run_ready(loop.inbox);
        else handle(&events[i]);
    }
}

/* guarantees: epoll.one-ring */
TEST(a_loop_that_only_drains_is_rung_at_most_once_for_each_sleep)
{
    begin_counted(CEN_OFF);
    ask_a_thousand();
    rings = loop.sleeps = 0;
    cen_inbox_run_ready(loop.inbox);
    while (loop.answered < ASKS) turn_simply();
    expect(rings > 0);
    expect(rings <= loop.sleeps);
    end();
}
