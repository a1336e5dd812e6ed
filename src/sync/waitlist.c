/* SPDX-License-Identifier: MIT */
/*
 * The wait list: how waiters are called, and why no wake-up is lost. waitlist.h describes its use.
 *
 *     published ──nudge──▶ [crowd: no heir] ──▶ head is a thread: settle, HEIR, wake
 *                                          └──▶ head is pending: serve, settle, deliver; again
 *     heir: wakes ▶ leaves ▶ tries ▶ resigns ▶ checks for the others ▶ nudges
 *
 * Invariants
 *  I1 A verdict leaves OPEN once. The thread that settled it owns the consequence.
 *  I2 HEIR is set only together with settling a thread, under the lock, and
 *     cleared only by that thread's resign. So at most one heir exists.
 *  I3 If something is available and a place is in the list, then one of these
 *     is running: a publisher between its publication and the end of its
 *     nudge; a joiner before its second check; an heir before the check that
 *     follows its resign.
 *  I4 A place, and the waiter of a thread, is touched by others only under
 *     the lock of a list in which the place is linked. The owner takes that
 *     lock in leave before it returns. After the lock is dropped, a thread is
 *     woken only by the address of its verdict, which the futex never reads.
 *
 * The naive version's race: the waiter checks, a publisher publishes and finds no waiter, then the waiter joins and
 * parks: no thread will wake it. Hence join, then check; and publish, then nudge: each pair in one total order [W1
 * W2]. The second race: the heir is called, its deadline passes, and it leaves without a check. Everything published
 * meanwhile was left to it. Hence leave reports to the heir that it has to resign, and a check follows every resign
 * [W3].
 *
 * Order table
 * [W1] join         | add to crowd      | seq_cst | W2, and the publisher's own seq_cst publication | that a thread waits | the publisher misses the waiter while the waiter misses the publication
 * [W2] nudge        | load of crowd     | seq_cst | W1 W3 W4 | whether there is a waiter and no heir is awake | the same race from the other side
 * [W3] resign       | and on crowd      | seq_cst | W2 | that from now on publishers must call | a publisher leaves it to an heir that has already checked
 * [W4] call, remove | or, sub on crowd  | seq_cst | W2 | the heir; the count | only symmetry: both happen under the lock, one order for all changes of crowd is easier to argue
 * [W5] settle       | cas on verdict    | acq_rel | W6 | which settler was first, and what it wrote before | two owners of one consequence
 * [W6] park         | load of verdict   | acquire | W5 | the verdict and the writes before it; later writes, such as a passed element, are ordered by the lock | nothing: the lock follows; kept so that the verdict alone may be relied on
 *
 * Tested by tests/unit/sync/waitlist_test.c, tests/explore/waitlist_test.c
 * (both kinds of waiter, deadlines, cancel), tests/planted.
 */
#include "sync/waitlist.h"

#include "base/plant.h"
#include "port/port.h"

void ceni_waitlist_init(ceni_waitlist *list, ceni_mutex *mutex, bool (*serve)(ceni_waitlist *list, ceni_place *place))
{
    *list = (ceni_waitlist){.serve = serve};
    list->mutex = mutex ? mutex : &list->own_mutex;
    ceni_list_init(&list->places);
}

void ceni_waitlist_lock(ceni_waitlist *list)
{
    ceni_mutex_lock(list->mutex, CENI_RANK_WAITLIST);
}

void ceni_waitlist_unlock(ceni_waitlist *list)
{
    ceni_mutex_unlock(list->mutex, CENI_RANK_WAITLIST);
}

/* ---- Waiters ------------------------------------------------------------------ */

void ceni_waiter_init_thread(ceni_waiter *waiter)
{
    *waiter = (ceni_waiter){.kind = CENI_WAITER_THREAD};
}

void ceni_waiter_init_pending(ceni_waiter *waiter, void (*deliver)(ceni_waiter *waiter))
{
    *waiter = (ceni_waiter){.kind = CENI_WAITER_PENDING, .deliver = deliver};
}

bool ceni_waiter_settle(ceni_waiter *waiter, uint32_t verdict)
{
    uint32_t open = CENI_VERDICT_OPEN;
    if (ceni_planted(settle_without_asking)) {
        ceni_exchange_acq_rel(&waiter->verdict, verdict); /* [W5] */
        return true;
    }
    return ceni_cas_acq_rel(&waiter->verdict, &open, verdict); /* [W5] */
}

uint32_t ceni_waiter_park(ceni_waiter *waiter, int64_t moment)
{
    for (;;) {
        uint32_t verdict = ceni_load_acquire(&waiter->verdict); /* [W6] */
        if (verdict != CENI_VERDICT_OPEN) return verdict;
        if (ceni_futex_wait(&waiter->verdict, CENI_VERDICT_OPEN, moment) == CENI_TIMED_OUT)
            return ceni_load_acquire(&waiter->verdict); /* [W6] */
    }
}

/* ---- Places --------------------------------------------------------------------- */

void ceni_waitlist_join_locked(ceni_waitlist *list, ceni_place *place, ceni_waiter *waiter, uint32_t number,
                               void *element)
{
    *place = (ceni_place){.waiter = waiter, .number = number, .element = element};
    ceni_list_push_back(&list->places, &place->link);
    ceni_add_seq_cst(&list->crowd, CENI_CROWD_ONE); /* [W1] */
}

