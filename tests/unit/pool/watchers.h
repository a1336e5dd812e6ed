/* SPDX-License-Identifier: MIT */
/* A pool as those see it who watch: its metrics, histograms and description, by what include/cenote/component.h has. */
#ifndef TESTS_UNIT_POOL_WATCHERS_H
#define TESTS_UNIT_POOL_WATCHERS_H

#include <cenote/component.h>
#include <inttypes.h>
#include <stdarg.h>

#include "unit/pool/pools.h"

/* ---- The component of a pool ------------------------------------------------------------ */

typedef struct sought {
    const char *name;
    void (*visit)(void *argument, cen_component *it);
    void *argument;
    int found;
} sought;

static inline void seek(void *argument, cen_component *it)
{
    sought *s = argument;
    if (strcmp(cen_component_kind(it), "pool") != 0 || strcmp(cen_component_name(it), s->name) != 0) return;
    s->found++;
    s->visit(s->argument, it);
}

/* Visits the pool, whose name no other has. */
static inline void visit_pool(cen_pool *pool, void (*visit)(void *argument, cen_component *it), void *argument)
{
    sought s = {cen_pool_name(pool), visit, argument, 0};
    cen_components_each(seek, &s);
    expect_equal(s.found, 1);
}

/* ---- Histograms ----------------------------------------------------------------------- */

typedef struct times {
    const char *wanted;
    cen_histogram_header timing;
    cen_histogram histogram;
} times;

static inline void read_times(void *argument, cen_component *it)
{
    times *t = argument;
    for (size_t i = 0; cen_component_histogram(it, i, &t->timing, &t->histogram); i++)
        if (strcmp(t->timing.name, t->wanted) == 0) return;
    test_fail(__FILE__, __LINE__, "there are no times of %s", t->wanted);
}

/* The pool's times of that name; there until the next call. */
static inline const times *times_of(cen_pool *pool, const char *name)
{
    static times t;
    t.wanted = name;
    visit_pool(pool, read_times, &t);
    return &t;
}

/* So many, and so long together. */
static inline void expect_times(cen_pool *pool, const char *name, uint64_t count, int64_t sum)
{
    const times *t = times_of(pool, name);
    expect_equal(t->histogram.count, count);
    expect_equal(t->histogram.sum, sum);
}

/* ---- Metrics ------------------------------------------------------------------------- */

typedef struct metrics {
    size_t count;
    cen_metric all[CEN_METRICS_MAX];
} metrics;

static inline void read_metrics(void *argument, cen_component *it)
{
    metrics *r = argument;
    r->count = cen_component_metrics(it, r->all, CEN_METRICS_MAX);
    expect(r->count <= CEN_METRICS_MAX);
}

static inline metrics metrics_of(cen_pool *pool)
{
    metrics r;
    visit_pool(pool, read_metrics, &r);
    return r;
}

static inline const cen_metric *find_metric(const metrics *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->all[i].name, name) == 0) return &r->all[i];
    return NULL;
}

static inline int64_t metric(const metrics *r, const char *name)
{
    const cen_metric *found = find_metric(r, name);
    if (!found) test_fail(__FILE__, __LINE__, "there is no reading %s", name);
    return found ? found->value : -1;
}

/* ---- The description ------------------------------------------------------------------------ */

/* As a text: name=5 name="words" name=true [holders {index=0 ...} {...}], each followed by a blank. */
typedef struct drawing {
    size_t most;
    void (*inside)(struct drawing *d); /* called by every function of the description; may be NULL */
    void *argument;
    size_t used;
    int depth;
    bool is_list[8];
    char text[20000];
} drawing;

__attribute__((format(printf, 2, 3))) static inline void draw(drawing *d, const char *format, ...)
{
    if (d->inside) d->inside(d);
    va_list arguments;
    va_start(arguments, format);
    d->used += (size_t)vsnprintf(d->text + d->used, sizeof d->text - d->used, format, arguments);
    va_end(arguments);
    expect(d->used < sizeof d->text);
}

static inline void draw_number(void *argument, const char *name, int64_t value)
{
    draw(argument, "%s=%" PRId64 " ", name, value);
}

static inline void draw_truth(void *argument, const char *name, bool value)
{
    draw(argument, "%s=%s ", name, value ? "true" : "false");
}

static inline void draw_text(void *argument, const char *name, const char *value)
{
    if (value) draw(argument, "%s=\"%s\" ", name, value);
    else draw(argument, "%s=null ", name);
}

static inline void draw_list(void *argument, const char *name)
{
    drawing *d = argument;
    draw(d, "[%s ", name);
    d->is_list[d->depth++] = true;
}

static inline void draw_item(void *argument)
{
    drawing *d = argument;
    expect(d->depth > 0 && d->is_list[d->depth - 1]);
    draw(d, "{");
    d->is_list[d->depth++] = false;
}

static inline void draw_end(void *argument)
{
    drawing *d = argument;
    expect(d->depth > 0);
    draw(d, "%s", d->is_list[--d->depth] ? "] " : "} ");
}

static inline void description_component(void *argument, cen_component *it)
{
    drawing *d = argument;
    const cen_description_writer description = {d, draw_number, draw_truth, draw_text, draw_list, draw_item, draw_end};
    cen_component_describe(it, &description, d->most);
    expect_equal(d->depth, 0);
}

static inline void draw_pool(cen_pool *pool, drawing *d, size_t most)
{
    d->most = most;
    d->used = 0;
    d->text[0] = '\0';
    visit_pool(pool, description_component, d);
}

static inline void expect_drawn(const drawing *d, const char *words)
{
    if (!strstr(d->text, words)) test_fail(__FILE__, __LINE__, "\"%s\" is not in: %s", words, d->text);
}

static inline void expect_not_drawn(const drawing *d, const char *words)
{
    if (strstr(d->text, words)) test_fail(__FILE__, __LINE__, "\"%s\" is in: %s", words, d->text);
}

#endif
