/* SPDX-License-Identifier: MIT */
#include "tool/relay_head.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A part of the request's bytes, not terminated by a zero. */
typedef struct part {
    const char *at;
    size_t length;
} part;

typedef struct metric {
    const relay_tokens *tokens;
    relay_request *out;
    bool has_host, has_token, has_length;
    size_t body;
} metric;

static bool refuse(metric *self, unsigned code, const char *status, const char *text)
{
    self->out->code = code;
    self->out->status = status;
    self->out->text = text;
    return false;
}

__attribute__((format(printf, 2, 3))) static bool put(metric *self, const char *format, ...)
{
    relay_request *out = self->out;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(out->bytes + out->length, sizeof out->bytes - out->length, format, arguments);
    va_end(arguments);
    if (length < 0 || out->length + (size_t)length >= sizeof out->bytes)
        return refuse(self, 431, "INVALID", "the request line and headers are too long");
    out->length += (size_t)length;
    return true;
}

static bool is_word(part p, const char *word)
{
    return p.length == strlen(word) && strncasecmp(p.at, word, p.length) == 0;
}

static bool ends_in(part p, const char *end)
{
    size_t length = strlen(end);
    return p.length > length && memcmp(p.at + p.length - length, end, length) == 0;
}

/* ---- The first line ------------------------------------------------------------------------ */

/* H2: return true for "/" and for a file of the page, a plain name. */
static bool is_free(part path)
{
    if (path.length == 1) return true;
    for (size_t i = 1; i < path.length; i++)
        if (!isalnum((unsigned char)path.at[i]) && !strchr("_-.", path.at[i])) return false;
    return ends_in(path, ".js") || ends_in(path, ".css") || ends_in(path, ".svg") || ends_in(path, ".html");
}

static bool read_line(metric *self, part line, bool *free_of_token)
{
    static const char *const methods[] = {"GET ", "HEAD ", "POST "};
    size_t method = 0;
    for (size_t i = 0; i < line.length; i++)
        if ((unsigned char)line.at[i] < ' ')
            return refuse(self, 400, "INVALID", "the request line contains a control character");
    while (method < 3 && (line.length < 6 || strncmp(line.at, methods[method], strlen(methods[method])) != 0)) method++;
    if (method == 3) return refuse(self, 405, "INVALID", "only GET, HEAD and POST are allowed");
    part target = {.at = line.at + strlen(methods[method])};
    const char *space = memchr(target.at, ' ', (size_t)(line.at + line.length - target.at));
    if (!space || *target.at != '/') return refuse(self, 400, "INVALID", "the request has no path");
    target.length = (size_t)(space - target.at);
    part version = {.at = space + 1, .length = (size_t)(line.at + line.length - space - 1)};
    if (!is_word(version, "HTTP/1.1") && !is_word(version, "HTTP/1.0"))
        return refuse(self, 400, "INVALID", "the request is not HTTP/1.1");
    const char *query = memchr(target.at, '?', target.length);
    part path = {.at = target.at, .length = query ? (size_t)(query - target.at) : target.length};
    *free_of_token = is_free(path);
    if (*free_of_token) target = path; /* the page's address contains our token */
    return put(self, "%s%.*s HTTP/1.1\r\n", methods[method], (int)target.length, target.at);
}

/* ---- One header ---------------------------------------------------------------------------- */

/* H1 */
static bool is_here(part host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        bool begins = host.length >= length && strncasecmp(host.at, names[i], length) == 0;
        if (begins && (host.length == length || host.at[length] == ':')) return true;
    }
    return false;
}

/* Compare two tokens. The time does not depend on the position of the first difference. */
static bool is_token(part given, const char *token)
{
    static const char bearer[] = "Bearer ";
    size_t before = sizeof bearer - 1, length = strlen(token);
    if (given.length < before || strncasecmp(given.at, bearer, before) != 0) return false;
    unsigned different = given.length - before != length;
    for (size_t i = 0; i < length; i++)
        different |= (unsigned char)token[i] ^ (unsigned char)(before + i < given.length ? given.at[before + i] : 0);
    return different == 0;
}

/* H3 */
static bool read_length(metric *self, part value)
{
    size_t number = 0;
    if (self->has_length || value.length == 0 || value.length > 9)
        return refuse(self, 400, "INVALID", "Content-Length is repeated or malformed");
    for (size_t i = 0; i < value.length; i++) {
        if (!isdigit((unsigned char)value.at[i])) return refuse(self, 400, "INVALID", "Content-Length is not a number");
        number = number * 10 + (size_t)(value.at[i] - '0');
    }
    if (number > RELAY_BODY_MOST) return refuse(self, 413, "INVALID", "the body is larger than 4096 bytes");
    self->has_length = true;
    self->body = number;
    return put(self, "Content-Length: %zu\r\n", number);
}

