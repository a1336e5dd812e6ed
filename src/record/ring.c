/* SPDX-License-Identifier: MIT */
/*
 * The event ring.
 *
 *     | header: magic sizes | next  dropped | place 0 | place 1 | ... |
 *
 * An event's number n comes from one add to `next`; its place is n modulo the
 * number of places. A place's sequence tells what is in it:
 *
 *     0        nothing yet
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
 * I3  An event that is begun is whole, being written, overwritten, or counted
 *     as dropped and noted in the place's `lost`.
 *
 * The naive version overwrites without claiming. A writer that is descheduled
 * in the middle and comes back a whole round later stores half of an old event
 * over a new one, and the sequence that it stores last says that all is well.
 * Waiting for it would make a diagnosis stop the patient. So a writer that
 * finds the place owned, or already newer than itself, drops its own event.
 *
 * The naive reader loads the sequence, then the words, then the sequence
 * again, all acquire. That leaves the last two free to change places: an
 * acquire keeps later operations after itself, not earlier ones before. Then
 *     reader: sequence 2n + 2, again 2n + 2      writer: claims, stores words
 *     reader: loads the words, new ones, and believes them
 * Textbooks put a fence there. Here the words themselves are stored with
 * release and loaded with acquire: a reader that gets one word of a later
 * writer has thereby synchronised with it after its claim, and its second look
 * at the sequence cannot miss the claim.
 *
 * Progress: a write is a fixed number of steps. If it is dropped, noting that
 * repeats only when another thread has noted a drop at the same place
 * meanwhile. A read goes on past events that were overwritten under its hands,
 * and so makes headway with every step.
 *
 * Linearisation points: a write at [E3], a read at its second look [E6].
 *
 * Order table
 * tag  site      | operation           | order   | pairs with | carries                          | breaks if weakened
 * [E1] claim     | cas sequence to odd | acquire | [E3]       | the words of the place's last writer | two writers' words may end up in either order
 * [E2] put       | store of a word     | release | [E5]       | that the sequence is odd         | a reader believes a mixture of two events
 * [E3] write     | store of sequence   | release | [E1], [E4] | the words                        | a reader or the next writer sees words not yet there
 * [E4] copy      | load of sequence    | acquire | [E3]       | the words                        | a reader copies words older than the sequence
 * [E5] get       | load of a word      | acquire | [E2]       | that the sequence is odd         | as [E2]
 * [E6] copy      | second load         | relaxed | [E2] by [E5] | nothing further                | (is relaxed)
 * All else is relaxed and carries nothing.
 */
#include "record/ring.h"

#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/plant.h"

#define MAGIC UINT64_C(0x474E4952454E4543) /* "CENERING" where the low byte comes first */

enum { VERSION = 1, TEXT_WORDS = CENI_EVENT_TEXT / 8 };

/* Fixed by the version: a dump is read by these offsets. */
typedef struct place {
    _Atomic uint64_t sequence;
    _Atomic uint64_t lost; /* one more than the highest number of an event dropped here */
    _Atomic uint64_t time;
    _Atomic uint64_t kind; /* and from bit 32 up the length of the text */
    _Atomic uint64_t first, second;
    _Atomic uint64_t text[TEXT_WORDS];
} place;
_Static_assert(sizeof(place) == 128, "a place is a whole number of lines");

struct ceni_ring {
    /* fixed by init */
    uint64_t magic;
    uint32_t version;
    uint32_t header_size; /* from the magic to the first place */
    uint32_t place_size;
    uint32_t places; /* a power of two */
    uint32_t text_size;
    uint32_t reserved;
    /* any thread, atomically; away from what all only read */
    _Alignas(CENI_LINE) _Atomic uint64_t next;
    _Atomic uint64_t dropped;
    _Alignas(CENI_LINE) place at[];
};

/* ---- Making one ---------------------------------------------------------- */

static uint32_t rounded(uint32_t places)
{
    uint32_t power = 2;
    while (power < places && power < UINT32_C(1) << 31) power *= 2;
    return power;
}

size_t ceni_ring_size(uint32_t places)
{
    return offsetof(ceni_ring, at) + rounded(places) * sizeof(place);
}

ceni_ring *ceni_ring_init(void *memory, uint32_t places)
{
    memset(memory, 0, ceni_ring_size(places));
    ceni_ring *ring = memory;
    ring->version = VERSION;
    ring->header_size = offsetof(ceni_ring, at);
    ring->place_size = sizeof(place);
    ring->places = rounded(places);
    ring->text_size = CENI_EVENT_TEXT;
    ring->magic = MAGIC; /* last: memory with a magic word has the rest */
    return ring;
}

ceni_ring *ceni_ring_new(uint32_t places, const cen_allocator *allocator)
{
    void *memory = ceni_alloc(allocator, ceni_ring_size(places), CENI_LINE);
    return memory ? ceni_ring_init(memory, places) : NULL;
}

void ceni_ring_free(ceni_ring *ring, const cen_allocator *allocator)
{
    if (ring) ceni_free(allocator, ring, ceni_ring_size(ring->places), CENI_LINE);
}

