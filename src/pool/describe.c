/* SPDX-License-Identifier: MIT */
/*
 * The description of a pool, for a page or JSON: its settings, why a take would wait now, its holders and its waiters.
 *
 * The writer's functions belong to the program: they may be slow, and may use this very pool. So everything is copied
 * first, holders without a lock and at most MOST_ITEMS waiters under the pool's lock, and is then written with no
 * lock held (L9). Holders and waiters are shown as of two moments; each line was true at one of them.
 *
 * Holders are read twice: once to sort them by age, and once more when they are written. A holder that has given its
 * object meanwhile is left out.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

enum {
    MOST_ITEMS = 4096, /* of a list, whatever the caller's limit */
    MOST_WORDS = 8192, /* bytes of an explanation */
    HOLDER_ROOM = 32,
};

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* "thread 3", "task 12"; NULL: not known. */
static const char *say_holder(uint64_t holder, char text[HOLDER_ROOM])
{
    holder &= ~CENI_HOLDER_DETACHED;
    if (!holder) return NULL;
    snprintf(text, HOLDER_ROOM, "%s %llu", ceni_holder_word(holder), ceni_holder_figure(holder));
    return text;
}

/* ---- The pool itself --------------------------------------------------------------------- */

static void limit(const cen_description_writer *s, const char *name, int64_t value)
{
    if (value != CEN_OFF) s->number(s->argument, name, value == CEN_NONE ? 0 : value);
}

static void describe_settings(const cen_description_writer *s, const cen_pool *pool, const cen_pool_options *o)
{
    static const char *const orders[] = {
        [CEN_ORDER_WARM] = "warm", [CEN_ORDER_LIFO] = "lifo", [CEN_ORDER_FIFO] = "fifo"};
    s->text(s->argument, "driver", pool->calls.system);
    s->text(s->argument, "order", orders[o->order]);
    s->number(s->argument, "max", o->max);
    s->number(s->argument, "min_idle", o->min_idle);
    limit(s, "max_idle", o->max_idle);
    limit(s, "max_waiters", o->max_waiters);
    limit(s, "idle_timeout_ns", o->idle_timeout_ns);
    limit(s, "max_lifetime_ns", o->max_lifetime_ns);
    limit(s, "max_uses", o->max_uses);
    limit(s, "test_after_idle_ns", o->test_after_idle_ns);
    limit(s, "leak_after_ns", o->leak_after_ns);
    limit(s, "max_hold_ns", o->max_hold_ns);
    limit(s, "max_barging_ns", o->max_barging_ns);
    limit(s, "shed_target_ns", o->shed_target_ns);
    s->truth(s->argument, "refuse_late", o->refuse_late);
    s->truth(s->argument, "exact_times", o->exact_times);
    s->truth(s->argument, "trace_takes", o->trace_takes);
    s->truth(s->argument, "backtraces", o->backtraces);
}

static void describe_explanation(const cen_description_writer *s, cen_pool *pool)
{
    char *words = ceni_alloc(NULL, MOST_WORDS, 1);
    cen_cause cause = ceni_pool_explain_briefly(pool, words, MOST_WORDS);
    s->text(s->argument, "cause", cause == CEN_CAUSE_NONE ? NULL : cen_cause_name(cause));
    s->text(s->argument, "explanation", words);
    ceni_free(NULL, words, MOST_WORDS, 1);
}

static void describe_state(const cen_description_writer *s, cen_pool *pool)
{
    static const char *const breakers[] = {
        [CEN_BREAKER_CLOSED] = "closed", [CEN_BREAKER_OPEN] = "open", [CEN_BREAKER_HALF_OPEN] = "half-open"};
    int64_t now = ceni_pool_now(pool);
    ceni_waiters_lock(pool->waiters);
    cen_error last = pool->gate.last;
    int64_t failed_at = pool->gate.failed_at;
    cen_breaker breaker = pool->gate.breaker;
    bool paused = pool->paused, closed = pool->closed;
    ceni_waiters_unlock(pool->waiters);
    s->text(s->argument, "breaker", breakers[breaker]);
    s->truth(s->argument, "paused", paused);
    s->truth(s->argument, "closed", closed);
    bool failed = last.status != CEN_OK;
    s->text(s->argument, "last_error", failed ? last.text : NULL);
    if (!failed) return;
    if (last.code && !pool->calls.says_codes) s->number(s->argument, "last_error_code", last.code);
    s->number(s->argument, "last_error_ago_ns", now > failed_at ? now - failed_at : 0);
}

