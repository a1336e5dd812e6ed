/* SPDX-License-Identifier: MIT */
/*
 * From a request to its response.
 *
 * A response is complete in memory before its first byte is sent. So no component is being visited while a client reads
 * slowly.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/events.h>

#include "inspect/internal.h"
#include "inspect/page.h"

enum { PATH_MOST = 2048, PARTS_MOST = 200, DESCRIPTION_MOST = 1000, EVENTS_USUAL = 200 };

void ceni_answer_failure(ceni_answer *answer, unsigned code, const cen_error *error)
{
    ceni_text_fini(&answer->json.text);
    *answer = (ceni_answer){.code = code, .type = "application/json", .allow = answer->allow};
    ceni_json *json = &answer->json;
    ceni_json_open(json, NULL, '{');
    ceni_json_open(json, "error", '{');
    ceni_json_words(json, "status", cen_status_name(error->status) + strlen("CEN_"));
    if (error->cause != CEN_CAUSE_NONE) ceni_json_words(json, "cause", cen_cause_name(error->cause));
    ceni_json_words(json, "text", error->text[0] ? error->text : cen_status_text(error->status));
    ceni_json_close(json, '}');
    ceni_json_close(json, '}');
}

void ceni_answer_error(ceni_answer *answer, unsigned code, cen_status status, const char *format, ...)
{
    cen_error error = {.status = status};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error.text, sizeof error.text, format, arguments);
    va_end(arguments);
    ceni_answer_failure(answer, code, &error);
}

/* ---- Routes ------------------------------------------------------------------------- */

typedef struct metric_query {
    ceni_query *query;
    cen_error *error;
    bool ok;
} metric_query;

static enum MHD_Result take_argument(void *argument, enum MHD_ValueKind kind, const char *name, const char *value)
{
    metric_query *r = argument;
    (void)kind;
    r->ok = ceni_query_take(r->query, name, value, r->error);
    return r->ok ? MHD_YES : MHD_NO;
}

static bool read_query(const ceni_visit *visit, ceni_query *query, ceni_answer *answer)
{
    cen_error error;
    metric_query r = {query, &error, true};
    MHD_get_connection_values(visit->connection, MHD_GET_ARGUMENT_KIND, take_argument, &r);
    if (!r.ok) ceni_answer_error(answer, MHD_HTTP_BAD_REQUEST, CEN_INVALID, "%s", error.text);
    return r.ok;
}

static bool is_method(const ceni_visit *visit, const char *allow, ceni_answer *answer)
{
    bool looks = strcmp(visit->method, "GET") == 0 || strcmp(visit->method, "HEAD") == 0,
         tells = strcmp(visit->method, "POST") == 0;
    if (allow[0] == 'G' ? looks : tells) return true;
    answer->allow = allow;
    ceni_answer_error(answer, MHD_HTTP_METHOD_NOT_ALLOWED, CEN_INVALID, "method %.16s not allowed for %.80s; use %s",
                      visit->method, visit->path, allow);
    return false;
}

static void tell(const ceni_visit *visit, uint64_t number, ceni_answer *answer)
{
    ceni_telling telling;
    cen_error error;
    if (!is_method(visit, "POST", answer)) return;
    if (!visit->inspect->control)
        ceni_answer_error(answer, MHD_HTTP_FORBIDDEN, CEN_MISUSE, "components are read-only (options.control is off)");
    else if (visit->length > CENI_INSPECT_BODY_MOST)
        ceni_answer_error(answer, MHD_HTTP_CONTENT_TOO_LARGE, CEN_INVALID, "body too large (limit %d bytes)",
                          CENI_INSPECT_BODY_MOST);
    else if (!ceni_telling_read(visit->body, visit->length, &telling, &error))
        ceni_answer_error(answer, MHD_HTTP_BAD_REQUEST, CEN_INVALID, "%s", error.text);
    else ceni_answer_tell(number, &telling, answer);
}

