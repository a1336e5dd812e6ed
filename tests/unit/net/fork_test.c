/* SPDX-License-Identifier: MIT */
/* What a forked child may do with its parent's connections: give their memory back, and have its own (L14). */
#include <sys/wait.h>

#include "port/rank.h"
#include "unit/net/muxes.h"

static cen_mux_server *server;
static cen_mux *mux;
static cen_error error;
static question pending;
static cen_mux_call *kept;
static _Atomic uint32_t has_kept;

static void keep_or_echo(void *argument, cen_mux_call *call)
{
    (void)argument;
    uint64_t number;
    memcpy(&number, call->payload, sizeof number);
    if (number != 1) return echo(NULL, call);
    kept = call;
    ceni_store_seq_cst(&has_kept, 1u);
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

static void use_the_parents(void)
{
    question q;
    cen_future ended;
    cen_mux_stats stats = CEN_SIZED(cen_mux_stats);
    cen_future_init(&ended);
    ready_question(&q, 2);
    expect_equal(cen_mux_request(mux, &q.request, &error), CEN_FORKED);
    expect_equal(cen_mux_request_async(mux, &q.request, &error), CEN_FORKED);
    expect_equal(cen_mux_close(mux, CEN_NEVER, &error), CEN_FORKED);
    expect_equal(cen_mux_watch(mux, &ended), CEN_FORKED);
    expect_equal(cen_mux_stats_get(mux, &stats), CEN_FORKED);
    expect(!cen_mux_error_get(mux, &error));
    expect(cen_future_cancel(&pending.request.future)); /* nobody here will ever tell it */
    cen_mux_free(mux);
}

static void have_its_own(void)
{
    cen_mux *own = OPEN(.address = cen_mux_server_address(server));
    for (uint64_t i = 10; i < 100; i++) ask_number(own, i);
    end_mux(own);
    expect_equal(cen_loop_users(NULL), 0);
}

/* guarantees: mux.L14 */
TEST(a_child_is_told_forked_and_the_parents_connection_goes_on)
{
    server = SERVE(.handle = keep_or_echo);
    mux = OPEN(.address = cen_mux_server_address(server));
    ready_question(&pending, 1);
    expect_equal(cen_mux_request_async(mux, &pending.request, &error), CEN_OK);
    AWAIT(ceni_load_seq_cst(&has_kept));
    in_a_child(use_the_parents);
    in_a_child(have_its_own);
    ask_number(mux, 7);
    expect_equal(cen_mux_call_reply(kept, kept->payload, kept->payload_size), CEN_OK);
    expect_equal(cen_future_wait(&pending.request.future, cen_in_s(20)), CEN_OK);
    expect(pending.answer == 1);
    end_mux(mux);
    cen_mux_server_stop(server);
}

/* A copy of the socket in a child does not keep the connection from ending. The child stays until the test lets it go. */
static int leave[2];

static void stay_until_told(void)
{
    char byte;
    if (fork() != 0) return;
    alarm(120);
    close(leave[1]);
    _exit(read(leave[0], &byte, 1) != 0);
}

/* guarantees: mux.L14 */
TEST(a_connection_ends_although_a_child_has_a_copy_of_its_socket)
{
    cen_mux_server_stats stats = CEN_SIZED(cen_mux_server_stats);
    server = SERVE(.name = "echo");
    mux = OPEN(.address = cen_mux_server_address(server));
    expect(pipe(leave) == 0);
    in_a_child(stay_until_told);
    end_mux(mux);
    AWAIT(cen_mux_server_stats_get(server, &stats) == CEN_OK && stats.clients == 0);
    close(leave[1]);
    cen_mux_server_stop(server);
}
