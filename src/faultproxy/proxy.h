/* SPDX-License-Identifier: MIT */
/* The whole proxy: one loop on one thread, and the state that all parts share. */
#ifndef FAULTPROXY_PROXY_H
#define FAULTPROXY_PROXY_H

#include <uv.h>

#include "faultproxy/control.h"
#include "faultproxy/link.h"
#include "faultproxy/listener.h"
#include "faultproxy/options.h"
#include "faultproxy/stats.h"

/* Room for any response. */
enum { FP_ANSWER = 2048 };

typedef struct fp_proxy {
    uv_loop_t loop;
    fp_address target;       /* of new connections */
    fp_faults faults;        /* of new connections */
    uint64_t random, jitter; /* generators: which connections are reset, and the jitter of bytes */
    fp_listener listener;
    fp_control control;
    uv_signal_t signals[2];
    fp_link *oldest, *newest; /* the open links */
    fp_stats stats;
    bool quits; /* quit was requested; its response is still to be sent */
} fp_proxy;

/* Start everything that the options ask for, or nothing. Returns false with a sentence in `why` on failure. */
bool fp_proxy_start(fp_proxy *proxy, const fp_options *options, char why[FP_SENTENCE]);

/* Run until the proxy has ended and everything is closed. */
void fp_proxy_run(fp_proxy *proxy);

/* Close everything. Further calls do nothing. */
void fp_proxy_end(fp_proxy *proxy);

/* Execute one line. The response is one line without its newline. */
void fp_proxy_obey(fp_proxy *proxy, const char *line, size_t size, char answer[FP_ANSWER]);

#endif
