/* SPDX-License-Identifier: MIT */
/*
 * Charts as SVG. The axis of sizes is logarithmic, as sizes are tried: from 1 to 2 is as far as from 32 to 64.
 */
#include <math.h>
#include <string.h>

#include "tool/report.h"
#include "tool/words.h"

enum { HEIGHT = 300, LEFT = 70, RIGHT = 18, TOP = 20, BOTTOM = 42, TICKS_MOST = 24 };

typedef struct scale {
    double least, most; /* of the values; logarithms if is_log */
    double from, to;    /* of the picture, in pixels */
    bool is_log;
} scale;

static double placed(const scale *self, double value)
{
    double at = self->is_log ? log10(fmax(value, 1e-30)) : value;
    double share = self->most > self->least ? (at - self->least) / (self->most - self->least) : 0.5;
    return self->from + share * (self->to - self->from);
}

/* ---- Text ---------------------------------------------------------------------------------------------- */

/* Return the length of the UTF-8 character, or 0 if it must not be shown. */
static size_t character(const unsigned char *at)
{
    if (*at < 0x80) return *at >= ' ' || *at == '\n' || *at == '\t' ? 1 : 0;
    size_t size = *at >= 0xf0 && *at < 0xf5 ? 4 : *at >= 0xe0 && *at < 0xf0 ? 3 : *at >= 0xc2 && *at < 0xe0 ? 2 : 0;
    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    if (size == 2 && at[0] == 0xc2 && at[1] < 0xa0) return 0; /* control characters */
    if (size == 3 && ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] >= 0xa0))) return 0;
    if (size == 4 && ((at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] >= 0x90))) return 0;
    return size;
}

void html_text(FILE *out, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t size = character(at);
        switch (size == 1 ? *at : 0) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        default:
            if (size) fwrite(at, 1, size, out);
            else fputc('?', out);
        }
        at += size ? size : 1;
    }
}

static const char *value_words(char out[WORDS_ROOM], chart_unit unit, double value)
{
    switch (unit) {
    case CHART_RATE: return words_rate(out, value);
    case CHART_TIME: return words_duration(out, (int64_t)llround(value));
    case CHART_SHARE: snprintf(out, WORDS_ROOM, "%.0f %%", value * 100); break;
    }
    return out;
}

/* Shorter texts for the axis, where values are round. Rates all have the unit of the largest. */
static const char *tick_words(char out[WORDS_ROOM], chart_unit unit, double value, double largest)
{
    static const struct {
        double from, unit;
        const char *name;
    } times[] = {{1e9, 1e9, "s"}, {1e6, 1e6, "ms"}, {1e3, 1e3, "\u00b5s"}, {0, 1, "ns"}};
    if (unit == CHART_SHARE) return value_words(out, unit, value);
    if (value == 0) snprintf(out, WORDS_ROOM, "0");
    else if (unit == CHART_RATE && largest >= 1e6) snprintf(out, WORDS_ROOM, "%gM", value / 1e6);
    else if (unit == CHART_RATE && largest >= 1e4) snprintf(out, WORDS_ROOM, "%gk", value / 1e3);
    else if (unit == CHART_RATE) snprintf(out, WORDS_ROOM, "%g", value);
    else
        for (size_t i = 0; i < 4; i++) {
            if (value < times[i].from * 0.999) continue;
            snprintf(out, WORDS_ROOM, "%g %s", value / times[i].unit, times[i].name);
            break;
        }
    return out;
}

/* ---- Axes ---------------------------------------------------------------------------------------------- */

static void extent(const chart *self, double *least, double *most)
{
    *least = INFINITY, *most = 0;
    for (uint32_t l = 0; l < self->line_count; l++)
        for (uint32_t i = 0; i < self->count; i++) {
            const chart_line *line = &self->lines[l];
            if (line->value[i] <= 0) continue;
            *least = fmin(*least, line->value[i]);
            *most = fmax(*most, line->has_band ? line->high[i] : line->value[i]);
        }
    *most = fmax(*most, self->threshold);
    if (*most <= 0) *least = 0.5, *most = 1;
}

