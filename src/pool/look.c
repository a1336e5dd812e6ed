/* SPDX-License-Identifier: MIT */
/*
 * Statistics, holders and ages, read without delaying other threads.
 *
 * The naive version goes through the slots once and counts. Meanwhile an object is given in a slot already counted as
 * held, and another is taken in a slot not yet counted. So it reports two held although there was never more than
 * one. Here all slots are read twice. A slot whose word is the same both times was in that state all the time in
 * between: its generation shows that it was not lent and given back, and a count of shifts shows that no slot was
 * emptied and filled. So at the moment between the two readings all these counts were true together. Slots that
 * changed are counted as `moving` and as nothing else. A busy pool is read a few times, and the reading with the
 * fewest moving slots is used. If objects are opened and closed all the time, a small pool is read under the lock,
 * where that cannot happen; in a large pool only held slots are distinguished from moving ones.
 *
 * The numbers that change under the lock are read at the same moment.
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
 * [V1] both readings | load of a word | seq_cst | every change of it | the state; the order of the two readings | the second reading is not after the first, and an object is counted twice
 * [V2] holding | loads of note, where, since, object | acquire | T5 in take.c, O3 in places.c | the holder of the slot, if the generations agree | the previous holder is shown for the next one's lease
 * [V3] meet    | cas of met, met_at    | acq_rel | V4 | met_at, before its mark | an age is computed from another lease's time
 * [V4] age, meet | loads of met, met_at | acquire | V3, K4 in opening.c | the same; that a new object is not marked | the same
 * [V5] shifts  | load of shifts | seq_cst | O6 in places.c | whether a slot was emptied or filled between the readings | a changed slot is considered unchanged
 */
#include "base/error.h"
#include "pool/internal.h"
#include "port/port.h"
#include "sync/future.h"

enum {
    METRICS = 4,
    MOST_LOCKED = 4096, /* slots that may be read under the lock */
};

typedef enum metric {
    READ_FREELY,
    READ_LOCKED,  /* no slot is emptied or filled meanwhile */
    READ_CERTAIN, /* only held slots are certain, by their generations */
} metric;

/* ---- Numbers ------------------------------------------------------------------------------ */

static uint64_t read_word(ceni_slot *slot)
{
    return ceni_word_bare(ceni_load_seq_cst(&slot->word)); /* [V1] */
}

/* The number of slots of the chunk below `reach`. */
static uint32_t within(const ceni_chunk *chunk, uint32_t reach)
{
    uint32_t count = reach > chunk->first ? reach - chunk->first : 0;
    return count < chunk->count ? count : chunk->count;
}

/* Slots beyond `reach` are EMPTY and are not read. */
static void read_first(cen_pool *pool, uint32_t chunks, uint32_t reach)
{
    for (uint32_t i = 0; i < chunks; i++)
        for (uint32_t at = 0; at < within(pool->chunks[i], reach); at++)
            pool->chunks[i]->seen[at] = read_word(&pool->chunks[i]->slots[at]);
}

/* Copy which slots are in use: their leases are counted by their generations; those of all other slots are in `rest`.
 * */
static void read_filled_locked(cen_pool *pool, uint32_t chunks, uint32_t reach)
{
    for (uint32_t i = 0; i < chunks; i++)
        ceni_map_copy(&pool->chunks[i]->filled, within(pool->chunks[i], reach), pool->chunks[i]->seen_filled);
}

static void count_state(cen_pool_stats *s, ceni_slot_state state)
{
    switch (state) {
    case CENI_SLOT_IDLE: s->idle++; break;
    case CENI_SLOT_HELD: s->held++; break;
    case CENI_SLOT_REVOKING:
    case CENI_SLOT_REVOKED: s->revoked++; break;
    case CENI_SLOT_OPENING: s->opening++; break;
    case CENI_SLOT_EMPTY: s->vacant++; break;
    case CENI_SLOT_RESETTING: s->resetting++; break;
    case CENI_SLOT_TESTING: s->testing++; break;
    default: s->closing++; break; /* on its way out */
    }
}

/* `first`: the reach of the first reading; `reach`: the larger of that and the reach under the lock. */
static void read_second(cen_pool *pool, uint32_t chunks, uint32_t first, uint32_t reach, metric how, cen_pool_stats *s)
{
    for (uint32_t i = 0; i < chunks; i++) {
        ceni_chunk *chunk = pool->chunks[i];
        uint32_t end = within(chunk, reach), seen = within(chunk, first);
        for (uint32_t at = 0; at < end; at++) {
            uint64_t word = read_word(&chunk->slots[at]), generation = ceni_word_generation(word);
            ceni_slot_state state = ceni_word_state(word);
            bool out = state == CENI_SLOT_HELD || state == CENI_SLOT_REVOKING || state == CENI_SLOT_REVOKED;
            bool filled = ceni_map_copied(chunk->seen_filled, at);
            s->taken += filled ? generation : 0;
            s->ended += filled ? generation - out : 0;
            if (at >= seen || word != chunk->seen[at] || (how == READ_CERTAIN && !out)) s->moving++;
            else count_state(s, state);
        }
        s->places += chunk->count;
        s->vacant += chunk->count - end;
    }
}

