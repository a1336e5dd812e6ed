/* SPDX-License-Identifier: MIT */
/*
 * Flights: requests of the HTTP/2 client, from their start to their end.
 *
 * A flight ends once, by the thread that has it. Its future belongs to the program, which may cancel it at any time and
 * reuse the memory. So the flight has copies of everything that the request needs, and touches the future only by the
 * promise. Cancels are noticed by checks at intervals: by the flight's loop or, while it waits for a route, by a sweep.
 *
 * Sweeping. A waiting flight may be routed on another thread while the sweep cancels its route. So the sweep holds a
 * reference. A cancelled flight is never routed again, so its routing is not initialised again during the sweep.
 */
#include <stdarg.h>

#include "curl/http.h"

enum { SWEEP = 64 };

/* ---- Lifetime -------------------------------------------------------------------------------------- */

static void flight_free(ceni_http_flight *flight)
{
    curl_slist_free_all(flight->headers);
    free(flight->url);
    free(flight->method);
    free(flight->body);
    free(flight->reply.bytes);
    free(flight);
}

/* Drop references. With the last one the flight is freed, and the client may be freed then, too. */
static void drop(ceni_http_flight *flight, int holds)
{
    cen_http *http = flight->http;
    pthread_mutex_lock(&http->mutex);
    flight->holds -= holds;
    if (flight->holds == 0) {
        flight_free(flight);
        if (--http->flights == 0) pthread_cond_broadcast(&http->changed);
    }
    pthread_mutex_unlock(&http->mutex);
}

static bool copy_headers(ceni_http_flight *flight, const struct curl_slist *site, const char *const *own)
{
    for (; site; site = site->next) {
        struct curl_slist *longer = curl_slist_append(flight->headers, site->data);
        if (!longer) return false;
        flight->headers = longer;
    }
    for (; own && *own; own++) {
        struct curl_slist *longer = curl_slist_append(flight->headers, *own);
        if (!longer) return false;
        flight->headers = longer;
    }
    return true;
}

/* Return the time of a deadline: a moment, or one of the ends of the range. */
static int64_t moment_of(cen_deadline deadline)
{
    return cen_deadline_fix(deadline).ns_;
}

static ceni_http_flight *flight_new(cen_http *http, const cen_http_request *request)
{
    ceni_http_flight *flight = calloc(1, sizeof *flight);
    if (!flight) return NULL;
    flight->http = http;
    flight->holds = 1;
    flight->begun = cen_clock();
    flight->moment = moment_of(request->deadline.ns_ ? request->deadline : http->deadline);
    flight->pick = request->hint;
    flight->reply.most = request->max_reply ? request->max_reply : http->most;
    flight->url = ceni_curl_site_url(http->site, request->path);
    flight->method = strdup(request->method ? request->method : "GET");
    bool fine = flight->url && flight->method && copy_headers(flight, http->site->headers, request->headers);
    if (fine && request->body) {
        flight->body_size = request->body_size;
        flight->body = malloc(request->body_size ? request->body_size : 1);
        fine = flight->body != NULL;
        if (fine) memcpy(flight->body, request->body, request->body_size);
    }
    if (fine) return flight;
    flight_free(flight);
    return NULL;
}

/* ---- The end ----------------------------------------------------------------------------------------- */

static uint64_t *count_of(cen_http *http, cen_status status)
{
    switch (status) {
    case CEN_OK: return &http->counts.answered;
    case CEN_LOST: return &http->counts.lost;
    case CEN_TIMEOUT: return &http->counts.timed_out;
    case CEN_EMPTY:
    case CEN_FULL: return &http->counts.refused;
    case CEN_CLOSED: return &http->counts.closed;
    case CEN_INTERRUPTED: return &http->counts.cancelled;
    default: return &http->counts.failed;
    }
}

/* Report the end. It is counted before, so that the program finds it counted in its callback. If the future was
 * cancelled, the count is corrected. */
