/* SPDX-License-Identifier: MIT */
/*
 * Streams: the flights that a loop has given to curl. Everything runs on the loop's thread.
 *
 * No stream opens a connection: the callback by which curl opens sockets refuses. So a request is sent at most once, on
 * the connection that the probe has opened (link.c). curl's own retry on a new connection, when one ends before any
 * response, fails. Before curl sends a request it calls on_sending: a request that ends before that was certainly not
 * sent.
 *
 * A server that ends a connection in an orderly way (GOAWAY) names the last stream it has handled: later ones count as
 * not sent. curl 7.88 reports this by no code, but its verbose output contains the server's message and each stream's
 * id (listen_to). If another version words it differently, such requests fail with LOST, which is correct, too.
 */
#include "curl/http.h"

static curl_socket_t refuse_socket(void *argument, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)argument, (void)purpose, (void)address;
    return CURL_SOCKET_BAD;
}

static int on_sending(void *argument, char *to, char *from, int to_port, int from_port)
{
    (void)to, (void)from, (void)to_port, (void)from_port;
    ((ceni_http_flight *)argument)->sent = true;
    return CURL_PREREQFUNC_OK;
}

/* Return the number after a word in curl's output; -1: the word is missing. */
static long number_after(const char *line, const char *word)
{
    const char *found = strstr(line, word);
    return found ? strtol(found + strlen(word), NULL, 10) : -1;
}

void ceni_http_listen_to(ceni_http_loop *loop, ceni_http_flight *flight, const char *text, size_t size)
{
    char line[128];
    if (size == 0 || (text[0] != 'U' && text[0] != 'r')) return; /* most lines are about other things */
    snprintf(line, sizeof line, "%.*s", (int)size, text);
    long stream = number_after(line, "Using Stream ID: ");
    if (stream >= 0 && flight) flight->stream = stream;
    long last = strstr(line, "GOAWAY") ? number_after(line, "last_stream=") : -1;
    uint64_t turn = flight ? flight->turn : loop->turn;
    if (last < 0 || loop->goodbyes[turn % CENI_HTTP_GOODBYES].turn != turn) return;
    loop->goodbyes[turn % CENI_HTTP_GOODBYES].last = last;
    if (turn != loop->turn) return; /* a newer connection exists */
    loop->unusable = true;
    ceni_curl_error(&loop->cause, CEN_LOST, 0, "HTTP connection \"%s\": GOAWAY from %s", loop->name,
                    loop->http->site->base);
}

static int on_talk(CURL *easy, curl_infotype kind, char *text, size_t size, void *argument)
{
    ceni_http_flight *flight = argument;
    (void)easy;
    if (kind == CURLINFO_TEXT) ceni_http_listen_to(flight->routing.route.value, flight, text, size);
    return 0;
}

static bool prepare_method(ceni_http_flight *flight)
{
    CURLcode code = CURLE_OK;
    if (flight->body) {
        curl_easy_setopt(flight->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)flight->body_size);
        code = curl_easy_setopt(flight->easy, CURLOPT_POSTFIELDS, flight->body);
    }
    if (strcmp(flight->method, "HEAD") == 0) curl_easy_setopt(flight->easy, CURLOPT_NOBODY, 1L);
    else if (strcmp(flight->method, "GET") != 0 || flight->body)
        code = curl_easy_setopt(flight->easy, CURLOPT_CUSTOMREQUEST, flight->method);
    return code == CURLE_OK;
}

static bool prepare(ceni_http_loop *loop, ceni_http_flight *flight, long ms)
{
    CURL *easy = flight->easy;
    flight->sent = false, flight->stream = -1;
    flight->turn = loop->turn;
    flight->said[0] = '\0';
    if (!ceni_curl_site_apply(loop->http->site, loop->credentials, easy)) return false;
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, flight->headers);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, flight);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, flight->said);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ceni_curl_body_write);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &flight->reply);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, refuse_socket);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_sending);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, flight);
    curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, on_talk);
    curl_easy_setopt(easy, CURLOPT_DEBUGDATA, flight);
    curl_easy_setopt(easy, CURLOPT_VERBOSE, 1L);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, ms);
    return curl_easy_setopt(easy, CURLOPT_URL, flight->url) == CURLE_OK && prepare_method(flight);
}

