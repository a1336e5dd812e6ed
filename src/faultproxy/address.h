/* SPDX-License-Identifier: MIT */
/*
 * Socket addresses: "127.0.0.1:5432", "[::1]:5432", "localhost:5432" (which is 127.0.0.1), "unix:/path".
 *
 * Names are not looked up, because a proxy for tests must not depend on a resolver.
 */
#ifndef FAULTPROXY_ADDRESS_H
#define FAULTPROXY_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum { FP_ADDRESS_TEXT = 160 };

typedef struct fp_address {
    struct sockaddr_storage at;
    socklen_t size;
} fp_address;

/* Parse an address. Returns false if the text is not one. Port 0 is allowed; a connect to it will fail. */
bool fp_address_parse(fp_address *address, const char *text, size_t size);

/* Write the address in the same form. */
void fp_address_text(const fp_address *address, char out[FP_ADDRESS_TEXT]);

/* Return the path of a Unix socket; NULL for other addresses. */
const char *fp_address_path(const fp_address *address);

#endif
