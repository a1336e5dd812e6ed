/* SPDX-License-Identifier: MIT */
/*
 * What a forked child may do with a pool of its parent's: free it, and make
 * pools of its own, whatever the parent's other threads were doing (L14).
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pool/internal.h"
#include "unit/pool/ledger.h"
#include "unit/pool/pools.h"

static workshop shop;
static ledger book;
static cen_allocator allocator;
static cen_pool *pool;
static uint32_t max;
static cen_lease held;
static cen_scope scope;

/* One object is idle, one held by hand, one in a scope. */
static void prepare(void)
{
    shop = (workshop){0};
    book = (ledger){.bytes = 0};
    allocator = allocator_of(&book);
    max = 3;
    pool = make_pool(.name = "parents", .max = max, .driver = driver_of(&shop), .allocator = &allocator);
    held = take_now(pool);
    expect_equal(cen_pool_enter(pool, CEN_NOW, &scope, NULL), CEN_OK);
    cen_lease idle = take_now(pool);
    give_back(&idle);
    shop.log[0] = '\0';
}

static void finish(void)
{
    give_back(&held);
    expect_equal(cen_pool_leave(&scope), CEN_OK);
    expect_counts(pool, 3, 0);
    free_pool(pool);
    expect_equal(book.bytes, 0);
    expect_log(&shop, "-1 -2 -3 ");
}

/* Runs it in a child and expects that it ends well. */
static void in_a_child(void (*run)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        *ceni_rank_mask() = 0; /* a lock may be held by a thread that is not here */
        run();
        _exit(0);
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child);
    expect_equal(status, 0);
}

/* ---- Every call ---------------------------------------------------------------------------- */

static bool never_visit(void *argument, const cen_object_view *holding)
{
    (void)argument;
    (void)holding;
    unexpected(NULL, "a visit in a child");
    return false;
}

static void expect_forked(cen_status status, const cen_error *error)
{
    expect_equal(status, CEN_FORKED);
    expect_error(error, CEN_FORKED, "\"parents\"");
}

static void call_everything(void)
{
    cen_error error;
    cen_lease lease, copy = held;
    cen_scope inner;
    cen_close_report report = CEN_SIZED(cen_close_report);
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    cen_object_view holding;
    size_t count;
    expect_forked(cen_pool_take(pool, CEN_NEVER, &lease, &error), &error);
    expect_forked(cen_pool_take(pool, CEN_NOW, &lease, &error), &error);
    expect_forked(cen_pool_try_take(pool, &lease, &error), &error);
    expect_forked(cen_pool_adopt(pool, NULL, &error), &error);
    expect_forked(cen_pool_enter(pool, CEN_NEVER, &inner, &error), &error);
    expect_forked(cen_pool_close(pool, CEN_NEVER, &report, &error), &error);
    expect_forked(cen_pool_resize(pool, 1, &error), &error);
    expect_forked(cen_pool_resize(pool, 50, &error), &error);
    expect_equal(cen_pool_take(pool, CEN_NEVER, &lease, NULL), CEN_FORKED);
    expect_equal(cen_pool_give(&held), CEN_FORKED);
    expect_equal(cen_pool_discard(&held), CEN_FORKED);
    expect(memcmp(&held, &copy, sizeof copy) == 0);
    expect_equal(cen_pool_leave(&scope), CEN_FORKED);
    expect_equal(cen_pool_stats_get(pool, &stats), CEN_FORKED);
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_FORKED);
    expect_equal(cen_pool_each(pool, never_visit, NULL), CEN_FORKED);
    CEN_WITH (pool, CEN_NEVER, void *, object, &error) unexpected(object, "the block in a child");
    expect_error(&error, CEN_FORKED, "\"parents\"");
    expect_text(cen_pool_name(pool), "parents"); /* these never fail */
    expect_equal(cen_pool_max(pool), max);
    expect(cen_pool_is_closed(pool));
    expect_equal(shop.log[0], 0);
}

/* guarantees: pool.L14, pool-bugs.fork */
TEST(in_a_child_every_call_answers_forked_and_the_parent_notices_nothing)
{
    prepare();
    cen_pool_stats before = expect_sound(pool);
    in_a_child(call_everything);
    cen_pool_stats after = expect_sound(pool);
    expect(same_stats(&before, &after));
    finish();
}

static void free_in_child(void)
{
    expect(book.bytes > 0);
    free_pool(pool);
    expect_equal(book.bytes, 0);
    expect_equal(shop.log[0], 0); /* the parent's objects are left alone */
}

/* guarantees: pool.L14, pool-bugs.fork */
TEST(a_child_can_free_the_pool_and_leaves_the_parents_objects_alone)
{
    prepare();
    in_a_child(free_in_child);
    expect(book.bytes > 0);
    finish();
}

static void fork_again(void)
{
    in_a_child(call_everything);
    in_a_child(free_in_child);
    call_everything();
    free_in_child();
}

TEST(a_childs_child_is_a_child_too)
{
    prepare();
    in_a_child(fork_again);
    finish();
}

/* ---- Pools of the child ---------------------------------------------------------------------- */

static void *take_and_give(void *argument)
{
    cen_lease lease;
    expect_equal(cen_pool_take(argument, CEN_NEVER, &lease, NULL), CEN_OK);
    give_back(&lease);
    return NULL;
}