/* Return the milliseconds left, up to a day; 0: none. */
static long left_of(const ceni_http_flight *flight)
{
    if (flight->moment == INT64_MAX) return 86400000;
    int64_t left = flight->moment < 0 ? 0 : flight->moment - cen_clock();
    if (left <= 0) return 0;
    return left > INT64_C(86400000000000) ? 86400000 : (long)((left + 999999) / 1000000);
}

/* ---- Handles: never more than streams ---------------------------------------------------------------------- */

static CURL *take_handle(ceni_http_loop *loop)
{
    return loop->spare_count ? loop->spares[--loop->spare_count] : curl_easy_init();
}

static void give_handle(ceni_http_loop *loop, ceni_http_flight *flight)
{
    loop->spares[loop->spare_count++] = flight->easy;
    flight->easy = NULL;
}

static void link_in(ceni_http_loop *loop, ceni_http_flight *flight)
{
    flight->next = loop->active;
    flight->link = &loop->active;
    if (flight->next) flight->next->link = &flight->next;
    loop->active = flight;
    loop->active_count++;
}

static void take_out(ceni_http_loop *loop, ceni_http_flight *flight)
{
    curl_multi_remove_handle(loop->multi, flight->easy); /* resets an unfinished stream */
    *flight->link = flight->next;
    if (flight->next) flight->next->link = flight->link;
    loop->active_count--;
}

/* ---- Start and end -------------------------------------------------------------------------------------------- */

static void cancelled(ceni_http_flight *flight)
{
    ceni_http_flight_leave(flight, CEN_OUTCOME_CANCELLED);
    ceni_http_flight_fail(flight, CEN_INTERRUPTED, 0, "HTTP client \"%s\": request cancelled", flight->http->name);
}

/* The request was not sent: route it to another connection. */
static void reroute(ceni_http_loop *loop, ceni_http_flight *flight, CURLcode code)
{
    cen_http *http = loop->http;
    if (!cen_promise_is_wanted(&flight->promise)) return cancelled(flight);
    ceni_http_flight_leave(flight, CEN_OUTCOME_FAILED);
    if (flight->tries > http->reroutes)
        return ceni_http_flight_fail(flight, CEN_LOST, (int)code,
                                     "HTTP connection \"%s\": request to %s not sent: connection lost %d times",
                                     loop->name, flight->url, (int)flight->tries);
    pthread_mutex_lock(&http->mutex);
    http->counts.rerouted++;
    pthread_mutex_unlock(&http->mutex);
    flight->pick.avoid = loop->member;
    free(flight->reply.bytes);
    flight->reply = (ceni_curl_body){.most = flight->reply.most};
    ceni_http_flight_route(flight);
}

void ceni_http_stream_start(ceni_http_loop *loop, ceni_http_flight *flight)
{
    if (!cen_promise_is_wanted(&flight->promise)) return cancelled(flight);
    long left = left_of(flight);
    if (left == 0) {
        ceni_http_flight_leave(flight, CEN_OUTCOME_CANCELLED);
        return ceni_http_flight_fail(flight, CEN_TIMEOUT, 0,
                                     "HTTP client \"%s\": request to %s not sent: deadline passed", loop->http->name,
                                     flight->url);
    }
    if (!loop->up) return reroute(loop, flight, CURLE_OK);
    flight->easy = take_handle(loop);
    if (!flight->easy || !prepare(loop, flight, left) || curl_multi_add_handle(loop->multi, flight->easy) != CURLM_OK) {
        if (flight->easy) give_handle(loop, flight);
        ceni_http_flight_leave(flight, CEN_OUTCOME_CANCELLED);
        return ceni_http_flight_fail(flight, CEN_NO_MEMORY, 0,
                                     "HTTP client \"%s\": request to %s not sent: out of memory", loop->http->name,
                                     flight->url);
    }
    link_in(loop, flight);
}

