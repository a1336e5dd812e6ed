/* SPDX-License-Identifier: MIT */
/*
 * The end of a member: detecting the end of its last use, and freeing its memory.
 *
 * Uses are counted on stripes, so no thread sees the sum reach zero. A member whose end matters (it drains, was
 * removed, or its router is closed) is watched:
 *
 *     left the set ─ grace period ─► a bit in each stripe ─ the last one is zero ─► DOWN, or
 *     (no use begins, I2)                                ──────────► grace period ─► memory, `gone`
 *
 * A stripe that is zero when it gets its bit is over. Any other ends by the step that takes it to zero, which sees the
 * bit. `open` counts the stripes that are not over, and one more until all bits are set. The thread that takes `open`
 * to zero ends the member (I4).
 *
 * A member that goes down while it drains may come up with uses out. Then the bits are cleared. A thread that has seen
 * a bit, and has not subtracted from `open` yet, is not waited for: `open` is never reset, so its subtraction stays
 * due, and the member's next end cannot come before it. Only if `open` has reached zero, the thread that took it there
 * is about to lock, and that is waited for.
 *
 * The grace period comes through the bin: `left` is put in, and is released when no section is open in which the member
 * could have been picked. If the member came up and left again meanwhile, `left` is put in again.
 *
 * Order table
 * [M1] watch, bits    | or  | seq_cst | O3 in route.c, sub | the stripe | (one word: each use that ends comes before the bit or sees it)
 * [M2] watch and unwatch, open | add, sub | seq_cst | M3 | the bits | two threads end the member, or none does
 * [M3] a stripe, open | sub | seq_cst | M2, itself | all that was done with the member | its memory is freed while another thread's use is not over
 */
#include "base/alloc.h"
#include "base/plant.h"
#include "router/backlog.h"
#include "router/cells.h"
#include "router/member.h"
#include "router/use.h"

static void after_grace(ceni_retired *retired);

void ceni_member_watch_now_locked(ceni_member *member)
{
    if (member->watch != CENI_UNWATCHED) return;
    member->watch = CENI_WATCHED_FOR_END;
    uint32_t over = 1; /* the one that an unwatched member has */
    if (ceni_planted(open_begins_anew)) ceni_store_relaxed(&member->open, 1u); /* a planted bug; carries nothing */
    ceni_add_seq_cst(&member->open, member->stripes);                          /* [M2] */
    for (uint32_t i = 0; i < member->stripes; i++) {
        _Atomic uint64_t *word = &ceni_member_stripe(member, i)->word;
        uint64_t early = ceni_planted(sum_before_watched) ? ceni_load_relaxed(word) : 0; /* carries nothing */
        uint64_t before = ceni_or_seq_cst(word, CEN_WATCHED_);                           /* [M1] */
        if (CEN_IN_FLIGHT_(ceni_planted(sum_before_watched) ? early : before) == 0) over++;
    }
    if (ceni_sub_seq_cst(&member->open, over) == over) member->watch = CENI_HAS_ENDED; /* [M2] */
}

bool ceni_member_stripe_ended(ceni_member *member)
{
    return ceni_sub_seq_cst(&member->open, 1u) == 1; /* [M3] */
}

void ceni_member_uses_ended_locked(ceni_member *member)
{
    member->watch = CENI_HAS_ENDED;
    ceni_member_look_for_end_locked(member);
}

bool ceni_member_unwatch_locked(ceni_member *member)
{
    if (member->watch == CENI_UNWATCHED) return true;
    if (ceni_add_seq_cst(&member->open, 1u) == 0 && member->watch != CENI_HAS_ENDED) { /* [M2] */
        ceni_sub_seq_cst(&member->open, 1u);                                           /* [M2] */
        return false;
    }
    uint32_t unseen = 0; /* stripes whose end will not see the bit */
    for (uint32_t i = 0; i < member->stripes; i++)
        if (CEN_IN_FLIGHT_(ceni_and_seq_cst(&ceni_member_stripe(member, i)->word, ~CEN_WATCHED_)) > 0)
            unseen++;                                        /* [M1] */
    if (unseen > 0) ceni_sub_seq_cst(&member->open, unseen); /* [M2] */
    member->watch = CENI_UNWATCHED;
    return true;
}

void ceni_member_watch_locked(ceni_member *member)
{
    member->left_count++;
    if (ceni_planted(end_seen_too_early)) ceni_member_watch_now_locked(member);
    if (member->leaving) return;
    member->leaving = true;
    member->left_seen = member->left_count;
    ceni_bin_put(&member->router->bin, &member->left, after_grace, 0, false);
}

static void release(ceni_retired *retired)
{
    ceni_member *member = CENI_LIST_ENTRY(retired, ceni_member, retired);
    cen_router *router = member->router;
    if (member->gone) {
        ceni_rank_expect_none("the end of a member");
        int held = ceni_cancel_hold();
        member->gone(member->cell->first.value);
        ceni_cancel_release(held);
    }
    ceni_router_lock(router);
    ceni_list_remove(&member->link);
    router->zombie_count--;
    router->uses_gone += ceni_member_uses(member);
    router->failed_gone += ceni_load_relaxed(&member->failed); /* a number by itself; carries nothing */
    ceni_block *empty = ceni_cells_give_locked(router, member->block, member->cell);
    ceni_router_unlock(router);
    ceni_cells_free(router, empty);
    ceni_free(router->allocator, member, member->bytes, CENI_CACHE_LINE);
    ceni_router_drop(router);
}

void ceni_member_look_for_end_locked(ceni_member *member)
{
    cen_router *router = member->router;
    if (ceni_setting(&router->closed)) {
        ceni_add_relaxed(&router->ends, 1); /* a futex, for a thread that closes; carries nothing */
        ceni_futex_wake(&router->ends, UINT32_MAX);
    }
    /* While `left` is in the bin a use may still begin, and after_grace will look. The member may have been watched
     * before: by a close, or since an earlier drain. */
    bool too_early = member->leaving && !ceni_planted(end_seen_too_early);
    if (member->watch != CENI_HAS_ENDED || too_early || member->ended || member->tellers > 0) return;
    if (member->removed) {
        member->ended = true;
        ceni_list_remove(&member->events);
        if (ceni_planted(member_freed_at_once)) {
            ceni_router_unlock(router);
            release(&member->retired);
            ceni_router_lock(router);
            return;
        }
        ceni_bin_put(&router->bin, &member->retired, release, member->bytes, false);
    } else if (ceni_member_state_now(member) == CEN_MEMBER_DRAINING) {
        ceni_member_unwatch_locked(member);
        ceni_member_enter_locked(member, CEN_MEMBER_DOWN);
        ceni_member_report_locked(member, CEN_LEVEL_DETAIL, CEN_EVENT_MEMBER_DOWN, "is down (drained)");
    }
}

/* From here on no use of the member begins. */
static void after_grace(ceni_retired *retired)
{
    ceni_member *member = CENI_LIST_ENTRY(retired, ceni_member, left);
    cen_router *router = member->router;
    ceni_router_lock(router);
    router->hands++;
    member->leaving = false;
    bool wanted = member->removed || ceni_member_state_now(member) == CEN_MEMBER_DRAINING;
    if (wanted && member->left_seen != member->left_count) {
        member->left_count--;
        ceni_member_watch_locked(member);
    } else if (wanted) {
        ceni_member_watch_now_locked(member);
        ceni_member_look_for_end_locked(member);
    }
    ceni_router_unlock(router);
    ceni_router_settle(router, NULL);
}
