/* SPDX-License-Identifier: MIT */
/* Reading both rings of events as one stream. */
#ifndef CENI_WATCH_STREAM_H
#define CENI_WATCH_STREAM_H

#include "record/events.h"

/* Copies out the next event of those at the cursors, one for each ring, the earlier one by its time, and moves on. Traces are left
 * alone unless they are wanted. False: there is none now. */
bool ceni_events_next(ceni_cursor at[CENI_STREAMS], bool traces, cen_event *out);

#endif
