/* SPDX-License-Identifier: MIT */
/*
 * Bytes as a file of events, or as a core file. Whatever they are, what is shown has a level, and texts that end; nothing
 * outside the bytes is read, and it does not take for ever. The first byte says where the file has changed when it is read
 * again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch/dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

typedef struct source {
    const uint8_t *bytes;
    size_t size, shown;
    unsigned reads, change;
} source;

static void complain(const char *text)
{
    fprintf(stderr, "%s\n", text);
    abort();
}

static cen_status read_bytes(void *argument, uint64_t at, void *out, size_t size, size_t *done)
{
    source *s = argument;
    *done = at >= s->size ? 0 : s->size - at < size ? s->size - (size_t)at : size;
    if (*done) memcpy(out, s->bytes + at, *done);
    if (++s->reads % 2 && *done > s->change) ((uint8_t *)out)[*done - s->change - 1] ^= (uint8_t)s->change;
    return CEN_OK;
}

static void show(void *argument, const cen_event *event)
{
    source *s = argument;
    if (event->level < CEN_LEVEL_TRACE || event->level > CEN_LEVEL_ERROR) complain("an event of no level is shown");
    if (!memchr(event->what, 0, sizeof event->what) || !memchr(event->text, 0, sizeof event->text) ||
        !memchr(event->component_kind, 0, sizeof event->component_kind) ||
        !memchr(event->component_name, 0, sizeof event->component_name) ||
        !memchr(event->part, 0, sizeof event->part) || !memchr(event->where, 0, sizeof event->where) ||
        !memchr(event->given_where, 0, sizeof event->given_where))
        complain("a text has no end");
    if (++s->shown > s->size) complain("more is shown than there can be");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0) return 0;
    uint8_t *exact = malloc(size); /* of just that size: a byte too many is found by the sanitizer */
    if (!exact) abort();
    memcpy(exact, bytes + 1, size - 1);
    source s = {.bytes = exact, .size = size - 1, .change = bytes[0]};
    ceni_dump dump = {.argument = &s, .read = read_bytes};
    cen_status status = ceni_dump_show(&dump, show, &s);
    if (status != CEN_OK && status != CEN_ABSENT && status != CEN_NO_MEMORY) complain("an answer that is none");
    if (status != CEN_OK && s.shown) complain("something is shown of what has no events");
    free(exact);
    return 0;
}
