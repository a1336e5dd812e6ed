/* SPDX-License-Identifier: MIT */
/*
 * Many requests at once over one connection: a server that replies in capitals, and late if asked to wait, and a client
 * that sends in one order and gets replies in another.
 *
 *     client ▶ "slow one" "two" "three"  ▶ server
 *     client ◀ "TWO" "THREE" ... "SLOW ONE" ◀ server
 *
 * Then the server stops, and the waiting request fails at once with the reason.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <cenote/cenote.h>
#include <cenote/mux.h>
#include <cenote/mux_server.h>

enum { QUESTIONS = 3 };

/* ---- The server ------------------------------------------------------------------------------- */

static cen_mux_call *slow; /* to be replied to later; only the loop's thread touches it */

static void answer(cen_mux_call *call)
{
    char text[64];
    size_t size = call->payload_size < sizeof text ? call->payload_size : sizeof text;
    for (size_t i = 0; i < size; i++) text[i] = (char)toupper(((const unsigned char *)call->payload)[i]);
    cen_mux_call_reply(call, text, size);
}

static void handle(void *argument, cen_mux_call *call)
{
    (void)argument;
    bool waits = call->payload_size >= 4 && memcmp(call->payload, "slow", 4) == 0;
    bool ends = call->payload_size == 5 && memcmp(call->payload, "three", 5) == 0;
    if (waits) slow = call; /* it stays ours until it gets its reply */
    else answer(call);
    if (ends && slow) answer(slow), slow = NULL;
}

/* ---- The client -------------------------------------------------------------------------------- */

static const char *const texts[QUESTIONS] = {"slow one", "two", "three"};
static char replies[QUESTIONS][64];
static int order[QUESTIONS], heard;

static void done(cen_request *request)
{
    printf("reply %.*s\n", (int)request->reply_size, (const char *)request->reply);
    order[heard++] = (int)((char(*)[64])request->reply - replies);
}

static bool ask_all(cen_mux *mux)
{
    cen_request requests[QUESTIONS];
    cen_inbox *inbox;
    if (cen_inbox_new(NULL, &inbox, NULL) != CEN_OK) return false;
    for (int i = 0; i < QUESTIONS; i++) {
        cen_request_init(&requests[i], done, cen_inbox_executor(inbox));
        requests[i].payload = texts[i], requests[i].size = strlen(texts[i]);
        requests[i].reply = replies[i], requests[i].capacity = sizeof replies[i];
        if (cen_mux_request_async(mux, &requests[i], NULL) != CEN_OK) return false; /* returns at once */
    }
    while (heard < QUESTIONS) cen_inbox_wait(inbox, cen_in_s(1)); /* runs `done` here */
    cen_inbox_free(inbox);
    return order[0] == 1 && order[2] == 0; /* the slow one came last */
}

/* The server never replies to this request: it is stopped first. */
static bool ask_one_that_dies(cen_mux *mux, cen_mux_server *server)
{
    cen_request request;
    cen_error error;
    cen_request_init(&request, NULL, NULL);
    request.payload = "slow and never", request.size = 14;
    request.future.error = &error;
    if (cen_mux_request_async(mux, &request, &error) != CEN_OK) return false;
    cen_mux_server_stop(server);
    if (cen_future_wait(&request.future, cen_in_s(10)) != CEN_OK) return false;
    printf("%s: %s\n", cen_status_name(request.future.status), error.text);
    return request.future.status == CEN_LOST;
}

int main(void)
{
    cen_mux_server *server;
    cen_mux *mux;
    cen_error error;
    cen_mux_server_options serve = CEN_MUX_SERVER_OPTIONS(.address = "127.0.0.1:0", .handle = handle);
    if (cen_mux_server_start(&serve, &server, &error) != CEN_OK) return fprintf(stderr, "%s\n", error.text), 1;
    cen_mux_options options = CEN_MUX_OPTIONS(.name = "capitals", .address = cen_mux_server_address(server));
    if (cen_mux_open(&options, &mux, &error) != CEN_OK) return fprintf(stderr, "%s\n", error.text), 1;

    bool ok = ask_all(mux) && ask_one_that_dies(mux, server);
    cen_mux_free(mux);
    cen_mux_call_drop(slow);
    return ok ? 0 : 1;
}
