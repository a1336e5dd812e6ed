/* SPDX-License-Identifier: MIT */
/*
 * A three-state mutex on a futex.
 *
 *     FREE --lock--> HELD --another thread is about to sleep--> CROWDED
 *     HELD --unlock--> FREE
 *     CROWDED --unlock, then wake one sleeper--> FREE
 *
 * Invariants
 * I1  FREE: no thread holds the mutex. HELD or CROWDED: exactly one thread does.
 * I2  A thread sleeps only while the word is CROWDED: the futex compares the word once more on the way to sleep.
 * I3  While a thread sleeps and the word is not CROWDED, another thread is awake that will set it to CROWDED. A woken
 *     thread takes the mutex as CROWDED, because it cannot know whether it was the last sleeper. If it was, its
 *     unlock makes one needless wake.
 *
 * The naive version has two states and a count of sleepers beside the word, and wakes only if the count is not zero:
 *     waiter: sees the word held          holder: frees the word
 *                                         holder: sees no sleeper, wakes nobody
 *     waiter: adds itself to the count and sleeps on a free mutex, forever
 * If the waiter adds itself to the count first, the holder has to read the count after it has freed the word. By then
 * the next holder may have freed the mutex's memory. Here the single exchange [M3] frees the word and returns whether
 * a thread may be asleep, and the wake uses only the address.
 *
 * Linearisation points: lock at the successful [M1] or [M2], unlock at [M3].
 *
 * Order table
 * tag  site       | operation       | order   | pairs with | carries                     | breaks if weakened
 * [M1] take_free  | cas FREE->HELD  | acquire | [M3]       | all writes of past holders  | holder reads what the last one had not finished writing
 * [M2] take_slow  | exchange CROWDED| acquire | [M3]       | the same                    | the same, after a sleep
 * [M3] unlock     | exchange FREE   | release | [M1], [M2] | all writes of this holder   | the same, seen from the other side
 * An exchange [M2] that does not take the mutex leaves the release sequence of [M3] intact, because it is itself a
 * read-modify-write.
 */
#include "port/mutex.h"

#include "base/atomic.h"
#include "base/plant.h"
#include "port/port.h"

enum { FREE = 0, HELD = 1, CROWDED = 2 };

/* About as long as a short critical section. A sleep and a wake cost more. The controlled scheduler needs this path
 * only once. */
#ifdef CENI_WATCHED
#define SPINS 1
#else
#define SPINS 100
#endif

static bool take_free(ceni_mutex *m)
{
    uint32_t expected = FREE;
    return ceni_cas_acquire(&m->word, &expected, HELD); /* [M1] */
}

/* Spin while no thread sleeps. Once a thread sleeps, spinning would only overtake it, so it ends. */
static bool take_spinning(ceni_mutex *m)
{
    for (int i = 0; i < SPINS; i++) {
        uint32_t seen = ceni_load_relaxed(&m->word); /* carries nothing: only a reason to try [M1] */
        if (seen == FREE && take_free(m)) return true;
        if (seen == CROWDED) return false;
        ceni_pause();
    }
    return false;
}

static void take_slow(ceni_mutex *m)
{
    uint32_t taken = ceni_planted(mutex_forgets_sleepers) ? HELD : CROWDED;
    while (ceni_exchange_acquire(&m->word, taken) != FREE) /* [M2] */
        ceni_futex_wait(&m->word, CROWDED, CENI_FOREVER);
}

void ceni_mutex_lock(ceni_mutex *m, ceni_rank rank)
{
    ceni_rank_enter(rank);
    if (take_free(m) || take_spinning(m)) return;
    take_slow(m);
}

bool ceni_mutex_try_lock(ceni_mutex *m, ceni_rank rank)
{
    ceni_rank_enter(rank);
    if (take_free(m)) return true;
    ceni_rank_leave(rank);
    return false;
}

void ceni_mutex_unlock(ceni_mutex *m, ceni_rank rank)
{
    ceni_rank_leave(rank);
    /* From this step on another thread may hold the mutex, or may have freed it. */
    uint32_t was = ceni_exchange_release(&m->word, FREE); /* [M3] */
    if (was == CROWDED) ceni_futex_wake(&m->word, 1);
}
