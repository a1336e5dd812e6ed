/* SPDX-License-Identifier: MIT */
#include "faultproxy/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

static bool parse_port(const char *text, size_t size, in_port_t *out)
{
    unsigned port = 0;
    if (size < 1 || size > 5) return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    *out = htons((in_port_t)port);
    return port <= 65535;
}

static bool parse_path(fp_address *address, const char *text, size_t size)
{
    struct sockaddr_un *at = (struct sockaddr_un *)&address->at;
    if (size < 1 || size >= sizeof at->sun_path || memchr(text, 0, size)) return false;
    at->sun_family = AF_UNIX;
    memcpy(at->sun_path, text, size);
    address->size = sizeof *at;
    return true;
}

static bool parse_v6(fp_address *address, const char *host, in_port_t port)
{
    struct sockaddr_in6 *at = (struct sockaddr_in6 *)&address->at;
    at->sin6_family = AF_INET6;
    at->sin6_port = port;
    address->size = sizeof *at;
    return inet_pton(AF_INET6, host, &at->sin6_addr) == 1;
}

static bool parse_v4(fp_address *address, const char *host, in_port_t port)
{
    struct sockaddr_in *at = (struct sockaddr_in *)&address->at;
    at->sin_family = AF_INET;
    at->sin_port = port;
    address->size = sizeof *at;
    return inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &at->sin_addr) == 1;
}

/* Return the last colon of the text; NULL if there is none. */
static const char *last_colon(const char *text, size_t size)
{
    while (size && text[size - 1] != ':') size--;
    return size ? text + size - 1 : NULL;
}

bool fp_address_parse(fp_address *address, const char *text, size_t size)
{
    static const char prefix[] = "unix:";
    char host[64];
    in_port_t port;
    memset(address, 0, sizeof *address);
    if (size >= sizeof prefix - 1 && memcmp(text, prefix, sizeof prefix - 1) == 0)
        return parse_path(address, text + sizeof prefix - 1, size - (sizeof prefix - 1));
    const char *colon = last_colon(text, size);
    if (!colon || !parse_port(colon + 1, size - (size_t)(colon + 1 - text), &port)) return false;
    size_t length = (size_t)(colon - text);
    bool bracketed = length >= 2 && text[0] == '[' && text[length - 1] == ']';
    if (bracketed) text++, length -= 2;
    if (length >= sizeof host || memchr(text, 0, length)) return false;
    memcpy(host, text, length);
    host[length] = 0;
    return bracketed ? parse_v6(address, host, port) : parse_v4(address, host, port);
}

void fp_address_text(const fp_address *address, char out[FP_ADDRESS_TEXT])
{
    char host[INET6_ADDRSTRLEN] = "";
    if (address->at.ss_family == AF_UNIX) {
        snprintf(out, FP_ADDRESS_TEXT, "unix:%s", fp_address_path(address));
    } else if (address->at.ss_family == AF_INET6) {
        const struct sockaddr_in6 *at = (const struct sockaddr_in6 *)&address->at;
        inet_ntop(AF_INET6, &at->sin6_addr, host, sizeof host);
        snprintf(out, FP_ADDRESS_TEXT, "[%s]:%u", host, (unsigned)ntohs(at->sin6_port));
    } else {
        const struct sockaddr_in *at = (const struct sockaddr_in *)&address->at;
        inet_ntop(AF_INET, &at->sin_addr, host, sizeof host);
        snprintf(out, FP_ADDRESS_TEXT, "%s:%u", host, (unsigned)ntohs(at->sin_port));
    }
}

const char *fp_address_path(const fp_address *address)
{
    return address->at.ss_family == AF_UNIX ? ((const struct sockaddr_un *)&address->at)->sun_path : NULL;
}
