/* SPDX-License-Identifier: MIT */
/*
 * The event ring.
 *
 *     | header: magic sizes tag | next  dropped | place 0 | place 1 | ... |
 *
 * An event's number n comes from one add to `next`; its place is n modulo the number of places. A place's sequence
 * shows its contents:
 *
 *     0        empty
 *     2n + 1   event n is being written
 *     2n + 2   event n is whole
 *
 * Roles: a writer owns a place from its successful claim [E1] to its [E3].
 * Readers own nothing. No two writers own one place at a time.
 *
 * Invariants
 * I1  A sequence only grows, and so does a place's `lost`.
 * I2  The words of a place are stored only by the thread that made its
 *     sequence odd, and before it makes it even.
 * I3  An event that has a number is whole, being written, overwritten, or counted as dropped and noted in the place's
 *     `lost`.
 *
 * The naive version overwrites without claiming. A writer that is descheduled in the middle and comes back a whole
 * round later stores half of an old event over a new one, and then stores a sequence that declares the place whole.
 * Waiting for such a writer would let diagnostics block the program. So a writer that finds the place owned, or with
 * a newer event than its own, drops its event.
 *
 * The naive reader loads the sequence, then the words, then the sequence again, all acquire. That does not order the
 * last two: an acquire keeps later operations after itself, but not earlier ones before itself. Then
 *     reader: sequence 2n + 2, again 2n + 2      writer: claims, stores words
 *     reader: loads the words, new ones, and accepts them
 * Textbooks put a fence there. Here the words themselves are stored with release and loaded with acquire. A reader
 * that gets one word of a later writer has synchronised with that writer after its claim, so its second load of the
 * sequence cannot miss the claim.
 *
 * Progress: a write is a fixed number of steps. If the event is dropped, noting that repeats only when another thread
 * has noted a drop at the same place meanwhile. A read goes on past events that are overwritten while it copies them,
 * so each of its steps makes progress.
 *
 * Moving. The highest bit of `next` is the flag that the ring was left. It is in the word that hands out the numbers,
 * so one add gives a writer both its number and its ring. Numbers below the one that leave found belong to this ring,
 * all others to the next one, and none is lost between them. The naive version exchanges a pointer to the ring. A
 * writer that has loaded the old pointer may then write with any number at any later time, and it is not known which
 * numbers to wait for. After leave, the thread that moves the ring copies the whole events. It notes the others as
 * lost in the new ring, so that no reader waits for an event that its writer finishes in the old ring.
 *
 * Checks before a sleep. A reader that finds nothing may go to sleep, and a writer that has written may check whether
 * a thread sleeps (events.c). Each writes and then reads what the other writes. At least one of the two sees the
 * other only if all of these are seq_cst: [E3], [E7] and [E8] here, the reader's [E4], [E9] and [E10], and the
 * sleeper's word there.
 *
 * Linearisation points: a write at [E3], a read at its second load of the sequence [E6].
 *
 * Order table
 * tag  site      | operation           | order   | pairs with | carries                          | breaks if weakened
 * [E1] claim     | cas sequence to odd | acquire | [E3]       | the words of the place's last writer | two writers' words may end up in either order
 * [E2] store     | store of a word     | release | [E5]       | that the sequence is odd         | a reader accepts a mixture of two events
 * [E3] put       | store of sequence   | seq_cst | [E1], [E4] | the words; that there is an event | a reader or the next writer sees words not yet there; a reader sleeps although there is an event
 * [E4] copy      | load of sequence    | seq_cst | [E3]       | the words; that there is an event | a reader copies words older than the sequence; as [E3]
 * [E5] load      | load of a word      | acquire | [E2]       | that the sequence is odd         | as [E2]
 * [E6] copy      | second load         | relaxed | [E2] by [E5] | nothing further                | (is relaxed)
 * [E7] number    | add to next         | seq_cst | [E9], [E11] | that there is an event; what was made before leave | a reader sleeps although there is an event; a writer finds no other ring
 * [E8] note_lost | cas of lost         | seq_cst | [E10]      | that the event will not come     | a reader sleeps, waiting for it, although there are events after it
 * [E9] begun     | load of next        | seq_cst | [E7], [E11] | that there is an event; what was made before leave | as [E7]
 * [E10] is_lost  | load of lost        | seq_cst | [E8]       | that the event will not come     | as [E8]
 * [E11] leave    | or of next          | seq_cst | [E7], [E9] | the other ring                   | a writer or a reader finds no other ring
 * All other operations are relaxed and carry nothing.
 */
