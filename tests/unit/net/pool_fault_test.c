/* SPDX-License-Identifier: MIT */
/* What a routing pool does when something dies: a connection, the registry, the server. */
#include <sys/wait.h>

#include "unit/net/pools.h"

static cen_mux_server *server;
static cen_mux_pool *pool;
static cen_error error;
static cen_mux_call *kept[1000];
static _Atomic uint32_t kept_count;

static void keep(void *argument, cen_mux_call *call)
{
    (void)argument;
    kept[ceni_load_seq_cst(&kept_count)] = call;
    ceni_add_seq_cst(&kept_count, 1u);
}

static void end(void)
{
    expect_equal(cen_mux_pool_free(pool), CEN_OK);
    cen_mux_server_stop(server);
    AWAIT(cen_loop_users(NULL) == 0);
}

/* The connections that are registered now, in order. */
typedef struct roll {
    uint64_t numbers[16];
    unsigned count;
} roll;

static bool note_entry(void *argument, const cen_entry *entry)
{
    roll *self = argument;
    self->numbers[self->count++] = cen_entry_number(entry);
    return true;
}

static roll call_roll(void)
{
    roll all = {.count = 0};
    expect_equal(cen_registry_each(cen_mux_pool_registry(pool), cen_key_text("up"), note_entry, &all), CEN_OK);
    return all;
}

static unsigned in_both(const roll *one, const roll *other)
{
    unsigned both = 0;
    for (unsigned i = 0; i < one->count; i++)
        for (unsigned k = 0; k < other->count; k++) both += one->numbers[i] == other->numbers[k];
    return both;
}

/* ---- A connection dies ------------------------------------------------------------------------------------------ */

/* guarantees: mux-pool.lost */
TEST(a_connection_that_is_lost_leaves_the_set_and_returns_when_it_is_opened_again)
{
    server = SERVE(.name = "echo");
    pool = POOL(.address = cen_mux_server_address(server), .connections = 1, .reroutes = CEN_NONE);
    for (unsigned round = 0; round < 5; round++) {
        expect_equal(request_number(pool, round, &error), CEN_OK);
        expect_equal(cen_mux_server_kill(server, 0), CEN_OK);
        AWAIT(pool_stats(pool).lost == round + 1);
        AWAIT(pool_stats(pool).up == 1 || request_number(pool, 1, &error) == CEN_EMPTY);
        AWAIT(pool_stats(pool).opened == round + 2 && pool_stats(pool).up == 1);
        AWAIT(request_number(pool, 1, &error) == CEN_OK);
    }
    cen_mux_pool_stats now = pool_stats(pool);
    expect_equal(now.restarts, 5);
    expect_equal(now.stale, 0);
    end();
}

/* guarantees: mux-pool.isolation */
TEST(one_connections_death_touches_no_other_and_what_they_have_in_flight)
{
    static inquiry all[80];
    server = SERVE(.handle = keep);
    pool = POOL(.address = cen_mux_server_address(server), .strategy = cen_strategy_strict_round_robin());
    AWAIT(call_roll().count == 8 && pool_stats(pool).up == 8);
    roll before = call_roll();
    for (unsigned i = 0; i < 80; i++) {
        ready_inquiry(&all[i], i);
        expect_equal(cen_mux_pool_request_async(pool, &all[i].asking), CEN_OK);
    }
    AWAIT(ceni_load_seq_cst(&kept_count) == 80);
    uint64_t victim = kept[0]->client;
    unsigned on_victim = 0;
    for (unsigned i = 0; i < 80; i++) on_victim += kept[i]->client == victim;
    expect_equal(on_victim, 10);
    expect_equal(cen_mux_server_kill(server, victim), CEN_OK);
    AWAIT(pool_stats(pool).lost_requests == 10);
    AWAIT(call_roll().count == 8 && pool_stats(pool).opened == 9);
    roll after = call_roll();
    expect_equal(in_both(&before, &after), 7);
    expect_equal(pool_stats(pool).in_flight, 70);
    for (unsigned i = 0; i < 80; i++) {
        bool is_lost = kept[i]->client == victim;
        expect_equal(cen_mux_call_reply(kept[i], kept[i]->payload, kept[i]->payload_size), is_lost ? CEN_LOST : CEN_OK);
    }
    unsigned answered = 0, lost = 0;
    for (unsigned i = 0; i < 80; i++) {
        expect_equal(cen_future_wait(&all[i].asking.future, cen_in_s(20)), CEN_OK);
        answered += all[i].asking.future.status == CEN_OK && all[i].answer == i;
        lost += all[i].asking.future.status == CEN_LOST;
    }
    expect_equal(answered, 70);
    expect_equal(lost, 10);
    expect_equal(pool_stats(pool).lost, 1);
    end();
}

