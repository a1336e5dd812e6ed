/* SPDX-License-Identifier: MIT */
/* What whoever watches is told of connections, servers and routing pools. */
#include "base/atomic.h"
#include "support/description.h"
#include "unit/net/pools.h"

static _Atomic(cen_mux_call *) kept;

static void hold_back(void *argument, cen_mux_call *call)
{
    (void)argument;
    ceni_store_seq_cst(&kept, call); /* answered when it is too late */
}

TEST(a_connection_shows_where_it_goes_what_is_under_way_and_why_it_ended)
{
    description s;
    question q;
    cen_mux_server *server = SERVE(.name = "deaf", .handle = hold_back, .max_clients = 3);
    cen_mux *mux = OPEN(.name = "line", .address = cen_mux_server_address(server));
    ready_question(&q, 1);
    expect_equal(cen_mux_request_async(mux, &q.request, NULL), CEN_OK);
    description_take(&s, "mux", "line", 10);
    expect_text(description_words(&s, "address"), cen_mux_server_address(server));
    expect_text(description_words(&s, "state"), "open");
    expect_equal(description_number(&s, "in_flight"), 1);
    expect(!description_has(&s, "last_error"));
    char codec[DESCRIPTION_WORDS];
    snprintf(codec, sizeof codec, "%s", description_words(&s, "codec"));
    description_drop(&s);
    description_take(&s, "mux_server", "deaf", 10);
    expect_text(description_words(&s, "address"), cen_mux_server_address(server));
    expect_text(description_words(&s, "codec"), codec);
    expect_equal(description_number(&s, "max_clients"), 3);
    description_drop(&s);
    AWAIT(metric_of("mux_server", "deaf", "calls") == 1);
    expect(metric_of("mux_server", "deaf", "received_bytes") > 0);
    cen_mux_server_stop(server);
    expect_equal(cen_future_wait(&q.request.future, CEN_NEVER), CEN_OK);
    expect_equal(q.request.future.status, CEN_LOST);
    expect_equal(cen_mux_call_reply(ceni_load_seq_cst(&kept), "", 0), CEN_LOST);
    AWAIT(stats_of(mux).state == CEN_MUX_ENDED);
    description_take(&s, "mux", "line", 10);
    expect_text(description_words(&s, "state"), "ended");
    expect(description_words(&s, "last_error")[0] != '\0');
    description_drop(&s);
    expect_event("mux_server", "listening", CEN_LEVEL_NOTICE, "server \"deaf\": listening at 127.0.0.1:");
    expect_event("mux_server", "stopped", CEN_LEVEL_NOTICE, "server \"deaf\": stopped listening at 127.0.0.1:");
    expect_event("mux", "connected", CEN_LEVEL_DETAIL, "connection \"line (127.0.0.1:");
    expect_event("mux", "lost", CEN_LEVEL_WARNING, "line (127.0.0.1:");
    cen_mux_free(mux);
}

TEST(a_routing_pool_shows_its_connections_and_its_supervisors_their_tree)
{
    description s, tree;
    cen_mux_server *server = SERVE(.name = "echo");
    const char *address = cen_mux_server_address(server);
    cen_mux_pool *pool = POOL(.name = "lines", .addresses = &address, .address_count = 1, .connections = 3);
    AWAIT(pool_stats(pool).up == 3);
    expect_equal(request_number(pool, 5, NULL), CEN_OK);
    description_take(&s, "mux_pool", "lines", 10);
    expect_equal(description_count(&s, "connections"), 3);
    int64_t sent = 0;
    for (int i = 0; i < 3; i++) {
        char path[64];
        snprintf(path, sizeof path, "connections[%d].state", i);
        expect_text(description_words(&s, path), "up");
        snprintf(path, sizeof path, "connections[%d].address", i);
        expect_text(description_words(&s, path), address);
        snprintf(path, sizeof path, "connections[%d].sent", i);
        sent += description_number(&s, path);
    }
    expect_equal(sent, 1);
    expect(!description_truth(&s, "closed"));
    description_drop(&s);
    description_take(&s, "mux_pool", "lines", 2);
    expect_equal(description_number(&s, "connections_more"), 1);
    description_drop(&s);
    description_take(&tree, "supervisor", "lines", 10);
    description_take(&s, "supervisor", "connections", 10);
    expect_equal(description_number(&tree, "children[1].supervisor"), s.number);
    expect_equal(description_count(&s, "children"), 3);
    description_drop(&s);
    description_drop(&tree);
    description_take(&s, "router", "lines", 10);
    expect_equal(description_count(&s, "members"), 3);
    description_drop(&s);
    cen_mux_server_stop(server);
    AWAIT(pool_stats(pool).up == 0);
    description_take(&s, "mux_pool", "lines", 10);
    expect(description_words(&s, "last_error")[0] != '\0');
    expect(strcmp(description_words(&s, "connections[0].state"), "up") != 0);
    expect(description_words(&s, "connections[0].last_error")[0] != '\0');
    description_drop(&s);
    expect_equal(events_of("mux_pool", "connection_up", NULL), 3);
    AWAIT(events_of("mux_pool", "connection_down", NULL) == 3);
    AWAIT(events_of("mux_pool", "connection_failed", NULL) > 0);
    cen_event last = {.text = ""};
    events_of("mux_pool", "connection_down", &last);
    expect_equal(last.level, CEN_LEVEL_WARNING);
    expect(strstr(last.text, "routing pool \"lines\": connection \"") && strstr(last.text, " is down: "));
    expect_equal(cen_mux_pool_free(pool), CEN_OK);
}
