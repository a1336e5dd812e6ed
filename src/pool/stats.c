/* SPDX-License-Identifier: MIT */
/*
 * Statistics, read without delaying other threads.
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
 * Order table
 * [V1] both readings | load of a word | seq_cst | every change of it | the state; the order of the two readings | the second reading is not after the first, and an object is counted twice
 * [V5] shifts  | load of shifts | seq_cst | O6 in places.c | whether a slot was emptied or filled between the readings | a changed slot is considered unchanged
 */
#include "pool/internal.h"
#include "port/port.h"

enum {
    METRICS = 4,
    MOST_LOCKED = 4096, /* slots that may be read under the lock */
};

typedef enum metric {
    READ_FREELY,
    READ_LOCKED,  /* no slot is emptied or filled meanwhile */
    READ_CERTAIN, /* only held slots are certain, by their generations */
} metric;

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

void ceni_pool_stats_read(cen_pool *pool, cen_pool_stats *out)
{
    ceni_mutex_lock(&pool->looking, CENI_RANK_LOOK);
    *out = read_freely(pool);
    if (out->moving == UINT32_MAX) read_restless(pool, out);
    ceni_mutex_unlock(&pool->looking, CENI_RANK_LOOK);
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
