/* SPDX-License-Identifier: MIT */
/*
 * Where a socket is: "127.0.0.1:5432", "[::1]:5432", "localhost:5432" (which is 127.0.0.1), "unix:/path".
 *
 * Names are not looked up: a proxy for tests must not depend on what some resolver says.
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

/* False if the text is no address. Port 0 is one: whoever connects to it will see. */
bool fp_address_parse(fp_address *address, const char *text, size_t size);

/* As it would be written. */
void fp_address_text(const fp_address *address, char out[FP_ADDRESS_TEXT]);

/* The path of a Unix socket; NULL if it is none. */
const char *fp_address_path(const fp_address *address);

#endif
