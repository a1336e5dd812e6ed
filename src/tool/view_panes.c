/* SPDX-License-Identifier: MIT */
/* The six tables of `cenote top`. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tool/view.h"

const char *const view_pane_names[PANES] = {"pools", "holders", "waiters", "workers", "tree", "events"};

/* ---- Pools ---------------------------------------------------------------------------------- */

enum {
    POOL_NAME,
    POOL_STATE,
    POOL_BAR,
    POOL_HELD,
    POOL_IDLE,
    POOL_OPENING,
    POOL_WAITING,
    POOL_MAX,
    POOL_TAKES,
    POOL_W50,
    POOL_W99,
    POOL_U50,
    POOL_U99,
    POOL_COLUMNS
};

static const view_column pool_columns[POOL_COLUMNS] = {
    {"POOL", 24, false, false, 0}, {"STATE", 8, false, false, 0}, {"BUSY", 12, false, true, 3},
    {"HELD", 6, true, true, 0},    {"IDLE", 6, true, true, 1},    {"OPENING", 7, true, true, 6},
    {"WAITING", 7, true, true, 0}, {"MAX", 7, true, true, 0},     {"TAKES/s", 7, true, true, 0},
    {"WAIT50", 6, true, true, 7},  {"WAIT99", 6, true, true, 2},  {"USE50", 6, true, true, 8},
    {"USE99", 6, true, true, 4},
};

/* The worst state first, and causes before effects: leaks are why takes time out. */
static const char *state_of(const model_pool *p, char text[16], view_style *style)
{
    *style = STYLE_BAD;
    if (p->closed) return "closed";
    if (p->breaker == BREAKER_OPEN) return "breaker";
    if (p->leaks == 1) return "leak";
    if (p->leaks > 99) return "leaks";
    if (p->leaks > 0) {
        snprintf(text, 16, "%u leaks", (unsigned)p->leaks);
        return text;
    }
    if (p->timeouts > 0) return "timeouts";
    *style = STYLE_WARN;
    if (p->breaker == BREAKER_HALF_OPEN) return "half-open";
    if (p->paused) return "paused";
    if (p->waiting > 0) return "waiting";
    if (p->max > 0 && p->held + p->revoked >= p->max) return "full";
    *style = STYLE_GOOD;
    return "ok";
}

static void whole_cell(view_row *row, unsigned column, view_style style, int64_t value)
{
    char text[16];
    view_number_cell(row, column, style, (double)value, view_whole(text, value));
}

/* Dim: the values of the whole life of the pool, because the interval has none. */
static void time_cell(view_row *row, unsigned column, const model_spread *spread, int64_t ns)
{
    char text[16];
    view_style style = spread->known && !spread->is_old ? STYLE_PLAIN : STYLE_DIM;
    view_number_cell(row, column, style, spread->known ? (double)ns : -1, spread->known ? view_time(text, ns) : "-");
}

static void bar_cell(view_row *row, const model_pool *p)
{
    double max = p->max > 0 ? (double)p->max : 1, busy = (double)(p->held + p->revoked) / max;
    view_cell *cell = &row->cells[POOL_BAR];
    *cell = (view_cell){.is_bar = true,
                        .value = busy,
                        .bar = {.held = busy, .opening = (double)p->opening / max, .idle = (double)p->idle / max}};
    cell->style = p->waiting > 0 ? STYLE_BAD : busy >= 0.8 ? STYLE_WARN : STYLE_GOOD;
}

static bool add_pool(view_table *table, const model_pool *p)
{
    char key[48], text[16], words[16];
    view_style style;
    snprintf(key, sizeof key, "pool %llu", (unsigned long long)p->number);
    view_row *row = view_add(table, key, p->number, p);
    if (!row) return false;
    const char *state = state_of(p, words, &style);
    view_text_cell(row, POOL_NAME, STYLE_BOLD, p->name);
    view_text_cell(row, POOL_STATE, style, state);
    bar_cell(row, p);
    whole_cell(row, POOL_HELD, STYLE_PLAIN, p->held + p->revoked);
    whole_cell(row, POOL_IDLE, STYLE_PLAIN, p->idle);
    whole_cell(row, POOL_OPENING, p->opening ? STYLE_ACCENT : STYLE_DIM, p->opening);
    whole_cell(row, POOL_WAITING, p->waiting ? STYLE_WARN : STYLE_DIM, p->waiting);
    whole_cell(row, POOL_MAX, STYLE_PLAIN, p->max);
    view_number_cell(row, POOL_TAKES, p->takes > 0 ? STYLE_PLAIN : STYLE_DIM, p->takes, view_count(text, p->takes));
    time_cell(row, POOL_W50, &p->wait, p->wait.p50_ns);
    time_cell(row, POOL_W99, &p->wait, p->wait.p99_ns);
    time_cell(row, POOL_U50, &p->use, p->use.p50_ns);
    time_cell(row, POOL_U99, &p->use, p->use.p99_ns);
    return true;
}

