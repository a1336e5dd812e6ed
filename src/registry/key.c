/* SPDX-License-Identifier: MIT */
/* Keys: validity, hashes, copies, and their form in a text. */
#include <stdio.h>

#include "base/hash.h"
#include "registry/internal.h"

bool ceni_key_is_valid(cen_key key)
{
    return cen_key_is_number(key) || key.number <= CEN_KEY_MAX;
}

uint64_t ceni_key_hash(uint64_t seed, cen_key key)
{
    return cen_key_is_number(key) ? ceni_hash_word(seed, key.number)
                                  : ceni_hash_bytes(seed, key.bytes, (size_t)key.number);
}

size_t ceni_key_room(cen_key key)
{
    return cen_key_is_number(key) ? 0 : (size_t)key.number + 1;
}

cen_key ceni_key_copy(cen_key key, char *room)
{
    if (cen_key_is_number(key)) return key;
    memcpy(room, key.bytes, (size_t)key.number);
    room[key.number] = 0; /* for a debugger */
    return cen_key_bytes(room, (size_t)key.number);
}

const char *ceni_key_print(cen_key key, char text[CENI_KEY_TEXT])
{
    enum { MOST = CENI_KEY_TEXT - 5 }; /* before the dots, the quote and the end */
    if (cen_key_is_number(key)) {
        snprintf(text, CENI_KEY_TEXT, "%llu", (unsigned long long)key.number);
        return text;
    }
    const unsigned char *bytes = key.bytes;
    size_t at = 0, i = 0;
    text[at++] = '"';
    for (; i < key.number; i++) {
        bool plain = bytes[i] >= ' ' && bytes[i] < 127 && bytes[i] != '"' && bytes[i] != '\\';
        size_t needs = plain ? 1 : 4;
        if (at + needs > MOST) break;
        if (plain) text[at] = (char)bytes[i];
        else snprintf(text + at, 5, "\\x%02x", bytes[i]);
        at += needs;
    }
    snprintf(text + at, CENI_KEY_TEXT - at, "%s", i < key.number ? "...\"" : "\"");
    return text;
}
