/* SPDX-License-Identifier: MIT */
/*
 * What libcenote-inspect reads from a request without libmicrohttpd's help: the body that tells a component something, the
 * arguments, and the Host. The first byte says which.
 *
 * What is read must be as it was written: a action that was read is in the body, and whoever writes it again in the
 * plainest way is understood in the same way.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void fuzz_body(const char *text, size_t length)
{
    ceni_telling first, again;
    cen_error error = {.text = ""};
    char plain[128];
    if (!ceni_telling_read(text, length, &first, &error)) {
        assert(error.status == CEN_INVALID && error.text[0]);
        return;
    }
    assert(first.action[0] && strstr(text, first.action));
    int written =
        snprintf(plain, sizeof plain, "{\"value\":%lld,\"action\":\"%s\"}", (long long)first.value, first.action);
    assert(ceni_telling_read(plain, (size_t)written, &again, &error));
    assert(strcmp(first.action, again.action) == 0 && first.value == again.value);
}

/* name=value&name=value, as far as there is any. */
static void fuzz_query(char *text)
{
    ceni_query query = {.allowed = ~0u};
    cen_error error = {.text = ""};
    for (char *next; text; text = next) {
        next = strchr(text, '&');
        if (next) *next++ = 0;
        char *value = strchr(text, '=');
        if (value) *value++ = 0;
        if (ceni_query_take(&query, text, value, &error)) continue;
        assert(error.status == CEN_INVALID && error.text[0]);
        return;
    }
    assert(query.limit <= 10000 && query.most <= 1000000);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0) return 0;
    char *text = malloc(size); /* exactly as long, with its zero, so that whoever reads on is seen */
    memcpy(text, bytes + 1, size - 1);
    text[size - 1] = 0;
    if (bytes[0] % 3 == 0) fuzz_body(text, size - 1);
    else if (bytes[0] % 3 == 1) fuzz_query(text);
    else ceni_inspect_host_is_ours(text);
    free(text);
    return 0;
}
