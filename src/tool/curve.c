/* SPDX-License-Identifier: MIT */
#include "tool/curve.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { AXIS = 10, CELL_LEAST = 7, CELL_MOST = 9, ROWS_USUAL = 10, STEPS = 8, NUMBER = 16 };

/* The characters of bars and lines, each one column wide. */
typedef struct glyphs {
    const char *part[STEPS + 1]; /* from empty to full, in eighths */
    const char *side, *tick, *corner, *line, *mark, *cross;
} glyphs;

static const glyphs unicode = {{" ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"},
                               "\u2502",
                               "\u2524",
                               "\u2534",
                               "\u2500",
                               "\u25b2",
                               "\u2717"};
static const glyphs ascii = {{" ", "_", "_", "_", "=", "=", "=", "#", "#"}, "|", "+", "+", "-", "^", "x"};

bool curve_may_be_unicode(void)
{
    const char *locale = getenv("LC_ALL");
    if (!locale || !*locale) locale = getenv("LC_CTYPE");
    if (!locale || !*locale) locale = getenv("LANG");
    return locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
}

/* ---- Short numbers ------------------------------------------------------------------------------------ */

static const char *short_number(char out[NUMBER], double number, const char *unit)
{
    const char *prefix = number >= 999.5e6 ? "G" : number >= 999.5e3 ? "M" : number >= 9999.5 ? "k" : "";
    double scaled = *prefix == 'G'   ? number / 1e9
                    : *prefix == 'M' ? number / 1e6
                    : *prefix == 'k' ? number / 1e3
                                     : number;
    int places = scaled >= 99.95 || scaled == 0 ? 0 : scaled >= 9.995 ? 1 : 2;
    snprintf(out, NUMBER, "%.*f%s%s", places, scaled, prefix, unit);
    return out;
}

static const char *short_time(char out[NUMBER], double seconds)
{
    if (seconds < 0) return "";
    double scaled = seconds >= 0.9995 ? seconds : seconds >= 0.9995e-3 ? seconds * 1e3 : seconds * 1e6;
    const char *unit = seconds >= 0.9995 ? "s" : seconds >= 0.9995e-3 ? "ms" : "us";
    int places = scaled >= 99.95 || scaled == 0 ? 0 : scaled >= 9.995 ? 1 : 2;
    snprintf(out, NUMBER, "%.*f%s", places, scaled, unit);
    return out;
}

/* ---- Selection of columns ------------------------------------------------------------------------------- */

typedef struct picture {
    const curve *curve;
    const glyphs *glyphs;
    FILE *out;
    uint32_t shown[CURVE_SIZES_MOST]; /* indices of the curve's columns */
    uint32_t count;
    unsigned cell, rows;
    double top;
} picture;

static bool is_needed(const curve *self, uint32_t at)
{
    int place = (int)at;
    return at == 0 || at + 1 == self->count || place == self->chosen || place == self->best ||
           place + 1 == self->chosen;
}

/* Drop columns without a mark, evenly, until the rest fits. */
static void choose_columns(picture *self, uint32_t room)
{
    uint32_t all = self->curve->count < CURVE_SIZES_MOST ? self->curve->count : CURVE_SIZES_MOST;
    for (uint32_t i = 0; i < all; i++) self->shown[self->count++] = i;
    uint32_t from = 1;
    while (self->count > room && self->count > 1) {
        uint32_t victim = 0;
        for (uint32_t i = 0; i < self->count && !victim; i++) {
            uint32_t at = (from + i) % self->count;
            if (at && !is_needed(self->curve, self->shown[at])) victim = at;
        }
        if (!victim) victim = self->count - 1; /* very small screen: the largest go first */
        memmove(&self->shown[victim], &self->shown[victim + 1], (self->count - victim - 1) * sizeof self->shown[0]);
        self->count--;
        from = victim + 1;
    }
}

/* ---- Lines ------------------------------------------------------------------------------------------------ */

static const char *ink_of(const picture *self, ink wanted)
{
    return self->curve->ink ? self->curve->ink(self->out, wanted) : "";
}

/* Print a text in the middle of a cell. */
static void put_cell(const picture *self, const char *text)
{
    int width = (int)self->cell, size = (int)strlen(text);
    int before = size < width ? (width - size + 1) / 2 : 0;
    int after = size < width ? width - size - before : 0;
    fprintf(self->out, "%*s%.*s%*s", before, "", width, text, after, "");
}

