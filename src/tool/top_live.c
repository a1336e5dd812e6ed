/* SPDX-License-Identifier: MIT */
#include "tool/top_live.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void live_begin(live *self, feed *source, const char *shown, int64_t interval_ns)
{
    memset(self, 0, sizeof *self);
    self->feed = source;
    self->shown = shown;
    self->interval_ns = interval_ns;
    self->cpu = -1;
    self->events = json_array();
    self->level = VIEW_NOTICE; /* at lower levels a busy pool reports every wait, which would hide everything else */
    for (int i = 0; i < PANES; i++) self->sort[i] = -1;
}

void live_end(live *self)
{
    view_page_free(&self->page);
    view_table_free(&self->table);
    model_free(self->model);
    json_decref(self->process);
    json_decref(self->before);
    json_decref(self->after);
    json_decref(self->events);
    json_decref(self->history);
}

void live_message(live *self, live_tone tone, const char *format, ...)
{
    char text[sizeof self->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    view_clean(self->message, sizeof self->message, text, false);
    self->tone = tone;
}

/* ---- Data ----------------------------------------------------------------------------------- */

/* Forget the old numbers: those of different processes must not be compared. */
static void forget(live *self)
{
    json_decref(self->after);
    json_decref(self->history);
    self->after = self->history = NULL;
    json_array_clear(self->events);
    live_message(self, TONE_BAD, "Another process has taken its place.");
}

/* When there is no room for all events, single waits are dropped first. */
static void keep_events(live *self, feed_look *look)
{
    json_array_extend(self->events, look->events);
    size_t count = json_array_size(self->events);
    for (size_t at = 0; count > LIVE_EVENTS && at < count;) {
        if (strcmp(model_text(json_array_get(self->events, at), "level"), view_level_names[VIEW_DETAIL]) != 0) at++;
        else json_array_remove(self->events, at), count--;
    }
    for (; count > LIVE_EVENTS; count--) json_array_remove(self->events, 0);
    self->missed += look->missed;
}

static void keep_look(live *self, feed_look *look)
{
    if (self->process && !feed_is_same(self->process, look->process)) forget(self);
    keep_events(self, look);
    json_decref(self->process);
    self->process = json_incref(look->process);
    self->cpu = look->cpu;
    if (look->history) {
        json_decref(self->history);
        self->history = json_incref(look->history);
    }
    if (self->frozen) return; /* the screen stays; the events are kept for later */
    json_decref(self->before);
    self->before = self->after;
    self->after = json_incref(look->components);
    view_table_free(&self->table); /* it refers to rows of the model */
    model_free(self->model);
    self->model = model_new(self->before, self->after);
    model_set_history(self->model, self->history);
}

static void tell_answer(live *self, const feed_look *look)
{
    if (look->answer.status == CEN_OK) live_message(self, TONE_GOOD, "%s: done.", self->whom);
    else live_message(self, TONE_BAD, "%s: %s", self->whom, look->answer.text);
}

void live_receive(live *self, feed_look *look)
{
    bool was_gone = self->gone;
    self->gone = look->components == NULL;
    if (self->gone) snprintf(self->gone_text, sizeof self->gone_text, "%s", look->error.text);
    else keep_look(self, look);
    if (was_gone && !self->gone) live_message(self, TONE_GOOD, "The process is back.");
    if (look->told) tell_answer(self, look);
    feed_look_free(look);
    if (!self->frozen) live_refresh(self);
}

/* ---- Display ------------------------------------------------------------------------------------ */

const view_row *live_row(const live *self)
{
    return self->selected < self->table.count ? &self->table.rows[self->selected] : NULL;
}

/* Find the selected row again, wherever it is now. */
static void find_selected(live *self)
{
    for (size_t i = 0; i < self->table.count; i++)
        if (strcmp(self->table.rows[i].key, self->key[self->pane]) == 0) {
            self->selected = i;
            return;
        }
}

void live_refresh(live *self)
{
    view_table_free(&self->table);
    if (!self->model) return;
    self->table = view_of(self->pane, self->model, self->events);
    if (self->pane == PANE_EVENTS) view_keep_from(&self->table, VIEW_LEVEL_COLUMN, self->level);
    view_filter(&self->table, self->filter);
    view_sort(&self->table, self->sort[self->pane], self->reverse[self->pane]);
    find_selected(self);
    live_settle(self);
}

void live_settle(live *self)
{
    size_t rows = self->rows ? self->rows : 1;
    if (self->selected >= self->table.count) self->selected = self->table.count ? self->table.count - 1 : 0;
    if (self->first > self->selected) self->first = self->selected;
    if (self->selected >= self->first + rows) self->first = self->selected - rows + 1;
    if (self->first + rows > self->table.count) self->first = self->table.count > rows ? self->table.count - rows : 0;
    const view_row *row = live_row(self);
    /* If the first row is selected, the selection stays on the first row, where the newest event or the oldest holder
     * is. */
    snprintf(self->key[self->pane], sizeof self->key[self->pane], "%s", row && self->selected > 0 ? row->key : "");
    if (self->page_first + rows > self->page.count)
        self->page_first = self->page.count > rows ? self->page.count - rows : 0;
}
