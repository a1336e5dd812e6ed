/* SPDX-License-Identifier: MIT */
#include "given.h"

void on_done(cen_future *future);
void give_up(void);
void note_that_it_was_late(void);
void handle(const struct epoll_event *event);
#if SAMPLE != 1
extern struct errand {
    cen_future future;
} read_;
#define read read_
extern cen_timer timeout;
extern cen_group group;
#else
extern struct errand *errand;
#endif
extern cen_promise *promise;
extern void *answer;
extern struct epoll_event event;
