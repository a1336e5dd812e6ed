/* SPDX-License-Identifier: MIT */
#include "tool/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONNECT_MS = 3000, MOST_BYTES = 32 << 20 };
#define USUAL_NS INT64_C(10000000000)

struct client {
    address at;
    CURL *curl;
    struct curl_slist *headers;
    const atomic_bool *stop;
    char token[ADDRESS_TOKEN]; /* "": none */
    char why[CURL_ERROR_SIZE];
    char *text; /* the response so far */
    size_t length, room;
    bool too_large;
};

/* ---- The token ------------------------------------------------------------------------- */

static cen_status read_token_file(const char *path, char *token, size_t room, cen_error *error)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, token, room) : -1;
    int code = errno;
    if (file >= 0) close(file);
    if (length < 0)
        return address_fail(error, CEN_SYSTEM, "The token file %.200s cannot be read: %s.", path,
                            strerrordesc_np(code));
    if ((size_t)length == room) return address_fail(error, CEN_MISUSE, "The token in %.200s is too long.", path);
    token[length] = 0;
    token[strcspn(token, "\r\n")] = 0;
    return *token ? CEN_OK : address_fail(error, CEN_MISUSE, "The first line of the token file %.200s is empty.", path);
}

/* The command line takes precedence over the address, and the address over the environment. */
static cen_status choose_token(const address *at, const client_options *o, char *token, size_t room, cen_error *error)
{
    const char *chosen = o->token ? o->token : *at->token ? at->token : at->is_foreign ? NULL : getenv("CENOTE_TOKEN");
    if (o->token && o->token_file)
        return address_fail(error, CEN_MISUSE, "--token and --token-file are both given; use one of them.");
    if (o->token_file) return read_token_file(o->token_file, token, room, error);
    int length = snprintf(token, room, "%s", chosen ? chosen : "");
    if (length < 0 || (size_t)length >= room)
        return address_fail(error, CEN_MISUSE, "The token is too long: at most %zu bytes.", room - 1);
    return CEN_OK;
}

static cen_status keep_token(client *self, const client_options *o, cen_error *error)
{
    char *token = self->token, header[ADDRESS_TOKEN + 32];
    cen_status status = choose_token(&self->at, o, token, sizeof self->token, error);
    if (status != CEN_OK || !*token) return status;
    for (const char *at = token; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == 127)
            return address_fail(error, CEN_MISUSE, "The token contains a space or a control character.");
    snprintf(header, sizeof header, "Authorization: Bearer %s", token);
    struct curl_slist *more = curl_slist_append(self->headers, header);
    if (!more) return address_fail(error, CEN_NO_MEMORY, "Out of memory.");
    self->headers = more;
    return CEN_OK;
}

/* ---- Open and close ---------------------------------------------------------------------- */

static size_t receive(char *bytes, size_t one, size_t count, void *argument)
{
    client *self = argument;
    size_t size = one * count;
    if (size > MOST_BYTES - self->length) {
        self->too_large = true;
        return 0;
    }
    if (self->length + size + 1 > self->room) {
        size_t room = (self->length + size + 1) * 2;
        char *text = realloc(self->text, room);
        if (!text) return 0;
        self->text = text;
        self->room = room;
    }
    memcpy(self->text + self->length, bytes, size);
    self->length += size;
    self->text[self->length] = 0;
    return size;
}

static int go_on(void *argument, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    client *self = argument;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return self->stop && atomic_load(self->stop);
}

/* Nothing in the user's environment (proxies, .netrc) may redirect the request and its token. */
static void set_up(client *self, int64_t timeout_ns)
{
    CURL *curl = self->curl;
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, self->why);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(timeout_ns / 1000000));
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, self);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, go_on);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, self);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    if (*self->at.socket) curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, self->at.socket);
}

cen_status client_open(const char *text, const client_options *options, client **out, cen_error *error)
{
    client_options o = options ? *options : (client_options){0};
    client *self = calloc(1, sizeof *self);
    if (!self) return address_fail(error, CEN_NO_MEMORY, "Out of memory.");
    cen_status status = address_find(text, &self->at, error);
    if (status == CEN_OK) status = keep_token(self, &o, error);
    if (status != CEN_OK) goto undo;
    self->curl = curl_easy_init();
    status = self->curl ? CEN_OK : address_fail(error, CEN_NO_MEMORY, "Out of memory.");
    if (status != CEN_OK) goto undo;
    self->stop = o.stop;
    set_up(self, o.timeout_ns > 0 ? o.timeout_ns : USUAL_NS);
    *out = self;
    return CEN_OK;
undo:
    client_close(self);
    return status;
}

