/* SPDX-License-Identifier: MIT */
/*
 * HTTP: a GET of the URL's path, or the query: a path; or a method, a path and optionally a body. Each {} becomes a
 * number. A status from 200 to 399 is a success.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/curl.h>

#include "tool/target_kinds.h"

enum { PATH = 2048, METHOD = 16, BODY_MOST = 64 << 20 };

typedef struct request {
    char method[METHOD], path[PATH], body[PATH];
} request;

/* The same with numbers in place of {}. */
typedef struct asked {
    const char *method;
    char path[PATH * 2], body[PATH * 2];
} asked;

typedef struct web {
    cen_curl_options options;
    const char *headers[2];
    char base[PATH], warm[PATH];
    request read, write;
} web;

/* Parse "/orders/{}" or "POST /orders {\"id\": {}}". A body requires a method, because a lone path may contain
 * spaces. */
static void read_request(request *self, const char *text)
{
    size_t method = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), path;
    bool is_named = method > 0 && method < METHOD && text[method] == ' ';
    snprintf(self->method, sizeof self->method, "%.*s", is_named ? (int)method : 3, is_named ? text : "GET");
    if (is_named) text += method + strspn(text + method, " ");
    path = strcspn(text, is_named ? " #" : "#");
    snprintf(self->path, sizeof self->path, "%s%.*s", *text == '/' ? "" : "/", (int)path, text);
    if (!is_named) return;
    text += strcspn(text, " ");
    snprintf(self->body, sizeof self->body, "%s", text + strspn(text, " "));
}

static bool is_json(const char *body)
{
    return body[0] == '{' || body[0] == '[';
}

/* Cut the URL after the host. The rest is the default request. */
static void cut(web *self, const target_settings *settings)
{
    const char *url = settings->url, *host = strstr(url, "://") + 3;
    size_t length = (size_t)(host - url) + strcspn(host, "/?#");
    snprintf(self->base, sizeof self->base, "%.*s", (int)length, url);
    read_request(&self->read, settings->query ? settings->query : url + length);
    if (settings->write) read_request(&self->write, settings->write);
    /* New connections are tested by a small request for the path without its parameters, or for / if it varies. */
    const char *path = self->read.path;
    snprintf(self->warm, sizeof self->warm, "%.*s", (int)strcspn(path, "?"), strstr(path, "{}") ? "/" : path);
    if (is_json(self->read.body) || is_json(self->write.body)) self->headers[0] = "Content-Type: application/json";
}

static cen_status open_web(target *self, cen_error *error)
{
    const target_settings *settings = &self->settings;
    web *own;
    if (!strstr(settings->url, "://") || strlen(settings->url) >= PATH - 1 ||
        (settings->query && strlen(settings->query) >= PATH - 1) ||
        (settings->write && strlen(settings->write) >= PATH - 1))
        return target_say(
            error, CEN_INVALID, 0,
            "Write the URL as http://HOST[:PORT][/PATH]; the URL, --query and --write can each have at most %d bytes.",
            PATH - 2);
    own = calloc(1, sizeof *own);
    if (!own) return target_say(error, CEN_NO_MEMORY, 0, "Out of memory.");
    cut(own, settings);
    if (!self->settings.query) self->settings.query = own->read.path;
    own->options = CEN_CURL_OPTIONS(.url = own->base, .warm_path = own->warm, .ca_file = settings->ca,
                                    .insecure = settings->insecure, .user_agent = "cenote", .headers = own->headers);
    self->driver = cen_curl_with(&own->options);
    self->own = own;
    return CEN_OK;
}

static void close_web(target *self)
{
    free(self->own);
}

static void put_numbers(const target *self, const char *from, const target_turn *turn, char *out, size_t room)
{
    size_t to = 0;
    unsigned index = 0;
    while (*from && to + 24 < room) {
        if (from[0] == '{' && from[1] == '}') {
            to += (size_t)snprintf(out + to, 24, "%" PRIu64, target_draw(self, turn, index++));
            from += 2;
        } else {
            out[to++] = *from++;
        }
    }
    out[to] = 0;
}

static size_t drop(char *bytes, size_t one, size_t count, void *argument)
{
    (void)bytes, (void)argument;
    return one * count;
}

/* Send anything but a plain GET with curl's own options. The driver resets them when the handle is given back. */
static cen_status send_request(CURL *handle, const asked *what, long *answer, cen_error *error)
{
    cen_status status = cen_curl_path(handle, what->path);
    if (status != CEN_OK) return target_say(error, status, 0, "The path %.300s cannot be requested.", what->path);
    bool has_body = what->body[0] || what->method[0] == 'P'; /* POST, PUT and PATCH have a body, even if empty */
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, drop);
    if (strcmp(what->method, "HEAD") == 0) curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
    else curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, what->method);
    if (has_body) {
        curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, (long)strlen(what->body));
        curl_easy_setopt(handle, CURLOPT_POSTFIELDS, what->body);
    }
    status = cen_curl_result(handle, curl_easy_perform(handle), error);
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, answer);
    return status;
}

static cen_status get(CURL *handle, const char *path, long *answer, cen_error *error)
{
    cen_curl_response response = {.max_body = BODY_MOST};
    cen_status status = cen_curl_get(handle, path, &response, error);
    *answer = response.status;
    cen_curl_response_free(&response);
    return status;
}

static cen_status operate_web(target *self, void *object, const target_turn *turn, cen_error *error)
{
    const web *own = self->own;
    const request *what = turn->writes ? &own->write : &own->read;
    asked now;
    now.method = what->method; /* fields not written below are not read, so zeroing is unnecessary */
    long answer = 0;
    put_numbers(self, what->path, turn, now.path, sizeof now.path);
    put_numbers(self, what->body, turn, now.body, sizeof now.body);
    bool is_plain = strcmp(now.method, "GET") == 0 && !now.body[0];
    cen_status status = is_plain ? get(object, now.path, &answer, error) : send_request(object, &now, &answer, error);
    if (status == CEN_OK && (answer < 200 || answer > 399))
        status = target_say(error, answer == 429 || answer == 503 ? CEN_FULL : CEN_DRIVER, (int)answer,
                            "The server returned %ld for %s %.300s.", answer, now.method, now.path);
    return status;
}

const target_kind target_http = {
    .system = "http",
    .schemes = "http https",
    .usual = "/",
    .open = open_web,
    .close = close_web,
    .operate = operate_web,
};