static void tell(ceni_http_flight *flight, cen_status status, cen_http_reply *reply, const cen_error *error)
{
    cen_http *http = flight->http;
    pthread_mutex_lock(&http->mutex);
    ++*count_of(http, status);
    http->counts.under_way--;
    pthread_mutex_unlock(&http->mutex);
    bool told =
        status == CEN_OK ? cen_promise_complete(&flight->promise, reply) : cen_promise_fail(&flight->promise, error);
    if (!told && status != CEN_INTERRUPTED) {
        pthread_mutex_lock(&http->mutex);
        --*count_of(http, status);
        ++*count_of(http, CEN_INTERRUPTED);
        pthread_mutex_unlock(&http->mutex);
    }
    if (!told) cen_http_reply_free(reply);
    drop(flight, 1);
}

void ceni_http_flight_answer(ceni_http_flight *flight, cen_http_reply *reply)
{
    tell(flight, CEN_OK, reply, NULL);
}

void ceni_http_flight_fail(ceni_http_flight *flight, cen_status status, int code, const char *format, ...)
{
    cen_error error = {.status = status, .code = code};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error.text, sizeof error.text, format, arguments);
    va_end(arguments);
    tell(flight, status, NULL, &error);
}

void ceni_http_flight_leave(ceni_http_flight *flight, cen_outcome outcome)
{
    cen_route_done(&flight->routing.route, outcome, 0);
}

/* One allocation for the reply, its type and the member's name. The received body is taken over. */
struct reply {
    cen_http_reply reply;
    char *bytes;
    char texts[];
};

cen_http_reply *ceni_http_flight_reply(ceni_http_flight *flight, const char *member)
{
    const char *type = NULL;
    curl_easy_getinfo(flight->easy, CURLINFO_CONTENT_TYPE, &type);
    size_t type_size = type ? strlen(type) + 1 : 1, member_size = strlen(member) + 1;
    struct reply *whole = malloc(sizeof *whole + type_size + member_size);
    if (!whole) return NULL;
    memcpy(whole->texts, type ? type : "", type_size);
    memcpy(whole->texts + type_size, member, member_size);
    whole->bytes = flight->reply.bytes;
    whole->reply = (cen_http_reply){.body = whole->bytes ? whole->bytes : "",
                                    .size = flight->reply.size,
                                    .type = whole->texts,
                                    .member = whole->texts + type_size,
                                    .took_ns = cen_clock() - flight->begun};
    flight->reply.bytes = NULL;
    curl_easy_getinfo(flight->easy, CURLINFO_RESPONSE_CODE, &whole->reply.status);
    return &whole->reply;
}

void cen_http_reply_free(cen_http_reply *reply)
{
    if (!reply) return;
    struct reply *whole = (struct reply *)reply;
    free(whole->bytes);
    free(whole);
}

/* ---- Routes ---------------------------------------------------------------------------------------------- */

static void wait_in_line(ceni_http_flight *flight)
{
    cen_http *http = flight->http;
    pthread_mutex_lock(&http->mutex);
    flight->next_waiting = http->waiting;
    flight->link_waiting = &http->waiting;
    if (flight->next_waiting) flight->next_waiting->link_waiting = &flight->next_waiting;
    http->waiting = flight;
    pthread_mutex_unlock(&http->mutex);
}

static void leave_line_locked(ceni_http_flight *flight)
{
    *flight->link_waiting = flight->next_waiting;
    if (flight->next_waiting) flight->next_waiting->link_waiting = flight->link_waiting;
    flight->link_waiting = NULL;
}

/* The router has found a member, or failed. On any thread. */
static void on_routed(cen_future *future)
{
    ceni_http_flight *flight = (ceni_http_flight *)future;
    pthread_mutex_lock(&flight->http->mutex);
    leave_line_locked(flight);
    pthread_mutex_unlock(&flight->http->mutex);
    if (future->status != CEN_OK) return tell(flight, future->status, NULL, &flight->error);
    flight->tries++;
    ceni_http_loop_push(flight->routing.route.value, flight);
}

void ceni_http_flight_route(ceni_http_flight *flight)
{
    cen_http *http = flight->http;
    cen_deadline deadline = flight->moment == INT64_MAX ? CEN_NEVER : cen_at(flight->moment);
    cen_route_op_init(&flight->routing, NULL, NULL);
    flight->routing.future.error = &flight->error;
    cen_future_then(&flight->routing.future, on_routed, cen_inline());
    wait_in_line(flight);
    if (cen_router_route_async(http->router, &flight->pick, deadline, &flight->routing) == CEN_OK)
        return; /* it may be freed by now */
    pthread_mutex_lock(&http->mutex);
    leave_line_locked(flight);
    pthread_mutex_unlock(&http->mutex);
    ceni_http_flight_fail(flight, CEN_DRIVER, 0, "HTTP client \"%s\": cannot route the request", http->name);
}

