/* SPDX-License-Identifier: MIT */
/*
 * The hierarchical timer wheel: levels of 64 slots. A slot of level 0 is one tick; a slot of level n covers all 64
 * slots of level n - 1.
 *
 * Write the current tick and a timer's tick in digits of six bits. The level
 * is the highest digit in which they differ, and the slot is the timer's digit
 * there:
 *
 *     now      0 0 5 17 40
 *     a timer  0 0 5 17 41   differs in digit 0: level 0, slot 41
 *     a timer  0 0 5 20  3   differs in digit 1: level 1, slot 20
 *
 * Invariants
 * I1  In levels 1 and up, a taken slot is greater than the current tick's
 *     digit; in level 0 it is greater or equal.
 * I2  So every timer of a lower level is earlier than every timer of a higher
 *     one, and the earliest slot is the lowest bit of the first level that has
 *     a taken slot.
 * I3  All timers of one slot of level 0 share one tick, except in the current
 *     slot, which also has timers that were late when they were inserted; these
 *     are earlier than all others. So sorting slot by slot sorts all timers.
 * I4  Timers of one moment are in one slot, in the order of their insertion: a
 *     slot above level 0 is emptied downwards, in order, in the step in which
 *     time enters it, before any timer can be inserted directly into the slots below.
 *
 * A textbook wheel turns tick by tick, and takes seconds to catch up when the clock jumps. This one goes from taken
 * slot to taken slot.
 */
#include "sync/wheel.h"

#include "base/plant.h"
#include "port/port.h"

/* Values of a timer's place other than level * CENI_WHEEL_SLOTS + slot. */
#define NOWHERE UINT32_MAX
#define NEVER ((uint32_t)(CENI_WHEEL_LEVELS * CENI_WHEEL_SLOTS))

static uint64_t tick_of(int64_t moment)
{
    return (uint64_t)moment >> CENI_WHEEL_TICK_BITS;
}

void ceni_wheel_init(ceni_wheel *wheel, int64_t now)
{
    *wheel = (ceni_wheel){.now = now};
    for (int level = 0; level < CENI_WHEEL_LEVELS; level++)
        for (int slot = 0; slot < CENI_WHEEL_SLOTS; slot++) ceni_list_init(&wheel->slots[level][slot]);
    ceni_list_init(&wheel->never);
    ceni_list_init(&wheel->later);
    wheel->entering = NOWHERE;
}

void ceni_wheel_timer_init(ceni_wheel_timer *timer)
{
    *timer = (ceni_wheel_timer){.place = NOWHERE};
    ceni_list_init(&timer->link);
}

/* ---- Insert and cancel ---------------------------------------------------- */

/* Note that a timer with this moment is put into a slot of level 0. */
static void note_earliest(ceni_wheel *wheel, unsigned slot, int64_t moment)
{
    uint64_t bit = UINT64_C(1) << slot;
    bool first = !(wheel->taken[0] & bit);
    if (first) wheel->loose &= ~bit;
    if (first || moment < wheel->earliest[slot]) wheel->earliest[slot] = moment;
}

/* Link the timer into the slot for its moment, given the current tick. */
static void place(ceni_wheel *wheel, ceni_wheel_timer *timer, uint64_t current)
{
    if (timer->moment == CENI_FOREVER) {
        timer->place = NEVER;
        ceni_list_push_back(&wheel->never, &timer->link);
        return;
    }
    uint64_t tick = timer->moment < 0 ? 0 : tick_of(timer->moment);
    if (tick < current) tick = current;
    uint64_t difference = tick ^ current;
    unsigned level = difference ? (63u - (unsigned)__builtin_clzll(difference)) / CENI_WHEEL_SLOT_BITS : 0;
    unsigned slot = (unsigned)(tick >> (level * CENI_WHEEL_SLOT_BITS)) % CENI_WHEEL_SLOTS;
    timer->place = level * CENI_WHEEL_SLOTS + slot;
    if (level == 0) note_earliest(wheel, slot, timer->moment);
    wheel->taken[level] |= UINT64_C(1) << slot;
    ceni_list_push_back(&wheel->slots[level][slot], &timer->link);
}

