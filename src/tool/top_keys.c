/* SPDX-License-Identifier: MIT */
/* The effect of each key. */
#include <stdio.h>
#include <string.h>

#include "tool/command.h"
#include "tool/top_live.h"
#include "tool/words.h"

#define LEAST_NS (SECOND_NS / 20)
#define MOST_NS (60 * SECOND_NS)

static const char *const help[] = {
    "1 to 6, Tab, Left, Right   select a pane: pools, holders, waiters, ...",
    "Up, Down, k, j             select a row; also Page Up, Page Down, Home, End, g, G",
    "Enter                      details of the row: why takes wait, a backtrace",
    "s                          sort by the next column;  r  reverse the order",
    "/                          show only rows that contain a text; Escape shows all",
    "v                          change the lowest level of events shown",
    "Space                      freeze or unfreeze the screen",
    "+ -                        refresh less often, more often",
    "q                          quit",
    "",
    "If the process allows control, for the selected pool, after a question:",
    "p pause   u resume   z resize   l reload   e evict idle objects",
    "",
    "BUSY: held, opening and idle objects as shares of MAX. WAIT50, WAIT99:",
    "median and 99th percentile of the wait in the last interval. USE50,",
    "USE99: the same of the hold time. Dim: since the start of the pool,",
    "because the interval has no samples. HELD with a mark: at least this long.",
    NULL,
};

/* ---- Pages ----------------------------------------------------------------------------------- */

static void open_page(live *self, view_page page)
{
    view_page_free(&self->page);
    self->page = page;
    self->page_first = 0;
    self->mode = MODE_PAGE;
}

static void open_help(live *self)
{
    view_page page = {.title = "keys"};
    for (const char *const *line = help; *line; line++) {
        if (**line) view_say_text(&page, STYLE_PLAIN, *line, self->columns);
        else view_say(&page, STYLE_PLAIN, "%s", "");
    }
    open_page(self, page);
}

static void open_row(live *self)
{
    const view_row *row = live_row(self);
    if (row) open_page(self, view_detail(self->pane, row, self->columns));
}

static void press_in_page(live *self, int key)
{
    size_t rows = self->rows ? self->rows : 1;
    switch (key) {
    case KEY_OF_UP:
    case 'k': self->page_first -= self->page_first > 0; break;
    case KEY_OF_DOWN:
    case 'j': self->page_first++; break;
    case KEY_OF_PAGE_UP: self->page_first -= self->page_first < rows ? self->page_first : rows; break;
    case KEY_OF_PAGE_DOWN:
    case ' ': self->page_first += rows; break;
    case KEY_OF_HOME:
    case 'g': self->page_first = 0; break;
    case KEY_OF_END:
    case 'G': self->page_first = self->page.count; break;
    case KEY_OF_ESCAPE:
    case KEY_OF_ENTER:
    case 'q':
    case 'h':
    case '?':
    case KEY_OF_LEFT:
        self->mode = MODE_TABLE;
        view_page_free(&self->page);
        break;
    default: break;
    }
    live_settle(self);
}

/* ---- The table --------------------------------------------------------------------------------- */

static void choose_pane(live *self, int pane)
{
    self->pane = (view_pane)((pane + PANES) % PANES);
    self->selected = self->first = 0;
    live_refresh(self);
}

/* Sort in the natural order, then by each column in turn. */
static void sort_next(live *self)
{
    int *sort = &self->sort[self->pane];
    if (self->table.is_tree) {
        live_message(self, TONE_QUIET, "A tree cannot be sorted.");
        return;
    }
    if (++*sort >= (int)self->table.column_count) *sort = -1;
    live_refresh(self);
    live_message(self, TONE_QUIET, "Sorted %s%s.", *sort < 0 ? "in the original order" : "by ",
                 *sort < 0 ? "" : self->table.columns[*sort].title);
}

static void raise_level(live *self)
{
    self->level = self->level == VIEW_ERROR ? VIEW_TRACE : self->level < VIEW_NOTICE ? VIEW_NOTICE : self->level + 1;
    if (self->pane != PANE_EVENTS) choose_pane(self, PANE_EVENTS);
    else live_refresh(self);
    live_message(self, TONE_QUIET, "Events of level %s and above.", view_level_names[self->level]);
}

