/* SPDX-License-Identifier: MIT */
/*
 * The order of waiters: three classes of priority, each FIFO, and one order among them, with aging.
 *
 * A waiter gets its key when it joins: the moment when it joined, plus 0 in class high, aging_ns in class normal, and
 * twice aging_ns in class low. The first waiter is the one with the smallest key at the heads of the classes; if keys
 * are equal, the one of the lower class, which joined earlier. So each class is FIFO and no waiter starves: a waiter
 * is passed only by waiters of a higher class that join less than aging_ns after it (between low and high: less than
 * twice aging_ns). Later ones have a larger key.
 *
 * A key is never recomputed. It is never smaller than the key before it in its class, although the clock was read
 * before the lock was taken and aging_ns may have been reduced. So the first waiter changes only when a waiter joins
 * as the first, or when the first leaves. The marks in waiters.c rely on that. If keys were not in order, the leaving
 * of a waiter behind the first could make another waiter the first that was not called, and it would sleep while
 * everything is left to the heir.
 *
 * Tested by tests/unit/pool/priority_test.c, tests/explore/pool_priority_test.c.
 */
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

enum { NEIGHBOURS_LOOKED_AT = 4 };

static unsigned class_of(const ceni_pool_waiter *waiter)
{
    static const uint8_t classes[] = {[CEN_PRIORITY_NORMAL] = 1, [CEN_PRIORITY_HIGH] = 0, [CEN_PRIORITY_LOW] = 2};
    return classes[waiter->priority];
}

static ceni_pool_waiter *entry(const ceni_list *link)
{
    return CENI_LIST_ENTRY((ceni_list *)(uintptr_t)link, ceni_pool_waiter, link);
}

static ceni_pool_waiter *head_of(const ceni_waiters *waiters, unsigned class)
{
    ceni_list *link = ceni_list_first(&waiters->classes[class].waiters);
    return link ? entry(link) : NULL;
}

void ceni_turn_init(ceni_waiters *waiters)
{
    for (unsigned class = 0; class < CENI_CLASSES; class ++) {
        waiters->classes[class] = (ceni_class){.count = 0};
        ceni_list_init(&waiters->classes[class].waiters);
    }
    for (unsigned home = 0; home < CENI_HOMES; home++) ceni_list_init(&waiters->homes[home]);
}

ceni_pool_waiter *ceni_waiters_first_locked(const ceni_waiters *waiters)
{
    ceni_pool_waiter *first = NULL;
    for (unsigned class = CENI_CLASSES; class -- > 0;) {
        ceni_pool_waiter *head = head_of(waiters, class);
        bool sooner = head && first && (head->key < first->key || ceni_planted(aging_ignored));
        if (!first || sooner) first = head ? head : first;
    }
    return first;
}

ceni_class *ceni_turn_class(ceni_waiters *waiters, const ceni_pool_waiter *waiter)
{
    return &waiters->classes[class_of(waiter)];
}

static int64_t key_of(const cen_pool *pool, unsigned class, int64_t came)
{
    return came + (int64_t) class * pool->options.aging_ns;
}

void ceni_turn_push_locked(cen_pool *pool, ceni_pool_waiter *waiter)
{
    ceni_class *class = ceni_turn_class(pool->waiters, waiter);
    int64_t key = key_of(pool, class_of(waiter), waiter->came);
    int64_t last = class->count > 0 ? entry(class->waiters.previous)->key : key;
    waiter->key = last > key ? last : key;
    ceni_list_push_back(&class->waiters, &waiter->link);
    if (waiter->home) ceni_list_push_back(&pool->waiters->homes[waiter->home % CENI_HOMES], &waiter->near);
    class->count++;
}

void ceni_turn_remove_locked(ceni_waiters *waiters, ceni_pool_waiter *waiter)
{
    ceni_list_remove(&waiter->link);
    if (waiter->home) ceni_list_remove(&waiter->near);
    ceni_turn_class(waiters, waiter)->count--;
}

