/* SPDX-License-Identifier: MIT */
/*
 * What a thing tells of itself, for tests: its sketch as values under paths, its readings by name, and the news.
 *
 *     sketch s;
 *     sketch_take(&s, "supervisor", "store", 100);            the thing of that kind and name; there must be one
 *     expect_equal(sketch_count(&s, "children"), 2);
 *     expect_text(sketch_words(&s, "children[1].state"), "running");
 *     expect_equal(sketch_number(&s, "children[1].restarts"), 0);
 *     expect(!sketch_has(&s, "children[1].supervisor"));
 *     sketch_drop(&s);
 *
 *     expect_equal(reading_of("queue", "jobs", "length"), 3);
 *
 * A sketch that is not well formed (an item outside of a list, a name twice in one item, something without an end, a
 * list beyond `most`) fails the test that takes it. Names are written in lower case with underscores.
 */
#ifndef TESTS_SUPPORT_SKETCH_H
#define TESTS_SUPPORT_SKETCH_H

#include <stdlib.h>

#include <cenote/news.h>
#include <cenote/watch.h>

#include "support/test.h"
#ifdef CENI_WATCHED
#include "record/news.h"
#endif

enum { SKETCH_PATH = 160, SKETCH_WORDS = 1024, SKETCH_DEPTH = 8 };

typedef struct sketch_leaf {
    char path[SKETCH_PATH];
    enum { SKETCH_NUMBER, SKETCH_TRUTH, SKETCH_WORD, SKETCH_NOTHING, SKETCH_LIST } kind;
    int64_t number; /* of a list: its items */
    char words[SKETCH_WORDS];
} sketch_leaf;

typedef struct sketch {
    sketch_leaf *leaves;
    size_t count, room, most;
    char path[SKETCH_PATH]; /* of the item that is being written */
    struct {
        size_t length; /* of the path before it */
        size_t leaf;   /* of a list */
        bool is_list;
    } open[SKETCH_DEPTH];
    unsigned depth;
    bool found;
    uint64_t number; /* of the thing */
} sketch;

/* ---- Writing it ------------------------------------------------------------------------------ */

static inline sketch_leaf *sketch_find(const sketch *s, const char *path)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->leaves[i].path, path) == 0) return &s->leaves[i];
    return NULL;
}

static inline sketch_leaf *sketch_add(sketch *s, const char *name)
{
    if (s->depth > 0 && s->open[s->depth - 1].is_list)
        test_fail(__FILE__, __LINE__, "a sketch writes \"%s\" into a list, and not into an item of it", name);
    if (name[0] == '\0' || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] != '\0')
        test_fail(__FILE__, __LINE__, "\"%s\" is no name for a sketch", name);
    if (s->count == s->room) {
        s->room = s->room ? s->room * 2 : 64;
        s->leaves = realloc(s->leaves, s->room * sizeof *s->leaves);
        expect(s->leaves != NULL);
    }
    char path[SKETCH_PATH];
    int length = snprintf(path, sizeof path, "%s%s%s", s->path, s->path[0] ? "." : "", name);
    expect(length > 0 && (size_t)length < sizeof path);
    if (sketch_find(s, path)) test_fail(__FILE__, __LINE__, "a sketch has \"%s\" twice", path);
    sketch_leaf *leaf = &s->leaves[s->count++];
    *leaf = (sketch_leaf){.kind = SKETCH_NOTHING};
    memcpy(leaf->path, path, sizeof path);
    return leaf;
}

static inline void sketch_write_number(void *argument, const char *name, int64_t value)
{
    sketch_leaf *leaf = sketch_add(argument, name);
    leaf->kind = SKETCH_NUMBER;
    leaf->number = value;
}

static inline void sketch_write_truth(void *argument, const char *name, bool value)
{
    sketch_leaf *leaf = sketch_add(argument, name);
    leaf->kind = SKETCH_TRUTH;
    leaf->number = value;
}

static inline void sketch_write_text(void *argument, const char *name, const char *value)
{
    sketch_leaf *leaf = sketch_add(argument, name);
    if (!value) return;
    leaf->kind = SKETCH_WORD;
    snprintf(leaf->words, sizeof leaf->words, "%s", value);
}

static inline void sketch_write_list(void *argument, const char *name)
{
    sketch *s = argument;
    sketch_leaf *leaf = sketch_add(s, name);
    expect(s->depth < SKETCH_DEPTH);
    leaf->kind = SKETCH_LIST;
    s->open[s->depth].length = strlen(s->path);
    s->open[s->depth].leaf = s->count - 1;
    s->open[s->depth].is_list = true;
    s->depth++;
    memcpy(s->path, leaf->path, sizeof s->path);
}

