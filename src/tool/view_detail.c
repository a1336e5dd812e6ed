/* SPDX-License-Identifier: MIT */
/* Everything known about one row, as lines. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tool/view.h"
#include "tool/words.h"

/* ---- Lines ------------------------------------------------------------------------------- */

void view_page_free(view_page *page)
{
    for (size_t i = 0; i < page->count; i++) free(page->lines[i]);
    free(page->lines);
    free(page->styles);
    memset(page, 0, sizeof *page);
}

static void add_line(view_page *page, view_style style, const char *text)
{
    if (!model_room((void **)&page->lines, page->count, sizeof *page->lines)) return;
    if (!model_room((void **)&page->styles, page->count, sizeof *page->styles)) return;
    char *line = strdup(text);
    if (!line) return;
    page->styles[page->count] = style;
    page->lines[page->count++] = line;
}

void view_say(view_page *page, view_style style, const char *format, ...)
{
    char text[VIEW_ROOM], clean[VIEW_ROOM];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    view_clean(clean, sizeof clean, text, false);
    add_line(page, style, clean);
}

/* Return the length of the first line: up to a newline, or the last space that lets it fit. */
static size_t first_line(const char *text, unsigned columns)
{
    char part[VIEW_ROOM];
    size_t length = strcspn(text, "\n"), best = 0;
    for (size_t i = 0; i <= length; i++) {
        if (i < length && text[i] != ' ') continue;
        if (i >= sizeof part) break;
        memcpy(part, text, i);
        part[i] = 0;
        if (view_width(part) > columns) break;
        best = i;
    }
    if (best) return best;
    while (length > 1 && (length > columns || ((unsigned char)text[length] & 0xC0) == 0x80))
        length--; /* a single long word */
    return length;
}

void view_say_text(view_page *page, view_style style, const char *text, unsigned columns)
{
    char clean[VIEW_ROOM * 8], line[VIEW_ROOM];
    view_clean(clean, sizeof clean, text, true);
    for (const char *at = clean; *at;) {
        size_t length = first_line(at, columns < 20 ? 20 : columns);
        snprintf(line, sizeof line, "%.*s", (int)length, at);
        add_line(page, style, line);
        at += length;
        if (*at == '\n' || *at == ' ') at++;
    }
}

/* ---- JSON as lines ------------------------------------------------------------------------------ */

enum { INDENT = 2, DEEPEST = 8 };

static bool ends_in_ns(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && strcmp(&name[length - 3], "_ns") == 0;
}

static void say_value(view_page *page, const char *name, json_t *value, unsigned depth, unsigned columns)
{
    int indent = (int)(depth * INDENT);
    char text[WORDS_ROOM];
    if (json_is_integer(value) && ends_in_ns(name))
        view_say(page, STYLE_PLAIN, "%*s%.*s: %s", indent, "", (int)strlen(name) - 3, name,
                 words_duration(text, json_integer_value(value)));
    else if (json_is_integer(value))
        view_say(page, STYLE_PLAIN, "%*s%s: %lld", indent, "", name, (long long)json_integer_value(value));
    else if (json_is_real(value)) view_say(page, STYLE_PLAIN, "%*s%s: %g", indent, "", name, json_real_value(value));
    else if (json_is_boolean(value))
        view_say(page, STYLE_PLAIN, "%*s%s: %s", indent, "", name, json_is_true(value) ? "yes" : "no");
    else if (json_is_string(value) && strlen(json_string_value(value)) + strlen(name) + (size_t)indent + 2 > columns) {
        view_say(page, STYLE_DIM, "%*s%s:", indent, "", name);
        view_say_text(page, STYLE_PLAIN, json_string_value(value), columns);
    } else if (json_is_string(value)) {
        view_say(page, STYLE_PLAIN, "%*s%s: %s", indent, "", name, json_string_value(value));
    }
}

static void say_object(view_page *page, json_t *object, unsigned depth, unsigned columns)
{
    const char *name;
    json_t *value, *item;
    size_t i;
    if (depth > DEEPEST) return;
    json_object_foreach(object, name, value)
    {
        if (!json_is_array(value)) {
            say_value(page, name, value, depth, columns);
            continue;
        }
        if (json_array_size(value) == 0) continue;
        view_say(page, STYLE_DIM, "%*s%s:", (int)(depth * INDENT), "", name);
        json_array_foreach(value, i, item)
        {
            if (json_is_object(item)) say_object(page, item, depth + 1, columns);
            else say_value(page, "-", item, depth + 1, columns);
            if (json_is_object(item) && json_object_size(item) > 1 && i + 1 < json_array_size(value))
                view_say(page, STYLE_PLAIN, "%s", "");
        }
    }
}

/* ---- One of each --------------------------------------------------------------------------------- */