#include "record/ring.h"

#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/plant.h"
#include "port/port.h"

#define LEFT (UINT64_C(1) << 63) /* of `next` */

/* The size of a text, and in words. */
#define SIZE_OF(field) sizeof(((cen_event *)0)->field)
#define WORDS_OF(field) (SIZE_OF(field) / 8)

enum { VERSION = 3 };

/* How often a copy retries an event that is being written. */
#ifdef CENI_WATCHED
enum { PATIENCE = 1 };
#else
enum { PATIENCE = 200 };
#endif

/* Fixed by the version: dumps are read with these offsets. */
typedef struct place {
    _Atomic uint64_t sequence;
    _Atomic uint64_t lost; /* one more than the highest number of an event dropped here */
    _Atomic uint64_t time, component, value, holder, held;
    _Atomic uint64_t outcome; /* the code in the low half, the status in the high one */
    /* one byte each, from the lowest: the level; the lengths of what, component_kind, component_name, part, where,
     * given_where */
    _Atomic uint64_t shape;
    _Atomic uint64_t meaning; /* two bytes each, from the lowest: the kind, the cause, the length of text */
    _Atomic uint64_t what[WORDS_OF(what)];
    _Atomic uint64_t component_kind[WORDS_OF(component_kind)];
    _Atomic uint64_t component_name[WORDS_OF(component_name)];
    _Atomic uint64_t part[WORDS_OF(part)];
    _Atomic uint64_t where[WORDS_OF(where)];
    _Atomic uint64_t given_where[WORDS_OF(given_where)];
    _Atomic uint64_t text[WORDS_OF(text)];
} place;
_Static_assert(sizeof(place) == CENI_RING_PLACE && CENI_RING_PLACE % 64 == 0, "a place is a whole number of lines");
_Static_assert(SIZE_OF(component_name) <= 256 && SIZE_OF(where) <= 256, "a length is a byte");

struct ceni_ring {
    /* fixed by init */
    uint64_t magic;
    uint32_t version;
    uint32_t header_size; /* from the magic to the first place */
    uint32_t place_size;
    uint32_t places; /* a power of two */
    uint32_t stream;
    uint32_t reserved;
    uint64_t process;
    /* any thread, atomically; on other cache lines than the fields that are only read */
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t next; /* with the flag LEFT */
    _Atomic uint64_t dropped;
    _Alignas(CENI_CACHE_LINE) place at[];
};
_Static_assert(offsetof(struct ceni_ring, at) == CENI_RING_HEADER, "what is before the places");

/* ---- Making one ---------------------------------------------------------- */

static uint32_t rounded(uint32_t places)
{
    uint32_t power = 2;
    while (power < places && power < UINT32_C(1) << 31) power *= 2;
    return power;
}

size_t ceni_ring_size(uint32_t places)
{
    return CENI_RING_BYTES(rounded(places));
}

ceni_ring *ceni_ring_init_zeroed(void *memory, uint32_t places, ceni_ring_tag tag)
{
    ceni_ring *ring = memory;
    ring->version = VERSION;
    ring->header_size = CENI_RING_HEADER;
    ring->place_size = CENI_RING_PLACE;
    ring->places = rounded(places);
    ring->stream = tag.stream;
    ring->process = tag.process;
    ring->magic = CENI_RING_MAGIC; /* last: memory with the magic word has a complete header */
    return ring;
}