/* The numbers that change under the lock. */
static void read_tally_locked(cen_pool *pool, int64_t now, cen_pool_stats *s)
{
    uint64_t ctl = ceni_load_relaxed(&pool->waiters->ctl); /* written under this lock, as all here; carries nothing */
    const ceni_pool_tally *t = &pool->tally;
    *s = (cen_pool_stats){
        .max = ceni_load_relaxed(&pool->max), /* carries nothing */
        .waiting = (uint32_t)(ctl / CENI_CTL_ONE),
        .is_closed = ctl & CENI_CTL_CLOSED,
        .opened = t->opened,
        .open_failed = t->open_failed,
        .adopted = t->adopted,
        .closed = t->closed,
        .discarded = t->discarded,
        .refused = t->refused,
        .refused_late = t->refused_late,
        .tested = t->tested,
        .test_failed = t->test_failed,
        .reset = t->reset,
        .reset_failed = t->reset_failed,
        .leaked = t->leaked,
        .reclaimed = t->reclaimed,
        .expired = t->expired,
        .orphaned = t->orphaned,
        .orphans = ceni_load_relaxed(&pool->orphan_count), /* carries nothing */
        .stale_gives = t->stale_gives,
        .breaker = pool->gate.breaker,
        .open_failures = pool->gate.failures,
        .is_paused = pool->paused,
        .waited = t->waited,
        .served = t->served,
        .timed_out = t->timed_out,
        .sent_away = t->sent_away,
        .failed = t->failed,
        .shed = t->shed,
        .cancelled = t->cancelled,
        .refused_breaker = t->refused_breaker,
        .missed = ceni_load_relaxed(&pool->missed), /* a number; carries nothing */
        .is_shedding = ceni_shedding_is_active_locked(pool),
        .wait_p50_ns = ceni_compact_percentile(&pool->times->wait, &pool->times->stock, 500000),
        .wait_p99_ns = ceni_compact_percentile(&pool->times->wait, &pool->times->stock, 990000),
        .wait_longest_ns = ceni_compact_largest(&pool->times->wait),
        .wait_total_ns = ceni_compact_sum(&pool->times->wait),
        .taken = pool->rest,
        .ended = pool->rest, /* the generations of the slots in use are added later */
    };
    int64_t since = ceni_turn_oldest_locked(pool->waiters);
    const ceni_pool_waiter normal = {.priority = CEN_PRIORITY_NORMAL};
    s->estimated_wait_ns = ceni_pace_estimate_locked(pool, &normal, now);
    s->oldest_wait_ns = s->waiting && now > since ? now - since : 0;
    int64_t next = ceni_gate_next(&pool->gate), pool_now = ceni_pool_now(pool);
    s->next_open_ns = next != CENI_FOREVER && next > pool_now ? next - pool_now : 0;
}

/* Read once. Returns false if a slot may have been emptied or filled between the two readings. */
static bool read_once(cen_pool *pool, metric how, cen_pool_stats *s)
{
    bool locked = how == READ_LOCKED;
    int64_t now = ceni_clock_now();
    uint64_t shifts = ceni_load_seq_cst(&pool->shifts); /* [V5] */
    if (locked) ceni_waiters_lock(pool->waiters);
    uint32_t chunks = ceni_chunk_count(pool), first = ceni_place_reach(pool), reach;
    read_first(pool, chunks, first);
    if (!locked) ceni_waiters_lock(pool->waiters);
    reach = ceni_place_reach(pool) > first ? ceni_place_reach(pool) : first;
    read_filled_locked(pool, chunks, reach);
    read_tally_locked(pool, now, s);
    if (!locked) ceni_waiters_unlock(pool->waiters);
    read_second(pool, chunks, first, reach, how, s);
    if (locked) ceni_waiters_unlock(pool->waiters);
    return locked || ceni_load_seq_cst(&pool->shifts) == shifts; /* [V5] */
}

static void read_restless(cen_pool *pool, cen_pool_stats *s)
{
    bool small = ceni_place_reach(pool) <= MOST_LOCKED;
    uint64_t given_back;
    do {
        given_back = ceni_setting(&pool->given_back); /* the generations of such slots mean nothing */
        read_once(pool, small ? READ_LOCKED : READ_CERTAIN, s);
    } while (s->places < s->max || ceni_setting(&pool->given_back) != given_back); /* after a resize */
}

