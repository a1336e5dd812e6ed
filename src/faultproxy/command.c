/* SPDX-License-Identifier: MIT */
/*
 * The grammar and its parser.
 *
 * A line is split into words. The required parts of the form come first, in their order. After them each word must
 * begin an optional part that has not occurred yet. A value's index in `value` is its position in the form, so omitted
 * parts shift nothing.
 */
#include "faultproxy/command.h"

#include <stdarg.h>
#include <string.h>

struct form {
    const char *parts; /* after the verb */
    bool setting;
    const char *name, *meaning;
};

static const struct form forms[FP_VERBS] = {
    [FP_DELAY] = {"MS [jitter MS] [WAY] [WHICH]", true, "delay",
                  "delay all bytes by MS milliseconds, plus a random jitter of up to MS"},
    [FP_THROTTLE] = {"RATE [WAY] [WHICH]", true, "throttle",
                     "pass at most RATE bytes per second, per connection and direction"},
    [FP_SLICE] = {"BYTES [MS] [WAY] [WHICH]", true, "slice",
                  "pass bytes in pieces of BYTES, with MS milliseconds between pieces"},
    [FP_BLACKHOLE] = {"[hold] [WAY] [WHICH]", true, "blackhole",
                      "pass nothing: read and drop bytes, or with hold do not read them, so that windows fill;\n"
                      "      new connections are accepted but do not reach the server"},
    [FP_RESET] =
        {"[SHARE] [after BYTES]", true, "reset",
         "alone: reset all open connections now; otherwise reset SHARE of new connections after BYTES (0) were passed"},
    [FP_CLOSE_SLOWLY] = {"MS [now] [WHICH]", true, "close-slowly",
                         "pass the first end of stream as a half-close and close the rest MS later;\n"
                         "      now: start this at once on all open connections, as if their servers had ended"},
    [FP_REFUSE] = {"", true, "refuse", "stop listening, so that connects are refused"},
    [FP_ACCEPT_EVERY] = {"MS", true, "accept-every",
                         "accept one connection every MS milliseconds, with a listen backlog of 1"},
    [FP_TO] = {"ADDRESS", false, "to", "connect new connections to ADDRESS"},
    [FP_CLEAR] = {"[WHICH]", false, "clear",
                  "end all faults, listen again, and reset connections that lost bytes to a black hole"},
    [FP_KILL] = {"N", false, "kill", "reset N open connections, oldest first"},
    [FP_STATS] = {"", false, "stats", "print the counters"},
    [FP_FORGET] = {"", false, "forget", "reset the counters"},
    [FP_HELP] = {"", false, "help", "print the forms of all commands"},
    [FP_QUIT] = {"", false, "quit", "close everything and exit"},
};

/* ---- Words ---------------------------------------------------------------------------------- */

typedef struct word {
    const char *at;
    size_t size;
} word;

typedef struct text {
    const char *at, *end;
} text;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Return the next word; at the end one of size 0. */
static word next_word(text *from)
{
    while (from->at < from->end && is_blank(*from->at)) from->at++;
    word found = {from->at, 0};
    while (from->at < from->end && !is_blank(*from->at)) from->at++;
    found.size = (size_t)(from->at - found.at);
    return found;
}

static bool is(word one, const char *name)
{
    return one.size && one.size == strlen(name) && memcmp(one.at, name, one.size) == 0;
}

static text text_of(const char *string)
{
    return (text){string, string + strlen(string)};
}

/* A word for messages: short, and without characters that a terminal would obey. */
typedef struct shown {
    char text[40];
} shown;

static shown show(word one)
{
    shown out;
    size_t size = one.size < sizeof out.text - 1 ? one.size : sizeof out.text - 1;
    for (size_t i = 0; i < size; i++) out.text[i] = (char)(one.at[i] < ' ' || one.at[i] > '~' ? '?' : one.at[i]);
    out.text[size] = 0;
    return out;
}

