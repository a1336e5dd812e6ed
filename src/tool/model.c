/* SPDX-License-Identifier: MIT */
#include "tool/model.h"

#include <stdlib.h>
#include <string.h>

const char *model_holder_words(const model_holder *h, const char *nobody, char *text, size_t room)
{
    char tid[32] = "";
    if (h->tid > 0) snprintf(tid, sizeof tid, ", tid %lld", (long long)h->tid);
    snprintf(text, room, "%s%s%s%s%s", *h->holder ? h->holder : nobody, *h->thread_name ? " (" : "", h->thread_name,
             *h->thread_name ? tid : "", *h->thread_name ? ")" : "");
    return text;
}

/* ---- Optional values -------------------------------------------------------------------- */

/* The limit of values from another process, so that differences do not overflow. */
#define MOST (INT64_MAX / 2)

int64_t model_number(json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    double real = json_number_value(value);
    if (real >= (double)MOST) return MOST;
    if (real <= -(double)MOST) return -MOST;
    return json_is_real(value) ? (int64_t)real : (int64_t)json_integer_value(value);
}

const char *model_text(json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

bool model_truth(json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    return json_is_true(value) || json_integer_value(value) != 0;
}

/* Components are sorted by age, and so by number. */
json_t *model_component(json_t *components, uint64_t number)
{
    json_t *array = json_object_get(components, "components");
    size_t low = 0, high = json_array_size(array);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        json_t *component = json_array_get(array, middle);
        uint64_t here = (uint64_t)model_number(component, "number");
        if (here == number) return component;
        if (here < number) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

bool model_room(void **array, size_t count, size_t size)
{
    if (count & (count - 1)) return true; /* doubled at each power of two */
    void *more = realloc(*array, (count ? count * 2 : 1) * size);
    if (more) *array = more;
    return more != NULL;
}

/* ---- Histograms of an interval -------------------------------------------------------------- */

/* Return the earlier count of a bucket. Both lists ascend, so *at only moves forwards. */
static int64_t count_before(json_t *buckets, size_t *at, int64_t highest)
{
    for (; *at < json_array_size(buckets); ++*at) {
        json_t *bucket = json_array_get(buckets, *at);
        int64_t here = json_integer_value(json_array_get(bucket, 0));
        if (here == highest) return json_integer_value(json_array_get(bucket, 1));
        if (here > highest) break;
    }
    return 0;
}

/* Return the value that `rank` events do not exceed. `instant` events took no time; each of the others stands for
 * one_in. */
static int64_t percentile(json_t *before, json_t *after, double instant, double one_in, double rank)
{
    size_t i, at = 0;
    double seen = instant;
    int64_t value = 0;
    json_t *bucket;
    if (seen >= rank) return 0;
    json_array_foreach(after, i, bucket)
    {
        int64_t highest = json_integer_value(json_array_get(bucket, 0));
        int64_t more = json_integer_value(json_array_get(bucket, 1)) - count_before(before, &at, highest);
        if (more <= 0) continue;
        seen += (double)more * one_in;
        value = highest;
        if (seen >= rank) break;
    }
    return value;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static model_spread spread_between(json_t *before, json_t *after, const char *name)
{
    json_t *old = json_object_get(json_object_get(before, "histograms"), name);
    json_t *new = json_object_get(json_object_get(after, "histograms"), name);
    json_t *was = json_object_get(old, "buckets"), *is = json_object_get(new, "buckets");
    double one_in = model_number(new, "one_in") > 1 ? (double)model_number(new, "one_in") : 1;
    double instant = (double)(model_number(new, "instant") - model_number(old, "instant"));
    double timed = (double)(model_number(new, "count") - model_number(old, "count"));
    model_spread s = {.known = false};
    if (!new || instant < 0 || timed < 0) return s;
    s.count = instant + timed * one_in;
    s.known = s.count > 0;
    if (!s.known) return s;
    /* No value exceeds the largest ever, so this bounds the last bucket. */
    int64_t most = model_number(new, "largest_ns");
    if (most <= 0) most = INT64_MAX;
    s.p50_ns = smaller(percentile(was, is, instant, one_in, s.count * 0.5), most);
    s.p99_ns = smaller(percentile(was, is, instant, one_in, s.count * 0.99), most);
    s.largest_ns = smaller(percentile(was, is, instant, one_in, s.count), most);
    return s;
}

model_spread model_spread_of(json_t *before, json_t *after, const char *name)
{
    model_spread s = spread_between(before, after, name);
    if (s.known || !before) return s;
    s = spread_between(NULL, after, name);
    s.is_old = true;
    return s;
}

/* ---- Pools --------------------------------------------------------------------------------- */

static double rate(json_t *before, json_t *after, const char *name, int64_t interval_ns)
{
    if (interval_ns <= 0 || !json_object_get(after, name)) return -1;
    int64_t more = model_number(after, name) - model_number(before, name);
    return more < 0 ? -1 : (double)more * 1e9 / (double)interval_ns;
}

static model_breaker breaker_of(json_t *metrics, json_t *description)
{
    const char *word = model_text(description, "breaker");
    if (strcmp(word, "open") == 0) return BREAKER_OPEN;
    if (strcmp(word, "half-open") == 0) return BREAKER_HALF_OPEN;
    if (*word) return BREAKER_CLOSED;
    int64_t code = model_number(metrics, "breaker");
    return code == 1 ? BREAKER_OPEN : code == 2 ? BREAKER_HALF_OPEN : BREAKER_CLOSED;
}

/* An unknown word comes from a later version. */
static cen_cause cause_of(json_t *description)
{
    static const char *const words[] = {
#define WORD(number, name, word) [number] = word,
        CEN_CAUSE_LIST(WORD)
#undef WORD
    };
    const char *word = model_text(description, "cause");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i]) == 0) return (cen_cause)i;
    return CEN_CAUSE_NONE;
}

