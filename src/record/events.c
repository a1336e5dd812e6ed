/* SPDX-License-Identifier: MIT */
/*
 * The process's events: two rings in static memory, which is touched only as it is used.
 *
 *     life    events of all levels except TRACE
 *     trace   takes and gives of pools with trace_takes: in the other ring they would overwrite everything else
 *
 * Both may move into a mapped file (ring.c explains why no event is lost). The numbers still come from the first
 * rings, whose `next` also contains the flag that the ring was left. `moved` is written before that flag and read
 * after it, so it needs no order of its own.
 *
 * In a forked child the rings contain the parent's events, and perhaps places claimed by threads that do not exist in
 * the child. The first call in the child wipes the used places and starts with the static memory. The parent's file
 * is not touched.
 *
 * Sleeping. `asleep` is the futex word of the thread that waits for events:
 *
 *     AWAKE --lie_down--> FOR_LIFE or FOR_ALL --a writer, or wake--> AWAKE, and a futex wake
 *
 * The sleeper stores the word and then reads the rings. A writer writes its event and then reads the word. Both pairs
 * are seq_cst, so at least one sees the other: the sleeper finds the event, or the writer finds the sleeper. While no
 * thread sleeps this costs a writer one load.
 *
 * Order table
 * tag  site     | operation          | order   | pairs with | carries                     | breaks if weakened
 * [N1] lie_down | store of asleep    | seq_cst | [N2]; [E4], [E9] and [E10] in ring.c | that a thread is about to sleep | it sleeps although there are events
 * [N2] wake     | load of asleep     | seq_cst | [N1]; [E3], [E7] and [E8] in ring.c  | that a thread is about to sleep | as [N1]
 * All other operations are relaxed and carry nothing: the futex itself compares asleep.
 *
 * Tested by tests/unit/record/events_test.c, tests/explore/events_test.c.
 */
#include "record/events.h"

#include <string.h>

#include "base/atomic.h"
#include "base/plant.h"
#include "base/probe.h"
#include "base/statics.h"
#include "port/port.h"
#include "record/owned.h"

/* Small in a world, where all static memory is copied back before each schedule. */
#ifdef CENI_WATCHED
enum { LIFE_PLACES = 4, TRACE_PLACES = 2, ALIGNMENT = CENI_CACHE_LINE };
#else
/* aligned to a page, so that the rings are contiguous in a core file */
enum { LIFE_PLACES = 2048, TRACE_PLACES = 1024, ALIGNMENT = 4096 };
#endif

enum { AWAKE = 0, FOR_LIFE = 1, FOR_ALL = 2 };

static const uint32_t places[CENI_STREAMS] = {LIFE_PLACES, TRACE_PLACES};

typedef struct memory {
    _Alignas(CENI_CACHE_LINE) unsigned char life[CENI_RING_BYTES(LIFE_PLACES)];
    _Alignas(CENI_CACHE_LINE) unsigned char trace[CENI_RING_BYTES(TRACE_PLACES)];
} memory;

static CENI_STATIC _Alignas(ALIGNMENT) memory first;

static CENI_STATIC struct {
    ceni_owned owned;
    memory *moved;           /* where the rings are after the first were left; written before that */
    _Atomic uint32_t asleep; /* any thread, atomically; a futex */
} events;

static ceni_ring *ring_in(memory *where, ceni_stream stream)
{
    return (ceni_ring *)(void *)(stream == CENI_LIFE ? where->life : where->trace);
}

static ceni_ring_tag tag_of(uint64_t process, ceni_stream stream)
{
    return (ceni_ring_tag){.process = process, .stream = (uint32_t)stream};
}

/* ---- The rings of the process ------------------------------------------------ */

static void begin(void)
{
    uint64_t process = (uint64_t)ceni_clock_wall() ^ ceni_fork_epoch() << 48;
    for (ceni_stream stream = CENI_LIFE; stream < CENI_STREAMS; stream++) {
        if (!ceni_planted(events_of_the_parent)) ceni_ring_wipe(ring_in(&first, stream), places[stream]);
        ceni_ring_init_zeroed(ring_in(&first, stream), places[stream], tag_of(process, stream));
    }
    events.moved = NULL;
    ceni_store_relaxed(&events.asleep, AWAKE); /* carries nothing */
}

static ceni_ring *first_ring(ceni_stream stream)
{
    if (ceni_owned_begin(&events.owned)) {
        begin();
        ceni_owned_ready(&events.owned);
    }
    return ring_in(&first, stream);
}

/* ---- Writing ----------------------------------------------------------------- */

/* Cuts between two characters of UTF-8: bytes that begin with the bits 10 continue a character. */
static void copy_text(char *to, size_t size, const char *from)
{
    size_t length = from ? strnlen(from, size) : 0;
    if (length == size) {
        length--;
        while (length > 0 && ((unsigned char)from[length] & 0xC0) == 0x80) length--;
    }
    if (length) memcpy(to, from, length);
    to[length] = '\0';
}

/* Copies the end of the text: of a call site, this is the file's name and the line. */
static void copy_end(char *to, size_t size, const char *from)
{
    size_t length = from ? strlen(from) : 0;
    const char *end = from;
    if (length >= size) end += length - size + 1;
    while (length >= size && ((unsigned char)*end & 0xC0) == 0x80) end++;
    copy_text(to, size, end);
}

