/* SPDX-License-Identifier: MIT */
/*
 * A loop: the thread of a multi handle, which has one connection.
 *
 * Other threads put flights into the inbox under the mutex, and wake the thread if it sleeps. `sleeps` is set under the
 * same mutex when the inbox was found empty, so no flight is left behind. After the loop has ended, the inbox accepts
 * nothing, and the thread that has the flight ends it at once.
 *
 * No lock is held while curl, the router or a promise is called, except to wake the thread.
 */
#include <signal.h>

#include "curl/http.h"

enum { SWEEP_MS = 50, IDLE_SOCKETS = 2 };

static _Thread_local const cen_http *own; /* the client whose loop runs on this thread */

bool ceni_http_on_loop(const cen_http *http)
{
    return own == http;
}

void ceni_http_loop_push(ceni_http_loop *loop, ceni_http_flight *flight)
{
    flight->next = NULL;
    pthread_mutex_lock(&loop->mutex);
    bool ended = loop->ended, wakes = loop->sleeps && !ended;
    if (!ended) {
        *loop->inbox_end = flight;
        loop->inbox_end = &flight->next;
        loop->sleeps = false;
    }
    /* Under the mutex: when it is released the loop may complete the flight, and the program may close and free the
     * client. The wake-up only writes a byte. */
    if (wakes) curl_multi_wakeup(loop->multi);
    pthread_mutex_unlock(&loop->mutex);
    if (!ended) return;
    ceni_http_flight_leave(flight, CEN_OUTCOME_CANCELLED);
    ceni_http_flight_fail(flight, CEN_CLOSED, 0, "HTTP client \"%s\": request to %s not sent: client closed",
                          loop->http->name, flight->url);
}

/* Take everything in the inbox. Returns false if the loop must end, and no more flights will come. */
static bool take_inbox(ceni_http_loop *loop, ceni_http_flight **out)
{
    pthread_mutex_lock(&loop->mutex);
    *out = loop->inbox;
    loop->inbox = NULL;
    loop->inbox_end = &loop->inbox;
    loop->ended = loop->stops;
    bool goes_on = !loop->stops;
    pthread_mutex_unlock(&loop->mutex);
    return goes_on;
}

static void read_messages(ceni_http_loop *loop)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(loop->multi, &left)) != NULL;) {
        if (message->msg != CURLMSG_DONE) continue;
        CURL *easy = message->easy_handle;
        CURLcode code = message->data.result;
        ceni_http_flight *flight = NULL;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &flight);
        if (flight) ceni_http_stream_done(loop, flight, code);
        else ceni_http_link_probed(loop, code);
    }
}

/* Without requests curl does not watch the connection, so the loop does. */
static unsigned idle_sockets(ceni_http_loop *loop, struct curl_waitfd *out)
{
    unsigned count = 0;
    if (!loop->up || loop->probing || loop->active_count > 0) return 0;
    pthread_mutex_lock(loop->sockets.mutex);
    for (; count < loop->sockets.count && count < IDLE_SOCKETS; count++)
        out[count] = (struct curl_waitfd){.fd = loop->sockets.fds[count], .events = CURL_WAIT_POLLIN};
    pthread_mutex_unlock(loop->sockets.mutex);
    return count;
}

static void sleep_until_woken(ceni_http_loop *loop, bool sweeps)
{
    struct curl_waitfd fds[IDLE_SOCKETS];
    unsigned count = idle_sockets(loop, fds);
    long ms = ceni_http_link_pause(loop);
    if (sweeps && ms > SWEEP_MS) ms = SWEEP_MS;
    pthread_mutex_lock(&loop->mutex);
    bool sleeps = loop->sleeps = !loop->inbox && !loop->stops;
    pthread_mutex_unlock(&loop->mutex);
    if (!sleeps) return;
    curl_multi_poll(loop->multi, fds, count, (int)ms, NULL);
    pthread_mutex_lock(&loop->mutex);
    loop->sleeps = false;
    pthread_mutex_unlock(&loop->mutex);
    for (unsigned i = 0; i < count; i++) {
        if (!fds[i].revents) continue;
        ceni_http_link_idle_input(loop);
        break;
    }
}

