/* SPDX-License-Identifier: MIT */
/*
 * Objects, holders and ages, read without delaying other threads.
 *
 * Marks. A take and a give read no clock, so readers mark the slots that they see. `met` is the slot's word; `met_at`
 * is a moment after the slot came into that state and before the mark was written. The naive version writes the two
 * one after the other. A thread that is descheduled between them writes an old moment beside a new mark, and the
 * lease gets the age of an earlier one. With a lock around both, every failing take would wait for a descheduled
 * reader. Here both only grow. A reader reads the clock, sees that the mark is not there yet, raises `met_at` to that
 * moment, and then raises `met` to its word. So a moment that is written late was read before the slot was marked
 * (V4), and an old one changes nothing.
 *  M1 `met_at` is raised to a moment after the slot came into a state before `met` is raised to that state.
 *  M2 `met` is raised in the order of time: by generation, and within a generation from HELD to IDLE. Only the owner
 *     of an OPENING slot lowers it (opening.c). After that, a mark of the previous object, idle in the same
 *     generation, may still be written. That does no harm: the age of an idle object that was never lent is not taken
 *     from the mark.
 *
 * Order table
 * [V6] read    | load of a word | seq_cst | every change of it | that the state is the same after the holder was read | a holder is shown beside another lease's state
 * [V2] holding | loads of note, where, since, object | acquire | T5 in take.c, O3 in places.c | the holder of the slot, if the generations agree | the previous holder is shown for the next one's lease
 * [V3] meet    | cas of met, met_at    | acq_rel | V4 | met_at, before its mark | an age is computed from another lease's time
 * [V4] age, meet | loads of met, met_at | acquire | V3, K4 in opening.c | the same; that a new object is not marked | the same
 */
#include "pool/internal.h"
#include "port/port.h"

enum { TRIES = 4 };

static uint64_t read_word(ceni_slot *slot)
{
    return ceni_word_bare(ceni_load_seq_cst(&slot->word)); /* [V6] */
}

/* Since when an object that was never lent has been idle. If another object was opened in its place meanwhile, that
 * one is younger. */
static bool is_never_lent(ceni_slot *slot, uint64_t word, int64_t *since)
{
    *since = ceni_load_relaxed(&slot->opened_at);                /* came with the word; carries nothing */
    uint64_t first = ceni_load_relaxed(&slot->first_generation); /* likewise; carries nothing */
    return ceni_word_state(word) == CENI_SLOT_IDLE && ceni_word_generation(word) == first && *since != 0;
}

/* Since when exactly the lease of that word is held, or has ended, if that is known: then its note is marked as
 * timed, and was written after `since`. Without exact_times most leases are not timed, and the note is not read. */
static bool is_exact(const cen_pool *pool, ceni_slot *slot, uint64_t word, int64_t *since)
{
    uint64_t generation = ceni_word_generation(word);
    bool idle = ceni_word_state(word) == CENI_SLOT_IDLE;
    if (is_never_lent(slot, word, since)) return true;
    if (!ceni_use_is_timed(pool, generation) || !(idle || ceni_word_state(word) == CENI_SLOT_HELD)) return false;
    bool timed = ceni_slot_is_timed(ceni_load_acquire(&slot->note), generation); /* [V2] */
    *since = ceni_load_acquire(&slot->since);                                    /* [V2] */
    bool ended = *since < 0;
    if (idle) *since = ~*since;
    return timed && ended == idle;
}

/* For how long the lease has been held: exactly or at least; 0 if it was not marked before. */
static int64_t age_of(const cen_pool *pool, ceni_slot *slot, uint64_t word, bool *exact)
{
    int64_t from;
    bool revoked = ceni_word_state(word) == CENI_SLOT_REVOKING || ceni_word_state(word) == CENI_SLOT_REVOKED;
    if (revoked) word = ceni_word(ceni_word_generation(word), CENI_SLOT_HELD); /* the same lease, not given back */
    *exact = is_exact(pool, slot, word, &from);
    if (!*exact) {
        if (ceni_load_acquire(&slot->met) != word) return 0; /* [V4] */
        from = ceni_load_acquire(&slot->met_at);             /* [V4] never earlier than the moment of that mark */
    }
    int64_t now = ceni_pool_now(pool);
    return now > from ? now - from : 0;
}

static cen_object_state shown_state(ceni_slot_state state)
{
    switch (state) {
    case CENI_SLOT_IDLE: return CEN_OBJECT_IDLE;
    case CENI_SLOT_HELD: return CEN_OBJECT_HELD;
    case CENI_SLOT_REVOKING:
    case CENI_SLOT_REVOKED: return CEN_OBJECT_REVOKED;
    case CENI_SLOT_RESETTING: return CEN_OBJECT_RESETTING;
    case CENI_SLOT_TESTING: return CEN_OBJECT_TESTING;
    case CENI_SLOT_OPENING: return CEN_OBJECT_OPENING;
    default: return CEN_OBJECT_CLOSING; /* also RETURNED: given back while interrupt was running */
    }
}