static void answer(ceni_http_loop *loop, ceni_http_flight *flight)
{
    loop->heard = cen_clock();
    cen_http_reply *reply = ceni_http_flight_reply(flight, loop->name);
    bool ill = reply && reply->status >= 500;
    give_handle(loop, flight);
    ceni_http_flight_leave(flight, ill ? CEN_OUTCOME_FAILED : CEN_OUTCOME_OK);
    if (reply) ceni_http_flight_answer(flight, reply);
    else
        ceni_http_flight_fail(flight, CEN_NO_MEMORY, 0, "HTTP client \"%s\": out of memory for the reply",
                              loop->http->name);
}

/* Store the error as the cause for the connection to go down. */
static void blame(ceni_http_loop *loop, const ceni_http_flight *flight, cen_status status, CURLcode code)
{
    ceni_curl_error(&loop->cause, status, (int)code, "HTTP connection \"%s\": request to %s failed: %s (curl %d)",
                    loop->name, flight->url, flight->said[0] ? flight->said : curl_easy_strerror(code), (int)code);
}

/* Return true if the server's GOAWAY on this connection excludes this stream. */
static bool is_refused(const ceni_http_loop *loop, const ceni_http_flight *flight)
{
    unsigned place = flight->turn % CENI_HTTP_GOODBYES;
    return loop->goodbyes[place].turn == flight->turn && flight->stream > loop->goodbyes[place].last;
}

void ceni_http_stream_done(ceni_http_loop *loop, ceni_http_flight *flight, CURLcode code)
{
    take_out(loop, flight);
    if (code == CURLE_OK) return answer(loop, flight);
    cen_status status = ceni_curl_status(code);
    if (flight->reply.too_large) status = CEN_FULL;
    else if (flight->reply.no_memory) status = CEN_NO_MEMORY;
    else if (code == CURLE_COULDNT_CONNECT && flight->sent) status = CEN_LOST; /* curl's own retry */
    bool was_lost = status == CEN_LOST || code == CURLE_COULDNT_CONNECT;
    if (status == CEN_TIMEOUT || (was_lost && flight->turn == loop->turn)) loop->suspect = true;
    if (was_lost && !loop->unusable && flight->turn == loop->turn) blame(loop, flight, CEN_LOST, code);
    if (was_lost && is_refused(loop, flight)) flight->sent = false;
    give_handle(loop, flight);
    if (was_lost && !flight->sent) {
        if (flight->turn == loop->turn) loop->unusable = true;
        return reroute(loop, flight, code);
    }
    ceni_http_flight_leave(flight, was_lost || status == CEN_TIMEOUT ? CEN_OUTCOME_FAILED : CEN_OUTCOME_CANCELLED);
    if (status == CEN_FULL)
        return ceni_http_flight_fail(flight, status, (int)code,
                                     "HTTP client \"%s\": request to %s: body too large (limit %zu bytes)",
                                     loop->http->name, flight->url, flight->reply.most);
    char said[CURL_ERROR_SIZE];
    snprintf(said, sizeof said, "%s", flight->said[0] ? flight->said : curl_easy_strerror(code));
    ceni_http_flight_fail(flight, status, (int)code, "HTTP connection \"%s\": request to %s failed: %s (curl %d)",
                          loop->name, flight->url, said, (int)code);
}

void ceni_http_streams_sweep(ceni_http_loop *loop)
{
    for (ceni_http_flight *flight = loop->active, *next; flight; flight = next) {
        next = flight->next;
        if (cen_promise_is_wanted(&flight->promise)) continue;
        take_out(loop, flight);
        give_handle(loop, flight);
        /* curl 7.88 delays the reset of a stream until it sends something else: a probe will do */
        loop->suspect = true;
        cancelled(flight);
    }
}

void ceni_http_streams_end(ceni_http_loop *loop, ceni_http_flight *inbox)
{
    while (loop->active) {
        ceni_http_flight *flight = loop->active;
        take_out(loop, flight);
        give_handle(loop, flight);
        flight->next = inbox;
        inbox = flight;
    }
    while (inbox) {
        ceni_http_flight *flight = inbox;
        inbox = flight->next;
        ceni_http_flight_leave(flight, CEN_OUTCOME_CANCELLED);
        ceni_http_flight_fail(flight, CEN_CLOSED, 0, "HTTP client \"%s\": request to %s failed: client closed",
                              loop->http->name, flight->url);
    }
    for (; loop->spare_count; loop->spare_count--) curl_easy_cleanup(loop->spares[loop->spare_count - 1]);
}
