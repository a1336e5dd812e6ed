/* SPDX-License-Identifier: MIT */
/*
 * Pools that the child of a fork makes anew (L14): what the parent has is
 * abandoned and never closed, and the parent notices nothing.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pool/internal.h"
#include "unit/pool/ledger.h"
#include "unit/pool/pools.h"

/* ---- Objects that know their process ------------------------------------------------- */

enum { THINGS = 1000 };

typedef struct thing {
    pid_t made_by;
    int number;
    _Atomic uint32_t closed;
} thing;

static thing things[THINGS];
static _Atomic uint32_t next_thing;              /* a child's come after its parent's */
static _Atomic uint32_t made, closed, abandoned; /* by this process, since it began */
static char abandoned_log[200];                  /* their numbers */

static cen_status open_thing(void *unused, void **out, cen_error *error)
{
    (void)unused, (void)error;
    uint32_t number = ceni_add_relaxed(&next_thing, 1);
    expect(number < THINGS);
    ceni_add_relaxed(&made, 1);
    things[number] = (thing){.made_by = getpid(), .number = (int)number + 1};
    *out = &things[number];
    return CEN_OK;
}

static void close_thing(void *unused, void *object)
{
    (void)unused;
    thing *mine = object;
    if (mine->made_by != getpid()) unexpected(object, "a child closes its parent's object");
    expect_equal(ceni_add_relaxed(&mine->closed, 1), 0);
    ceni_add_relaxed(&closed, 1);
}

static void abandon_thing(void *unused, void *object)
{
    (void)unused;
    const thing *others = object;
    expect(others->made_by != getpid());
    ceni_rank_expect_none("abandon");
    ceni_add_relaxed(&abandoned, 1);
    char number[16];
    snprintf(number, sizeof number, "%d ", others->number);
    if (strlen(abandoned_log) + strlen(number) < sizeof abandoned_log) strcat(abandoned_log, number);
}

static const cen_driver_calls thing_calls = {
    .size = sizeof thing_calls, .open = open_thing, .close = close_thing, .abandon = abandon_thing};

/* ---- A pool, and children that use it ----------------------------------------------------- */

static ledger book;
static cen_allocator allocator;
static cen_pool *pool;
static cen_lease held;
static cen_scope scope;

#define make_things(...) \
    make_pool(.name = "parents", .driver = {&thing_calls, NULL}, .on_fork = CEN_FORK_RENEW, \
              .on_holder_end = CEN_HOLDER_END_CLOSE, __VA_ARGS__)

/* Object 1 is held by hand, 2 in a scope, 3 is idle; one more may be made. */
static void prepare(void)
{
    book = (ledger){.bytes = 0};
    allocator = allocator_of(&book);
    pool = make_things(.max = 4, .allocator = &allocator);
    held = take_now(pool);
    expect_equal(cen_pool_enter(pool, CEN_NOW, &scope, NULL), CEN_OK);
    cen_lease idle = take_now(pool);
    give_back(&idle);
}

static void finish(void)
{
    expect_counts(pool, 1, 2);
    give_back(&held);
    expect_equal(cen_pool_leave(&scope), CEN_OK);
    free_pool(pool);
    expect_equal(book.bytes, 0);
    expect_equal(closed, made);
    expect_equal(abandoned, 0);
}

static pid_t begin_child(void (*run)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child != 0) return child;
    alarm(60);
    *ceni_rank_mask() = 0; /* a lock may be held by a thread that is not here */
    made = closed = abandoned = 0;
    run();
    _exit(0);
}

static void in_a_child(void (*run)(void))
{
    pid_t child = begin_child(run);
    int status = -1;
    expect(waitpid(child, &status, 0) == child);
    expect_equal(status, 0);
}

static thing *thing_of(const cen_lease *lease)
{
    return lease->object;
}

/* ---- The first call ------------------------------------------------------------------------- */

static void expect_anew(void)
{
    expect_text(abandoned_log, "1 2 3 "); /* the idle one and those that were held, each once */
    cen_pool_stats s = expect_sound(pool);
    expect(s.max == 4 && s.vacant == 4);
    expect(s.taken == 0 && s.opened == 0 && s.waited == 0);
}

