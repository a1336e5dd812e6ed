/* SPDX-License-Identifier: MIT */
/*
 * Who may say something to the proxy: the standard input, and whoever connects to the control socket.
 *
 * A talk reads lines and answers each before it reads on. Its memory is one line: a longer one is answered by an error
 * and skipped. Who does not read the answers is hung up on, so that nobody can make the proxy wait; the standard output
 * alone is waited for.
 */
#ifndef FAULTPROXY_CONTROL_H
#define FAULTPROXY_CONTROL_H

#include <uv.h>

#include "faultproxy/command.h"

struct fp_proxy;

enum { FP_TALKS = 16 };

typedef struct fp_talk {
    uv_poll_t poll;
    struct fp_proxy *proxy;
    int in, out; /* in is -1 if nobody talks; the same, for a socket */
    bool is_stdin;
    bool closing;           /* libuv still has the handle */
    char line[FP_LINE + 1]; /* one more than a line may have: then it is too long, and the rest of it is dropped */
    size_t used;
} fp_talk;

typedef struct fp_control {
    uv_poll_t poll;
    int fd; /* of the control socket; -1 */
    char path[108];
    bool follow_stdin;
    fp_talk talks[FP_TALKS]; /* the first is the standard input's */
} fp_control;

/* The socket, if there is a path; false, and nothing was started, if it cannot be. */
bool fp_control_start(fp_control *control, struct fp_proxy *proxy, const char *path, char why[FP_SENTENCE]);

/* Begins to read the standard input. */
void fp_control_read_stdin(fp_control *control, struct fp_proxy *proxy, bool follow);

void fp_control_stop(fp_control *control);

#endif