void ceni_wheel_insert(ceni_wheel *wheel, ceni_wheel_timer *timer, int64_t moment)
{
    ceni_wheel_cancel(wheel, timer);
    timer->moment = moment;
    place(wheel, timer, tick_of(wheel->now));
    wheel->count++;
}

bool ceni_wheel_cancel(ceni_wheel *wheel, ceni_wheel_timer *timer)
{
    bool linked = ceni_list_linked(&timer->link);
    ceni_list_remove(&timer->link);
    if (timer->place == NOWHERE) return linked;
    unsigned level = timer->place / CENI_WHEEL_SLOTS, slot = timer->place % CENI_WHEEL_SLOTS;
    if (timer->place != NEVER && ceni_list_empty(&wheel->slots[level][slot]))
        wheel->taken[level] &= ~(UINT64_C(1) << slot);
    if (level == 0 && timer->moment == wheel->earliest[slot]) wheel->loose |= UINT64_C(1) << slot;
    timer->place = NOWHERE;
    wheel->count--;
    return true;
}

ceni_wheel_timer *ceni_timer_take(ceni_list *expired)
{
    ceni_list *link = ceni_list_first(expired);
    if (!link) return NULL;
    ceni_list_remove(link);
    return CENI_LIST_ENTRY(link, ceni_wheel_timer, link);
}

/* ---- Sorting one slot ----------------------------------------------------
 * Merge sort on the forward links alone: stable, and without allocation. */

static int64_t moment_of(const ceni_list *link)
{
    return CENI_LIST_ENTRY(link, const ceni_wheel_timer, link)->moment;
}

/* Merge two chains that end in NULL. Of equal moments the one in `first` comes first. */
static ceni_list *merge(ceni_list *first, ceni_list *second)
{
    ceni_list *head = NULL, **end = &head;
    while (first && second) {
        ceni_list **earlier = moment_of(second) < moment_of(first) ? &second : &first;
        *end = *earlier;
        end = &(*end)->next;
        *earlier = *end;
    }
    *end = first ? first : second;
    return head;
}

/* runs[i] is a sorted chain of 2^i links, or NULL: a counter in binary. The
 * older chain is always the first argument, which keeps the sort stable. */
static ceni_list *sort(ceni_list *chain)
{
    ceni_list *runs[64] = {0};
    while (chain) {
        ceni_list *run = chain;
        chain = chain->next;
        run->next = NULL;
        int i = 0;
        for (; runs[i]; i++) {
            run = merge(runs[i], run);
            runs[i] = NULL;
        }
        runs[i] = run;
    }
    ceni_list *sorted = NULL;
    for (int i = 0; i < 64; i++) sorted = merge(runs[i], sorted);
    return sorted;
}

/* ---- Time ---------------------------------------------------------------- */

/* Find the earliest taken slot. Returns false if there is none. */
static bool earliest(const ceni_wheel *wheel, unsigned *level, unsigned *slot)
{
    for (unsigned i = 0; i < CENI_WHEEL_LEVELS; i++) {
        if (!wheel->taken[i]) continue;
        *level = i;
        *slot = (unsigned)__builtin_ctzll(wheel->taken[i]);
        return true;
    }
    return false;
}

/* The first tick of a future slot. */
static uint64_t start_of(uint64_t current, unsigned level, unsigned slot)
{
    unsigned low = level * CENI_WHEEL_SLOT_BITS, high = low + CENI_WHEEL_SLOT_BITS;
    return (current >> high << high) | ((uint64_t)slot << low);
}

