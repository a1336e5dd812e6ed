/* SPDX-License-Identifier: MIT */
/*
 * Parse the addresses that the program gives, resolve them, and format endpoints.
 *
 * Tested by tests/unit/net/address_test.c.
 */
#include "net/socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/error.h"
#include "net/loop.h"
#include "port/port.h"

static cen_status refuse(cen_error *error, const char *who, const char *text, const char *why)
{
    return ceni_error_set(error, CEN_INVALID, 0, "%s: options.address is \"%.*s\": %s", who, CENI_ADDRESS_TEXT, text,
                          why);
}

/* Digits only. Service names, which getaddrinfo also accepts, depend on the machine's files. */
static bool is_port(const char *text, bool listens)
{
    long port = 0;
    size_t length = strlen(text);
    if (length == 0 || length > 5) return false;
    for (const char *digit = text; *digit; digit++) {
        if (*digit < '0' || *digit > '9') return false;
        port = port * 10 + (*digit - '0');
    }
    return port <= 65535 && (port > 0 || listens);
}

static cen_status parse_path(ceni_address *address, const char *path, const char *who, cen_error *error)
{
    size_t length = strlen(path);
    if (length == 0) return refuse(error, who, address->text, "no path after unix:");
    if (length >= sizeof((struct sockaddr_un *)0)->sun_path)
        return refuse(error, who, address->text, "path too long for a socket");
    address->is_path = true;
    memcpy(address->host, path, length + 1);
    return CEN_OK;
}

cen_status ceni_address_parse(ceni_address *address, const char *text, bool listens, const char *who, cen_error *error)
{
    static const char unix_prefix[] = "unix:";
    *address = (ceni_address){.is_path = false};
    if (!text) return ceni_error_set(error, CEN_INVALID, 0, "%s: options.address is NULL", who);
    if (strlen(text) >= sizeof address->text) return refuse(error, who, text, "address too long");
    memcpy(address->text, text, strlen(text) + 1);
    if (strncmp(text, unix_prefix, sizeof unix_prefix - 1) == 0)
        return parse_path(address, text + sizeof unix_prefix - 1, who, error);
    const char *colon = strrchr(text, ':'), *host = text;
    if (!colon) return refuse(error, who, text, "no port; write host:port, [v6]:port or unix:/path");
    size_t length = (size_t)(colon - host);
    bool bracketed = length >= 2 && host[0] == '[' && host[length - 1] == ']';
    if (bracketed) host++, length -= 2;
    if (!bracketed && memchr(host, ':', length))
        return refuse(error, who, text, "an IPv6 address needs brackets, as in [::1]:80");
    if (length == 0) return refuse(error, who, text, "no host");
    if (length >= sizeof address->host) return refuse(error, who, text, "host name too long");
    if (!is_port(colon + 1, listens)) return refuse(error, who, text, "the port must be a number from 1 to 65535");
    memcpy(address->host, host, length);
    memcpy(address->port, colon + 1, strlen(colon + 1) + 1);
    return CEN_OK;
}

/* ---- Endpoints of an address ------------------------------------------------------------------ */

static void path_endpoint(const ceni_address *address, ceni_endpoints *out)
{
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    size_t length = strlen(address->host);
    memcpy(path.sun_path, address->host, length + 1);
    *out = (ceni_endpoints){.count = 1};
    memcpy(&out->each[0].at, &path, sizeof path);
    out->each[0].size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
}

static void copy_endpoints(const struct addrinfo *found, ceni_endpoints *out)
{
    out->count = 0;
    for (; found && out->count < CENI_ENDPOINTS; found = found->ai_next) {
        if (found->ai_addrlen > sizeof out->each[0].at) continue;
        ceni_endpoint *endpoint = &out->each[out->count++];
        *endpoint = (ceni_endpoint){.size = (socklen_t)found->ai_addrlen};
        memcpy(&endpoint->at, found->ai_addr, found->ai_addrlen);
    }
}

cen_status ceni_address_resolve(const ceni_address *address, bool numeric, ceni_endpoints *out, cen_error *error)
{
    struct addrinfo *found = NULL;
    char cause[CENI_CAUSE_SIZE];
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | (numeric ? AI_NUMERICHOST : 0)};
    if (address->is_path) {
        path_endpoint(address, out);
        return CEN_OK;
    }
    int held = ceni_cancel_hold();
    int result = getaddrinfo(address->host, address->port, &wanted, &found);
    int code = errno;
    ceni_cancel_release(held);
    if (numeric && result == EAI_NONAME) return CEN_ABSENT;
    if (result != 0) {
        ceni_error_set(error, CEN_SYSTEM, result == EAI_SYSTEM ? code : 0, "cannot look up %s: %s", address->text,
                       result == EAI_SYSTEM ? ceni_errno_text(code, cause) : gai_strerror(result));
        return ceni_error_because(error, CEN_CAUSE_LOOKUP_FAILED, CEN_SYSTEM);
    }
    copy_endpoints(found, out);
    freeaddrinfo(found);
    if (out->count) return CEN_OK;
    ceni_error_set(error, CEN_SYSTEM, 0, "cannot look up %s: no address", address->text);
    return ceni_error_because(error, CEN_CAUSE_LOOKUP_FAILED, CEN_SYSTEM);
}

void ceni_endpoint_show(const ceni_endpoint *endpoint, char text[CENI_ADDRESS_TEXT])
{
    char host[64], port[8];
    if (endpoint->at.ss_family == AF_UNIX) {
        const struct sockaddr_un *path = (const struct sockaddr_un *)(const void *)&endpoint->at;
        snprintf(text, CENI_ADDRESS_TEXT, "unix:%s", path->sun_path);
        return;
    }
    int result = getnameinfo((const struct sockaddr *)&endpoint->at, endpoint->size, host, sizeof host, port,
                             sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    if (result != 0) snprintf(text, CENI_ADDRESS_TEXT, "?");
    else if (strchr(host, ':')) snprintf(text, CENI_ADDRESS_TEXT, "[%s]:%s", host, port);
    else snprintf(text, CENI_ADDRESS_TEXT, "%s:%s", host, port);
}
