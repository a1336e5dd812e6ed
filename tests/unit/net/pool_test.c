/* SPDX-License-Identifier: MIT */
/* A routing pool in peace: made, used, closed, freed, looked at. */
#include "base/fault.h"
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

static void drop_kept(void)
{
    for (unsigned i = 0; i < ceni_load_seq_cst(&kept_count); i++) cen_mux_call_drop(kept[i]);
}

static void end(void)
{
    expect_equal(cen_mux_pool_close(pool, cen_in_s(20), NULL, NULL), CEN_OK);
    expect_equal(cen_mux_pool_free(pool), CEN_OK);
    cen_mux_server_stop(server);
    AWAIT(cen_loop_users(NULL) == 0);
}

TEST(eight_connections_come_up_and_requests_are_spread_over_them)
{
    server = SERVE(.name = "echo");
    pool = POOL(.name = "spread", .address = cen_mux_server_address(server), .strategy = cen_strategy_round_robin());
    AWAIT(pool_stats(pool).up == 8);
    for (uint64_t i = 0; i < 400; i++) expect_equal(request_number(pool, i, &error), CEN_OK);
    cen_mux_server_stats stats = CEN_SIZED(cen_mux_server_stats);
    expect_equal(cen_mux_server_stats_get(server, &stats), CEN_OK);
    expect_equal(stats.clients, 8);
    cen_mux_pool_stats now = pool_stats(pool);
    expect_equal(now.answered, 400);
    expect_equal(now.in_flight, 0);
    expect_equal(now.opened, 8);
    expect_equal(now.lost + now.failed_opens + now.restarts + now.stale, 0);
    cen_router_stats routes = CEN_SIZED(cen_router_stats);
    expect_equal(cen_router_stats_get(cen_mux_pool_router(pool), &routes), CEN_OK);
    expect_equal(routes.uses, 400);
    end();
}

TEST(askings_are_answered_many_at_a_time)
{
    static inquiry all[500];
    server = SERVE(.name = "echo");
    pool = POOL(.address = cen_mux_server_address(server), .connections = 3);
    for (unsigned round = 0; round < 5; round++) {
        for (unsigned i = 0; i < 500; i++) {
            ready_inquiry(&all[i], round * 1000 + i);
            expect_equal(cen_mux_pool_request_async(pool, &all[i].asking), CEN_OK);
        }
        for (unsigned i = 0; i < 500; i++) {
            expect_equal(cen_future_wait(&all[i].asking.future, cen_in_s(20)), CEN_OK);
            expect_equal(all[i].asking.future.status, CEN_OK);
            expect(all[i].answer == round * 1000 + i && all[i].asking.request.reply_size == 8);
        }
    }
    expect_equal(pool_stats(pool).answered, 2500);
    end();
}

TEST(connections_are_spread_over_several_addresses)
{
    cen_mux_server *other = SERVE(.name = "other");
    server = SERVE(.name = "one");
    const char *addresses[] = {cen_mux_server_address(server), cen_mux_server_address(other)};
    pool = POOL(.addresses = addresses, .address_count = 2, .connections = 5);
    AWAIT(pool_stats(pool).up == 5);
    cen_mux_server_stats stats = CEN_SIZED(cen_mux_server_stats);
    expect_equal(cen_mux_server_stats_get(server, &stats), CEN_OK);
    expect_equal(stats.clients, 3);
    expect_equal(cen_mux_server_stats_get(other, &stats), CEN_OK);
    expect_equal(stats.clients, 2);
    cen_mux_server_stop(other);
    AWAIT(pool_stats(pool).up == 3);
    for (uint64_t i = 0; i < 50; i++) expect_equal(request_number(pool, i, &error), CEN_OK);
    end();
}