bool ceni_http_flights_sweep(cen_http *http)
{
    ceni_http_flight *unwanted[SWEEP];
    int count = 0;
    pthread_mutex_lock(&http->mutex);
    bool some = http->waiting != NULL;
    for (ceni_http_flight *f = http->waiting; f && count < SWEEP; f = f->next_waiting) {
        if (cen_promise_is_wanted(&f->promise)) continue;
        f->holds++;
        unwanted[count++] = f;
    }
    pthread_mutex_unlock(&http->mutex);
    for (int i = 0; i < count; i++) {
        ceni_http_flight *flight = unwanted[i];
        if (cen_future_cancel(&flight->routing.future)) { /* now only this thread has it */
            pthread_mutex_lock(&http->mutex);
            leave_line_locked(flight);
            pthread_mutex_unlock(&http->mutex);
            ceni_http_flight_fail(flight, CEN_INTERRUPTED, 0, "HTTP client \"%s\": request cancelled", http->name);
        }
        drop(flight, 1);
    }
    return some;
}

/* ---- Public calls -------------------------------------------------------------------------------------------- */

static cen_status refuse(cen_http *http, const cen_http_request *request, const void *out, cen_error *error)
{
    if (!http || !request || !out)
        return ceni_curl_error(error, CEN_INVALID, 0,
                               "cen_http_fetch: http, request and out (or future) must not be NULL");
    if (http->process != ceni_curl_process())
        return ceni_curl_error(error, CEN_FORKED, 0, "HTTP client \"%s\": it belongs to the parent process",
                               http->name);
    return CEN_OK;
}

static cen_status read_request(const cen_http *http, const cen_http_request *given, cen_http_request *request,
                               cen_error *error)
{
    cen_status status = cen_sized_read(request, sizeof *request, given, "cen_http_fetch_async: request", error);
    if (status != CEN_OK) return status;
    if (!request->path || request->path[0] != '/')
        return ceni_curl_error(error, CEN_INVALID, 0, "HTTP client \"%s\": request.path must begin with a slash",
                               http->name);
    return CEN_OK;
}

cen_status cen_http_fetch_async(cen_http *http, const cen_http_request *request, cen_future *future, cen_error *error)
{
    cen_http_request known;
    cen_status status = refuse(http, request, future, error);
    if (status == CEN_OK) status = read_request(http, request, &known, error);
    if (status != CEN_OK) return status;
    ceni_http_flight *flight = flight_new(http, &known);
    if (!flight) return ceni_curl_error(error, CEN_NO_MEMORY, 0, "HTTP client \"%s\": out of memory", http->name);
    status = cen_promise_init(&flight->promise, future);
    if (status != CEN_OK) {
        flight_free(flight);
        return ceni_curl_error(error, status, 0, "HTTP client \"%s\": cannot initialise the future of the request",
                               http->name);
    }
    pthread_mutex_lock(&http->mutex);
    http->flights++;
    http->counts.asked++;
    http->counts.under_way++;
    pthread_mutex_unlock(&http->mutex);
    ceni_http_flight_route(flight);
    return CEN_OK;
}

cen_status cen_http_fetch(cen_http *http, const cen_http_request *request, cen_http_reply **out, cen_error *error)
{
    cen_status status = refuse(http, request, out, error);
    if (status != CEN_OK) return status;
    if (ceni_http_on_loop(http))
        return ceni_curl_error(error, CEN_MISUSE, 0, "HTTP client \"%s\": a fetch must not wait on its loop's thread",
                               http->name);
    cen_future future;
    cen_future_init(&future);
    future.error = error;
    status = cen_http_fetch_async(http, request, &future, error);
    if (status != CEN_OK) return status;
    cen_future_wait(&future, CEN_NEVER); /* the request has its own deadline */
    if (future.status == CEN_OK) *out = future.value;
    return future.status;
}
