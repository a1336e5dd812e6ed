/* SPDX-License-Identifier: MIT */
/*
 * What a component tells of itself, for tests: its description as values under paths, its metrics by name, and the event.
 *
 *     description s;
 *     description_take(&s, "supervisor", "store", 100);            the component of that kind and name; there must be one
 *     expect_equal(description_count(&s, "children"), 2);
 *     expect_text(description_words(&s, "children[1].state"), "running");
 *     expect_equal(description_number(&s, "children[1].restarts"), 0);
 *     expect(!description_has(&s, "children[1].supervisor"));
 *     description_drop(&s);
 *
 *     expect_equal(metric_of("queue", "jobs", "length"), 3);
 *
 * A description that is not well formed (an item outside of a list, a name twice in one item, something without an end, a
 * list beyond `most`) fails the test that takes it. Names are written in lower case with underscores.
 */
#ifndef TESTS_SUPPORT_DESCRIPTION_H
#define TESTS_SUPPORT_DESCRIPTION_H

#include <stdlib.h>

#include <cenote/events.h>
#include <cenote/component.h>

#include "support/test.h"
#ifdef CENI_WATCHED
#include "record/events.h"
#endif

enum { DESCRIPTION_PATH = 160, DESCRIPTION_WORDS = 1024, DESCRIPTION_DEPTH = 8 };

typedef struct description_leaf {
    char path[DESCRIPTION_PATH];
    enum { DESCRIPTION_NUMBER, DESCRIPTION_TRUTH, DESCRIPTION_WORD, DESCRIPTION_NOTHING, DESCRIPTION_LIST } kind;
    int64_t number; /* of a list: its items */
    char words[DESCRIPTION_WORDS];
} description_leaf;

typedef struct description {
    description_leaf *leaves;
    size_t count, room, most;
    char path[DESCRIPTION_PATH]; /* of the item that is being written */
    struct {
        size_t length; /* of the path before it */
        size_t leaf;   /* of a list */
        bool is_list;
    } open[DESCRIPTION_DEPTH];
    unsigned depth;
    bool found;
    uint64_t number; /* of the component */
} description;

/* ---- Writing it ------------------------------------------------------------------------------ */

static inline description_leaf *description_find(const description *s, const char *path)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->leaves[i].path, path) == 0) return &s->leaves[i];
    return NULL;
}

static inline description_leaf *description_add(description *s, const char *name)
{
    if (s->depth > 0 && s->open[s->depth - 1].is_list)
        test_fail(__FILE__, __LINE__, "a description writes \"%s\" into a list, and not into an item of it", name);
    if (name[0] == '\0' || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] != '\0')
        test_fail(__FILE__, __LINE__, "\"%s\" is no name for a description", name);
    if (s->count == s->room) {
        s->room = s->room ? s->room * 2 : 64;
        s->leaves = realloc(s->leaves, s->room * sizeof *s->leaves);
        expect(s->leaves != NULL);
    }
    char path[DESCRIPTION_PATH];
    int length = snprintf(path, sizeof path, "%s%s%s", s->path, s->path[0] ? "." : "", name);
    expect(length > 0 && (size_t)length < sizeof path);
    if (description_find(s, path)) test_fail(__FILE__, __LINE__, "a description has \"%s\" twice", path);
    description_leaf *leaf = &s->leaves[s->count++];
    *leaf = (description_leaf){.kind = DESCRIPTION_NOTHING};
    memcpy(leaf->path, path, sizeof path);
    return leaf;
}

static inline void description_write_number(void *argument, const char *name, int64_t value)
{
    description_leaf *leaf = description_add(argument, name);
    leaf->kind = DESCRIPTION_NUMBER;
    leaf->number = value;
}

static inline void description_write_truth(void *argument, const char *name, bool value)
{
    description_leaf *leaf = description_add(argument, name);
    leaf->kind = DESCRIPTION_TRUTH;
    leaf->number = value;
}

static inline void description_write_text(void *argument, const char *name, const char *value)
{
    description_leaf *leaf = description_add(argument, name);
    if (!value) return;
    leaf->kind = DESCRIPTION_WORD;
    snprintf(leaf->words, sizeof leaf->words, "%s", value);
}

static inline void description_write_list(void *argument, const char *name)
{
    description *s = argument;
    description_leaf *leaf = description_add(s, name);
    expect(s->depth < DESCRIPTION_DEPTH);
    leaf->kind = DESCRIPTION_LIST;
    s->open[s->depth].length = strlen(s->path);
    s->open[s->depth].leaf = s->count - 1;
    s->open[s->depth].is_list = true;
    s->depth++;
    memcpy(s->path, leaf->path, sizeof s->path);
}