/* Empty a slot into a chain that ends in NULL. */
static ceni_list *empty_slot(ceni_wheel *wheel, unsigned level, unsigned slot)
{
    ceni_list *list = &wheel->slots[level][slot], *chain = list->next;
    list->previous->next = NULL;
    ceni_list_init(list);
    wheel->taken[level] &= ~(UINT64_C(1) << slot);
    return chain;
}

/* Move the timers of a slot that time has entered into the levels below. */
static void cascade(ceni_wheel *wheel, unsigned level, unsigned slot, uint64_t current)
{
    ceni_list *next;
    for (ceni_list *link = empty_slot(wheel, level, slot); link; link = next) {
        next = link->next;
        place(wheel, CENI_LIST_ENTRY(link, ceni_wheel_timer, link), current);
    }
}

/* Move the due timers of a slot of level 0 to `expired`, in order. The others stay, in the order of their moments,
 * which I4 allows. */
static size_t expire(ceni_wheel *wheel, unsigned slot, int64_t now, ceni_list *expired)
{
    size_t count = 0;
    ceni_list *next;
    for (ceni_list *link = sort(empty_slot(wheel, 0, slot)); link; link = next) {
        next = link->next;
        ceni_wheel_timer *timer = CENI_LIST_ENTRY(link, ceni_wheel_timer, link);
        if (timer->moment > now && !ceni_planted(timer_rounds_down)) {
            note_earliest(wheel, slot, timer->moment);
            wheel->taken[0] |= UINT64_C(1) << slot;
            ceni_list_push_back(&wheel->slots[0][slot], link);
            continue;
        }
        timer->place = NOWHERE;
        ceni_list_push_back(expired, link);
        count++;
    }
    wheel->count -= count;
    return count;
}

size_t ceni_wheel_advance(ceni_wheel *wheel, int64_t now, ceni_list *expired)
{
    if (now < wheel->now) now = wheel->now;
    uint64_t current = tick_of(wheel->now), target = tick_of(now);
    size_t count = 0;
    unsigned level, slot;
    while (earliest(wheel, &level, &slot)) {
        uint64_t start = start_of(current, level, slot);
        if (start > target) break;
        current = start;
        if (level > 0) {
            cascade(wheel, level, slot, current);
            continue;
        }
        count += expire(wheel, slot, now, expired);
        if (current == target) break; /* the remaining timers are due later in this tick */
    }
    wheel->now = now;
    return count;
}

/* ---- In pieces ------------------------------------------------------------
 * The naive piece sorts a slot and delivers its first timers, but the sort is what takes long. Here one step moves
 * one timer. A slot above level 0 is `entering` until it is empty, and nothing expires before. In a slot of level 0
 * each timer is checked once: it is due, or it is moved to `later`. All timers of `later` return to the slot when the
 * earliest of them is due. */

/* Put the timers of `later` back, ahead of the timers that were not checked yet. */
static void look_at_later_again(ceni_wheel *wheel)
{
    unsigned slot = (unsigned)tick_of(wheel->now) % CENI_WHEEL_SLOTS;
    ceni_list *into = &wheel->slots[0][slot], *first = wheel->later.next, *last = wheel->later.previous;
    note_earliest(wheel, slot, wheel->later_earliest);
    wheel->taken[0] |= UINT64_C(1) << slot;
    last->next = into->next;
    into->next->previous = last;
    into->next = first;
    first->previous = into;
    ceni_list_init(&wheel->later);
}

/* Remove the first timer of a slot; NULL if there is none. */
static ceni_wheel_timer *take_first(ceni_wheel *wheel, unsigned level, unsigned slot)
{
    ceni_wheel_timer *timer = ceni_timer_take(&wheel->slots[level][slot]);
    if (ceni_list_empty(&wheel->slots[level][slot])) wheel->taken[level] &= ~(UINT64_C(1) << slot);
    return timer;
}

