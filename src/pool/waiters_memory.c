/* SPDX-License-Identifier: MIT */
/*
 * The memory of wait queues: it is lent to pools and never freed.
 *
 * The first few wait queues are static. When all are lent, further blocks are allocated and kept. So a process keeps
 * as many as it ever had pools at one time. There is no lock, because a fork could leave it locked in the child: a
 * wait queue is claimed by a CAS on its `user`, and the blocks are a list that only grows.
 *
 * `user` also contains the epoch of the process. A child may use the wait queues of its parent's pools, which it will
 * never touch again as such. But it resets their locks, which may have been held at the fork.
 *
 * Order table
 * [K1] claim      | cas of user       | acq_rel | K2 | the queue as its last pool left it | two pools with one wait queue, or a list that is still being emptied
 * [K2] return     | store of user     | release | K1 | the same | the same
 * [K3] next block | load of more      | acquire | K4 | the zeroed wait queues of the block | a wait queue is lent before it is zeroed
 * [K4] add block  | cas of more       | acq_rel | K3 K4 | the same | the same
 */
#include "base/alloc.h"
#include "base/statics.h"
#include "pool/waiters.h"
#include "port/port.h"

/* The watched build saves the static ones and restores them after every schedule. */
#ifdef CENI_WATCHED
enum { BLOCK = 3 };
#else
enum { BLOCK = 32 };
#endif

typedef struct ceni_waiters_block {
    ceni_waiters lines[BLOCK];
    _Atomic(struct ceni_waiters_block *) more;
} ceni_waiters_block;

static CENI_STATIC ceni_waiters_block first_block;

/* Claim the queue if no pool of this process has it. */
static bool claim(ceni_waiters *waiters, uint64_t epoch)
{
    uint64_t user = ceni_load_relaxed(&waiters->user); /* a hint for the cas; carries nothing */
    if (user >> 1 == epoch && (user & 1)) return false;
    if (!ceni_cas_acq_rel(&waiters->user, &user, epoch << 1 | 1)) return false; /* [K1] */
    if (user >> 1 != epoch) waiters->mutex = (ceni_mutex){0};
    return true;
}

static ceni_waiters *claim_any(ceni_waiters_block *block, uint64_t epoch)
{
    for (int i = 0; i < BLOCK; i++)
        if (claim(&block->lines[i], epoch)) return &block->lines[i];
    return NULL;
}

/* The block after `block`, allocated if there is none; NULL if there is no memory. */
static ceni_waiters_block *next_block(ceni_waiters_block *block)
{
    ceni_waiters_block *next = ceni_load_acquire(&block->more); /* [K3] */
    if (next) return next;
    ceni_waiters_block *made = ceni_alloc(NULL, sizeof *made, CENI_CACHE_LINE);
    if (!made) return NULL;
    if (ceni_cas_acq_rel(&block->more, &next, made)) return made; /* [K4] */
    ceni_free(NULL, made, sizeof *made, CENI_CACHE_LINE);
    return next;
}

ceni_waiters *ceni_waiters_lend(cen_pool *pool, uint64_t pool_id)
{
    uint64_t epoch = ceni_fork_epoch();
    ceni_waiters *waiters = NULL;
    for (ceni_waiters_block *block = &first_block; block && !waiters; block = waiters ? block : next_block(block))
        waiters = claim_any(block, epoch);
    if (!waiters) return NULL;
    ceni_waiters_lock(waiters); /* a late give to the last pool may hold it */
    ceni_turn_init(waiters);
    waiters->pool = pool;
    waiters->pool_id = pool_id;
    waiters->passing_from = 0;
    ceni_store_relaxed(&waiters->ctl, 0);       /* published with the pool; carries nothing */
    ceni_store_relaxed(&waiters->handed_at, 0); /* likewise; carries nothing */
    ceni_waiters_unlock(waiters);
    return waiters;
}

bool ceni_waiters_is_one(const void *waiters)
{
    for (ceni_waiters_block *block = &first_block; block; block = ceni_load_acquire(&block->more)) { /* [K3] */
        uintptr_t offset = (uintptr_t)waiters - (uintptr_t)block->lines;
        if (offset < sizeof block->lines) return offset % sizeof(ceni_waiters) == 0;
    }
    return false;
}

void ceni_waiters_return_locked(ceni_waiters *waiters)
{
    waiters->pool = NULL;
    waiters->pool_id = 0;
    ceni_waiters_unlock(waiters);
    ceni_store_release(&waiters->user, ceni_fork_epoch() << 1); /* [K2] */
}