/* guarantees: mux-pool.restart */
TEST(a_connection_that_dies_again_and_again_is_opened_again_with_back_off_and_never_given_up)
{
    server = SERVE(.name = "echo");
    pool = POOL(.address = cen_mux_server_address(server), .connections = 2, .backoff_initial_ns = ms,
                .backoff_max_ns = 4 * ms);
    for (unsigned round = 0; round < 40; round++) {
        AWAIT(pool_stats(pool).up > 0);
        cen_mux_server_kill(server, 0);
        AWAIT(pool_stats(pool).lost > round);
    }
    AWAIT(pool_stats(pool).up == 2);
    AWAIT(request_number(pool, 1, &error) == CEN_OK); /* one more may just be lost */
    end();
}

static _Atomic uint32_t gave_up;

static void hear(void *argument, const cen_event *event, uint64_t missed)
{
    unsigned *counts = argument;
    counts[event->kind]++;
    if (event->kind == CEN_EVENT_CONNECTION_UP)
        expect(event->status == CEN_OK && strncmp(event->part, "connection ", 11) == 0);
    if (event->kind == CEN_EVENT_CONNECTION_FAILED) expect(event->status != CEN_OK && event->where[0] && missed == 0);
    if (event->kind == CEN_EVENT_GAVE_UP) {
        expect(event->status != CEN_OK && strstr(event->text, "gave up"));
        ceni_store_seq_cst(&gave_up, 1u);
    }
}

/* guarantees: mux-pool.restart */
TEST(with_a_limit_of_restarts_the_pool_gives_up_and_says_so)
{
    unsigned counts[CEN_EVENT_MESSAGE_SLOW + 1] = {0};
    server = SERVE(.name = "echo");
    pool = POOL(.address = cen_mux_server_address(server), .connections = 2, .max_restarts = 3, .window_ns = 60000 * ms,
                .backoff_initial_ns = CEN_OFF, .listener = hear, .argument = counts);
    cen_mux_server_stop(server);
    AWAIT(ceni_load_seq_cst(&gave_up));
    expect_equal(request_number(pool, 1, &error), CEN_CLOSED);
    expect(counts[CEN_EVENT_CONNECTION_UP] >= 1 && counts[CEN_EVENT_CONNECTION_DOWN] >= 1);
    expect_equal(counts[CEN_EVENT_GAVE_UP], 1);
    expect_equal(cen_mux_pool_free(pool), CEN_OK);
}

/* ---- The registry dies ------------------------------------------------------------------------------------------- */

/* guarantees: mux-pool.registry */
TEST(the_registrys_death_restarts_all_connections)
{
    server = SERVE(.name = "echo");
    pool = POOL(.address = cen_mux_server_address(server));
    AWAIT(pool_stats(pool).up == 8);
    for (unsigned round = 1; round <= 3; round++) {
        cen_child registry = child_named(cen_mux_pool_supervisor(pool), "registry");
        const cen_error why = {.status = CEN_DRIVER, .text = "The registry is declared dead."};
        expect(cen_child_report_ended(registry, &why));
        AWAIT(pool_stats(pool).registry_starts == round + 1);
        AWAIT(pool_stats(pool).opened == 8 * (round + 1) && pool_stats(pool).up == 8);
        AWAIT(call_roll().count == 8 && pool_stats(pool).up == 8);
        expect_equal(request_number(pool, round, &error), CEN_OK);
    }
    cen_mux_server_stats stats = CEN_SIZED(cen_mux_server_stats);
    expect_equal(cen_mux_server_stats_get(server, &stats), CEN_OK);
    expect_equal(stats.accepted, 32);
    AWAIT(cen_mux_server_stats_get(server, &stats) == CEN_OK && stats.clients == 8);
    expect_equal(pool_stats(pool).lost, 0);
    end();
}

