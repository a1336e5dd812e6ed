/* SPDX-License-Identifier: MIT */
/*
 * JSON output, and descriptions as JSON. Brackets are counted here, so that a component whose description leaves a list
 * open, or closes too many, cannot make the whole response invalid.
 */
#include <inttypes.h>
#include <string.h>

#include "inspect/text.h"

/* Return the number of leading bytes that need no escape. */
static size_t plain_length(const char *words)
{
    size_t plain = 0;
    for (;;) {
        unsigned char byte = (unsigned char)words[plain];
        if (byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7F) return plain; /* the terminating zero, too */
        size_t length = byte < 0x80 ? 1 : ceni_utf8_length(words + plain);
        if (length == 0) return plain;
        plain += length;
    }
}

static void quote(ceni_text *text, const char *words)
{
    ceni_text_put(text, "\"", 1);
    for (;; words++) {
        size_t plain = plain_length(words);
        ceni_text_put(text, words, plain);
        words += plain;
        if (!*words) break;
        if ((unsigned char)*words >= 0x80) ceni_text_add(text, "\\ufffd");
        else if (*words == '\n') ceni_text_add(text, "\\n");
        else if (*words == '"' || *words == '\\') ceni_text_print(text, "\\%c", *words);
        else ceni_text_print(text, "\\u%04x", (unsigned)(unsigned char)*words);
    }
    ceni_text_put(text, "\"", 1);
}

static void begin(ceni_json *json, const char *name)
{
    if (json->follows) ceni_text_put(&json->text, ",", 1);
    json->follows = true;
    if (!name) return;
    quote(&json->text, name);
    ceni_text_put(&json->text, ":", 1);
}

void ceni_json_open(ceni_json *json, const char *name, char bracket)
{
    begin(json, name);
    ceni_text_put(&json->text, &bracket, 1);
    json->follows = false;
}

void ceni_json_close(ceni_json *json, char bracket)
{
    ceni_text_put(&json->text, &bracket, 1);
    json->follows = true;
}

void ceni_json_number(ceni_json *json, const char *name, int64_t value)
{
    begin(json, name);
    ceni_text_print(&json->text, "%" PRId64, value);
}

void ceni_json_count(ceni_json *json, const char *name, uint64_t value)
{
    begin(json, name);
    ceni_text_print(&json->text, "%" PRIu64, value);
}

void ceni_json_truth(ceni_json *json, const char *name, bool value)
{
    begin(json, name);
    ceni_text_add(&json->text, value ? "true" : "false");
}

void ceni_json_words(ceni_json *json, const char *name, const char *value)
{
    begin(json, name);
    if (value) quote(&json->text, value);
    else ceni_text_add(&json->text, "null");
}

/* ---- Descriptions ------------------------------------------------------------------ */

/* Inside the component's object lists and items alternate, so the depth tells which one is open. */
enum { DEPTH_MOST = 64 };

typedef struct drawing {
    ceni_json *json;
    unsigned depth; /* odd: in a list; even: in an item or in the component */
    unsigned lost;  /* begins that were dropped, and whose ends are still to come */
} drawing;

static bool in_list(const drawing *d)
{
    return d->depth % 2 == 1;
}

static void draw_number(void *argument, const char *name, int64_t value)
{
    drawing *d = argument;
    if (!d->lost && !in_list(d)) ceni_json_number(d->json, name, value);
}

static void draw_truth(void *argument, const char *name, bool value)
{
    drawing *d = argument;
    if (!d->lost && !in_list(d)) ceni_json_truth(d->json, name, value);
}

static void draw_text(void *argument, const char *name, const char *value)
{
    drawing *d = argument;
    if (!d->lost && !in_list(d)) ceni_json_words(d->json, name, value);
}

static void draw_list(void *argument, const char *name)
{
    drawing *d = argument;
    if (d->lost || in_list(d) || d->depth == DEPTH_MOST) {
        d->lost++;
        return;
    }
    ceni_json_open(d->json, name, '[');
    d->depth++;
}

static void draw_item(void *argument)
{
    drawing *d = argument;
    if (d->lost || !in_list(d)) {
        d->lost++;
        return;
    }
    ceni_json_open(d->json, NULL, '{');
    d->depth++;
}

static void draw_end(void *argument)
{
    drawing *d = argument;
    if (d->lost) {
        d->lost--;
    } else if (d->depth) {
        ceni_json_close(d->json, in_list(d) ? ']' : '}');
        d->depth--;
    }
}

void ceni_json_description(ceni_json *json, const cen_component *component, size_t most)
{
    drawing d = {.json = json};
    cen_description_writer description = {.argument = &d,
                                          .number = draw_number,
                                          .truth = draw_truth,
                                          .text = draw_text,
                                          .list = draw_list,
                                          .item = draw_item,
                                          .end = draw_end};
    cen_component_describe(component, &description, most);
    d.lost = 0;
    while (d.depth) draw_end(&d);
}