static inline void description_write_item(void *argument)
{
    description *s = argument;
    if (s->depth == 0 || !s->open[s->depth - 1].is_list)
        test_fail(__FILE__, __LINE__, "a description has an item outside of a list");
    expect(s->depth < DESCRIPTION_DEPTH);
    description_leaf *list = &s->leaves[s->open[s->depth - 1].leaf];
    if ((size_t)list->number >= s->most)
        test_fail(__FILE__, __LINE__, "the list \"%s\" has more than %zu items", list->path, s->most);
    size_t length = strlen(s->path);
    s->open[s->depth].length = length;
    s->open[s->depth].is_list = false;
    s->depth++;
    int more = snprintf(s->path + length, sizeof s->path - length, "[%lld]", (long long)list->number++);
    expect(more > 0 && (size_t)more < sizeof s->path - length);
}

static inline void description_write_end(void *argument)
{
    description *s = argument;
    if (s->depth == 0) test_fail(__FILE__, __LINE__, "a description ends what it has not begun");
    s->path[s->open[--s->depth].length] = '\0';
}

/* ---- Taking it --------------------------------------------------------------------------------- */

static inline cen_description_writer description_pen(description *s)
{
    return (cen_description_writer){.argument = s,
                                    .number = description_write_number,
                                    .truth = description_write_truth,
                                    .text = description_write_text,
                                    .list = description_write_list,
                                    .item = description_write_item,
                                    .end = description_write_end};
}

static inline void description_draw(description *s, const cen_component *component)
{
    cen_description_writer pen = description_pen(s);
    s->number = cen_component_number(component);
    cen_component_describe(component, &pen, s->most);
    if (s->depth > 0) test_fail(__FILE__, __LINE__, "a description leaves \"%s\" without an end", s->path);
}

typedef struct description_wish {
    const char *kind, *name; /* name NULL: any */
    void (*visit)(void *argument, cen_component *component);
    void *argument;
    unsigned found;
} description_wish;

static inline void description_look(void *argument, cen_component *component)
{
    description_wish *wish = argument;
    if (strcmp(cen_component_kind(component), wish->kind) != 0) return;
    if (wish->name && strcmp(cen_component_name(component), wish->name) != 0) return;
    if (wish->found++ == 0 && wish->visit) wish->visit(wish->argument, component);
}

/* Visits the first component of that kind and name; how many there are. */
static inline unsigned component_visit(const char *kind, const char *name,
                                       void (*visit)(void *argument, cen_component *component), void *argument)
{
    description_wish wish = {.kind = kind, .name = name, .visit = visit, .argument = argument};
    cen_components_each(description_look, &wish);
    return wish.found;
}

static inline void description_draw_it(void *argument, cen_component *component)
{
    description_draw(argument, component);
}

static inline void description_take(description *s, const char *kind, const char *name, size_t most)
{
    *s = (description){.most = most};
    if (component_visit(kind, name, description_draw_it, s) == 0)
        test_fail(__FILE__, __LINE__, "there is no %s \"%s\"", kind, name);
}

static inline void description_drop(description *s)
{
    free(s->leaves);
    *s = (description){.leaves = NULL};
}

/* ---- Reading it --------------------------------------------------------------------------------- */

static inline const description_leaf *description_leaf_of(const description *s, const char *path, int kind)
{
    const description_leaf *leaf = description_find(s, path);
    if (!leaf) test_fail(__FILE__, __LINE__, "the description has no \"%s\"", path);
    if ((int)leaf->kind != kind) test_fail(__FILE__, __LINE__, "\"%s\" is of another kind in the description", path);
    return leaf;
}

static inline bool description_has(const description *s, const char *path)
{
    return description_find(s, path) != NULL;
}

static inline int64_t description_number(const description *s, const char *path)
{
    return description_leaf_of(s, path, DESCRIPTION_NUMBER)->number;
}

static inline bool description_truth(const description *s, const char *path)
{
    return description_leaf_of(s, path, DESCRIPTION_TRUTH)->number != 0;
}

static inline const char *description_words(const description *s, const char *path)
{
    return description_leaf_of(s, path, DESCRIPTION_WORD)->words;
}

static inline bool description_is_nothing(const description *s, const char *path)
{
    return description_leaf_of(s, path, DESCRIPTION_NOTHING) != NULL;
}

/* How many items a list has. */
static inline size_t description_count(const description *s, const char *path)
{
    return (size_t)description_leaf_of(s, path, DESCRIPTION_LIST)->number;
}

/* ---- Metrics, histograms, actions -------------------------------------------------------------------- */

typedef struct description_metric {
    const char *name;
    cen_metric found;
} description_metric;

static inline void description_read_one(void *argument, cen_component *component)
{
    description_metric *wanted = argument;
    cen_metric metrics[CEN_METRICS_MAX];
    size_t count = cen_component_metrics(component, metrics, CEN_METRICS_MAX);
    expect(count <= CEN_METRICS_MAX);
    expect_equal(cen_component_metrics(component, metrics, 0), count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(metrics[i].name, wanted->name) == 0) wanted->found = metrics[i];
}