static void enter_one(ceni_wheel *wheel)
{
    unsigned level = wheel->entering / CENI_WHEEL_SLOTS, slot = wheel->entering % CENI_WHEEL_SLOTS;
    ceni_wheel_timer *timer = take_first(wheel, level, slot); /* NULL: the rest was cancelled */
    if (timer) place(wheel, timer, tick_of(wheel->now));
    if (ceni_list_empty(&wheel->slots[level][slot])) wheel->entering = NOWHERE;
}

static bool expire_one(ceni_wheel *wheel, unsigned slot, int64_t now, ceni_list *expired)
{
    ceni_wheel_timer *timer = take_first(wheel, 0, slot);
    if (timer->moment <= now) {
        timer->place = NOWHERE;
        wheel->count--;
        ceni_list_push_back(expired, &timer->link);
        return true;
    }
    if (ceni_list_empty(&wheel->later) || timer->moment < wheel->later_earliest) wheel->later_earliest = timer->moment;
    ceni_list_push_back(&wheel->later, &timer->link);
    return false;
}

/* Make one move. Returns false if there is none to make until `now`. */
static bool move_one(ceni_wheel *wheel, int64_t now, ceni_list *expired, size_t *count)
{
    unsigned level, slot;
    if (wheel->entering != NOWHERE) {
        enter_one(wheel);
        return true;
    }
    if (!ceni_list_empty(&wheel->later) && wheel->later_earliest <= now) look_at_later_again(wheel);
    if (!earliest(wheel, &level, &slot)) return false;
    uint64_t start = start_of(tick_of(wheel->now), level, slot);
    if (start > tick_of(now)) return false;
    if (start > tick_of(wheel->now)) wheel->now = (int64_t)(start << CENI_WHEEL_TICK_BITS);
    if (level > 0) wheel->entering = level * CENI_WHEEL_SLOTS + slot;
    else *count += expire_one(wheel, slot, now, expired);
    return true;
}

/* Append a list to another, sorted. */
static void append_sorted(ceni_list *list, ceni_list *to)
{
    if (ceni_list_empty(list)) return;
    list->previous->next = NULL;
    ceni_list *next;
    for (ceni_list *link = sort(list->next); link; link = next) {
        next = link->next;
        ceni_list_push_back(to, link);
    }
}

size_t ceni_wheel_advance_some(ceni_wheel *wheel, int64_t now, ceni_list *expired, size_t most)
{
    if (now < wheel->now) now = wheel->now;
    size_t count = 0, moves = 0;
    ceni_list piece;
    ceni_list_init(&piece);
    while (moves < most && move_one(wheel, now, &piece, &count)) moves++;
    if (moves < most) wheel->now = now;
    append_sorted(&piece, expired);
    return count;
}

/* ---- When next ------------------------------------------------------------- */

static int64_t search_earliest(ceni_wheel *wheel, unsigned slot)
{
    const ceni_list *list = &wheel->slots[0][slot];
    int64_t next = CENI_FOREVER;
    for (const ceni_list *link = list->next; link != list; link = link->next, wheel->looks++)
        if (moment_of(link) < next) next = moment_of(link);
    wheel->loose &= ~(UINT64_C(1) << slot);
    return wheel->earliest[slot] = next;
}

/* The next moment in the slots, without `later`. The result of a search is remembered. */
static int64_t next_of_slots(const ceni_wheel *wheel)
{
    unsigned level, slot;
    if (!earliest(wheel, &level, &slot)) return CENI_FOREVER;
    if (level > 0) return (int64_t)(start_of(tick_of(wheel->now), level, slot) << CENI_WHEEL_TICK_BITS);
    if (!(wheel->loose & UINT64_C(1) << slot)) return wheel->earliest[slot];
    return search_earliest((ceni_wheel *)(uintptr_t)wheel, slot);
}

int64_t ceni_wheel_next(const ceni_wheel *wheel)
{
    if (wheel->entering != NOWHERE) return wheel->now;
    int64_t next = next_of_slots(wheel);
    return !ceni_list_empty(&wheel->later) && wheel->later_earliest < next ? wheel->later_earliest : next;
}
