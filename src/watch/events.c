/* SPDX-License-Identifier: MIT */
/* Reading events, for programs: both rings as one stream. */
#include <cenote/events.h>

#include "record/events.h"
#include "watch/stream.h"

/* ---- Reading ---------------------------------------------------------------- */

/* Take the earlier of the two rings' next events. The other ring's cursor does not move: its event is read again next
 * time, and events overwritten until then are counted then. The cursor of a ring without a next event keeps the count
 * of events that it has passed over. */
bool ceni_events_next(ceni_cursor at[CENI_STREAMS], bool traces, cen_event *out)
{
    ceni_cursor life = at[CENI_LIFE], trace = at[CENI_TRACE];
    cen_event traced;
    bool has_life = ceni_events_take(CENI_LIFE, &life, out) == CEN_OK;
    bool has_trace = traces && ceni_events_take(CENI_TRACE, &trace, &traced) == CEN_OK;
    bool tells_trace = has_trace && (!has_life || traced.time_ns < out->time_ns);
    if (tells_trace) *out = traced;
    if (!has_life || !tells_trace) at[CENI_LIFE] = life;
    if (!has_trace || tells_trace) at[CENI_TRACE] = trace;
    return has_life || has_trace;
}

cen_status cen_events_read(cen_event_cursor *cursor, cen_event *out)
{
    if (!cursor || !out) return CEN_INVALID;
    ceni_cursor at[CENI_STREAMS] = {{cursor->next, cursor->missed}, {cursor->next_trace, cursor->missed_trace}};
    cen_event event;
    bool found = ceni_events_next(at, true, &event);
    *cursor = (cen_event_cursor){at[CENI_LIFE].next, at[CENI_LIFE].missed, at[CENI_TRACE].next, at[CENI_TRACE].missed};
    if (found) *out = event;
    return found ? CEN_OK : CEN_EMPTY;
}

uint64_t cen_events_total(void)
{
    return ceni_events_begun(CENI_LIFE);
}

/* ---- Names ------------------------------------------------------------------- */

const char *cen_event_level_name(cen_event_level level)
{
    static const char *const names[] = {"?", "trace", "detail", "notice", "warning", "error"};
    return level >= CEN_LEVEL_TRACE && level <= CEN_LEVEL_ERROR ? names[level] : names[0];
}
