/* SPDX-License-Identifier: MIT */
/*
 * Events: what happened lately in this process, to whichever pool, crew, router or
 * supervisor: one stream in a ring of fixed size, in which the newest overwrites
 * the oldest.
 *
 *     cen_events_listen(CEN_LEVEL_NOTICE, log_it, NULL, NULL);     // a log: told of each, on a thread of its own
 *
 *     cen_event_cursor at = {0};                                       // or read when it suits
 *     cen_event events;
 *     while (cen_events_read(&at, &events) == CEN_OK) puts(events.text);
 *
 * The ring outlives a crash: a core file has it, and cen_events_persist puts it into a
 * file that is there when the process is gone, however it went. `cenote events FILE`
 * shows either.
 *
 * Writing never waits, never allocates and never calls the program. Objects taken and
 * given are told only of pools whose options ask for trace_takes, and then at the
 * level TRACE, in a ring of their own, so that they push nothing else out.
 *
 * Threads: any. A cursor belongs to one reader.
 * Fork: the child begins with no events, no listener and no file; it zeroes cursors that it got from there.
 */
#ifndef CENOTE_EVENTS_H
#define CENOTE_EVENTS_H

#include <stdint.h>

#include <cenote/status.h>
#include <cenote/version.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cen_event_level {
    CEN_LEVEL_TRACE = 1, /* taken, given */
    CEN_LEVEL_DETAIL,    /* opened, closed, waited, member_up */
    CEN_LEVEL_NOTICE,    /* paused, reloaded, breaker_closed, child_restarted */
    CEN_LEVEL_WARNING,   /* timed_out, leak, shed, member_down, open_failed */
    CEN_LEVEL_ERROR,     /* breaker_opened, gave_up */
} cen_event_level;

/* One event. Plain memory: texts end with a zero, and what is longer is cut, between two characters of UTF-8. */
typedef struct cen_event {
    uint64_t number; /* from 0, one more for each of the process; those of TRACE are numbered by themselves */
    int64_t time_ns; /* when, since 1970 */
    cen_event_level level;
    uint64_t component; /* cen_component_number, or 0 */
    int64_t value;      /* a time in nanoseconds, an index or a count, as `what` says; or 0 */
    char what[24];      /* "opened", "timed_out": one word, the names of cen_event_name among them */
    char kind[16];      /* of the component: "pool" */
    char name[32];      /* of the component */
    char text[328];     /* a whole sentence */
} cen_event;

/* Where a reader is. Zeroed: at the oldest events that is still there. */
typedef struct cen_event_cursor {
    uint64_t next;                     /* the number of the one to be read */
    uint64_t missed;                   /* so many were overwritten, or found no place, before they could be read */
    uint64_t next_trace, missed_trace; /* the same of TRACE */
} cen_event_cursor;

/* Copies the oldest events at the cursor out and moves on; of both rings the earlier one, as far as it can be told.
 * Never waits. Errors: EMPTY (no more now), INVALID. */
CEN_API cen_status cen_events_read(cen_event_cursor *cursor, cen_event *out);

/* How many there have been, those of TRACE not counted. */
CEN_API uint64_t cen_events_total(void);

/* Writes one of the program's own: of no component. A level that is none is the nearest that is one; NULL is no text. Never
 * fails: what finds no place, because another thread is stuck in the middle of writing there, is counted as missed. */
CEN_API void cen_event_emit(cen_event_level level, const char *what, const char *text);

/* Lets `listener` be called for each events of at least that level from now on, in their order, one at a time, on a
 * thread of its own, with no lock held. It may do anything but call this. One listener: another replaces it, and
 * NULL ends it. The former one is told what there was before that, as far as it can still be read; when this returns it has
 * returned and is not called again. `missed`: so many, of any level, were overwritten since the call before because it was too
 * slow. Errors: SYSTEM (no thread; the former one stays), MISUSE (from the listener itself), INVALID. */
CEN_API cen_status cen_events_listen(cen_event_level least,
                                     void (*listener)(void *argument, const cen_event *events, uint64_t missed),
                                     void *argument, cen_error *error);

/* "trace", "detail", "notice", "warning", "error"; "?" if it is none. */
CEN_API const char *cen_event_level_name(cen_event_level level);

/* ---- After a crash ------------------------------------------------------------ */

/* From now on the rings, 1.4 megabytes, are in this file, which only the same user may read; what was told before is in it,
 * too. It stays when the process is gone, however it went, and needs no end. What was there under that name, of an
 * earlier run say, is now PATH.old. Once per process. Errors: SYSTEM (the text says why), EXISTS (it has one),
 * INVALID (no path, too long a one, or something is there that is no file). */
CEN_API cen_status cen_events_persist(const char *path, cen_error *error);

/* Calls `show` for all events in such a file, or in a core file, oldest first. The process may still be writing. A core file is
 * searched from one end to the other. What is damaged is left out. The texts are as the process wrote them, or as whoever
 * made the file did: they may have anything in them but a zero. Errors: SYSTEM (it cannot be read), ABSENT (it is no such
 * file), NO_MEMORY, INVALID. */
CEN_API cen_status cen_events_read_file(const char *path, void (*show)(void *argument, const cen_event *events),
                                        void *argument, cen_error *error);

#ifdef __cplusplus
}
#endif
#endif
