/* SPDX-License-Identifier: MIT */
/*
 * The driver: easy handles, each with one connection.
 *
 * When a handle is given back, `check` restores the options it was lent with. That costs the giver 1 or 2 microseconds
 * and only reads memory, and an idle handle keeps nothing of its last user. Restoring at the next use would cost the
 * taker, and no call of a driver runs there.
 *
 * The state of the connection tells the result of the last transfer. curl closes a connection whose transfer failed or
 * was aborted, or that the server has ended in an orderly way. Then the handle has no socket any longer. It is dirty,
 * and `reset` connects again; or it is broken, if only opens may connect.
 *
 * Interrupt. The holder may be anywhere in curl_easy_perform. Its sockets are shut down, which ends a wait at once. No
 * further socket is opened, because curl repeats a request on a new connection when an old one ends before any
 * response. A wait for a name lookup is ended by the progress function.
 */
#include "curl/internal.h"

static int on_progress(void *argument, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up)
{
    ceni_curl_record *record = argument;
    pthread_mutex_lock(record->sockets.mutex);
    bool interrupted = record->interrupted;
    pthread_mutex_unlock(record->sockets.mutex);
    if (interrupted) return 1;
    return record->progress ? record->progress(record->progress_argument, down_total, down, up_total, up) : 0;
}

bool ceni_curl_record_apply(ceni_curl_record *record)
{
    if (!ceni_curl_site_apply(record->site, record->credentials, record->easy)) return false;
    record->progress = NULL;
    record->said[0] = '\0';
    ceni_curl_sockets_watch(&record->sockets, record->easy);
    curl_easy_setopt(record->easy, CURLOPT_ERRORBUFFER, record->said);
    curl_easy_setopt(record->easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(record->easy, CURLOPT_XFERINFODATA, record);
    curl_easy_setopt(record->easy, CURLOPT_NOPROGRESS, 0L);
    return curl_easy_setopt(record->easy, CURLOPT_MAXCONNECTS, 1L) == CURLE_OK;
}

/* Allow transfers to connect, or forbid it, from now on. */
static void let_connect_locked(ceni_curl_record *record, bool may)
{
    record->sockets.refuses = !may || record->interrupted;
}

static void begin_warming(ceni_curl_record *record, bool connects)
{
    pthread_mutex_lock(record->sockets.mutex);
    record->is_warming = true;
    record->interrupted |= atomic_load(&record->site->exits);
    let_connect_locked(record, connects);
    pthread_mutex_unlock(record->sockets.mutex);
}

static void end_warming(ceni_curl_record *record)
{
    pthread_mutex_lock(record->sockets.mutex);
    record->is_warming = false;
    let_connect_locked(record, !record->site->only_open_connects);
    pthread_mutex_unlock(record->sockets.mutex);
}

/* Return the socket of the last transfer's connection, if it still exists. */
static curl_socket_t socket_of(CURL *easy)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &fd);
    return fd;
}

/* Make one warm-up request. Afterwards the handle has the options that it is lent with. */
static cen_status warm(ceni_curl_record *record, long ms, bool opens, cen_error *error)
{
    ceni_curl_site_warm(record->site, record->easy, ms, opens);
    begin_warming(record, opens);
    CURLcode code = curl_easy_perform(record->easy);
    end_warming(record);
    cen_status status =
        ceni_curl_site_judge(record->site, record->credentials, record->easy, code, record->said, error);
    if (!ceni_curl_record_apply(record) && status == CEN_OK)
        status = ceni_curl_error(error, CEN_NO_MEMORY, 0, "HTTP server at %s: out of memory", record->site->base);
    return status;
}

static void end(ceni_curl_record *record)
{
    if (record->easy) {
        curl_easy_cleanup(record->easy); /* closes its sockets through the record */
        ceni_curl_record_remove(record);
    }
    ceni_curl_forget(record->credentials);
    free(record);
}

static cen_status open_handle(void *site, void **out, cen_error *error)
{
    ceni_curl_record *record = calloc(1, sizeof *record);
    if (!record) return ceni_curl_error(error, CEN_NO_MEMORY, 0, "cen_curl_options: out of memory");
    record->site = site;
    cen_status status = ceni_curl_site_ask(site, &record->credentials, error);
    if (status == CEN_OK) record->easy = curl_easy_init();
    if (record->easy) ceni_curl_record_add(record);
    if (status == CEN_OK && (!record->easy || !ceni_curl_record_apply(record)))
        status = ceni_curl_error(error, CEN_NO_MEMORY, 0, "HTTP server at %s: out of memory", record->site->base);
    if (status == CEN_OK && record->site->warm != CEN_CURL_COLD)
        status = warm(record, record->site->connect_ms, true, error);
    if (status == CEN_OK) *out = record->easy;
    else end(record);
    return status;
}

