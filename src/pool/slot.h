/* SPDX-License-Identifier: MIT */
/*
 * A slot: a place for one object, and the word with its state.
 *
 *     word = generation (56 bits) | LISTED (1 bit) | MARKED (1 bit) | state (6 bits)
 *
 * The generation counts all leases of the slot. It goes up by one when a lease begins, and at no other time. So it
 * distinguishes a lease from every other lease of its slot, and the sum of all generations, less the first of each
 * slot (heads.c), is the number of takes.
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
 * An orphan (orphans.c) goes REVOKING ▶ CLOSING ▶ EMPTY without its holder: a record keeps its object. REVOKED goes
 * back to REVOKING when its holder ends or its place is reclaimed.
 *
 * RESETTING is between HELD and IDLE, while a returned object is checked and reset. TESTING is between IDLE, or HELD
 * when its holder has ended, and IDLE. The thread that moves a slot out of a state owns it until the next state. Any
 * thread may move a slot out of IDLE, the holder of the pool's lock out of EMPTY, the lease holder and the closer out
 * of HELD, REVOKING and REVOKED; each by CAS.
 *
 * LISTED: the slot's bit in the map of the pool is set, or is about to be. An IDLE slot is always LISTED. A searcher
 * that finds too many slots that are not idle strikes them from the map; a thread that makes such a slot idle first
 * puts it back.
 *
 * MARKED: an IDLE slot must be tested before it is lent. Any other slot must be closed when its object comes back,
 * because the pool was reloaded or the object is too old. The quick path expects the word without the mark, so its
 * CAS fails and it takes the slow path. So the mark costs an ordinary take or give nothing.
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
    CENI_SLOT_RETURNED, /* given back while interrupt was running: the thread that runs it closes the object */
    CENI_SLOT_STATES
} ceni_slot_state;

enum { CENI_LISTED = 0x80, CENI_MARKED = 0x40, CENI_STATE_MASK = 0x3f };

/* A generation has 56 bits; the word has 8 more. */
#define CENI_GENERATIONS (UINT64_MAX >> 8)

/* Notes about a slot beyond its word. The number has three meanings that never overlap: a lease has ended before a
 * call begins, and a slot that waits for its test has no ticket. Flags keep their values when the number changes. */
typedef union ceni_slot_notes {
    struct {
        uint64_t leaked_generation : 56; /* HELD: the lease whose leak was reported */
    };
    struct {
        uint64_t call_number : 56; /* has_ticket: the number of the running call, which completes later */
    };
    struct {
        uint64_t next_test : 56; /* queued for a test by a helper: the index of the next one plus one; 0: the last */
    };
    struct {
        uint64_t number_ : 56;
        uint64_t has_ticket : 1;
        uint64_t is_overdue : 1;   /* its opening takes too long */
        uint64_t is_cancelled : 1; /* the driver was asked to cancel the call */
        uint64_t is_minimum : 1;   /* it opens for min_idle or a try, not for a waiter */
        uint64_t is_wanted : 1;    /* it is tested, or queued for a test, for a waiter */
        uint64_t is_awaited : 1;   /* the same, for the take that has found it (checkup.c) */
        uint64_t was_idle : 1;     /* it is being closed, and was idle when the pool was closed */
        /* it is OPENING, but no helper is in the call: before the call, or after it and before the next state. Such
         * an opening is not reported as overdue */
        uint64_t is_between : 1;
    };
} ceni_slot_notes;
_Static_assert(sizeof(ceni_slot_notes) == sizeof(uint64_t), "flags lie above the number");

