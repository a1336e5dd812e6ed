/* SPDX-License-Identifier: MIT */
/* What a forked child may do with its parent's actors: give their memory back, and have its own (L14). */
#include <sys/wait.h>
#include <unistd.h>

#include "port/rank.h"
#include "unit/actor/actors.h"
#include "unit/pool/ledger.h"

static ledger book;
static cen_allocator allocator;
static letter waiting, sent;
static _Atomic uint32_t jobs;

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

static void prepare(void)
{
    book = (ledger){.bytes = 0};
    allocator = allocator_of(&book);
    runtime = NULL;
    init_letter(&waiting, 'w');
    init_letter(&sent, 's');
    make_actor(.allocator = &allocator);
    expect_equal(cen_actor_tell_after(actor, &waiting.message, 3600 * second, NULL), CEN_OK);
}

static void end_here(void)
{
    cen_future stopped;
    cen_future_init(&stopped);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, &stopped, NULL), CEN_OK);
    expect_equal(cen_future_wait(&stopped, CEN_NEVER), CEN_OK);
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(book.bytes, 0);
}

static void run_job(cen_job *job)
{
    (void)job;
    ceni_add_seq_cst(&jobs, 1);
    ceni_futex_wake(&jobs, 1);
}

static void use_the_parents(void)
{
    letter other;
    cen_future future;
    cen_actor_stats stats = CEN_SIZED(cen_actor_stats);
    cen_job job = {.run = run_job};
    init_letter(&other, 'o');
    cen_future_init(&future);
    expect_equal(cen_actor_tell(actor, &other.message, NULL), CEN_FORKED);
    expect_equal(cen_actor_ask(actor, &other.message, &future, NULL), CEN_FORKED);
    expect_equal(cen_actor_tell_after(actor, &other.message, 1, NULL), CEN_FORKED);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DROP, NULL, NULL), CEN_FORKED);
    expect_equal(cen_actor_stats_get(actor, &stats), CEN_FORKED);
    expect(!cen_message_cancel(&waiting.message));
    cen_executor *executor = cen_actor_executor(actor);
    executor->post(executor, &job);
    while (ceni_load_seq_cst(&jobs) == 0) ceni_futex_wait(&jobs, 0, CENI_FOREVER);
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(book.bytes, 0);
}

/* guarantees: actor.L14 */
TEST(in_a_child_the_parents_actor_answers_forked_and_its_memory_can_be_given_back)
{
    prepare();
    in_a_child(use_the_parents);
    expect(book.bytes > 0);
    tell(&sent);
    end_here();
    expect_equal(sent.handled, 1);
    expect_equal(waiting.handled, 1);
}

static void have_its_own(void)
{
    prepare();
    tell(&sent);
    end_here();
    expect_equal(sent.handled, 1);
}

/* guarantees: actor.L14 */
TEST(a_child_can_have_an_actor_of_its_own)
{
    prepare();
    in_a_child(have_its_own);
    end_here();
}
