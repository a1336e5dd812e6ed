/* SPDX-License-Identifier: MIT */
/*
 * Following a registry: its entries under a key are the router's members.
 *
 *     REGISTERED ▶ added, and up        UPDATED ▶ the new one up, the old one removed
 *     UNREGISTERED ▶ removed            REGISTRY_ENDS ▶ nothing is left, and nothing will come
 *
 * A change of a router costs the length of its set. So entries that are registered in a row, such as all that exist
 * when the following begins, are added one by one and come up together: when the registry reports that no more follow,
 * or when they are as many as half of the members. An unregistered entry leaves at once, because the program may free
 * its value once the registry has reported it. When the following ends all leave together.
 *
 * Invariants
 *  F1 The table of members, by the entry's number, belongs to the listener: a registry reports one change at a time. A
 *     thread that ends the following first makes the registry stop reporting.
 *  F2 A following is in its router's list until unfollow or the router's free takes it out, under the router's lock.
 *     The one that does ends the following.
 *  F3 `listening` exists unless `over` is set: then the registry has reported its end and has freed the listening.
 *  F4 An entry in `joining` is a member that is not up. `joining` is empty after a change of a kind other than
 *     REGISTERED, and after one that says that no more follow. If the following ends before that, these members were
 *     never up.
 *
 * A registry that is freed removes its entries first, so the table is empty when it reports its end.
 *
 * Order table
 * tag  site       | operation     | order   | pairs with | carries          | breaks if weakened
 * [F1] hear, end of registry | store of over | release | [F2] | the listener's last touch of the following | it is freed under the listener
 * [F2] end        | load of over  | acquire | [F1]       | the same         | a listening that was freed is ended
 *
 * Tested by tests/unit/router/follow_test.c (planted: follow_keeps_the_dead, follow_forgets_who_waits).
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/plant.h"
#include "router/member.h"
#include "sync/future.h"

typedef struct followed {
    ceni_table_node node;
    uint64_t number;
    cen_member *member;
    bool is_up; /* `joined` was called */
} followed;

/* An entry that joins together with others. `change` is valid while the entry is, and its removal is reported later. */
typedef struct joining {
    followed *one;
    cen_registered change;
} joining;

struct cen_following {
    /* fixed */
    cen_router *router;
    cen_follow_options options;
    cen_member_options member; /* of every member */
    cen_listening *listening;
    /* under the router's lock */
    ceni_list link;
    /* only the listener, F1 */
    ceni_table members;
    joining *joining; /* F4 */
    size_t joining_count, joining_room;
    /* any thread, atomically */
    _Atomic uint64_t caller; /* the thread that is in the listener; 0: none */
    _Atomic uint32_t count;
    _Atomic uint32_t over;
};

/* ---- One entry --------------------------------------------------------------------------- */

static bool same_number(const ceni_table_node *node, const void *number)
{
    return CENI_TABLE_ENTRY(node, followed, node)->number == *(const uint64_t *)number;
}

static followed *find(const cen_following *self, uint64_t number)
{
    ceni_table_node *node = ceni_table_find(&self->members, ceni_hash_word(0, number), same_number, &number);
    return node ? CENI_TABLE_ENTRY(node, followed, node) : NULL;
}

static void count_by(cen_following *self, uint32_t difference)
{
    ceni_add_relaxed(&self->count, difference); /* a number by itself; carries nothing */
}

static uint32_t count_of(const cen_following *self)
{
    return ceni_load_relaxed(&((cen_following *)(uintptr_t)self)->count); /* a number by itself; carries nothing */
}

/* Make a member for the entry. It is not up yet. */
static cen_status make_member(cen_following *self, const cen_registered *change, cen_member **out, cen_error *why)
{
    cen_member_options options = self->member;
    options.size = sizeof options;
    options.value = change->value;
    if (self->options.describe) self->options.describe(self->options.argument, change, &options);
    return cen_router_add(self->router, &options, out, why);
}