/* guarantees: mux-pool.registry */
TEST(what_is_in_flight_when_the_registry_dies_is_waited_for)
{
    static inquiry all[40];
    server = SERVE(.handle = keep);
    pool = POOL(.address = cen_mux_server_address(server), .connections = 4, .drain_ns = 20000 * ms);
    AWAIT(pool_stats(pool).up == 4);
    for (unsigned i = 0; i < 40; i++) {
        ready_inquiry(&all[i], i);
        expect_equal(cen_mux_pool_request_async(pool, &all[i].asking), CEN_OK);
    }
    AWAIT(ceni_load_seq_cst(&kept_count) == 40);
    expect(cen_child_report_ended(child_named(cen_mux_pool_supervisor(pool), "registry"),
                                  &(cen_error){.status = CEN_DRIVER}));
    cen_router_stats routes = CEN_SIZED(cen_router_stats);
    AWAIT(cen_router_stats_get(cen_mux_pool_router(pool), &routes) == CEN_OK && routes.up == 0);
    expect_equal(request_number(pool, 1, &error), CEN_EMPTY);
    expect_equal(pool_stats(pool).in_flight, 40);
    for (unsigned i = 0; i < 40; i++) expect_equal(cen_mux_call_reply(kept[i], kept[i]->payload, 8), CEN_OK);
    for (unsigned i = 0; i < 40; i++) {
        expect_equal(cen_future_wait(&all[i].asking.future, cen_in_s(20)), CEN_OK);
        expect_equal(all[i].asking.future.status, CEN_OK);
    }
    AWAIT(pool_stats(pool).up == 4 && pool_stats(pool).registry_starts == 2);
    end();
}

/* ---- The server is not there --------------------------------------------------------------------------------------- */

static const char *dead_address(void)
{
    static char address[64];
    server = SERVE(.name = "for its port");
    snprintf(address, sizeof address, "%s", cen_mux_server_address(server));
    cen_mux_server_stop(server);
    return address;
}

/* guarantees: mux-pool.absent */
TEST(a_server_that_is_absent_at_the_start_is_an_error_if_one_connection_is_needed)
{
    cen_mux_pool_options options = CEN_MUX_POOL_OPTIONS(.address = dead_address());
    expect_equal(cen_mux_pool_new(&options, &pool, &error), CEN_SYSTEM);
    expect_equal(error.code, ECONNREFUSED);
    if (!strstr(error.text, options.address)) test_fail(__FILE__, __LINE__, "no address in: %s", error.text);
    AWAIT(cen_loop_users(NULL) == 0);
}

/* guarantees: mux-pool.absent */
TEST(a_server_that_is_absent_at_the_start_is_an_empty_set_if_that_was_asked_for_and_may_come_later)
{
    server = SERVE(.address = socket_path());
    cen_mux_server_stop(server);
    pool = POOL(.address = socket_path(), .at_start = CEN_AT_START_EMPTY, .backoff_initial_ns = ms,
                .backoff_max_ns = 4 * ms);
    AWAIT(pool_stats(pool).failed_opens >= 16);
    expect_equal(pool_stats(pool).up, 0);
    expect_equal(request_number(pool, 1, &error), CEN_EMPTY);
    server = SERVE(.address = socket_path());
    AWAIT(pool_stats(pool).up == 8);
    for (uint64_t i = 0; i < 20; i++) expect_equal(request_number(pool, i, &error), CEN_OK);
    cen_mux_server_stop(server);
    AWAIT(pool_stats(pool).up == 0);
    expect_equal(request_number(pool, 1, &error), CEN_EMPTY);
    server = SERVE(.address = socket_path());
    AWAIT(pool_stats(pool).up == 8);
    expect_equal(request_number(pool, 1, &error), CEN_OK);
    end();
}

/* guarantees: mux-pool.absent */
TEST(one_connection_is_enough_for_a_start_that_needs_one)
{
    const char *addresses[] = {dead_address(), NULL};
    server = SERVE(.name = "echo");
    addresses[1] = cen_mux_server_address(server);
    pool = POOL(.addresses = addresses, .address_count = 2, .connections = 4);
    AWAIT(pool_stats(pool).up == 2);
    expect_equal(request_number(pool, 1, &error), CEN_OK);
    end();
}

/* guarantees: mux-pool.close */
TEST(a_pool_whose_connections_never_come_up_can_be_freed)
{
    for (unsigned round = 0; round < 20; round++) {
        pool = POOL(.address = dead_address(), .at_start = CEN_AT_START_EMPTY,
                    .backoff_initial_ns = round % 2 ? CEN_OFF : 10000 * ms);
        if (round % 3 == 0) AWAIT(pool_stats(pool).failed_opens >= 8);
        expect_equal(cen_mux_pool_free(pool), CEN_OK);
    }
    AWAIT(cen_loop_users(NULL) == 0);
}

