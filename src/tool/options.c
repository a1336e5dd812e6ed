/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "tool/command.h"
#include "tool/nearest.h"

typedef struct metric {
    const command *command;
    char *settings;
    char *why;
    size_t room;
} metric;

__attribute__((format(printf, 2, 3))) static bool wrong(const metric *self, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(self->why, self->room, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- Values ---------------------------------------------------------------------------------------------- */

/* Read digits with at most one point. strtod would depend on the locale and accept hexadecimal numbers and "nan". */
static const char *digits(const char *at, double *out)
{
    double value = 0, place = 1;
    bool any = false, after = false;
    for (;; at++) {
        if (*at >= '0' && *at <= '9') {
            any = true;
            value = value * 10 + (*at - '0');
            place *= after ? 10 : 1;
        } else if (*at == '.' && !after) {
            after = true;
        } else {
            break;
        }
    }
    *out = value / place;
    return any && isfinite(*out) && isfinite(place) ? at : NULL;
}

typedef struct unit {
    const char *name;
    double times;
} unit;

static const unit decimal[] = {{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {NULL, 0}};
static const unit binary[] = {{"", 1},       {"B", 1},         {"k", 1e3},          {"kB", 1e3},
                              {"M", 1e6},    {"MB", 1e6},      {"G", 1e9},          {"GB", 1e9},
                              {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {NULL, 0}};
static const unit times[] = {{"", 1e9},   {"ns", 1},     {"us", 1e3},   {"ms", 1e6}, {"s", 1e9},
                             {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {NULL, 0}};
static const unit shares[] = {{"", 1}, {"%", 0.01}, {NULL, 0}};

static bool measure(const char *text, const unit *units, double *out)
{
    const char *rest = digits(text, out);
    if (!rest) return false;
    while (units->name && strcmp(units->name, rest) != 0) units++;
    *out *= units->times;
    return units->name != NULL;
}

bool options_duration(const char *text, int64_t *out)
{
    double value;
    if (!measure(text, times, &value) || value > 1e18) return false;
    *out = (int64_t)llround(value);
    return true;
}

bool options_number(const char *text, double *out)
{
    return measure(text, decimal, out);
}

/* ---- One option ------------------------------------------------------------------------------------------ */

static const struct sort {
    const unit *units;
    const char *form; /* for the sentence about an invalid value */
    bool is_whole;
} sorts[] = {
    [OPTION_COUNT] = {decimal, "a whole number, such as 20 or 20k", true},
    [OPTION_NUMBER] = {decimal, "a number, such as 0.5 or 20k", false},
    [OPTION_SHARE] = {shares, "a share, such as 0.25 or 25%", false},
    [OPTION_DURATION] = {times, "a time, such as 250ms, 2s or 1.5m", true},
    [OPTION_SIZE] = {binary, "a size, such as 4096 or 64KiB", true},
};

/* Write a limit in the units of its option. */
static void bound(char *out, size_t room, const option_row *row, double value)
{
    if (row->kind != OPTION_DURATION) snprintf(out, room, "%.15g", value);
    else if (value >= 3600e9) snprintf(out, room, "%.15gh", value / 3600e9);
    else if (value >= 1e9) snprintf(out, room, "%.15gs", value / 1e9);
    else if (value >= 1e6) snprintf(out, room, "%.15gms", value / 1e6);
    else snprintf(out, room, "%.15gns", value);
}

static bool set_number(const metric *self, const option_row *row, const char *value)
{
    const struct sort *sort = &sorts[row->kind];
    double number;
    char least[40], most[40];
    bool whole = row->kind != OPTION_DURATION && sort->is_whole;
    if (!measure(value, sort->units, &number) || number > 9e18 || (whole && number != floor(number)))
        return wrong(self, "--%s: \"%.60s\" is not %s.", row->name, value, sort->form);
    bound(least, sizeof least, row, row->least);
    bound(most, sizeof most, row, row->most);
    if ((row->least != 0 || row->most != 0) && (number < row->least || number > row->most))
        return wrong(self, "--%s: %.60s is out of range (%s to %s).", row->name, value, least, most);
    if (sort->is_whole) *(int64_t *)(void *)(self->settings + row->at) = (int64_t)llround(number);
    else *(double *)(void *)(self->settings + row->at) = number;
    return true;
}

static bool set_choice(const metric *self, const option_row *row, const char *value)
{
    size_t size = strlen(value);
    int64_t index = 0;
    for (const char *at = row->choices; *at; index++) {
        size_t length = strcspn(at, " ");
        if (length == size && memcmp(at, value, size) == 0) {
            *(int64_t *)(void *)(self->settings + row->at) = index;
            return true;
        }
        at += length + strspn(at + length, " ");
    }
    return wrong(self, "--%s: \"%.60s\" is not one of: %s.", row->name, value, row->choices);
}

static bool set(const metric *self, const option_row *row, const char *value)
{
    switch (row->kind) {
    case OPTION_FLAG: *(bool *)(void *)(self->settings + row->at) = true; return true;
    case OPTION_TEXT:
    case OPTION_MAYBE: *(const char **)(void *)(self->settings + row->at) = value; return true;
    case OPTION_CHOICE: return set_choice(self, row, value);
    default: return set_number(self, row, value);
    }
}

/* ---- All options ----------------------------------------------------------------------------------------- */

static const option_row *by_name(const command *self, const char *name, size_t length)
{
    for (const option_row *row = self->rows; row->name; row++)
        if (strlen(row->name) == length && memcmp(row->name, name, length) == 0) return row;
    return NULL;
}

static const option_row *by_letter(const command *self, char letter)
{
    for (const option_row *row = self->rows; row->name; row++)
        if (row->letter && row->letter == letter) return row;
    return NULL;
}

static int unknown(const metric *self, const char *name, size_t length)
{
    char question[NEAREST_ROOM], all[60];
    nearest near = nearest_to(name, length);
    nearest_try(&near, "help");
    for (const option_row *row = self->command->rows; row->name; row++) nearest_try(&near, row->name);
    snprintf(all, sizeof all, "\"cenote %s --help\" lists all options.", self->command->name);
    return wrong(self, "Unknown option --%.*s%s", (int)(length < 60 ? length : 60), name,
                 nearest_question(&near, "--", all, question));
}

/* Read --name, --name=VALUE or --name VALUE from one or two words. Returns how many; 0: invalid. */
static int read_long(const metric *self, int left, char **words)
{
    const char *name = words[0] + 2, *sign = strchr(name, '=');
    size_t length = sign ? (size_t)(sign - name) : strlen(name);
    const option_row *row = by_name(self->command, name, length);
    if (!row) return unknown(self, name, length);
    if (row->kind == OPTION_FLAG && sign) return wrong(self, "--%s takes no value.", row->name);
    if (row->kind == OPTION_FLAG || row->kind == OPTION_MAYBE || sign)
        return set(self, row, sign ? sign + 1 : "") ? 1 : 0;
    if (left < 2) return wrong(self, "--%s needs a value: %s.", row->name, row->value);
    return set(self, row, words[1]) ? 2 : 0;
}

/* Read -n VALUE, -nVALUE, or several flags. */
static int read_short(const metric *self, int left, char **words)
{
    for (const char *at = words[0] + 1; *at; at++) {
        const option_row *row = by_letter(self->command, *at);
        if (!row)
            return wrong(self, "Unknown option -%c; \"cenote %s --help\" lists all options.", *at, self->command->name);
        if (row->kind == OPTION_FLAG || row->kind == OPTION_MAYBE) {
            if (!set(self, row, "")) return 0;
            continue;
        }
        if (at[1]) return set(self, row, at + 1) ? 1 : 0;
        if (left < 2) return wrong(self, "-%c (--%s) needs a value: %s.", *at, row->name, row->value);
        return set(self, row, words[1]) ? 2 : 0;
    }
    return 1;
}

static bool wants_help(const metric *self, const char *word)
{
    return strcmp(word, "--help") == 0 || (strcmp(word, "-h") == 0 && !by_letter(self->command, 'h'));
}

options_answer options_read(const command *self, void *settings, int *count, char **words, char *why, size_t room)
{
    metric now = {self, settings, why, room};
    int kept = 0, all = *count;
    bool only_arguments = false;
    for (int i = 0; i < all;) {
        char *word = words[i];
        int step = 1;
        if (only_arguments || word[0] != '-' || word[1] == 0) words[kept++] = word;
        else if (strcmp(word, "--") == 0) only_arguments = true;
        else if (wants_help(&now, word)) return OPTIONS_HELP;
        else if (word[1] == '-') step = read_long(&now, all - i, words + i);
        else step = read_short(&now, all - i, words + i);
        if (step == 0) return OPTIONS_WRONG;
        i += step;
    }
    *count = kept;
    if (kept > self->most && self->most == 0) wrong(&now, "\"%.60s\": %s takes no arguments.", words[0], self->name);
    else if (kept > self->most) wrong(&now, "Unexpected argument \"%.60s\".", words[self->most]);
    else if (kept < self->least) wrong(&now, "An argument is missing: %s.", self->arguments);
    else return OPTIONS_READ;
    return OPTIONS_WRONG;
}