/* ---- Holders -------------------------------------------------------------------------------- */

/* A held slot, and the age of its lease. */
typedef struct held {
    int64_t age;
    uint32_t index;
} held;

static int by_age(const void *a, const void *b)
{
    const held *one = a, *other = b;
    if (one->age != other->age) return one->age > other->age ? -1 : 1;
    return one->index < other->index ? -1 : one->index > other->index;
}

static bool is_held(cen_pool *pool, uint32_t index, cen_object_view *out)
{
    return ceni_slot_holding(pool, index, out) && out->state != CEN_OBJECT_IDLE;
}

/* The thread's name and number are those of the system at this moment. */
static void describe_whose(const cen_description_writer *s, uint64_t holder)
{
    char text[HOLDER_ROOM], name[CENI_THREAD_NAME_ROOM];
    uint32_t tid = 0;
    s->text(s->argument, "holder", say_holder(holder, text));
    if (cen_holder_is_task(holder) || ceni_thread_look(holder, name, &tid) != CENI_THREAD_LIVES) return;
    s->text(s->argument, "thread_name", name);
    if (tid) s->number(s->argument, "tid", tid);
}

static void describe_trace(const cen_description_writer *s, const cen_object_view *h)
{
    s->list(s->argument, "backtrace");
    for (uint32_t i = 0; i < h->backtrace_count; i++) {
        char at[CENI_SYMBOL_ROOM];
        ceni_symbol(h->backtrace[i], at);
        s->item(s->argument);
        s->text(s->argument, "at", at);
        s->end(s->argument);
    }
    s->end(s->argument);
}

static void describe_holder(const cen_description_writer *s, const cen_object_view *h, const char *prefix)
{
    char object[HOLDER_ROOM];
    snprintf(object, sizeof object, "0x%llx", (unsigned long long)(uintptr_t)h->object);
    s->item(s->argument);
    s->number(s->argument, "index", h->index);
    s->text(s->argument, "object", object);
    if (h->identity) {
        snprintf(object, sizeof object, "%.40s%llu", prefix ? prefix : "", (unsigned long long)h->identity);
        s->text(s->argument, "identity", object);
    }
    describe_whose(s, h->holder);
    s->text(s->argument, "where", h->where);
    s->number(s->argument, "held_ns", h->held_ns);
    s->truth(s->argument, "exact", h->is_exact);
    s->truth(s->argument, "detached", h->is_detached);
    s->truth(s->argument, "revoked", h->state == CEN_OBJECT_REVOKED);
    if (h->backtrace_count > 0) describe_trace(s, h);
    s->end(s->argument);
}

/* Collect all held slots with the ages of their leases, and mark the leases. */
static size_t meet_holders(cen_pool *pool, held *all, uint32_t places)
{
    size_t count = 0;
    for (uint32_t index = 0; index < places; index++) {
        cen_object_view h;
        if (!is_held(pool, index, &h)) continue;
        ceni_slot_age(pool, ceni_slot_at(pool, index), ceni_word(h.generation, CENI_SLOT_HELD)); /* mark it */
        all[count++] = (held){.age = h.held_ns, .index = index};
    }
    return count;
}

