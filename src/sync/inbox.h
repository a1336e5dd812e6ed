/* SPDX-License-Identifier: MIT */
/* Inboxes, for the other rooms: the thread behind an executor, and whether an inbox is empty. */
#ifndef CENI_SYNC_INBOX_H
#define CENI_SYNC_INBOX_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/executor.h>
#include <cenote/inbox.h>

/* Return the number of the thread that runs the executor's jobs: for an inbox the thread that polled it last. A job
 * that this thread itself posts wakes no thread. 0: not known. The executor must exist. */
uint64_t ceni_executor_thread(const cen_executor *executor);

/* Return true if no job waits in the inbox. Only a hint while other threads post. */
bool ceni_inbox_is_empty(const cen_inbox *inbox);

#endif