ceni_pool_waiter *ceni_turn_neighbour_locked(const ceni_waiters *waiters, uint64_t thread)
{
    const ceni_list *all = &waiters->homes[thread % CENI_HOMES], *link = all->next;
    for (unsigned i = 0; i < NEIGHBOURS_LOOKED_AT && link != all; i++, link = link->next) {
        ceni_pool_waiter *waiter = CENI_LIST_ENTRY((ceni_list *)(uintptr_t)link, ceni_pool_waiter, near);
        if (waiter->home != thread) continue;
        uint64_t waiting =
            ceni_load_relaxed(&waiters->ctl) / CENI_CTL_ONE; /* written under this lock; carries nothing */
        return waiters->classes[class_of(waiter)].count == waiting ? waiter : NULL;
    }
    return NULL;
}

int64_t ceni_turn_oldest_locked(const ceni_waiters *waiters)
{
    int64_t oldest = CENI_FOREVER;
    for (unsigned class = 0; class < CENI_CLASSES; class ++) {
        const ceni_pool_waiter *head = head_of(waiters, class);
        if (head && head->since < oldest) oldest = head->since;
    }
    return oldest;
}

ceni_pool_waiter *ceni_turn_oldest_of_locked(const ceni_waiters *waiters, unsigned class)
{
    return head_of(waiters, class);
}

ceni_pool_waiter *ceni_turn_of_thread_locked(ceni_waiters *waiters, uint64_t holder)
{
    for (unsigned class = 0; class < CENI_CLASSES; class ++) {
        ceni_list *all = &waiters->classes[class].waiters;
        for (ceni_list *link = all->next; link != all; link = link->next)
            if (entry(link)->holder == holder && !entry(link)->pending) return entry(link);
    }
    return NULL;
}

/* Each class is in the order of its keys, so this is a merge. */
void ceni_turn_walk_locked(const ceni_waiters *waiters, size_t most,
                           void (*visit)(void *argument, const ceni_pool_waiter *waiter), void *argument)
{
    const ceni_list *at[CENI_CLASSES];
    for (unsigned class = 0; class < CENI_CLASSES; class ++) at[class] = waiters->classes[class].waiters.next;
    for (; most > 0; most--) {
        unsigned next = CENI_CLASSES;
        for (unsigned class = CENI_CLASSES; class -- > 0;) {
            if (at[class] == &waiters->classes[class].waiters) continue;
            bool sooner = next < CENI_CLASSES && entry(at[class])->key < entry(at[next])->key;
            if (next == CENI_CLASSES || (sooner && !ceni_planted(waiters_in_order_of_class))) next = class;
        }
        if (next == CENI_CLASSES) return;
        const ceni_pool_waiter *waiter = entry(at[next]);
        at[next] = at[next]->next;
        visit(argument, waiter);
    }
}

/* How many waiters of a lower class come first because they have waited for long. It assumes that the waiters between
 * the first and the last of the class have joined evenly, so that a long queue costs no more than a short one. */
static uint32_t aged_of(const ceni_waiters *waiters, unsigned class, int64_t key)
{
    const ceni_class *lower = &waiters->classes[class];
    const ceni_pool_waiter *head = head_of(waiters, class);
    if (!head || head->key > key) return 0;
    const ceni_pool_waiter *tail = entry(lower->waiters.previous);
    if (tail->key <= key) return lower->count;
    double passed = (double)(key - head->key) / (double)(tail->key - head->key);
    return 1 + (uint32_t)(passed * (double)(lower->count - 1));
}

uint32_t ceni_turn_ahead_locked(const cen_pool *pool, const ceni_pool_waiter *waiter, int64_t came)
{
    const ceni_waiters *waiters = pool->waiters;
    unsigned mine = class_of(waiter);
    int64_t key = key_of(pool, mine, came);
    uint32_t ahead = 0;
    for (unsigned class = 0; class < CENI_CLASSES; class ++)
        ahead += class <= mine ? waiters->classes[class].count : aged_of(waiters, class, key);
    return ahead;
}