static void describe_holders(const cen_description_writer *s, cen_pool *pool, size_t most)
{
    uint32_t places = ceni_place_reach(pool) + 1; /* never 0: an allocator need not handle 0 bytes */
    held *all = ceni_alloc(NULL, places * sizeof *all, _Alignof(held));
    size_t count = all ? meet_holders(pool, all, places - 1) : 0, shown = lesser(lesser(most, MOST_ITEMS), count);
    if (all) qsort(all, count, sizeof *all, by_age);
    s->list(s->argument, "holders");
    for (size_t i = 0; i < shown; i++) {
        cen_object_view h;
        if (is_held(pool, all[i].index, &h)) describe_holder(s, &h, pool->calls.identity_prefix);
    }
    s->end(s->argument);
    if (count > shown) s->number(s->argument, "holders_more", (int64_t)(count - shown));
    ceni_free(NULL, all, places * sizeof *all, _Alignof(held));
}

/* ---- Waiters ------------------------------------------------------------------------------------ */

/* The copied fields of a waiter; `where` stays valid as long as the pool. */
typedef struct waiting {
    uint64_t holder;
    const char *where;
    int64_t since, moment;
    uint8_t priority;
    bool pending;
} waiting;

typedef struct line_copy {
    waiting *waiters;
    size_t count;
} line_copy;

static void copy_waiter(void *argument, const ceni_pool_waiter *w)
{
    line_copy *copy = argument;
    copy->waiters[copy->count++] = (waiting){.holder = w->holder,
                                             .where = w->where,
                                             .since = w->since,
                                             .moment = w->moment,
                                             .priority = w->priority,
                                             .pending = w->pending};
}

static void describe_waiter(const cen_description_writer *s, const waiting *w, int64_t now, int64_t pool_now)
{
    static const char *const priorities[] = {
        [CEN_PRIORITY_NORMAL] = "normal", [CEN_PRIORITY_HIGH] = "high", [CEN_PRIORITY_LOW] = "low"};
    s->item(s->argument);
    s->text(s->argument, "kind", w->pending ? "future" : "thread");
    describe_whose(s, w->holder & ~CENI_HOLDER_DETACHED);
    s->text(s->argument, "where", w->where);
    s->text(s->argument, "priority", priorities[w->priority]);
    s->number(s->argument, "waited_ns", now > w->since ? now - w->since : 0);
    if (w->moment != CENI_FOREVER)
        s->number(s->argument, "deadline_in_ns", w->moment > pool_now ? w->moment - pool_now : 0);
    s->end(s->argument);
}

/* Memory is allocated before the lock is taken, for the current number of waiters; waiters that join meanwhile are
 * only counted. */
static void describe_waiters(const cen_description_writer *s, cen_pool *pool, size_t most)
{
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    size_t room = cen_pool_stats_get(pool, &stats) == CEN_OK ? lesser(lesser(most, MOST_ITEMS), stats.waiting) : 0;
    line_copy copy = {.waiters = room ? ceni_alloc(NULL, room * sizeof(waiting), _Alignof(waiting)) : NULL};
    ceni_waiters_lock(pool->waiters);
    uint64_t ctl = ceni_load_relaxed(&pool->waiters->ctl); /* written under this lock; carries nothing */
    if (copy.waiters) ceni_turn_walk_locked(pool->waiters, room, copy_waiter, &copy);
    ceni_waiters_unlock(pool->waiters);
    int64_t now = ceni_clock_now(), pool_now = ceni_pool_now(pool);
    s->list(s->argument, "waiters");
    for (size_t i = 0; i < copy.count; i++) describe_waiter(s, &copy.waiters[i], now, pool_now);
    s->end(s->argument);
    size_t all = (size_t)(ctl / CENI_CTL_ONE);
    if (all > copy.count) s->number(s->argument, "waiters_more", (int64_t)(all - copy.count));
    ceni_free(NULL, copy.waiters, room * sizeof(waiting), _Alignof(waiting));
}

void ceni_pool_write_description(const void *object, const cen_description_writer *description, size_t most)
{
    cen_pool *pool = (cen_pool *)(uintptr_t)object;
    cen_pool_options o = CEN_SIZED(cen_pool_options);
    if (cen_pool_options_get(pool, &o) != CEN_OK) return;
    describe_settings(description, pool, &o);
    describe_explanation(description, pool);
    describe_state(description, pool);
    describe_holders(description, pool, most);
    describe_waiters(description, pool, most);
}
