/* SPDX-License-Identifier: MIT */
#include "inspect/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <curl/curl.h>

#include "inspect/internal.h"
#include "support/test.h"

typedef struct growing {
    char **bytes;
    size_t *length, room;
} growing;

static size_t keep(char *bytes, size_t size, size_t count, void *argument)
{
    growing *g = argument;
    size_t needed = *g->length + size * count + 1;
    if (needed > g->room) *g->bytes = realloc(*g->bytes, g->room = 2 * needed);
    memcpy(*g->bytes + *g->length, bytes, size * count);
    *g->length += size * count;
    (*g->bytes)[*g->length] = 0;
    return size * count;
}

static void set_url(CURL *curl, const char *address, const char *path)
{
    char url[8192];
    bool local = strncmp(address, "unix:", 5) == 0;
    if (local) curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, address + 5);
    snprintf(url, sizeof url, "%s%s", local ? "http://localhost/" : address, path + 1);
    curl_easy_setopt(curl, CURLOPT_URL, url);
}

reply ask_with(const char *address, const char *method, const char *path, const char *body, ...)
{
    reply r = {.head = calloc(1, 1), .body = calloc(1, 1)};
    growing head = {&r.head, &r.head_length, 0}, text = {&r.body, &r.length, 0};
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
    va_list more;
    va_start(more, body);
    for (const char *header; (header = va_arg(more, const char *));) headers = curl_slist_append(headers, header);
    va_end(more);
    set_url(curl, address, path);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, 20000L);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    if (body) curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS, body);
    if (strcmp(method, "HEAD") == 0) curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    else curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, keep);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &head);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &text);
    r.curl = (int)curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &r.code);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return r;
}

void reply_fini(reply *r)
{
    free(r->head);
    free(r->body);
    *r = (reply){0};
}

const char *reply_header(const reply *r, const char *name)
{
    static _Thread_local char value[512];
    size_t length = strlen(name);
    for (const char *line = r->head; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncasecmp(line, name, length) != 0 || line[length] != ':') continue;
        snprintf(value, sizeof value, "%.*s", (int)strcspn(line + length + 2, "\r\n"), line + length + 2);
        return value;
    }
    return "";
}

json_t *reply_json(const reply *r)
{
    json_error_t error;
    json_t *json = json_loadb(r->body, r->length, JSON_REJECT_DUPLICATES, &error);
    if (!json) test_fail(__FILE__, __LINE__, "no JSON, at byte %d: %s: %.400s", error.position, error.text, r->body);
    return json;
}

json_t *ask_json(const char *address, const char *path)
{
    reply r = ask(address, "GET", path, NULL);
    if (r.curl || r.code != 200)
        test_fail(__FILE__, __LINE__, "%s: curl %d, HTTP %ld: %.400s", path, r.curl, r.code, r.body);
    expect_text(reply_header(&r, "Content-Type"), "application/json");
    json_t *json = reply_json(&r);
    reply_fini(&r);
    return json;
}

void expect_error(reply r, long code, const char *status, const char *words)
{
    if (r.code != code)
        test_fail(__FILE__, __LINE__, "HTTP %ld instead of %ld (curl %d): %.400s", r.code, code, r.curl, r.body);
    expect_text(reply_header(&r, "Content-Type"), "application/json");
    json_t *json = reply_json(&r), *error = json_object_get(json, "error");
    expect(error != NULL);
    expect_text(json_string_value(json_object_get(error, "status")), status);
    const char *text = json_string_value(json_object_get(error, "text"));
    if (!text || !strstr(text, words))
        test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", text ? text : "nothing", words);
    json_decref(json);
    reply_fini(&r);
}

/* ---- A bare socket ------------------------------------------------------------------ */

int client_connect(const char *address)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct timeval patience = {.tv_sec = 5};
    bool is_local = strncmp(address, "unix:", 5) == 0;
    int port = 0;
    if (is_local) snprintf(local.sun_path, sizeof local.sun_path, "%s", address + 5);
    else expect(sscanf(address, "http://127.0.0.1:%d/", &port) == 1);
    four.sin_port = htons((uint16_t)port);
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int client = socket(is_local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect(client >= 0);
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    expect((is_local ? connect(client, (struct sockaddr *)&local, sizeof local)
                     : connect(client, (struct sockaddr *)&four, sizeof four)) == 0);
    return client;
}

bool client_send(int socket, const char *bytes, size_t length)
{
    while (length) {
        ssize_t sent = send(socket, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

size_t client_read(int socket, char *out, size_t room)
{
    size_t length = 0;
    for (ssize_t got; length + 1 < room && (got = recv(socket, out + length, room - length - 1, 0)) > 0;)
        length += (size_t)got;
    out[length] = 0;
    return length;
}

cen_inspect *inspect_impatient(cen_inspect_options options, int64_t patience_ms)
{
    cen_inspect *inspect = NULL;
    cen_error error = {.text = ""};
    options.size = sizeof options;
    if (!options.at) options.at = "127.0.0.1:0";
    if (ceni_inspect_start(&options, patience_ms, &inspect, &error) != CEN_OK)
        test_fail(__FILE__, __LINE__, "%s", error.text);
    return inspect;
}

cen_inspect *inspect_started(cen_inspect_options options)
{
    return inspect_impatient(options, CENI_INSPECT_PATIENCE_MS);
}
