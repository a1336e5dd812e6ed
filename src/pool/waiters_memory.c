/* SPDX-License-Identifier: MIT */
/*
 * Where lines come from: memory that is lent to pools and never given back.
 *
 * The first few are static; when all are lent, blocks of more are allocated
 * and kept. A process thus keeps as many lines as it ever had pools at a time.
 * There is no lock, which a fork could leave locked in the child: a line is
 * claimed by a CAS on its user, and blocks form a list that only grows.
 *
 * `user` names the process too: a child may use the lines of its parent's
 * pools, none of which it will ever touch again, but has to make their locks
 * anew, because they may have been held at the moment of the fork.
 *
 * Order table
 * [K1] claim      | cas of user       | acq_rel | K2 | the line as its last pool left it | two pools in one line, or a list that is still being emptied
 * [K2] return     | store of user     | release | K1 | the same | the same
 * [K3] next block | load of more      | acquire | K4 | the zeroed lines of the block | a line is lent before it is zero
 * [K4] add block  | cas of more       | acq_rel | K3 K4 | the same | the same
 */
#include "base/alloc.h"
#include "base/statics.h"
#include "pool/waiters.h"
#include "port/port.h"

/* The watched build keeps and restores the static ones at every schedule. */
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

/* Claims the line if nobody of this process has it. */
static bool claim(ceni_waiters *line, uint64_t epoch)
{
    uint64_t user = ceni_load_relaxed(&line->user); /* a guess for the cas; carries nothing */
    if (user >> 1 == epoch && (user & 1)) return false;
    if (!ceni_cas_acq_rel(&line->user, &user, epoch << 1 | 1)) return false; /* [K1] */
    if (user >> 1 != epoch) line->mutex = (ceni_mutex){0};
    return true;
}

static ceni_waiters *claim_any(ceni_waiters_block *block, uint64_t epoch)
{
    for (int i = 0; i < BLOCK; i++)
        if (claim(&block->lines[i], epoch)) return &block->lines[i];
    return NULL;
}

/* The block after `block`, made if there is none; NULL without memory. */
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
    ceni_waiters *line = NULL;
    for (ceni_waiters_block *block = &first_block; block && !line; block = line ? block : next_block(block))
        line = claim_any(block, epoch);
    if (!line) return NULL;
    ceni_waiters_lock(line); /* a late giver of the last pool may be inside */
    ceni_turn_init(line);
    line->pool = pool;
    line->pool_id = pool_id;
    line->passing_from = 0;
    ceni_store_relaxed(&line->ctl, 0);       /* for those who get the pool from us; carries nothing */
    ceni_store_relaxed(&line->handed_at, 0); /* likewise; carries nothing */
    ceni_waiters_unlock(line);
    return line;
}

bool ceni_waiters_is_one(const void *line)
{
    for (ceni_waiters_block *block = &first_block; block; block = ceni_load_acquire(&block->more)) { /* [K3] */
        uintptr_t offset = (uintptr_t)line - (uintptr_t)block->lines;
        if (offset < sizeof block->lines) return offset % sizeof(ceni_waiters) == 0;
    }
    return false;
}

void ceni_waiters_return_locked(ceni_waiters *line)
{
    line->pool = NULL;
    line->pool_id = 0;
    ceni_waiters_unlock(line);
    ceni_store_release(&line->user, ceni_fork_epoch() << 1); /* [K2] */
}
