/* SPDX-License-Identifier: MIT */
/* The HTTP/2 client: options, creation and end. */
#include "curl/http.h"

enum { MOST_LOOPS = 256, MOST_STREAMS = 10000 };

static const char *wrong_field(const cen_http_options *o)
{
    if (o->loops > MOST_LOOPS) return "loops";
    if (o->streams < 0 || o->streams > MOST_STREAMS) return "streams";
    if (o->backoff_initial_ns < 0) return "backoff_initial_ns";
    if (o->backoff_max_ns < 0) return "backoff_max_ns";
    if (o->keepalive_ns < CEN_OFF) return "keepalive_ns";
    if (o->reroutes < CEN_NONE) return "reroutes";
    return NULL;
}

static int64_t or_default(int64_t value, int64_t otherwise)
{
    return value == 0 ? otherwise : value < 0 ? 0 : value;
}

static void read_numbers(cen_http *http, const cen_http_options *o)
{
    snprintf(http->name, sizeof http->name, "%s", o->name ? o->name : "http");
    http->process = ceni_curl_process();
    http->loop_count = o->loops ? o->loops : 2;
    http->streams = or_default(o->streams, 100);
    http->reroutes = or_default(o->reroutes, 10);
    http->backoff = or_default(o->backoff_initial_ns, 100000000);
    http->backoff_max = or_default(o->backoff_max_ns, INT64_C(10000000000));
    http->quiet = or_default(o->keepalive_ns, INT64_C(10000000000));
    http->most = o->max_reply ? o->max_reply : (size_t)1 << 20;
    http->deadline = o->default_deadline.ns_ ? o->default_deadline : cen_in_s(30);
    http->counts.loops = http->loop_count;
}

static cen_status make_parts(cen_http *http, const cen_http_options *o, cen_error *error)
{
    cen_curl_options site = CEN_SIZED(cen_curl_options);
    cen_status status =
        o->site ? cen_sized_read(&site, sizeof site, o->site, "cen_http_new: options.site", error) : CEN_OK;
    if (status != CEN_OK) return status;
    if (o->url) site.url = o->url;
    site.version = CEN_CURL_VERSION_2;
    if (site.warm == CEN_CURL_COLD) site.warm = CEN_CURL_WARM_HEAD;
    status = ceni_curl_site_new(&site, &http->site, error);
    if (status != CEN_OK) return status;
    cen_router_options router =
        CEN_ROUTER_OPTIONS(.name = http->name, .strategy = o->strategy, .max_waiters = o->max_waiters,
                           .changed = o->changed, .argument = o->argument, .runtime = o->runtime);
    status = cen_router_new(&router, &http->router, error);
    if (status != CEN_OK) return status;
    http->loops = calloc(http->loop_count, sizeof *http->loops);
    if (!http->loops) return ceni_curl_error(error, CEN_NO_MEMORY, 0, "HTTP client \"%s\": out of memory", http->name);
    for (uint32_t i = 0; status == CEN_OK && i < http->loop_count; i++)
        status = ceni_http_loop_init(&http->loops[i], http, i, error);
    return status;
}

static void free_parts(cen_http *http)
{
    if (http->router) cen_router_free(http->router);
    for (uint32_t i = 0; http->loops && i < http->loop_count; i++) ceni_http_loop_fini(&http->loops[i]);
    free(http->loops);
    ceni_curl_site_free(http->site);
    pthread_cond_destroy(&http->changed);
    pthread_mutex_destroy(&http->mutex);
    free(http);
}

static cen_status start_loops(cen_http *http, cen_error *error)
{
    for (uint32_t i = 0; i < http->loop_count; i++) {
        if (ceni_http_loop_start(&http->loops[i])) continue;
        while (i > 0) ceni_http_loop_stop(&http->loops[--i]);
        return ceni_curl_error(error, CEN_SYSTEM, 0, "HTTP client \"%s\": cannot start a thread", http->name);
    }
    return CEN_OK;
}

/* Wait until a connection is up or all have failed once. */
static cen_status await_first(cen_http *http, cen_error *error)
{
    pthread_mutex_lock(&http->mutex);
    while (http->up == 0 && http->tried < http->loop_count) pthread_cond_wait(&http->changed, &http->mutex);
    bool up = http->up > 0;
    cen_error failure = http->failure;
    pthread_mutex_unlock(&http->mutex);
    if (up) return CEN_OK;
    if (error) *error = failure;
    return failure.status;
}

