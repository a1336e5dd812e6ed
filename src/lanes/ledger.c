/* SPDX-License-Identifier: MIT */
/*
 * The ledger: exact limits for three lanes and their sum.
 *
 *     word   page | low | high | normal         4 + 3 * 20 bits
 *
 *     take   count < limit of the lane, sum < limit of all ──cas──▶ count + 1       else refused
 *     give   count ──sub──▶ count - 1
 *     limit  the next page is written ──cas──▶ page + 1
 *
 * Invariants
 *  G1 A lane's count is the number of takes that returned true less the number of gives.
 *  G2 A take that returns true found, in the word that it replaced, the count below the limit of the lane and the sum
 *     below the limit of all, by the page that the same word named. So no take exceeds a limit, and a lower limit is in
 *     force for all threads from the cas that names its page.
 *  G3 A take that returns false found one of the limits reached, in one word that was current during the call. Nothing
 *     is added and then subtracted, so no task is refused because of another that is refused itself.
 *  G4 A page is written only while the word names another, by one thread at a time. A take that still reads the page
 *     has a word with an older page number, and its cas fails. (After sixteen changes a page has the same number again.
 *     A take that was preempted through all of them, and finds the counts unchanged, applies a limit of sixteen changes
 *     ago.)
 *
 * The naive version has a word for each lane and one for the sum. A thread that gets a place in the first and none in
 * the second gives the first back. Between the two, another thread finds the lane full, though it is not, and neither
 * is the sum:
 *     A: lane 1 of 1    A: total full    (a task of another lane ends)    B: lane full!    A: lane 0 of 1
 * The other order has the same hole. The price of one word is that three lanes share a cache line for two instructions
 * of each task. They share nothing else.
 *
 * Another naive version reads the count, compares and then adds:
 *     A: 9 of 10    B: 9 of 10    A: 10    B: 11
 *
 * Progress: lock-free: a cas of take fails only if another thread has taken, given or changed a limit. give is one
 * atomic operation.
 *
 * Order table
 * [L1] take, read | load of word | acquire | L3 L4 | the page that it names | an old limit, or a half-written one
 * [L2] take  | cas of word | acq_rel | L3, each other | that the thread that gave the place back had first taken its task out of the lane's states | queued, running and suspended are together more than the limit was
 * [L3] give  | add to word | acq_rel | L1 L2 | the same; and every page that was named before, by the releases that it follows | the same
 * [L4] limit | cas of word | acq_rel | L1 L2 | the bytes of its page | as L1
 *
 * Tested by tests/explore/lanes_test.c, tests/model/lanes_model_test.c, tests/stress/lanes_stress.c, tests/planted.
 */
#include "lanes/ledger.h"

#include "base/plant.h"

#define ONE(lane) (UINT64_C(1) << ((lane)*CENI_LEDGER_BITS))
#define ONE_PAGE (UINT64_C(1) << (CEN_LANES * CENI_LEDGER_BITS))

static uint64_t count_in(uint64_t word, unsigned lane)
{
    return word >> (lane * CENI_LEDGER_BITS) & CEN_LANE_TASKS_MAX;
}

static uint64_t total_in(uint64_t word)
{
    return count_in(word, 0) + count_in(word, 1) + count_in(word, 2);
}

static unsigned page_in(uint64_t word)
{
    return (unsigned)(word / ONE_PAGE);
}

static uint32_t limit_in(const ceni_ledger *ledger, unsigned page, unsigned which)
{
    _Atomic uint32_t *limit = (_Atomic uint32_t *)(uintptr_t)&ledger->pages[page][which];
    return ceni_load_relaxed(limit); /* ordered by L1 and L4; carries nothing */
}

void ceni_ledger_init(ceni_ledger *ledger, const uint32_t limits[CEN_LANES + 1])
{
    ceni_store_relaxed(&ledger->word, 0); /* no other thread uses it yet; carries nothing */
    for (unsigned which = 0; which <= CENI_LEDGER_TOTAL; which++)
        ceni_store_relaxed(&ledger->pages[0][which], limits[which]); /* likewise; carries nothing */
}

/* Whether one more task may be admitted, given the counts of the word; if not, why. */
static bool has_room(const ceni_ledger *ledger, uint64_t word, unsigned lane, ceni_ledger_refusal *refusal)
{
    uint64_t count = count_in(word, lane), total = total_in(word);
    uint64_t max = limit_in(ledger, page_in(word), lane), most = limit_in(ledger, page_in(word), CENI_LEDGER_TOTAL);
    if (count >= max) *refusal = (ceni_ledger_refusal){CEN_CAUSE_LANE_FULL, count, max};
    else if (total >= most) *refusal = (ceni_ledger_refusal){CEN_CAUSE_ALL_LANES_FULL, total, most};
    return count < max && total < most;
}

bool ceni_ledger_take(ceni_ledger *ledger, unsigned lane, ceni_ledger_refusal *refusal)
{
    uint64_t word = ceni_load_acquire(&ledger->word); /* [L1] */
    if (ceni_planted(lanes_add_then_undo)) {
        word = ceni_add_acq_rel(&ledger->word, ONE(lane)); /* [L3] */
        if (has_room(ledger, word, lane, refusal)) return true;
        ceni_ledger_give(ledger, lane);
        return false;
    }
    do {
        if (!has_room(ledger, word, lane, refusal)) return false;
        if (ceni_planted(lanes_checks_then_adds)) {
            ceni_add_acq_rel(&ledger->word, ONE(lane)); /* [L3] */
            return true;
        }
    } while (!ceni_cas_acq_rel(&ledger->word, &word, word + ONE(lane))); /* [L2] */
    return true;
}

void ceni_ledger_give(ceni_ledger *ledger, unsigned lane)
{
    ceni_add_acq_rel(&ledger->word, 0 - ONE(lane)); /* [L3] */
}

void ceni_ledger_limit(ceni_ledger *ledger, unsigned which, uint32_t limit)
{
    uint64_t word = ceni_load_acquire(&ledger->word); /* [L1] */
    unsigned page = page_in(word), next = (page + 1) % CENI_LEDGER_PAGES;
    if (ceni_planted(lanes_limit_comes_late)) {
        ceni_store_relaxed(&ledger->pages[page][which], limit); /* the planted bug; carries nothing */
        return;
    }
    for (unsigned each = 0; each <= CENI_LEDGER_TOTAL; each++) {
        uint32_t value = each == which ? limit : limit_in(ledger, page, each);
        ceni_store_relaxed(&ledger->pages[next][each], value); /* L4 publishes it; carries nothing */
    }
    while (!ceni_cas_acq_rel(&ledger->word, &word, word + ONE_PAGE)) continue; /* [L4] */
}

void ceni_ledger_clear(ceni_ledger *ledger)
{
    uint64_t word = ceni_load_relaxed(&ledger->word);              /* no other thread uses it; carries nothing */
    ceni_store_relaxed(&ledger->word, word / ONE_PAGE * ONE_PAGE); /* likewise; carries nothing */
}

void ceni_ledger_read(const ceni_ledger *ledger, ceni_ledger_entry *out)
{
    uint64_t word = ceni_load_acquire((_Atomic uint64_t *)(uintptr_t)&ledger->word); /* [L1] */
    for (unsigned lane = 0; lane < CEN_LANES; lane++) {
        out->admitted[lane] = count_in(word, lane);
        out->max[lane] = limit_in(ledger, page_in(word), lane);
    }
    out->total = total_in(word);
    out->max_total = limit_in(ledger, page_in(word), CENI_LEDGER_TOTAL);
}
