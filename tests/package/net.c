/* SPDX-License-Identifier: MIT */
/* A program outside the tree that uses libcenote-net: a server, a connection to it, one request. */
#include <stdio.h>
#include <string.h>

#include <cenote/mux.h>
#include <cenote/mux_server.h>

static void echo(void *argument, cen_mux_call *call)
{
    (void)argument;
    cen_mux_call_reply(call, call->payload, call->payload_size);
}

static bool ask(cen_mux *mux)
{
    cen_error error = {.text = ""};
    cen_request request;
    cen_request_init(&request, NULL, NULL);
    request.payload = "ping";
    request.size = 4;
    bool answered = cen_mux_request(mux, &request, &error) == CEN_OK && request.reply_size == 4 &&
                    memcmp(request.reply, "ping", 4) == 0;
    printf("%s\n", answered ? "the echo is right" : error.text);
    cen_request_free_reply(&request);
    return answered;
}

int main(void)
{
    cen_error error;
    cen_mux_server *server;
    cen_mux_server_options served = CEN_MUX_SERVER_OPTIONS(.address = "127.0.0.1:0", .handle = echo);
    if (cen_mux_server_start(&served, &server, &error) != CEN_OK) return puts(error.text), 1;
    cen_mux *mux;
    cen_mux_options opened = CEN_MUX_OPTIONS(.address = cen_mux_server_address(server), .codec = cen_codec_binary());
    if (cen_mux_open(&opened, &mux, &error) != CEN_OK) return puts(error.text), 1;
    bool answered = ask(mux);
    cen_mux_close(mux, cen_in_s(5), NULL);
    cen_mux_free(mux);
    cen_mux_server_stop(server);
    return answered ? 0 : 1;
}