/* Handle /api/components/NUMBER and /api/components/NUMBER/invoke. Returns false for any other path. */
static bool answer_one(const ceni_visit *visit, const char *rest, ceni_answer *answer)
{
    char digits[24];
    uint64_t number;
    size_t length = strcspn(rest, "/");
    if (length == 0 || length >= sizeof digits) return false;
    memcpy(digits, rest, length);
    digits[length] = 0;
    if (!ceni_query_number(digits, UINT64_MAX, &number)) return false;
    if (strcmp(rest + length, "/invoke") == 0) {
        tell(visit, number, answer);
        return true;
    }
    ceni_query query = {.allowed = CENI_QUERY_MOST, .most = DESCRIPTION_MOST};
    if (rest[length]) return false;
    if (is_method(visit, "GET, HEAD", answer) && read_query(visit, &query, answer))
        ceni_answer_component(number, &query, answer);
    return true;
}

static bool answer_api(const ceni_visit *visit, ceni_answer *answer)
{
    ceni_query query = {.most = PARTS_MOST, .limit = EVENTS_USUAL, .level = CEN_LEVEL_DETAIL};
    const char *path = visit->path;
    int which = strcmp(path, "/api/process") == 0      ? 1
                : strcmp(path, "/api/components") == 0 ? 2
                : strcmp(path, "/api/events") == 0     ? 3
                : strcmp(path, "/api/history") == 0    ? 4
                                                       : 0;
    if (!which) {
        static const char one[] = "/api/components/";
        return strncmp(path, one, sizeof one - 1) == 0 && answer_one(visit, path + sizeof one - 1, answer);
    }
    if (which == 2) query.allowed = CENI_QUERY_PARTS | CENI_QUERY_MOST;
    if (which == 3) query.allowed = CENI_QUERY_AFTER | CENI_QUERY_LIMIT | CENI_QUERY_LEVEL | CENI_QUERY_AFTER_TRACE;
    if (!is_method(visit, "GET, HEAD", answer) || !read_query(visit, &query, answer)) return true;
    if (which == 1) ceni_answer_process(visit->inspect, answer);
    else if (which == 2) ceni_answer_components(visit->inspect, &query, answer);
    else if (which == 3) ceni_answer_events(&query, answer);
    else ceni_answer_history(visit->inspect, answer);
    return true;
}

static bool answer_metrics(const ceni_visit *visit, ceni_answer *answer)
{
    if (strcmp(visit->path, "/metrics") != 0) return false;
    if (!is_method(visit, "GET, HEAD", answer)) return true;
    const char *accepts = MHD_lookup_connection_value(visit->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    ceni_answer_metrics(accepts && strstr(accepts, "application/openmetrics-text"), answer);
    return true;
}

static bool answer_page(const ceni_visit *visit, ceni_answer *answer)
{
    const char *name = visit->path[1] ? visit->path + 1 : "index.html";
    for (const ceni_inspect_file *file = ceni_inspect_page; file->name; file++) {
        if (strcmp(file->name, name) != 0) continue;
        if (!is_method(visit, "GET, HEAD", answer)) return true;
        const char *has =
            MHD_lookup_connection_value(visit->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_IF_NONE_MATCH);
        bool same = has && strstr(has, file->tag);
        answer->code = same ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK;
        answer->type = file->type;
        answer->tag = file->tag;
        answer->cache = "no-cache"; /* cached and revalidated: another program may be here next time */
        answer->fixed = file->bytes;
        answer->size = same ? 0 : file->size;
        return true;
    }
    return false;
}

static void answer_it(const ceni_visit *visit, ceni_answer *answer)
{
    if (!answer_api(visit, answer) && !answer_metrics(visit, answer) && !answer_page(visit, answer))
        ceni_answer_error(answer, MHD_HTTP_NOT_FOUND, CEN_ABSENT,
                          "nothing at %.120s; see docs/inspect.md for the paths", visit->path);
    if (answer->json.text.spoiled)
        ceni_answer_error(answer, MHD_HTTP_SERVICE_UNAVAILABLE, CEN_NO_MEMORY,
                          "response larger than %d MiB, or out of memory; request less", CENI_TEXT_MOST >> 20);
}

/* ---- Interface to libmicrohttpd -------------------------------------------------------- */

static void add_headers(struct MHD_Response *response, const ceni_answer *answer)
{
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, answer->cache ? answer->cache : "no-store");
    MHD_add_response_header(response, "Content-Security-Policy",
                            "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "X-Frame-Options", "DENY");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer"); /* the page's address may contain the token */
    MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    if (answer->tag) MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, answer->tag);
    if (answer->allow) MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, answer->allow);
    if (answer->code == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer realm=\"cenote\"");
    if (answer->code == MHD_HTTP_SERVICE_UNAVAILABLE)
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    if (answer->code == MHD_HTTP_SERVICE_UNAVAILABLE || answer->code == MHD_HTTP_FORBIDDEN) /* frees a slot */
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
}

