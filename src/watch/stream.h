/* SPDX-License-Identifier: MIT */
/* Reads both rings of events as one stream. */
#ifndef CENI_WATCH_STREAM_H
#define CENI_WATCH_STREAM_H

#include "record/events.h"

/* Copy out the earlier, by time, of the two rings' next events, and advance that ring's cursor. The ring of traces is
 * read only if `traces` is true. Returns false if there is no event now. */
bool ceni_events_next(ceni_cursor at[CENI_STREAMS], bool traces, cen_event *out);

#endif
