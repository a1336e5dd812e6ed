/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <event2/event.h>
#include <cenote/pq.h>
#include <glib-unix.h>
#include <uv.h>

void on_ready(cen_take_op *take);
extern int connection;
void handle_socket(int fd);
void handle(const struct epoll_event *event);
void stop_the_loop(void);
void on_given(cen_future *future);
extern cen_pollable *pollable;
extern cen_take_op take;
extern cen_future given;
extern cen_close_op closing;
extern cen_close_report report;
#if SAMPLE == 1
struct request;
void refuse(struct request *r);
void fail(struct request *r, const char *why);
void watch(int fd, struct request *r);
void unwatch(int fd);
void answer(struct request *r, const char *count);
#endif
#if SAMPLE == 5
extern uv_loop_t *loop;
extern uv_poll_t watch;
#endif
extern struct event_base *base;
