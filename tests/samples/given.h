/* SPDX-License-Identifier: MIT */
/* What the fragments of code in pages and headers take for granted, for tools/check-samples. Nothing here is ever linked. */
#ifndef SAMPLES_GIVEN_H
#define SAMPLES_GIVEN_H

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cenote/cenote.h>

/* What the function that has the lines of a fragment returns. SAMPLE is the number of the fragment in its page. */
#define SAMPLE_RESULT int

void die(const char *text) __attribute__((noreturn));
void use(const void *object, ...);

extern cen_pool *pool;
extern cen_inbox *inbox;
extern cen_runtime *runtime;
extern cen_crew *crew;
extern cen_executor *executor;
extern cen_driver driver;
extern cen_lease lease;
extern cen_error error;
extern int epoll;
extern struct epoll_event events[64];

#endif
