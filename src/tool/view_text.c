/* SPDX-License-Identifier: MIT */
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "tool/view.h"

bool view_is_wide;

/* Only LC_CTYPE: numbers keep their decimal point. */
void view_begin(void)
{
    setlocale(LC_CTYPE, "");
    view_is_wide = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* ---- Numbers ------------------------------------------------------------------------------- */

const char *view_time(char out[16], int64_t ns)
{
    const int64_t us = 1000, ms = 1000 * us, s = 1000 * ms, min = 60 * s, h = 60 * min, d = 24 * h;
    double n = (double)ns;
    if (ns <= 0) snprintf(out, 16, "0");
    else if (ns < us) snprintf(out, 16, "%dns", (int)ns);
    else if (ns < 9950) snprintf(out, 16, "%.1fus", n / (double)us);
    else if (ns < 999500) snprintf(out, 16, "%.0fus", n / (double)us);
    else if (ns < 9950 * us) snprintf(out, 16, "%.1fms", n / (double)ms);
    else if (ns < 999500 * us) snprintf(out, 16, "%.0fms", n / (double)ms);
    else if (ns < 9950 * ms) snprintf(out, 16, "%.1fs", n / (double)s);
    else if (ns < min) snprintf(out, 16, "%ds", ns < 59 * s ? (int)((ns + s / 2) / s) : 59);
    else if (ns < h) snprintf(out, 16, "%dm%02ds", (int)(ns / min), (int)(ns % min / s));
    else if (ns < d) snprintf(out, 16, "%dh%02dm", (int)(ns / h), (int)(ns % h / min));
    else snprintf(out, 16, "%dd%02dh", (int)(ns / d), (int)(ns % d / h));
    return out;
}

const char *view_count(char out[16], double count)
{
    if (count < 0) snprintf(out, 16, "-");
    else if (count == 0) snprintf(out, 16, "0");
    else if (count < 0.995) snprintf(out, 16, "%.2f", count);
    else if (count < 9.95) snprintf(out, 16, "%.1f", count);
    else if (count < 9999.5) snprintf(out, 16, "%.0f", count);
    else if (count < 999500) snprintf(out, 16, "%.1fk", count / 1e3);
    else if (count < 999.5e6) snprintf(out, 16, "%.1fM", count / 1e6);
    else snprintf(out, 16, "%.1fG", count / 1e9);
    return out;
}

const char *view_whole(char out[16], int64_t number)
{
    if (number > -10000 && number < 100000) snprintf(out, 16, "%d", (int)number);
    else view_count(out, (double)number);
    return out;
}

/* ---- Characters -------------------------------------------------------------------------------- */

/* Return the bytes and columns of the next character of a text. An invalid one, or one that moves the cursor, has no
 * columns. */
static size_t next_letter(const char *text, int *columns)
{
    unsigned char first = (unsigned char)*text;
    wchar_t letter;
    mbstate_t state;
    *columns = first >= ' ' && first < 127 ? 1 : -1;
    if (first < 128) return 1;
    if (!view_is_wide) { /* count it as one character, to be replaced by one mark */
        size_t length = 1;
        while (length < 4 && ((unsigned char)text[length] & 0xC0) == 0x80) length++;
        return length;
    }
    memset(&state, 0, sizeof state);
    size_t length = mbrtowc(&letter, text, strlen(text), &state);
    if (length == (size_t)-1 || length == (size_t)-2 || length == 0) return 1;
    *columns = wcwidth(letter);
    return length;
}

void view_clean(char *out, size_t room, const char *text, bool lines)
{
    size_t used = 0;
    while (*text) {
        int columns;
        size_t length = next_letter(text, &columns);
        bool stays = columns >= 0 || (lines && *text == '\n');
        if (used + (stays ? length : 1) + 1 > room) break;
        if (stays) memcpy(out + used, text, length);
        else out[used] = *text == '\t' || *text == '\n' ? ' ' : '?';
        used += stays ? length : 1;
        text += length;
    }
    out[used] = 0;
}

unsigned view_width(const char *text)
{
    unsigned width = 0;
    while (*text) {
        int columns;
        text += next_letter(text, &columns);
        width += columns < 0 ? 1 : (unsigned)columns;
    }
    return width;
}

/* Return the bytes of a prefix that fits `most` columns, and the columns it takes. */
static size_t prefix(const char *text, unsigned most, unsigned *taken)
{
    size_t bytes = 0;
    *taken = 0;
    while (text[bytes]) {
        int columns;
        size_t length = next_letter(text + bytes, &columns);
        unsigned wide = columns < 0 ? 1 : (unsigned)columns;
        if (*taken + wide > most) break;
        *taken += wide;
        bytes += length;
    }
    return bytes;
}

static size_t put(char *out, size_t room, size_t used, const char *bytes, size_t length)
{
    if (used + length + 1 > room) return used;
    memcpy(out + used, bytes, length);
    out[used + length] = 0;
    return used + length;
}

size_t view_fit(char *out, size_t room, const char *text, unsigned columns, bool right)
{
    const char *mark = view_is_wide ? "\xE2\x80\xA6" : "~";
    unsigned taken;
    bool cut = view_width(text) > columns;
    size_t used = 0, bytes = prefix(text, cut && columns > 0 ? columns - 1 : columns, &taken);
    unsigned blank = columns - taken - (cut && columns > 0);
    out[0] = 0;
    for (unsigned i = 0; right && i < blank; i++) used = put(out, room, used, " ", 1);
    used = put(out, room, used, text, bytes);
    if (cut && columns > 0) used = put(out, room, used, mark, strlen(mark));
    for (unsigned i = 0; !right && i < blank; i++) used = put(out, room, used, " ", 1);
    return used;
}

/* ---- A bar ---------------------------------------------------------------------------------------- */

static unsigned columns_of(double share, unsigned columns)
{
    double wide = share * columns;
    unsigned whole = (unsigned)(wide + 0.5);
    return whole == 0 && share > 0 ? 1 : whole; /* a share of 1/1000 is visible, too */
}

size_t view_draw_bar(char *out, size_t room, const view_bar *bar, unsigned columns)
{
    static const char *const wide[] = {"\xE2\x96\x88", "\xE2\x96\x92", "\xC2\xB7"}, *const narrow[] = {"#", "+", "."};
    const char *const *ink = view_is_wide ? wide : narrow;
    const unsigned parts[] = {columns_of(bar->held, columns), columns_of(bar->opening, columns),
                              columns_of(bar->idle, columns)};
    size_t used = 0;
    unsigned drawn = 0;
    out[0] = 0;
    for (unsigned part = 0; part < 3; part++)
        for (unsigned i = 0; i < parts[part] && drawn < columns; i++, drawn++)
            used = put(out, room, used, ink[part], strlen(ink[part]));
    for (; drawn < columns; drawn++) used = put(out, room, used, " ", 1);
    return used;
}