/* guarantees: mux-pool.close */
TEST(close_waits_for_what_is_in_flight_and_fails_what_is_left)
{
    static inquiry all[20];
    cen_mux_pool_report report = CEN_SIZED(cen_mux_pool_report);
    server = SERVE(.handle = keep);
    pool = POOL(.address = cen_mux_server_address(server), .connections = 2);
    for (unsigned i = 0; i < 20; i++) {
        ready_inquiry(&all[i], i);
        expect_equal(cen_mux_pool_request_async(pool, &all[i].asking), CEN_OK);
    }
    AWAIT(ceni_load_seq_cst(&kept_count) == 20);
    for (unsigned i = 0; i < 12; i++) expect_equal(cen_mux_call_reply(kept[i], kept[i]->payload, 8), CEN_OK);
    int64_t began = ceni_clock_now();
    expect_equal(cen_mux_pool_close(pool, cen_in_ms(60), &report, NULL), CEN_TIMEOUT);
    expect(ceni_clock_now() - began >= 60 * ms);
    expect_equal(report.left, 8);
    unsigned answered = 0, closed = 0;
    for (unsigned i = 0; i < 20; i++) {
        expect_equal(cen_future_wait(&all[i].asking.future, cen_in_s(20)), CEN_OK);
        answered += all[i].asking.future.status == CEN_OK;
        closed += all[i].asking.future.status == CEN_CLOSED;
    }
    expect_equal(answered, 12);
    expect_equal(closed, 8);
    expect_equal(request_number(pool, 1, &error), CEN_CLOSED);
    expect_equal(cen_mux_pool_close(pool, CEN_NOW, NULL, NULL), CEN_CLOSED);
    expect_equal(cen_mux_pool_free(pool), CEN_OK);
    cen_mux_server_stop(server);
    for (unsigned i = 12; i < 20; i++) cen_mux_call_drop(kept[i]);
    expect_equal(cen_mux_pool_free(NULL), CEN_OK);
}

/* guarantees: mux-pool.close */
TEST(free_alone_closes_it_and_tells_those_in_flight)
{
    static inquiry all[20];
    server = SERVE(.handle = keep);
    pool = POOL(.address = cen_mux_server_address(server), .connections = 2);
    for (unsigned i = 0; i < 20; i++) {
        ready_inquiry(&all[i], i);
        expect_equal(cen_mux_pool_request_async(pool, &all[i].asking), CEN_OK);
    }
    expect_equal(cen_mux_pool_free(pool), CEN_OK);
    for (unsigned i = 0; i < 20; i++) {
        expect(cen_future_is_done(&all[i].asking.future));
        expect_equal(all[i].asking.future.status, CEN_CLOSED);
    }
    cen_mux_server_stop(server);
    drop_kept();
    AWAIT(cen_loop_users(NULL) == 0);
}

static void expect_refused(cen_mux_pool_options options, cen_status status, const char *word)
{
    cen_mux_pool *none = NULL;
    error.text[0] = 0;
    expect_equal(cen_mux_pool_new(&options, &none, &error), status);
    if (!strstr(error.text, word)) test_fail(__FILE__, __LINE__, "no \"%s\" in: %s", word, error.text);
    expect(!none);
}

/* guarantees: mux-pool.read-section */
TEST(in_a_read_section_it_is_neither_made_nor_closed_nor_freed)
{
    cen_mux_pool *other = NULL;
    server = SERVE(.name = "echo");
    cen_mux_pool_options options = CEN_MUX_POOL_OPTIONS(.address = cen_mux_server_address(server), .connections = 2);
    pool = pool_with(&options);
    expect(!cen_read_is_open());
    cen_read_begin();
    expect(cen_read_is_open());
    expect_equal(cen_mux_pool_new(&options, &other, &error), CEN_MISUSE);
    expect_text(error.text, "cen_mux_pool_new: a thread in a read section must not wait");
    expect_equal(cen_mux_pool_close(pool, cen_in_s(1), NULL, NULL), CEN_MISUSE);
    expect_equal(cen_mux_pool_close(pool, CEN_NOW, NULL, NULL), CEN_MISUSE);
    expect_equal(cen_mux_pool_free(pool), CEN_MISUSE);
    cen_read_end();
    expect(!cen_read_is_open());
    expect_equal(request_number(pool, 7, &error), CEN_OK);
    expect_equal(cen_mux_pool_close(pool, cen_in_s(5), NULL, NULL), CEN_OK);
    cen_read_begin();
    expect_equal(cen_mux_pool_free(pool), CEN_MISUSE);
    cen_read_end();
    expect_equal(cen_mux_pool_free(pool), CEN_OK);
    cen_mux_server_stop(server);
}