static uint64_t write_event(ceni_stream stream, const cen_event *event)
{
    ceni_ring *ring = first_ring(stream);
    bool left;
    uint64_t number = ceni_ring_number(ring, &left);
    if (left && !ceni_planted(events_stays_behind)) ring = ring_in(events.moved, stream);
    ceni_ring_put(ring, number, event);
    if (!ceni_planted(events_wakes_nobody)) ceni_events_wake(stream);
    return number;
}

#ifdef CENI_WATCHED
static CENI_STATIC bool switched_on;

void ceni_events_switch_on(void)
{
    switched_on = true;
}
#else
enum { switched_on = true };
#endif

void ceni_event_fill(cen_event *out, const ceni_occurrence *what, const char *text)
{
    const ceni_directory_entry *of = what->of;
    out->number = 0;
    out->time_ns = what->time_ns ? what->time_ns : ceni_clock_wall();
    out->level = what->level;
    out->kind = what->kind;
    out->component = of ? ceni_setting(&of->number) : 0; /* it may be joining the directory right now */
    out->holder = what->holder;
    out->held_ns = what->held_ns;
    out->value = what->value;
    out->status = what->status;
    out->code = what->code;
    out->cause = what->cause;
    copy_text(out->what, sizeof out->what, cen_event_kind_name(what->kind));
    copy_text(out->component_kind, sizeof out->component_kind, of ? of->kind : NULL);
    copy_text(out->component_name, sizeof out->component_name, of ? of->name : NULL);
    copy_text(out->part, sizeof out->part, what->part);
    copy_end(out->where, sizeof out->where, what->where);
    copy_end(out->given_where, sizeof out->given_where, what->given_where);
    copy_text(out->text, sizeof out->text, text);
}

static uint64_t write_as(const char *word, const ceni_occurrence *what, const char *text)
{
    CENI_PROBE4(events, (int)what->level, word, what->of && what->of->name ? what->of->name : "", what->value);
    if (!switched_on) return 0;
    cen_event event;
    ceni_event_fill(&event, what, text);
    copy_text(event.what, sizeof event.what, word);
    return write_event(what->level == CEN_LEVEL_TRACE ? CENI_TRACE : CENI_LIFE, &event);
}

uint64_t ceni_event_write(const ceni_occurrence *what, const char *text)
{
    return write_as(cen_event_kind_name(what->kind), what, text);
}

void ceni_event_tell(cen_event_level level, cen_event_kind kind, const ceni_directory_entry *of, int64_t value,
                     const char *text)
{
    ceni_event_write(&(ceni_occurrence){.level = level, .kind = kind, .of = of, .value = value}, text);
}

void cen_event_emit(cen_event_level level, const char *what, const char *text)
{
    if (level < CEN_LEVEL_TRACE) level = CEN_LEVEL_TRACE;
    if (level > CEN_LEVEL_ERROR) level = CEN_LEVEL_ERROR;
    write_as(what ? what : "", &(ceni_occurrence){.level = level, .kind = CEN_EVENT_PROGRAM}, text);
}

/* ---- Reading ------------------------------------------------------------------- */

uint64_t ceni_events_begun(ceni_stream stream)
{
    return ceni_ring_begun(first_ring(stream));
}

cen_status ceni_events_take(ceni_stream stream, ceni_cursor *cursor, cen_event *out)
{
    ceni_ring *ring = first_ring(stream);
    uint64_t begun = ceni_ring_begun(ring);
    if (cursor->next > begun) *cursor = (ceni_cursor){0};
    if (ceni_ring_is_left(ring)) ring = ring_in(events.moved, stream);
    return ceni_ring_read_up_to(ring, begun, cursor, out);
}

/* ---- Moving --------------------------------------------------------------------- */

size_t ceni_events_size(void)
{
    return sizeof(memory);
}

void ceni_events_lay(void *where)
{
    for (ceni_stream stream = CENI_LIFE; stream < CENI_STREAMS; stream++) {
        uint64_t process = ceni_ring_tag_of(first_ring(stream)).process;
        ceni_ring_init_zeroed(ring_in(where, stream), places[stream], tag_of(process, stream));
    }
}

void ceni_events_move(void *where)
{
    events.moved = where;
    for (ceni_stream stream = CENI_LIFE; stream < CENI_STREAMS; stream++) {
        ceni_ring *ring = first_ring(stream);
        uint64_t before = ceni_ring_leave(ring);
        ceni_ring_copy(ring, before, ring_in(where, stream));
    }
    ceni_events_wake(CENI_LIFE); /* a reader may have found a place empty that is filled now */
    ceni_events_wake(CENI_TRACE);
}

/* ---- Sleeping ---------------------------------------------------------------------- */

void ceni_events_lie_down(bool for_traces)
{
    ceni_store_seq_cst(&events.asleep, for_traces ? (uint32_t)FOR_ALL : (uint32_t)FOR_LIFE); /* [N1] */
}

void ceni_events_get_up(void)
{
    ceni_store_relaxed(&events.asleep, AWAKE); /* carries nothing */
}

void ceni_events_sleep(void)
{
    uint32_t word = ceni_load_relaxed(&events.asleep); /* carries nothing: the futex compares */
    if (word != AWAKE) ceni_futex_wait(&events.asleep, word, CENI_FOREVER);
    ceni_events_get_up();
}

void ceni_events_wake(ceni_stream stream)
{
    uint32_t word = ceni_load_seq_cst(&events.asleep); /* [N2] */
    if (word == AWAKE || (stream == CENI_TRACE && word == FOR_LIFE)) return;
    /* carries nothing: decides which thread wakes the sleeper */
    if (ceni_cas_relaxed(&events.asleep, &word, AWAKE)) ceni_futex_wake(&events.asleep, 1);
}
