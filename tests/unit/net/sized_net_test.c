/* SPDX-License-Identifier: MIT */
/* The ABI rule of cenote/sized.h for every struct of libcenote-net. */
#include <cenote/mux_pool.h>
#include <cenote/mux_server.h>

#include "support/sized.h"
#include "support/test.h"

static cen_mux_server *server;
static cen_mux *mux;
static cen_mux_pool *pool;

static void handle(void *argument, cen_mux_call *call)
{
    (void)argument;
    cen_mux_call_drop(call);
}

static void begin(void)
{
    cen_mux_server_options options = CEN_MUX_SERVER_OPTIONS(.address = "127.0.0.1:0", .handle = handle);
    expect_equal(cen_mux_server_start(&options, &server, NULL), CEN_OK);
}

static cen_mux_pool *pool_of(void)
{
    cen_mux_pool *one = NULL;
    cen_mux_pool_options options = CEN_MUX_POOL_OPTIONS(.address = cen_mux_server_address(server), .connections = 1);
    expect_equal(cen_mux_pool_new(&options, &one, NULL), CEN_OK);
    return one;
}

/* ---- Inputs -------------------------------------------------------------------- */

static cen_status call_loop_new(void *given)
{
    cen_loop *one = NULL;
    cen_status status = cen_loop_new(given, &one, NULL);
    expect_equal(cen_loop_free(one), CEN_OK);
    return status;
}

static void fill_server(void *full)
{
    ((cen_mux_server_options *)full)->address = "127.0.0.1:0";
    ((cen_mux_server_options *)full)->handle = handle;
}

static cen_status call_server_start(void *given)
{
    cen_mux_server *one = NULL;
    cen_status status = cen_mux_server_start(given, &one, NULL);
    cen_mux_server_stop(one);
    return status;
}

static void fill_mux(void *full)
{
    ((cen_mux_options *)full)->address = cen_mux_server_address(server);
}

static cen_status call_mux_open(void *given)
{
    cen_mux *one = NULL;
    cen_status status = cen_mux_open(given, &one, NULL);
    cen_mux_free(one);
    return status;
}

static void fill_codec(void *full)
{
    *(cen_codec_calls *)full = *cen_codec_binary().calls;
}

static cen_status call_codec_mux(void *given)
{
    cen_mux_options options = CEN_MUX_OPTIONS(.address = cen_mux_server_address(server), .codec = {given, NULL});
    return call_mux_open(&options);
}

static cen_status call_codec_server(void *given)
{
    cen_mux_server_options options =
        CEN_MUX_SERVER_OPTIONS(.address = "127.0.0.1:0", .handle = handle, .codec = {given, NULL});
    return call_server_start(&options);
}

static void fill_pool(void *full)
{
    ((cen_mux_pool_options *)full)->address = cen_mux_server_address(server);
    ((cen_mux_pool_options *)full)->connections = 1;
}

static cen_status call_pool_new(void *given)
{
    cen_mux_pool *one = NULL;
    cen_status status = cen_mux_pool_new(given, &one, NULL);
    expect_equal(cen_mux_pool_free(one), CEN_OK);
    return status;
}

static cen_status call_pool_mux(void *given)
{
    cen_mux_pool_options options =
        CEN_MUX_POOL_OPTIONS(.address = cen_mux_server_address(server), .connections = 1, .mux = given);
    return call_pool_new(&options);
}

/* guarantees: sized.every-size */
TEST(options_of_every_size_are_accepted)
{
    static const sized_case cases[] = {
        SIZED_INPUT(cen_loop_options, size, NULL, call_loop_new),
        SIZED_INPUT(cen_mux_server_options, handle, fill_server, call_server_start),
        SIZED_INPUT(cen_mux_options, address, fill_mux, call_mux_open),
        SIZED_INPUT(cen_codec_calls, decode, fill_codec, call_codec_mux),
        SIZED_INPUT(cen_codec_calls, decode, fill_codec, call_codec_server),
        SIZED_INPUT(cen_mux_pool_options, address, fill_pool, call_pool_new),
        SIZED_INPUT(cen_mux_options, size, NULL, call_pool_mux),
    };
    begin();
    SIZED_TRY(cases);
    cen_mux_server_stop(server);
}

/* ---- Outputs ---------------------------------------------------------------------- */

static cen_status call_server_look(void *given)
{
    return cen_mux_server_stats_get(server, given);
}

static cen_status call_mux_look(void *given)
{
    return cen_mux_stats_get(mux, given);
}

static cen_status call_pool_look(void *given)
{
    return cen_mux_pool_stats_get(pool, given);
}

static cen_status call_pool_close(void *given)
{
    cen_mux_pool *one = pool_of();
    cen_status status = cen_mux_pool_close(one, cen_in_s(30), given, NULL);
    expect_equal(cen_mux_pool_free(one), CEN_OK);
    return status;
}

/* guarantees: sized.every-size */
TEST(outputs_of_every_size_are_written_within_their_size)
{
    static const sized_case cases[] = {
        SIZED_OUTPUT(cen_mux_server_stats, call_server_look),
        SIZED_OUTPUT(cen_mux_stats, call_mux_look),
        SIZED_OUTPUT(cen_mux_pool_stats, call_pool_look),
        SIZED_OUTPUT(cen_mux_pool_report, call_pool_close),
    };
    begin();
    pool = pool_of();
    cen_mux_options options = CEN_MUX_OPTIONS(.address = cen_mux_server_address(server));
    expect_equal(cen_mux_open(&options, &mux, NULL), CEN_OK);
    SIZED_TRY(cases);
    cen_mux_free(mux);
    expect_equal(cen_mux_pool_free(pool), CEN_OK);
    cen_mux_server_stop(server);
}
