/* SPDX-License-Identifier: MIT */
/* The mutex under every schedule: exclusion, and no sleeper is forgotten. */
#include "base/alloc.h"
#include "base/atomic.h"
#include "port/mutex.h"
#include "support/world.h"

static ceni_mutex mutex;
static _Atomic uint32_t counted;

static void count_once(void)
{
    ceni_mutex_lock(&mutex, CENI_RANK_WAITLIST);
    ceni_store_relaxed(&counted, ceni_load_relaxed(&counted) + 1);
    ceni_mutex_unlock(&mutex, CENI_RANK_WAITLIST);
}

static void count_twice(void *argument)
{
    (void)argument;
    count_once();
    count_once();
}

/* guarantees: park.mutex */
EXPLORE(two_threads_exclude_one_another_and_neither_is_forgotten, 4)
{
    mutex = (ceni_mutex){0};
    counted = 0;
    ceni_thread a = start("a", count_twice, NULL), b = start("b", count_twice, NULL);
    join(a);
    join(b);
    expect_equal(ceni_load_relaxed(&counted), 4);
    expect_equal(ceni_load_relaxed(&mutex.word), 0);
}

static void count_alone(void *argument)
{
    (void)argument;
    count_once();
}

/* guarantees: park.mutex */
EXPLORE(three_threads_exclude_one_another_and_none_is_forgotten, 3)
{
    mutex = (ceni_mutex){0};
    counted = 0;
    ceni_thread a = start("a", count_alone, NULL), b = start("b", count_alone, NULL), c = start("c", count_alone, NULL);
    join(a);
    join(b);
    join(c);
    expect_equal(ceni_load_relaxed(&counted), 3);
}

/* The last of two holders gives the memory back, as an object's owner may. */
typedef struct object {
    ceni_mutex lock;
    _Atomic uint32_t holders;
} object;

static void drop(void *argument)
{
    object *o = argument;
    ceni_mutex_lock(&o->lock, CENI_RANK_WAITLIST);
    uint32_t left = ceni_load_relaxed(&o->holders) - 1;
    ceni_store_relaxed(&o->holders, left);
    ceni_mutex_unlock(&o->lock, CENI_RANK_WAITLIST);
    if (left == 0) ceni_free(NULL, o, sizeof *o, 16);
}

/* guarantees: park.mutex */
EXPLORE(unlock_touches_nothing_after_it_has_let_the_next_holder_in, 4)
{
    object *o = ceni_alloc(NULL, sizeof *o, 16);
    expect(o != NULL);
    o->holders = 2;
    ceni_thread a = start("a", drop, o), b = start("b", drop, o);
    join(a);
    join(b);
}

static void try_and_count(void *argument)
{
    (void)argument;
    while (!ceni_mutex_try_lock(&mutex, CENI_RANK_WAITLIST)) ceni_thread_yield();
    ceni_store_relaxed(&counted, ceni_load_relaxed(&counted) + 1);
    ceni_mutex_unlock(&mutex, CENI_RANK_WAITLIST);
}

/* guarantees: park.mutex */
EXPLORE(a_try_excludes_like_a_lock, 3)
{
    mutex = (ceni_mutex){0};
    counted = 0;
    ceni_thread a = start("a", try_and_count, NULL), b = start("b", count_twice, NULL);
    join(a);
    join(b);
    expect_equal(ceni_load_relaxed(&counted), 3);
}