static void use_it(void)
{
    cen_lease lease = take_now(pool);
    expect_equal(thing_of(&lease)->made_by, getpid());
    give_back(&lease);
    lease = take_now(pool); /* by the quick path */
    expect_equal(thing_of(&lease)->made_by, getpid());
    give_back(&lease);
    cen_scope outer, inner;
    expect_equal(cen_pool_enter(pool, CEN_NOW, &outer, NULL), CEN_OK);
    expect_equal(cen_pool_enter(pool, CEN_NOW, &inner, NULL), CEN_OK);
    expect(outer.lease.object == inner.lease.object);
    expect_equal(cen_pool_leave(&inner), CEN_OK);
    expect_equal(cen_pool_leave(&outer), CEN_OK);
    cen_lease all[4];
    for (int i = 0; i < 4; i++) all[i] = take_now(pool);
    expect_none(pool);
    for (int i = 0; i < 4; i++) give_back(&all[i]);
    expect_equal(abandoned, 3);
    expect_equal(made, 4);
}

static void look_first(void)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(pool, &s), CEN_OK);
    expect_anew();
    use_it();
    free_pool(pool);
    expect_equal(book.bytes, 0);
    expect_equal(closed, 4);
}

static void take_first(void)
{
    use_it();
    expect_text(abandoned_log, "1 2 3 ");
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK);
    expect_equal(closed, 4);
}

static void ask_first(void)
{
    expect(!cen_pool_is_closed(pool));
    expect_anew();
}

static void change_first(void)
{
    cen_pool_options options = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(pool, &options), CEN_OK);
    expect_anew();
    options.max = 5;
    expect_equal(cen_pool_options_set(pool, &options, NULL), CEN_OK);
    expect_equal(cen_pool_max(pool), 5);
}

static void enter_first(void)
{
    CEN_WITH (pool, CEN_NOW, thing *, mine, NULL) expect_equal(mine->made_by, getpid());
    use_it();
}

/* guarantees: pool.L14, pool-bugs.fork, life-bugs.H-fork */
TEST(L14_a_childs_first_call_makes_the_pool_anew_and_the_parent_notices_nothing)
{
    void (*const firsts[])(void) = {look_first, take_first, ask_first, change_first, enter_first};
    prepare();
    cen_pool_stats before = expect_sound(pool);
    for (unsigned i = 0; i < sizeof firsts / sizeof firsts[0]; i++) in_a_child(firsts[i]);
    cen_pool_stats after = expect_sound(pool);
    expect(same_stats(&before, &after));
    finish();
}

static void give_old_leases(void)
{
    cen_lease copy = held;
    for (int i = 0; i < 2; i++) {
        expect_equal(cen_pool_give(&held), CEN_FORKED);
        expect_equal(cen_pool_discard(&held), CEN_FORKED);
        expect_equal(cen_pool_detach(&held), CEN_FORKED);
        expect_equal(cen_pool_leave(&scope), CEN_FORKED);
        expect(memcmp(&held, &copy, sizeof copy) == 0);
        expect_equal(abandoned, i == 0 ? 0 : 3); /* these make nothing anew */
        if (i == 0) use_it();                    /* and afterwards they are told from the new ones */
    }
    cen_lease foreign = take_now(pool);
    void *slot = foreign.slot;
    foreign.slot = &foreign;
    expect_equal(cen_pool_give(&foreign), CEN_FOREIGN);
    foreign.slot = slot;
    give_back(&foreign);
    expect_counts(pool, 4, 0);
}

/* guarantees: pool.L14 */
TEST(L14_a_lease_of_before_the_fork_answers_forked_before_and_after_the_pool_was_made_anew)
{
    prepare();
    in_a_child(give_old_leases);
    finish();
}

static void free_unused(void)
{
    free_pool(pool);
    expect_equal(book.bytes, 0);
    expect(abandoned == 0 && closed == 0);
}

/* guarantees: pool.L14 */
TEST(L14_a_child_that_never_used_the_pool_frees_only_memory)
{
    prepare();
    in_a_child(free_unused);
    finish();
}

/* ---- Orphans of the parent's ------------------------------------------------------------------- */

static void cut_off(void *unused, void *object)
{
    (void)unused, (void)object;
    ceni_add_relaxed(&abandoned, 1);
}

