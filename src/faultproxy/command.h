/* SPDX-License-Identifier: MIT */
/*
 * The proxy's commands, as text and as a struct.
 *
 * The table in command.c is the whole grammar: the parser reads the forms that --help prints. A form is a list of
 * words. A lower-case word stands for itself, an upper-case word for a value, and parts in brackets are optional.
 * Optional parts may come in any order, each once.
 *
 *     delay MS [jitter MS] [WAY] [WHICH]
 *
 * The parser touches no memory except its arguments, so it can be fuzzed alone.
 */
#ifndef FAULTPROXY_COMMAND_H
#define FAULTPROXY_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "faultproxy/address.h"

/* The longest line, without its newline; and room for any response except those of help and stats. */
enum { FP_LINE = 255, FP_SENTENCE = 512 };

typedef enum fp_verb {
    FP_DELAY,
    FP_THROTTLE,
    FP_SLICE,
    FP_BLACKHOLE,
    FP_RESET,
    FP_CLOSE_SLOWLY,
    FP_REFUSE,
    FP_ACCEPT_EVERY,
    FP_TO,
    FP_CLEAR,
    FP_KILL,
    FP_STATS,
    FP_FORGET,
    FP_HELP,
    FP_QUIT,
    FP_VERBS
} fp_verb;

/* Directions of bytes, as bits. */
enum { FP_TO_SERVER = 1, FP_TO_CLIENT = 2, FP_BOTH = 3 };

typedef struct fp_command {
    fp_verb verb;
    /* Values in the order of the form, 0 where omitted; given: a bit for each that was present. A part that is one
     * lower-case word counts as a value, too: 1 if present. */
    uint64_t value[4];
    unsigned given;
    unsigned way;  /* FP_BOTH by default */
    bool only_new; /* open connections keep their faults */
    fp_address address;
} fp_command;

/* Parse one line without its newline. Returns false with a sentence in `why` if it is invalid. */
bool fp_command_parse(fp_command *command, const char *text, size_t size, char why[FP_SENTENCE]);

/* Return true if the command sets a state, so that it can be given before there is any connection. */
bool fp_command_is_setting(const fp_command *command);

/* Write all forms in one line, separated by " | "; print them with their meanings, for --help. */
void fp_command_forms(char *out, size_t size);
void fp_command_print_help(FILE *out);

#endif
