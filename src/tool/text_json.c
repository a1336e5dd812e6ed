/* SPDX-License-Identifier: MIT */
#include "tool/text_json.h"

#include <stdlib.h>
#include <string.h>

static const char unreadable[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Return the number of bytes of one character; 0: invalid. jansson decides what is valid UTF-8. */
static size_t letter(const char *from)
{
    size_t length = strnlen(from, 4);
    json_t *read = NULL;
    for (size_t size = 1; size <= length && !read; size++) {
        read = json_stringn(from, size);
        if (read) length = size;
    }
    json_decref(read);
    return read ? length : 0;
}

json_t *text_as_json(const char *from)
{
    if (!from) return json_null();
    json_t *whole = json_string(from);
    if (whole) return whole;
    char *kept = malloc(3 * strlen(from) + 1);
    size_t size = 0;
    while (kept && *from) {
        size_t length = letter(from);
        memcpy(kept + size, length ? from : unreadable, length ? length : 3);
        size += length ? length : 3;
        from += length ? length : 1;
    }
    whole = kept ? json_stringn(kept, size) : NULL;
    free(kept);
    return whole;
}