static inline void sketch_write_item(void *argument)
{
    sketch *s = argument;
    if (s->depth == 0 || !s->open[s->depth - 1].is_list)
        test_fail(__FILE__, __LINE__, "a sketch has an item outside of a list");
    expect(s->depth < SKETCH_DEPTH);
    sketch_leaf *list = &s->leaves[s->open[s->depth - 1].leaf];
    if ((size_t)list->number >= s->most)
        test_fail(__FILE__, __LINE__, "the list \"%s\" has more than %zu items", list->path, s->most);
    size_t length = strlen(s->path);
    s->open[s->depth].length = length;
    s->open[s->depth].is_list = false;
    s->depth++;
    int more = snprintf(s->path + length, sizeof s->path - length, "[%lld]", (long long)list->number++);
    expect(more > 0 && (size_t)more < sizeof s->path - length);
}

static inline void sketch_write_end(void *argument)
{
    sketch *s = argument;
    if (s->depth == 0) test_fail(__FILE__, __LINE__, "a sketch ends what it has not begun");
    s->path[s->open[--s->depth].length] = '\0';
}

/* ---- Taking it --------------------------------------------------------------------------------- */

static inline cen_sketch sketch_pen(sketch *s)
{
    return (cen_sketch){.argument = s,
                        .number = sketch_write_number,
                        .truth = sketch_write_truth,
                        .text = sketch_write_text,
                        .list = sketch_write_list,
                        .item = sketch_write_item,
                        .end = sketch_write_end};
}

static inline void sketch_draw(sketch *s, const cen_thing *thing)
{
    cen_sketch pen = sketch_pen(s);
    s->number = cen_thing_number(thing);
    cen_thing_sketch(thing, &pen, s->most);
    if (s->depth > 0) test_fail(__FILE__, __LINE__, "a sketch leaves \"%s\" without an end", s->path);
}

typedef struct sketch_wish {
    const char *kind, *name; /* name NULL: any */
    void (*visit)(void *argument, cen_thing *thing);
    void *argument;
    unsigned found;
} sketch_wish;

static inline void sketch_look(void *argument, cen_thing *thing)
{
    sketch_wish *wish = argument;
    if (strcmp(cen_thing_kind(thing), wish->kind) != 0) return;
    if (wish->name && strcmp(cen_thing_name(thing), wish->name) != 0) return;
    if (wish->found++ == 0 && wish->visit) wish->visit(wish->argument, thing);
}

/* Visits the first thing of that kind and name; how many there are. */
static inline unsigned thing_visit(const char *kind, const char *name, void (*visit)(void *argument, cen_thing *thing),
                                   void *argument)
{
    sketch_wish wish = {.kind = kind, .name = name, .visit = visit, .argument = argument};
    cen_things_each(sketch_look, &wish);
    return wish.found;
}

static inline void sketch_draw_it(void *argument, cen_thing *thing)
{
    sketch_draw(argument, thing);
}

static inline void sketch_take(sketch *s, const char *kind, const char *name, size_t most)
{
    *s = (sketch){.most = most};
    if (thing_visit(kind, name, sketch_draw_it, s) == 0)
        test_fail(__FILE__, __LINE__, "there is no %s \"%s\"", kind, name);
}

static inline void sketch_drop(sketch *s)
{
    free(s->leaves);
    *s = (sketch){.leaves = NULL};
}

/* ---- Reading it --------------------------------------------------------------------------------- */

static inline const sketch_leaf *sketch_leaf_of(const sketch *s, const char *path, int kind)
{
    const sketch_leaf *leaf = sketch_find(s, path);
    if (!leaf) test_fail(__FILE__, __LINE__, "the sketch has no \"%s\"", path);
    if ((int)leaf->kind != kind) test_fail(__FILE__, __LINE__, "\"%s\" is of another kind in the sketch", path);
    return leaf;
}

static inline bool sketch_has(const sketch *s, const char *path)
{
    return sketch_find(s, path) != NULL;
}

static inline int64_t sketch_number(const sketch *s, const char *path)
{
    return sketch_leaf_of(s, path, SKETCH_NUMBER)->number;
}

static inline bool sketch_truth(const sketch *s, const char *path)
{
    return sketch_leaf_of(s, path, SKETCH_TRUTH)->number != 0;
}

static inline const char *sketch_words(const sketch *s, const char *path)
{
    return sketch_leaf_of(s, path, SKETCH_WORD)->words;
}

static inline bool sketch_is_nothing(const sketch *s, const char *path)
{
    return sketch_leaf_of(s, path, SKETCH_NOTHING) != NULL;
}

/* How many items a list has. */
static inline size_t sketch_count(const sketch *s, const char *path)
{
    return (size_t)sketch_leaf_of(s, path, SKETCH_LIST)->number;
}

/* ---- Readings, durations, verbs -------------------------------------------------------------------- */

typedef struct sketch_reading {
    const char *name;
    cen_reading found;
} sketch_reading;

