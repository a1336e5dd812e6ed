/* SPDX-License-Identifier: MIT */
/*
 * A connection of a routing pool, from its start to its last use. The states and invariants are in pool.h.
 *
 *     start ▶ open_async ─loop▶ opened ▶ register ▶ (the router follows) member ▶ requests
 *     lost ─loop▶ the owner ends ▶ the member leaves the set ▶ the child has ended ▶ its supervisor starts it again
 *     last route done ▶ gone ▶ a job frees the connection
 *
 * Both the opening and the end of a connection are reported on the loop's thread, so for one link they never overlap.
 * stop may run on any helper at any time.
 *
 * Order table
 * tag  site  | operation        | order   | pairs with      | carries                   | breaks if weakened
 * [L1] left  | store of lost    | release | [L2]            | the set without the member | nothing but a count: `stale` would not be exact
 * [L2] left  | add to losses    | acq_rel | A1 in pool_async.c | the same                  | the same
 * [L3] registry starts | store of registry | release | K1 in pool_look.c | the registry | the program sees a registry that is half created
 *
 * Tested by tests/unit/net/pool_test.c, pool_fault_test.c, tests/stress/mux_pool_stress.c.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "net/pool.h"

#define LINK_OF(pointer, field) CENI_LIST_ENTRY(pointer, ceni_mux_link, field)

/* ---- Freeing a link ------------------------------------------------------------------------------ */

static void release(ceni_mux_link *link)
{
    ceni_free(link->pool->allocator, link, sizeof *link, _Alignof(ceni_mux_link));
}

/* Free a link without references. This thread is inside none of its calls. */
static void let_go(cen_job *job)
{
    ceni_mux_link *link = LINK_OF(job, job);
    cen_mux_pool *pool = link->pool;
    ceni_mux_pool_lock(pool);
    ceni_list_remove(&link->in_all); /* before its address can be reused */
    ceni_mux_pool_unlock(pool);
    cen_mux_free(link->mux);
    cen_owner_drop(link->owner);
    release(link);
    ceni_mux_pool_lock(pool);
    pool->links--;
    ceni_mux_pool_turn_locked(pool);
    ceni_mux_pool_unlock(pool); /* P4: the pool may be gone */
}

static void drop_and_unlock(ceni_mux_link *link)
{
    cen_mux_pool *pool = link->pool;
    bool last = --link->hands == 0;
    ceni_mux_pool_unlock(pool);
    if (last) pool->executor->post(pool->executor, &link->job);
}

static void drop(ceni_mux_link *link)
{
    ceni_mux_pool_lock(link->pool);
    drop_and_unlock(link);
}

/* ---- Joining and leaving the set ------------------------------------------------------------------- */

/* P3 */
static void leave_set(ceni_mux_link *link)
{
    ceni_mux_pool_lock(link->pool);
    bool first = !link->has_left;
    link->has_left = true;
    ceni_mux_pool_unlock(link->pool);
    if (first) cen_owner_end(link->owner);
}

static void note_lost_locked(ceni_mux_link *link)
{
    /* changed under the lock, which is held; carries nothing */
    uint64_t number = ceni_add_relaxed(&link->pool->losses, 0) + 1;
    bool first = ceni_load_relaxed(&link->lost) == 0;    /* the same; carries nothing */
    if (first) ceni_store_release(&link->lost, number);  /* [L1] */
    if (first) ceni_add_acq_rel(&link->pool->losses, 1); /* [L2] */
}

static void end_membership(ceni_mux_link *link)
{
    ceni_mux_pool_lock(link->pool);
    note_lost_locked(link);
    link->is_member = false;
    ceni_mux_pool_turn_locked(link->pool);
    ceni_mux_pool_unlock(link->pool);
}

static ceni_mux_link *link_of_mux(cen_mux_pool *pool, const cen_mux *mux)
{
    ceni_mux_link *found = NULL;
    ceni_mux_pool_lock(pool);
    for (ceni_list *at = pool->all.next; at != &pool->all && !found; at = at->next)
        if (LINK_OF(at, in_all)->mux == mux) found = LINK_OF(at, in_all);
    ceni_mux_pool_unlock(pool);
    return found;
}

