/* SPDX-License-Identifier: MIT */
/*
 * A text that grows up to a limit, and a JSON writer on it.
 *
 *     ceni_json json = {0};
 *     ceni_json_open(&json, NULL, '{');
 *     ceni_json_number(&json, "held", 3);
 *     ceni_json_close(&json, '}');
 *     ... json.text.bytes, json.text.length ...
 *     ceni_text_fini(&json.text);
 *
 * If memory runs out or the limit is exceeded, the text is marked as spoiled and takes no more output. The caller
 * checks that once, at the end.
 */
#ifndef CENI_INSPECT_TEXT_H
#define CENI_INSPECT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/component.h>

enum { CENI_TEXT_MOST = 16 << 20 };

typedef struct ceni_text {
    char *bytes; /* from malloc; NULL while empty */
    size_t length, room;
    bool spoiled;
    bool too_long; /* the limit was exceeded; false: out of memory */
} ceni_text;

void ceni_text_put(ceni_text *text, const char *bytes, size_t length);
void ceni_text_add(ceni_text *text, const char *words);
__attribute__((format(printf, 2, 3))) void ceni_text_print(ceni_text *text, const char *format, ...);
void ceni_text_fini(ceni_text *text);

/* Return the length of the UTF-8 character at `at`; 0: not valid. `at` ends with a zero. */
size_t ceni_utf8_length(const char *at);

typedef struct ceni_json {
    ceni_text text;
    bool follows; /* a comma comes first */
} ceni_json;

/* Pass a name for members of an object, and NULL for elements of an array. */
void ceni_json_open(ceni_json *json, const char *name, char bracket); /* '{' or '[' */
void ceni_json_close(ceni_json *json, char bracket);                  /* '}' or ']' */
void ceni_json_number(ceni_json *json, const char *name, int64_t value);
void ceni_json_count(ceni_json *json, const char *name, uint64_t value);
void ceni_json_truth(ceni_json *json, const char *name, bool value);
void ceni_json_words(ceni_json *json, const char *name,
                     const char *value); /* NULL becomes null; invalid UTF-8 becomes U+FFFD */

/* Write the component's description as members of the open object. */
void ceni_json_description(ceni_json *json, const cen_component *component, size_t most);

#endif
