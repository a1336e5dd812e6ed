/* SPDX-License-Identifier: MIT */
/*
 * A slot: a place for one object, and the one word that says what is with it.
 *
 *     word = generation (56 bits) | LISTED (1 bit) | MARKED (1 bit) | state (6 bits)
 *
 * The generation counts the leases the slot ever had. It goes up by one when a
 * lease begins and at no other time, so a lease is told from every other one
 * of its slot, and the sum of all generations, less the first of each slot (heads.c), is the number of takes.
 *
 *                    claim                 (waiter's own)
 *     EMPTY ───────────────▶ OPENING ───────────────────┐
 *       ▲ ▲                     │ publish               ▼
 *       │ └── open failed ──────┤               g+1   HELD ──revoke──▶ REVOKING ──▶ REVOKED
 *       │                       ▼       ┌──────take────▶│                 │ give       │ give
 *       │                     IDLE ─────┘               │                 ▼            │
 *       │                       │  ◀───────give─────────┤              RETURNED        │
 *       │                       ▼                       ▼                 │            │
 *       └────────────────── CLOSING ◀──────discard──────┴─────────────────┴────────────┘
 *
 * An orphan (orphans.c) goes REVOKING ▶ CLOSING ▶ EMPTY without its holder: a record keeps its object. REVOKED goes back to
 * REVOKING when its holder ends or its place is reclaimed.
 *
 * RESETTING stands between HELD and IDLE while what was given is checked and
 * reset, TESTING between IDLE, or HELD when its holder has ended, and IDLE.
 * Who makes a slot leave a state is its only holder until the next: IDLE is
 * everybody's, EMPTY the holder's of the pool's lock, HELD, REVOKING and REVOKED
 * the lease holder's and the closer's, each by CAS.
 *
 * LISTED: the slot's bit in the map of the pool is set, or is about to be. An
 * IDLE slot is always LISTED. Who searches and wastes looks on a slot that is
 * not idle strikes it from the map; whoever makes it idle puts it back before.
 *
 * MARKED: an IDLE slot is to be tested before it is lent; any other is to be
 * closed when it comes back, because the pool was reloaded or the object is too
 * old. The quick path knows the word without it, fails, and goes the slow way:
 * so neither costs a take or a give anything.
 */
#ifndef CENI_POOL_SLOT_H
#define CENI_POOL_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/list.h"
#include "base/plant.h"
#include "sync/holder.h"

typedef enum ceni_slot_state {
    CENI_SLOT_EMPTY = 0,
    CENI_SLOT_IDLE,
    CENI_SLOT_HELD,
    CENI_SLOT_OPENING,
    CENI_SLOT_RESETTING,
    CENI_SLOT_TESTING,
    CENI_SLOT_CLOSING,
    CENI_SLOT_REVOKING, /* the driver's interrupt is running; the holder has not come back */
    CENI_SLOT_REVOKED,
    CENI_SLOT_RETURNED, /* came back while interrupt was running: whoever runs it closes the object */
    CENI_SLOT_STATES
} ceni_slot_state;

enum { CENI_LISTED = 0x80, CENI_MARKED = 0x40, CENI_STATE_MASK = 0x3f };

/* A generation has 56 bits: a word has 8 more. */
#define CENI_GENERATIONS (UINT64_MAX >> 8)

/* What is known of a slot beyond its word. One number is enough, as no two of its meanings meet: a lease is over before a call
 * begins, and what waits for its test has no ticket. Flags stay while the number changes. */
typedef union ceni_slot_notes {
    struct {
        uint64_t leaked_generation : 56; /* held: of the lease whose leak was told */
    };
    struct {
        uint64_t call_number : 56; /* has_ticket: the number of the call that goes on, and will be done later */
    };
    struct {
        uint64_t
            next_test : 56; /* it waits for a helper to test it: the index of the next one plus one; 0: it is the last */
    };
    struct {
        uint64_t number_ : 56;
        uint64_t has_ticket : 1;
        uint64_t is_overdue : 1;   /* it opens, and takes too long */
        uint64_t is_cancelled : 1; /* the driver was asked to end the call */
        uint64_t is_minimum : 1;   /* it opens, and nobody waits for it */
        uint64_t is_wanted : 1;    /* it is tested, or will be, and somebody waits for that */
        uint64_t is_awaited : 1;   /* likewise; it was a take that found it and put it to the test (checkup.c) */
        uint64_t was_idle : 1;     /* it is closed, and was idle when the pool was */
        /* no helper opens it, or none any more, although it is not yet in its next state: nobody can be told that it takes too
         * long */
        uint64_t is_between : 1;
    };
} ceni_slot_notes;
_Static_assert(sizeof(ceni_slot_notes) == sizeof(uint64_t), "flags lie above the number");