TEST(options_that_make_no_sense_are_refused_by_name)
{
    const char *two[] = {"a", "a"}, *hole[] = {"a", NULL};
    expect_refused((cen_mux_pool_options){.size = 3}, CEN_INVALID, "size");
    expect_refused(CEN_MUX_POOL_OPTIONS(.name = "x"), CEN_INVALID, "address");
    expect_refused(CEN_MUX_POOL_OPTIONS(.address = "nonsense"), CEN_INVALID, "nonsense");
    expect_refused(CEN_MUX_POOL_OPTIONS(.address = "a:1", .addresses = two, .address_count = 2), CEN_INVALID, "both");
    expect_refused(CEN_MUX_POOL_OPTIONS(.addresses = hole, .address_count = 2), CEN_INVALID, "addresses");
    expect_refused(CEN_MUX_POOL_OPTIONS(.address = "a:1", .connections = 2, .names = hole), CEN_INVALID, "names");
    expect_refused(CEN_MUX_POOL_OPTIONS(.address = "a:1", .max_in_flight = -3), CEN_INVALID, "max");
    expect_refused(CEN_MUX_POOL_OPTIONS(.address = "a:1", .reroutes = CEN_OFF), CEN_INVALID, "use CEN_NONE for none");
    expect_refused(CEN_MUX_POOL_OPTIONS(.address = "a:1", .max_waiters = -3), CEN_INVALID,
                   "options.max_waiters must not be below CEN_NONE (got -3)");
    expect_refused(CEN_MUX_POOL_OPTIONS(.address = "a:1", .drain_ns = -3), CEN_INVALID, "drain_ns");
    expect_refused(CEN_MUX_POOL_OPTIONS(.address = "a:1", .drain_ns = 5), CEN_INVALID,
                   "drain_ns must be at least 100,000 ns (got 5 ns)");
    expect_refused(CEN_MUX_POOL_OPTIONS(.address = "a:1", .backoff_reset_ns = 5), CEN_INVALID,
                   "backoff_reset_ns must be at least 100,000 ns (got 5 ns)");
    expect_refused(CEN_MUX_POOL_OPTIONS(.address = "a:1", .window_ns = 5), CEN_INVALID,
                   "window_ns must be at least 100,000 ns (got 5 ns)");
    expect_refused(CEN_MUX_POOL_OPTIONS(.address = "a:1", .mux = &(cen_mux_options){.size = 5}), CEN_INVALID, "mux");
    expect_equal(cen_mux_pool_new(NULL, &pool, NULL), CEN_INVALID);
    AWAIT(cen_loop_users(NULL) == 0);
}

/* guarantees: mux-pool.names */
TEST(two_connections_of_one_name_are_an_error)
{
    const char *names[] = {"left", "right", "left"};
    server = SERVE(.name = "echo");
    expect_refused(CEN_MUX_POOL_OPTIONS(.address = cen_mux_server_address(server), .connections = 3, .names = names),
                   CEN_EXISTS, "left");
    cen_mux_server_stop(server);
    AWAIT(cen_loop_users(NULL) == 0);
}

TEST(the_tree_is_shown_with_its_connections)
{
    const char *names[] = {"left", "right"};
    char text[4096];
    server = SERVE(.name = "echo");
    pool = POOL(.name = "search", .address = cen_mux_server_address(server), .connections = 2, .names = names);
    AWAIT(pool_stats(pool).up == 2);
    size_t length = cen_mux_pool_dump(pool, text, sizeof text);
    expect(length > 0 && length < sizeof text && strlen(text) == length);
    const char *words[] = {
        "search", "registry", "connections", "\"left\" to 127.0.0.1:", "\"right\" to 127.0.0.1:", ": up, 0 in flight"};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(text, words[i])) test_fail(__FILE__, __LINE__, "no \"%s\" in:\n%s", words[i], text);
    char little[8];
    expect_equal(cen_mux_pool_dump(pool, little, sizeof little), length);
    expect(strlen(little) == 7 && memcmp(little, text, 7) == 0);
    expect_equal(cen_mux_pool_dump(pool, NULL, 0), length);
    size_t entries = 0;
    expect_equal(cen_registry_count(cen_mux_pool_registry(pool), cen_key_text("up"), &entries), CEN_OK);
    expect_equal(entries, 2);
    cen_supervisor_stats stats = CEN_SIZED(cen_supervisor_stats);
    expect_equal(cen_supervisor_stats_get(cen_mux_pool_connections(pool), &stats), CEN_OK);
    expect_equal(stats.running, 2);
    end();
}

/* ---- Memory --------------------------------------------------------------------------------------------------- */

static _Atomic int64_t out_bytes;

static void *count_alloc(void *argument, size_t size, size_t align)
{
    (void)argument;
    void *memory = NULL;
    if (posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : align, size) != 0) return NULL;
    memset(memory, 0xA5, size);
    ceni_add_seq_cst(&out_bytes, (int64_t)size);
    return memory;
}