static void member_gone(void *link)
{
    drop(link);
}

/* No reader of the registry sees the entry any longer. */
static void entry_gone(void *argument, void *mux)
{
    drop(link_of_mux(argument, mux));
}

static void describe(void *argument, const cen_registered *entry, cen_member_options *member)
{
    ceni_mux_link *link = link_of_mux(argument, entry->value);
    member->value = link;
    member->name = link->connection->name;
    member->gone = member_gone;
}

/* From here on requests are routed to the link, unless it is over already. */
static void member_joined(void *argument, void *value)
{
    cen_mux_pool *pool = argument;
    ceni_mux_link *link = value;
    ceni_mux_pool_lock(pool);
    if (link->state == CENI_LINK_OPENING) {
        link->state = CENI_LINK_OPEN;
        pool->connecting--;
        pool->up++;
        pool->was_up = true;
        ceni_mux_pool_turn_locked(pool);
    }
    ceni_mux_pool_unlock(pool);
}

static void member_left(void *argument, void *value)
{
    (void)argument;
    end_membership(value);
}

/* Close a link that cannot join the set and so would never be used. Its supervisor opens it again. */
static void refuse_link(ceni_mux_link *link, const cen_error *why)
{
    ceni_mux_pool_lock(link->pool);
    link->connection->error = *why;
    ceni_mux_pool_unlock(link->pool);
    cen_mux_close(link->mux, CEN_NOW, NULL);
}

static void member_refused(void *argument, const cen_registered *entry, const cen_error *why)
{
    ceni_mux_link *link = link_of_mux(argument, entry->value);
    end_membership(link);
    refuse_link(link, why);
    drop(link);
}

/* Return OK if the link is in the set or will be in a moment. */
static cen_status enter_set(ceni_mux_link *link, cen_error *error)
{
    cen_mux_pool *pool = link->pool;
    ceni_mux_pool_lock(pool);
    link->hands += 2;
    link->is_member = true;
    ceni_list_push_back(&pool->all, &link->in_all);
    ceni_mux_pool_unlock(pool);
    /* it was created before this child was started; carries nothing */
    cen_registry *registry = ceni_load_relaxed(&pool->registry);
    cen_status status = cen_registry_register(registry, cen_key_text("up"), link->mux, link->owner, NULL, error);
    if (status == CEN_OK) return CEN_OK;
    end_membership(link);
    ceni_mux_pool_lock(pool);
    link->hands--;
    drop_and_unlock(link);
    return status;
}

/* ---- On the loop's thread ---------------------------------------------------------------------------- */

/* Remove the lost link that the connection kept in the set, if there is one. */
static void forget_kept(ceni_mux_connection *connection)
{
    ceni_mux_pool_lock(connection->pool);
    ceni_mux_link *kept = connection->kept;
    connection->kept = NULL;
    ceni_mux_pool_unlock(connection->pool);
    if (!kept) return;
    leave_set(kept);
    drop(kept);
}

/* Report the end of a link to its child and drop the reference of its life. `why` NULL: it was stopped. */
static void finish(ceni_mux_link *link, const cen_error *why)
{
    cen_mux_pool *pool = link->pool;
    ceni_mux_connection *connection = link->connection;
    cen_child child = link->child;
    ceni_mux_pool_lock(pool);
    if (link->state == CENI_LINK_OPEN) pool->up--;
    else pool->connecting--;
    link->state = CENI_LINK_OVER;
    if (connection->link == link) connection->link = NULL;
    if (why) connection->error = pool->last = *why;
    if (why && link->is_connected) pool->lost++;
    if (why && !link->is_connected) pool->failed_opens++;
    if (!connection->was_tried) pool->tried++;
    connection->was_tried = true;
    ceni_mux_pool_turn_locked(pool);
    ceni_mux_pool_unlock(pool);
    if (link->is_told) ceni_mux_pool_tell(pool, CEN_EVENT_CONNECTION_DOWN, connection, why);
    else if (why) ceni_mux_pool_tell(pool, CEN_EVENT_CONNECTION_FAILED, connection, why);
    cen_child_report_ended(child, why);
    drop(link);
}

