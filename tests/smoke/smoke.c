/* SPDX-License-Identifier: MIT */
/*
 * Does an installed libcenote work at all on this machine and libc?
 *
 * Public headers only; every check is exact. Prints nothing and ends with 0
 * if all is well, else names the line and ends with 1. tools/cross-smoke
 * builds it for musl and for arm64.
 */
#include <cenote/cenote.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "smoke: line %d: not so: %s\n", __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

enum { ELEMENTS = 20000 };

static cen_queue *make(cen_queue_kind kind, size_t capacity)
{
    cen_queue *queue = NULL;
    cen_error error;
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(uint64_t), .kind = kind, .capacity = capacity);
    cen_status status = cen_queue_new(&options, &queue, &error);
    if (status != CEN_OK) fprintf(stderr, "smoke: %s: %s\n", cen_status_name(status), error.text);
    CHECK(status == CEN_OK);
    return queue;
}

static void *produce(void *queue)
{
    for (uint64_t i = 1; i <= ELEMENTS; i++) CHECK(cen_queue_push(queue, &i) == CEN_OK);
    CHECK(cen_queue_close(queue) == CEN_OK);
    return NULL;
}

/* The ring is far smaller than what goes through it, so both sides wait. */
static void elements_arrive_in_order(cen_queue_kind kind, size_t capacity)
{
    cen_queue *queue = make(kind, capacity);
    pthread_t producer;
    uint64_t element, expected = 1;
    CHECK(pthread_create(&producer, NULL, produce, queue) == 0);
    for (; cen_queue_pop(queue, &element) == CEN_OK; expected++) CHECK(element == expected);
    CHECK(expected == ELEMENTS + 1);
    CHECK(pthread_join(producer, NULL) == 0);
    CHECK(cen_queue_is_closed(queue) && cen_queue_length(queue) == 0);
    CHECK(cen_queue_pop(queue, &element) == CEN_CLOSED);
    cen_queue_free(queue);
}

static void a_full_queue_refuses_and_an_empty_one_too(void)
{
    cen_queue *queue = make(CEN_QUEUE_BOUNDED, 2);
    uint64_t element = 7, popped = 0;
    CHECK(cen_queue_try_pop(queue, &popped) == CEN_EMPTY);
    CHECK(cen_queue_try_push(queue, &element) == CEN_OK);
    CHECK(cen_queue_try_push(queue, &element) == CEN_OK);
    CHECK(cen_queue_try_push(queue, &element) == CEN_FULL);
    CHECK(cen_queue_length(queue) == 2 && cen_queue_capacity(queue) == 2);
    CHECK(cen_queue_try_pop(queue, &popped) == CEN_OK && popped == 7);
    cen_queue_free(queue);
}

static void a_pop_times_out_at_its_deadline(void)
{
    cen_queue *queue = make(CEN_QUEUE_BOUNDED, 4);
    uint64_t element = 5;
    int64_t before = cen_clock(), ms = 1000000;
    CHECK(cen_queue_pop_until(queue, cen_in_ms(10), &element) == CEN_TIMEOUT);
    CHECK(cen_clock() - before >= 10 * ms);
    CHECK(cen_queue_pop_until(queue, CEN_NOW, &element) == CEN_TIMEOUT);
    CHECK(element == 5);
    cen_queue_free(queue);
}

static void select_does_exactly_one(void)
{
    cen_queue *full = make(CEN_QUEUE_BOUNDED, 1), *empty = make(CEN_QUEUE_BOUNDED, 1);
    uint64_t pushed = 11, popped = 0;
    size_t chosen = 99;
    CHECK(cen_queue_push(full, &pushed) == CEN_OK);
    cen_case cases[] = {cen_case_pop(empty, &popped), cen_case_push(full, &pushed), cen_case_pop(full, &popped)};
    CHECK(cen_select(cases, 2, cen_in_ms(5), &chosen) == CEN_TIMEOUT && chosen == 99);
    CHECK(cen_select(cases, 3, CEN_NEVER, &chosen) == CEN_OK && chosen == 2 && popped == 11);
    CHECK(cen_select(cases, 2, CEN_NEVER, &chosen) == CEN_OK && chosen == 1);
    CHECK(cen_queue_length(full) == 1 && cen_queue_length(empty) == 0);
    cen_queue_free(full);
    cen_queue_free(empty);
}

