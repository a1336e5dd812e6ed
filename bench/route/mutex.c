/* SPDX-License-Identifier: MIT */
/* An array under a mutex, as everybody begins: at random by the thread's own numbers, or the next turn of all threads. */
#include <pthread.h>

#include "contestants.h"
#include "plain.h"

struct set {
    pthread_mutex_t mutex;
    struct array *array;
    uint32_t turn;
};

static void *set_up(unsigned members)
{
    struct set *set = bench_zeroed(1, sizeof *set);
    pthread_mutex_init(&set->mutex, NULL);
    set->array = make_array(members);
    return set;
}

static unsigned index_of(void *set, const struct member *member)
{
    (void)set;
    return member->index;
}

static inline struct member *use_random(void *argument, struct pick_worker *worker)
{
    struct set *set = argument;
    pthread_mutex_lock(&set->mutex);
    struct member *member = set->array->members[pick_random(worker, set->array->count)];
    pthread_mutex_unlock(&set->mutex);
    return member;
}

static inline struct member *use_turn(void *argument, struct pick_worker *worker)
{
    struct set *set = argument;
    (void)worker;
    pthread_mutex_lock(&set->mutex);
    if (set->turn >= set->array->count) set->turn = 0;
    struct member *member = set->array->members[set->turn++];
    pthread_mutex_unlock(&set->mutex);
    return member;
}

PICKS(mutex_random, use_random, index_of)
PICKS(mutex_turn, use_turn, index_of)

const struct pick_contestant mutex_contestants[] = {
    {"mutex-random", "random", PICK_RANDOM, set_up, mutex_random_loop, mutex_random_check, NULL},
    {"mutex-turn", "turn", PICK_TOGETHER, set_up, mutex_turn_loop, mutex_turn_check, NULL},
    {NULL, NULL, PICK_ANY, NULL, NULL, NULL, NULL},
};
