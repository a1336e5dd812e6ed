/* SPDX-License-Identifier: MIT */
/*
 * The grammar, and its reader.
 *
 * A line is cut into words. The required parts of the form are taken in their order; after that each word must begin
 * an optional part that was not there yet. A value's place in `value` is its place in the form, so that leaving a part
 * out moves nothing.
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
                  "pass bytes on MS milliseconds after they came, and up to jitter more"},
    [FP_THROTTLE] = {"RATE [WAY] [WHICH]", true, "throttle",
                     "pass on at most RATE bytes per second, per connection and way"},
    [FP_SLICE] = {"BYTES [MS] [WAY] [WHICH]", true, "slice", "pass bytes on in pieces of BYTES, with MS between two"},
    [FP_BLACKHOLE] =
        {"[hold] [WAY] [WHICH]", true, "blackhole",
         "pass nothing on: swallow what comes, or with hold do not even read it, so that windows fill;\n      "
         "new connections are accepted, and reach no server"},
    [FP_RESET] =
        {"[SHARE] [after BYTES]", true, "reset",
         "alone: reset all connections now; otherwise reset SHARE of those to come once BYTES (0) were passed on"},
    [FP_CLOSE_SLOWLY] =
        {"MS [now] [WHICH]", true, "close-slowly",
         "pass the first end on as a half-close, and close the rest MS later; now: end all to the client so"},
    [FP_REFUSE] = {"", true, "refuse", "stop listening, so that connects are refused"},
    [FP_ACCEPT_EVERY] = {"MS", true, "accept-every",
                         "accept one connection every MS milliseconds, with a backlog of 1"},
    [FP_TO] = {"ADDRESS", false, "to", "connect new connections to ADDRESS"},
    [FP_CLEAR] = {"[WHICH]", false, "clear",
                  "end all faults; reset the connections that lost bytes to a black hole, and listen again"},
    [FP_KILL] = {"N", false, "kill", "reset N of the connections that are open, the oldest first"},
    [FP_STATS] = {"", false, "stats", "answer with the counts"},
    [FP_FORGET] = {"", false, "forget", "begin the counts anew"},
    [FP_HELP] = {"", false, "help", "answer with these forms"},
    [FP_QUIT] = {"", false, "quit", "close everything and end"},
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

/* The next word; one of no size at the end. */
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

/* A word as it can be shown: short, and without what a terminal would obey. */
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
    const char *after; /* behind the digits */
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
        return fail(why, "\"%s\" is no %s from 0%s to %llu%s.", show(one).text, kind->what, kind->after,
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
    word name, value; /* [name value]; for a value alone, the value; for a word alone, the name */
    int place;        /* in fp_command.value; -1 if it has none */
    bool optional, seen;
};

enum { MOST_PARTS = 4 };

static bool is_capital(word one)
{
    return one.size && one.at[0] >= 'A' && one.at[0] <= 'Z';
}

/* Cuts a form into its parts; the table is ours, so that nothing here can fail. */
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

/* Whether a word may begin this part. */
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
    if (!one.size) return fail(why, "Something is missing after \"%s\".", show(part->name).text);
    if (is(part->value, "WAY")) return read_way(command, one);
    if (is(part->value, "WHICH")) return read_which(command, one);
    if (is(part->value, "ADDRESS"))
        return fp_address_parse(&command->address, one.at, one.size) ||
               fail(why, "\"%s\" is no address: write 127.0.0.1:5432, [::1]:5432 or unix:/path.", show(one).text);
    return read_number(kind_of(part->value), one, &command->value[part->place], why);
}

static bool fail_use(const struct form *form, word one, char *why)
{
    const char *blank = form->parts[0] ? " " : "";
    if (!one.size) return fail(why, "Something is missing; write: %s%s%s.", form->name, blank, form->parts);
    return fail(why, "\"%s\" is not understood here; write: %s%s%s.", show(one).text, form->name, blank, form->parts);
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
    return fail(why, "There is no command \"%s\"; help lists them.", show(verb).text);
}

bool fp_command_is_setting(const fp_command *command)
{
    if (command->verb == FP_RESET) return command->given != 0;
    if (command->verb == FP_CLOSE_SLOWLY) return !(command->given & 2);
    return forms[command->verb].setting;
}

/* ---- What is printed ------------------------------------------------------------------------ */

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
    fputs("Faults, as arguments in quotes and as commands:\n", out);
    print_forms(out, true);
    fputs("Commands only:\n", out);
    print_forms(out, false);
    fputs("Values:\n"
          "  MS, BYTES, RATE, N  whole numbers; 0 switches delay, throttle, slice, close-slowly and accept-every off\n"
          "  SHARE               a percentage, 50%; which connections are hit is drawn from the seed\n"
          "  WAY                 to-server, to-client or both, which is the default\n"
          "  WHICH               new: only connections to come; all, the default: those that are open too\n"
          "  ADDRESS             127.0.0.1:5432, [::1]:5432, localhost:5432, unix:/path\n",
          out);
}
