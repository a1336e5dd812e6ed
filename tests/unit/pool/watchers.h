/* SPDX-License-Identifier: MIT */
/* A pool as those see it who watch: its readings, durations and sketch, by what include/cenote/watch.h has. */
#ifndef TESTS_UNIT_POOL_WATCHERS_H
#define TESTS_UNIT_POOL_WATCHERS_H

#include <cenote/watch.h>
#include <inttypes.h>
#include <stdarg.h>

#include "unit/pool/pools.h"

/* ---- The thing of a pool ------------------------------------------------------------ */

typedef struct sought {
    const char *name;
    void (*visit)(void *argument, cen_thing *it);
    void *argument;
    int found;
} sought;

static inline void seek(void *argument, cen_thing *it)
{
    sought *s = argument;
    if (strcmp(cen_thing_kind(it), "pool") != 0 || strcmp(cen_thing_name(it), s->name) != 0) return;
    s->found++;
    s->visit(s->argument, it);
}

/* Visits the pool, whose name no other has. */
static inline void visit_pool(cen_pool *pool, void (*visit)(void *argument, cen_thing *it), void *argument)
{
    sought s = {cen_pool_name(pool), visit, argument, 0};
    cen_things_each(seek, &s);
    expect_equal(s.found, 1);
}

/* ---- Durations ----------------------------------------------------------------------- */

typedef struct times {
    const char *wanted;
    cen_timing timing;
    cen_durations durations;
} times;

static inline void read_times(void *argument, cen_thing *it)
{
    times *t = argument;
    for (size_t i = 0; cen_thing_durations(it, i, &t->timing, &t->durations); i++)
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
    expect_equal(t->durations.count, count);
    expect_equal(t->durations.sum, sum);
}

/* ---- Readings ------------------------------------------------------------------------- */

typedef struct readings {
    size_t count;
    cen_reading all[CEN_READINGS_MOST];
} readings;

static inline void read_readings(void *argument, cen_thing *it)
{
    readings *r = argument;
    r->count = cen_thing_readings(it, r->all, CEN_READINGS_MOST);
    expect(r->count <= CEN_READINGS_MOST);
}

static inline readings readings_of(cen_pool *pool)
{
    readings r;
    visit_pool(pool, read_readings, &r);
    return r;
}

static inline const cen_reading *find_reading(const readings *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->all[i].name, name) == 0) return &r->all[i];
    return NULL;
}

static inline int64_t reading(const readings *r, const char *name)
{
    const cen_reading *found = find_reading(r, name);
    if (!found) test_fail(__FILE__, __LINE__, "there is no reading %s", name);
    return found ? found->value : -1;
}

/* ---- The sketch ------------------------------------------------------------------------ */

/* As a text: name=5 name="words" name=true [holders {index=0 ...} {...}], each followed by a blank. */
typedef struct drawing {
    size_t most;
    void (*inside)(struct drawing *d); /* called by every function of the sketch; may be NULL */
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

static inline void sketch_thing(void *argument, cen_thing *it)
{
    drawing *d = argument;
    const cen_sketch sketch = {d, draw_number, draw_truth, draw_text, draw_list, draw_item, draw_end};
    cen_thing_sketch(it, &sketch, d->most);
    expect_equal(d->depth, 0);
}

static inline void draw_pool(cen_pool *pool, drawing *d, size_t most)
{
    d->most = most;
    d->used = 0;
    d->text[0] = '\0';
    visit_pool(pool, sketch_thing, d);
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
