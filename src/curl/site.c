/* SPDX-License-Identifier: MIT */
/*
 * A site: where requests go, and how. Options are read and copied once, and set on handles when these are created or
 * restored.
 *
 * HTTP/2 without TLS starts with prior knowledge. curl 7.88 starts it again with every transfer that asks for it, even
 * on a connection that speaks it already, and fails with its code 16. So only the transfer that opens the connection
 * asks for it. The others find that connection. On a new one they would speak HTTP/1.1, so they must not open any.
 *
 * curl_easy_reset clears options and keeps connections, looked-up names and TLS sessions, which are what a pool is for.
 * It also keeps cookies, the HSTS list and objects shared with other handles. These belong to one user, so they are
 * cleared here.
 */
#include "curl/internal.h"

/* ---- Reading ------------------------------------------------------------------------------------ */

/* Convert a time to milliseconds; 0: none. */
static long milliseconds(int64_t ns, long otherwise)
{
    if (ns == 0) return otherwise;
    if (ns == CEN_OFF) return 0;
    int64_t ms = ns / 1000000 + (ns % 1000000 != 0);
    return ms > 86400000 ? 86400000 : (long)ms;
}

static bool copy(char **out, const char *text)
{
    if (!text) return true;
    *out = strdup(text);
    return *out != NULL;
}

static bool is_time(int64_t ns, bool may_be_off)
{
    return ns >= 0 || (may_be_off && ns == CEN_OFF);
}

static cen_status check_units(const cen_curl_options *o, cen_error *error)
{
    const int64_t times[] = {o->connect_timeout_ns, o->total_timeout_ns, o->test_timeout_ns, o->reset_timeout_ns};
    static const char *const names[] = {"connect_timeout_ns", "total_timeout_ns", "test_timeout_ns",
                                        "reset_timeout_ns"};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (cen_time_is_tiny(times[i]))
            return ceni_curl_error(error, CEN_INVALID, 0, "cen_curl_options.%s " CEN_TIME_IS_TINY, names[i],
                                   (long long)times[i]);
    return CEN_OK;
}

static const char *wrong_field(const cen_curl_options *o)
{
    if (!o->url) return "url";
    if (!is_time(o->connect_timeout_ns, false)) return "connect_timeout_ns";
    if (!is_time(o->total_timeout_ns, true)) return "total_timeout_ns";
    if (!is_time(o->test_timeout_ns, false)) return "test_timeout_ns";
    if (!is_time(o->reset_timeout_ns, false)) return "reset_timeout_ns";
    if ((unsigned)o->version > CEN_CURL_VERSION_2) return "version";
    if ((unsigned)o->warm > CEN_CURL_COLD) return "warm";
    if ((unsigned)o->test > CEN_CURL_TEST_REQUEST) return "test";
    if (o->warm_path && o->warm_path[0] != '/') return "warm_path";
    return NULL;
}

/* Return a part of the URL, to be freed with curl_free. NULL: it has none, or out of memory. */
static char *part(CURLU *url, CURLUPart which, unsigned flags)
{
    char *text = NULL;
    return curl_url_get(url, which, &text, flags) == CURLUE_OK ? text : NULL;
}

/* Take user and password out of the URL. */
static bool read_credentials(ceni_curl_site *site, CURLU *url)
{
    char *user = part(url, CURLUPART_USER, CURLU_URLDECODE), *password = part(url, CURLUPART_PASSWORD, CURLU_URLDECODE);
    bool fine = true;
    if (user) {
        site->from_url = calloc(1, sizeof *site->from_url);
        fine = site->from_url && strlen(user) < sizeof site->from_url->user &&
               (!password || strlen(password) < sizeof site->from_url->password);
        if (fine) snprintf(site->from_url->user, sizeof site->from_url->user, "%s", user);
        if (fine && password) snprintf(site->from_url->password, sizeof site->from_url->password, "%s", password);
    }
    if (password) explicit_bzero(password, strlen(password));
    curl_free(user), curl_free(password);
    curl_url_set(url, CURLUPART_USER, NULL, 0), curl_url_set(url, CURLUPART_PASSWORD, NULL, 0);
    return fine;
}

/* Return true if an error text might show a part of a password. curl ends the host at a / in a password that is not
 * written as %2F, and takes the rest of the password for the path, which errors show: "http://ann:12/secret@host". An @
 * in the path of a URL with a port or a user is taken for that case. */
static bool may_show_password(CURLU *url)
{
    char *user = part(url, CURLUPART_USER, 0), *port = part(url, CURLUPART_PORT, 0),
         *path = part(url, CURLUPART_PATH, 0);
    bool may = (user || port) && path && strchr(path, '@');
    if (path) explicit_bzero(path, strlen(path));
    curl_free(user), curl_free(port), curl_free(path);
    return may;
}