static const cen_driver_calls cutting = {
    .size = sizeof cutting, .open = open_thing, .close = close_thing, .abandon = cut_off};

static void *take_for_another_and_end(void *lease)
{
    *(cen_lease *)lease = take_now(pool);
    return NULL;
}

/* The orphan was abandoned before the fork; the other object is, in the child. */
static void use_beside_orphans(void)
{
    for (int i = 0; i < 2; i++) {
        cen_lease lease = take_now(pool);
        expect_equal(thing_of(&lease)->made_by, getpid());
        expect_equal(cen_pool_give(&held), CEN_FORKED);
        give_back(&lease);
    }
    expect_equal(abandoned, 1);
    cen_pool_stats s = expect_sound(pool);
    expect_equal(s.orphaned, 0);
    free_pool(pool);
    expect_equal(book.bytes, 0);
}

TEST(L14_orphans_of_the_parents_are_no_more_in_a_child_and_their_memory_goes_back)
{
    book = (ledger){.bytes = 0};
    allocator = allocator_of(&book);
    pool = make_pool(.name = "parents", .driver = {&cutting, NULL}, .on_fork = CEN_FORK_RENEW, .max = 3,
                     .on_holder_end = CEN_HOLDER_END_ORPHAN, .allocator = &allocator);
    pthread_t producer;
    expect_equal(pthread_create(&producer, NULL, take_for_another_and_end, &held), 0);
    pthread_join(producer, NULL);
    expect_equal(abandoned, 1);
    cen_lease idle = take_now(pool);
    give_back(&idle);
    in_a_child(use_beside_orphans);
    expect_equal(expect_sound(pool).orphaned, 1);
    expect_equal(cen_pool_give(&held), CEN_REVOKED);
    free_pool(pool);
    expect_equal(book.bytes, 0);
    expect_equal(closed, made);
}

static void run_out_of_memory(void)
{
    cen_error error;
    cen_lease lease;
    book.exhausted = true;
    expect_equal(cen_pool_take(pool, CEN_NEVER, &lease, &error), CEN_NO_MEMORY);
    expect_error(&error, CEN_NO_MEMORY, "\"parents\": cannot be renewed after the fork");
    expect_equal(cen_pool_give(&held), CEN_FORKED);
    expect_equal(abandoned, 0);
    book.exhausted = false;
    use_it();
    free_pool(pool);
    expect_equal(book.bytes, 0);
}

/* guarantees: pool.L14 */
TEST(a_child_that_gets_no_memory_is_told_so_and_may_try_again)
{
    prepare();
    in_a_child(run_out_of_memory);
    finish();
}

/* ---- Children of children --------------------------------------------------------------------- */

static void use_it_as_grandchild(void)
{
    abandoned_log[0] = '\0';
    cen_lease lease = take_now(pool);
    expect_equal(thing_of(&lease)->made_by, getpid());
    expect_equal(abandoned, 4); /* the child's, not those that the child abandoned */
    expect_equal(cen_pool_give(&held), CEN_FORKED);
    give_back(&lease);
    free_pool(pool);
    expect_equal(book.bytes, 0);
}

static void use_it_and_fork_again(void)
{
    use_it();
    cen_lease parents = held;
    held = take_now(pool);
    in_a_child(use_it_as_grandchild);
    give_back(&held);
    expect_equal(cen_pool_give(&parents), CEN_FORKED);
    expect_counts(pool, 4, 0);
    in_a_child(free_unused);
    free_pool(pool);
    expect_equal(book.bytes, 0);
}

static void fork_at_once(void)
{
    in_a_child(look_first);
    look_first();
}

/* guarantees: pool.L14 */
TEST(L14_a_childs_child_makes_it_anew_again)
{
    prepare();
    in_a_child(use_it_and_fork_again);
    in_a_child(fork_at_once);
    finish();
}

/* ---- What was going on at the fork ---------------------------------------------------------------- */

/* guarantees: pool.L14 */
TEST(L14_it_is_made_anew_although_the_parents_locks_were_held)
{
    prepare();
    ceni_waiters_lock(pool->waiters);
    in_a_child(take_first);
    ceni_waiters_unlock(pool->waiters);
    ceni_mutex_lock(&pool->looking, CENI_RANK_LOOK);
    in_a_child(look_first);
    ceni_mutex_unlock(&pool->looking, CENI_RANK_LOOK);
    finish();
}