void client_close(client *self)
{
    if (!self) return;
    if (self->curl) curl_easy_cleanup(self->curl);
    curl_slist_free_all(self->headers);
    free(self->text);
    free(self);
}

const address *client_address(const client *self)
{
    return &self->at;
}

const char *client_token(const client *self)
{
    return self->token;
}

void client_set_stop(client *self, const atomic_bool *stop)
{
    self->stop = stop;
}

/* ---- Requests ------------------------------------------------------------------------------ */

/* Describe why there was no response, and what to do. */
static cen_status explain_silence(client *self, CURLcode code, cen_error *error)
{
    const char *shown = self->at.shown;
    char who[64] = "";
    if (self->at.pid) snprintf(who, sizeof who, " (process %ld)", self->at.pid);
    switch (code) {
    case CURLE_ABORTED_BY_CALLBACK: return address_fail(error, CEN_INTERRUPTED, "Interrupted.");
    case CURLE_COULDNT_RESOLVE_HOST: return address_fail(error, CEN_DOWN, "The host of %s is unknown.", shown);
    case CURLE_COULDNT_CONNECT:
        return address_fail(error, CEN_DOWN, "Cannot connect to %s%s: the process has ended, or inspection is off.",
                            shown, who);
    case CURLE_OPERATION_TIMEDOUT:
        return address_fail(error, CEN_DOWN, "No response from %s%s in time: the process is stopped or overloaded.",
                            shown, who);
    case CURLE_WRITE_ERROR:
        if (self->too_large)
            return address_fail(error, CEN_INVALID, "The response of %s is longer than %d MiB and was not read.", shown,
                                MOST_BYTES >> 20);
        return address_fail(error, CEN_NO_MEMORY, "Out of memory for the response of %s.", shown);
    case CURLE_URL_MALFORMAT: return address_fail(error, CEN_INVALID, "\"%s\" is not a valid address.", shown);
    case CURLE_UNSUPPORTED_PROTOCOL: /* the response has no HTTP header */
    case CURLE_WEIRD_SERVER_REPLY:
        return address_fail(error, CEN_INVALID, "%s does not speak HTTP, so it is not a cenote inspection endpoint.",
                            shown);
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        return address_fail(error, CEN_DOWN, "%s%s closed the connection before it responded.", shown, who);
    default:
        return address_fail(error, CEN_DOWN, "The request to %s failed: %s.", shown,
                            *self->why ? self->why : curl_easy_strerror(code));
    }
}

/* Copy the text of {"error": {"text": ...}} without control characters; "" if the response has none. */
static void words_of_answer(const client *self, char *words, size_t room, cen_status *status)
{
    json_t *answer = self->length ? json_loadb(self->text, self->length, 0, NULL) : NULL;
    json_t *told = json_object_get(answer, "error");
    const char *text = json_string_value(json_object_get(told, "text"));
    const char *name = json_string_value(json_object_get(told, "status"));
    snprintf(words, room, "%s", text ? text : "");
    for (char *at = words; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127) *at = ' ';
    for (cen_status s = CEN_OK; name && s <= CEN_LOST; s = (cen_status)(s + 1)) {
        const char *known = cen_status_name(s);
        if (strcmp(name, known) == 0 || strcmp(name, known + strlen("CEN_")) == 0) *status = s;
    }
    json_decref(answer);
}

static cen_status explain_refusal(client *self, long http, cen_error *error)
{
    char words[300];
    cen_status status = CEN_INVALID;
    const char *shown = self->at.shown;
    words_of_answer(self, words, sizeof words, &status);
    if (http == 401 && !*self->token && self->at.is_foreign)
        return address_fail(
            error, CEN_INVALID,
            "%s requires a token: pass it with --token-file; CENOTE_TOKEN is not sent to another user's process.",
            shown);
    if (http == 401 && !*self->token)
        return address_fail(error, CEN_INVALID,
                            "%s requires a token: pass it with --token-file or the variable CENOTE_TOKEN.", shown);
    if (http == 401) return address_fail(error, CEN_INVALID, "%s rejected the token.", shown);
    if (!*words && http >= 500) return address_fail(error, CEN_DOWN, "%s is unavailable (HTTP %ld).", shown, http);
    if (!*words)
        return address_fail(error, CEN_INVALID, "%s returned HTTP %ld, so it is not a cenote inspection endpoint.",
                            shown, http);
    return address_fail(error, http == 503 ? CEN_DOWN : http == 404 ? CEN_ABSENT : status, "%s", words);
}

