/* SPDX-License-Identifier: MIT */
/* The whole of it: one loop on one thread, and what every part of the program knows. */
#ifndef FAULTPROXY_PROXY_H
#define FAULTPROXY_PROXY_H

#include <uv.h>

#include "faultproxy/control.h"
#include "faultproxy/link.h"
#include "faultproxy/listener.h"
#include "faultproxy/options.h"
#include "faultproxy/stats.h"

/* Room for any answer. */
enum { FP_ANSWER = 2048 };

typedef struct fp_proxy {
    uv_loop_t loop;
    fp_address target;       /* of new connections */
    fp_faults faults;        /* of new connections */
    uint64_t random, jitter; /* drawn from: which connections are reset, and how much later bytes come */
    fp_listener listener;
    fp_control control;
    uv_signal_t signals[2];
    fp_link *oldest, *newest; /* those that are open */
    fp_stats stats;
    bool quits; /* it was told to; whoever told it has still to be answered */
} fp_proxy;

/* Starts all that the options say, or nothing: false, and a sentence in `why`. */
bool fp_proxy_start(fp_proxy *proxy, const fp_options *options, char why[FP_SENTENCE]);

/* Until it has ended and everything is closed. */
void fp_proxy_run(fp_proxy *proxy);

/* Closes everything. Again is nothing. */
void fp_proxy_end(fp_proxy *proxy);

/* Does what one line says; the answer is one line, without its end. */
void fp_proxy_obey(fp_proxy *proxy, const char *line, size_t size, char answer[FP_ANSWER]);

#endif