__attribute__((format(printf, 2, 3))) static bool fail(char *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, FP_SENTENCE, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- Values --------------------------------------------------------------------------------- */

struct kind {
    const char *name, *what;
    uint64_t most;
    const char *after; /* the suffix after the digits */
};

static const struct kind kinds[] = {
    {"MS", "number of milliseconds", 3600000, ""},
    {"BYTES", "number of bytes", 1000000000000, ""},
    {"RATE", "number of bytes per second", 1000000000000, ""},
    {"SHARE", "share", 100, "%"},
    {"N", "number", 1000000, ""},
};

static const struct kind *kind_of(word part)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (is(part, kinds[i].name)) return &kinds[i];
    return NULL;
}

static bool starts_with_digit(word one)
{
    return one.size && one.at[0] >= '0' && one.at[0] <= '9';
}

static bool read_number(const struct kind *kind, word one, uint64_t *out, char *why)
{
    size_t tail = strlen(kind->after), digits = one.size < tail ? 0 : one.size - tail;
    uint64_t number = 0;
    bool good = digits > 0 && digits <= 15 && memcmp(one.at + digits, kind->after, tail) == 0;
    for (size_t i = 0; good && i < digits; i++) {
        good = one.at[i] >= '0' && one.at[i] <= '9';
        number = number * 10 + (uint64_t)(one.at[i] - '0');
    }
    if (!good || number > kind->most)
        return fail(why, "\"%s\" is not a %s from 0%s to %llu%s.", show(one).text, kind->what, kind->after,
                    (unsigned long long)kind->most, kind->after);
    *out = number;
    return true;
}

static bool read_way(fp_command *command, word one)
{
    if (is(one, "to-server")) command->way = FP_TO_SERVER;
    else if (is(one, "to-client")) command->way = FP_TO_CLIENT;
    else if (is(one, "both")) command->way = FP_BOTH;
    else return false;
    return true;
}

static bool read_which(fp_command *command, word one)
{
    command->only_new = is(one, "new");
    return command->only_new || is(one, "all");
}

/* ---- Parts ---------------------------------------------------------------------------------- */

struct part {
    word name, value; /* for [name value] both; for a lone value the value; for a lone word the name */
    int place;        /* index in fp_command.value; -1: none */
    bool optional, seen;
};

enum { MOST_PARTS = 4 };

static bool is_capital(word one)
{
    return one.size && one.at[0] >= 'A' && one.at[0] <= 'Z';
}

/* Split a form into its parts. The forms come from the table above, so this cannot fail. */
static unsigned cut_form(const char *string, struct part *parts)
{
    text rest = text_of(string);
    unsigned count = 0;
    int place = 0;
    for (word one = next_word(&rest); one.size && count < MOST_PARTS; one = next_word(&rest)) {
        struct part next = {.optional = one.at[0] == '[', .place = -1};
        if (next.optional) one.at++, one.size--;
        bool closed = !next.optional || one.at[one.size - 1] == ']';
        if (next.optional && closed) one.size--;
        *(is_capital(one) ? &next.value : &next.name) = one;
        if (!closed) {
            next.value = next_word(&rest);
            next.value.size--;
        }
        if (!is(next.value, "WAY") && !is(next.value, "WHICH") && !is(next.value, "ADDRESS")) next.place = place++;
        parts[count++] = next;
    }
    return count;
}

/* Return true if the word may begin this part. */
static bool begins(const struct part *part, word one)
{
    fp_command unused;
    if (part->name.size) return one.size == part->name.size && memcmp(one.at, part->name.at, one.size) == 0;
    if (is(part->value, "WAY")) return read_way(&unused, one);
    if (is(part->value, "WHICH")) return read_which(&unused, one);
    return !part->optional || starts_with_digit(one);
}