static void count_free(void *argument, void *memory, size_t size, size_t align)
{
    (void)argument, (void)align;
    ceni_sub_seq_cst(&out_bytes, (int64_t)size);
    memset(memory, 0x5A, size);
    free(memory);
}

/* guarantees: mux-pool.close */
TEST(all_memory_comes_back_to_the_allocator_it_came_from)
{
    cen_allocator allocator = {.alloc = count_alloc, .free = count_free};
    server = SERVE(.name = "echo");
    for (unsigned round = 0; round < 4; round++) {
        pool = POOL(.address = cen_mux_server_address(server), .allocator = &allocator, .backoff_initial_ns = CEN_OFF);
        for (uint64_t i = 0; i < 20; i++) expect_equal(request_number(pool, i, &error), CEN_OK);
        if (round % 2) cen_mux_server_kill(server, 0);
        if (round % 2) AWAIT(pool_stats(pool).lost >= 1 && pool_stats(pool).up > 0);
        expect(ceni_load_seq_cst(&out_bytes) > 0);
        expect_equal(cen_mux_pool_free(pool), CEN_OK);
        AWAIT(ceni_load_seq_cst(&out_bytes) == 0);
    }
    cen_mux_server_stop(server);
}

static void echo_at_last(void *argument, cen_mux_call *call)
{
    (void)argument;
    while (cen_mux_call_reply(call, call->payload, call->payload_size) == CEN_NO_MEMORY) continue; /* only once */
}

/* Whichever allocation fails, anywhere in the process: there is a pool, or an error and nothing left. */
/* guarantees: mux-pool.close */
TEST(a_pool_that_gets_no_memory_leaves_none_behind)
{
    cen_allocator allocator = {.alloc = count_alloc, .free = count_free};
    server = SERVE(.handle = echo_at_last);
    unsigned refused = 0, made = 0;
    for (unsigned nth = 1, unanswered = 0; nth < 400 && unanswered < 3; nth++) {
        cen_mux_pool_options options =
            CEN_MUX_POOL_OPTIONS(.address = cen_mux_server_address(server), .allocator = &allocator, .connections = 2,
                                 .backoff_initial_ns = ms, .wait_deadline = cen_in_s(20));
        error.text[0] = 0;
        ceni_fault_arm(CENI_FAULT_ALLOC, nth);
        cen_status status = cen_mux_pool_new(&options, &pool, &error);
        if (status == CEN_OK) AWAIT(request_number(pool, nth, &error) == CEN_OK);
        unanswered += !ceni_fault_disarm();
        made += status == CEN_OK;
        refused += status != CEN_OK;
        if (status != CEN_OK) expect(error.text[0]);
        if (status == CEN_OK) AWAIT(pool_stats(pool).up == 2); /* what failed is tried again */
        if (status == CEN_OK) expect_equal(cen_mux_pool_free(pool), CEN_OK);
        AWAIT(ceni_load_seq_cst(&out_bytes) == 0);
    }
    expect(refused > 5 && made > 5);
    cen_mux_server_stop(server);
    AWAIT(cen_loop_users(NULL) == 0);
}

/* ---- A runtime and a loop of their own -------------------------------------------------------------------------- */

TEST(it_runs_on_a_runtime_and_a_loop_of_the_programs_own)
{
    cen_runtime *runtime;
    cen_loop *loop;
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.name = "own");
    expect_equal(cen_runtime_new(&options, &runtime, &error), CEN_OK);
    expect_equal(cen_loop_new(NULL, &loop, &error), CEN_OK);
    server = SERVE(.name = "echo");
    pool = POOL(.address = cen_mux_server_address(server), .runtime = runtime, .loop = loop);
    for (uint64_t i = 0; i < 50; i++) expect_equal(request_number(pool, i, &error), CEN_OK);
    expect_equal(cen_mux_pool_free(pool), CEN_OK);
    expect_equal(cen_loop_free(loop), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    cen_mux_server_stop(server);
}

TEST(it_runs_on_a_manual_runtime)
{
    cen_runtime *runtime;
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.name = "own", .manual = true);
    expect_equal(cen_runtime_new(&options, &runtime, &error), CEN_OK);
    server = SERVE(.name = "echo");
    pool = POOL(.address = cen_mux_server_address(server), .runtime = runtime, .connections = 2);
    for (uint64_t i = 0; i < 50; i++) expect_equal(request_number(pool, i, &error), CEN_OK);
    expect_equal(cen_mux_pool_free(pool), CEN_OK);
    while (cen_runtime_poll(runtime) >= 0) continue;
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    cen_mux_server_stop(server);
}
