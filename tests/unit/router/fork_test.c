/* SPDX-License-Identifier: MIT */
/* What a forked child may do with its parent's router: nothing, and it is told so; and it may have its own (L14). */
#include <sys/wait.h>
#include <unistd.h>

#include "port/rank.h"
#include "unit/router/routers.h"

static cen_member *one;
static cen_route out;
static cen_route_op waiting;

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

static void visit(void *argument, const cen_member_stats *member)
{
    (void)argument, (void)member;
    expect(false);
}

static void use_the_parents(void)
{
    cen_route route = {0};
    cen_route_op asked;
    cen_router_stats stats = CEN_SIZED(cen_router_stats);
    cen_member *member = NULL;
    cen_member_options options = CEN_MEMBER_OPTIONS(.name = NULL);
    cen_error error = {.text = ""};
    cen_route_op_init(&asked, NULL, NULL);
    expect_equal(cen_router_route(router, NULL, CEN_NEVER, &route, &error), CEN_FORKED);
    expect(strstr(error.text, "it belongs to the parent process"));
    cen_read_begin();
    expect_equal(cen_router_peek(router, NULL, &member), CEN_FORKED);
    cen_read_end();
    expect_equal(cen_router_route_async(router, NULL, CEN_NEVER, &asked), CEN_OK);
    expect(cen_future_is_done(&asked.future) && asked.future.status == CEN_FORKED);
    expect_equal(cen_router_add(router, &options, &member, &error), CEN_FORKED);
    expect_equal(cen_member_up(one, NULL), CEN_FORKED);
    expect_equal(cen_member_down(one, NULL), CEN_FORKED);
    expect_equal(cen_member_drain(one, NULL), CEN_FORKED);
    expect_equal(cen_member_eject(one, 1, NULL), CEN_FORKED);
    expect_equal(cen_member_restore(one, NULL), CEN_FORKED);
    expect_equal(cen_member_remove(one), CEN_FORKED);
    expect_equal(cen_route_check(&out), CEN_FORKED);
    expect_equal(cen_route_done(&out, CEN_OUTCOME_OK, 0), CEN_FORKED);
    expect_equal(cen_router_stats_get(router, &stats), CEN_FORKED);
    expect_equal(cen_router_each(router, visit, NULL), CEN_FORKED);
    expect_equal(cen_router_close(router, CEN_NEVER, NULL, NULL), CEN_FORKED);
    expect_equal(cen_router_free(router), CEN_FORKED);
    expect(cen_future_cancel(&waiting.future)); /* it is never done here */
    expect(!member && !route.member && out.member == one);
}

static void prepare(void)
{
    make_router(.max_in_flight = 1);
    one = add_up(0);
    out = route_now();
    cen_route_op_init(&waiting, NULL, NULL);
    expect_equal(cen_router_route_async(router, NULL, cen_in_s(3600), &waiting), CEN_OK);
}

static void end_here(void)
{
    expect_equal(done(&out), CEN_OK);
    expect(cen_future_is_done(&waiting.future) && waiting.future.status == CEN_OK);
    expect_equal(done(&waiting.route), CEN_OK);
    end_router();
}

TEST(in_a_child_every_call_answers_forked_and_the_parents_goes_on)
{
    prepare();
    in_a_child(use_the_parents);
    end_here();
}

static void have_its_own(void)
{
    prepare();
    cen_member_remove(one); /* a grace period in a process of one thread */
    add_up(1);
    expect(cen_future_is_done(&waiting.future));
    expect_equal(done(&out), CEN_DOWN);
    expect_equal(done(&waiting.route), CEN_OK);
    end_router();
    expect(gone_of(0) == 1 && gone_of(1) == 1);
}

TEST(a_child_can_have_a_router_of_its_own)
{
    prepare();
    in_a_child(have_its_own);
    end_here();
}

static _Atomic uint32_t reading, enough;

static void read_on(void *unused)
{
    (void)unused;
    cen_read_begin();
    ceni_store_seq_cst(&reading, 1);
    while (!ceni_load_seq_cst(&enough)) ceni_thread_yield();
    cen_read_end();
}

TEST(a_child_does_not_wait_for_a_section_of_a_thread_that_it_has_not)
{
    prepare();
    ceni_thread thread;
    expect_equal(ceni_thread_start(&thread, NULL, read_on, NULL, NULL), CEN_OK);
    while (!ceni_load_seq_cst(&reading)) ceni_thread_yield();
    in_a_child(have_its_own);
    ceni_store_seq_cst(&enough, 1);
    ceni_thread_join(&thread);
    end_here();
}

static void route_and_change(void *unused)
{
    (void)unused;
    while (!ceni_load_seq_cst(&enough)) {
        cen_member *other = add_up(2);
        cen_route route;
        if (try_route(&route) == CEN_OK) done(&route);
        cen_member_remove(other);
    }
}

TEST(a_fork_in_the_middle_of_changes_leaves_the_child_able_to_have_its_own)
{
    make_router(.name = NULL);
    add_up(3);
    ceni_store_seq_cst(&enough, 0);
    ceni_thread thread;
    expect_equal(ceni_thread_start(&thread, NULL, route_and_change, NULL, NULL), CEN_OK);
    for (int i = 0; i < 30; i++) in_a_child(have_its_own);
    ceni_store_seq_cst(&enough, 1);
    ceni_thread_join(&thread);
    end_router();
}
