/* SPDX-License-Identifier: MIT */
/*
 * redis://[user[:password]@]host[:port][/database]
 * unix://[user[:password]@]/path[?db=database]
 *
 * An error about an invalid URL says what is wrong and never repeats the URL. It may contain a password, and an invalid
 * text does not show where.
 */
#include "redis/redis.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A part of the text, not terminated by a zero. */
typedef struct piece {
    const char *at;
    size_t size;
} piece;

static cen_status refused(cen_error *error, const char *why)
{
    *error = (cen_error){.status = CEN_INVALID};
    snprintf(error->text, sizeof error->text, "cen_redis_options.url: %s", why);
    return CEN_INVALID;
}

static int hex_of(char digit)
{
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
    return -1;
}

/* Return a copy with its %XX decoded. */
static cen_status decoded(piece from, char **out, cen_error *error)
{
    char *text = malloc(from.size + 1);
    size_t size = 0;
    if (!text) return refused(error, "out of memory"), error->status = CEN_NO_MEMORY;
    for (size_t i = 0; i < from.size; i++) {
        char c = from.at[i];
        if (c == '%') {
            int high = i + 2 < from.size ? hex_of(from.at[i + 1]) : -1,
                low = i + 2 < from.size ? hex_of(from.at[i + 2]) : -1;
            if (high < 0 || low < 0) goto undo_text;
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (c == '\0') goto undo_text;
        text[size++] = c;
    }
    text[size] = '\0';
    *out = text;
    return CEN_OK;

undo_text:
    free(text);
    return refused(error, "% must be followed by two hexadecimal digits, not 00");
}

/* Read a number without a sign, of digits only. */
static bool number_of(piece from, int most, int *out)
{
    int64_t number = 0;
    if (from.size == 0 || from.size > 10) return false;
    for (size_t i = 0; i < from.size; i++) {
        if (from.at[i] < '0' || from.at[i] > '9') return false;
        number = number * 10 + (from.at[i] - '0');
    }
    if (number > most) return false;
    *out = (int)number;
    return true;
}

static const char *find(piece in, char what)
{
    return in.size ? memchr(in.at, what, in.size) : NULL;
}

static piece until(piece in, const char *end)
{
    return (piece){in.at, (size_t)(end - in.at)};
}

static piece after(piece in, const char *end)
{
    return (piece){end + 1, in.size - (size_t)(end + 1 - in.at)};
}

/* Take [user[:password]@] off the front. The last @ counts, so an @ in a password need not be encoded. */
static cen_status parse_user(piece *rest, ceni_redis_url *url, cen_error *error)
{
    const char *end = NULL;
    for (size_t i = 0; i < rest->size; i++)
        if (rest->at[i] == '@') end = rest->at + i;
    if (!end) return CEN_OK;
    piece user = until(*rest, end);
    *rest = after(*rest, end);
    const char *colon = find(user, ':');
    if (colon) {
        piece password = after(user, colon);
        user = until(user, colon);
        if (password.size && decoded(password, &url->password, error) != CEN_OK) return error->status;
    }
    return user.size ? decoded(user, &url->user, error) : CEN_OK;
}

static cen_status parse_host(piece rest, ceni_redis_url *url, cen_error *error)
{
    piece host = rest;
    if (rest.size && rest.at[0] == '[') {
        const char *end = find(rest, ']');
        if (!end) return refused(error, "unclosed bracket of an IPv6 address");
        host = (piece){rest.at + 1, (size_t)(end - rest.at) - 1};
        rest = after(rest, end);
        if (rest.size && rest.at[0] != ':')
            return refused(error, "only a port may follow the bracket of an IPv6 address");
        if (rest.size) rest = after(rest, rest.at);
        else rest.at = NULL;
    } else {
        const char *colon = find(rest, ':');
        if (colon) host = until(rest, colon);
        rest = colon ? after(rest, colon) : (piece){NULL, 0};
    }
    if (host.size == 0) return refused(error, "no host");
    if (rest.at && (!number_of(rest, 65535, &url->port) || url->port == 0))
        return refused(error, "the port must be a number from 1 to 65535");
    return decoded(host, &url->host, error);
}

static cen_status parse_tcp(piece rest, ceni_redis_url *url, cen_error *error)
{
    if (find(rest, '?') || find(rest, '#'))
        return refused(error, "? and # are not allowed; write ? as %3F and # as %23 in the password");
    const char *slash = find(rest, '/');
    if (slash) {
        piece database = after(rest, slash);
        rest = until(rest, slash);
        if (database.size && !number_of(database, INT_MAX, &url->database))
            return refused(error, "only a database number may follow the first /; write / as %2F in the password");
    }
    if (parse_user(&rest, url, error) != CEN_OK) return error->status;
    return parse_host(rest, url, error);
}

static cen_status parse_unix(piece rest, ceni_redis_url *url, cen_error *error)
{
    const char *mark = find(rest, '?');
    if (mark) {
        piece query = after(rest, mark);
        rest = until(rest, mark);
        if (query.size < 4 || memcmp(query.at, "db=", 3) != 0 ||
            !number_of((piece){query.at + 3, query.size - 3}, INT_MAX, &url->database))
            return refused(error, "only db= and a database number may follow the ?");
    }
    const char *slash = find(rest, '/');
    if (!slash) return refused(error, "unix:// requires the absolute path of a socket");
    piece user = until(rest, slash), path = {slash, rest.size - user.size};
    if (parse_user(&user, url, error) != CEN_OK) return error->status;
    if (user.size) return refused(error, "unix:// allows no host, only the path of a socket");
    return decoded(path, &url->path, error);
}

static bool starts_with(piece *rest, const char *scheme)
{
    size_t size = strlen(scheme);
    if (rest->size < size || strncasecmp(rest->at, scheme, size) != 0) return false;
    rest->at += size;
    rest->size -= size;
    return true;
}

cen_status ceni_redis_url_parse(const char *text, ceni_redis_url *out, cen_error *error)
{
    piece rest = {text, strlen(text)};
    ceni_redis_url url = {.port = 6379};
    cen_status status;
    if (starts_with(&rest, "redis://")) status = parse_tcp(rest, &url, error);
    else if (starts_with(&rest, "unix://")) status = parse_unix(rest, &url, error);
    else if (starts_with(&rest, "rediss://"))
        status = refused(error, "rediss:// is not supported (no TLS); use a local TLS proxy");
    else status = refused(error, "must begin with redis:// or unix://");
    if (status == CEN_OK && url.user && !url.user[0]) status = refused(error, "the user is empty");
    if (status == CEN_OK) *out = url;
    else ceni_redis_url_fini(&url);
    return status;
}

void ceni_redis_url_fini(ceni_redis_url *url)
{
    if (url->password) explicit_bzero(url->password, strlen(url->password));
    free(url->user);
    free(url->password);
    free(url->host);
    free(url->path);
    *url = (ceni_redis_url){0};
}