static bool read_part(fp_command *command, struct part *part, word one, text *rest, char *why)
{
    part->seen = true;
    if (part->place >= 0) command->given |= 1u << part->place;
    if (!part->value.size) {
        command->value[part->place] = 1;
        return true;
    }
    if (part->name.size) one = next_word(rest);
    if (!one.size) return fail(why, "A value is missing after \"%s\".", show(part->name).text);
    if (is(part->value, "WAY")) return read_way(command, one);
    if (is(part->value, "WHICH")) return read_which(command, one);
    if (is(part->value, "ADDRESS"))
        return fp_address_parse(&command->address, one.at, one.size) ||
               fail(why, "\"%s\" is not an address; write 127.0.0.1:5432, [::1]:5432 or unix:/path.", show(one).text);
    return read_number(kind_of(part->value), one, &command->value[part->place], why);
}

static bool fail_use(const struct form *form, word one, char *why)
{
    const char *blank = form->parts[0] ? " " : "";
    if (!one.size) return fail(why, "A value is missing; write: %s%s%s.", form->name, blank, form->parts);
    return fail(why, "Unexpected \"%s\"; write: %s%s%s.", show(one).text, form->name, blank, form->parts);
}

static bool read_parts(fp_command *command, const struct form *form, text *rest, char *why)
{
    struct part parts[MOST_PARTS];
    unsigned count = cut_form(form->parts, parts), required = 0;
    for (; required < count && !parts[required].optional; required++) {
        word one = next_word(rest);
        if (!one.size) return fail_use(form, one, why);
        if (!read_part(command, &parts[required], one, rest, why)) return false;
    }
    for (word one = next_word(rest); one.size; one = next_word(rest)) {
        unsigned i = required;
        while (i < count && (parts[i].seen || !begins(&parts[i], one))) i++;
        if (i == count) return fail_use(form, one, why);
        if (!read_part(command, &parts[i], one, rest, why)) return false;
    }
    return true;
}

bool fp_command_parse(fp_command *command, const char *line, size_t size, char why[FP_SENTENCE])
{
    text rest = {line, line + size};
    memset(command, 0, sizeof *command);
    command->way = FP_BOTH;
    if (size > FP_LINE) return fail(why, "The line is longer than %d bytes.", FP_LINE);
    word verb = next_word(&rest);
    if (!verb.size) return fail(why, "The line is empty.");
    for (unsigned i = 0; i < FP_VERBS; i++) {
        if (!is(verb, forms[i].name)) continue;
        command->verb = (fp_verb)i;
        return read_parts(command, &forms[i], &rest, why);
    }
    return fail(why, "Unknown command \"%s\"; help lists all commands.", show(verb).text);
}

bool fp_command_is_setting(const fp_command *command)
{
    if (command->verb == FP_RESET) return command->given != 0;
    if (command->verb == FP_CLOSE_SLOWLY) return !(command->given & 2);
    return forms[command->verb].setting;
}

/* ---- Output --------------------------------------------------------------------------------- */

void fp_command_forms(char *out, size_t size)
{
    size_t used = 0;
    for (unsigned i = 0; i < FP_VERBS && used < size; i++) {
        int count = snprintf(out + used, size - used, "%s%s%s%s", i ? " | " : "", forms[i].name,
                             forms[i].parts[0] ? " " : "", forms[i].parts);
        if (count < 0) return;
        used += (size_t)count;
    }
}

static void print_forms(FILE *out, bool settings)
{
    for (unsigned i = 0; i < FP_VERBS; i++)
        if (forms[i].setting == settings)
            fprintf(out, "  %s%s%s\n      %s\n", forms[i].name, forms[i].parts[0] ? " " : "", forms[i].parts,
                    forms[i].meaning);
}

void fp_command_print_help(FILE *out)
{
    fputs("Faults, as quoted arguments or as commands:\n", out);
    print_forms(out, true);
    fputs("Commands only:\n", out);
    print_forms(out, false);
    fputs("Values:\n"
          "  MS, BYTES, RATE, N  whole numbers; 0 turns delay, throttle, slice, close-slowly and accept-every off\n"
          "  SHARE               a percentage, 50%; the seed determines which connections are hit\n"
          "  WAY                 to-server, to-client or both (the default)\n"
          "  WHICH               new: only new connections; all (the default): open connections too\n"
          "  ADDRESS             127.0.0.1:5432, [::1]:5432, localhost:5432, unix:/path\n",
          out);
}