static bool is_stopping(ceni_mux_link *link)
{
    ceni_mux_pool_lock(link->pool);
    bool stopping = link->is_stopping;
    ceni_mux_pool_unlock(link->pool);
    return stopping;
}

/* The connection was closed by this side, or lost. */
static void ended(cen_future *future)
{
    ceni_mux_link *link = future->user;
    bool is_lost = future->status != CEN_OK || !is_stopping(link);
    if (future->status == CEN_OK && is_lost) { /* closed because it could not become a member */
        ceni_mux_pool_lock(link->pool);
        link->cause = link->connection->error;
        ceni_mux_pool_unlock(link->pool);
    }
    if (is_lost && (link->pool->keep_lost || ceni_planted(mux_pool_forgets_to_leave))) {
        ceni_mux_pool_lock(link->pool);
        note_lost_locked(link);
        link->hands++;
        link->connection->kept = link;
        ceni_mux_pool_unlock(link->pool);
    } else {
        leave_set(link);
    }
    finish(link, is_lost ? &link->cause : NULL);
}

static void open_link(ceni_mux_link *link)
{
    cen_mux_pool *pool = link->pool;
    ceni_mux_pool_lock(pool);
    link->is_connected = true;
    pool->opened++;
    ceni_mux_pool_unlock(pool);
    cen_future_init(&link->ended);
    link->ended.user = link;
    link->ended.error = &link->cause;
    cen_future_then(&link->ended, ended, cen_inline());
    /* The end is reported on this thread, so it cannot come before cen_mux_watch below. */
    cen_error error;
    cen_status status = enter_set(link, &error);
    forget_kept(link->connection);
    link->is_told = status == CEN_OK;
    if (link->is_told) ceni_mux_pool_tell(pool, CEN_EVENT_CONNECTION_UP, link->connection, NULL);
    else refuse_link(link, &error);
    cen_mux_watch(link->mux, &link->ended);
}

static void opened(cen_future *future)
{
    ceni_mux_link *link = future->user;
    if (future->status == CEN_OK) {
        open_link(link);
        return;
    }
    bool asked = is_stopping(link);
    leave_set(link);
    finish(link, asked ? NULL : &link->cause);
}

/* ---- The child of a connection ------------------------------------------------------------------------- */

static ceni_mux_link *make_link(ceni_mux_connection *connection, cen_child child, cen_error *error)
{
    cen_mux_pool *pool = connection->pool;
    ceni_mux_link *link = ceni_alloc(pool->allocator, sizeof *link, _Alignof(ceni_mux_link));
    if (!link) {
        ceni_error_set(error, CEN_NO_MEMORY, 0, "routing pool \"%s\": connection \"%s\": out of memory", pool->name,
                       connection->name);
        return NULL;
    }
    cen_owner_options options = CEN_OWNER_OPTIONS(.name = connection->name, .allocator = pool->allocator);
    if (cen_owner_new(&options, &link->owner, error) != CEN_OK) {
        ceni_free(pool->allocator, link, sizeof *link, _Alignof(ceni_mux_link));
        return NULL;
    }
    cen_owner_hold(link->owner);
    link->pool = pool;
    link->connection = connection;
    link->child = child;
    link->hands = 1;
    ceni_list_init(&link->in_all);
    link->job.run = let_go;
    cen_future_init(&link->opened);
    link->opened.user = link;
    link->opened.error = &link->cause;
    cen_future_then(&link->opened, opened, cen_inline());
    return link;
}

static void count_in(ceni_mux_link *link)
{
    cen_mux_pool *pool = link->pool;
    ceni_mux_pool_lock(pool);
    pool->links++;
    pool->connecting++;
    link->connection->link = link;
    ceni_mux_pool_unlock(pool);
}

/* The start has failed. */
static void count_out(ceni_mux_link *link)
{
    cen_mux_pool *pool = link->pool;
    ceni_mux_pool_lock(pool);
    pool->links--;
    pool->connecting--;
    link->connection->link = NULL;
    ceni_mux_pool_unlock(pool);
}