static const cen_pool_stats unread = {.size = sizeof(cen_pool_stats), .moving = UINT32_MAX};

/* The reading with the fewest moving slots, of a few; `unread` if a slot was emptied or filled in each of them. Under
 * the lock `looking`. */
static cen_pool_stats read_freely(cen_pool *pool)
{
    cen_pool_stats best = unread, s = CEN_SIZED(cen_pool_stats);
    for (int i = 0; i < METRICS && best.moving > 0; i++)
        if (read_once(pool, READ_FREELY, &s) && s.moving < best.moving) best = s;
    return best;
}

cen_status cen_pool_stats_get(cen_pool *pool, cen_pool_stats *out)
{
    cen_status status = ceni_pool_check(pool, "cen_pool_stats_get", NULL);
    if (status == CEN_OK) status = cen_sized_check(out, sizeof *out, "cen_pool_stats_get: out", NULL);
    if (status != CEN_OK) return status;
    ceni_mutex_lock(&pool->looking, CENI_RANK_LOOK);
    cen_pool_stats best = read_freely(pool);
    if (best.moving == UINT32_MAX) read_restless(pool, &best);
    ceni_mutex_unlock(&pool->looking, CENI_RANK_LOOK);
    cen_sized_write(out, &best, sizeof best);
    return CEN_OK;
}

bool ceni_pool_look_if_free(cen_pool *pool, cen_pool_stats *out)
{
    if (!ceni_mutex_try_lock(&pool->looking, CENI_RANK_LOOK)) return false;
    cen_pool_stats best = read_freely(pool);
    ceni_mutex_unlock(&pool->looking, CENI_RANK_LOOK);
    if (best.moving == UINT32_MAX) return false;
    *out = best;
    return true;
}

/* ---- Objects and holders --------------------------------------------------------------------- */

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
    for (int i = 0; i < METRICS; i++) {
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
static void meet(const cen_pool *pool, ceni_slot *slot, uint64_t word)
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
    meet(pool, slot, word);
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
        if (ceni_word_state(word) == CENI_SLOT_HELD) meet(pool, ceni_slot_at(pool, index), ceni_word_bare(word));
    }
}

/* Write the element at `index` of the caller's array, whose elements may be another version's and have another size. */
static void put_holding(void *array, size_t size, size_t index, const cen_object_view *holding)
{
    unsigned char *at = (unsigned char *)array + index * size;
    memset(at, 0, size);
    memcpy(at, &size, sizeof size);
    cen_sized_write(at, holding, sizeof *holding);
}

cen_status cen_pool_holders_sized(cen_pool *pool, cen_object_view *holdings, size_t size, size_t room, size_t *out)
{
    cen_status status = ceni_pool_check(pool, "cen_pool_holders", NULL);
    if (status != CEN_OK) return status;
    if (!out || (room && !holdings) || size < sizeof size || size > CEN_SIZED_MAX) return CEN_INVALID;
    uint32_t places = ceni_place_reach(pool);
    size_t count = 0;
    for (uint32_t index = 0; index < places; index++) {
        cen_object_view holding;
        if (!ceni_slot_holding(pool, index, &holding) || holding.state == CEN_OBJECT_IDLE) continue;
        meet(pool, ceni_slot_at(pool, index), ceni_word(holding.generation, CENI_SLOT_HELD));
        if (count < room) put_holding(holdings, size, count, &holding);
        count++;
    }
    *out = count;
    return CEN_OK;
}

uint64_t cen_thread_number(void)
{
    return ceni_thread_id();
}

_Static_assert(CEN_HOLDER_TASK == CENI_HOLDER_TASK, "the bit that the header shows");

uint64_t cen_holder_number(void)
{
    return ceni_holder_number();
}

const char *cen_pool_name(const cen_pool *pool)
{
    return pool ? pool->name : "";
}

uint32_t cen_pool_max(const cen_pool *pool)
{
    if (!pool) return 0;
    ceni_pool_check(pool, "cen_pool_max", NULL);                   /* a pool that is being renewed has no max yet */
    return ceni_load_relaxed(&((cen_pool *)(uintptr_t)pool)->max); /* a setting; carries nothing */
}

bool cen_pool_is_closed(const cen_pool *pool)
{
    /* in a forked child the queue may belong to another pool */
    if (ceni_pool_check(pool, "cen_pool_is_closed", NULL) != CEN_OK) return true;
    return ceni_load_relaxed(&pool->waiters->ctl) & CENI_CTL_CLOSED; /* a mark; carries nothing */
}
