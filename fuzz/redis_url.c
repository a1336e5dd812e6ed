/* SPDX-License-Identifier: MIT */
/*
 * Bytes as the URL of a Redis server, and as a command in RESP. What is accepted has a host or a path, numbers within their bounds
 * and no part that is empty where it must not be; what is refused says why, and does not repeat what it was given. A
 * command is read within its bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/redis.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void complain(const char *text)
{
    fprintf(stderr, "%s\n", text);
    abort();
}

static void parse(const char *text)
{
    ceni_redis_url url;
    cen_error error = {.text = ""};
    cen_status status = ceni_redis_url_parse(text, &url, &error);
    if (status != CEN_OK) {
        if (status != CEN_INVALID || strlen(error.text) < 20) complain("a refusal says too little");
        return;
    }
    if (!url.host == !url.path) complain("there is neither a host nor a path, or both");
    if (url.host && !url.host[0]) complain("the host is empty");
    if (url.path && url.path[0] != '/') complain("the path does not begin at the root");
    if (url.user && !url.user[0]) complain("the user is empty");
    if (url.password && !url.password[0]) complain("the password is empty");
    if (url.port < 1 || url.port > 65535 || url.database < 0) complain("a number is out of its bounds");
    if (strlen(url.host ? url.host : url.path) > strlen(text)) complain("a part is longer than the whole");
    ceni_redis_url_fini(&url);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1); /* of just that size: a byte too many is found by the sanitizer */
    char *exact = malloc(size ? size : 1);
    if (!text || !exact) abort();
    memcpy(text, bytes, size);
    text[size] = '\0';
    if (size) memcpy(exact, bytes, size);
    parse(text);
    ceni_redis_effect effect = ceni_redis_effect_of(exact, size, 3);
    if (effect > CENI_REDIS_END) complain("there is no such effect");
    free(exact);
    free(text);
    return 0;
}
