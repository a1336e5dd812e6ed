/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <event2/event.h>
#include <glib.h>
#include <uv.h>

typedef struct my_source {
    GSource source;
    cen_inbox *inbox;
    gpointer tag;
} my_source;
void handle(const struct epoll_event *event);
void stop_the_loop(void);
void on_given(cen_future *future);
extern cen_future given;
extern cen_close_op closing;
extern cen_close_report report;
#if SAMPLE == 4
extern uv_loop_t *loop;
extern uv_prepare_t prepare;
extern uv_check_t check;
extern uv_poll_t watch;
#endif
extern struct event_base *base;