static void put_bar_row(const picture *self, unsigned row)
{
    char label[NUMBER] = "";
    bool is_labelled = row == self->rows || row == (self->rows + 1) / 2;
    if (is_labelled) short_number(label, self->top * row / self->rows, "/s");
    fprintf(self->out, "%*s %s", AXIS - 1, label, is_labelled ? self->glyphs->tick : self->glyphs->side);
    unsigned wide = self->cell - 2;
    for (uint32_t i = 0; i < self->count; i++) {
        const curve_column *column = &self->curve->columns[self->shown[i]];
        double eighths = self->top > 0 ? column->height / self->top * self->rows * STEPS - (row - 1.0) * STEPS : 0;
        int part = eighths <= 0 ? 0 : eighths >= STEPS ? STEPS : (int)lround(eighths);
        if (row == 1 && part == 0 && column->height > 0) part = 1;
        bool is_chosen = (int)self->shown[i] == self->curve->chosen;
        fprintf(self->out, " %s", part ? ink_of(self, is_chosen ? INK_GOOD : INK_ACCENT) : "");
        if (column->failed && row == 1) {
            put_cell(&(picture){.curve = self->curve, .out = self->out, .cell = wide}, "failed");
        } else {
            for (unsigned k = 0; k < wide; k++) fputs(self->glyphs->part[part], self->out);
        }
        fprintf(self->out, "%s ", part ? ink_of(self, INK_PLAIN) : "");
    }
    fputc('\n', self->out);
}

static void put_axis(const picture *self)
{
    fprintf(self->out, "%*s %s", AXIS - 1, "0", self->glyphs->corner);
    for (unsigned i = 0; i < self->cell * self->count; i++) fputs(self->glyphs->line, self->out);
    fputc('\n', self->out);
}

static void put_sizes(const picture *self)
{
    char text[NUMBER];
    fprintf(self->out, "%*s  ", AXIS - 1, "size");
    for (uint32_t i = 0; i < self->count; i++) {
        snprintf(text, sizeof text, "%u", self->curve->columns[self->shown[i]].size);
        bool is_chosen = (int)self->shown[i] == self->curve->chosen;
        if (is_chosen) fputs(ink_of(self, INK_BOLD), self->out);
        put_cell(self, text);
        if (is_chosen) fputs(ink_of(self, INK_PLAIN), self->out);
    }
    fputc('\n', self->out);
}

static void put_latencies(const picture *self)
{
    char text[NUMBER];
    fprintf(self->out, "%s%*.*s  ", ink_of(self, INK_FAINT), AXIS - 1, AXIS - 1, self->curve->latency_name);
    for (uint32_t i = 0; i < self->count; i++)
        put_cell(self, short_time(text, self->curve->columns[self->shown[i]].latency));
    fprintf(self->out, "%s\n", ink_of(self, INK_PLAIN));
}

/* Print the mark under the recommended size, with its label to the right, or to the left if there is no room. */
static void put_mark(const picture *self)
{
    static const char word[] = "recommended";
    uint32_t place = 0;
    while (place < self->count && (int)self->shown[place] != self->curve->chosen) place++;
    if (self->curve->chosen < 0 || place == self->count) return;
    unsigned before = AXIS + 1 + place * self->cell + self->cell / 2, end = before + 1 + (unsigned)sizeof word;
    fputs(ink_of(self, INK_GOOD), self->out);
    if (end <= self->curve->width || before < sizeof word + 1)
        fprintf(self->out, "%*s%s %s", (int)before, "", self->glyphs->mark, word);
    else fprintf(self->out, "%*s%s %s", (int)(before - sizeof word), "", word, self->glyphs->mark);
    fprintf(self->out, "%s\n", ink_of(self, INK_PLAIN));
}

void curve_print(const curve *self, FILE *out)
{
    if (self->count == 0) return;
    picture drawn = {.curve = self,
                     .out = out,
                     .glyphs = self->plain ? &ascii : &unicode,
                     .rows = self->rows ? self->rows : ROWS_USUAL};
    unsigned width = self->width < 20 ? 20 : self->width;
    unsigned room = width - AXIS - 1;
    choose_columns(&drawn, room / CELL_LEAST);
    drawn.cell = room / drawn.count;
    if (drawn.cell > CELL_MOST) drawn.cell = CELL_MOST;
    for (uint32_t i = 0; i < drawn.count; i++) drawn.top = fmax(drawn.top, self->columns[drawn.shown[i]].height);
    for (unsigned row = drawn.rows; row >= 1; row--) put_bar_row(&drawn, row);
    put_axis(&drawn);
    put_sizes(&drawn);
    if (self->latency_name) put_latencies(&drawn);
    put_mark(&drawn);
}
