/* SPDX-License-Identifier: MIT */
/*
 * What one writes without a library: a ring under a mutex, with a condition
 * variable per side. A waiter is signalled once, by whoever takes it off the
 * count of those waiting, and after the mutex is free. Of the ways tried this
 * was the quickest: a waiter that stays counted until it runs is signalled by
 * every push meanwhile. One that wakes for nothing counts itself again, so the
 * count is never too small. Unbounded, the ring doubles when it is full.
 */
#include <pthread.h>
#include <stdlib.h>

#include "../../rules/transfer.h"

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t filled, freed;
    unsigned consumers_waiting, producers_waiting;
    uint64_t *places;
    size_t room, head, length;
    bool bounded;
} ring = {.mutex = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .freed = PTHREAD_COND_INITIALIZER};

static void queue_make(const struct bench_plan *plan)
{
    ring.bounded = plan->bounded;
    ring.room = plan->bounded ? plan->capacity : 1024;
    ring.places = malloc(ring.room * sizeof *ring.places);
    if (ring.places == NULL) bench_fail("no memory");
}

static void queue_enter(bool producing)
{
    (void)producing;
}

static void grow(void)
{
    uint64_t *places = malloc(2 * ring.room * sizeof *places);
    if (places == NULL) bench_fail("no memory");
    for (size_t i = 0, at = ring.head; i < ring.length; i++) {
        places[i] = ring.places[at];
        at = at + 1 == ring.room ? 0 : at + 1;
    }
    free(ring.places);
    ring.places = places;
    ring.room *= 2;
    ring.head = 0;
}

static void queue_push(uint64_t element)
{
    pthread_mutex_lock(&ring.mutex);
    while (ring.bounded && ring.length == ring.room) {
        ring.producers_waiting++;
        pthread_cond_wait(&ring.freed, &ring.mutex);
    }
    if (ring.length == ring.room) grow();
    size_t at = ring.head + ring.length++;
    ring.places[at < ring.room ? at : at - ring.room] = element;
    bool signal = ring.consumers_waiting > 0;
    ring.consumers_waiting -= signal;
    pthread_mutex_unlock(&ring.mutex);
    if (signal) pthread_cond_signal(&ring.filled);
}

static uint64_t queue_pop(void)
{
    pthread_mutex_lock(&ring.mutex);
    while (ring.length == 0) {
        ring.consumers_waiting++;
        pthread_cond_wait(&ring.filled, &ring.mutex);
    }
    uint64_t element = ring.places[ring.head];
    ring.head = ring.head + 1 == ring.room ? 0 : ring.head + 1;
    ring.length--;
    bool signal = ring.producers_waiting > 0;
    ring.producers_waiting -= signal;
    pthread_mutex_unlock(&ring.mutex);
    if (signal) pthread_cond_signal(&ring.freed);
    return element;
}

#include "../../rules/transfer_loop.h"
