/* SPDX-License-Identifier: MIT */
/*
 * Everything that is no pool, as rows of a tree: the thing, and below it the lists of its sketch (workers, members,
 * children, lanes). No kind is known here but supervisors, whose children may be supervisors
 * in turn: they are drawn below the child that they are, and once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/model.h"

enum { DEPTH_MOST = 24 };

typedef struct grove {
    model *m;
    json_t *before;
    model_node **nodes; /* where rows go now */
    size_t *count;
    json_t *drawn; /* numbers of supervisors that are there already */
} grove;

/* ---- "queued 12, running 4, finished 530/s" --------------------------------------------------- */

static void append(char *text, size_t room, const char *name, const char *value, const char *unit)
{
    size_t used = strlen(text);
    snprintf(text + used, room - used, "%s%s %s%s", used ? ", " : "", name, value, unit);
}

static void show_time(char *text, size_t room, int64_t ns)
{
    if (ns < 1000) snprintf(text, room, "%lldns", (long long)ns);
    else if (ns < 1000000) snprintf(text, room, "%.1fus", (double)ns / 1e3);
    else if (ns < 1000000000) snprintf(text, room, "%.1fms", (double)ns / 1e6);
    else snprintf(text, room, "%.1fs", (double)ns / 1e9);
}

static bool ends_in_ns(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && strcmp(&name[length - 3], "_ns") == 0;
}

static void append_number(char *text, size_t room, const char *name, int64_t value)
{
    char shown[32], word[64];
    if (!ends_in_ns(name)) {
        snprintf(shown, sizeof shown, "%lld", (long long)value);
        append(text, room, name, shown, "");
        return;
    }
    show_time(shown, sizeof shown, value);
    snprintf(word, sizeof word, "%.*s", (int)(strlen(name) - 3), name);
    append(text, room, word, shown, "");
}

static bool is_counter(json_t *thing, const char *name)
{
    size_t i;
    json_t *counter;
    json_array_foreach(json_object_get(thing, "counters"), i,
                       counter) if (strcmp(json_string_value(counter) ? json_string_value(counter) : "", name) ==
                                    0) return true;
    return false;
}

/* Gauges that are not 0, and counters that move, as rates; without an earlier answer their values. */
static void show_readings(const grove *g, json_t *thing, char *text, size_t room)
{
    const char *name;
    json_t *value, *readings = json_object_get(thing, "readings");
    json_t *old =
        g->before ? json_object_get(model_thing(g->before, (uint64_t)model_number(thing, "number")), "readings") : NULL;
    json_object_foreach(readings, name, value)
    {
        int64_t now = json_integer_value(value);
        if (!is_counter(thing, name)) {
            if (now) append_number(text, room, name, now);
            continue;
        }
        int64_t more = now - (old ? model_number(old, name) : 0);
        char shown[32];
        if (more <= 0) continue;
        if (g->m->interval_ns > 0)
            snprintf(shown, sizeof shown, "%.0f", (double)more * 1e9 / (double)g->m->interval_ns);
        else snprintf(shown, sizeof shown, "%lld", (long long)more);
        append(text, room, name, shown, g->m->interval_ns > 0 ? "/s" : "");
    }
}

/* The numbers and truths of an item, but those that its title has. */
static void show_item(json_t *item, char *text, size_t room)
{
    const char *name;
    json_t *value;
    json_object_foreach(item, name, value)
    {
        if (json_is_integer(value) && json_integer_value(value) != 0 && strcmp(name, "number") != 0 &&
            strcmp(name, "supervisor") != 0)
            append_number(text, room, name, json_integer_value(value));
        else if (json_is_true(value)) append(text, room, name, "", "");
        else if (json_is_string(value) && strcmp(name, "name") != 0 && strcmp(name, "state") != 0 &&
                 *json_string_value(value))
            append(text, room, name, json_string_value(value), "");
    }
}

/* ---- Rows ------------------------------------------------------------------------------------------ */

static model_node *add(grove *g, unsigned depth)
{
    if (!model_room((void **)g->nodes, *g->count, sizeof **g->nodes)) return NULL;
    model_node *node = &(*g->nodes)[(*g->count)++];
    memset(node, 0, sizeof *node);
    node->depth = depth;
    return node;
}

static const char *state_of_thing(json_t *thing)
{
    json_t *readings = json_object_get(thing, "readings"), *sketch = json_object_get(thing, "sketch");
    if (*model_text(sketch, "state")) return model_text(sketch, "state");
    if (model_truth(readings, "closed") && !is_counter(thing, "closed")) return "closed";
    if (model_number(readings, "down") > 0) return "down";
    if (model_number(readings, "waiting") > 0) return "waiting";
    if (model_number(readings, "queued") > 0) return "queued";
    return "ok";
}

