/* SPDX-License-Identifier: MIT */
/*
 * Read-copy-update for the controlled scheduler.
 *
 * A grace period of liburcu puts a memory barrier into every thread. For a reader there are two cases, and the order
 * of accesses to `barrier`, a word whose value means nothing, decides between them:
 *
 *     its section began before the barrier   the wait finds it open, and waits for its end
 *     it began after                         it sees everything that the waiting thread had done
 *
 * The model guarantees no more than that. The end of a section releases and does not acquire, and its begin acquires
 * and does not release, so readers are not ordered among one another. An access to memory that was freed too early is
 * therefore detected.
 *
 * The counts are plain memory. Each changes in the same step as the word that its comment names, and is read in the
 * same step as an access to that word.
 *
 * Order table
 * [K1] begin | exchange | acquire | [K3]       | what was unpublished before a grace period | a section finds an object that is being freed
 * [K2] end   | exchange | release | [K4]       | what was read in the section               | memory is freed while a reader uses it
 * [K3] wait  | exchange | release | [K1]       | what was unpublished                       | as [K1]
 * [K4] wait  | add      | acq_rel | [K2]       | what was read in sections that ended       | as [K2]; the newest, so that counts and word agree
 */
#include <string.h>

#include <cenote/read.h>

#include "base/statics.h"
#include "port/fake/world.h"
#include "rcu/rcu.h"

enum { READERS = 256 };

static CENI_STATIC struct {
    uint32_t begun[READERS]; /* sections of each thread; changes with `barrier` */
    uint32_t ended[READERS]; /* changes with `turns` */
    uint32_t depth[READERS]; /* nesting of the thread's sections; that thread only */
    uint32_t count;          /* threads that have ever read */
    uint32_t values;         /* the last value of `turns`; none is used twice */
} readers;
static CENI_STATIC _Atomic uint32_t barrier;
static CENI_STATIC _Atomic uint32_t turns; /* futex: a section has ended */

static uint32_t own(void)
{
    uint64_t *word = &ceni_route_room()[CENI_ROUTE_SECTION];
    if (*word == 0) *word = ++readers.count;
    if (*word > READERS) ceni_world_fail("more than %d threads have read", READERS);
    return (uint32_t)*word - 1;
}

void ceni_read_begin(void)
{
    uint32_t self = own();
    if (readers.depth[self]++ > 0) return;
    ceni_exchange_acquire(&barrier, 0); /* [K1] */
    readers.begun[self]++;
}

void ceni_read_end(void)
{
    uint32_t self = own();
    if (--readers.depth[self] > 0) return;
    ceni_exchange_release(&turns, ++readers.values); /* [K2] */
    readers.ended[self]++;
    ceni_futex_wake(&turns, READERS);
}

bool ceni_read_is_open(void)
{
    uint64_t number = ceni_route_room()[CENI_ROUTE_SECTION];
    return number && readers.depth[number - 1] > 0;
}

static bool have_ended(const uint32_t *begun)
{
    for (uint32_t i = 0; i < READERS; i++) {
        if (readers.ended[i] < begun[i]) return false;
    }
    return true;
}

void ceni_rcu_wait(void)
{
    uint32_t begun[READERS];
    if (ceni_read_is_open()) ceni_world_fail("a wait for a grace period inside a read section");
    ceni_exchange_release(&barrier, 0); /* [K3] */
    memcpy(begun, readers.begun, sizeof begun);
    for (;;) {
        uint32_t turn = ceni_add_acq_rel(&turns, 0); /* [K4] */
        if (have_ended(begun)) return;
        ceni_futex_wait(&turns, turn, CENI_FOREVER);
    }
}

void ceni_rcu_join(void)
{
}

void cen_rcu_skip_fork_hooks(void)
{
}
