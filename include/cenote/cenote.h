/* SPDX-License-Identifier: MIT */
/* Includes all headers of libcenote. Each header can also be included alone. */
#ifndef CENOTE_H
#define CENOTE_H

#include <cenote/actor.h>
#include <cenote/allocator.h>
#include <cenote/choice.h>
#include <cenote/crew.h>
#include <cenote/deadline.h>
#include <cenote/driver.h>
#include <cenote/histogram.h>
#include <cenote/executor.h>
#include <cenote/future.h>
#include <cenote/inbox.h>
#include <cenote/lanes.h>
#include <cenote/events.h>
#include <cenote/pollable.h>
#include <cenote/poller.h>
#include <cenote/pool.h>
#include <cenote/pool_async.h>
#include <cenote/queue.h>
#include <cenote/runtime.h>
#include <cenote/sized.h>
#include <cenote/status.h>
#include <cenote/stop.h>
#include <cenote/timer.h>
#include <cenote/version.h>
#include <cenote/component.h>

#endif