/* "closed" may also be the number of closed objects. */
static bool is_closed(json_t *component, json_t *metrics)
{
    size_t i;
    json_t *counter;
    json_array_foreach(json_object_get(component, "counters"), i,
                       counter) if (json_is_string(counter) && strcmp(json_string_value(counter), "closed") ==
                                                                   0) return model_truth(metrics, "is_closed");
    return model_truth(metrics, "is_closed") || model_truth(metrics, "closed");
}

static int64_t leaks_of(json_t *description)
{
    size_t i;
    json_t *holder;
    int64_t limit = model_number(description, "leak_after_ns"), count = 0;
    if (limit <= 0) return 0;
    json_array_foreach(json_object_get(description, "holders"), i, holder) count +=
        model_number(holder, "held_ns") >= limit;
    return count;
}

static void read_pool(model_pool *p, json_t *old, json_t *component, int64_t interval_ns)
{
    json_t *r = json_object_get(component, "metrics"), *was = json_object_get(old, "metrics"),
           *description = json_object_get(component, "description");
    *p = (model_pool){
        .number = (uint64_t)model_number(component, "number"),
        .name = model_text(component, "name"),
        .system = model_text(component, "system"),
        .explanation = model_text(description, "explanation"),
        .last_error = model_text(description, "last_error"),
        .max = model_number(r, "max"),
        .held = model_number(r, "held") + model_number(r, "moving"),
        .idle = model_number(r, "idle"),
        .opening = model_number(r, "opening"),
        .waiting = model_number(r, "waiting"),
        .revoked = model_number(r, "revoked"),
        .others = model_number(r, "testing") + model_number(r, "resetting") + model_number(r, "closing"),
        .paused = model_truth(r, "paused") || model_truth(description, "paused"),
        .closed = is_closed(component, r),
        .breaker = breaker_of(r, description),
        .cause = cause_of(description),
        .wait = model_spread_of(old, component, "wait"),
        .use = model_spread_of(old, component, "use"),
        .create = model_spread_of(old, component, "create"),
        .takes = rate(was, r, "taken", interval_ns),
        .timeouts = rate(was, r, "timed_out", interval_ns),
        .leaks = leaks_of(description),
        .component = component,
        .description = description,
    };
    /* A process without this counter has the number in its histogram. */
    if (p->takes < 0 && interval_ns > 0 && p->wait.known && !p->wait.is_old)
        p->takes = p->wait.count * 1e9 / (double)interval_ns;
}