static bool add_thing(grove *g, json_t *thing, unsigned depth);

/* "workers" -> "worker 3" for what has a number and no name. */
static void give_title(model_node *node, const char *list, json_t *item)
{
    const char *key = json_object_get(item, "number") ? "number" : json_object_get(item, "index") ? "index" : NULL;
    int singular = (int)strlen(list) - (strlen(list) > 1 && list[strlen(list) - 1] == 's');
    if (*model_text(item, "name")) snprintf(node->title, sizeof node->title, "%s", model_text(item, "name"));
    else if (key)
        snprintf(node->title, sizeof node->title, "%.*s %lld", singular, list, (long long)model_number(item, key));
    else snprintf(node->title, sizeof node->title, "%.*s", singular, list);
}

static bool add_item(grove *g, json_t *thing, const char *list, json_t *item, unsigned depth)
{
    model_node *node = add(g, depth);
    if (!node) return false;
    node->number = (uint64_t)model_number(thing, "number");
    node->kind = list;
    node->name = model_text(item, "name");
    node->state = model_text(item, "state");
    node->item = item;
    give_title(node, list, item);
    show_item(item, node->numbers, sizeof node->numbers);
    uint64_t nested = (uint64_t)model_number(item, "supervisor");
    json_t *below = nested ? model_thing(g->m->after, nested) : NULL;
    return !below || add_thing(g, below, depth + 1);
}

/* Each thing of the tree once, whatever the answer says of who is below whom. */
static bool is_drawn(grove *g, json_t *thing)
{
    char key[32];
    snprintf(key, sizeof key, "%lld", (long long)model_number(thing, "number"));
    if (json_object_get(g->drawn, key)) return true;
    json_object_set_new(g->drawn, key, json_true());
    return false;
}

static bool add_thing(grove *g, json_t *thing, unsigned depth)
{
    const char *list;
    json_t *value, *item;
    size_t i;
    if (depth > DEPTH_MOST || is_drawn(g, thing)) return true;
    model_node *node = add(g, depth);
    if (!node) return false;
    node->number = (uint64_t)model_number(thing, "number");
    node->is_thing = true;
    node->kind = model_text(thing, "kind");
    node->name = model_text(thing, "name");
    node->state = state_of_thing(thing);
    node->item = thing;
    snprintf(node->title, sizeof node->title, "%s %s", node->kind, node->name);
    show_readings(g, thing, node->numbers, sizeof node->numbers);
    json_object_foreach(json_object_get(thing, "sketch"), list, value)
    {
        json_array_foreach(value, i,
                           item) if (json_is_object(item) && !add_item(g, thing, list, item, depth + 1)) return false;
    }
    return true;
}

/* ---- Which thing goes where ----------------------------------------------------------------------- */

/* Whether a child of another supervisor is this one. */
static bool is_below(json_t *things, uint64_t number)
{
    size_t i, j;
    json_t *thing, *child;
    json_array_foreach(things, i, thing)
    {
        if ((uint64_t)model_number(thing, "number") == number) continue;
        json_array_foreach(json_object_get(json_object_get(thing, "sketch"), "children"), j,
                           child) if ((uint64_t)model_number(child, "supervisor") == number) return true;
    }
    return false;
}

typedef enum place { PLACE_NONE, PLACE_WORKERS, PLACE_SUPERVISORS, PLACE_ROUTERS } place;

static place place_of(json_t *thing)
{
    const char *kind = model_text(thing, "kind");
    if (strcmp(kind, "pool") == 0) return PLACE_NONE;
    if (strcmp(kind, "supervisor") == 0) return PLACE_SUPERVISORS;
    return strcmp(kind, "router") == 0 ? PLACE_ROUTERS : PLACE_WORKERS;
}

/* `roots`: only those that are below nobody; the others are drawn with them, or, if they are in a ring, afterwards. */
static bool add_all(grove *g, place wanted, bool roots)
{
    size_t i;
    json_t *thing, *things = json_object_get(g->m->after, "things");
    json_array_foreach(things, i, thing)
    {
        if (place_of(thing) != wanted || (roots && is_below(things, (uint64_t)model_number(thing, "number")))) continue;
        if (!add_thing(g, thing, 0)) return false;
    }
    return true;
}

bool model_grow_tree(model *m, json_t *before)
{
    grove g = {.m = m, .before = before, .nodes = &m->workers, .count = &m->worker_count, .drawn = json_object()};
    bool grown = g.drawn && add_all(&g, PLACE_WORKERS, false);
    g.nodes = &m->tree;
    g.count = &m->tree_count;
    grown = grown && add_all(&g, PLACE_SUPERVISORS, true) && add_all(&g, PLACE_SUPERVISORS, false) &&
            add_all(&g, PLACE_ROUTERS, false);
    json_decref(g.drawn);
    return grown;
}