/* `body`: NULL for GET. The response is in self->text. */
static cen_status ask(client *self, const char *path, const char *body, cen_error *error)
{
    char url[ADDRESS_TEXT + 200];
    struct curl_slist *headers = NULL;
    long http = 0;
    snprintf(url, sizeof url, "%s%s", self->at.url, path);
    self->length = 0;
    self->too_large = false;
    self->why[0] = 0;
    if (self->text) self->text[0] = 0;
    curl_easy_setopt(self->curl, CURLOPT_URL, url);
    if (body) {
        headers = curl_slist_append(NULL, "Content-Type: application/json");
        for (struct curl_slist *at = self->headers; at; at = at->next) headers = curl_slist_append(headers, at->data);
        curl_easy_setopt(self->curl, CURLOPT_COPYPOSTFIELDS, body);
    } else {
        curl_easy_setopt(self->curl, CURLOPT_HTTPGET, 1L);
    }
    curl_easy_setopt(self->curl, CURLOPT_HTTPHEADER, body ? headers : self->headers);
    CURLcode code = curl_easy_perform(self->curl);
    curl_easy_setopt(self->curl, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    if (code != CURLE_OK) return explain_silence(self, code, error);
    curl_easy_getinfo(self->curl, CURLINFO_RESPONSE_CODE, &http);
    return http == 200 ? CEN_OK : explain_refusal(self, http, error);
}

cen_status client_get_text(client *self, const char *path, char **out, size_t *length, cen_error *error)
{
    cen_status status = ask(self, path, NULL, error);
    if (status != CEN_OK) return status;
    char *text = malloc(self->length + 1);
    if (!text) return address_fail(error, CEN_NO_MEMORY, "Out of memory for the response of %s.", self->at.shown);
    if (self->length) memcpy(text, self->text, self->length);
    text[self->length] = 0;
    *out = text;
    if (length) *length = self->length;
    return CEN_OK;
}

cen_status client_accept(client *self, const char *type, cen_error *error)
{
    char header[120];
    snprintf(header, sizeof header, "Accept: %s", type);
    struct curl_slist *more = curl_slist_append(self->headers, header);
    if (!more) return address_fail(error, CEN_NO_MEMORY, "Out of memory.");
    self->headers = more;
    return CEN_OK;
}

const char *client_content_type(const client *self)
{
    const char *type = NULL;
    curl_easy_getinfo(self->curl, CURLINFO_CONTENT_TYPE, &type);
    return type ? type : "";
}

static cen_status read_answer(client *self, json_t **out, cen_error *error)
{
    json_t *answer = self->length ? json_loadb(self->text, self->length, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (json_is_object(answer)) {
        *out = answer;
        return CEN_OK;
    }
    json_decref(answer);
    return address_fail(error, CEN_INVALID, "%s is not a cenote inspection endpoint.", self->at.shown);
}

cen_status client_get(client *self, const char *path, json_t **out, cen_error *error)
{
    cen_status status = ask(self, path, NULL, error);
    return status == CEN_OK ? read_answer(self, out, error) : status;
}

cen_status client_greet(client *self, json_t **out, cen_error *error)
{
    json_t *process = NULL;
    cen_status status = client_get(self, "/api/process", &process, error);
    if (status == CEN_ABSENT)
        status = address_fail(error, CEN_INVALID, "%s is not a cenote inspection endpoint.", self->at.shown);
    if (status != CEN_OK) return status;
    long pid = (long)json_integer_value(json_object_get(process, "pid"));
    bool known = json_is_string(json_object_get(process, "version")) &&
                 json_is_string(json_object_get(process, "program")) && pid > 0;
    if (!known) status = address_fail(error, CEN_INVALID, "%s is not a cenote inspection endpoint.", self->at.shown);
    else if (self->at.pid && pid != self->at.pid)
        status = address_fail(error, CEN_ABSENT, "%s now belongs to process %ld, not %ld.", self->at.shown, pid,
                              self->at.pid);
    if (status == CEN_OK) *out = process;
    else json_decref(process);
    return status;
}

cen_status client_tell(client *self, uint64_t number, const char *action, int64_t value, cen_error *error)
{
    char path[64];
    json_t *told = json_pack("{s:s, s:I}", "action", action, "value", (json_int_t)value);
    char *body = told ? json_dumps(told, JSON_COMPACT) : NULL;
    json_decref(told);
    if (!body) return address_fail(error, CEN_NO_MEMORY, "Out of memory.");
    snprintf(path, sizeof path, "/api/components/%llu/invoke", (unsigned long long)number);
    cen_status status = ask(self, path, body, error);
    free(body);
    return status;
}
