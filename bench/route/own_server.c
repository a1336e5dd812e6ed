/* SPDX-License-Identifier: MIT */
/* The echo server with cenote's own server side: each call is answered at once, on the loop's thread. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cenote/mux_server.h>

#include "../rules/bench.h"

static void handle(void *argument, cen_mux_call *call)
{
    (void)argument;
    if (cen_mux_call_reply(call, call->payload, call->payload_size) == CEN_NO_MEMORY) bench_fail("no memory");
}

int main(void)
{
    char byte;
    cen_error error = {0};
    cen_mux_server *server;
    cen_mux_server_options options =
        CEN_MUX_SERVER_OPTIONS(.address = "127.0.0.1:0", .codec = cen_codec_binary(), .handle = handle);
    if (cen_mux_server_start(&options, &server, &error) != CEN_OK) bench_fail("cen_mux_server_start: %s", error.text);
    puts(strrchr(cen_mux_server_address(server), ':') + 1);
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
    cen_mux_server_stop(server);
    return 0;
}