/* ---- Holders and waiters ------------------------------------------------------------------------ */

static const view_column holder_columns[] = {
    {"HELD", 8, true, true, 0},       {"POOL", 24, false, false, 0},   {"OBJECT", 6, true, false, 4},
    {"HOLDER", 16, false, false, 0},  {"THREAD", 16, false, false, 3}, {"STATE", 9, false, false, 2},
    {"TAKEN AT", 0, false, false, 0},
};

static bool add_holder(view_table *table, const model_holder *h)
{
    char key[80], time[16], text[32];
    snprintf(key, sizeof key, "holder %llu %lld", (unsigned long long)h->pool->number, (long long)h->index);
    view_row *row = view_add(table, key, h->pool->number, h);
    if (!row) return false;
    int64_t leak = model_number(h->pool->description, "leak_after_ns");
    view_style style = h->revoked || (leak > 0 && h->held_ns >= leak) ? STYLE_BAD : STYLE_PLAIN;
    snprintf(text, sizeof text, "%s%s",
             h->exact       ? ""
             : view_is_wide ? "\xE2\x89\xA5"
                            : ">",
             view_time(time, h->held_ns));
    view_number_cell(row, 0, style, (double)h->held_ns, text);
    view_text_cell(row, 1, STYLE_BOLD, h->pool->name);
    whole_cell(row, 2, STYLE_PLAIN, h->index);
    view_text_cell(row, 3, STYLE_PLAIN, h->holder);
    view_text_cell(row, 4, STYLE_DIM, h->thread_name);
    view_text_cell(row, 5, STYLE_WARN, h->revoked ? "revoked" : h->detached ? "detached" : "");
    view_text_cell(row, 6, STYLE_ACCENT, h->where);
    return true;
}

static const view_column waiter_columns[] = {
    {"WAITED", 7, true, true, 0}, {"POOL", 24, false, false, 0},   {"PLACE", 5, true, false, 0},
    {"KIND", 6, false, false, 3}, {"HOLDER", 16, false, false, 0}, {"THREAD", 16, false, false, 5},
    {"PRIO", 6, false, false, 4}, {"LEFT", 6, true, false, 2},     {"AT", 0, false, false, 0},
};

static bool add_waiter(view_table *table, const model_waiter *w)
{
    char key[80], time[16];
    snprintf(key, sizeof key, "waiter %llu %.40s %lld", (unsigned long long)w->pool->number, w->holder,
             *w->holder ? 0LL : (long long)w->place);
    view_row *row = view_add(table, key, w->pool->number, w);
    if (!row) return false;
    view_number_cell(row, 0, STYLE_WARN, (double)w->waited_ns, view_time(time, w->waited_ns));
    view_text_cell(row, 1, STYLE_BOLD, w->pool->name);
    whole_cell(row, 2, STYLE_PLAIN, w->place);
    view_text_cell(row, 3, STYLE_DIM, w->kind);
    view_text_cell(row, 4, STYLE_PLAIN, w->holder);
    view_text_cell(row, 5, STYLE_DIM, w->thread_name);
    view_text_cell(row, 6, STYLE_DIM, w->priority);
    view_number_cell(row, 7, STYLE_PLAIN, w->left_ns < 0 ? 1e30 : (double)w->left_ns,
                     w->left_ns < 0 ? "-" : view_time(time, w->left_ns));
    view_text_cell(row, 8, STYLE_ACCENT, w->where);
    return true;
}

/* ---- Everything else ------------------------------------------------------------------------------ */

static const view_column node_columns[] = {
    {"NAME", 40, false, false, 0}, {"STATE", 12, false, false, 0}, {"NUMBERS", 0, false, false, 0}};

