/* SPDX-License-Identifier: MIT */
/*
 * A text that grows, up to a bound; and JSON written into one.
 *
 *     ceni_json json = {0};
 *     ceni_json_open(&json, NULL, '{');
 *     ceni_json_number(&json, "held", 3);
 *     ceni_json_close(&json, '}');
 *     ... json.text.bytes, json.text.length ...
 *     ceni_text_fini(&json.text);
 *
 * One that finds no memory, or would pass the bound, is spoiled: nothing is
 * written any more, and whoever wanted it says so at the end, once.
 */
#ifndef CENI_INSPECT_TEXT_H
#define CENI_INSPECT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/component.h>

enum { CENI_TEXT_MOST = 16 << 20 };

typedef struct ceni_text {
    char *bytes; /* of malloc's; NULL while there is nothing in it */
    size_t length, room;
    bool spoiled;
    bool too_long; /* it is spoiled by the bound, and not for want of memory */
} ceni_text;

void ceni_text_put(ceni_text *text, const char *bytes, size_t length);
void ceni_text_add(ceni_text *text, const char *words);
__attribute__((format(printf, 2, 3))) void ceni_text_print(ceni_text *text, const char *format, ...);
void ceni_text_fini(ceni_text *text);

/* How many bytes at `at` are one character of UTF-8, as the standard has them; 0: they are none. `at` ends with a zero. */
size_t ceni_utf8_length(const char *at);

typedef struct ceni_json {
    ceni_text text;
    bool follows; /* something precedes at this level: a comma comes first */
} ceni_json;

/* Members of an object have a name, elements of an array have NULL. */
void ceni_json_open(ceni_json *json, const char *name, char bracket); /* '{' or '[' */
void ceni_json_close(ceni_json *json, char bracket);                  /* '}' or ']' */
void ceni_json_number(ceni_json *json, const char *name, int64_t value);
void ceni_json_count(ceni_json *json, const char *name, uint64_t value);
void ceni_json_truth(ceni_json *json, const char *name, bool value);
void ceni_json_words(ceni_json *json, const char *name,
                     const char *value); /* NULL is null; what is no UTF-8 becomes U+FFFD */

/* Writes the component's description as members of the object that is open. */
void ceni_json_description(ceni_json *json, const cen_component *component, size_t most);

#endif
