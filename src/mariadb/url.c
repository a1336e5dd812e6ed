/* SPDX-License-Identifier: MIT */
/*
 * mariadb://user:password@host:port/database?name=value&...
 *
 * An error about an invalid URL names the part. It quotes no part that may be or contain a password.
 */
#include "mariadb/internal.h"

char *ceni_mariadb_keep(ceni_mariadb_server *server, const char *text, size_t length)
{
    enum { MOST = sizeof server->texts / sizeof *server->texts };
    char *copy = server->text_count < MOST ? strndup(text, length) : NULL;
    if (copy) server->texts[server->text_count++] = copy;
    return copy;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Decode percent escapes in place: %41 becomes A. Returns false if two digits are missing after a %, or for %00. */
static bool decode(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++) {
        bool is_code = *at == '%';
        int high = is_code ? digit_of(at[1]) : 0, low = is_code && high >= 0 ? digit_of(at[2]) : 0;
        if (high < 0 || low < 0 || (is_code && high + low == 0)) return false;
        *to++ = is_code ? (char)(high * 16 + low) : *at;
        if (is_code) at += 2;
    }
    *to = 0;
    return true;
}

/* Store a part of the URL; an empty one becomes NULL. */
static cen_status part(ceni_mariadb_server *server, const char *name, const char *from, size_t length, const char **out,
                       cen_error *error)
{
    *out = NULL;
    if (length == 0) return CEN_OK;
    char *text = ceni_mariadb_keep(server, from, length);
    if (!text)
        return ceni_mariadb_text(error, CEN_NO_MEMORY, "cen_mariadb_options.url: out of memory or too many parts");
    *out = text;
    return decode(text) ? CEN_OK
                        : ceni_mariadb_text(error, CEN_INVALID,
                                            "cen_mariadb_options.url: invalid percent-encoding in the %s", name);
}

/* ---- Parameters --------------------------------------------------------------------- */

static bool seconds_of(const char *text, int64_t *out)
{
    int64_t ns = 0, unit = 1000000000;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (ns > INT64_MAX / 100 - unit * 10) return false;
        ns = ns * 10 + (*at - '0') * unit;
    }
    if (*at == '.') {
        for (at++; *at >= '0' && *at <= '9'; at++) ns += (*at - '0') * (unit /= 10);
    }
    if (at == text || *at) return false;
    *out = ns ? ns : CEN_OFF;
    return true;
}

static bool word_of(const char *text, const char *const *words, int *out)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(text, words[i]) == 0) return *out = i, true;
    return false;
}

static bool number_of(const char *text, int32_t *out)
{
    int64_t ns;
    if (strchr(text, '.') || !seconds_of(text, &ns) || ns / 1000000000 > INT32_MAX) return false;
    *out = ns == CEN_OFF ? CEN_NONE : (int32_t)(ns / 1000000000);
    return true;
}

/* Only if the option is zero, so that the program's own value takes precedence. */
#define SET(field, value) ((field) = (field) ? (field) : (value))

static bool set_text(cen_mariadb_options *o, const char *name, const char *value)
{
    if (strcmp(name, "charset") == 0) return SET(o->charset, value), true;
    if (strcmp(name, "tls_ca") == 0) return SET(o->tls_ca, value), true;
    if (strcmp(name, "tls_cert") == 0) return SET(o->tls_cert, value), true;
    if (strcmp(name, "tls_key") == 0) return SET(o->tls_key, value), true;
    if (strcmp(name, "tls_cipher") == 0) return SET(o->tls_cipher, value), true;
    return false;
}

static cen_status set(ceni_mariadb_server *server, const char *name, const char *value, cen_error *error)
{
    static const char *const roles[] = {"any", "primary", "replica", NULL},
                             *const resets[] = {"changed", "all", "nothing", NULL},
                             *const levels[] = {"default", "off", "on", "verify", NULL},
                             *const switches[] = {"off", "on", NULL};
    cen_mariadb_options *o = &server->options;
    int64_t ns = 0;
    int word = 0;
    int32_t number = 0;
    bool good = false;
    if (strcmp(name, "socket") == 0) server->socket = value, good = true;
    else if (set_text(o, name, value)) good = true;
    else if (strcmp(name, "connect_timeout") == 0) good = seconds_of(value, &ns), SET(o->connect_timeout_ns, ns);
    else if (strcmp(name, "read_timeout") == 0) good = seconds_of(value, &ns), SET(o->read_timeout_ns, ns);
    else if (strcmp(name, "write_timeout") == 0) good = seconds_of(value, &ns), SET(o->write_timeout_ns, ns);
    else if (strcmp(name, "statements") == 0) good = number_of(value, &number), SET(o->statements, number);
    else if (strcmp(name, "role") == 0) good = word_of(value, roles, &word), SET(o->role, (cen_mariadb_role)word);
    else if (strcmp(name, "reset") == 0)
        good = word_of(value, resets, &word), SET(o->reset, (cen_mariadb_reset_policy)word);
    else if (strcmp(name, "tls") == 0) good = word_of(value, levels, &word), SET(o->tls, (cen_mariadb_tls)word);
    else if (strcmp(name, "local_infile") == 0) good = word_of(value, switches, &word), o->local_infile |= word == 1;
    else if (strcmp(name, "compress") == 0) good = word_of(value, switches, &word), o->compress |= word == 1;
    else return ceni_mariadb_text(error, CEN_INVALID, "cen_mariadb_options.url: unknown parameter \"%.60s\"", name);
    return good ? CEN_OK
                : ceni_mariadb_text(error, CEN_INVALID,
                                    "cen_mariadb_options.url: invalid value of parameter \"%s\" (got \"%.60s\")", name,
                                    value);
}