static view_style style_of_state(const char *state)
{
    static const char *const good[] = {"ok", "up", "running", "closed"}, *const bad[] = {"down", "ejected", "zombie",
                                                                                         "dead", "lost"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (strcmp(state, good[i]) == 0) return STYLE_GOOD;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (strcmp(state, bad[i]) == 0) return STYLE_BAD;
    return strcmp(state, "idle") == 0 ? STYLE_DIM : STYLE_WARN;
}

static bool add_node(view_table *table, const model_node *node)
{
    char key[80];
    snprintf(key, sizeof key, "node %llu %.50s", (unsigned long long)node->number, node->title);
    view_row *row = view_add(table, key, node->number, node);
    if (!row) return false;
    row->depth = node->depth;
    view_text_cell(row, 0, node->is_component ? STYLE_BOLD : STYLE_PLAIN, node->title);
    view_text_cell(row, 1, style_of_state(node->state), node->state);
    view_text_cell(row, 2, STYLE_PLAIN, node->numbers);
    return true;
}

/* ---- Events ---------------------------------------------------------------------------------------- */

static const view_column events_columns[] = {
    {"TIME", 12, false, true, 0},  {"LEVEL", 7, false, true, 0},  {"KIND", 10, false, false, 4},
    {"NAME", 20, false, false, 0}, {"WHAT", 16, false, false, 2}, {"TEXT", 0, false, false, 0},
};

const char *const view_level_names[VIEW_LEVELS] = {"trace", "detail", "notice", "warning", "error"};

static int rank_of_level(const char *level)
{
    for (int i = 0; i < VIEW_LEVELS; i++)
        if (strcmp(level, view_level_names[i]) == 0) return i;
    return VIEW_NOTICE;
}

static bool add_event(view_table *table, json_t *event)
{
    static const view_style styles[VIEW_LEVELS] = {STYLE_DIM, STYLE_DIM, STYLE_PLAIN, STYLE_WARN, STYLE_BAD};
    char key[80], clock[16], text[32];
    int64_t when = model_number(event, "time_ns");
    time_t seconds = (time_t)(when / 1000000000);
    struct tm tm;
    const char *level = model_text(event, "level");
    view_style style = styles[rank_of_level(level)];
    snprintf(key, sizeof key, "event %lld %s", (long long)model_number(event, "number"),
             rank_of_level(level) == 0 ? "trace" : "");
    view_row *row = view_add(table, key, (uint64_t)model_number(event, "component"), event);
    if (!row) return false;
    if (!localtime_r(&seconds, &tm) || strftime(clock, sizeof clock, "%H:%M:%S", &tm) == 0)
        snprintf(clock, sizeof clock, "?");
    snprintf(text, sizeof text, "%s.%03d", clock, (int)(when / 1000000 % 1000));
    view_number_cell(row, 0, STYLE_DIM, (double)when, text);
    view_number_cell(row, VIEW_LEVEL_COLUMN, style, rank_of_level(level), view_level_names[rank_of_level(level)]);
    view_text_cell(row, 2, STYLE_DIM, model_text(event, "component_kind"));
    view_text_cell(row, 3, STYLE_BOLD, model_text(event, "component_name"));
    view_text_cell(row, 4, style, model_text(event, "what"));
    view_text_cell(row, 5, STYLE_PLAIN, model_text(event, "text"));
    return true;
}

/* ---- All panes --------------------------------------------------------------------------------------- */

#define COLUMNS_OF(list) .columns = (list), .column_count = sizeof(list) / sizeof *(list)

static void fill_events(view_table *table, json_t *events)
{
    for (size_t i = json_array_size(events); i-- > 0;) /* newest first */
        if (!add_event(table, json_array_get(events, i))) return;
}

static void fill_nodes(view_table *table, const model_node *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!add_node(table, &nodes[i])) return;
}

view_table view_of(view_pane pane, const model *m, json_t *events)
{
    static const view_table tables[PANES] = {
        [PANE_POOLS] = {COLUMNS_OF(pool_columns), .empty = "No pools."},
        [PANE_HOLDERS] = {COLUMNS_OF(holder_columns), .empty = "No objects are held."},
        [PANE_WAITERS] = {COLUMNS_OF(waiter_columns), .empty = "No waiters."},
        [PANE_WORKERS] = {COLUMNS_OF(node_columns), .is_tree = true, .empty = "No crews, lanes, queues or actors."},
        [PANE_TREE] = {COLUMNS_OF(node_columns), .is_tree = true, .empty = "No supervisors or routers."},
        [PANE_EVENTS] = {COLUMNS_OF(events_columns), .empty = "No events."},
    };
    view_table table = tables[pane];
    bool filled = true;
    switch (pane) {
    case PANE_POOLS:
        for (size_t i = 0; i < m->pool_count && filled; i++) filled = add_pool(&table, &m->pools[i]);
        break;
    case PANE_HOLDERS:
        for (size_t i = 0; i < m->holder_count && filled; i++) filled = add_holder(&table, &m->holders[i]);
        break;
    case PANE_WAITERS:
        for (size_t i = 0; i < m->waiter_count && filled; i++) filled = add_waiter(&table, &m->waiters[i]);
        break;
    case PANE_WORKERS: fill_nodes(&table, m->workers, m->worker_count); break;
    case PANE_TREE: fill_nodes(&table, m->tree, m->tree_count); break;
    case PANE_EVENTS: fill_events(&table, events); break;
    case PANES: break;
    }
    return table;
}
