/* SPDX-License-Identifier: MIT */
/*
 * `cenote top` on a terminal: what is shown, and how keys change it. The screen (screen.h) draws a live and knows
 * nothing else of it; the feed (top_feed.h) brings what there is to show.
 *
 * Threads: all of this is the main thread's.
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
    MODE_VALUE,   /* a value for a action is being typed */
    MODE_CONFIRM, /* y or n */
} live_mode;

typedef enum live_tone { TONE_QUIET = 0, TONE_GOOD, TONE_BAD } live_tone;

enum { LIVE_INPUT = 64, LIVE_EVENTS = 5000 };

typedef struct live {
    feed *feed;
    const char *shown; /* the address */
    int64_t interval_ns;
    bool quits, frozen;
    /* what was found */
    json_t *process, *before, *after, *events, *history;
    uint64_t missed; /* events */
    double cpu;
    model *model; /* of before and after; NULL: nothing yet */
    bool gone;
    char gone_text[CEN_ERROR_TEXT_SIZE];
    /* what is shown of it */
    view_pane pane;
    view_table table;
    int sort[PANES]; /* below 0: as it comes */
    bool reverse[PANES];
    char key[PANES][80]; /* of the row that is selected */
    size_t selected, first;
    char filter[LIVE_INPUT];
    int level; /* events below it are not shown */
    live_mode mode;
    view_page page;
    size_t page_first;
    unsigned rows, columns; /* of the table or page, as the screen last said */
    /* what is typed, and what is to be told */
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

/* Takes a look from the feed; its parts are the live's from now on. */
void live_receive(live *self, feed_look *look);
/* Makes the table anew, of what is there now. */
void live_refresh(live *self);
/* Moves the selection to where it can be, and what is seen to where the selection is. */
void live_settle(live *self);
const view_row *live_row(const live *self); /* that is selected, or NULL */

__attribute__((format(printf, 3, 4))) void live_message(live *self, live_tone tone, const char *format, ...);

/* Names for keys that are no letters. */
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

/* Does what the key says (top_keys.c). */
void live_press(live *self, int key);
/* A key that tells the selected component to do something (top_control.c); false: it is none. */
bool live_command(live *self, int key);
void live_typed_value(live *self);
void live_confirmed(live *self, bool yes);

#endif
