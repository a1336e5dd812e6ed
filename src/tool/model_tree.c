/* SPDX-License-Identifier: MIT */
/*
 * Everything except pools, as rows of a tree: the component, and below it the lists of its description (workers,
 * members, children, lanes). The only kind known here is the supervisor. Its children may be supervisors themselves,
 * which are drawn once, below their row as a child.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/model.h"

enum { DEPTH_MOST = 24 };

typedef struct grove {
    model *m;
    json_t *before;
    model_node **nodes; /* where rows are added */
    size_t *count;
    json_t *drawn; /* numbers of supervisors that are drawn already */
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

static bool is_counter(json_t *component, const char *name)
{
    size_t i;
    json_t *counter;
    json_array_foreach(json_object_get(component, "counters"), i,
                       counter) if (strcmp(json_string_value(counter) ? json_string_value(counter) : "", name) ==
                                    0) return true;
    return false;
}

/* Show gauges that are not 0, and counters that move, as rates. Without an earlier response show the counters'
 * values. */
static void show_metrics(const grove *g, json_t *component, char *text, size_t room)
{
    const char *name;
    json_t *value, *metrics = json_object_get(component, "metrics");
    json_t *old =
        g->before ? json_object_get(model_component(g->before, (uint64_t)model_number(component, "number")), "metrics")
                  : NULL;
    json_object_foreach(metrics, name, value)
    {
        int64_t now = json_integer_value(value);
        if (!is_counter(component, name)) {
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

/* Show the numbers and booleans of an item, except those in its title. */
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

static const char *state_of_component(json_t *component)
{
    json_t *metrics = json_object_get(component, "metrics"), *description = json_object_get(component, "description");
    if (*model_text(description, "state")) return model_text(description, "state");
    if (model_truth(metrics, "closed") && !is_counter(component, "closed")) return "closed";
    if (model_number(metrics, "down") > 0) return "down";
    if (model_number(metrics, "waiting") > 0) return "waiting";
    if (model_number(metrics, "queued") > 0) return "queued";
    return "ok";
}

static bool add_component(grove *g, json_t *component, unsigned depth);

/* Make the title "worker 3" from the list "workers" for an item with a number and no name. */
static void give_title(model_node *node, const char *list, json_t *item)
{
    const char *key = json_object_get(item, "number") ? "number" : json_object_get(item, "index") ? "index" : NULL;
    int singular = (int)strlen(list) - (strlen(list) > 1 && list[strlen(list) - 1] == 's');
    if (*model_text(item, "name")) snprintf(node->title, sizeof node->title, "%s", model_text(item, "name"));
    else if (key)
        snprintf(node->title, sizeof node->title, "%.*s %lld", singular, list, (long long)model_number(item, key));
    else snprintf(node->title, sizeof node->title, "%.*s", singular, list);
}

static bool add_item(grove *g, json_t *component, const char *list, json_t *item, unsigned depth)
{
    model_node *node = add(g, depth);
    if (!node) return false;
    node->number = (uint64_t)model_number(component, "number");
    node->kind = list;
    node->name = model_text(item, "name");
    node->state = model_text(item, "state");
    node->item = item;
    give_title(node, list, item);
    show_item(item, node->numbers, sizeof node->numbers);
    uint64_t nested = (uint64_t)model_number(item, "supervisor");
    json_t *below = nested ? model_component(g->m->after, nested) : NULL;
    return !below || add_component(g, below, depth + 1);
}

/* Draw each component once, even if the response nests components in a cycle. */
static bool is_drawn(grove *g, json_t *component)
{
    char key[32];
    snprintf(key, sizeof key, "%lld", (long long)model_number(component, "number"));
    if (json_object_get(g->drawn, key)) return true;
    json_object_set_new(g->drawn, key, json_true());
    return false;
}

static bool add_component(grove *g, json_t *component, unsigned depth)
{
    const char *list;
    json_t *value, *item;
    size_t i;
    if (depth > DEPTH_MOST || is_drawn(g, component)) return true;
    model_node *node = add(g, depth);
    if (!node) return false;
    node->number = (uint64_t)model_number(component, "number");
    node->is_component = true;
    node->kind = model_text(component, "kind");
    node->name = model_text(component, "name");
    node->state = state_of_component(component);
    node->item = component;
    snprintf(node->title, sizeof node->title, "%s %s", node->kind, node->name);
    show_metrics(g, component, node->numbers, sizeof node->numbers);
    json_object_foreach(json_object_get(component, "description"), list, value)
    {
        json_array_foreach(value, i, item) if (json_is_object(item) &&
                                               !add_item(g, component, list, item, depth + 1)) return false;
    }
    return true;
}

/* ---- Which component goes where ----------------------------------------------------------------------- */

/* Return true if the component is a child of another supervisor. */
static bool is_below(json_t *components, uint64_t number)
{
    size_t i, j;
    json_t *component, *child;
    json_array_foreach(components, i, component)
    {
        if ((uint64_t)model_number(component, "number") == number) continue;
        json_array_foreach(json_object_get(json_object_get(component, "description"), "children"), j,
                           child) if ((uint64_t)model_number(child, "supervisor") == number) return true;
    }
    return false;
}

typedef enum place { PLACE_NONE, PLACE_WORKERS, PLACE_SUPERVISORS, PLACE_ROUTERS } place;

static place place_of(json_t *component)
{
    const char *kind = model_text(component, "kind");
    if (strcmp(kind, "pool") == 0) return PLACE_NONE;
    if (strcmp(kind, "supervisor") == 0) return PLACE_SUPERVISORS;
    return strcmp(kind, "router") == 0 ? PLACE_ROUTERS : PLACE_WORKERS;
}

/* Add all components of a place. `roots`: only those that are not children. The others are drawn below them or, if they
 * form a cycle, afterwards. */
static bool add_all(grove *g, place wanted, bool roots)
{
    size_t i;
    json_t *component, *components = json_object_get(g->m->after, "components");
    json_array_foreach(components, i, component)
    {
        if (place_of(component) != wanted ||
            (roots && is_below(components, (uint64_t)model_number(component, "number"))))
            continue;
        if (!add_component(g, component, 0)) return false;
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