cen_status cen_http_new(const cen_http_options *options, cen_http **out, cen_error *error)
{
    cen_http_options known;
    if (!options || !out)
        return ceni_curl_error(error, CEN_INVALID, 0, "cen_http_new: options and out must not be NULL");
    cen_status status = cen_sized_read(&known, sizeof known, options, "cen_http_new: options", error);
    if (status != CEN_OK) return status;
    if (known.reroutes == CEN_OFF)
        return ceni_curl_error(error, CEN_INVALID, 0,
                               "cen_http_new: options.reroutes must not be CEN_OFF (unlimited); use CEN_NONE for none");
    if (cen_time_is_tiny(known.keepalive_ns))
        return ceni_curl_error(error, CEN_INVALID, 0, "cen_http_new: options.keepalive_ns " CEN_TIME_IS_TINY,
                               (long long)known.keepalive_ns);
    const char *wrong = wrong_field(&known);
    if (wrong) return ceni_curl_error(error, CEN_INVALID, 0, "cen_http_new: options.%s is out of range", wrong);
    cen_http *http = calloc(1, sizeof *http);
    if (!http) return ceni_curl_error(error, CEN_NO_MEMORY, 0, "cen_http_new: out of memory");
    read_numbers(http, &known);
    pthread_mutex_init(&http->mutex, NULL);
    pthread_cond_init(&http->changed, NULL);
    status = make_parts(http, &known, error);
    if (status == CEN_OK) status = start_loops(http, error);
    if (status != CEN_OK) {
        free_parts(http);
        return status;
    }
    if (!known.starts_empty) status = await_first(http, error);
    if (status == CEN_OK) *out = http;
    else cen_http_free(http);
    return status;
}

/* ---- Close and free ------------------------------------------------------------------------------------- */

/* Only the first caller closes the client. */
static bool begin_close(cen_http *http)
{
    pthread_mutex_lock(&http->mutex);
    bool first = !http->closing;
    http->closing = true;
    pthread_mutex_unlock(&http->mutex);
    return first;
}

static uint64_t closed_count(cen_http *http)
{
    pthread_mutex_lock(&http->mutex);
    uint64_t count = http->counts.closed;
    pthread_mutex_unlock(&http->mutex);
    return count;
}

static cen_status refuse_close(const cen_http *http, cen_status status, const char *why, cen_error *error)
{
    return ceni_curl_error(error, status, 0, "HTTP client \"%s\": %s", http->name, why);
}

cen_status cen_http_close(cen_http *http, cen_deadline deadline, cen_http_report *report, cen_error *error)
{
    if (!http) return ceni_curl_error(error, CEN_INVALID, 0, "cen_http_close: http is NULL");
    if (http->process != ceni_curl_process())
        return refuse_close(http, CEN_FORKED, "it belongs to the parent process", error);
    if (report && cen_sized_check(report, sizeof *report, "cen_http_close: report", error) != CEN_OK)
        return CEN_INVALID;
    if (ceni_http_on_loop(http))
        return refuse_close(http, CEN_MISUSE, "a close must not wait on its loop's thread", error);
    if (!begin_close(http)) return refuse_close(http, CEN_CLOSED, "it has already been closed", error);
    cen_router_report routed = CEN_SIZED(cen_router_report);
    cen_router_close(http->router, deadline.ns_ ? deadline : cen_in_s(5), &routed, NULL);
    for (uint32_t i = 0; i < http->loop_count; i++) ceni_http_loop_stop(&http->loops[i]);
    pthread_mutex_lock(&http->mutex);
    while (http->flights > 0) pthread_cond_wait(&http->changed, &http->mutex);
    http->closed = true;
    pthread_mutex_unlock(&http->mutex);
    uint64_t told = closed_count(http);
    const cen_http_report all = {.left = told > routed.waited ? told - routed.waited : 0, .waited = routed.waited};
    if (report) cen_sized_write(report, &all, sizeof all);
    if (!all.left) return CEN_OK;
    return ceni_curl_error(error, CEN_TIMEOUT, 0, "HTTP client \"%s\": %llu requests not done by the deadline",
                           http->name, (unsigned long long)all.left);
}

cen_status cen_http_free(cen_http *http)
{
    if (!http) return CEN_OK;
    if (http->process != ceni_curl_process()) {
        for (uint32_t i = 0; i < http->loop_count; i++) ceni_curl_sockets_leave(&http->loops[i].sockets);
        return CEN_OK; /* the rest is the parent's: its locks may be held, its handles in use */
    }
    if (ceni_http_on_loop(http)) return CEN_MISUSE;
    cen_http_close(http, CEN_NOW, NULL, NULL);
    free_parts(http);
    return CEN_OK;
}

/* ---- Stats ------------------------------------------------------------------------------------------------- */

cen_status cen_http_stats_get(cen_http *http, cen_http_stats *out)
{
    if (!http) return CEN_INVALID;
    if (http->process != ceni_curl_process()) return CEN_FORKED;
    cen_status status = cen_sized_check(out, sizeof *out, "cen_http_stats_get: out", NULL);
    if (status != CEN_OK) return status;
    pthread_mutex_lock(&http->mutex);
    cen_http_stats now = http->counts;
    now.up = http->up;
    pthread_mutex_unlock(&http->mutex);
    cen_sized_write(out, &now, sizeof now);
    return CEN_OK;
}

cen_router *cen_http_router(cen_http *http)
{
    return http ? http->router : NULL;
}
