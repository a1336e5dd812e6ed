/* SPDX-License-Identifier: MIT */
/* What a forked child may do with its parent's runtimes: nothing but give their memory back, and have its own (L14). */
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/internal.h"
#include "unit/pool/ledger.h"
#include "unit/runtime/tasks.h"

static ledger book;
static cen_allocator allocator;
static cen_runtime *own, *explicit_one, *manual;
static chime ticking;
static job blocked;

/* A keeper that sleeps, and helpers that are idle and in a call. */
static void prepare(void)
{
    book = (ledger){.bytes = 0};
    allocator = allocator_of(&book);
    own = join_own();
    explicit_one = make_runtime(.name = "parents", .allocator = &allocator);
    manual = make_runtime(.manual = true, .virtual_time = true, .allocator = &allocator);
    init_chime(&ticking, own, 0);
    set_chime(&ticking, ceni_clock_now() + INT64_C(3600000000000));
    job quick;
    init_job(&quick, explicit_one);
    post_job(&quick);
    await_count(&quick.ended, 1);
    init_job(&blocked, own);
    shut_gate(&blocked);
    post_job(&blocked);
    await_count(&blocked.runs, 1);
}

static void finish(void)
{
    expect(unset_chime(&ticking));
    open_gate(&blocked);
    await_count(&blocked.ended, 1);
    expect_equal(look_at(own).users, 1);
    ceni_runtime_leave(own);
    free_runtime(explicit_one);
    free_runtime(manual);
    expect_equal(book.bytes, 0);
}

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

static void use_the_childs_own(void)
{
    expect_equal(look_at(NULL).users, 0);
    cen_runtime *mine = join_own();
    job errand;
    init_job(&errand, mine);
    post_job(&errand);
    await_count(&errand.ended, 1);
    expect_equal(look_at(NULL).users, 1);
    ceni_runtime_leave(mine);
    expect_equal(look_at(NULL).users, 0);
}

static void use_it_beside_the_parents(void)
{
    cen_runtime *mine = join_own();
    expect(mine != own);
    ceni_runtime_leave(mine);
    use_the_childs_own();
}

/* guarantees: runtime.L14 */
TEST(in_a_child_the_process_own_runtime_is_made_anew)
{
    prepare();
    in_a_child(use_it_beside_the_parents);
    finish();
}

static void call_everything(void)
{
    cen_runtime *out = NULL;
    cen_runtime_stats stats = CEN_SIZED(cen_runtime_stats);
    expect_equal(ceni_runtime_join(explicit_one, &out), CEN_FORKED);
    expect_equal(cen_runtime_stats_get(explicit_one, &stats), CEN_FORKED);
    expect_equal(cen_runtime_stats_get(own, &stats), CEN_FORKED);
    expect_equal(cen_runtime_advance(manual, 1), CEN_FORKED);
    expect_equal(cen_runtime_poll(manual), -1);
    expect_equal(cen_runtime_fd(manual), -1);
    expect(cen_runtime_now(explicit_one) > 0);
}

/* guarantees: runtime.L14 */
TEST(in_a_child_the_parents_runtimes_answer_forked)
{
    prepare();
    in_a_child(call_everything);
    finish();
}

static void post_jobs(void)
{
    task to_own, to_explicit;
    init_task(&to_own, cen_runtime_executor(NULL));
    init_task(&to_explicit, cen_runtime_executor(explicit_one));
    post_task(&to_own);
    post_task(&to_explicit);
    await_count(&to_own.ended, 1);
    await_count(&to_explicit.ended, 1);
}

/* guarantees: runtime.jobs */
TEST(in_a_child_jobs_run_on_a_runtime_that_is_made_anew)
{
    prepare();
    in_a_child(post_jobs);
    post_jobs();
    while (look_at(own).users > 1) ceni_thread_yield(); /* a job leaves after it has returned */
    finish();
}

static void end_everything(void)
{
    expect(book.bytes > 0);
    ceni_runtime_leave(own);
    free_runtime(explicit_one);
    free_runtime(manual);
    expect_equal(book.bytes, 0);
    use_the_childs_own();
}

/* guarantees: runtime.L14 */
TEST(a_child_gives_the_memory_back_and_the_parent_notices_nothing)
{
    prepare();
    in_a_child(end_everything);
    expect(book.bytes > 0);
    finish();
}

static void fork_again(void)
{
    in_a_child(call_everything);
    use_the_childs_own();
    in_a_child(end_everything);
    end_everything();
}

/* guarantees: runtime.L14 */
TEST(a_childs_child_is_a_child_too)
{
    prepare();
    in_a_child(fork_again);
    finish();
}

static void end_and_use(void)
{
    call_everything();
    end_everything();
}

/* As threads hold them that the child does not have. */
/* guarantees: runtime.L14 */
TEST(a_child_gets_along_although_the_parents_locks_were_held)
{
    prepare();
    ceni_runtime_lock(explicit_one);
    *ceni_rank_mask() = 0;
    ceni_runtime_lock(own);
    in_a_child(end_and_use);
    ceni_runtime_unlock(own);
    *ceni_rank_mask() = 1u << CENI_RANK_RUNTIME;
    ceni_runtime_unlock(explicit_one);
    finish();
}

/* Forking while others are inside the lock that all runtimes share. There is a
 * user all the time, so that they do not allocate: the child of a fork in the
 * middle of an allocation is the allocator's business. */
static _Atomic uint32_t over;

static void join_and_leave(void *unused)
{
    (void)unused;
    while (!ceni_load_seq_cst(&over)) {
        cen_runtime *mine = join_own();
        ceni_runtime_leave(mine);
    }
}

static void join_in_the_child(void)
{
    cen_runtime *mine = join_own();
    ceni_runtime_leave(mine);
}

/* guarantees: runtime.L14 */
TEST(a_child_that_is_forked_while_others_join_and_leave_is_not_held_up)
{
    ceni_thread threads[2];
    int code;
    own = join_own();
    for (int i = 0; i < 2; i++) expect_equal(ceni_thread_start(&threads[i], NULL, join_and_leave, NULL, &code), CEN_OK);
    for (int i = 0; i < 100; i++) in_a_child(join_in_the_child);
    ceni_store_seq_cst(&over, 1);
    for (int i = 0; i < 2; i++) ceni_thread_join(&threads[i]);
    expect_equal(look_at(NULL).users, 1);
    ceni_runtime_leave(own);
}

static _Atomic uint32_t childs_status;

/* The child comes back into the runtime's thread, which has no runtime there, and ends. */
static void fork_inside(job *self)
{
    (void)self;
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        return;
    }
    int status = -1;
    waitpid(child, &status, 0);
    ceni_store_seq_cst(&childs_status, status == 0 ? 1 : 2);
}

/* guarantees: runtime.L14 */
TEST(a_child_that_an_errand_forked_and_let_return_ends_and_touches_nothing)
{
    cen_runtime *runtime = join_own();
    job errand;
    init_job(&errand, runtime);
    errand.inside = fork_inside;
    fflush(stdout);
    post_job(&errand);
    await_count(&errand.ended, 1);
    expect_equal(ceni_load_seq_cst(&childs_status), 1);
    ceni_runtime_leave(runtime);
}