const ceni_ring *ceni_ring_find(const void *memory, size_t size)
{
    if ((uintptr_t)memory % CENI_LINE != 0 || size < sizeof(ceni_ring)) return NULL;
    const ceni_ring *ring = memory;
    if (ring->magic != MAGIC || ring->version != VERSION) return NULL;
    if (ring->header_size != offsetof(ceni_ring, at) || ring->place_size != sizeof(place)) return NULL;
    if (ring->text_size != CENI_EVENT_TEXT || ring->places != rounded(ring->places)) return NULL;
    return size >= ceni_ring_size(ring->places) ? ring : NULL;
}

/* ---- Writing ------------------------------------------------------------- */

static void put(_Atomic uint64_t *word, uint64_t value)
{
    ceni_store_release(word, value); /* [E2] */
}

/* Makes the place this event's, if it belongs to nobody and to nothing newer. */
static bool claim(place *p, uint64_t number)
{
    uint64_t seen = ceni_load_relaxed(&p->sequence); /* carries nothing until the claim succeeds */
    if (seen % 2 != 0 || seen > 2 * number) return false;
    return ceni_cas_acquire(&p->sequence, &seen, 2 * number + 1); /* [E1] */
}

static void fill(place *p, const ceni_event *event)
{
    uint64_t text[TEXT_WORDS] = {0};
    size_t length = strnlen(event->text, CENI_EVENT_TEXT - 1);
    memcpy(text, event->text, length);
    put(&p->time, (uint64_t)event->time);
    put(&p->kind, event->kind | (uint64_t)length << 32);
    put(&p->first, event->first);
    put(&p->second, event->second);
    for (size_t i = 0; i * 8 < length; i++) put(&p->text[i], text[i]);
}

/* Tells readers not to expect the event. `lost` only grows, or a reader would
 * wait for the later of two events that were dropped here. */
static void note_lost(place *p, uint64_t number)
{
    uint64_t seen = ceni_load_relaxed(&p->lost); /* carries nothing */
    while (seen <= number && !ceni_cas_relaxed(&p->lost, &seen, number + 1)) /* carries nothing */
        continue;
}

bool ceni_ring_write(ceni_ring *ring, const ceni_event *event)
{
    uint64_t number = ceni_add_relaxed(&ring->next, 1); /* carries nothing */
    place *p = &ring->at[number & (ring->places - 1)];
    if (!claim(p, number)) {
        ceni_add_relaxed(&ring->dropped, 1); /* carries nothing */
        note_lost(p, number);
        return false;
    }
    fill(p, event);
    ceni_store_release(&p->sequence, 2 * number + 2); /* [E3] */
    return true;
}

uint64_t ceni_ring_begun(const ceni_ring *ring)
{
    return ceni_load_relaxed(&ring->next); /* carries nothing */
}

uint64_t ceni_ring_dropped(const ceni_ring *ring)
{
    return ceni_load_relaxed(&ring->dropped); /* carries nothing */
}

/* ---- Reading ------------------------------------------------------------- */

typedef enum found { WHOLE, UNFINISHED, GONE } found;

static uint64_t get(const _Atomic uint64_t *word)
{
    return ceni_load_acquire(word); /* [E5] */
}

/* Copies event `number` out of its place, if that is what the place holds from
 * the first look to the second. */
static found copy(const place *p, uint64_t number, ceni_event *out)
{
    uint64_t before = ceni_load_acquire(&p->sequence); /* [E4] */
    if (before != 2 * number + 2) return before < 2 * number + 2 ? UNFINISHED : GONE;
    ceni_event event = {.time = (int64_t)get(&p->time), .first = get(&p->first), .second = get(&p->second)};
    uint64_t kind = get(&p->kind), text[TEXT_WORDS] = {0};
    size_t length = kind >> 32;
    if (length >= CENI_EVENT_TEXT) length = CENI_EVENT_TEXT - 1; /* only in a damaged dump */
    for (size_t i = 0; i * 8 < length; i++) text[i] = get(&p->text[i]);
    /* A writer one of whose words was copied has by now shown its claim. */
    if (!ceni_planted(reader_looks_once) && ceni_load_relaxed(&p->sequence) != before) return GONE; /* [E6] */
    event.kind = (uint32_t)kind;
    memcpy(event.text, text, length);
    *out = event;
    return WHOLE;
}

/* Moves the cursor past what is overwritten by now; false at the end. */
static bool catch_up(const ceni_ring *ring, ceni_cursor *cursor)
{
    uint64_t begun = ceni_ring_begun(ring);
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

cen_status ceni_ring_read(const ceni_ring *ring, ceni_cursor *cursor, ceni_event *out)
{
    while (catch_up(ring, cursor)) {
        const place *p = &ring->at[cursor->next & (ring->places - 1)];
        found what = copy(p, cursor->next, out);
        if (what == WHOLE) {
            cursor->next++;
            return CEN_OK;
        }
        bool lost = ceni_load_relaxed(&p->lost) > cursor->next; /* carries nothing */
        if (what == UNFINISHED && !lost) return CEN_EMPTY;
        pass(cursor);
    }
    return CEN_EMPTY;
}

bool ceni_ring_skip(const ceni_ring *ring, ceni_cursor *cursor)
{
    if (!catch_up(ring, cursor)) return false;
    pass(cursor);
    return true;
}
