/* SPDX-License-Identifier: MIT */
/*
 * Writing events, for the other rooms. include/cenote/events.h describes events.
 *
 *     ceni_event_tell(CEN_LEVEL_NOTICE, CEN_EVENT_STOPPED, &crew->entry, 0, text);
 *     ceni_event_write(&(ceni_occurrence){.level = CEN_LEVEL_WARNING, .kind = CEN_EVENT_TIMED_OUT, .of = &pool->entry,
 *                                         .value = waited_ns, .where = where}, error.text);
 *
 * Writing never allocates, takes no lock and never waits. One exception: the first call of a process makes the rings,
 * and other calls at that moment wait for it. Any thread may write, with any of the library's locks held.
 * In a world nothing is written unless a test switches events on, so that explored programs have fewer steps.
 */
#ifndef CENI_RECORD_EVENTS_H
#define CENI_RECORD_EVENTS_H

#include <cenote/events.h>

#include "base/spi.h"
#include "record/directory.h"
#include "record/ring.h"

CENI_SPI_BEGIN

/* An event, as its room knows it. */
typedef struct ceni_occurrence {
    cen_event_level level; /* TRACE has a ring of its own */
    cen_event_kind kind;
    const ceni_directory_entry *of;         /* the component; NULL: none */
    const char *part, *where, *given_where; /* or NULL */
    uint64_t holder;
    int64_t held_ns, value;
    cen_status status;
    int code;
    cen_cause cause;
    int64_t time_ns; /* 0: now */
} ceni_occurrence;

/* Write an event. `text` is a whole sentence, or NULL: none. Returns the event's number. */
uint64_t ceni_event_write(const ceni_occurrence *what, const char *text);

/* The same, for an event with few fields. */
void ceni_event_tell(cen_event_level level, cen_event_kind kind, const ceni_directory_entry *of, int64_t value,
                     const char *text);

/* Fill in *out without writing an event; the number stays 0. */
void ceni_event_fill(cen_event *out, const ceni_occurrence *what, const char *text);

CENI_SPI_END

/* ---- For src/watch ----------------------------------------------------------- */

/* The two rings. */
typedef enum ceni_stream { CENI_LIFE, CENI_TRACE, CENI_STREAMS } ceni_stream;

uint64_t ceni_events_begun(ceni_stream stream);

/* As ceni_ring_read, for this process's ring, wherever it is. A cursor beyond the newest event comes from another
 * process, and is reset to the oldest event. */
cen_status ceni_events_take(ceni_stream stream, ceni_cursor *cursor, cen_event *out);

/* Move both rings to other memory. `memory` has ceni_events_size() bytes, is zeroed, aligned to CENI_CACHE_LINE, and
 * is never freed. ceni_events_lay makes the rings there; after ceni_events_move all events are written there. One
 * caller at a time, once in a process. */
size_t ceni_events_size(void);
void ceni_events_lay(void *memory);
void ceni_events_move(void *memory);

/* Sleep until there is an event. Only one thread at a time may do so:
 *
 *     ceni_events_lie_down(false);
 *     if (there is an event, or a reason to stop) ceni_events_get_up();
 *     else ceni_events_sleep();
 *
 * A thread that writes an event, or calls wake, after lie_down ends the sleep or prevents it. The sleep may also end
 * spuriously. */
void ceni_events_lie_down(bool for_traces);
void ceni_events_get_up(void);
void ceni_events_sleep(void);
void ceni_events_wake(ceni_stream stream);

#ifdef CENI_WATCHED
/* Switch events on until the end of this schedule. */
void ceni_events_switch_on(void);
#endif

#endif
