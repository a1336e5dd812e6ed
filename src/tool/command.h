/* SPDX-License-Identifier: MIT */
/*
 * A command of the program: its name, its options, its help, and its function.
 *
 *     typedef struct settings { int64_t clients; int64_t duration_ns; bool json; } settings;
 *
 *     static const option_row rows[] = {
 *         {"clients", 'c', OPTION_COUNT, "N", offsetof(settings, clients), 1, 1024, NULL, "how many use the pool"},
 *         {"for", 'd', OPTION_DURATION, "TIME", offsetof(settings, duration_ns), 1e6, 86400e9, NULL, "for how long"},
 *         {"json", 0, OPTION_FLAG, NULL, offsetof(settings, json), 0, 0, NULL, "print one JSON object"},
 *         {0},
 *     };
 *     static const settings usual = {.clients = 8, .duration_ns = 10 * SECOND_NS};
 *     static int walk(const command *self, void *its_settings, int count, char **arguments) { ... return EXIT_DONE; }
 *
 *     const command walk_command = {.name = "walk", .summary = "goes", .arguments = "[URL]", .teaching = "...", .rows = rows,
 *                                   .settings_size = sizeof usual, .usual = &usual, .most = 1, .run = walk};
 * Options have one syntax for all commands: --name VALUE, --name=VALUE, -n VALUE, -nVALUE, flags together as in -qj,
 * and -- to end the options. Options and arguments may come in any order. Every command has --help. An error is one
 * sentence that names the option, with status EXIT_USAGE, before anything is done.
 *
 * Numbers have a decimal point in every locale.
 *
 * Threads: the main thread only.
 */
#ifndef CENOTE_TOOL_COMMAND_H
#define CENOTE_TOOL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SECOND_NS INT64_C(1000000000)

/* The exit statuses; docs/tool.md and the man page have the same table. */
enum {
    EXIT_DONE = 0,        /* done, and the result is good */
    EXIT_FAILED = 1,      /* done, but the measurement failed in part or in all */
    EXIT_USAGE = 2,       /* invalid arguments; nothing was done */
    EXIT_UNREACHABLE = 3, /* the server, the file or the process does not exist, or refuses us */
    EXIT_SYSTEM = 4,      /* this machine failed: no memory, no threads, or a file or the output cannot be written */
    /* plus the signal's number, 130 for Ctrl-C: ended early, with the report so far; 141: the output has no reader */
    EXIT_SIGNAL = 128,
};

typedef enum option_kind {
    OPTION_FLAG = 1, /* bool: true */
    OPTION_TEXT,     /* const char * */
    OPTION_MAYBE,    /* const char *: --name gives "", --name=TEXT the text; the next word is never its value */
    OPTION_COUNT,    /* int64_t: 20, 20k, 2M */
    OPTION_NUMBER,   /* double: 0.5, 20k */
    OPTION_SHARE,    /* double from 0 to 1: 0.25 or 25% */
    OPTION_DURATION, /* int64_t, nanoseconds: 250ms, 2s, 1.5m, 1h, 10us, 500ns; without a unit, seconds */
    OPTION_SIZE,     /* int64_t, bytes: 4096, 64KiB, 1MiB, 1k = 1000 */
    OPTION_CHOICE,   /* int64_t: the index of the word in `choices` */
} option_kind;

typedef struct option_row {
    const char *name; /* "clients"; NULL ends the table */
    char letter;      /* 'c', or 0 */
    option_kind kind;
    const char *value;   /* its placeholder in the help: "N"; NULL for a flag */
    size_t at;           /* its offset in the command's settings: offsetof */
    double least, most;  /* limits of a number; both 0: any that is not negative */
    const char *choices; /* "html json text"; NULL for other kinds */
    const char *meaning; /* one line: "how many clients use the pool (8)" */
} option_row;

typedef struct command {
    const char *name, *summary; /* "run", "drives a real resource through a pool" */
    const char *arguments;      /* for the first line of the help: "[URL]" */
    const char *teaching;       /* the rest of the help, with examples; whole lines */
    const option_row *rows;
    size_t settings_size;
    const void *usual; /* the settings if no option is given */
    int least, most;   /* the number of arguments */
    /* Run the command and return the exit status. `settings` is the command's own copy. */
    int (*run)(const struct command *self, void *settings, int count, char **arguments);
} command;

/* All commands; NULL ends the list. */
extern const command *const commands[];
const command *command_of(const char *name);

/* Print "cenote run: TEXT" to the standard error, unless the status says that the output's reader has gone. Returns
 * `status`, for `return`. */
__attribute__((format(printf, 3, 4))) int command_fail(const command *self, int status, const char *format, ...);

/* Flush the standard output and return `status`, for `return`. If it could not be written, print that and return
 * EXIT_SYSTEM, because a partial report is useless. A reader that stops early, as head does, is not a failure. */
int command_flush(const command *self, int status);

void command_help(const command *self, FILE *out);
void command_help_all(FILE *out);
/* Print the words that may follow, one per line, for shell completion. `--name=` takes a value. If only some values are
 * valid, `--name=value` follows for each. self NULL: the commands. */
void command_words(const command *self, FILE *out);

/* ---- options.c ------------------------------------------------------------------------------------------- */

typedef enum options_answer { OPTIONS_READ = 0, OPTIONS_HELP, OPTIONS_WRONG } options_answer;

/* Read words into `settings`, and move the arguments among them to the front of `words`; *count: how many.
 * OPTIONS_WRONG: `why` has a complete sentence. */
options_answer options_read(const command *self, void *settings, int *count, char **words, char *why, size_t room);

/* Parse a single value like an option's. Returns false if it is invalid. */
bool options_duration(const char *text, int64_t *out);
bool options_number(const char *text, double *out);

#endif