static void change_interval(live *self, bool longer)
{
    char text[WORDS_ROOM];
    self->interval_ns = longer ? self->interval_ns * 2 : self->interval_ns / 2;
    if (self->interval_ns < LEAST_NS) self->interval_ns = LEAST_NS;
    if (self->interval_ns > MOST_NS) self->interval_ns = MOST_NS;
    feed_set_interval(self->feed, self->interval_ns);
    live_message(self, TONE_QUIET, "Refreshing every %s.", words_duration(text, self->interval_ns));
}

static void move(live *self, long by)
{
    long last = (long)self->table.count - 1, at = (long)self->selected + by;
    self->selected = (size_t)(at > last ? last < 0 ? 0 : last : at < 0 ? 0 : at);
    live_settle(self);
}

static bool press_to_move(live *self, int key)
{
    long rows = self->rows ? (long)self->rows : 1, all = (long)self->table.count;
    switch (key) {
    case KEY_OF_UP:
    case 'k': move(self, -1); return true;
    case KEY_OF_DOWN:
    case 'j': move(self, 1); return true;
    case KEY_OF_PAGE_UP: move(self, -rows); return true;
    case KEY_OF_PAGE_DOWN: move(self, rows); return true;
    case KEY_OF_HOME:
    case 'g': move(self, -all); return true;
    case KEY_OF_END:
    case 'G': move(self, all); return true;
    case KEY_OF_TAB:
    case KEY_OF_RIGHT: choose_pane(self, (int)self->pane + 1); return true;
    case KEY_OF_BACK_TAB:
    case KEY_OF_LEFT: choose_pane(self, (int)self->pane - 1); return true;
    default: break;
    }
    if (key < '1' || key >= '1' + PANES) return false;
    choose_pane(self, key - '1');
    return true;
}

static void press_in_table(live *self, int key)
{
    if (press_to_move(self, key) || live_command(self, key)) return;
    switch (key) {
    case 's': sort_next(self); break;
    case 'r':
        self->reverse[self->pane] = !self->reverse[self->pane];
        live_refresh(self);
        break;
    case '/':
        self->mode = MODE_FILTER;
        snprintf(self->input, sizeof self->input, "%s", self->filter);
        break;
    case ' ':
        self->frozen = !self->frozen;
        if (!self->frozen) feed_set_interval(self->feed, self->interval_ns);
        break;
    case 'v': raise_level(self); break;
    case '+':
    case '=': change_interval(self, true); break;
    case '-': change_interval(self, false); break;
    case 'h':
    case '?': open_help(self); break;
    case 'q': self->quits = true; break;
    case KEY_OF_ENTER: open_row(self); break;
    case KEY_OF_ESCAPE:
        self->filter[0] = 0;
        live_refresh(self);
        break;
    default: break;
    }
}

/* ---- Text input ---------------------------------------------------------------------------------- */

/* Add a byte of a character, or remove the last character. */
static void edit(char *input, int key)
{
    size_t length = strlen(input);
    if (key == KEY_OF_RUBOUT) {
        while (length > 0 && ((unsigned char)input[length - 1] & 0xC0) == 0x80) length--;
        input[length ? length - 1 : 0] = 0;
    } else if (key >= ' ' && key < 256 && key != 127 && length + 1 < LIVE_INPUT) {
        input[length] = (char)key;
        input[length + 1] = 0;
    }
}

static void press_in_input(live *self, int key)
{
    bool filters = self->mode == MODE_FILTER;
    if (key == KEY_OF_ESCAPE) {
        self->mode = MODE_TABLE;
        if (filters) self->filter[0] = 0;
    } else if (key == KEY_OF_ENTER) {
        self->mode = MODE_TABLE;
        if (!filters) live_typed_value(self);
    } else {
        edit(self->input, key);
    }
    if (filters && key != KEY_OF_ESCAPE) snprintf(self->filter, sizeof self->filter, "%s", self->input);
    if (filters) live_refresh(self);
}

void live_press(live *self, int key)
{
    if (key == KEY_OF_RESIZE) {
        live_settle(self);
        return;
    }
    if (self->mode == MODE_TABLE) self->message[0] = 0;
    switch (self->mode) {
    case MODE_TABLE: press_in_table(self, key); break;
    case MODE_PAGE: press_in_page(self, key); break;
    case MODE_FILTER:
    case MODE_VALUE: press_in_input(self, key); break;
    case MODE_CONFIRM: live_confirmed(self, key == 'y' || key == 'Y'); break;
    }
}
