/* SPDX-License-Identifier: MIT */
/* Receiving bodies into memory, up to a limit. */
#include <stdint.h>

#include "curl/internal.h"

static bool grow(ceni_curl_body *body, size_t wanted)
{
    size_t room = body->room ? body->room : 1024;
    while (room < wanted) room = room > SIZE_MAX / 2 ? SIZE_MAX : room * 2;
    if (room - 1 > body->most) room = body->most + 1;
    char *bytes = realloc(body->bytes, room);
    if (!bytes) return false;
    body->bytes = bytes, body->room = room;
    return true;
}

size_t ceni_curl_body_write(char *bytes, size_t size, size_t count, void *argument)
{
    ceni_curl_body *body = argument;
    size_t more = size * count;
    if (more > body->most - body->size) {
        body->too_large = true;
        return more + 1; /* any other value than `more` ends the transfer */
    }
    if (body->size + more + 1 > body->room && !grow(body, body->size + more + 1)) {
        body->no_memory = true;
        return more + 1;
    }
    memcpy(body->bytes + body->size, bytes, more);
    body->size += more;
    body->bytes[body->size] = '\0';
    return more;
}

size_t ceni_curl_body_drop(char *bytes, size_t size, size_t count, void *nothing)
{
    (void)bytes, (void)nothing;
    return size * count;
}
