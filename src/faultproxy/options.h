/* SPDX-License-Identifier: MIT */
/* The arguments of the program. */
#ifndef FAULTPROXY_OPTIONS_H
#define FAULTPROXY_OPTIONS_H

#include "faultproxy/command.h"

enum { FP_FAULTS = 32 };

typedef struct fp_options {
    fp_address listen, to;
    const char *control; /* a path; NULL: there is no control socket */
    bool follow_stdin;
    bool help, version; /* asked for: then the rest is of no interest */
    bool has_listen, has_to, has_seed;
    uint64_t seed;
    fp_command faults[FP_FAULTS];
    unsigned faults_used;
} fp_options;

/* False, and a sentence in `why`, if they make no sense. */
bool fp_options_parse(fp_options *options, int count, char **arguments, char why[FP_SENTENCE]);

void fp_options_print_help(FILE *out);

#endif
