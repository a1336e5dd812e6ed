/* SPDX-License-Identifier: MIT */
/*
 * Reasons: the part of an error text that explains why a take failed, kept for the next take.
 *
 * A thousand takes may time out at one deadline. Each wants a text. For each text all slots are read and about ten
 * pieces are formatted: 20 to 100 us of processor time, one take after the other, so that the last take would return
 * a tenth of a second late. The part after "no object after 5 ms" is the same for all of them. So the first take
 * makes it, and the others copy it.
 *
 *  R1 A reason was true at some moment of the take's own wait: one that was made before the take began to wait is not
 *     used.
 *  R2 A reason that was made more than KEPT_NS ago is not used.
 *  R3 Everything in the reason that depends on the take is compared: whether its holder holds all leases that are
 *     out, and whether it has waited for so short a time that a leak is suspected. A take for which one of them
 *     differs makes its own reason.
 *
 * Everything is under the pool's lock; no text is formatted under it.
 */
#include "pool/internal.h"

enum { KEPT_NS = 1000000 };

bool ceni_reason_recall(cen_pool *pool, uint64_t holder, int64_t waited_ns, ceni_kept_reason *out)
{
    int64_t now = out->made_at = ceni_pool_now(pool);
    ceni_waiters_lock(pool->waiters);
    const ceni_kept_reason *kept = &pool->reason;
    bool fits = kept->text[0] && kept->made_at > now - waited_ns && now - kept->made_at < KEPT_NS;
    fits = fits && (kept->sole == 0 || kept->sole != holder) && kept->suspects == (kept->suspect_ns > waited_ns);
    if (fits) {
        out->code = kept->code;
        out->cause = kept->cause;
        memcpy(out->text, kept->text, strlen(kept->text) + 1);
    }
    ceni_waiters_unlock(pool->waiters);
    return fits;
}

void ceni_reason_keep(cen_pool *pool, uint64_t holder, const ceni_kept_reason *reason)
{
    ceni_waiters_lock(pool->waiters);
    pool->reasons++;
    bool kept = reason->sole == 0 || reason->sole != holder;
    if (kept) pool->reason = *reason;
    ceni_waiters_unlock(pool->waiters);
}