static void say_spread(view_page *page, const char *what, const model_spread *s)
{
    char p50[WORDS_ROOM], p99[WORDS_ROOM], largest[WORDS_ROOM], count[16];
    if (!s->known) return;
    view_say(page, STYLE_PLAIN, "%-8s p50 %s, p99 %s, largest %s, of %s", what, words_duration(p50, s->p50_ns),
             words_duration(p99, s->p99_ns), words_duration(largest, s->largest_ns), view_count(count, s->count));
}

static void say_settings(view_page *page, json_t *description, unsigned columns)
{
    const char *name;
    json_t *value;
    view_say(page, STYLE_DIM, "%s", "");
    view_say(page, STYLE_DIM, "Settings");
    json_object_foreach(description, name, value) if (!json_is_array(value) && strcmp(name, "explanation") != 0 &&
                                                      strcmp(name, "cause") != 0 &&
                                                      strncmp(name, "last_error", 10) != 0)
        say_value(page, name, value, 1, columns);
}

static void say_pool(view_page *page, const model_pool *p, unsigned columns)
{
    char text[WORDS_ROOM];
    snprintf(page->title, sizeof page->title, "pool %.100s", p->name);
    view_say_text(page, STYLE_PLAIN, p->explanation, columns);
    if (*p->last_error) {
        view_say(page, STYLE_BAD,
                 "Last error, %s ago:", words_duration(text, model_number(p->description, "last_error_ago_ns")));
        view_say_text(page, STYLE_BAD, p->last_error, columns);
    }
    view_say(page, STYLE_DIM, "%s", "");
    say_spread(page, "wait", &p->wait);
    say_spread(page, "use", &p->use);
    say_spread(page, "create", &p->create);
    view_say_history(page, p->history, p->now_ns);
    say_settings(page, p->description, columns);
}

static void say_holder(view_page *page, const model_holder *h)
{
    char text[WORDS_ROOM];
    size_t i;
    json_t *frame, *trace = json_object_get(h->item, "backtrace");
    snprintf(page->title, sizeof page->title, "object %lld of pool %.100s", (long long)h->index, h->pool->name);
    view_say(page, STYLE_BOLD, "held by %s%s", model_holder_words(h, "an unknown holder", text, sizeof text),
             h->detached ? ", detached" : "");
    view_say(page, STYLE_PLAIN, "for %s%s", h->exact ? "" : "at least ", words_duration(text, h->held_ns));
    view_say(page, STYLE_ACCENT, "taken at %s", *h->where ? h->where : "an unknown place");
    const char *identity = model_text(h->item, "identity");
    view_say(page, STYLE_PLAIN, "object %s", *identity ? identity : model_text(h->item, "object"));
    if (h->revoked) view_say(page, STYLE_BAD, "Revoked, and not given back yet.");
    view_say(page, STYLE_DIM, "%s", "");
    if (json_array_size(trace) == 0)
        view_say(page, STYLE_DIM,
                 "No backtrace: the pool's option `backtraces` is off, or none was recorded for this lease.");
    else view_say(page, STYLE_DIM, "Backtrace");
    json_array_foreach(trace, i, frame)
    {
        view_say(page, STYLE_PLAIN, "  %s", model_text(frame, "at"));
    }
}

static void say_events(view_page *page, json_t *events, unsigned columns)
{
    snprintf(page->title, sizeof page->title, "event %lld", (long long)model_number(events, "number"));
    view_say_text(page, STYLE_BOLD, model_text(events, "text"), columns);
    view_say(page, STYLE_DIM, "%s", "");
    say_object(page, events, 0, columns);
}

view_page view_detail(view_pane pane, const view_row *row, unsigned columns)
{
    view_page page = {.count = 0};
    const model_waiter *waiter = row->about;
    const model_node *node = row->about;
    switch (pane) {
    case PANE_POOLS: say_pool(&page, row->about, columns); break;
    case PANE_HOLDERS: say_holder(&page, row->about); break;
    case PANE_WAITERS:
        snprintf(page.title, sizeof page.title, "position %lld in the wait queue of pool %.100s",
                 (long long)waiter->place, waiter->pool->name);
        say_object(&page, waiter->item, 0, columns);
        break;
    case PANE_WORKERS:
    case PANE_TREE:
        snprintf(page.title, sizeof page.title, "%.150s", node->title);
        say_object(&page, node->is_component ? json_object_get(node->item, "metrics") : node->item, 0, columns);
        if (node->is_component) say_object(&page, json_object_get(node->item, "description"), 0, columns);
        break;
    case PANE_EVENTS: say_events(&page, (json_t *)(uintptr_t)row->about, columns); break;
    case PANES: break;
    }
    char title[sizeof page.title];
    snprintf(title, sizeof title, "%s", page.title);
    view_clean(page.title, sizeof page.title, title, false);
    return page;
}