void ceni_waitlist_join(ceni_waitlist *list, ceni_place *place, ceni_waiter *waiter, uint32_t number, void *element)
{
    ceni_waitlist_lock(list);
    ceni_waitlist_join_locked(list, place, waiter, number, element);
    ceni_waitlist_unlock(list);
}

void ceni_waitlist_remove_locked(ceni_waitlist *list, ceni_place *place)
{
    if (!ceni_list_linked(&place->link)) return;
    ceni_list_remove(&place->link);
    ceni_sub_seq_cst(&list->crowd, CENI_CROWD_ONE); /* [W4] */
}

bool ceni_waitlist_leave(ceni_waitlist *list, ceni_place *place)
{
    ceni_waitlist_lock(list);
    ceni_waitlist_remove_locked(list, place);
    bool heir = place->heir;
    ceni_waitlist_unlock(list);
    return heir;
}

bool ceni_waitlist_cancel(ceni_waitlist *list, ceni_place *place)
{
    ceni_waitlist_lock(list);
    bool waiting = ceni_waiter_settle(place->waiter, CENI_VERDICT_WITHDRAWN);
    if (waiting) ceni_waitlist_remove_locked(list, place);
    ceni_waitlist_unlock(list);
    return waiting;
}

void ceni_waitlist_resign(ceni_waitlist *list)
{
    ceni_and_seq_cst(&list->crowd, ~(uint32_t)CENI_CROWD_HEIR); /* [W3] */
}

unsigned ceni_waitlist_count(const ceni_waitlist *list)
{
    return ceni_load_relaxed(&((ceni_waitlist *)(uintptr_t)list)->crowd) / CENI_CROWD_ONE; /* carries nothing */
}

/* ---- Calling ------------------------------------------------------------------------ */

/* The waiters to wake or deliver to after the lock is dropped. */
typedef struct call_batch {
    _Atomic uint32_t *thread; /* used only as an address */
    ceni_list pending;        /* places; valid until their deliver is entered */
} call_batch;

static void make_calls(call_batch *calls)
{
    if (calls->thread && !ceni_planted(call_without_wake)) ceni_futex_wake(calls->thread, 1);
    ceni_list *link;
    while ((link = ceni_list_first(&calls->pending))) {
        ceni_list_remove(link);
        ceni_waiter *waiter = CENI_LIST_ENTRY(link, ceni_place, link)->waiter;
        ceni_rank_expect_none("the delivery to a pending waiter");
        waiter->deliver(waiter);
    }
}

/* Remove the place from the list and settle its waiter, a thread. Returns true if this call has settled it. */
static bool call_thread(ceni_waitlist *list, ceni_place *place, uint32_t verdict, call_batch *calls)
{
    ceni_waiter *waiter = place->waiter;
    ceni_waitlist_remove_locked(list, place);
    if (!ceni_waiter_settle(waiter, verdict)) return false;
    calls->thread = &waiter->verdict;
    return true;
}

static void deliver_later(ceni_waitlist *list, ceni_place *place, uint32_t verdict, call_batch *calls)
{
    ceni_waitlist_remove_locked(list, place);
    ceni_waiter_settle(place->waiter, verdict);
    ceni_list_push_back(&calls->pending, &place->link);
}

/* Call or serve the first waiter of the list. Returns false when no more waiters are to be called now. */
static bool call_head(ceni_waitlist *list, call_batch *calls)
{
    ceni_list *link = ceni_list_first(&list->places);
    if (!link) return false;
    ceni_place *place = CENI_LIST_ENTRY(link, ceni_place, link);
    uint32_t verdict = CENI_VERDICT_CASE + place->number;
    if (place->waiter->kind == CENI_WAITER_PENDING) {
        if (!list->serve(list, place)) return false;
        deliver_later(list, place, verdict, calls);
        return true;
    }
    if (!call_thread(list, place, verdict, calls)) return true; /* it is leaving on its own */
    place->heir = true;
    ceni_or_seq_cst(&list->crowd, CENI_CROWD_HEIR); /* [W4] */
    return false;
}

void ceni_waitlist_nudge_slowly(ceni_waitlist *list)
{
    call_batch calls = {.thread = NULL};
    ceni_list_init(&calls.pending);
    ceni_waitlist_lock(list);
    if (!(ceni_load_relaxed(&list->crowd) & CENI_CROWD_HEIR)) /* carries nothing: HEIR is set under this lock */
        while (call_head(list, &calls)) continue;
    ceni_waitlist_unlock(list);
    make_calls(&calls);
}

void ceni_waitlist_send_away(ceni_waitlist *list)
{
    for (bool more = true; more;) {
        call_batch calls = {.thread = NULL};
        ceni_list_init(&calls.pending);
        ceni_waitlist_lock(list);
        ceni_list *link = ceni_list_first(&list->places);
        if (link) {
            ceni_place *place = CENI_LIST_ENTRY(link, ceni_place, link);
            if (place->waiter->kind == CENI_WAITER_THREAD) call_thread(list, place, CENI_VERDICT_WITHDRAWN, &calls);
            else deliver_later(list, place, CENI_VERDICT_WITHDRAWN, &calls);
        }
        more = link != NULL;
        ceni_waitlist_unlock(list);
        make_calls(&calls);
    }
}