ceni_ring *ceni_ring_init(void *memory, uint32_t places)
{
    memset(memory, 0, ceni_ring_size(places));
    return ceni_ring_init_zeroed(memory, places, (ceni_ring_tag){0});
}

ceni_ring *ceni_ring_new(uint32_t places, const cen_allocator *allocator)
{
    void *memory = ceni_alloc(allocator, ceni_ring_size(places), CENI_CACHE_LINE);
    return memory ? ceni_ring_init(memory, places) : NULL;
}

void ceni_ring_free(ceni_ring *ring, const cen_allocator *allocator)
{
    if (ring) ceni_free(allocator, ring, ceni_ring_size(ring->places), CENI_CACHE_LINE);
}

void ceni_ring_wipe(void *memory, uint32_t places)
{
    uint64_t used = ceni_ring_begun(memory);
    if (used > rounded(places)) used = rounded(places);
    memset(memory, 0, CENI_RING_BYTES(used));
}

/* ---- Writing ------------------------------------------------------------- */

static void store(_Atomic uint64_t *word, uint64_t value)
{
    ceni_store_release(word, value); /* [E2] */
}

/* Returns the text's length. */
static uint64_t store_text(_Atomic uint64_t *words, const char *text, size_t size)
{
    size_t length = strnlen(text, size - 1);
    for (size_t at = 0; at < length; at += 8) {
        uint64_t word = 0;
        memcpy(&word, text + at, length - at < 8 ? length - at : 8);
        store(&words[at / 8], word);
    }
    return length;
}

#define STORE_TEXT(place, event, field) store_text((place)->field, (event)->field, SIZE_OF(field))

/* Claim the place for this event, if no writer owns it and it has no newer event. */
static bool claim(place *p, uint64_t number)
{
    uint64_t seen = ceni_load_relaxed(&p->sequence); /* carries nothing until the claim succeeds */
    if (seen % 2 != 0 || seen > 2 * number) return false;
    return ceni_cas_acquire(&p->sequence, &seen, 2 * number + 1); /* [E1] */
}

static void fill(place *p, const cen_event *event)
{
    store(&p->time, (uint64_t)event->time_ns);
    store(&p->component, event->component);
    store(&p->value, (uint64_t)event->value);
    store(&p->holder, event->holder);
    store(&p->held, (uint64_t)event->held_ns);
    store(&p->outcome, (uint32_t)event->code | (uint64_t)(uint32_t)event->status << 32);
    store(&p->shape, (uint8_t)event->level | STORE_TEXT(p, event, what) << 8 |
                         STORE_TEXT(p, event, component_kind) << 16 | STORE_TEXT(p, event, component_name) << 24 |
                         STORE_TEXT(p, event, part) << 32 | STORE_TEXT(p, event, where) << 40 |
                         STORE_TEXT(p, event, given_where) << 48);
    store(&p->meaning,
          (uint16_t)event->kind | (uint64_t)(uint16_t)event->cause << 16 | STORE_TEXT(p, event, text) << 32);
}

/* Tell readers not to wait for the event. `lost` only grows; otherwise a reader would wait for the later of two
 * events that were dropped here. */
static void note_lost(place *p, uint64_t number)
{
    uint64_t seen = ceni_load_relaxed(&p->lost);                             /* carries nothing */
    while (seen <= number && !ceni_cas_seq_cst(&p->lost, &seen, number + 1)) /* [E8] */
        continue;
}

static place *place_of(ceni_ring *ring, uint64_t number)
{
    return &ring->at[number & (ring->places - 1)];
}

uint64_t ceni_ring_number(ceni_ring *ring, bool *left)
{
    uint64_t next = ceni_add_seq_cst(&ring->next, 1); /* [E7] */
    *left = next & LEFT;
    return next & ~LEFT;
}

bool ceni_ring_put(ceni_ring *ring, uint64_t number, const cen_event *event)
{
    place *p = place_of(ring, number);
    if (!claim(p, number)) {
        ceni_add_relaxed(&ring->dropped, 1); /* carries nothing */
        note_lost(p, number);
        return false;
    }
    fill(p, event);
    ceni_store_seq_cst(&p->sequence, 2 * number + 2); /* [E3] */
    return true;
}

