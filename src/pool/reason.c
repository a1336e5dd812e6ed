/* SPDX-License-Identifier: MIT */
/*
 * Reasons: the words that tell a take why it got nothing, kept for the next take.
 *
 * A thousand takes may time out at one deadline. Each wants a text, and for each text all slots are read and some ten
 * pieces are written: 20 to 100 us of a processor, one take after the other, so that the last is told a tenth of a second
 * late. What follows "no object after 5 ms" is the same for all of them. So the first makes it, and the others copy it.
 *
 *  R1 A take is told only what was true at a moment of its own wait: a reason that was made before the take began to wait
 *     is not recalled.
 *  R2 A reason that was made more than KEPT_NS ago is not recalled.
 *  R3 What depends on the take is part of the reason: whether its holder holds all that is out, and whether it has waited
 *     for so short a time that a leak is suspected. A take for which one of them differs makes its own.
 *
 * All of it is under the pool's lock, and nothing is written in words there.
 */
#include "pool/internal.h"

enum { KEPT_NS = 1000000 };

bool ceni_reason_recall(cen_pool *pool, uint64_t holder, int64_t waited_ns, ceni_kept_reason *out)
{
    int64_t now = out->made_at = ceni_pool_now(pool);
    ceni_waiters_lock(pool->line);
    const ceni_kept_reason *kept = &pool->reason;
    bool fits = kept->text[0] && kept->made_at > now - waited_ns && now - kept->made_at < KEPT_NS;
    fits = fits && (kept->sole == 0 || kept->sole != holder) && kept->suspects == (kept->suspect_ns > waited_ns);
    if (fits) {
        out->code = kept->code;
        out->cause = kept->cause;
        memcpy(out->text, kept->text, strlen(kept->text) + 1);
    }
    ceni_waiters_unlock(pool->line);
    return fits;
}

void ceni_reason_keep(cen_pool *pool, uint64_t holder, const ceni_kept_reason *reason)
{
    ceni_waiters_lock(pool->line);
    pool->reasons++;
    bool kept = reason->sole == 0 || reason->sole != holder;
    if (kept) pool->reason = *reason;
    ceni_waiters_unlock(pool->line);
}