/* Set the base: no credentials, no query, no trailing slash. */
static bool read_url(ceni_curl_site *site, const char *text)
{
    CURLU *url = curl_url();
    bool fine = url && curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK && !may_show_password(url) &&
                read_credentials(site, url);
    if (fine) {
        curl_url_set(url, CURLUPART_QUERY, NULL, 0), curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0);
        char *scheme = part(url, CURLUPART_SCHEME, 0), *whole = part(url, CURLUPART_URL, 0);
        site->tls = scheme && strcmp(scheme, "https") == 0;
        fine = scheme && whole && (site->tls || strcmp(scheme, "http") == 0) && copy(&site->base, whole);
        curl_free(scheme), curl_free(whole);
    }
    curl_url_cleanup(url);
    size_t length = fine ? strlen(site->base) : 0;
    while (length > 0 && site->base[length - 1] == '/') site->base[--length] = '\0';
    return fine;
}

static bool copy_headers(ceni_curl_site *site, const char *const *headers)
{
    for (; headers && *headers; headers++) {
        struct curl_slist *longer = curl_slist_append(site->headers, *headers);
        if (!longer) return false;
        site->headers = longer;
    }
    return true;
}

static void set_version(ceni_curl_site *site, cen_curl_version version)
{
    bool is_known = version == CEN_CURL_VERSION_2 && !site->tls;
    site->version = version == CEN_CURL_VERSION_1_1 ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS;
    site->opens_version = is_known ? CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE : site->version;
    if (is_known) site->only_open_connects = true;
}

static bool copy_all(ceni_curl_site *site, const cen_curl_options *o)
{
    site->connect_ms = milliseconds(o->connect_timeout_ns, 5000),
    site->total_ms = milliseconds(o->total_timeout_ns, 30000);
    site->test_ms = milliseconds(o->test_timeout_ns, 2000), site->reset_ms = milliseconds(o->reset_timeout_ns, 2000);
    site->credentials = o->credentials, site->argument = o->argument;
    site->insecure = o->insecure, site->warm = o->warm, site->test = o->test,
    site->only_open_connects = o->only_open_connects;
    set_version(site, o->version);
    site->warmer = ceni_curl_site_url(site, o->warm_path ? o->warm_path : "/");
    return site->warmer && copy_headers(site, o->headers) &&
           copy(&site->user_agent, o->user_agent ? o->user_agent : "cenote") &&
           copy(&site->proxy, o->proxy ? o->proxy : "") && copy(&site->ca_file, o->ca_file) &&
           copy(&site->ca_path, o->ca_path) && copy(&site->certificate, o->certificate) && copy(&site->key, o->key);
}

cen_status ceni_curl_site_new(const cen_curl_options *options, ceni_curl_site **out, cen_error *error)
{
    cen_curl_options known;
    cen_status status = cen_sized_read(&known, sizeof known, options, "cen_curl_with: options", error);
    if (status != CEN_OK) return status;
    status = check_units(&known, error);
    if (status != CEN_OK) return status;
    const char *wrong = wrong_field(&known);
    if (wrong) return ceni_curl_error(error, CEN_INVALID, 0, "cen_curl_options.%s is missing or out of range", wrong);
    if (!ceni_curl_begin()) return ceni_curl_error(error, CEN_SYSTEM, 0, "cannot initialise libcurl");
    ceni_curl_site *site = calloc(1, sizeof *site);
    if (!site) return ceni_curl_error(error, CEN_NO_MEMORY, 0, "cen_curl_options: out of memory");
    bool is_cold = known.warm == CEN_CURL_COLD;
    if (!read_url(site, known.url))
        status = ceni_curl_error(error, CEN_INVALID, 0,
                                 "cen_curl_options.url must be an http:// or https:// URL; write / of the password as "
                                 "%%2F and @ of the path as %%40");
    else if (!copy_all(site, &known))
        status = ceni_curl_error(error, CEN_NO_MEMORY, 0, "HTTP server at %s: out of memory", site->base);
    else if (site->only_open_connects && is_cold)
        status = ceni_curl_error(error, CEN_INVALID, 0,
                                 "HTTP server at %s: cen_curl_options.warm must not be CEN_CURL_COLD with "
                                 "only_open_connects or HTTP/2 without TLS",
                                 site->base);
    if (status == CEN_OK) *out = site;
    else ceni_curl_site_free(site);
    return status;
}

void ceni_curl_site_free(ceni_curl_site *site)
{
    if (!site) return;
    curl_slist_free_all(site->headers);
    ceni_curl_forget(site->from_url);
    char *texts[] = {site->base,    site->warmer,  site->user_agent,  site->proxy,
                     site->ca_file, site->ca_path, site->certificate, site->key};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) free(texts[i]);
    free(site);
}

char *ceni_curl_site_url(const ceni_curl_site *site, const char *path)
{
    size_t base = strlen(site->base), size = base + strlen(path) + 1;
    char *url = malloc(size);
    if (url) snprintf(url, size, "%s%s", site->base, path);
    return url;
}

/* ---- Credentials ---------------------------------------------------------------------------------- */