/* A driver's open writes the object with a plain store. A visitor only compares or marks such a pointer, so there is
 * nothing to order; the attribute tells ThreadSanitizer that. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN
#endif
#endif
#if defined(UNDER_TSAN) || defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("thread"))) static void *read_object(ceni_slot *slot)
{
    return *(void *volatile *)(uintptr_t)&slot->object;
}
#else
static void *read_object(ceni_slot *slot)
{
    return ceni_load_acquire(&slot->object); /* [V2] */
}
#endif

/* Read the holder of the slot. Returns false if the word has changed meanwhile. */
static bool read_holder(const cen_pool *pool, ceni_slot *slot, uint64_t word, cen_object_view *out)
{
    out->object = read_object(slot);
    uint64_t note = ceni_load_acquire(&slot->note);      /* [V2] */
    const char *where = ceni_load_acquire(&slot->where); /* [V2] */
    if (read_word(slot) != word) return false;
    bool held = out->state == CEN_OBJECT_HELD || out->state == CEN_OBJECT_REVOKED;
    uint64_t holder = held ? ceni_slot_holder(note, out->generation) : 0;
    if (!holder) return true;
    out->holder = holder & ~(CENI_HOLDER_DETACHED | CENI_HOLDER_ENDED);
    out->is_detached = holder & CENI_HOLDER_DETACHED;
    out->where = where;
    out->held_ns = age_of(pool, slot, word, &out->is_exact);
    ceni_trace_read((cen_pool *)(uintptr_t)pool, out->index, out);
    return true;
}

static uint64_t identity_of(cen_pool *pool, uint32_t index)
{
    const ceni_chunk *chunk = pool->calls.identify ? ceni_chunk_of(pool, index) : NULL;
    return chunk ? ceni_load_relaxed(&chunk->identities[index - chunk->first]) : 0; /* only shown; carries nothing */
}

/* A slot that changes all the time is shown without its holder. */
bool ceni_slot_shows(cen_pool *pool, uint32_t index, cen_object_view *out)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    bool exists = false;
    for (int i = 0; i < TRIES; i++) {
        uint64_t word = ceni_word_bare(ceni_slot_word(slot));
        ceni_slot_state state = ceni_word_state(word);
        if (state == CENI_SLOT_EMPTY) return false;
        *out = (cen_object_view){
            .size = sizeof *out, .index = index, .generation = ceni_word_generation(word), .state = shown_state(state)};
        bool whole = read_holder(pool, slot, word, out);
        out->identity = identity_of(pool, index);
        bool comes_or_goes =
            state == CENI_SLOT_OPENING || state == CENI_SLOT_CLOSING; /* then the slot may have no object */
        exists = out->object || !comes_or_goes;
        if (whole) break;
    }
    return exists;
}

bool ceni_slot_holding(cen_pool *pool, uint32_t index, cen_object_view *out)
{
    return ceni_slot_shows(pool, index, out) && out->state <= CEN_OBJECT_REVOKED;
}

/* The rank of a mark: marks of later states have a higher rank. */
static uint64_t rank_of_mark(uint64_t word)
{
    return ceni_word(ceni_word_generation(word), ceni_word_state(word) == CENI_SLOT_IDLE ? 2 : word != 0);
}

static void raise_met_at(ceni_slot *slot, int64_t now)
{
    int64_t at = ceni_load_relaxed(&slot->met_at); /* a hint for the cas; carries nothing */
    bool any = ceni_planted(old_moment_beside_a_new_mark);
    while ((at < now || any) && !ceni_cas_acq_rel(&slot->met_at, &at, now)) continue; /* [V3] */
}

/* Mark the slot's state, so that it has an age from now on. Never waits. */
void ceni_slot_meet(const cen_pool *pool, ceni_slot *slot, uint64_t word)
{
    if (ceni_load_acquire(&slot->met) == word) return; /* [V4] usually it is marked already, and no clock is read */
    int64_t now = ceni_pool_now(pool);
    uint64_t met = ceni_load_acquire(&slot->met); /* [V4] after the clock was read */
    bool stale_too = ceni_planted(stale_mark_replaces_a_newer);
    if (met == word || (rank_of_mark(met) > rank_of_mark(word) && !stale_too)) return;
    raise_met_at(slot, now);
    while (!ceni_cas_acq_rel(&slot->met, &met, word)) /* [V3] */
        if (rank_of_mark(met) >= rank_of_mark(word) && !stale_too) return;
}

int64_t ceni_slot_age_known(cen_pool *pool, ceni_slot *slot, uint64_t word, bool *exact)
{
    word = ceni_word_bare(word);
    ceni_slot_meet(pool, slot, word);
    return age_of(pool, slot, word, exact);
}

int64_t ceni_slot_age(cen_pool *pool, ceni_slot *slot, uint64_t word)
{
    bool exact;
    return ceni_slot_age_known(pool, slot, word, &exact);
}

void ceni_slots_meet_holders(cen_pool *pool)
{
    uint32_t places = ceni_place_reach(pool);
    for (uint32_t index = 0; index < places; index++) {
        uint64_t word = ceni_word_at(pool, index);
        if (ceni_word_state(word) == CENI_SLOT_HELD)
            ceni_slot_meet(pool, ceni_slot_at(pool, index), ceni_word_bare(word));
    }
}
