/* SPDX-License-Identifier: MIT */
/* The program's arguments. */
#ifndef FAULTPROXY_OPTIONS_H
#define FAULTPROXY_OPTIONS_H

#include "faultproxy/command.h"

enum { FP_FAULTS = 32 };

typedef struct fp_options {
    fp_address listen, to;
    const char *control; /* path of the control socket; NULL: none */
    bool follow_stdin;
    bool help, version; /* requested: the other options are ignored */
    bool has_listen, has_to, has_seed;
    uint64_t seed;
    fp_command faults[FP_FAULTS];
    unsigned faults_used;
} fp_options;

/* Parse the arguments. Returns false with a sentence in `why` if they are invalid. */
bool fp_options_parse(fp_options *options, int count, char **arguments, char why[FP_SENTENCE]);

void fp_options_print_help(FILE *out);

#endif