static void note_failed_start(ceni_mux_connection *connection, const cen_error *why)
{
    cen_mux_pool *pool = connection->pool;
    ceni_mux_pool_lock(pool);
    connection->error = pool->last = *why;
    pool->failed_opens++;
    if (!connection->was_tried) pool->tried++;
    connection->was_tried = true;
    ceni_mux_pool_turn_locked(pool);
    ceni_mux_pool_unlock(pool);
}

cen_status ceni_mux_connection_start(void *argument, cen_child child, cen_error *error)
{
    ceni_mux_connection *connection = argument;
    cen_mux_pool *pool = connection->pool;
    ceni_mux_link *link = make_link(connection, child, error);
    if (!link) {
        note_failed_start(connection, error);
        return error->status;
    }
    cen_mux_options options = pool->mux;
    options.name = connection->name;
    options.address = connection->address;
    count_in(link);
    /* the link may be gone when this returns */
    cen_status status = cen_mux_open_async(&options, &link->mux, &link->opened, error);
    if (status == CEN_OK) return CEN_OK;
    count_out(link);
    cen_owner_end(link->owner);
    cen_owner_drop(link->owner);
    release(link);
    note_failed_start(connection, error);
    return status;
}

void ceni_mux_connection_stop(void *argument, cen_child child)
{
    ceni_mux_connection *connection = argument;
    cen_mux_pool *pool = connection->pool;
    /* the child is started again only after this has returned, so a link found here is this child's */
    (void)child;
    forget_kept(connection);
    ceni_mux_pool_lock(pool);
    ceni_mux_link *link = connection->link;
    if (!link) {
        ceni_mux_pool_unlock(pool);
        return; /* its end was reported, or is being reported */
    }
    link->hands++;
    link->is_stopping = true;
    bool waits = !pool->hurry && !pool->is_manual && pool->drain_ns > 0;
    ceni_mux_pool_unlock(pool);
    leave_set(link);
    /* Leaving the registry may take effect later. Until then requests would be routed here, only to be refused and
     * routed again. */
    ceni_mux_pool_lock(pool);
    while (link->is_member) ceni_mux_pool_await_locked(pool);
    ceni_mux_pool_unlock(pool);
    cen_mux_close(link->mux, waits ? cen_in_ns(pool->drain_ns) : CEN_NOW, NULL);
    drop(link);
}

/* ---- The registry's child -------------------------------------------------------------------------------- */

/* P5 */
static void end_registry(cen_mux_pool *pool)
{
    cen_registry *registry = ceni_load_relaxed(&pool->registry); /* one start or stop at a time; carries nothing */
    for (uint32_t i = 0; i < pool->count; i++) forget_kept(&pool->connection_at[i]);
    if (!registry) return;
    ceni_store_relaxed(&pool->registry, NULL); /* readers keep it for a short time only; carries nothing */
    cen_router_unfollow(pool->following);
    cen_registry_free(registry);
}

cen_status ceni_registry_child_start(void *argument, cen_child child, cen_error *error)
{
    cen_mux_pool *pool = argument;
    (void)child;
    end_registry(pool); /* of an earlier start that has failed */
    cen_registry *registry;
    cen_registry_options options =
        CEN_REGISTRY_OPTIONS(.name = pool->name, .kind = CEN_DUPLICATE, .release = entry_gone, .argument = pool,
                             .runtime = pool->given_runtime, .allocator = pool->allocator);
    cen_status status = cen_registry_new(&options, &registry, error);
    if (status != CEN_OK) return status;
    cen_follow_options follow = CEN_FOLLOW_OPTIONS(.describe = describe, .refused = member_refused,
                                                   .joined = member_joined, .left = member_left, .argument = pool);
    status = cen_router_follow(pool->router, registry, cen_key_text("up"), &follow, &pool->following, error);
    if (status != CEN_OK) {
        cen_registry_free(registry);
        return status;
    }
    ceni_add_relaxed(&pool->registry_starts, 1);   /* a number by itself; carries nothing */
    ceni_store_release(&pool->registry, registry); /* [L3] */
    return CEN_OK;
}

void ceni_registry_child_stop(void *argument, cen_child child)
{
    (void)child;
    end_registry(argument);
}
