/* SPDX-License-Identifier: MIT */
/* The floors in a shared library of their own, to show what the calls alone cost. */
#include "floor.h"

void called_begin(void)
{
    urcu_bp_read_lock();
}

void called_end(void)
{
    urcu_bp_read_unlock();
}

struct member *called_random(void *set, struct pick_worker *worker)
{
    return find_random(set, worker);
}

struct member *called_turn(void *set, struct pick_worker *worker)
{
    return find_turn(set, worker);
}

struct member *called_route_random(void *set, struct pick_worker *worker)
{
    urcu_bp_read_lock();
    struct member *member = find_random(set, worker);
    begin_use(member, worker);
    urcu_bp_read_unlock();
    return member;
}

struct member *called_route_turn(void *set, struct pick_worker *worker)
{
    urcu_bp_read_lock();
    struct member *member = find_turn(set, worker);
    begin_use(member, worker);
    urcu_bp_read_unlock();
    return member;
}

void called_done(struct member *member, struct pick_worker *worker)
{
    end_use(member, worker);
}
