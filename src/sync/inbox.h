/* SPDX-License-Identifier: MIT */
/* What those ask who tell others by way of an executor, and who have an inbox. */
#ifndef CENI_SYNC_INBOX_H
#define CENI_SYNC_INBOX_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/executor.h>
#include <cenote/inbox.h>

/* The number of the thread that runs what is posted there, as far as is known: an inbox' is that which polled it last. What
 * that thread itself posts wakes nobody. 0: nobody knows. The executor is there. */
uint64_t ceni_executor_thread(const cen_executor *executor);

/* Whether nothing waits in it to be run. While others post, what was so a moment ago. */
bool ceni_inbox_is_empty(const cen_inbox *inbox);

#endif