static void refuse(cen_following *self, const cen_registered *change, const cen_error *why)
{
    if (self->options.refused) self->options.refused(self->options.argument, change, why);
}

/* Remove a member. `left` is called only if it had been up. */
static void leave(cen_following *self, cen_member *member, bool was_up)
{
    void *value = cen_member_value(member);
    cen_member_down(member, NULL);
    if (was_up && self->options.left) self->options.left(self->options.argument, value);
    cen_member_remove(member);
}

static void tell_joined(cen_following *self, const cen_member *member)
{
    if (self->options.joined) self->options.joined(self->options.argument, cen_member_value(member));
}

/* Remove a member that could not come up. It was never picked, so `gone` must not be called. */
static void unmake_member(cen_following *self, const cen_registered *change, cen_member *member, cen_status status)
{
    cen_error why;
    ceni_error_set(&why, status, 0, "router \"%s\": a member cannot come up: %s", self->router->name,
                   cen_status_text(status));
    ceni_router_lock(self->router);
    ceni_member_of(member)->gone = NULL;
    ceni_router_unlock(self->router);
    cen_member_remove(member);
    refuse(self, change, &why);
}

static void forget(cen_following *self, followed *one)
{
    ceni_table_remove(&self->members, &one->node);
    count_by(self, UINT32_MAX);
    ceni_free(self->router->allocator, one, sizeof *one, _Alignof(followed));
}

/* ---- Joining ------------------------------------------------------------------------------- */

static void has_joined(cen_following *self, followed *one)
{
    one->is_up = true;
    tell_joined(self, one->member);
}

static void bring_up(cen_following *self, followed *one, const cen_registered *change)
{
    cen_status status = cen_member_up(one->member, NULL);
    if (status == CEN_OK) {
        has_joined(self, one);
        return;
    }
    cen_member *member = one->member;
    forget(self, one);
    unmake_member(self, change, member, status);
}

/* Bring up all members of `joining` in one change, or, if that fails, one by one (F4). */
static void bring_all_up(cen_following *self)
{
    joining *all = self->joining;
    size_t count = self->joining_count, done = 0;
    self->joining_count = 0;
    cen_member **members =
        count > 1 ? ceni_alloc(self->router->allocator, count * sizeof *members, _Alignof(cen_member *)) : NULL;
    if (members) {
        for (size_t i = 0; i < count; i++) members[i] = all[i].one->member;
        cen_members_up(members, count, &done, NULL);
        ceni_free(self->router->allocator, members, count * sizeof *members, _Alignof(cen_member *));
    }
    for (size_t i = 0; i < done; i++) has_joined(self, all[i].one);
    for (size_t i = done; i < count; i++) bring_up(self, all[i].one, &all[i].change);
}

static void free_joining(cen_following *self)
{
    ceni_free(self->router->allocator, self->joining, self->joining_room * sizeof *self->joining, _Alignof(joining));
    self->joining = NULL;
    self->joining_room = self->joining_count = 0;
}

/* Make room for one more in `joining`. False: out of memory. */
static bool has_room_to_join(cen_following *self)
{
    if (self->joining_count < self->joining_room) return true;
    size_t room = self->joining_room ? 2 * self->joining_room : 16;
    joining *larger = ceni_alloc(self->router->allocator, room * sizeof *larger, _Alignof(joining));
    if (!larger) return false;
    if (self->joining_count) memcpy(larger, self->joining, self->joining_count * sizeof *larger);
    ceni_free(self->router->allocator, self->joining, self->joining_room * sizeof *larger, _Alignof(joining));
    self->joining = larger;
    self->joining_room = room;
    return true;
}

/* A change costs the length of the set. If at least as many members join at a time as half of those there, the cost for
 * each stays bounded. And an endless row does not keep its members waiting for its end. */
