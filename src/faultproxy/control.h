/* SPDX-License-Identifier: MIT */
/*
 * The sources of commands: the standard input, and clients of the control socket.
 *
 * A talk reads lines and responds to each before it reads the next. Its memory is one line; a longer line gets an error
 * and is skipped. A client that does not read its responses is disconnected, so that no client can make the proxy wait.
 * Only writes to the standard output block.
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
    int in, out; /* in: -1 if unused; both are the same for a socket */
    bool is_stdin;
    bool closing; /* libuv still has the handle */
    /* 1 byte more than a line may have: if full, the line is too long, and its rest is dropped */
    char line[FP_LINE + 1];
    size_t used;
} fp_talk;

typedef struct fp_control {
    uv_poll_t poll;
    int fd; /* the control socket; -1: none */
    char path[108];
    bool follow_stdin;
    fp_talk talks[FP_TALKS]; /* the first one is the standard input's */
} fp_control;

/* Open the control socket if there is a path. Returns false, with nothing started, on failure. */
bool fp_control_start(fp_control *control, struct fp_proxy *proxy, const char *path, char why[FP_SENTENCE]);

/* Start to read the standard input. */
void fp_control_read_stdin(fp_control *control, struct fp_proxy *proxy, bool follow);

void fp_control_stop(fp_control *control);

#endif