/* The selecting thread waits in both queues at once; each element wakes it. */
static void select_waits_for_another_thread(void)
{
    cen_queue *left = make(CEN_QUEUE_BOUNDED, 8), *right = make(CEN_QUEUE_UNBOUNDED, 0);
    pthread_t producers[2];
    uint64_t element = 0, sums[2] = {0, 0}, full_sum = (uint64_t)ELEMENTS * (ELEMENTS + 1) / 2;
    cen_case cases[] = {cen_case_pop(left, &element), cen_case_pop(right, &element)};
    CHECK(pthread_create(&producers[0], NULL, produce, left) == 0);
    CHECK(pthread_create(&producers[1], NULL, produce, right) == 0);
    while (cases[0].queue || cases[1].queue) {
        size_t chosen = 99;
        cen_status status = cen_select(cases, 2, CEN_NEVER, &chosen);
        CHECK(chosen < 2);
        if (status == CEN_OK) sums[chosen] += element;
        else CHECK(status == CEN_CLOSED);
        if (status == CEN_CLOSED) cases[chosen].queue = NULL;
    }
    CHECK(sums[0] == full_sum && sums[1] == full_sum);
    for (int i = 0; i < 2; i++) CHECK(pthread_join(producers[i], NULL) == 0);
    cen_queue_free(left);
    cen_queue_free(right);
}

static cen_status open_counter(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    *out = calloc(1, sizeof(uint64_t));
    return *out ? CEN_OK : CEN_NO_MEMORY;
}

static void close_counter(void *argument, void *object)
{
    *(uint64_t *)argument += *(uint64_t *)object;
    free(object);
}

enum { USERS = 4, USES = 5000 };

/* Two counters between four threads: some of them wait. */
static void *use_counters(void *pool)
{
    for (int i = 0; i < USES; i++) {
        cen_lease lease;
        CHECK(cen_pool_take(pool, CEN_NEVER, &lease, NULL) == CEN_OK);
        ++*(uint64_t *)lease.object;
        CHECK(cen_pool_give(&lease) == CEN_OK);
    }
    return NULL;
}

static void objects_are_lent_to_one_at_a_time(void)
{
    static const cen_driver_calls calls = {.size = sizeof calls, .open = open_counter, .close = close_counter};
    uint64_t sum = 0;
    cen_pool *pool;
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = {&calls, &sum}, .max = 2);
    CHECK(cen_pool_new(&options, &pool, NULL) == CEN_OK);
    pthread_t users[USERS];
    for (int i = 0; i < USERS; i++) CHECK(pthread_create(&users[i], NULL, use_counters, pool) == 0);
    for (int i = 0; i < USERS; i++) CHECK(pthread_join(users[i], NULL) == 0);
    cen_lease lease, copy;
    CHECK(cen_pool_take(pool, CEN_NOW, &lease, NULL) == CEN_OK);
    copy = lease;
    CHECK(cen_pool_give(&lease) == CEN_OK && cen_pool_give(&copy) == CEN_STALE);
    CHECK(cen_pool_close(pool, CEN_NOW, NULL, NULL) == CEN_OK);
    CHECK(cen_pool_free(pool) == CEN_OK);
    CHECK(sum == USERS * USES);
}

int main(void)
{
    CHECK(cen_version() == CEN_VERSION_MAJOR * 1000000 + CEN_VERSION_MINOR * 1000 + CEN_VERSION_PATCH);
    elements_arrive_in_order(CEN_QUEUE_BOUNDED, 16);
    elements_arrive_in_order(CEN_QUEUE_UNBOUNDED, 0);
    elements_arrive_in_order(CEN_QUEUE_RENDEZVOUS, 0);
    a_full_queue_refuses_and_an_empty_one_too();
    a_pop_times_out_at_its_deadline();
    select_does_exactly_one();
    select_waits_for_another_thread();
    objects_are_lent_to_one_at_a_time();
    return 0;
}
