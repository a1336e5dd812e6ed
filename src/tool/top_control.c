/* SPDX-License-Identifier: MIT */
/* Actions on the selected component: ask for a value, then for confirmation, invoke, and show the result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/command.h"
#include "tool/top_live.h"
#include "tool/words.h"

static const struct control {
    char key;
    const char *action, *words; /* "Pause pool orders?" */
    const char *asks;           /* the prompt for a value; NULL: none */
} controls[] = {
    {'p', "pause", "Pause", NULL},
    {'u', "resume", "Resume", NULL},
    {'z', "resize", "Resize", "New size"},
    {'l', "reload", "Reload", "Over how long (0 = at once, 30s, 5m)"},
    {'e', "evict", "Close the idle objects of", NULL},
};

static const struct control *control_of(const char *action, int key)
{
    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
        if (action ? strcmp(controls[i].action, action) == 0 : controls[i].key == key) return &controls[i];
    return NULL;
}

static bool obeys(json_t *component, const char *action)
{
    size_t i;
    json_t *own;
    json_array_foreach(json_object_get(component, "actions"), i,
                       own) if (json_is_string(own) && strcmp(json_string_value(own), action) == 0) return true;
    return false;
}

static void ask_for_yes(live *self)
{
    const struct control *c = control_of(self->action, 0);
    char value[64] = "", text[WORDS_ROOM];
    if (strcmp(self->action, "resize") == 0) snprintf(value, sizeof value, " to %lld", (long long)self->value);
    if (strcmp(self->action, "reload") == 0 && self->value > 0)
        snprintf(value, sizeof value, " over %s", words_duration(text, self->value));
    snprintf(self->question, sizeof self->question, "%s %s%s? (y/n)", c->words, self->whom, value);
    self->mode = MODE_CONFIRM;
}

static void ask_for_value(live *self, const struct control *c, json_t *component)
{
    self->input[0] = 0;
    snprintf(self->question, sizeof self->question, "%s", c->asks);
    if (strcmp(c->action, "resize") == 0)
        snprintf(self->question, sizeof self->question, "%s of %s, now %lld", c->asks, self->whom,
                 (long long)model_number(json_object_get(component, "metrics"), "max"));
    self->mode = MODE_VALUE;
}

/* Return the component of the row; NULL with a message if it cannot be controlled. */
static json_t *component_to_tell(live *self, const struct control *c)
{
    const view_row *row = live_row(self);
    json_t *component = row && row->number ? model_component(self->after, row->number) : NULL;
    if (self->gone) live_message(self, TONE_BAD, "The process is gone.");
    else if (!model_truth(self->process, "control"))
        live_message(self, TONE_BAD, "This process is read-only: it started inspection without control.");
    else if (!component) live_message(self, TONE_BAD, "The selected row accepts no commands.");
    else if (!obeys(component, c->action))
        live_message(self, TONE_BAD, "%s %s does not support %s.", model_text(component, "kind"),
                     model_text(component, "name"), c->action);
    else return component;
    return NULL;
}

bool live_command(live *self, int key)
{
    char whom[sizeof self->whom];
    const struct control *c = control_of(NULL, key);
    if (!c) return false;
    json_t *component = component_to_tell(self, c);
    if (!component) return true;
    self->action = c->action;
    self->number = (uint64_t)model_number(component, "number");
    self->value = 0;
    snprintf(whom, sizeof whom, "%.20s %.50s", model_text(component, "kind"), model_text(component, "name"));
    view_clean(self->whom, sizeof self->whom, whom, false);
    if (c->asks) ask_for_value(self, c, component);
    else ask_for_yes(self);
    return true;
}

void live_typed_value(live *self)
{
    bool is_time = strcmp(self->action, "reload") == 0, good;
    double number;
    if (is_time) good = options_duration(self->input, &self->value);
    else good = options_number(self->input, &number) && number >= 1 && number <= 1e9;
    if (!good) {
        live_message(self, TONE_BAD, "\"%s\" is not a %s; nothing was changed.", self->input,
                     is_time ? "time" : "positive whole number");
        return;
    }
    if (!is_time) self->value = (int64_t)number;
    ask_for_yes(self);
}

void live_confirmed(live *self, bool yes)
{
    self->mode = MODE_TABLE;
    if (!yes) live_message(self, TONE_QUIET, "Nothing was changed.");
    else if (!feed_tell(self->feed, self->number, self->action, self->value))
        live_message(self, TONE_BAD, "The last command is still pending.");
    else live_message(self, TONE_QUIET, "%s: %s requested ...", self->whom, self->action);
}