static bool are_enough(const cen_following *self)
{
    enum { FEW = 64 };
    return self->joining_count >= FEW && self->joining_count >= count_of(self) / 2;
}

/* Bring a member up. One that comes alone needs no list. */
static void put_up(cen_following *self, followed *one, const cen_registered *change)
{
    bool alone = self->joining_count == 0 && !change->more;
    if (alone || !has_room_to_join(self)) {
        bring_all_up(self);
        bring_up(self, one, change);
        return;
    }
    self->joining[self->joining_count++] = (joining){.one = one, .change = *change};
    if (are_enough(self)) bring_all_up(self);
}

static void join(cen_following *self, const cen_registered *change)
{
    cen_error why;
    followed *one = ceni_alloc(self->router->allocator, sizeof *one, _Alignof(followed));
    if (!one) {
        ceni_error_set(&why, CEN_NO_MEMORY, 0, "router \"%s\": out of memory for a member", self->router->name);
        refuse(self, change, &why);
        return;
    }
    if (make_member(self, change, &one->member, &why) != CEN_OK) {
        ceni_free(self->router->allocator, one, sizeof *one, _Alignof(followed));
        refuse(self, change, &why);
        return;
    }
    one->number = change->number;
    ceni_table_insert(&self->members, &one->node, ceni_hash_word(0, one->number));
    count_by(self, 1);
    put_up(self, one, change);
}

/* ---- Replacing and leaving ------------------------------------------------------------------- */

/* The new one is up before the old one goes, so that the set is not empty in between. */
static void replace(cen_following *self, const cen_registered *change)
{
    followed *one = find(self, change->number);
    cen_member *fresh;
    cen_error why;
    if (!one) {
        join(self, change);
        return;
    }
    if (make_member(self, change, &fresh, &why) != CEN_OK) {
        refuse(self, change, &why);
        return;
    }
    cen_status status = cen_member_up(fresh, NULL);
    if (status != CEN_OK) {
        unmake_member(self, change, fresh, status);
        return;
    }
    tell_joined(self, fresh);
    leave(self, one->member, one->is_up);
    one->member = fresh;
}

static void part(cen_following *self, followed *one)
{
    cen_member *member = one->member;
    bool was_up = one->is_up;
    forget(self, one);
    leave(self, member, was_up);
}

/* All go down in one change; without memory for a list of them, one by one. */
static void part_with_all(cen_following *self)
{
    size_t count = count_of(self), i = 0;
    cen_member **members =
        count > 1 ? ceni_alloc(self->router->allocator, count * sizeof *members, _Alignof(cen_member *)) : NULL;
    if (members) {
        for (ceni_table_node *node = NULL; (node = ceni_table_next(&self->members, node)) != NULL;)
            members[i++] = CENI_TABLE_ENTRY(node, followed, node)->member;
        ceni_members_down(members, count);
        ceni_free(self->router->allocator, members, count * sizeof *members, _Alignof(cen_member *));
    }
    for (ceni_table_node *node = ceni_table_next(&self->members, NULL), *next; node; node = next) {
        next = ceni_table_next(&self->members, node);
        part(self, CENI_TABLE_ENTRY(node, followed, node));
    }
}

static void hear(void *argument, const cen_registered *change)
{
    cen_following *self = argument;
    followed *one;
    /* only a thread that finds its own number matters; carries nothing */
    ceni_store_relaxed(&self->caller, ceni_thread_id());
    if (change->change != CEN_REGISTERED) bring_all_up(self);
    switch (change->change) {
    case CEN_REGISTERED: join(self, change); break;
    case CEN_UPDATED: replace(self, change); break;
    case CEN_UNREGISTERED:
        one = find(self, change->number);
        if (one && !ceni_planted(follow_keeps_the_dead)) part(self, one);
        break;
    case CEN_REGISTRY_ENDS: break;
    }
    if (!change->more && !ceni_planted(follow_forgets_who_waits)) {
        bring_all_up(self);
        free_joining(self);
    }
    ceni_store_relaxed(&self->caller, UINT64_C(0));                               /* as above; carries nothing */
    if (change->change == CEN_REGISTRY_ENDS) ceni_store_release(&self->over, 1u); /* [F1] */
}

