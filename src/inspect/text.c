/* SPDX-License-Identifier: MIT */
#include "inspect/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Make room for `more` bytes and a zero. */
static bool grow(ceni_text *text, size_t more)
{
    if (text->spoiled) return false;
    if (more < text->room - text->length) return true; /* false without memory: 0 - 0 */
    size_t needed = text->length + more + 1, room = text->room ? text->room : 1024;
    while (room < needed && room < CENI_TEXT_MOST) room *= 2;
    text->too_long = more >= CENI_TEXT_MOST || needed > CENI_TEXT_MOST;
    char *bytes = text->too_long ? NULL : realloc(text->bytes, room);
    if (!bytes) {
        text->spoiled = true;
        return false;
    }
    text->bytes = bytes;
    text->room = room;
    return true;
}

void ceni_text_put(ceni_text *text, const char *bytes, size_t length)
{
    if (!grow(text, length)) return;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = 0;
}

void ceni_text_add(ceni_text *text, const char *words)
{
    ceni_text_put(text, words, strlen(words));
}

void ceni_text_print(ceni_text *text, const char *format, ...)
{
    char words[512]; /* longer prints are cut */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    ceni_text_add(text, words);
}

void ceni_text_fini(ceni_text *text)
{
    free(text->bytes);
    *text = (ceni_text){0};
}

size_t ceni_utf8_length(const char *at)
{
    const unsigned char *u = (const unsigned char *)at;
    if (u[0] < 0x80) return 1;
    size_t length = u[0] >= 0xC2 && u[0] <= 0xDF ? 2 : (u[0] & 0xF0) == 0xE0 ? 3 : u[0] >= 0xF0 && u[0] <= 0xF4 ? 4 : 0;
    for (size_t i = 1; i < length; i++)
        if ((u[i] & 0xC0) != 0x80) return 0; /* stops at the terminating zero, too */
    /* Reject overlong forms, surrogates, and values beyond U+10FFFF. */
    if (length == 3 && ((u[0] == 0xE0 && u[1] < 0xA0) || (u[0] == 0xED && u[1] > 0x9F))) return 0;
    if (length == 4 && ((u[0] == 0xF0 && u[1] < 0x90) || (u[0] == 0xF4 && u[1] > 0x8F))) return 0;
    return length;
}
