/* SPDX-License-Identifier: MIT */
/*
 * The rendezvous queue: it has no buffer. A push and a pop meet, and the element is copied from one's memory to the
 * other's under a lock that both sides share.
 *
 * The second one finds the first in the other side's list, settles its verdict and copies. There is no heir: a called
 * waiter is done.
 *
 * A select that is already in other lists must settle itself before it takes a partner; otherwise both could be taken
 * twice. Two selects that meet head-on in two queues (one pushes a, pops b; the other pops a, pushes b) could then
 * withdraw from each other forever. They do not, because select joins the queues in the order of their addresses: in
 * any cycle of selects that found each other, one would have joined a later queue before an earlier one.
 *
 * Invariants
 *  I1 The element is copied under the lock after the partner was settled, and
 *     the partner takes the lock before it returns (I4 of waitlist.c).
 *  I2 The lock makes the search for a partner and the join one step, so a plain
 *     push or pop needs no second check.
 */
#include "base/plant.h"
#include "port/port.h"
#include "sync/queue_internal.h"

static void pass(const cen_queue *queue, cen_direction direction, void *mine, void *theirs)
{
    if (direction == CEN_PUSH) ceni_copy_element(theirs, mine, queue->element_size);
    else ceni_copy_element(mine, theirs, queue->element_size);
}

/* Settle the first waiter of the other side that is still waiting, and pass the element. Returns the address to wake,
 * or NULL if there is no such waiter. */
static _Atomic uint32_t *meet_locked(cen_queue *queue, cen_direction direction, void *element, const ceni_waiter *self)
{
    ceni_waitlist *others = ceni_queue_list(queue, direction == CEN_PUSH ? CEN_POP : CEN_PUSH);
    ceni_list *link = others->places.next;
    while (link != &others->places) {
        ceni_place *place = CENI_LIST_ENTRY(link, ceni_place, link);
        link = link->next;
        if (place->waiter == self) continue;
        bool mine = ceni_waiter_settle(place->waiter, CENI_VERDICT_CASE + place->number);
        ceni_waitlist_remove_locked(others, place); /* a waiter that was settled before is leaving anyway */
        if (!mine) continue;
        pass(queue, direction, element, place->element);
        return &place->waiter->verdict;
    }
    return NULL;
}

static bool has_partner(cen_queue *queue, cen_direction direction, const ceni_waiter *self)
{
    ceni_waitlist *others = ceni_queue_list(queue, direction == CEN_PUSH ? CEN_POP : CEN_PUSH);
    for (ceni_list *link = others->places.next; link != &others->places; link = link->next)
        if (CENI_LIST_ENTRY(link, ceni_place, link)->waiter != self) return true;
    return false;
}

static bool is_shut(cen_queue *queue)
{
    return ceni_load_relaxed(&queue->shut); /* carries nothing: written under this lock */
}

bool ceni_meet_may(const cen_queue *queue, cen_direction direction)
{
    return ceni_waitlist_count(direction == CEN_PUSH ? &queue->pops : &queue->pushes) || cen_queue_is_closed(queue);
}

ceni_attempt ceni_meet_attempt(cen_queue *queue, cen_direction direction, void *element)
{
    ceni_waitlist_lock(&queue->pushes);
    bool shut = is_shut(queue);
    _Atomic uint32_t *partner = shut ? NULL : meet_locked(queue, direction, element, NULL);
    ceni_waitlist_unlock(&queue->pushes);
    if (partner) ceni_futex_wake(partner, 1);
    return partner ? CENI_DONE : shut ? CENI_SHUT : CENI_BLOCKED;
}

ceni_attempt ceni_meet_join(cen_queue *queue, cen_direction direction, ceni_place *place, ceni_waiter *self,
                            uint32_t number, void *element)
{
    _Atomic uint32_t *partner = NULL;
    ceni_attempt result = CENI_IN_BETWEEN;
    ceni_waitlist_lock(&queue->pushes);
    if (is_shut(queue)) {
        ceni_waiter_settle(self, CENI_VERDICT_WITHDRAWN);
    } else if (!has_partner(queue, direction, self)) {
        ceni_waitlist_join_locked(ceni_queue_list(queue, direction), place, self, number, element);
        result = CENI_BLOCKED;
    } else if (ceni_waiter_settle(self, CENI_VERDICT_WITHDRAWN)) {
        partner = meet_locked(queue, direction, element, self);
        if (partner) result = CENI_DONE;
    }
    ceni_waitlist_unlock(&queue->pushes);
    if (partner) ceni_futex_wake(partner, 1);
    return result;
}