/* ---- Beginning and end --------------------------------------------------------------------- */

/* Copy the caller's options, with defaults where none are given. */
static cen_status read_options(const cen_follow_options *given, cen_follow_options *o, cen_member_options *member,
                               cen_error *error)
{
    *o = CEN_SIZED(cen_follow_options);
    *member = CEN_SIZED(cen_member_options);
    if (!given) return CEN_OK;
    cen_status status = cen_sized_read(o, sizeof *o, given, "cen_router_follow: options", error);
    if (status != CEN_OK || !o->member) return status;
    return cen_sized_read(member, sizeof *member, o->member, "cen_router_follow: options.member", error);
}

static cen_status check(const cen_router *router, cen_following *const *out, cen_error *error)
{
    if (!router || !out)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_router_follow: %s is NULL", !router ? "router" : "out");
    if (!ceni_fork_is(router->epoch))
        return ceni_error_set(error, CEN_FORKED, 0, "router \"%s\": it belongs to the parent process", router->name);
    return CEN_OK;
}

static void release(cen_following *self)
{
    free_joining(self);
    ceni_table_fini(&self->members);
    ceni_free(self->router->allocator, self, sizeof *self, _Alignof(cen_following));
}

/* Called by the thread that has taken it out of the router's list (F2). */
static void end(cen_following *self)
{
    if (!ceni_load_acquire(&self->over)) cen_registry_unlisten(self->listening); /* [F2] */
    part_with_all(self);
    release(self);
}

cen_status cen_router_follow(cen_router *router, cen_registry *registry, cen_key key, const cen_follow_options *options,
                             cen_following **out, cen_error *error)
{
    cen_follow_options known;
    cen_member_options member;
    cen_status status = check(router, out, error);
    if (status == CEN_OK) status = read_options(options, &known, &member, error);
    if (status != CEN_OK) return status;
    CENI_INLINE_AT_END;
    cen_following *self = ceni_alloc(router->allocator, sizeof *self, _Alignof(cen_following));
    if (!self) return ceni_error_set(error, CEN_NO_MEMORY, 0, "router \"%s\": out of memory", router->name);
    self->router = router;
    self->options = known;
    self->member = member;
    ceni_table_init(&self->members, router->allocator);
    ceni_list_init(&self->link);
    status = cen_registry_listen(registry, &key, hear, self, &self->listening, error);
    if (status != CEN_OK) {
        release(self);
        return status;
    }
    ceni_router_lock(router);
    ceni_list_push_back(&router->followings, &self->link);
    ceni_router_unlock(router);
    *out = self;
    return CEN_OK;
}

cen_status cen_router_unfollow(cen_following *self)
{
    if (!self) return CEN_OK;
    cen_router *router = self->router;
    if (!ceni_fork_is(router->epoch)) return CEN_FORKED;
    if (ceni_load_relaxed(&self->caller) == ceni_thread_id() || ceni_read_is_open())
        return CEN_MISUSE; /* carries nothing */
    CENI_INLINE_AT_END;
    ceni_router_lock(router);
    ceni_list_remove(&self->link);
    ceni_router_unlock(router);
    end(self);
    return CEN_OK;
}

void ceni_follow_end_all(cen_router *router)
{
    for (;;) {
        ceni_router_lock(router);
        ceni_list *link = ceni_list_first(&router->followings);
        if (link) ceni_list_remove(link);
        ceni_router_unlock(router);
        if (!link) return;
        end(CENI_LIST_ENTRY(link, cen_following, link));
    }
}

uint32_t cen_following_count(const cen_following *following)
{
    return following && ceni_fork_is(following->router->epoch) ? count_of(following) : 0;
}