/* Objects, scopes, a thread that waits, and the end. */
static void use_a_pool_of_its_own(void)
{
    workshop own_shop = {0};
    cen_pool *own = make_pool(.name = "own", .max = 1, .driver = driver_of(&own_shop));
    cen_scope outer, inner;
    expect_equal(cen_pool_enter(own, CEN_NOW, &outer, NULL), CEN_OK);
    expect_equal(cen_pool_enter(own, CEN_NOW, &inner, NULL), CEN_OK);
    expect(outer.lease.object == inner.lease.object && number_of(&outer.lease) == 1);
    pthread_t thread;
    expect_equal(pthread_create(&thread, NULL, take_and_give, own), 0);
    while (expect_sound(own).waiting == 0) ceni_thread_yield();
    expect_equal(cen_pool_leave(&outer), CEN_OK);
    expect_equal(cen_pool_leave(&inner), CEN_OK);
    pthread_join(thread, NULL);
    cen_pool_stats s = expect_sound(own);
    expect(s.taken == 2 && s.idle == 1);
    expect_equal(cen_pool_close(own, CEN_NOW, NULL, NULL), CEN_OK);
    free_pool(own);
    expect_equal(own_shop.closed, 1);
}

static void free_and_use_its_own(void)
{
    use_a_pool_of_its_own();
    free_pool(pool);
    use_a_pool_of_its_own();
}

/* guarantees: pool.L14 */
TEST(a_child_can_make_a_pool_of_its_own_before_and_after_it_frees_the_parents)
{
    prepare();
    in_a_child(free_and_use_its_own);
    finish();
}

/* guarantees: pool.L14 */
TEST(a_child_can_free_and_use_pools_although_the_parents_lock_was_held)
{
    prepare();
    ceni_waiters_lock(pool->waiters); /* as a thread that the child will not have */
    in_a_child(free_and_use_its_own);
    ceni_waiters_unlock(pool->waiters);
    finish();
}

static void use_many_pools(void)
{
    enum { MANY = 100 };
    cen_pool *own[MANY];
    for (int i = 0; i < MANY; i++) {
        own[i] = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
        cen_lease lease = take_now(own[i]);
        give_back(&lease);
    }
    call_everything(); /* which are not mistaken for the parent's, whose lines they have */
    for (int i = 0; i < MANY; i++) free_pool(own[i]);
    free_and_use_its_own();
}

/* Their lines become the child's, however they were left. */
TEST(a_child_can_have_as_many_pools_as_the_parent_had_and_more)
{
    cen_pool *others[40];
    prepare();
    for (int i = 0; i < 40; i++) others[i] = make_pool(.max = 1);
    for (int i = 0; i < 40; i += 3) {
        ceni_waiters_lock(others[i]->waiters);
        *ceni_rank_mask() = 0; /* as if each was held by a thread of its own */
    }
    in_a_child(use_many_pools);
    for (int i = 0; i < 40; i += 3) {
        *ceni_rank_mask() = 1u << CENI_RANK_POOL;
        ceni_waiters_unlock(others[i]->waiters);
    }
    for (int i = 0; i < 40; i++) free_pool(others[i]);
    finish();
}

/* ---- What was going on at the moment of the fork ------------------------------------------------- */

static pthread_t waiter;

static void *wait_for_one(void *unused)
{
    (void)unused;
    cen_lease lease;
    expect_equal(cen_pool_take(pool, CEN_NEVER, &lease, NULL), CEN_OK);
    give_back(&lease);
    return NULL;
}

TEST(a_child_frees_a_pool_for_which_the_parents_threads_wait)
{
    prepare();
    max = 2;
    expect_equal(cen_pool_resize(pool, max, NULL), CEN_OK); /* none is idle now */
    shop.log[0] = '\0';
    expect_equal(pthread_create(&waiter, NULL, wait_for_one, NULL), 0);
    while (expect_sound(pool).waiting == 0) ceni_thread_yield();
    in_a_child(call_everything);
    in_a_child(free_in_child);
    give_back(&held);
    pthread_join(waiter, NULL);
    expect_equal(cen_pool_leave(&scope), CEN_OK);
    expect_equal(expect_sound(pool).served, 1);
    free_pool(pool);
    expect_equal(book.bytes, 0);
}

static void fork_inside(workshop *unused, char what, void *object)
{
    (void)unused;
    (void)object;
    if (what == '+') in_a_child(free_and_use_its_own);
}

TEST(a_fork_from_inside_a_drivers_function_harms_neither)
{
    prepare();
    expect_equal(cen_pool_resize(pool, 4, NULL), CEN_OK);
    cen_lease idle = take_now(pool);
    shop.inside = fork_inside;
    cen_lease opened = take_now(pool);
    shop.inside = NULL;
    expect_equal(number_of(&opened), 4);
    expect_equal(cen_pool_discard(&opened), CEN_OK);
    give_back(&idle);
    shop.log[0] = '\0';
    finish();
}

static void leave_inherited_scopes(void)
{
    cen_scope own_outer, own_inner;
    expect_equal(cen_pool_leave(&scope), CEN_FORKED);
    workshop own_shop = {0};
    cen_pool *own[6];
    for (int i = 0; i < 6; i++) { /* the notes of the parent's scope do not get in the way */
        own[i] = make_pool(.max = 1, .driver = driver_of(&own_shop));
        expect_equal(cen_pool_enter(own[i], CEN_NOW, &own_outer, NULL), CEN_OK);
        expect_equal(cen_pool_enter(own[i], CEN_NOW, &own_inner, NULL), CEN_OK);
        expect(own_outer.lease.object == own_inner.lease.object);
        expect_equal(cen_pool_leave(&own_inner), CEN_OK);
        expect_equal(cen_pool_leave(&own_outer), CEN_OK);
    }
    for (int i = 0; i < 6; i++) free_pool(own[i]);
}

/* guarantees: pool.L14 */
TEST(a_scope_that_was_open_at_the_fork_ends_in_the_parent_only)
{
    prepare();
    CEN_WITH (pool, CEN_NOW, void *, object, NULL) {
        expect(object == scope.lease.object);
        in_a_child(leave_inherited_scopes);
    }
    finish();
}
