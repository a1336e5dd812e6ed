/* SPDX-License-Identifier: MIT */
#include "given.h"

extern int loop;
extern struct epoll_event readable;
