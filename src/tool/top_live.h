/* SPDX-License-Identifier: MIT */
/*
 * `cenote top` on a terminal: what is shown, and how keys change it. The screen (screen.h) only draws a live. The feed
 * (top_feed.h) provides the data.
 *
 * Threads: the main thread only.
 */
#ifndef CENOTE_TOOL_TOP_LIVE_H
#define CENOTE_TOOL_TOP_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/top_feed.h"
#include "tool/view.h"

typedef enum live_mode {
    MODE_TABLE = 0,
    MODE_PAGE,    /* lines about a row, or help */
    MODE_FILTER,  /* a filter is being typed */
    MODE_VALUE,   /* a value for an action is being typed */
    MODE_CONFIRM, /* y or n */
} live_mode;

typedef enum live_tone { TONE_QUIET = 0, TONE_GOOD, TONE_BAD } live_tone;

enum { LIVE_INPUT = 64, LIVE_EVENTS = 5000 };

typedef struct live {
    feed *feed;
    const char *shown; /* the address */
    int64_t interval_ns;
    bool quits, frozen;
    /* data */
    json_t *process, *before, *after, *events, *history;
    uint64_t missed; /* number of events */
    double cpu;
    model *model; /* of before and after; NULL: no data yet */
    bool gone;
    char gone_text[CEN_ERROR_TEXT_SIZE];
    /* display */
    view_pane pane;
    view_table table;
    int sort[PANES]; /* column; below 0: natural order */
    bool reverse[PANES];
    char key[PANES][80]; /* of the selected row */
    size_t selected, first;
    char filter[LIVE_INPUT];
    int level; /* events below this level are hidden */
    live_mode mode;
    view_page page;
    size_t page_first;
    unsigned rows, columns; /* of the table or page, as last drawn */
    /* input, and the action to invoke */
    char input[LIVE_INPUT];
    const char *action;
    uint64_t number;
    int64_t value;
    char whom[80], question[160];
    char message[CEN_ERROR_TEXT_SIZE];
    live_tone tone;
} live;

void live_begin(live *self, feed *source, const char *shown, int64_t interval_ns);
void live_end(live *self);

/* Take over a look from the feed. */
void live_receive(live *self, feed_look *look);
/* Build the table again from the current data. */
void live_refresh(live *self);
/* Move the selection to an existing row, and scroll to it. */
void live_settle(live *self);
const view_row *live_row(const live *self); /* the selected one, or NULL */

__attribute__((format(printf, 3, 4))) void live_message(live *self, live_tone tone, const char *format, ...);

/* Codes of keys that are not characters. */
enum {
    KEY_OF_UP = 1000,
    KEY_OF_DOWN,
    KEY_OF_LEFT,
    KEY_OF_RIGHT,
    KEY_OF_PAGE_UP,
    KEY_OF_PAGE_DOWN,
    KEY_OF_HOME,
    KEY_OF_END,
    KEY_OF_TAB,
    KEY_OF_BACK_TAB,
    KEY_OF_ENTER,
    KEY_OF_ESCAPE,
    KEY_OF_RUBOUT,
    KEY_OF_RESIZE
};

/* Handle a key (top_keys.c). */
void live_press(live *self, int key);
/* Handle a key that controls the selected component (top_control.c). Returns false for other keys. */
bool live_command(live *self, int key);
void live_typed_value(live *self);
void live_confirmed(live *self, bool yes);

#endif