static void end(ceni_http_loop *loop, ceni_http_flight *inbox)
{
    ceni_http_link_end(loop);
    ceni_http_streams_end(loop, inbox);
}

static void *run(void *argument)
{
    ceni_http_loop *loop = argument;
    ceni_http_flight *inbox;
    int64_t swept = 0;
    bool some_wait = false;
    char name[16];
    snprintf(name, sizeof name, "%.15s", loop->name); /* truncated to 15 characters */
    pthread_setname_np(pthread_self(), name);
    own = loop->http;
    ceni_http_exit_is_here(loop);
    while (take_inbox(loop, &inbox)) {
        for (ceni_http_flight *next; inbox; inbox = next) {
            next = inbox->next;
            ceni_http_stream_start(loop, inbox);
        }
        int running;
        ceni_http_exit_look(loop);
        curl_multi_perform(loop->multi, &running);
        read_messages(loop);
        ceni_http_link_mind(loop);
        int64_t now = cen_clock();
        if (now - swept >= SWEEP_MS * INT64_C(1000000)) {
            swept = now;
            ceni_http_streams_sweep(loop);
            some_wait = loop == loop->http->loops && ceni_http_flights_sweep(loop->http);
        }
        sleep_until_woken(loop, loop->active_count > 0 || some_wait);
    }
    end(loop, inbox);
    ceni_http_exit_leave(loop);
    return NULL;
}

/* ---- Lifetime ------------------------------------------------------------------------------------------ */

cen_status ceni_http_loop_init(ceni_http_loop *loop, cen_http *http, uint32_t index, cen_error *error)
{
    loop->http = http;
    snprintf(loop->name, sizeof loop->name, "%s %u", http->name, index + 1);
    pthread_mutex_init(&loop->mutex, NULL);
    pthread_mutex_init(&loop->sockets_mutex, NULL);
    loop->sockets.mutex = &loop->sockets_mutex;
    loop->inbox_end = &loop->inbox;
    loop->multi = curl_multi_init();
    loop->probe = curl_easy_init();
    loop->spares = calloc((size_t)http->streams, sizeof *loop->spares);
    if (!loop->multi || !loop->probe || !loop->spares)
        return ceni_curl_error(error, CEN_NO_MEMORY, 0, "HTTP client \"%s\": out of memory", http->name);
    curl_multi_setopt(loop->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(loop->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)http->streams + 1); /* and the probe */
    cen_member_options member = CEN_MEMBER_OPTIONS(.name = loop->name, .value = loop, .max_in_flight = http->streams);
    return cen_router_add(http->router, &member, &loop->member, error);
}

bool ceni_http_loop_start(ceni_http_loop *loop)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    ceni_http_exit_enter(loop); /* before the thread runs: an exit from now on waits for it */
    bool started = pthread_create(&loop->thread, NULL, run, loop) == 0;
    if (!started) ceni_http_exit_leave(loop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void ceni_http_loop_stop(ceni_http_loop *loop)
{
    pthread_mutex_lock(&loop->mutex);
    loop->stops = true;
    pthread_mutex_unlock(&loop->mutex);
    curl_multi_wakeup(loop->multi);
    if (!ceni_http_exit_has_stopped(loop)) {
        pthread_join(loop->thread, NULL);
        return;
    }
    /* In an exit handler of the program: the loop's thread has stopped for good. */
    ceni_http_flight *inbox;
    take_inbox(loop, &inbox);
    end(loop, inbox);
}

void ceni_http_loop_fini(ceni_http_loop *loop)
{
    if (!loop->http) return; /* it was not initialised */
    if (loop->probe) curl_easy_cleanup(loop->probe);
    if (loop->multi) curl_multi_cleanup(loop->multi); /* closes the connection */
    ceni_curl_forget(loop->credentials);
    free(loop->spares);
    pthread_mutex_destroy(&loop->sockets_mutex);
    pthread_mutex_destroy(&loop->mutex);
}
