/* SPDX-License-Identifier: MIT */
/*
 * What can be said to the proxy, as text and as a struct.
 *
 * The grammar is the table in command.c and nothing else: the parser reads the forms that --help prints. A form is a
 * list of words. A word in small letters stands for itself, one in capitals for a value, and what is in brackets may
 * be left out; optional parts may come in any order, each once.
 *
 *     delay MS [jitter MS] [WAY] [WHICH]
 *
 * Parsing touches no memory but its arguments, so that it can be fuzzed by itself.
 */
#ifndef FAULTPROXY_COMMAND_H
#define FAULTPROXY_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "faultproxy/address.h"

/* The longest line, without its end; and room for any answer to one but help and stats. */
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
    /* Values in the order in which the form has them, 0 where left out; given says which were there, as bits. A part
     * of one small word counts as a value too: 1 if it was there. */
    uint64_t value[4];
    unsigned given;
    unsigned way;  /* FP_BOTH unless said */
    bool only_new; /* connections that are open keep what they have */
    fp_address address;
} fp_command;

/* Reads one line, without its end. False, and a sentence in `why`, if it is not understood. */
bool fp_command_parse(fp_command *command, const char *text, size_t size, char why[FP_SENTENCE]);

/* Whether it is a state to be in, and so can be asked for before there is any connection. */
bool fp_command_is_setting(const fp_command *command);

/* All forms in one line, with " | " between them; and with what they mean, for --help. */
void fp_command_forms(char *out, size_t size);
void fp_command_print_help(FILE *out);

#endif
