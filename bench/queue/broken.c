/* SPDX-License-Identifier: MIT */
/*
 * Planted bugs for the harness: a queue that loses, doubles or swaps one
 * element, chosen by BENCH_BROKEN. The driver runs it first and goes on only
 * if each is refused and the sound one passes. One producer, one consumer.
 */
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "../rules/transfer.h"

#define ROOM 65536
#define VICTIM 100

static uint64_t places[ROOM];
static uint64_t pushed, popped;
static const char *fault;
static sem_t filled;

static void queue_make(const struct bench_plan *plan)
{
    if (plan->producers != 1 || plan->consumers != 1 || plan->elements > ROOM)
        bench_fail("this queue is for one producer, one consumer and %d elements", ROOM);
    fault = getenv("BENCH_BROKEN");
    fault = fault != NULL ? fault : "";
    sem_init(&filled, 0, 0);
}

static void queue_enter(bool producing)
{
    (void)producing;
}

static void queue_push(uint64_t element)
{
    places[pushed++] = element;
    sem_post(&filled);
}

static uint64_t queue_pop(void)
{
    while (sem_wait(&filled) != 0)
        ;
    uint64_t at = popped++;
    if (at == VICTIM && strcmp(fault, "double") == 0) return places[at - 1];
    if (at == VICTIM && strcmp(fault, "lose") == 0) return 0;
    if (at / 2 == VICTIM && strcmp(fault, "swap") == 0) {
        if (at % 2 == 0) { /* its neighbour must have been pushed: take the token now, give it back */
            while (sem_wait(&filled) != 0)
                ;
            sem_post(&filled);
        }
        return places[at ^ 1];
    }
    return places[at];
}

#include "../rules/transfer_loop.h"