static void expect_refused(void)
{
    cen_lease lease;
    cen_error error;
    expect_equal(cen_pool_take(pool, CEN_NEVER, &lease, &error), CEN_FORKED);
    expect(cen_pool_is_closed(pool));
    expect_equal(abandoned, 0);
    free_pool(pool);
    expect_equal(book.bytes, 0);
}

/* guarantees: pool.L14 */
TEST(L14_what_was_closed_at_the_fork_is_not_made_anew)
{
    prepare();
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    in_a_child(expect_refused);
    expect_equal(cen_pool_give(&held), CEN_REVOKED);
    expect_equal(cen_pool_leave(&scope), CEN_REVOKED);
    free_pool(pool);
    expect_equal(book.bytes, 0);
}

/* ---- Two at once ------------------------------------------------------------------------------------- */

enum { RACERS = 8 };
static pthread_barrier_t starting_line;

static void *take_and_give_as_first(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&starting_line);
    for (int i = 0; i < 50; i++) {
        cen_lease lease, old = held;
        expect_equal(cen_pool_give(&old), CEN_FORKED);
        expect_equal(cen_pool_take(pool, CEN_NEVER, &lease, NULL), CEN_OK);
        expect_equal(thing_of(&lease)->made_by, getpid());
        give_back(&lease);
    }
    return NULL;
}

static void race(void)
{
    pthread_t threads[RACERS];
    expect_equal(pthread_barrier_init(&starting_line, NULL, RACERS + 1), 0);
    for (int i = 0; i < RACERS; i++) expect_equal(pthread_create(&threads[i], NULL, take_and_give_as_first, NULL), 0);
    take_and_give_as_first(NULL); /* the forking thread has hints and leases of before */
    for (int i = 0; i < RACERS; i++) pthread_join(threads[i], NULL);
    expect_equal(abandoned, 3);
    cen_pool_stats s = expect_sound(pool);
    expect(s.taken >= (RACERS + 1) * 50 && s.taken == s.ended);
    expect(s.held == 0 && s.idle == made);
    free_pool(pool);
    expect_equal(closed, made);
}

/* guarantees: pool.L14 */
TEST(L14_threads_of_a_child_that_all_come_first_make_it_anew_once)
{
    prepare();
    for (int i = 0; i < 20; i++) in_a_child(race);
    finish();
}

/* ---- Holders in a child --------------------------------------------------------------------------------- */

static void *take_and_end(void *unused)
{
    (void)unused;
    cen_lease lease = take_now(pool);
    return lease.object;
}

static void end_a_thread(void)
{
    pthread_t thread;
    expect_equal(pthread_create(&thread, NULL, take_and_end, NULL), 0);
    pthread_join(thread, NULL);
    expect_counts(pool, 0, 0); /* closed by the policy: it is in the child's directory */
    expect(closed == 1 && abandoned == 3);
}

/* guarantees: pool.L13 */
TEST(L13_what_a_thread_of_the_child_holds_is_taken_back_from_a_pool_that_was_made_anew)
{
    prepare();
    in_a_child(end_a_thread);
    finish();
}

/* ---- Runtimes -------------------------------------------------------------------------------------------- */

static void use_the_process_runtime(void)
{
    cen_lease lease;
    expect_equal(cen_pool_take(pool, CEN_NEVER, &lease, NULL), CEN_OK); /* opened by a helper */
    expect_equal(thing_of(&lease)->made_by, getpid());
    cen_runtime_stats stats = CEN_SIZED(cen_runtime_stats);
    expect_equal(cen_runtime_stats_get(NULL, &stats), CEN_OK);
    expect_equal(stats.users, 1);
    give_back(&lease);
    cen_pool_options options = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(pool, &options), CEN_OK);
    expect(options.runtime == NULL);
    expect_equal(cen_pool_close(pool, cen_in_s(20), NULL, NULL), CEN_OK);
    free_pool(pool);
    expect_equal(closed, made);
    expect_equal(abandoned, 1);
}