/* ---- A lost connection that stays in the set ------------------------------------------------------------------------ */

static uint64_t lost_of_hundred(bool keep_lost)
{
    pool = POOL(.address = socket_path(), .connections = 4, .reroutes = CEN_NONE, .keep_lost = keep_lost,
                .backoff_initial_ns = 60000 * ms, .strategy = cen_strategy_strict_round_robin());
    AWAIT(pool_stats(pool).up == 4);
    uint64_t lost = 0;
    /* Twice, so that the second restart waits. */
    for (unsigned i = 0; i < 2; i++) {
        cen_mux_server_stats stats = CEN_SIZED(cen_mux_server_stats);
        AWAIT(cen_mux_server_stats_get(server, &stats) == CEN_OK && stats.clients == 4);
        expect_equal(cen_mux_server_kill(server, stats.accepted), CEN_OK);
        AWAIT(pool_stats(pool).lost == i + 1);
        if (i == 0) AWAIT(pool_stats(pool).opened == 5);
    }
    for (uint64_t i = 0; i < 100; i++) {
        cen_status status = request_number(pool, i, &error);
        expect(status == CEN_OK || status == CEN_LOST);
        lost += status == CEN_LOST;
    }
    cen_mux_pool_stats now = pool_stats(pool);
    expect_equal(now.lost_requests, lost);
    expect_equal(now.stale, lost);
    expect_equal(cen_mux_pool_free(pool), CEN_OK);
    return lost;
}

/* guarantees: mux-pool.lost */
TEST(requests_fail_on_a_lost_connection_that_is_left_in_the_set_and_on_none_that_has_left)
{
    server = SERVE(.address = socket_path());
    expect_equal(lost_of_hundred(false), 0);
    expect_equal(lost_of_hundred(true), 25);
    cen_mux_server_stop(server);
    AWAIT(cen_loop_users(NULL) == 0);
}

/* ---- The same, measured ---------------------------------------------------------------------------------------------- */

static _Atomic uint32_t over;

static void call_again_and_again(void *argument)
{
    (void)argument;
    for (uint64_t i = 0; !ceni_load_seq_cst(&over); i++) {
        cen_error why;
        request_number(pool, i, &why);
        ceni_sleep_until(ceni_clock_now() + ms / 10); /* at the same pace whether it fails or not */
    }
}

static void kill_now_and_then(unsigned times)
{
    uint64_t next = 1;
    for (unsigned i = 0; i < times; i++) {
        cen_mux_server_stats stats = CEN_SIZED(cen_mux_server_stats);
        ceni_sleep_until(ceni_clock_now() + 10 * ms);
        expect_equal(cen_mux_server_stats_get(server, &stats), CEN_OK);
        while (next <= stats.accepted && cen_mux_server_kill(server, next) != CEN_OK) next++;
    }
}

static cen_mux_pool_stats measure(bool keep_lost)
{
    ceni_thread callers[3];
    int code;
    ceni_store_seq_cst(&over, 0u);
    server = SERVE(.name = "killer");
    pool = POOL(.address = cen_mux_server_address(server), .reroutes = CEN_NONE, .keep_lost = keep_lost,
                .backoff_initial_ns = 20 * ms, .backoff_max_ns = 40 * ms);
    for (unsigned i = 0; i < 3; i++)
        expect_equal(ceni_thread_start(&callers[i], NULL, call_again_and_again, NULL, &code), CEN_OK);
    kill_now_and_then(30);
    ceni_store_seq_cst(&over, 1u);
    for (unsigned i = 0; i < 3; i++) ceni_thread_join(&callers[i]);
    cen_mux_pool_stats now = pool_stats(pool);
    uint64_t failed = now.lost_requests + now.refused, total = now.answered + failed;
    expect_equal(now.timed_out + now.cancelled + now.closed + now.failed, 0);
    printf("     lost connections %s the set: %" PRIu64 " of %" PRIu64 " requests failed, %" PRIu64
           " of them on a connection known to be lost; "
           "%" PRIu64 " connections were lost\n",
           keep_lost ? "stay in" : "leave", failed, total, now.stale, now.lost);
    end();
    return now;
}