static bool read_pools(model *m, json_t *before)
{
    size_t i;
    json_t *component;
    json_array_foreach(json_object_get(m->after, "components"), i, component)
    {
        if (strcmp(model_text(component, "kind"), "pool") != 0) continue;
        if (!model_room((void **)&m->pools, m->pool_count, sizeof *m->pools)) return false;
        json_t *old = before ? model_component(before, (uint64_t)model_number(component, "number")) : NULL;
        read_pool(&m->pools[m->pool_count++], old, component, m->interval_ns);
    }
    return true;
}

/* ---- Holders and waiters --------------------------------------------------------------------- */

static bool read_holders(model *m, const model_pool *pool)
{
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(pool->description, "holders"), i, item)
    {
        if (!model_room((void **)&m->holders, m->holder_count, sizeof *m->holders)) return false;
        m->holders[m->holder_count++] = (model_holder){
            .pool = pool,
            .index = model_number(item, "index"),
            .held_ns = model_number(item, "held_ns"),
            .holder = model_text(item, "holder"),
            .thread_name = model_text(item, "thread_name"),
            .tid = model_number(item, "tid"),
            .where = model_text(item, "where"),
            .exact = model_truth(item, "exact"),
            .detached = model_truth(item, "detached"),
            .revoked = model_truth(item, "revoked"),
            .item = item,
        };
    }
    return true;
}

static bool read_waiters(model *m, const model_pool *pool)
{
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(pool->description, "waiters"), i, item)
    {
        bool ends = json_object_get(item, "deadline_in_ns") != NULL;
        int64_t left = model_number(item, "deadline_in_ns");
        if (!model_room((void **)&m->waiters, m->waiter_count, sizeof *m->waiters)) return false;
        m->waiters[m->waiter_count++] = (model_waiter){
            .pool = pool,
            .place = (int64_t)i + 1,
            .waited_ns = model_number(item, "waited_ns"),
            .left_ns = !ends      ? -1
                       : left > 0 ? left
                                  : 0,
            .priority = model_text(item, "priority"),
            .kind = model_text(item, "kind"),
            .holder = model_text(item, "holder"),
            .thread_name = model_text(item, "thread_name"),
            .where = model_text(item, "where"),
            .item = item,
        };
    }
    return true;
}

static int compare_age(const void *a, const void *b)
{
    const model_holder *x = a, *y = b;
    if (x->held_ns != y->held_ns) return x->held_ns < y->held_ns ? 1 : -1;
    if (x->pool != y->pool) return x->pool < y->pool ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* ---- The whole model ---------------------------------------------------------------------------- */

static bool fill(model *m, json_t *before)
{
    if (!read_pools(m, before)) return false;
    for (size_t i = 0; i < m->pool_count; i++)
        if (!read_holders(m, &m->pools[i]) || !read_waiters(m, &m->pools[i])) return false;
    if (m->holder_count) qsort(m->holders, m->holder_count, sizeof *m->holders, compare_age);
    return model_grow_tree(m, before);
}

model *model_new(json_t *before, json_t *after)
{
    if (!json_is_array(json_object_get(after, "components"))) return NULL;
    model *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->after = json_incref(after);
    m->now_ns = model_number(after, "now_ns");
    int64_t then = before ? model_number(before, "now_ns") : m->now_ns;
    m->interval_ns = m->now_ns > then ? m->now_ns - then : 0; /* the clock was set back: no rates in this interval */
    if (fill(m, m->interval_ns ? before : NULL)) return m;
    model_free(m);
    return NULL;
}

void model_set_history(model *self, json_t *history)
{
    json_t *entry;
    size_t i;
    if (!self || !history) return;
    json_decref(self->history);
    self->history = json_incref(history);
    json_array_foreach(json_object_get(history, "components"), i, entry)
    {
        for (size_t p = 0; p < self->pool_count; p++) {
            if (self->pools[p].number != (uint64_t)model_number(entry, "number")) continue;
            self->pools[p].history = entry;
            self->pools[p].now_ns = model_number(history, "now_ns");
        }
    }
}

void model_free(model *self)
{
    if (!self) return;
    free(self->pools);
    free(self->holders);
    free(self->waiters);
    free(self->workers);
    free(self->tree);
    json_decref(self->after);
    json_decref(self->history);
    free(self);
}
