/* SPDX-License-Identifier: MIT */
/*
 * The process' events, as the rooms write them: include/cenote/events.h says what they are.
 *
 *     ceni_event_tell(CEN_LEVEL_NOTICE, CEN_EVENT_STOPPED, &crew->entry, 0, text);
 *     ceni_event_write(&(ceni_occurrence){.level = CEN_LEVEL_WARNING, .kind = CEN_EVENT_TIMED_OUT, .of = &pool->entry,
 *                                         .value = waited_ns, .where = where}, error.text);
 *
 * Never allocates, takes no lock and never waits, but for the first events of a process, which makes the rings: who comes just
 * then waits for that. Any thread, under any lock of ours.
 * In the world of the controlled scheduler nothing is written unless a test asks for it,
 * so that programs explored there have no more steps for it.
 */
#ifndef CENI_RECORD_EVENTS_H
#define CENI_RECORD_EVENTS_H

#include <cenote/events.h>

#include "base/spi.h"
#include "record/directory.h"
#include "record/ring.h"

CENI_SPI_BEGIN

/* What happened, as its room knows it. */
typedef struct ceni_occurrence {
    cen_event_level level; /* TRACE goes to the ring of its own */
    cen_event_kind kind;
    const ceni_directory_entry *of;         /* NULL: of no component */
    const char *part, *where, *given_where; /* or NULL */
    uint64_t holder;
    int64_t held_ns, value;
    cen_status status;
    int code;
    cen_cause cause;
    int64_t time_ns; /* 0: now */
} ceni_occurrence;

/* Tells that it happened. `text` is a whole sentence, or NULL: none. Returns the event's number. */
uint64_t ceni_event_write(const ceni_occurrence *what, const char *text);

/* The same of one that has little more than a kind. */
void ceni_event_tell(cen_event_level level, cen_event_kind kind, const ceni_directory_entry *of, int64_t value,
                     const char *text);

/* The same for one listener: the event, but for its number. */
void ceni_event_fill(cen_event *out, const ceni_occurrence *what, const char *text);

CENI_SPI_END

/* ---- For src/watch ----------------------------------------------------------- */

/* The two rings. */
typedef enum ceni_stream { CENI_LIFE, CENI_TRACE, CENI_STREAMS } ceni_stream;

uint64_t ceni_events_begun(ceni_stream stream);

/* As ceni_ring_read, of this process' ring, wherever it is. A cursor ahead of all is of another process and begins anew. */
cen_status ceni_events_take(ceni_stream stream, ceni_cursor *cursor, cen_event *out);

/* Moves both rings into other memory, which is all zero, aligned to CENI_CACHE_LINE and there for ever: the first call makes
 * them there, and the second has all events go there from now on. One caller at a time, once in a process. */
size_t ceni_events_size(void);
void ceni_events_lay(void *memory);
void ceni_events_move(void *memory);

/* Sleeping until there is an event. Only one does so at a time:
 *
 *     ceni_events_lie_down(false);
 *     if (there is an event, or a reason to stop) ceni_events_get_up();
 *     else ceni_events_sleep();
 *
 * Who writes an event, or calls wake, after lie_down ends the sleep, or never lets it begin. It may end for no reason. */
void ceni_events_lie_down(bool for_traces);
void ceni_events_get_up(void);
void ceni_events_sleep(void);
void ceni_events_wake(ceni_stream stream);

#ifdef CENI_WATCHED
/* From now on, until the end of this schedule, events are written. */
void ceni_events_switch_on(void);
#endif

#endif
