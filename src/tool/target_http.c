/* SPDX-License-Identifier: MIT */
/*
 * HTTP: a GET of the URL's path, or of the path that is given as the query, with a number for each {}. An answer of 200 to 399 is
 * good.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/curl.h>

#include "tool/target_kinds.h"

enum { PATH = 2048, BODY_MOST = 64 << 20 };

typedef struct web {
    cen_curl_options options;
    char base[PATH], path[PATH], warm[PATH];
} web;

/* The URL is cut after the host: what comes then is what is asked for. */
static void cut(web *self, const char *url, const char *query)
{
    const char *host = strstr(url, "://") + 3;
    size_t length = (size_t)(host - url) + strcspn(host, "/?#");
    const char *path = query ? query : url + length;
    snprintf(self->base, sizeof self->base, "%.*s", (int)length, url);
    snprintf(self->path, sizeof self->path, "%s%.*s", *path == '/' ? "" : "/", (int)strcspn(path, "#"), path);
    /* Connections are made by a small request for the same, without its parameters; or for / if it differs each time. */
    snprintf(self->warm, sizeof self->warm, "%.*s", (int)strcspn(self->path, "?"), strstr(self->path, "{}") ? "/" : self->path);
}

static cen_status open_web(target *self, cen_error *error)
{
    const char *url = self->settings.url;
    web *own;
    if (!strstr(url, "://") || strlen(url) >= PATH - 1 || (self->settings.query && strlen(self->settings.query) >= PATH - 1))
        return target_say(error, CEN_INVALID, 0,
                          "The URL is http://HOST[:PORT][/PATH], and it and the path have less than %d bytes.", PATH);
    if (self->settings.write_share > 0)
        return target_say(error, CEN_INVALID, 0, "There are no writes for HTTP: --write-share must be 0.");
    own = calloc(1, sizeof *own);
    if (!own) return target_say(error, CEN_NO_MEMORY, 0, "There is no memory.");
    cut(own, url, self->settings.query);
    if (!self->settings.query) self->settings.query = own->path;
    own->options = (cen_curl_options)CEN_CURL_OPTIONS(.url = own->base, .warm_path = own->warm, .ca_file = self->settings.ca,
                                                      .insecure = self->settings.insecure, .user_agent = "cenote");
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

static cen_status operate_web(target *self, void *object, const target_turn *turn, cen_error *error)
{
    const web *own = self->own;
    char path[PATH * 2];
    cen_curl_response response = {.most = BODY_MOST};
    put_numbers(self, own->path, turn, path, sizeof path);
    cen_status status = cen_curl_get(object, path, &response, error);
    if (status == CEN_OK && (response.status < 200 || response.status > 399))
        status = target_say(error, response.status == 429 || response.status == 503 ? CEN_FULL : CEN_DRIVER, (int)response.status,
                            "The server answers %ld to GET %.300s.", response.status, path);
    cen_curl_response_free(&response);
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
