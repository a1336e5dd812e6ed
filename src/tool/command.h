/* SPDX-License-Identifier: MIT */
/*
 * A command of the program: its name, its options, what it says of itself, and what it does.
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
 *
 * Options are read in one way for all: --name VALUE, --name=VALUE, -n VALUE, -nVALUE, flags together as in -qj, -- before what
 * is no option; options and arguments in any order. --help is every command's. What is wrong is said in one sentence that names
 * the option, with status EXIT_USAGE, before anything is done.
 *
 * Numbers are written with a point, whatever the locale says.
 *
 * Threads: all of this is the main thread's.
 */
#ifndef CENOTE_TOOL_COMMAND_H
#define CENOTE_TOOL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SECOND_NS INT64_C(1000000000)

/* What the program answers to whoever started it; docs/tool.md and the man page have the same table. */
enum {
    EXIT_DONE = 0,        /* done, and what was measured or looked at is well */
    EXIT_FAILED = 1,      /* done, but what was measured failed, in part or in all */
    EXIT_USAGE = 2,       /* the arguments make no sense; nothing was done */
    EXIT_UNREACHABLE = 3, /* the server, the file or the process is not there, or refuses us */
    EXIT_SYSTEM = 4,      /* this machine refused: no memory, no threads, a file or the output cannot be written */
    /* plus the signal's number, 130 for Ctrl-C: ended early, with the report so far; 141: nobody reads it */
    EXIT_SIGNAL = 128,
};

typedef enum option_kind {
    OPTION_FLAG = 1, /* bool: true */
    OPTION_TEXT,     /* const char * */
    OPTION_MAYBE,    /* const char *: --name gives "", --name=TEXT the text; never the next word */
    OPTION_COUNT,    /* int64_t: 20, 20k, 2M */
    OPTION_NUMBER,   /* double: 0.5, 20k */
    OPTION_SHARE,    /* double from 0 to 1: 0.25 or 25% */
    OPTION_DURATION, /* int64_t, nanoseconds: 250ms, 2s, 1.5m, 1h, 10us, 500ns; a number alone is of seconds */
    OPTION_SIZE,     /* int64_t, bytes: 4096, 64KiB, 1MiB, 1k = 1000 */
    OPTION_CHOICE,   /* int64_t: which of the words in `choices` it is, from 0 */
} option_kind;

typedef struct option_row {
    const char *name; /* "clients"; NULL ends the table */
    char letter;      /* 'c', or 0 */
    option_kind kind;
    const char *value;   /* how help calls it: "N"; NULL with a flag */
    size_t at;           /* where it goes in the command's settings: offsetof */
    double least, most;  /* what numbers may be, both 0: anything that is not negative */
    const char *choices; /* "html json text"; NULL with all others */
    const char *meaning; /* one line: "how many clients use the pool (8)" */
} option_row;

typedef struct command {
    const char *name, *summary; /* "run", "drives a real resource through a pool" */
    const char *arguments;      /* for the first line of help: "[URL]" */
    const char *teaching;       /* the rest of its help, with examples; whole lines */
    const option_row *rows;
    size_t settings_size;
    const void *usual; /* what the settings are if no option is given */
    int least, most;   /* how many arguments it takes */
    /* Does it, and answers the exit status. `settings` are the command's own copy. */
    int (*run)(const struct command *self, void *settings, int count, char **arguments);
} command;

/* Every command, ended by NULL. */
extern const command *const commands[];
const command *command_of(const char *name);

/* Prints "cenote run: TEXT" to the standard error, unless the status is that of a reader who has left, and answers `status`, for
 * `return`. */
__attribute__((format(printf, 3, 4))) int command_fail(const command *self, int status, const char *format, ...);

/* Sees to it that the standard output is written, and answers `status`, for `return`: or EXIT_SYSTEM, and says so, if it could not
 * be, since a report that was not written whole is none. A reader who has seen enough, as head has, is no failure. */
int command_flush(const command *self, int status);

void command_help(const command *self, FILE *out);
void command_help_all(FILE *out);
/* The words that may come after it, one a line: for the shell's completion. `--name=` wants a value; where there are only some,
 * `--name=value` follows for each. self NULL: the commands. */
void command_words(const command *self, FILE *out);

/* ---- options.c ------------------------------------------------------------------------------------------- */

typedef enum options_answer { OPTIONS_READ = 0, OPTIONS_HELP, OPTIONS_WRONG } options_answer;

/* Reads words into `settings`, and the arguments among them to the front of `words`, how many into *count. OPTIONS_WRONG:
 * `why` has a whole sentence. */
options_answer options_read(const command *self, void *settings, int *count, char **words, char *why, size_t room);

/* One value by itself, as an option's; false if it is none. */
bool options_duration(const char *text, int64_t *out);
bool options_number(const char *text, double *out);

#endif