static inline void sketch_read_one(void *argument, cen_thing *thing)
{
    sketch_reading *wanted = argument;
    cen_reading readings[CEN_READINGS_MOST];
    size_t count = cen_thing_readings(thing, readings, CEN_READINGS_MOST);
    expect(count <= CEN_READINGS_MOST);
    expect_equal(cen_thing_readings(thing, readings, 0), count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(readings[i].name, wanted->name) == 0) wanted->found = readings[i];
}

static inline cen_reading reading_and_kind_of(const char *kind, const char *name, const char *reading)
{
    sketch_reading wanted = {.name = reading};
    if (thing_visit(kind, name, sketch_read_one, &wanted) == 0)
        test_fail(__FILE__, __LINE__, "there is no %s \"%s\"", kind, name);
    if (!wanted.found.name) test_fail(__FILE__, __LINE__, "%s \"%s\" has no reading \"%s\"", kind, name, reading);
    return wanted.found;
}

static inline int64_t reading_of(const char *kind, const char *name, const char *reading)
{
    return reading_and_kind_of(kind, name, reading).value;
}

typedef struct sketch_order {
    const char *verb;
    int64_t value;
    cen_status status;
    cen_error error;
} sketch_order;

static inline void sketch_tell_it(void *argument, cen_thing *thing)
{
    sketch_order *order = argument;
    order->status = cen_thing_tell(thing, order->verb, order->value, &order->error);
}

/* Tells the thing; what it answers. `error` may be NULL. */
static inline cen_status thing_tell(const char *kind, const char *name, const char *verb, int64_t value,
                                    cen_error *error)
{
    sketch_order order = {.verb = verb, .value = value, .error = {.text = ""}};
    if (thing_visit(kind, name, sketch_tell_it, &order) == 0)
        test_fail(__FILE__, __LINE__, "there is no %s \"%s\"", kind, name);
    if (error) *error = order.error;
    return order.status;
}

typedef struct sketch_times {
    const char *name;
    cen_timing timing;
    cen_durations *durations;
    bool found;
} sketch_times;

static inline void sketch_time_it(void *argument, cen_thing *thing)
{
    sketch_times *wanted = argument;
    cen_timing timing;
    for (size_t i = 0; !wanted->found && cen_thing_durations(thing, i, &timing, wanted->durations); i++) {
        wanted->found = strcmp(timing.name, wanted->name) == 0;
        wanted->timing = timing;
    }
}

/* The durations of that name; false: the thing has none. */
static inline bool durations_of(const char *kind, const char *name, const char *timing, cen_timing *out,
                                cen_durations *durations)
{
    sketch_times wanted = {.name = timing, .durations = durations};
    if (thing_visit(kind, name, sketch_time_it, &wanted) == 0)
        test_fail(__FILE__, __LINE__, "there is no %s \"%s\"", kind, name);
    if (wanted.found && out) *out = wanted.timing;
    return wanted.found;
}

/* ---- News -------------------------------------------------------------------------------------------- */

/* In a world news is written only from here on. */
static inline void news_begin(void)
{
#ifdef CENI_WATCHED
    ceni_news_switch_on();
#endif
}

enum { SKETCH_NEWS = 512 };

/* What was read so far: in a world the ring has four places only, and is to be read after every few news. */
typedef struct sketch_heard {
    cen_cursor at;
    cen_news all[SKETCH_NEWS];
    unsigned count;
} sketch_heard;

static inline sketch_heard *news_hear(void)
{
    static sketch_heard heard;
    while (heard.count < SKETCH_NEWS && cen_news_read(&heard.at, &heard.all[heard.count]) == CEN_OK) heard.count++;
    expect_equal(heard.at.missed, 0);
    expect(heard.count < SKETCH_NEWS);
    return &heard;
}

/* How many there have been that tell this of things of this kind; *last, if it is not NULL, is the latest of them. */
static inline unsigned news_of(const char *kind, const char *what, cen_news *last)
{
    const sketch_heard *heard = news_hear();
    unsigned count = 0;
    for (unsigned i = 0; i < heard->count; i++) {
        if (strcmp(heard->all[i].kind, kind) != 0 || strcmp(heard->all[i].what, what) != 0) continue;
        count++;
        if (last) *last = heard->all[i];
    }
    return count;
}

/* There is just one such, of this level, with this text in its text. */
static inline void expect_news(const char *kind, const char *what, cen_level level, const char *part)
{
    cen_news news = {.text = ""};
    unsigned count = news_of(kind, what, &news);
    if (count != 1) test_fail(__FILE__, __LINE__, "there are %u news \"%s\" of a %s, expected one", count, what, kind);
    if (news.level != level)
        test_fail(__FILE__, __LINE__, "\"%s\" is told as %s, expected %s", what, cen_level_name(news.level),
                  cen_level_name(level));
    if (!strstr(news.text, part))
        test_fail(__FILE__, __LINE__, "\"%s\" says \"%s\", which lacks \"%s\"", what, news.text, part);
    expect(news.thing != 0);
}

#endif