bool ceni_ring_write(ceni_ring *ring, const cen_event *event)
{
    bool left;
    uint64_t number = ceni_ring_number(ring, &left);
    return ceni_ring_put(ring, number, event);
}

uint64_t ceni_ring_begun(const ceni_ring *ring)
{
    return ceni_load_seq_cst(&ring->next) & ~LEFT; /* [E9] */
}

uint64_t ceni_ring_dropped(const ceni_ring *ring)
{
    return ceni_load_relaxed(&ring->dropped); /* carries nothing */
}

/* ---- Reading ------------------------------------------------------------- */

typedef enum found { WHOLE, UNFINISHED, GONE } found;

static uint64_t load(const _Atomic uint64_t *word)
{
    return ceni_load_acquire(word); /* [E5] */
}

/* `out` is zeroed. In a damaged dump the length may be too large. */
static void load_text(const _Atomic uint64_t *words, uint64_t length, char *out, size_t size)
{
    if (length >= size) length = size - 1;
    for (size_t at = 0; at < length; at += 8) {
        uint64_t word = load(&words[at / 8]);
        memcpy(out + at, &word, length - at < 8 ? length - at : 8);
    }
}

#define LOAD_TEXT(place, event, field, length) load_text((place)->field, length, (event)->field, SIZE_OF(field))

/* Copy event `number` out of its place, if the place has it from the first load of the sequence to the second. */
static found copy(const place *p, uint64_t number, cen_event *out)
{
    uint64_t before = ceni_load_seq_cst(&p->sequence); /* [E4] */
    if (before != 2 * number + 2) return before < 2 * number + 2 ? UNFINISHED : GONE;
    cen_event event = {.number = number,
                       .time_ns = (int64_t)load(&p->time),
                       .component = load(&p->component),
                       .value = (int64_t)load(&p->value),
                       .holder = load(&p->holder),
                       .held_ns = (int64_t)load(&p->held)};
    uint64_t outcome = load(&p->outcome), shape = load(&p->shape), meaning = load(&p->meaning);
    event.code = (int)(uint32_t)outcome;
    event.status = (cen_status)(outcome >> 32);
    event.level = (cen_event_level)(shape & 0xFF);
    event.kind = (cen_event_kind)(meaning & 0xFFFF);
    event.cause = (cen_cause)(meaning >> 16 & 0xFFFF);
    LOAD_TEXT(p, &event, what, shape >> 8 & 0xFF);
    LOAD_TEXT(p, &event, component_kind, shape >> 16 & 0xFF);
    LOAD_TEXT(p, &event, component_name, shape >> 24 & 0xFF);
    LOAD_TEXT(p, &event, part, shape >> 32 & 0xFF);
    LOAD_TEXT(p, &event, where, shape >> 40 & 0xFF);
    LOAD_TEXT(p, &event, given_where, shape >> 48 & 0xFF);
    LOAD_TEXT(p, &event, text, meaning >> 32 & 0xFFFF);
    /* If a word of a later writer was copied, that writer's claim is visible by now. */
    if (!ceni_planted(reader_looks_once) && ceni_load_relaxed(&p->sequence) != before) return GONE; /* [E6] */
    *out = event;
    return WHOLE;
}

static bool is_lost(const place *p, uint64_t number)
{
    return ceni_load_seq_cst(&p->lost) > number; /* [E10] */
}

/* Move the cursor past overwritten events; false at the end. */
static bool catch_up(const ceni_ring *ring, uint64_t begun, ceni_cursor *cursor)
{
    if (cursor->next >= begun) return false;
    if (begun - cursor->next > ring->places) {
        cursor->missed += begun - ring->places - cursor->next;
        cursor->next = begun - ring->places;
    }
    return true;
}

static void pass(ceni_cursor *cursor)
{
    cursor->next++;
    cursor->missed++;
}