cen_status ceni_curl_site_ask(const ceni_curl_site *site, cen_curl_credentials **out, cen_error *error)
{
    *out = NULL;
    if (!site->credentials && !site->from_url) return CEN_OK;
    cen_curl_credentials *credentials = calloc(1, sizeof *credentials);
    if (!credentials) return ceni_curl_error(error, CEN_NO_MEMORY, 0, "HTTP server at %s: out of memory", site->base);
    cen_status status = CEN_OK;
    if (site->from_url) *credentials = *site->from_url;
    if (site->credentials) status = site->credentials(site->argument, credentials, error);
    credentials->user[sizeof credentials->user - 1] = credentials->password[sizeof credentials->password - 1] = '\0';
    credentials->bearer[sizeof credentials->bearer - 1] = '\0';
    if (status == CEN_OK) *out = credentials;
    else ceni_curl_forget(credentials);
    return status;
}

void ceni_curl_forget(cen_curl_credentials *credentials)
{
    if (credentials) explicit_bzero(credentials, sizeof *credentials);
    free(credentials);
}

/* ---- Handles ---------------------------------------------------------------------------------------- */

static bool apply_credentials(const cen_curl_credentials *credentials, CURL *easy)
{
    CURLcode code = CURLE_OK;
    if (!credentials) return true;
    if (credentials->bearer[0]) {
        curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
        code = curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, credentials->bearer);
    } else if (credentials->user[0]) {
        curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
        code = curl_easy_setopt(easy, CURLOPT_USERNAME, credentials->user);
        if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_PASSWORD, credentials->password);
    }
    return code == CURLE_OK;
}

static bool apply_tls(const ceni_curl_site *site, CURL *easy)
{
    if (!site->tls) return true;
    CURLcode code = curl_easy_setopt(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
    if (site->insecure) {
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (code == CURLE_OK && site->ca_file) code = curl_easy_setopt(easy, CURLOPT_CAINFO, site->ca_file);
    if (code == CURLE_OK && site->ca_path) code = curl_easy_setopt(easy, CURLOPT_CAPATH, site->ca_path);
    if (code == CURLE_OK && site->certificate) code = curl_easy_setopt(easy, CURLOPT_SSLCERT, site->certificate);
    if (code == CURLE_OK && site->key) code = curl_easy_setopt(easy, CURLOPT_SSLKEY, site->key);
    return code == CURLE_OK;
}

bool ceni_curl_site_apply(const ceni_curl_site *site, const cen_curl_credentials *credentials, CURL *easy)
{
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_SHARE, NULL);
    curl_easy_setopt(easy, CURLOPT_COOKIEFILE, NULL);
    curl_easy_setopt(easy, CURLOPT_HSTS_CTRL, 0L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L); /* the program has other threads */
    /* detects a vanished server within about a minute */
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 20L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 5L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, site->version);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, site->connect_ms);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, site->total_ms);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, site->headers);
    CURLcode code = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_URL, site->base);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_PROXY, site->proxy);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_USERAGENT, site->user_agent);
    return code == CURLE_OK && apply_tls(site, easy) && apply_credentials(credentials, easy);
}

void ceni_curl_site_warm(const ceni_curl_site *site, CURL *easy, long ms, bool opens)
{
    curl_easy_setopt(easy, CURLOPT_URL, site->warmer);
    if (opens) curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, site->opens_version);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ceni_curl_body_drop);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, ms);
    if (site->warm == CEN_CURL_WARM_OPTIONS) curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "OPTIONS");
    else if (site->warm != CEN_CURL_WARM_GET) curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
}

/* Describe a status code that refuses us. */
static const char *refusal(long answer)
{
    switch (answer) {
    case 401:
    case 403:
    case 407: return "credentials rejected";
    case 429:
    case 503: return "server overloaded";
    default: return answer >= 500 && answer != 501 ? "server error" : NULL;
    }
}

cen_status ceni_curl_site_judge(const ceni_curl_site *site, const cen_curl_credentials *credentials, CURL *easy,
                                CURLcode code, const char *said, cen_error *error)
{
    const char *who = credentials && credentials->user[0] ? credentials->user : NULL;
    const char *as = who ? " as \"" : credentials ? " with a token" : "", *end = who ? "\"" : "";
    if (code != CURLE_OK) {
        cen_status status = ceni_curl_status(code);
        return ceni_curl_error(error, status == CEN_LOST ? CEN_DRIVER : status, (int)code,
                               "HTTP request to %s%s%s%s failed: %s (curl %d)", site->warmer, as, who ? who : "", end,
                               said[0] ? said : curl_easy_strerror(code), (int)code);
    }
    long answer = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer);
    const char *why = refusal(answer);
    if (!why) return CEN_OK;
    cen_status status = ceni_curl_error(error, answer == 503 || answer == 429 ? CEN_FULL : CEN_DRIVER, (int)answer,
                                        "HTTP request to %s%s%s%s failed: %s (HTTP status %ld)", site->warmer, as,
                                        who ? who : "", end, why, answer);
    if (error && (answer == 401 || answer == 403 || answer == 407)) error->cause = CEN_CAUSE_LOGIN_REFUSED;
    return status;
}