typedef struct ceni_slot {
    /* any thread, atomically; one pair of cache lines, because every take and give touches them */
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t word;
    _Atomic(void *) object; /* written by the slot's owner */
    _Atomic uint64_t note;  /* the holder, and the low bits of the generation; written last of the three */
    _Atomic(const char *) where;
    /* when the lease began, if the note is marked as timed; the complement of when it ended (times.c) */
    _Atomic int64_t since;
    _Atomic uint64_t met;   /* the latest word, without its flags, that a reader has marked ... */
    _Atomic int64_t met_at; /* ... and when it was first marked (holding.c) */
    /* the thread that entered the slot's lease as a scope */
    uint64_t scope_generation; /* the lease of `scopes`; its complement: of `giving` */
    union {
        uint64_t scopes;           /* open scopes */
        struct cen_future *giving; /* completed when everything after the give is done; the slot's owner only */
        /* the take that sleeps until this slot is tested; under the pool's lock, and only if is_awaited is set; NULL:
         * the take has left, or was told */
        struct ceni_checkup *checkup;
    };
    /* under the pool's lock */
    /* in the list of an exact order (idle or being tested), or in a queue for a helper, except the one for tests */
    ceni_list link;
    /* written by the slot's owner */
    _Atomic int64_t opened_at;         /* while it is OPENING: when that began */
    _Atomic int64_t expires_at;        /* when a reload with a spread closes the object */
    _Atomic int64_t tested_at;         /* while it is TESTING: when that began */
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

/* The note of a lease. Before a taker has written its note, the slot has the previous lease's note, whose generation
 * differs by one; a few bits are enough to tell the two apart. The highest of these bits is inverted in the note of a
 * timed lease, for which `since` was written. So the notes of other leases cost nothing more. */
enum { CENI_NOTE_BITS = CENI_HOLDER_SHIFT, CENI_NOTE_TIMED = 1 << (CENI_NOTE_BITS - 1) };

static inline uint64_t ceni_slot_note_of(uint64_t holder, uint64_t generation)
{
    return holder << CENI_NOTE_BITS | (generation & ((1u << CENI_NOTE_BITS) - 1));
}

/* In the holder of a note: the lease is detached. */
#define CENI_HOLDER_DETACHED (UINT64_C(1) << 47)

/* In the holder of a note: the holder has ended. The lease was taken back to be tested, or is an orphan. */
#define CENI_HOLDER_ENDED (UINT64_C(1) << 46)

/* Return the holder in the note, or 0 if the note is not of that generation's lease. */
static inline uint64_t ceni_slot_holder(uint64_t note, uint64_t generation)
{
    return ((note ^ generation) & (CENI_NOTE_TIMED - 1)) == 0 ? note >> CENI_NOTE_BITS : 0;
}

/* Return true if the slot's `since` is of that generation's lease. */
static inline bool ceni_slot_is_timed(uint64_t note, uint64_t generation)
{
    return ((note ^ generation) & CENI_NOTE_TIMED) && ceni_slot_holder(note, generation);
}

/* Return true if the lease with that word, HELD and LISTED, is timed: one in CENI_SAMPLED_ONE_IN. The word is at hand
 * in a take as well as in a give. The generation is multiplied by a golden fraction, which spreads the timed leases
 * evenly and without a period. So if a program does several things in turn with a slot, each of them is timed equally
 * often. */
enum { CENI_SAMPLED_ONE_IN = 64 };
#define CENI_SAMPLED_BELOW (UINT32_MAX / CENI_SAMPLED_ONE_IN + 1)
#define CENI_GOLDEN UINT32_C(0x9e3779) /* for the 24 bits above the state, which belong to the generation */

static inline bool ceni_word_is_sampled(uint64_t word)
{
    if (ceni_planted(sampled_every_64th)) return (word >> 8) % CENI_SAMPLED_ONE_IN == 0;
    return (uint32_t)word * CENI_GOLDEN < CENI_SAMPLED_BELOW;
}

/* The same for the next generation's word; written so that the next word need not be computed. */
static inline bool ceni_word_next_is_sampled(uint64_t word)
{
    if (ceni_planted(sampled_every_64th)) return ceni_word_is_sampled(word + 256);
    return (uint32_t)word * CENI_GOLDEN + (CENI_GOLDEN << 8) < CENI_SAMPLED_BELOW;
}

/* Read the word of a slot that another thread may own. */
uint64_t ceni_slot_word(ceni_slot *slot);

/* The word without its flags: a generation and a state. */
static inline uint64_t ceni_word_bare(uint64_t word)
{
    return word & ~(uint64_t)(CENI_LISTED | CENI_MARKED);
}

/* Move a slot from one state to another; generation and LISTED stay, MARKED is cleared. Returns false if the slot is
 * not in that state and generation. */
bool ceni_slot_move(ceni_slot *slot, uint64_t generation, ceni_slot_state from, ceni_slot_state to);

/* The same; also returns false if the slot is MARKED. */
bool ceni_slot_move_unmarked(ceni_slot *slot, uint64_t generation, ceni_slot_state from, ceni_slot_state to);

/* Mark a slot that is in that state and generation. Returns false if it is not. */
bool ceni_slot_mark(ceni_slot *slot, uint64_t generation, ceni_slot_state state);

#endif