static inline cen_metric metric_and_kind_of(const char *kind, const char *name, const char *metric)
{
    description_metric wanted = {.name = metric};
    if (component_visit(kind, name, description_read_one, &wanted) == 0)
        test_fail(__FILE__, __LINE__, "there is no %s \"%s\"", kind, name);
    if (!wanted.found.name) test_fail(__FILE__, __LINE__, "%s \"%s\" has no reading \"%s\"", kind, name, metric);
    return wanted.found;
}

static inline int64_t metric_of(const char *kind, const char *name, const char *metric)
{
    return metric_and_kind_of(kind, name, metric).value;
}

typedef struct description_order {
    const char *action;
    int64_t value;
    cen_status status;
    cen_error error;
} description_order;

static inline void description_tell_it(void *argument, cen_component *component)
{
    description_order *order = argument;
    order->status = cen_component_invoke(component, order->action, order->value, &order->error);
}

/* Tells the component; what it answers. `error` may be NULL. */
static inline cen_status component_tell(const char *kind, const char *name, const char *action, int64_t value,
                                        cen_error *error)
{
    description_order order = {.action = action, .value = value, .error = {.text = ""}};
    if (component_visit(kind, name, description_tell_it, &order) == 0)
        test_fail(__FILE__, __LINE__, "there is no %s \"%s\"", kind, name);
    if (error) *error = order.error;
    return order.status;
}

typedef struct description_times {
    const char *name;
    cen_histogram_header timing;
    cen_histogram *histogram;
    bool found;
} description_times;

static inline void description_time_it(void *argument, cen_component *component)
{
    description_times *wanted = argument;
    cen_histogram_header timing;
    for (size_t i = 0; !wanted->found && cen_component_histogram(component, i, &timing, wanted->histogram); i++) {
        wanted->found = strcmp(timing.name, wanted->name) == 0;
        wanted->timing = timing;
    }
}

/* The histograms of that name; false: the component has none. */
static inline bool histogram_of(const char *kind, const char *name, const char *timing, cen_histogram_header *out,
                                cen_histogram *histogram)
{
    description_times wanted = {.name = timing, .histogram = histogram};
    if (component_visit(kind, name, description_time_it, &wanted) == 0)
        test_fail(__FILE__, __LINE__, "there is no %s \"%s\"", kind, name);
    if (wanted.found && out) *out = wanted.timing;
    return wanted.found;
}

/* ---- Events -------------------------------------------------------------------------------------------- */

/* In a world events are written only from here on. */
static inline void events_begin(void)
{
#ifdef CENI_WATCHED
    ceni_events_switch_on();
#endif
}

enum { DESCRIPTION_EVENTS = 512 };

/* What was read so far: in a world the ring has four places only, and is to be read after every few event. */
typedef struct description_heard {
    cen_event_cursor at;
    cen_event all[DESCRIPTION_EVENTS];
    unsigned count;
} description_heard;

static inline description_heard *events_hear(void)
{
    static description_heard heard;
    while (heard.count < DESCRIPTION_EVENTS && cen_events_read(&heard.at, &heard.all[heard.count]) == CEN_OK)
        heard.count++;
    expect_equal(heard.at.missed, 0);
    expect(heard.count < DESCRIPTION_EVENTS);
    return &heard;
}

/* How many there have been that tell this of components of this kind; *last, if it is not NULL, is the latest of them. */
static inline unsigned events_of(const char *kind, const char *what, cen_event *last)
{
    const description_heard *heard = events_hear();
    unsigned count = 0;
    for (unsigned i = 0; i < heard->count; i++) {
        if (strcmp(heard->all[i].component_kind, kind) != 0 || strcmp(heard->all[i].what, what) != 0) continue;
        count++;
        if (last) *last = heard->all[i];
    }
    return count;
}

/* There is just one such, of this level, with this text in its text. */
static inline void expect_event(const char *kind, const char *what, cen_event_level level, const char *part)
{
    cen_event event = {.text = ""};
    unsigned count = events_of(kind, what, &event);
    if (count != 1)
        test_fail(__FILE__, __LINE__, "there are %u events \"%s\" of a %s, expected one", count, what, kind);
    if (event.level != level)
        test_fail(__FILE__, __LINE__, "\"%s\" is told as %s, expected %s", what, cen_event_level_name(event.level),
                  cen_event_level_name(level));
    if (!strstr(event.text, part))
        test_fail(__FILE__, __LINE__, "\"%s\" says \"%s\", which lacks \"%s\"", what, event.text, part);
    expect(event.component != 0);
}

#endif
