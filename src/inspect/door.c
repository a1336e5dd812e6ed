/* SPDX-License-Identifier: MIT */
/*
 * Admission of requests, checked in this order. A client beyond the limit, or of another user, gets an error. The Host
 * header exposes pages of other sites that made a name of theirs resolve to this address (DNS rebinding). The Origin
 * header of a request with an effect must not be another site's. The token, if there is one, must be right.
 *
 * The page's own files contain no data and need no token, since a browser sends none when it loads them.
 */
#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "inspect/internal.h"

static const char *header(const ceni_visit *visit, const char *name)
{
    return MHD_lookup_connection_value(visit->connection, MHD_HEADER_KIND, name);
}

/* Return true for localhost and numeric addresses. Any other name could be made to resolve to this address. */
bool ceni_inspect_host_is_ours(const char *host)
{
    char words[64];
    unsigned char address[16];
    size_t length;
    if (host[0] == '[') {
        const char *end = strchr(host, ']');
        if (!end || (end[1] && end[1] != ':')) return false;
        length = (size_t)(end - host) - 1;
        host++;
    } else {
        length = strcspn(host, ":");
    }
    if (length == 0 || length >= sizeof words) return false;
    memcpy(words, host, length);
    words[length] = 0;
    return strcasecmp(words, "localhost") == 0 || inet_pton(AF_INET, words, address) == 1 ||
           inet_pton(AF_INET6, words, address) == 1;
}

/* Compare two tokens. The time depends only on the given token's length. */
static bool is_token(const char *given, const char *token)
{
    size_t length = strlen(given), expected = strlen(token);
    unsigned different = length != expected;
    for (size_t i = 0; i < expected; i++)
        different |= (unsigned char)token[i] ^ (unsigned char)(i < length ? given[i] : 0);
    return different == 0;
}

static bool has_token(const ceni_visit *visit)
{
    const char *token = visit->inspect->token, *bearer = header(visit, MHD_HTTP_HEADER_AUTHORIZATION);
    if (bearer && strncasecmp(bearer, "Bearer ", 7) == 0) return is_token(bearer + 7, token);
    const char *asked = MHD_lookup_connection_value(visit->connection, MHD_GET_ARGUMENT_KIND, "token");
    return asked && is_token(asked, token);
}

/* Return true if the origin is this server: "http://" or "https://" followed by the value of Host. It is "https://"
 * behind a proxy that terminates TLS. A host and port belong to one server, whatever the scheme. */
static bool is_own_origin(const ceni_visit *visit, const char *origin)
{
    const char *host = header(visit, MHD_HTTP_HEADER_HOST);
    size_t scheme = strncasecmp(origin, "https://", 8) == 0 ? 8 : strncasecmp(origin, "http://", 7) == 0 ? 7 : 0;
    return host && scheme && strcasecmp(origin + scheme, host) == 0;
}

static bool comes_from_elsewhere(const ceni_visit *visit)
{
    const char *origin = header(visit, MHD_HTTP_HEADER_ORIGIN), *site = header(visit, "Sec-Fetch-Site");
    if (origin && !is_own_origin(visit, origin)) return true;
    return site && strcasecmp(site, "same-origin") != 0 && strcasecmp(site, "none") != 0;
}

static const ceni_client *client_of(const ceni_visit *visit)
{
    return MHD_get_connection_info(visit->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static enum MHD_Result count_host(void *count, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind, (void)value;
    *(int *)count += strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0;
    return MHD_YES;
}

/* With two Host headers, a proxy may have checked the other one. */
static bool has_two_hosts(const ceni_visit *visit)
{
    int count = 0;
    MHD_get_connection_values(visit->connection, MHD_HEADER_KIND, count_host, &count);
    return count > 1;
}

static bool is_data(const char *path)
{
    return strncmp(path, "/api/", 5) == 0 || strcmp(path, "/api") == 0 || strcmp(path, "/metrics") == 0;
}

bool ceni_inspect_admits(const ceni_visit *visit, ceni_answer *answer)
{
    const cen_inspect *inspect = visit->inspect;
    const char *host = header(visit, MHD_HTTP_HEADER_HOST);
    unsigned refused = client_of(visit)->refused;
    if (refused == MHD_HTTP_SERVICE_UNAVAILABLE)
        ceni_answer_error(answer, refused, CEN_FULL, "too many clients (options.clients = %u)", inspect->clients);
    else if (refused) ceni_answer_error(answer, refused, CEN_MISUSE, "this socket is only for the user of the process");
    else if (!host && strcmp(visit->version, MHD_HTTP_VERSION_1_1) == 0)
        ceni_answer_error(answer, MHD_HTTP_BAD_REQUEST, CEN_INVALID, "HTTP/1.1 requires a Host header");
    else if (has_two_hosts(visit))
        ceni_answer_error(answer, MHD_HTTP_BAD_REQUEST, CEN_INVALID, "more than one Host header");
    else if (client_of(visit)->has_zero)
        ceni_answer_error(answer, MHD_HTTP_BAD_REQUEST, CEN_INVALID, "%%00 in the address is not allowed");
    /* on a Unix socket, too, because ssh -L can forward to it */
    else if (!inspect->anywhere && host && !ceni_inspect_host_is_ours(host))
        ceni_answer_error(answer, MHD_HTTP_FORBIDDEN, CEN_MISUSE,
                          "Host \"%.80s\" must be localhost or a numeric address", host);
    else if (strcmp(visit->method, "POST") == 0 && comes_from_elsewhere(visit))
        ceni_answer_error(answer, MHD_HTTP_FORBIDDEN, CEN_MISUSE,
                          "requests by pages of another site are refused (Origin)");
    else if (inspect->token && is_data(visit->path) && !has_token(visit))
        ceni_answer_error(answer, MHD_HTTP_UNAUTHORIZED, CEN_MISUSE,
                          "the token is missing or wrong; send \"Authorization: Bearer TOKEN\"");
    else return true;
    return false;
}