static cen_status parameters(ceni_mariadb_server *server, const char *at, cen_error *error)
{
    cen_status status = CEN_OK;
    while (status == CEN_OK && *at) {
        size_t length = strcspn(at, "&"), name_length = strcspn(at, "=&");
        const char *name, *value;
        if (name_length == length)
            return ceni_mariadb_text(error, CEN_INVALID, "cen_mariadb_options.url: parameter \"%.*s\" has no value",
                                     (int)(length < 60 ? length : 60), at);
        status = part(server, "name of a parameter", at, name_length, &name, error);
        if (status == CEN_OK)
            status =
                part(server, "value of a parameter", at + name_length + 1, length - name_length - 1, &value, error);
        if (status == CEN_OK) status = set(server, name ? name : "", value ? value : "", error);
        at += length;
        if (*at == '&') at++;
    }
    return status;
}

/* ---- User, host, port and database ------------------------------------------------------- */

static cen_status port_of(ceni_mariadb_server *server, const char *from, size_t length, cen_error *error)
{
    unsigned port = 0;
    for (size_t i = 0; i < length; i++) {
        if (from[i] < '0' || from[i] > '9' || port > 6553)
            return ceni_mariadb_text(error, CEN_INVALID,
                                     "cen_mariadb_options.url: the port must be a number up to 65535");
        port = port * 10 + (unsigned)(from[i] - '0');
    }
    if (port > 65535)
        return ceni_mariadb_text(error, CEN_INVALID, "cen_mariadb_options.url: the port must be a number up to 65535");
    server->port = (uint16_t)port;
    server->has_port = length > 0;
    return CEN_OK;
}

/* host, host:port or [v6]:port */
static cen_status place(ceni_mariadb_server *server, const char *from, size_t length, cen_error *error)
{
    const char *end = from + length, *host = from, *host_end;
    if (*from == '[' && length) {
        host = from + 1;
        host_end = memchr(from, ']', length);
        if (!host_end)
            return ceni_mariadb_text(error, CEN_INVALID,
                                     "cen_mariadb_options.url: the host begins with [ but has no ]");
        from = host_end + 1;
    } else {
        const char *colon = memchr(from, ':', length);
        from = host_end = colon ? colon : end;
    }
    if (from < end && *from != ':')
        return ceni_mariadb_text(error, CEN_INVALID, "cen_mariadb_options.url: only a port may follow the host");
    cen_status status = part(server, "host", host, (size_t)(host_end - host), &server->host, error);
    if (status == CEN_OK && from < end) status = port_of(server, from + 1, (size_t)(end - from - 1), error);
    if (status == CEN_OK && server->host && server->host[0] == '/') {
        server->socket = server->host;
        server->host = NULL;
    }
    return status;
}

cen_status ceni_mariadb_url(ceni_mariadb_server *server, const char *url, cen_error *error)
{
    const char *at = strncmp(url, "mariadb://", 10) == 0 ? url + 10 : strncmp(url, "mysql://", 8) == 0 ? url + 8 : NULL;
    if (!at)
        return ceni_mariadb_text(error, CEN_INVALID, "cen_mariadb_options.url must begin with mariadb:// or mysql://");
    const char *end = at + strcspn(at, "/?"), *sign = NULL;
    /* The text after the host may be the rest of a password, and must not be shown. */
    if (strchr(end, '@'))
        return ceni_mariadb_text(
            error, CEN_INVALID,
            "cen_mariadb_options.url: unexpected @ after the first / or ?; write / as %%2F and ? as %%3F in the "
            "password, and @ elsewhere as %%40");
    for (const char *c = at; c < end; c++)
        if (*c == '@') sign = c; /* the last one, for passwords with an @ that is not written as %40 */
    cen_status status = CEN_OK;
    if (sign) {
        const char *colon = memchr(at, ':', (size_t)(sign - at)), *name_end = colon ? colon : sign;
        status = part(server, "user", at, (size_t)(name_end - at), &server->user, error);
        if (status == CEN_OK && colon)
            status = part(server, "password", colon + 1, (size_t)(sign - colon - 1), &server->password, error);
        at = sign + 1;
    }
    if (status == CEN_OK) status = place(server, at, (size_t)(end - at), error);
    if (status == CEN_OK && *end == '/') {
        size_t length = strcspn(end + 1, "?");
        status = part(server, "database", end + 1, length, &server->database, error);
        end += 1 + length;
    }
    if (status == CEN_OK && *end == '?') status = parameters(server, end + 1, error);
    return status;
}