static void with_a_runtime(cen_runtime *runtime)
{
    cen_driver_calls blocking = thing_calls;
    blocking.blocks = true;
    pool = make_pool(.max = 1, .driver = {&blocking, NULL}, .on_fork = CEN_FORK_RENEW, .runtime = runtime);
    expect_equal(cen_pool_take(pool, CEN_NEVER, &held, NULL), CEN_OK);
    in_a_child(use_the_process_runtime);
    give_back(&held);
    expect_equal(cen_pool_close(pool, cen_in_s(20), NULL, NULL), CEN_OK);
    free_pool(pool);
    expect_equal(closed, made);
}

/* guarantees: pool.L14 */
TEST(a_pool_whose_driver_blocks_has_helpers_of_its_own_process_in_the_child)
{
    with_a_runtime(NULL);
}

/* guarantees: pool.L14 */
TEST(a_pool_of_an_explicit_runtime_uses_the_process_own_in_the_child)
{
    cen_runtime *runtime;
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.name = "explicit");
    expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
    with_a_runtime(runtime);
    cen_status status;
    while ((status = cen_runtime_free(runtime)) == CEN_BUSY) ceni_thread_yield(); /* a helper is on its way out */
    expect_equal(status, CEN_OK);
}

/* ---- Listeners -------------------------------------------------------------------------------------------- */

static _Atomic uint32_t heard_in_child;
static pid_t parent;

static void hear(void *unused, const cen_event *event, uint64_t missed)
{
    (void)missed;
    (void)unused, (void)event;
    if (getpid() != parent) ceni_add_relaxed(&heard_in_child, 1);
}

static void use_it_unheard(void)
{
    use_it();
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    expect_equal(cen_pool_resume(pool, NULL), CEN_OK);
    free_pool(pool);
    expect_equal(heard_in_child, 0);
    expect_equal(book.bytes, 0);
}

TEST(nobody_listens_to_a_pool_that_was_made_anew)
{
    parent = getpid();
    prepare();
    expect_equal(cen_pool_listen(pool, hear, NULL, NULL), CEN_OK);
    in_a_child(use_it_unheard);
    in_a_child(free_unused);
    give_back(&held);
    expect_equal(cen_pool_leave(&scope), CEN_OK);
    free_pool(pool);
}

/* ---- Under load -------------------------------------------------------------------------------------------- */

enum { FORKERS = 200, AT_ONCE = 20, OBJECTS = 8 };

static void use_it_and_exit(void)
{
    for (int i = 0; i < 3; i++) {
        cen_lease lease;
        expect_equal(cen_pool_take(pool, cen_in_s(30), &lease, NULL), CEN_OK);
        expect_equal(thing_of(&lease)->made_by, getpid());
        give_back(&lease);
    }
    expect(abandoned <= OBJECTS && closed == 0);
}

static _Atomic uint32_t bad_ends;

static void *fork_under_load(void *unused)
{
    (void)unused;
    pid_t child = 0;
    for (int i = 0; i < 60; i++) {
        cen_lease lease;
        expect_equal(cen_pool_take(pool, CEN_NEVER, &lease, NULL), CEN_OK);
        if (i == 30) child = begin_child(use_it_and_exit); /* while it holds one itself */
        expect_equal(thing_of(&lease)->made_by, getpid());
        give_back(&lease);
    }
    int status = -1;
    if (child <= 0 || waitpid(child, &status, 0) != child || status != 0) ceni_add_relaxed(&bad_ends, 1);
    return NULL;
}

/* guarantees: pool.L14, pool-bugs.fork, life-bugs.H-fork */
TEST(L14_two_hundred_threads_fork_under_load_and_the_parent_notices_nothing)
{
    pool = make_things(.max = OBJECTS);
    for (int done = 0; done < FORKERS; done += AT_ONCE) {
        pthread_t threads[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) expect_equal(pthread_create(&threads[i], NULL, fork_under_load, NULL), 0);
        for (int i = 0; i < AT_ONCE; i++) pthread_join(threads[i], NULL);
    }
    expect_equal(bad_ends, 0);
    cen_pool_stats s = expect_sound(pool);
    expect(s.taken >= FORKERS * 60 && s.taken == s.ended);
    expect(s.held == 0 && s.idle == made && made <= OBJECTS);
    expect(closed == 0 && abandoned == 0);
    free_pool(pool);
    expect_equal(closed, made);
}
