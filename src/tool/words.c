/* SPDX-License-Identifier: MIT */
#include "tool/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "tool/terminal.h"

/* Three significant digits: 1.23, 12.3, 123. */
static void figures(char *out, size_t room, double value, const char *unit)
{
    snprintf(out, room, "%.*f%s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit);
}

const char *words_of_error(const char *text)
{
    size_t name = strncmp(text, "cen_", 4) == 0 ? strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789") : 0;
    return name && text[name] == ':' && text[name + 1] == ' ' ? text + name + 2 : text;
}

const char *words_duration(char out[WORDS_ROOM], int64_t ns)
{
    double value = (double)ns;
    if (ns < 0) snprintf(out, WORDS_ROOM, "?");
    else if (ns < 1000) snprintf(out, WORDS_ROOM, "%" PRId64 " ns", ns);
    else if (value < 999.5e3) figures(out, WORDS_ROOM, value / 1e3, " us");
    else if (value < 999.5e6) figures(out, WORDS_ROOM, value / 1e6, " ms");
    else if (value < 99.95e9) figures(out, WORDS_ROOM, value / 1e9, " s");
    else if (value < 3600e9)
        snprintf(out, WORDS_ROOM, "%" PRId64 " min %" PRId64 " s", ns / 60000000000, ns / 1000000000 % 60);
    else snprintf(out, WORDS_ROOM, "%" PRId64 " h %" PRId64 " min", ns / 3600000000000, ns / 60000000000 % 60);
    return out;
}

const char *words_count(char out[WORDS_ROOM], uint64_t count)
{
    char plain[24];
    int length = snprintf(plain, sizeof plain, "%" PRIu64, count), to = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) out[to++] = ',';
        out[to++] = plain[i];
    }
    out[to] = 0;
    return out;
}

const char *words_rate(char out[WORDS_ROOM], double per_second)
{
    if (per_second < 99.95) {
        figures(out, WORDS_ROOM, per_second, "/s");
    } else {
        words_count(out, (uint64_t)(per_second + 0.5));
        size_t length = strlen(out);
        snprintf(out + length, WORDS_ROOM - length, "/s");
    }
    return out;
}

const char *words_share(char out[WORDS_ROOM], double share)
{
    double percent = share * 100;
    if (percent > 0 && percent < 0.995) snprintf(out, WORDS_ROOM, "%.2f %%", percent);
    else if (percent > 99 && percent < 99.95) snprintf(out, WORDS_ROOM, "%.1f %%", percent);
    else snprintf(out, WORDS_ROOM, "%.0f %%", percent);
    return out;
}

const char *words_bytes(char out[WORDS_ROOM], uint64_t bytes)
{
    static const char *const units[] = {" KiB", " MiB", " GiB", " TiB"};
    double value = (double)bytes / 1024;
    size_t unit = 0;
    if (bytes < 1024) {
        snprintf(out, WORDS_ROOM, "%" PRIu64 " B", bytes);
        return out;
    }
    for (; value >= 1023.5 && unit < 3; unit++) value /= 1024;
    figures(out, WORDS_ROOM, value, units[unit]);
    return out;
}

/* ---- Tables ---------------------------------------------------------------------------------------------- */

void table_begin(table *self, unsigned columns)
{
    self->columns = columns > TABLE_COLUMNS ? TABLE_COLUMNS : columns;
    self->rows = 0;
}

void table_row(table *self)
{
    if (self->rows == TABLE_ROWS) return;
    for (unsigned i = 0; i < TABLE_COLUMNS; i++) self->cell[self->rows][i][0] = 0;
    self->rows++;
}

void table_set(table *self, unsigned column, const char *format, ...)
{
    va_list arguments;
    if (self->rows == 0 || column >= self->columns) return;
    va_start(arguments, format);
    vsnprintf(self->cell[self->rows - 1][column], TABLE_ROOM, format, arguments);
    va_end(arguments);
}

void table_print(const table *self, FILE *out, unsigned indent)
{
    int width[TABLE_COLUMNS] = {0};
    for (unsigned row = 0; row < self->rows; row++)
        for (unsigned column = 0; column < self->columns; column++) {
            int length = (int)strlen(self->cell[row][column]);
            if (length > width[column]) width[column] = length;
        }
    for (unsigned row = 0; row < self->rows; row++) {
        fprintf(out, "%*s%s", (int)indent, "", row == 0 ? terminal_ink(out, INK_BOLD) : "");
        for (unsigned column = 0; column < self->columns; column++) {
            const char *text = self->cell[row][column];
            bool last = column + 1 == self->columns;
            if (column == 0) fprintf(out, "%-*s", last ? 0 : width[column], text);
            else fprintf(out, "  %*s", width[column], text);
        }
        fprintf(out, "%s\n", row == 0 ? terminal_ink(out, INK_PLAIN) : "");
    }
}