/* Send the response and take over its memory. MHD_NO: libmicrohttpd closes the connection. */
static enum MHD_Result send_answer(struct MHD_Connection *connection, ceni_answer *answer)
{
    struct MHD_Response *response;
    if (answer->fixed) {
        response =
            MHD_create_response_from_buffer(answer->size, (void *)(uintptr_t)answer->fixed, MHD_RESPMEM_PERSISTENT);
    } else if (answer->json.text.spoiled || !answer->json.text.bytes) {
        ceni_text_fini(&answer->json.text); /* no memory even for an error */
        return MHD_NO;
    } else {
        response =
            MHD_create_response_from_buffer(answer->json.text.length, answer->json.text.bytes, MHD_RESPMEM_MUST_FREE);
        if (!response) ceni_text_fini(&answer->json.text);
    }
    if (!response) return MHD_NO;
    add_headers(response, answer);
    enum MHD_Result result = MHD_queue_response(connection, answer->code, response);
    if (result == MHD_YES) ceni_inspect_told(connection);
    MHD_destroy_response(response);
    return result;
}

static uint64_t announced_length(struct MHD_Connection *connection)
{
    uint64_t length;
    const char *text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return text && ceni_query_number(text, UINT64_MAX, &length) ? length : 0;
}

/* Refuse what can be refused before the body has arrived. */
static bool is_fit(const ceni_visit *visit, ceni_answer *answer)
{
    const union MHD_ConnectionInfo *told =
        MHD_get_connection_info(visit->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    if (!ceni_inspect_admits(visit, answer)) return false;
    if (strlen(visit->path) > PATH_MOST)
        ceni_answer_error(answer, MHD_HTTP_URI_TOO_LONG, CEN_INVALID, "path too long (limit %d bytes)", PATH_MOST);
    else if (told && told->header_size > CENI_INSPECT_REQUEST_MOST)
        ceni_answer_error(answer, MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE, CEN_INVALID,
                          "request head too large (limit %d bytes)", CENI_INSPECT_REQUEST_MOST);
    else if (announced_length(visit->connection) > CENI_INSPECT_BODY_MOST)
        ceni_answer_error(answer, MHD_HTTP_CONTENT_TOO_LARGE, CEN_INVALID, "body too large (limit %d bytes)",
                          CENI_INSPECT_BODY_MOST);
    else return true;
    return false;
}

enum MHD_Result ceni_inspect_answer(void *argument, struct MHD_Connection *connection, const char *path,
                                    const char *method, const char *version, const char *upload, size_t *upload_size,
                                    void **own)
{
    cen_inspect *inspect = argument;
    ceni_visit *visit = *own;
    ceni_answer answer = {.code = MHD_HTTP_OK, .type = "application/json"};
    if (!visit) {                                /* the head has arrived */
        visit = *own = calloc(1, sizeof *visit); /* freed by ceni_inspect_answered */
        if (!visit) return MHD_NO;
        *visit = (ceni_visit){
            .inspect = inspect, .connection = connection, .method = method, .path = path, .version = version};
        return is_fit(visit, &answer) ? MHD_YES : send_answer(connection, &answer);
    }
    if (*upload_size) { /* a part of the body has arrived */
        size_t left = visit->length < CENI_INSPECT_BODY_MOST ? CENI_INSPECT_BODY_MOST - visit->length : 0;
        memcpy(visit->body + (CENI_INSPECT_BODY_MOST - left), upload, *upload_size < left ? *upload_size : left);
        visit->length += *upload_size;
        *upload_size = 0;
        return MHD_YES;
    }
    answer_it(visit, &answer);
    if (inspect->sending + answer.json.text.length > CENI_INSPECT_SENDING_MOST)
        ceni_answer_error(&answer, MHD_HTTP_SERVICE_UNAVAILABLE, CEN_FULL,
                          "too many unread responses of other clients; retry later");
    visit->sending = answer.json.text.length;
    inspect->sending += visit->sending;
    return send_answer(connection, &answer);
}
