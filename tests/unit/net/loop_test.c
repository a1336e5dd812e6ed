/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/loop.h"
#include "port/rank.h"
#include "support/test.h"
#include "unit/pool/ledger.h"

typedef struct visit {
    cen_loop *loop;
    unsigned count;
    bool inside, signals_blocked;
    cen_status freed;
} visit;

static void look_around(void *argument)
{
    visit *self = argument;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    self->signals_blocked = sigismember(&mask, SIGTERM) && sigismember(&mask, SIGPIPE) && sigismember(&mask, SIGUSR1);
    self->inside = ceni_loop_is_inside(self->loop);
    self->freed = cen_loop_free(self->loop);
    self->count++;
}

/* guarantees: mux.loop */
TEST(a_loop_has_a_thread_that_blocks_all_signals_and_cannot_free_itself)
{
    ledger book = {.bytes = 0};
    cen_allocator allocator = allocator_of(&book);
    cen_loop_options options = CEN_LOOP_OPTIONS(.name = "mine", .allocator = &allocator);
    visit here = {.freed = CEN_OK};
    cen_loop *joined;
    expect_equal(cen_loop_new(&options, &here.loop, NULL), CEN_OK);
    expect_equal(ceni_loop_join(here.loop, &joined, NULL), CEN_OK);
    expect(joined == here.loop);
    expect(!ceni_loop_is_inside(here.loop));
    ceni_loop_do(here.loop, look_around, &here);
    expect_equal(here.count, 1);
    expect(here.inside && here.signals_blocked);
    expect_equal(here.freed, CEN_MISUSE);
    expect_equal(cen_loop_users(here.loop), 1);
    expect_equal(cen_loop_free(here.loop), CEN_BUSY);
    ceni_loop_leave(here.loop);
    expect_equal(cen_loop_free(here.loop), CEN_OK);
    expect_equal(book.bytes, 0);
}

typedef struct numbered {
    ceni_loop_call call;
    unsigned number;
} numbered;

static unsigned order[1000], ran;

static void note_number(ceni_loop_call *call)
{
    order[ran++] = ((numbered *)(void *)call)->number;
}

static void nothing(void *argument)
{
    (void)argument;
}

TEST(calls_run_in_the_order_in_which_they_were_posted_and_each_once)
{
    static numbered calls[1000];
    cen_loop *loop;
    expect_equal(ceni_loop_join(NULL, &loop, NULL), CEN_OK);
    for (unsigned i = 0; i < 1000; i++) {
        ceni_loop_call_init(&calls[i].call, note_number);
        calls[i].number = i;
        ceni_loop_post(loop, &calls[i].call);
    }
    ceni_loop_do(loop, nothing, NULL);
    expect_equal(ran, 1000);
    for (unsigned i = 0; i < 1000; i++) expect_equal(order[i], i);
    ceni_loop_leave(loop);
}

static numbered twice;

static void post_twice_and_take_back(void *argument)
{
    cen_loop *loop = argument;
    ceni_loop_post(loop, &twice.call);
    ceni_loop_post(loop, &twice.call);
    numbered back = {.number = 0};
    ceni_loop_call_init(&back.call, note_number);
    ceni_loop_post(loop, &back.call);
    ceni_loop_unpost(loop, &back.call);
}

TEST(a_call_that_waits_is_posted_once_and_can_be_taken_back)
{
    cen_loop *loop;
    expect_equal(ceni_loop_join(NULL, &loop, NULL), CEN_OK);
    ceni_loop_call_init(&twice.call, note_number);
    ceni_loop_do(loop, post_twice_and_take_back, loop);
    ceni_loop_do(loop, nothing, NULL);
    expect_equal(ran, 1);
    ceni_loop_leave(loop);
}

/* guarantees: mux.loop */
TEST(the_process_own_loop_is_there_while_it_has_users)
{
    cen_loop *one, *other;
    expect_equal(cen_loop_users(NULL), 0);
    for (unsigned round = 0; round < 20; round++) {
        expect_equal(ceni_loop_join(NULL, &one, NULL), CEN_OK);
        expect_equal(ceni_loop_join(NULL, &other, NULL), CEN_OK);
        expect(one == other);
        expect_equal(cen_loop_users(NULL), 2);
        ceni_loop_leave(one);
        ceni_loop_do(other, nothing, NULL);
        ceni_loop_leave(other);
        expect_equal(cen_loop_users(NULL), 0);
    }
}

typedef struct departure {
    ceni_loop_call call;
    cen_loop *loop;
} departure;

static void depart(ceni_loop_call *call)
{
    ceni_loop_leave(((departure *)(void *)call)->loop);
}

/* guarantees: mux.loop */
TEST(the_last_user_may_leave_on_the_loops_own_thread)
{
    departure last;
    for (unsigned round = 0; round < 20; round++) {
        expect_equal(ceni_loop_join(NULL, &last.loop, NULL), CEN_OK);
        ceni_loop_call_init(&last.call, depart);
        ceni_loop_post(last.loop, &last.call);
        while (cen_loop_users(NULL) != 0) ceni_thread_yield();
    }
}

/* guarantees: mux.L14 */
TEST(a_child_has_its_own_loop_and_the_parents_answers_forked)
{
    cen_loop *parents, *own, *mine;
    cen_loop_options options = CEN_LOOP_OPTIONS(.name = "mine");
    expect_equal(cen_loop_new(&options, &parents, NULL), CEN_OK);
    expect_equal(ceni_loop_join(NULL, &own, NULL), CEN_OK);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        *ceni_rank_mask() = 0;
        expect_equal(ceni_loop_join(parents, &mine, NULL), CEN_FORKED);
        expect_equal(ceni_loop_join(NULL, &mine, NULL), CEN_OK);
        expect(mine != own);
        ceni_loop_do(mine, nothing, NULL);
        ceni_loop_leave(mine);
        expect_equal(cen_loop_free(parents), CEN_OK);
        _exit(0);
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child);
    expect_equal(status, 0);
    ceni_loop_do(own, nothing, NULL);
    ceni_loop_leave(own);
    expect_equal(cen_loop_free(parents), CEN_OK);
}

TEST(wrong_options_are_refused_by_name)
{
    cen_loop *loop;
    cen_error error;
    cen_loop_options small = {.size = 3};
    expect_equal(cen_loop_new(&small, &loop, &error), CEN_INVALID);
    expect(strstr(error.text, "options.size") != NULL);
    expect_equal(cen_loop_new(NULL, NULL, &error), CEN_INVALID);
    expect_equal(cen_loop_free(NULL), CEN_OK);
}