/* H4 */
static bool is_kept_here(part name)
{
    static const char *const names[] = {"authorization", "connection", "keep-alive", "cookie", "te",
                                        "trailer",       "upgrade",    "expect"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_word(name, names[i])) return true;
    return name.length > 6 && strncasecmp(name.at, "proxy-", 6) == 0;
}

static bool take_header(metric *self, part name, part value)
{
    if (is_word(name, "host")) {
        if (self->has_host) return refuse(self, 400, "INVALID", "the request has more than one Host header");
        if (!is_here(value)) return refuse(self, 403, "MISUSE", "the Host must be localhost, 127.0.0.1 or [::1]");
        self->has_host = true;
    }
    if (is_word(name, "transfer-encoding")) return refuse(self, 411, "INVALID", "a body needs a Content-Length");
    if (is_word(name, "content-length")) return read_length(self, value);
    if (is_word(name, "authorization")) self->has_token = is_token(value, self->tokens->ours);
    if (is_kept_here(name)) return true;
    return put(self, "%.*s: %.*s\r\n", (int)name.length, name.at, (int)value.length, value.at);
}

static bool read_header(metric *self, part line)
{
    const char *colon = memchr(line.at, ':', line.length);
    if (!colon) return refuse(self, 400, "INVALID", "a header has no colon");
    part name = {line.at, (size_t)(colon - line.at)}, value = {colon + 1, (size_t)(line.at + line.length - colon - 1)};
    for (size_t i = 0; i < name.length; i++)
        if (!isalnum((unsigned char)name.at[i]) && !strchr("!#$%&'*+-.^_`|~", name.at[i])) name.length = 0;
    if (name.length == 0) return refuse(self, 400, "INVALID", "a header has no name");
    for (size_t i = 0; i < value.length; i++)
        if ((unsigned char)value.at[i] < ' ' && value.at[i] != '\t')
            return refuse(self, 400, "INVALID", "a header contains a control character");
    while (value.length && (*value.at == ' ' || *value.at == '\t')) value.at++, value.length--;
    while (value.length && (value.at[value.length - 1] == ' ' || value.at[value.length - 1] == '\t')) value.length--;
    return take_header(self, name, value);
}

/* ---- The whole request ----------------------------------------------------------------------- */

/* `head` ends with its last line end. */
static bool read_head(metric *self, part head)
{
    bool first = true, free_of_token = false;
    while (head.length > 0) {
        const char *end = memmem(head.at, head.length, "\r\n", 2);
        part line = {head.at, (size_t)(end - head.at)};
        if (!(first ? read_line(self, line, &free_of_token) : read_header(self, line))) return false;
        first = false;
        head.length -= line.length + 2, head.at = end + 2;
    }
    if (!self->has_host) return refuse(self, 400, "INVALID", "the request has no Host header");
    if (!free_of_token && !self->has_token)
        return refuse(self, 401, "MISUSE", "the token is missing or wrong: open the address that cenote page printed");
    if (*self->tokens->theirs && !put(self, "Authorization: Bearer %s\r\n", self->tokens->theirs)) return false;
    return put(self, "Connection: close\r\n\r\n");
}

relay_verdict relay_read(const char *bytes, size_t length, const relay_tokens *tokens, relay_request *out)
{
    metric self = {.tokens = tokens, .out = out};
    const char *end = memmem(bytes, length, "\r\n\r\n", 4);
    out->length = 0;
    if (!end || (size_t)(end - bytes) > RELAY_HEAD_MOST) {
        if (length <= RELAY_HEAD_MOST) return RELAY_MORE;
        refuse(&self, 431, "INVALID", "the request line and headers are larger than 16384 bytes");
        return RELAY_REFUSED;
    }
    size_t head = (size_t)(end - bytes) + 4;
    if (memchr(bytes, 0, head)) {
        refuse(&self, 400, "INVALID", "the request contains a zero byte");
        return RELAY_REFUSED;
    }
    if (!read_head(&self, (part){bytes, head - 2})) return RELAY_REFUSED;
    if (length - head < self.body) return RELAY_MORE;
    if (out->length + self.body > sizeof out->bytes) { /* each header grows by a space */
        refuse(&self, 431, "INVALID", "the request has too many headers");
        return RELAY_REFUSED;
    }
    memcpy(out->bytes + out->length, bytes + head, self.body);
    out->length += self.body;
    return RELAY_GOES;
}