static void close_handle(void *site, void *easy)
{
    (void)site;
    end(ceni_curl_record_of(easy));
}

static cen_condition check_handle(void *argument, void *easy)
{
    const ceni_curl_site *site = argument;
    bool connected = socket_of(easy) != CURL_SOCKET_BAD;
    if (!ceni_curl_record_apply(ceni_curl_record_of(easy))) return CEN_BROKEN;
    if (connected || site->warm == CEN_CURL_COLD) return CEN_CLEAN;
    return site->only_open_connects ? CEN_BROKEN : CEN_DIRTY;
}

static cen_status reset_handle(void *argument, void *easy, cen_error *error)
{
    const ceni_curl_site *site = argument;
    return warm(ceni_curl_record_of(easy), site->reset_ms, true, error);
}

static cen_status test_handle(void *argument, void *easy, cen_error *error)
{
    const ceni_curl_site *site = argument;
    ceni_curl_record *record = ceni_curl_record_of(easy);
    curl_socket_t fd = socket_of(easy);
    if (fd == CURL_SOCKET_BAD && site->warm == CEN_CURL_COLD) return CEN_OK; /* it was never used */
    if (site->test == CEN_CURL_TEST_REQUEST) return warm(record, site->test_ms, false, error);
    cen_status seen = fd == CURL_SOCKET_BAD ? CEN_LOST : ceni_curl_socket_look(fd);
    if (seen == CEN_EMPTY) return CEN_OK;
    /* Over TLS or HTTP/2, input from the server may be something other than the end. */
    bool is_talkative = site->tls || site->opens_version == CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
    if (seen == CEN_OK && is_talkative) return warm(record, site->test_ms, false, error);
    return ceni_curl_error(error, CEN_LOST, 0, "HTTP server at %s: connection closed by the server", site->base);
}

static void interrupt_handle(void *site, void *easy)
{
    (void)site;
    ceni_curl_record *record = ceni_curl_record_of(easy);
    pthread_mutex_lock(record->sockets.mutex);
    record->interrupted = true;
    pthread_mutex_unlock(record->sockets.mutex);
    ceni_curl_sockets_shut(&record->sockets, true);
}

/* A warm-up that begins after its record was visited sees the flag. */
static void cancel_all(void *argument)
{
    ceni_curl_site *site = argument;
    atomic_store(&site->exits, true);
    ceni_curl_records_cancel(site);
}

/* A holder may be in the middle of a transfer, here or, after a fork, in the parent. So nothing of curl's may be
 * touched or freed: curl_easy_cleanup would send closing messages of TLS and HTTP/2 on the parent's connection. In the
 * same process a close follows. */
static void abandon_handle(void *site, void *easy)
{
    ceni_curl_record *record = ceni_curl_record_of(easy);
    if (record->process != ceni_curl_process()) ceni_curl_sockets_leave(&record->sockets);
    else interrupt_handle(site, easy);
}

/* ---- The driver's value --------------------------------------------------------------------------- */

static cen_status prepare_with(void *options, void **site, cen_error *error)
{
    ceni_curl_site *made = NULL;
    if (!options) return ceni_curl_error(error, CEN_INVALID, 0, "cen_curl_with: options is NULL");
    cen_status status = ceni_curl_site_new(options, &made, error);
    *site = made;
    return status;
}

static cen_status prepare_url(void *url, void **site, cen_error *error)
{
    cen_curl_options options = CEN_CURL_OPTIONS(.url = url);
    return prepare_with(&options, site, error);
}

static void fini(void *site)
{
    ceni_curl_site_free(site);
}

#define CALLS(name, how) \
    static const cen_driver_calls name = {.size = sizeof name, \
                                          .blocks = true, \
                                          .prepare = how, \
                                          .fini = fini, \
                                          .open = open_handle, \
                                          .close = close_handle, \
                                          .check = check_handle, \
                                          .reset = reset_handle, \
                                          .test = test_handle, \
                                          .interrupt = interrupt_handle, \
                                          .abandon = abandon_handle, \
                                          .cancel_all = cancel_all, \
                                          .system = "http"}
CALLS(calls_url, prepare_url);
CALLS(calls_with, prepare_with);

cen_driver cen_curl(const char *url)
{
    return (cen_driver){&calls_url, (void *)(uintptr_t)url};
}

cen_driver cen_curl_with(const cen_curl_options *options)
{
    return (cen_driver){&calls_with, (void *)(uintptr_t)options};
}
