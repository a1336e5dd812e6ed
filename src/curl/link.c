/* SPDX-License-Identifier: MIT */
/*
 * The connection of a loop, and whether the loop is up in the router. Everything runs on the loop's thread.
 *
 *     DOWN ──probe, which opens──▶ UP ──a probe fails, a request finds no connection, no socket is left──▶ DOWN
 *
 * The probe is the warm-up request of a site. When it opens the connection, the loop is up once there is an HTTP/2
 * response. Later, when a request was late or nothing was received for long, a probe checks the connection. Any
 * response is good, and so is any other input meanwhile, because a busy server may keep the probe waiting.
 *
 * A connection that has ended in an orderly way lets its streams come to their end, so its socket is left to curl. One
 * that does not respond is shut down, and its streams are lost.
 *
 * The limit of one connection makes curl hold streams back when the server has no room for them, instead of opening
 * another connection. The limit is lifted while the probe opens, because the previous connection may not have ended
 * yet.
 */
#include "curl/http.h"

enum { MS = 1000000 };

static int on_talk(CURL *easy, curl_infotype kind, char *text, size_t size, void *argument)
{
    (void)easy;
    if (kind == CURLINFO_TEXT) ceni_http_listen_to(argument, NULL, text, size);
    return 0;
}

static bool begin_probe(ceni_http_loop *loop, bool opens)
{
    const ceni_curl_site *site = loop->http->site;
    if (!ceni_curl_site_apply(site, loop->credentials, loop->probe)) return false;
    ceni_curl_site_warm(site, loop->probe, opens ? site->connect_ms : site->test_ms, opens);
    ceni_curl_sockets_watch(&loop->sockets, loop->probe);
    loop->said[0] = '\0';
    curl_easy_setopt(loop->probe, CURLOPT_ERRORBUFFER, loop->said);
    curl_easy_setopt(loop->probe, CURLOPT_PRIVATE, NULL); /* not a flight */
    curl_easy_setopt(loop->probe, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(loop->probe, CURLOPT_DEBUGFUNCTION, on_talk);
    curl_easy_setopt(loop->probe, CURLOPT_DEBUGDATA, loop);
    curl_easy_setopt(loop->probe, CURLOPT_VERBOSE, 1L);
    pthread_mutex_lock(loop->sockets.mutex);
    loop->sockets.refuses = !opens;
    pthread_mutex_unlock(loop->sockets.mutex);
    curl_multi_setopt(loop->multi, CURLMOPT_MAX_HOST_CONNECTIONS, opens ? 0L : 1L);
    loop->probed = cen_clock();
    loop->opening = opens;
    if (opens) {
        loop->turn++;
        loop->goodbyes[loop->turn % CENI_HTTP_GOODBYES].turn = loop->turn;
        loop->goodbyes[loop->turn % CENI_HTTP_GOODBYES].last = LONG_MAX;
    }
    return loop->probing = curl_multi_add_handle(loop->multi, loop->probe) == CURLM_OK;
}

/* ---- Up and down --------------------------------------------------------------------------------------- */

static void count(ceni_http_loop *loop, bool up, uint64_t *what)
{
    cen_http *http = loop->http;
    pthread_mutex_lock(&http->mutex);
    ++*what;
    http->up += up;
    http->up -= loop->up && !up;
    if (!loop->tried) http->tried++;
    loop->tried = true;
    if (!up) http->failure = loop->cause;
    pthread_cond_broadcast(&http->changed);
    pthread_mutex_unlock(&http->mutex);
}

static void go_up(ceni_http_loop *loop)
{
    loop->suspect = loop->unusable = false;
    loop->backoff = 0;
    loop->heard = cen_clock();
    curl_multi_setopt(loop->multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    cen_member_up(loop->member, NULL);
    count(loop, true, &loop->http->counts.connects); /* a thread that waits for it finds it in the router */
    loop->up = true;
}

static void go_down(ceni_http_loop *loop)
{
    count(loop, false, &loop->http->counts.losses);
    loop->up = false;
    loop->next_try = cen_clock(); /* at once: most servers that end a connection accept another one */
    cen_member_down(loop->member, &loop->cause);
}

/* An open has failed: wait a random time before the next one. Its limit doubles with each failure. */
static void back_off(ceni_http_loop *loop)
{
    cen_http *http = loop->http;
    count(loop, false, &http->counts.failures);
    loop->backoff = loop->backoff ? loop->backoff * 2 : http->backoff;
    if (loop->backoff > http->backoff_max) loop->backoff = http->backoff_max;
    loop->next_try = cen_clock() + loop->backoff / 1024 * (1 + (int64_t)cen_strategy_below(1024));
}

static void open_link(ceni_http_loop *loop)
{
    ceni_curl_forget(loop->credentials);
    cen_status status = ceni_curl_site_ask(loop->http->site, &loop->credentials, &loop->cause);
    if (status == CEN_OK && begin_probe(loop, true)) return;
    if (status == CEN_OK)
        ceni_curl_error(&loop->cause, CEN_NO_MEMORY, 0, "HTTP connection \"%s\": out of memory", loop->name);
    back_off(loop);
}

/* ---- Probes ------------------------------------------------------------------------------------------------ */

static void opened(ceni_http_loop *loop, CURLcode code)
{
    const ceni_curl_site *site = loop->http->site;
    cen_status status = ceni_curl_site_judge(site, loop->credentials, loop->probe, code, loop->said, &loop->cause);
    long version = 0;
    curl_easy_getinfo(loop->probe, CURLINFO_HTTP_VERSION, &version);
    if (status == CEN_OK && version != CURL_HTTP_VERSION_2_0)
        status = ceni_curl_error(&loop->cause, CEN_DRIVER, 0, "HTTP server at %s: no HTTP/2 support", site->base);
    if (status == CEN_OK) return go_up(loop);
    ceni_curl_sockets_shut(&loop->sockets, true); /* close what is half open */
    back_off(loop);
}

void ceni_http_link_probed(ceni_http_loop *loop, CURLcode code)
{
    curl_multi_remove_handle(loop->multi, loop->probe);
    loop->probing = false;
    if (loop->opening) return opened(loop, code);
    if (code == CURLE_OK) loop->heard = cen_clock();
    if (code == CURLE_OK || !loop->up || loop->heard > loop->probed) return;
    ceni_curl_site_judge(loop->http->site, loop->credentials, loop->probe, code, loop->said, &loop->cause);
    ceni_curl_sockets_shut(&loop->sockets, true);
    go_down(loop);
}

static unsigned sockets_of(ceni_http_loop *loop)
{
    pthread_mutex_lock(loop->sockets.mutex);
    unsigned count_now = loop->sockets.count;
    pthread_mutex_unlock(loop->sockets.mutex);
    return count_now;
}

void ceni_http_link_idle_input(ceni_http_loop *loop)
{
    pthread_mutex_lock(loop->sockets.mutex);
    bool ended = true;
    for (unsigned i = 0; i < loop->sockets.count; i++)
        ended = ended && ceni_curl_socket_look(loop->sockets.fds[i]) == CEN_LOST;
    pthread_mutex_unlock(loop->sockets.mutex);
    if (!loop->up || loop->probing) return;
    if (!ended) {
        loop->suspect = true; /* the probe reads the input */
        return;
    }
    ceni_curl_error(&loop->cause, CEN_LOST, 0, "HTTP connection \"%s\": closed by %s", loop->name,
                    loop->http->site->base);
    go_down(loop);
}

void ceni_http_link_mind(ceni_http_loop *loop)
{
    int64_t now = cen_clock(), quiet = loop->http->quiet;
    if (loop->up && (loop->unusable || sockets_of(loop) == 0)) {
        if (!loop->unusable && !loop->suspect)
            ceni_curl_error(&loop->cause, CEN_LOST, 0, "HTTP connection \"%s\": closed by %s", loop->name,
                            loop->http->site->base);
        go_down(loop);
    }
    if (loop->probing) return;
    if (!loop->up) {
        if (now >= loop->next_try) open_link(loop);
        return;
    }
    bool silent = quiet > 0 && loop->active_count == 0 && now - loop->heard >= quiet;
    if (!loop->suspect && !silent) return;
    loop->suspect = false;
    begin_probe(loop, false);
}

long ceni_http_link_pause(const ceni_http_loop *loop)
{
    int64_t now = cen_clock(), next = now + INT64_C(1000) * MS;
    if (!loop->up && !loop->probing && loop->next_try < next) next = loop->next_try;
    if (loop->up && loop->http->quiet > 0 && loop->heard + loop->http->quiet < next && loop->active_count == 0)
        next = loop->heard + loop->http->quiet;
    return next <= now ? 0 : (long)((next - now + MS - 1) / MS);
}

void ceni_http_link_end(ceni_http_loop *loop)
{
    if (loop->probing) curl_multi_remove_handle(loop->multi, loop->probe);
    loop->probing = false;
    cen_member_down(loop->member, NULL);
}