typedef struct ceni_slot {
    /* any thread, atomically; one pair of lines, because every take and give is here */
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t word;
    _Atomic(void *) object; /* written by the slot's only holder */
    _Atomic uint64_t note;  /* who took it, and the low bits of the generation; written last of the three */
    _Atomic(const char *) where;
    /* when, if the note says that this was written for its lease; ~ when that ended (times.c) */
    _Atomic int64_t since;
    _Atomic uint64_t met;   /* the latest word, less its flags, that a look has met ... */
    _Atomic int64_t met_at; /* ... and when the first look met it (look.c) */
    /* the thread that entered the slot's lease as a scope */
    uint64_t scope_generation; /* to which `scopes` belongs; its complement: `giving` does */
    union {
        uint64_t scopes;           /* that are open */
        struct cen_future *giving; /* is to be told when what follows the give is over; whoever owns the slot */
        /* of the take that sleeps until this slot is tested; under the pool's lock, and only if the notes say
         * is_awaited; NULL: the take has left, or was told */
        struct ceni_checkup *checkup;
    };
    /* under the pool's lock */
    /* of those that are idle or tested, in an exact order; or of those that wait for a helper, but for tests */
    ceni_list link;
    /* written by the slot's only holder */
    _Atomic int64_t opened_at;         /* or, while it is opening, when that began */
    _Atomic int64_t expires_at;        /* when the object is to be closed, by a reload that is spread */
    _Atomic int64_t tested_at;         /* or, while it is testing, when that began */
    _Atomic uint64_t first_generation; /* before the first lease of this object */
    ceni_slot_notes notes;             /* under the lock */
} ceni_slot;

enum { CENI_SLOT_SHIFT = 7 };
_Static_assert(sizeof(ceni_slot) == CENI_CACHE_LINE && CENI_CACHE_LINE == 1 << CENI_SLOT_SHIFT,
               "one pair of lines per slot");

static inline uint64_t ceni_word(uint64_t generation, unsigned state)
{
    return generation << 8 | state;
}

static inline uint64_t ceni_word_generation(uint64_t word)
{
    return word >> 8;
}

static inline ceni_slot_state ceni_word_state(uint64_t word)
{
    return (ceni_slot_state)(word & CENI_STATE_MASK);
}

/* The note of a lease. Before a taker has written its note, the slot still has
 * that of the lease before, whose generation differs by one: few bits tell. The
 * highest of those that are the generation's is turned round in the note of a
 * lease for which `since` was written, so that the others' notes cost no more. */
enum { CENI_NOTE_BITS = CENI_HOLDER_SHIFT, CENI_NOTE_TIMED = 1 << (CENI_NOTE_BITS - 1) };

static inline uint64_t ceni_slot_note_of(uint64_t holder, uint64_t generation)
{
    return holder << CENI_NOTE_BITS | (generation & ((1u << CENI_NOTE_BITS) - 1));
}

/* In the holder of a note: the lease was detached from it. */
#define CENI_HOLDER_DETACHED (UINT64_C(1) << 47)

/* In the holder of a note: the holder has ended. The lease was taken back to be tested, or is an orphan. */
#define CENI_HOLDER_ENDED (UINT64_C(1) << 46)

/* The holder in a note of that generation's lease; 0 if it is another's. */
static inline uint64_t ceni_slot_holder(uint64_t note, uint64_t generation)
{
    return ((note ^ generation) & (CENI_NOTE_TIMED - 1)) == 0 ? note >> CENI_NOTE_BITS : 0;
}

/* Whether the slot's `since` is that generation's. */
static inline bool ceni_slot_is_timed(uint64_t note, uint64_t generation)
{
    return ((note ^ generation) & CENI_NOTE_TIMED) && ceni_slot_holder(note, generation);
}

/* Whether the lease with that word, HELD and LISTED, is one whose times are taken: one in CENI_SAMPLED_ONE_IN. The word is
 * at hand in a take as well as in a give. Multiplied by a golden fraction the generations are spread evenly, and with no
 * period: of whatever a program does in turn with a slot, every part is met as often as the others. */
enum { CENI_SAMPLED_ONE_IN = 64 };
#define CENI_SAMPLED_BELOW (UINT32_MAX / CENI_SAMPLED_ONE_IN + 1)
#define CENI_GOLDEN UINT32_C(0x9e3779) /* of the 24 bits above the state, which are the generation's */

static inline bool ceni_word_is_sampled(uint64_t word)
{
    if (ceni_planted(sampled_every_64th)) return (word >> 8) % CENI_SAMPLED_ONE_IN == 0;
    return (uint32_t)word * CENI_GOLDEN < CENI_SAMPLED_BELOW;
}

/* The same of the next generation's word; written so that neither word is needed beside the other. */
static inline bool ceni_word_next_is_sampled(uint64_t word)
{
    if (ceni_planted(sampled_every_64th)) return ceni_word_is_sampled(word + 256);
    return (uint32_t)word * CENI_GOLDEN + (CENI_GOLDEN << 8) < CENI_SAMPLED_BELOW;
}

/* The word of a slot that is not the caller's. */
uint64_t ceni_slot_word(ceni_slot *slot);

/* The word without its flags: a generation and a state. */
static inline uint64_t ceni_word_bare(uint64_t word)
{
    return word & ~(uint64_t)(CENI_LISTED | CENI_MARKED);
}

/* Moves a slot from one state to another, generation and LISTED as they are,
 * MARKED gone; false if it is in another state by now. */
bool ceni_slot_move(ceni_slot *slot, uint64_t generation, ceni_slot_state from, ceni_slot_state to);

/* The same, unless it is marked. */
bool ceni_slot_move_unmarked(ceni_slot *slot, uint64_t generation, ceni_slot_state from, ceni_slot_state to);

/* Marks a slot that is in that state and generation; false if it is not. */
bool ceni_slot_mark(ceni_slot *slot, uint64_t generation, ceni_slot_state state);

#endif