/* guarantees: mux-pool.lost */
TEST(the_share_of_failed_requests_is_measured_with_and_without_leaving_the_set)
{
    cen_mux_pool_stats leaving = measure(false), staying = measure(true);
    expect_equal(leaving.stale, 0);
    expect(leaving.lost > 0 && staying.lost > 0 && leaving.answered > 0 && staying.answered > 0);
}

/* ---- Fork ------------------------------------------------------------------------------------------------------------- */

/* ---- A loop that is late --------------------------------------------------------------------------------- */

static _Atomic uint32_t is_held, may_go;

static void hold_the_loop(void *argument, cen_mux_call *call)
{
    (void)argument;
    cen_mux_call_drop(call);
    ceni_store_seq_cst(&is_held, 1u);
    while (!ceni_load_seq_cst(&may_go)) ceni_futex_wait(&may_go, 0, ceni_clock_now() + 10 * ms);
}

static cen_status inquire(cen_mux_pool *of, uint64_t number)
{
    inquiry q;
    ready_inquiry(&q, number);
    expect_equal(cen_mux_pool_request_async(of, &q.asking), CEN_OK);
    expect_equal(cen_future_wait(&q.asking.future, CEN_NEVER), CEN_OK);
    return q.asking.future.status;
}

/* A connection's end is told on the loop's thread, which is held up here; those who use it notice before that. */
/* guarantees: mux-pool.lost */
TEST(a_connection_that_refuses_a_request_leaves_the_set_before_the_loop_has_heard_of_its_end)
{
    unsigned char frame[64];
    cen_loop *loop;
    cen_error why;
    expect_equal(cen_loop_new(NULL, &loop, NULL), CEN_OK);
    server = SERVE(.name = "echo");
    cen_mux_server *holder = SERVE(.handle = hold_the_loop, .loop = loop);
    pool = POOL(.address = cen_mux_server_address(server), .connections = 2, .loop = loop);
    AWAIT(pool_stats(pool).up == 2);
    int fd = raw_connect(cen_mux_server_address(holder));
    send_all(fd, frame, frame_to(frame, 1, "x", 1));
    AWAIT(ceni_load_seq_cst(&is_held));
    expect_equal(cen_mux_server_kill(server, 0), CEN_OK);
    unsigned lost = 0;
    for (uint64_t i = 0; i < 10; i++) lost += request_number(pool, i, &why) == CEN_LOST;
    expect(lost >= 1 && lost <= 2); /* what each of them had in flight when it was found to be lost */
    expect_equal(request_number(pool, 1, &why), CEN_EMPTY);
    expect_equal(inquire(pool, 2), CEN_EMPTY);
    expect_equal(pool_stats(pool).up, 2); /* for the loop has not heard of it */
    ceni_store_seq_cst(&may_go, 1u);
    AWAIT(request_number(pool, 3, &why) == CEN_OK);
    expect_equal(pool_stats(pool).stale, 0);
    close(fd);
    cen_mux_server_stop(holder);
    expect_equal(cen_mux_pool_free(pool), CEN_OK);
    cen_mux_server_stop(server);
    expect_equal(cen_loop_free(loop), CEN_OK);
}

/* guarantees: mux-pool.L14 */
TEST(a_child_is_told_that_the_pool_is_its_parents)
{
    server = SERVE(.name = "echo");
    pool = POOL(.address = cen_mux_server_address(server));
    expect_equal(request_number(pool, 1, &error), CEN_OK);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        cen_mux_pool_stats stats = CEN_SIZED(cen_mux_pool_stats);
        inquiry one;
        ready_inquiry(&one, 1);
        bool fine =
            request_number(pool, 1, &error) == CEN_FORKED && cen_mux_pool_stats_get(pool, &stats) == CEN_FORKED &&
            cen_mux_pool_request_async(pool, &one.asking) == CEN_OK && one.asking.future.status == CEN_FORKED &&
            cen_mux_pool_close(pool, CEN_NOW, NULL, NULL) == CEN_FORKED && cen_mux_pool_free(pool) == CEN_FORKED &&
            cen_mux_pool_dump(pool, NULL, 0) == 0 && !cen_mux_pool_router(pool) && !cen_mux_pool_registry(pool);
        _exit(fine ? 0 : 1);
    }
    int status;
    expect(waitpid(child, &status, 0) == child);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    expect_equal(request_number(pool, 2, &error), CEN_OK);
    end();
}