/* Return 1, 2 or 5 times a power of ten that gives about 5 steps. */
static double nice_step(double span)
{
    double rough = span / 4.5, power = pow(10, floor(log10(rough)));
    double times = rough / power;
    return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

static uint32_t linear_ticks(double *ticks, double most, scale *out)
{
    double step = nice_step(most);
    uint32_t count = 0;
    for (double at = 0; count < TICKS_MOST && (at < most + step * 0.001 || count < 2); at += step) ticks[count++] = at;
    if (ticks[count - 1] < most && count < TICKS_MOST && most - ticks[count - 1] > step * 0.35)
        ticks[count] = ticks[count - 1] + step, count++;
    out->least = 0;
    out->most = fmax(ticks[count - 1], most);
    return count;
}

static uint32_t log_ticks(double *ticks, double least, double most, scale *out)
{
    static const double parts[] = {1, 2, 5};
    double from = floor(log10(least * 0.8)), to = ceil(log10(most * 1.1));
    bool is_long = to - from > 3;
    uint32_t count = 0;
    for (double decade = from; decade <= to; decade++)
        for (int i = 0; i < (is_long ? 1 : 3) && count < TICKS_MOST; i++) {
            double at = parts[i] * pow(10, decade);
            if (at >= least * 0.55 && at <= most * 1.45) ticks[count++] = at;
        }
    out->least = log10(fmin(least * 0.8, count ? ticks[0] : least));
    out->most = log10(fmax(most * 1.15, count ? ticks[count - 1] : most));
    return count;
}

static void write_y_axis(const chart *self, const scale *y, const double *ticks, uint32_t count, int width, FILE *out)
{
    char text[WORDS_ROOM];
    for (uint32_t i = 0; i < count; i++) {
        double at = placed(y, ticks[i]);
        fprintf(out, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT, width - RIGHT, at, at);
        fprintf(out, "<text class=\"tick\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 10, at + 4,
                tick_words(text, self->unit, ticks[i], ticks[count - 1]));
    }
}

/* Write the sizes as ticks. A tick that would touch its neighbour is left out, the chosen one never. */
static void write_x_axis(const chart *self, const scale *x, int width, FILE *out)
{
    double chosen = self->chosen >= 0 ? placed(x, self->size[self->chosen]) : -1000, last = -1000;
    for (uint32_t i = 0; i < self->count; i++) {
        double at = placed(x, self->size[i]);
        bool is_chosen = (int)i == self->chosen;
        bool is_free = at - last >= 26 && fabs(at - chosen) >= 26;
        fprintf(out, "<line class=\"notch\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>", at, at, HEIGHT - BOTTOM,
                HEIGHT - BOTTOM + 4);
        if (!is_chosen && !is_free) continue;
        fprintf(out, "<text class=\"tick%s\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%u</text>\n",
                is_chosen ? " chosen" : "", at, HEIGHT - BOTTOM + 18, self->size[i]);
        last = at;
    }
    fprintf(out, "<line class=\"base\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>", LEFT, width - RIGHT, HEIGHT - BOTTOM,
            HEIGHT - BOTTOM);
    fprintf(out, "<text class=\"axis\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">pool size</text>\n",
            (LEFT + width - RIGHT) / 2.0, HEIGHT - 6);
}

/* ---- Lines ------------------------------------------------------------------------------------------------ */

static void write_band(const chart *self, const chart_line *line, const scale *x, const scale *y, FILE *out)
{
    bool is_first = true;
    fputs("<path class=\"band\" d=\"", out);
    for (uint32_t i = 0; i < self->count; i++) {
        if (line->value[i] <= 0) continue;
        fprintf(out, "%c%.1f %.1f", is_first ? 'M' : 'L', placed(x, self->size[i]), placed(y, line->high[i]));
        is_first = false;
    }
    for (uint32_t i = self->count; i-- > 0;)
        if (line->value[i] > 0) fprintf(out, "L%.1f %.1f", placed(x, self->size[i]), placed(y, line->low[i]));
    fputs("Z\"/>\n", out);
}

static void write_line(const chart *self, uint32_t which, const scale *x, const scale *y, FILE *out)
{
    const chart_line *line = &self->lines[which];
    char text[WORDS_ROOM], low[WORDS_ROOM], high[WORDS_ROOM];
    bool is_first = true;
    fprintf(out, "<path class=\"line l%u\" d=\"", which);
    for (uint32_t i = 0; i < self->count; i++) {
        if (line->value[i] <= 0 && self->unit != CHART_SHARE) continue;
        fprintf(out, "%c%.1f %.1f", is_first ? 'M' : 'L', placed(x, self->size[i]), placed(y, line->value[i]));
        is_first = false;
    }
    fputs("\"/>\n", out);
    for (uint32_t i = 0; i < self->count; i++) {
        if (line->value[i] <= 0 && self->unit != CHART_SHARE) continue;
        fprintf(out, "<circle class=\"dot l%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"><title>size %u: %s %s", which,
                placed(x, self->size[i]), placed(y, line->value[i]), (int)i == self->chosen ? "5.5" : "3.5",
                self->size[i], line->name, value_words(text, self->unit, line->value[i]));
        if (line->has_band)
            fprintf(out, " (95 %% CI %s to %s)", value_words(low, self->unit, line->low[i]),
                    value_words(high, self->unit, line->high[i]));
        fputs("</title></circle>\n", out);
    }
}

static void write_marks(const chart *self, const scale *x, const scale *y, int width, FILE *out)
{
    if (self->threshold > 0) {
        double at = placed(y, self->threshold);
        fprintf(out, "<line class=\"threshold\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT, width - RIGHT, at,
                at);
        fprintf(out, "<text class=\"remark\" x=\"%d\" y=\"%.1f\">", LEFT + 6, at - 6);
        html_text(out, self->threshold_name);
        fputs("</text>\n", out);
    }
    if (self->chosen < 0) return;
    double at = placed(x, self->size[self->chosen]);
    fprintf(out, "<line class=\"knee\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", at, at, TOP - 8,
            HEIGHT - BOTTOM);
}

static void write_legend(const chart *self, FILE *out)
{
    fputs("<ul class=\"legend\">", out);
    for (uint32_t l = 0; l < self->line_count; l++) {
        fprintf(out, "<li><span class=\"key k%u\"></span>", l);
        html_text(out, self->lines[l].name);
        fputs("</li>", out);
        if (self->lines[l].has_band) fputs("<li><span class=\"key kband\"></span>95 % confidence</li>", out);
    }
    if (self->chosen >= 0 && !self->is_small) fputs("<li><span class=\"key kknee\"></span>recommended</li>", out);
    fputs("</ul>\n", out);
}

void chart_write(const chart *self, FILE *out)
{
    int width = self->is_small ? 520 : 1060;
    double ticks[TICKS_MOST], least, most;
    scale y = {.from = HEIGHT - BOTTOM, .to = TOP, .is_log = self->is_log};
    scale x = {.from = LEFT + 24, .to = width - RIGHT - 24, .is_log = true};
    extent(self, &least, &most);
    uint32_t tick_count = self->is_log ? log_ticks(ticks, least, most, &y)
                                       : linear_ticks(ticks, self->unit == CHART_SHARE ? 1 : most, &y);
    if (self->count) x.least = log10(self->size[0]), x.most = log10(self->size[self->count - 1]);
    fprintf(out, "<figure class=\"%s\"><figcaption><h3>", self->is_small ? "small" : "wide");
    html_text(out, self->title);
    fputs("</h3>", out);
    write_legend(self, out);
    fprintf(out, "</figcaption>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", width, HEIGHT);
    html_text(out, self->title);
    fputs(" by pool size; the numbers are in the table below\">\n", out);
    write_y_axis(self, &y, ticks, tick_count, width, out);
    write_x_axis(self, &x, width, out);
    write_marks(self, &x, &y, width, out);
    for (uint32_t l = 0; l < self->line_count; l++)
        if (self->lines[l].has_band) write_band(self, &self->lines[l], &x, &y, out);
    for (uint32_t l = self->line_count; l-- > 0;) write_line(self, l, &x, &y, out);
    fputs("</svg>", out);
    if (self->note) {
        fputs("<p class=\"note\">", out);
        html_text(out, self->note);
        fputs("</p>", out);
    }
    fputs("</figure>\n", out);
}
