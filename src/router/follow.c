/* SPDX-License-Identifier: MIT */
/*
 * Following a registry: its entries under a key are the router's members.
 *
 *     REGISTERED ▶ added, and up        UPDATED ▶ the new one up, the old one removed
 *     UNREGISTERED ▶ removed            REGISTRY_ENDS ▶ nothing is left, and nothing will come
 *
 * Invariants
 *  F1 The table of members, by the entry's number, is the listener's: a registry tells one change at a
 *     time. Who ends the following has made the registry stop telling before touching it.
 *  F2 A following is in its router's list until one takes it out, under the router's lock: unfollow, or the router's
 *     free. That one ends it.
 *  F3 `listening` is there, unless `over`: the registry has told its end, and took the listening with it.
 *
 * A registry that is freed removes its entries first, so nothing is left in the table when it tells its end.
 *
 * Order table
 * tag  site       | operation     | order   | pairs with | carries          | breaks if weakened
 * [F1] hear, end of registry | store of over | release | [F2] | the listener's last touch of the following | it is freed under the listener
 * [F2] end        | load of over  | acquire | [F1]       | the same         | a listening that is gone is ended
 *
 * Tested by tests/unit/router/follow_test.c (planted: follow_keeps_the_dead).
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/plant.h"
#include "router/inside.h"
#include "sync/future.h"

struct cen_following {
    /* fixed */
    cen_router *router;
    cen_follow_options options;
    cen_listening *listening;
    /* under the router's lock */
    ceni_list link;
    /* the listener's, F1 */
    ceni_table members;
    /* any thread, atomically */
    _Atomic uint64_t caller; /* the thread that is in the listener; 0: none */
    _Atomic uint32_t count;
    _Atomic uint32_t over;
};

typedef struct followed {
    ceni_table_node node;
    uint64_t number;
    cen_member *member;
} followed;

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

/* A member that is up, for the entry. */
static cen_status make_member(cen_following *self, const cen_registered *change, cen_member **out, cen_error *why)
{
    cen_member_options options = self->options.member;
    options.size = sizeof options;
    options.value = change->value;
    if (self->options.describe) self->options.describe(self->options.argument, change, &options);
    cen_status status = cen_router_add(self->router, &options, out, why);
    if (status != CEN_OK) return status;
    status = cen_member_up(*out);
    if (status == CEN_OK) {
        if (self->options.joined) self->options.joined(self->options.argument, options.value);
        return CEN_OK;
    }
    /* It was never picked, so that it is gone need not be told; but it would be. */
    ceni_router_lock(self->router);
    ceni_member_of(*out)->gone = NULL;
    ceni_router_unlock(self->router);
    cen_member_remove(*out);
    return ceni_error_set(why, status, 0, "a member of router %s could not come up: %s", self->router->name,
                          cen_status_text(status));
}

static void refuse(cen_following *self, const cen_registered *change, const cen_error *why)
{
    if (self->options.refused) self->options.refused(self->options.argument, change, why);
}

static void leave(cen_following *self, cen_member *member)
{
    void *value = cen_member_value(member);
    cen_member_down(member, NULL);
    if (self->options.left) self->options.left(self->options.argument, value);
    cen_member_remove(member);
}

static void join(cen_following *self, const cen_registered *change)
{
    cen_error why;
    followed *one = ceni_alloc(self->router->allocator, sizeof *one, _Alignof(followed));
    if (!one) {
        ceni_error_set(&why, CEN_NO_MEMORY, 0, "there is no memory for a member of router %s", self->router->name);
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
}

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
    leave(self, one->member);
    one->member = fresh;
}

static void part(cen_following *self, followed *one)
{
    ceni_table_remove(&self->members, &one->node);
    count_by(self, UINT32_MAX);
    leave(self, one->member);
    ceni_free(self->router->allocator, one, sizeof *one, _Alignof(followed));
}

static void hear(void *argument, const cen_registered *change)
{
    cen_following *self = argument;
    followed *one;
    ceni_store_relaxed(&self->caller, ceni_thread_id()); /* only a thread that finds itself there is concerned; carries nothing */
    switch (change->change) {
    case CEN_REGISTERED: join(self, change); break;
    case CEN_UPDATED: replace(self, change); break;
    case CEN_UNREGISTERED:
        one = find(self, change->number);
        if (one && !ceni_planted(follow_keeps_the_dead)) part(self, one);
        break;
    case CEN_REGISTRY_ENDS: break;
    }
    ceni_store_relaxed(&self->caller, UINT64_C(0)); /* as above; carries nothing */
    if (change->change == CEN_REGISTRY_ENDS) ceni_store_release(&self->over, 1u); /* [F1] */
}

/* ---- Beginning and end --------------------------------------------------------------------- */

static cen_status check(const cen_router *router, const cen_follow_options *o, cen_following **out, cen_error *error)
{
    if (!router || !out) return ceni_error_set(error, CEN_INVALID, 0, "cen_router_follow: %s is NULL", !router ? "router" : "out");
    if (!ceni_fork_is(router->epoch))
        return ceni_error_set(error, CEN_FORKED, 0, "this router belongs to the process that this one was forked from");
    if (o && o->size != sizeof *o)
        return ceni_error_set(error, CEN_INVALID, 0,
                              "options.size is %zu, but a cen_follow_options has %zu bytes: use CEN_FOLLOW_OPTIONS", o->size,
                              sizeof *o);
    return CEN_OK;
}

static void release(cen_following *self)
{
    ceni_table_fini(&self->members);
    ceni_free(self->router->allocator, self, sizeof *self, _Alignof(cen_following));
}

/* Whoever has taken it out of the router's list. F2 */
static void end(cen_following *self)
{
    if (!ceni_load_acquire(&self->over)) cen_registry_unlisten(self->listening); /* [F2] */
    for (ceni_table_node *node; (node = ceni_table_next(&self->members, NULL)) != NULL;)
        part(self, CENI_TABLE_ENTRY(node, followed, node));
    release(self);
}

cen_status cen_router_follow(cen_router *router, cen_registry *registry, cen_key key, const cen_follow_options *options,
                             cen_following **out, cen_error *error)
{
    cen_status status = check(router, options, out, error);
    if (status != CEN_OK) return status;
    CENI_INLINE_AT_END;
    cen_following *self = ceni_alloc(router->allocator, sizeof *self, _Alignof(cen_following));
    if (!self)
        return ceni_error_set(error, CEN_NO_MEMORY, 0, "there is no memory for router %s to follow a registry", router->name);
    self->router = router;
    if (options) self->options = *options;
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
    if (ceni_load_relaxed(&self->caller) == ceni_thread_id() || ceni_read_is_open()) return CEN_MISUSE; /* carries nothing */
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
    cen_following *self = (cen_following *)(uintptr_t)following;
    if (!self || !ceni_fork_is(self->router->epoch)) return 0;
    return ceni_load_relaxed(&self->count); /* a number by itself; carries nothing */
}
