/* SPDX-License-Identifier: MIT */
#include "tool/address.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/place.h"

cen_status address_fail(cen_error *error, cen_status status, const char *format, ...)
{
    va_list arguments;
    if (!error) return status;
    memset(error, 0, sizeof *error);
    error->status = status;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}

/* ---- Parsing ------------------------------------------------------------------------- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_number(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits < 10 && !text[digits];
}

bool address_is_one(const char *text)
{
    return is_number(text) || strchr(text, ':') != NULL;
}

static cen_status read_socket(const char *path, address *out, cen_error *error)
{
    if (!*path)
        return address_fail(error, CEN_MISUSE, "\"unix:\" needs the path of a socket: write unix:/path/to/socket.");
    if (strlen(path) >= sizeof out->socket)
        return address_fail(error, CEN_MISUSE, "The path \"%.60s...\" is too long for a socket: at most %zu bytes.",
                            path, sizeof out->socket - 1);
    snprintf(out->socket, sizeof out->socket, "%s", path);
    snprintf(out->shown, sizeof out->shown, "unix:%s", path);
    snprintf(out->url, sizeof out->url, "http://localhost");
    return CEN_OK;
}

static unsigned value_of(char digit)
{
    if (digit >= '0' && digit <= '9') return (unsigned)(digit - '0');
    return (unsigned)(tolower((unsigned char)digit) - 'a' + 10);
}

/* Decode percent escapes: "%41" becomes "A". */
static void decode(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++, to++) {
        bool coded = *from == '%' && isxdigit((unsigned char)from[1]) && isxdigit((unsigned char)from[2]);
        *to = coded ? (char)(value_of(from[1]) * 16 + value_of(from[2])) : *from;
        if (coded) from += 2;
    }
    *to = 0;
}

/* The address of the page contains its token after a question mark. The token is sent in the header, like any other,
 * and is not shown. */
static cen_status split_token(char *query, address *out, cen_error *error)
{
    *query++ = 0;
    if (!begins(query, "token=")) return CEN_OK;
    query += strlen("token=");
    size_t length = strcspn(query, "&#");
    if (length >= sizeof out->token) return address_fail(error, CEN_MISUSE, "The token in the address is too long.");
    memcpy(out->token, query, length);
    out->token[length] = 0;
    decode(out->token);
    return CEN_OK;
}

static cen_status read_url(const char *text, address *out, cen_error *error)
{
    const char *scheme = begins(text, "http://") || begins(text, "https://") ? "" : "http://";
    int length = snprintf(out->url, sizeof out->url, "%s%s", scheme, text);
    if (length < 0 || (size_t)length >= sizeof out->url)
        return address_fail(error, CEN_MISUSE, "The address \"%.60s...\" is too long.", text);
    char *host = strstr(out->url, "://") + 3, *query = strpbrk(host, "?#");
    cen_status status = query ? split_token(query, out, error) : CEN_OK;
    if (status != CEN_OK) return status;
    if (strchr(host, '@'))
        return address_fail(error, CEN_MISUSE,
                            "The address must not contain a user or a password; pass a token with --token-file.");
    for (size_t end = strlen(out->url); end > 0 && out->url[end - 1] == '/' && out->url + end - 1 > host; end--)
        out->url[end - 1] = 0;
    if (!*host || *host == '/' || *host == ':') return address_fail(error, CEN_MISUSE, "\"%.100s\" has no host.", text);
    for (const char *at = host; *at; at++)
        if (isspace((unsigned char)*at) || iscntrl((unsigned char)*at))
            return address_fail(error, CEN_MISUSE, "The address contains a space or a control character.");
    snprintf(out->shown, sizeof out->shown, "%.*s/", (int)sizeof out->shown - 2, out->url);
    return CEN_OK;
}

static cen_status read_written(const char *text, address *out, cen_error *error)
{
    if (begins(text, "unix:")) return read_socket(text + strlen("unix:"), out, error);
    if (strchr(text, ':')) return read_url(text, out, error);
    return address_fail(error, CEN_MISUSE,
                        "\"%.100s\" is not an address: write http://HOST:PORT/, HOST:PORT, unix:PATH, or a process ID.",
                        text);
}

/* ---- By process ID, or without an address ----------------------------------------------- */

static cen_status read_found(const place_found *found, address *out, cen_error *error)
{
    cen_status status = read_written(found->line, out, error);
    out->pid = found->pid;
    out->is_foreign = found->is_foreign;
    return status;
}

static cen_status find_process(long pid, address *out, cen_error *error)
{
    place_found found = {.count = 0};
    cen_error why = {.status = CEN_OK};
    if (place_find(pid, &found, &why)) return read_found(&found, out, error);
    if (pid <= 0 || !place_is_alive(pid)) return address_fail(error, CEN_ABSENT, "There is no process %ld.", pid);
    if (why.status != CEN_OK) return address_fail(error, why.status, "%s", why.text);
    return address_fail(
        error, CEN_ABSENT,
        "No inspection address found for process %ld: the program enables inspection with cen_inspect_start. If it "
        "runs as another user, or with another $XDG_RUNTIME_DIR, give its address instead.",
        pid);
}

/* The first place with any address file decides. A process that was started in this environment has its file in the
 * place that is searched first. */
static cen_status find_only(address *out, cen_error *error)
{
    place_found found = {.count = 0};
    cen_error why = {.status = CEN_OK};
    place_look(&found, true, &why);
    if (found.count == 1) return read_found(&found, out, error);
    if (found.count > 1)
        return address_fail(error, CEN_EXISTS, "Several processes have inspection enabled; choose one:");
    if (why.status != CEN_OK) return address_fail(error, why.status, "%s", why.text);
    return address_fail(error, CEN_ABSENT,
                        "No process of %s has inspection enabled: a program enables it with cen_inspect_start. For a "
                        "process elsewhere, give its address: http://HOST:PORT/ or unix:PATH.",
                        geteuid() == 0 ? "any user" : "this user");
}

unsigned address_list(FILE *out)
{
    place_found found = {.out = out};
    place_look(&found, false, NULL);
    return found.count;
}

cen_status address_find(const char *text, address *out, cen_error *error)
{
    memset(out, 0, sizeof *out);
    if (!text || !*text) return find_only(out, error);
    if (is_number(text)) return find_process(strtol(text, NULL, 10), out, error);
    return read_written(text, out, error);
}