cen_status ceni_ring_read_up_to(const ceni_ring *ring, uint64_t begun, ceni_cursor *cursor, cen_event *out)
{
    while (catch_up(ring, begun, cursor)) {
        const place *p = &ring->at[cursor->next & (ring->places - 1)];
        found what = copy(p, cursor->next, out);
        if (what == WHOLE) {
            cursor->next++;
            return CEN_OK;
        }
        if (what == UNFINISHED && !is_lost(p, cursor->next)) return CEN_EMPTY;
        pass(cursor);
    }
    return CEN_EMPTY;
}

cen_status ceni_ring_read(const ceni_ring *ring, ceni_cursor *cursor, cen_event *out)
{
    return ceni_ring_read_up_to(ring, ceni_ring_begun(ring), cursor, out);
}

bool ceni_ring_skip(const ceni_ring *ring, ceni_cursor *cursor)
{
    if (!catch_up(ring, ceni_ring_begun(ring), cursor)) return false;
    pass(cursor);
    return true;
}

/* ---- Moving --------------------------------------------------------------- */

uint64_t ceni_ring_leave(ceni_ring *ring)
{
    return ceni_or_seq_cst(&ring->next, LEFT); /* [E11] */
}

bool ceni_ring_is_left(const ceni_ring *ring)
{
    return ceni_load_seq_cst(&ring->next) & LEFT; /* [E9] */
}

/* A writer in the middle of an event finishes soon, unless it is descheduled. */
static found copy_patiently(const place *p, uint64_t number, cen_event *out)
{
    found what = copy(p, number, out);
    for (int looks = 0; what == UNFINISHED && looks < PATIENCE && !is_lost(p, number); looks++) {
        ceni_thread_yield();
        what = copy(p, number, out);
    }
    return what;
}

void ceni_ring_copy(const ceni_ring *from, uint64_t before, ceni_ring *to)
{
    uint64_t first = before > from->places ? before - from->places : 0;
    for (uint64_t number = first; number < before; number++) {
        cen_event event;
        if (copy_patiently(&from->at[number & (from->places - 1)], number, &event) == WHOLE)
            ceni_ring_put(to, number, &event);
        else if (!ceni_planted(events_awaits_what_stayed)) note_lost(place_of(to, number), number);
    }
}

/* ---- Dumps ---------------------------------------------------------------- */

size_t ceni_ring_told_size(const void *bytes, size_t size)
{
    ceni_ring ring;
    if (size < sizeof ring) return 0;
    memcpy(&ring, bytes, sizeof ring);
    if (ring.magic != CENI_RING_MAGIC || ring.version != VERSION) return 0;
    if (ring.header_size != CENI_RING_HEADER || ring.place_size != CENI_RING_PLACE) return 0;
    return ring.places == rounded(ring.places) ? CENI_RING_BYTES(ring.places) : 0;
}

const ceni_ring *ceni_ring_find(const void *memory, size_t size)
{
    size_t told = ceni_ring_told_size(memory, size);
    return told && told <= size && (uintptr_t)memory % CENI_CACHE_LINE == 0 ? memory : NULL;
}

uint32_t ceni_ring_places(const ceni_ring *ring)
{
    return ring->places;
}

ceni_ring_tag ceni_ring_tag_of(const ceni_ring *ring)
{
    return (ceni_ring_tag){.process = ring->process, .stream = ring->stream};
}

bool ceni_ring_look(const ceni_ring *ring, uint32_t at, cen_event *out)
{
    const place *p = &ring->at[at];
    uint64_t sequence = ceni_load_relaxed(&p->sequence); /* carries nothing: copy loads it again */
    if (sequence == 0 || sequence % 2 != 0) return false;
    uint64_t number = sequence / 2 - 1;
    bool belongs = (number & (ring->places - 1)) == at || ceni_planted(events_of_file_believes_all);
    if (!belongs || copy(p, number, out) != WHOLE) return false;
    return out->level >= CEN_LEVEL_TRACE && out->level <= CEN_LEVEL_ERROR;
}
