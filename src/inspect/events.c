/* SPDX-License-Identifier: MIT */
/* Events as JSON. A reader continues with the "next" of its last response. If it has fallen behind, the response has
 * the number of missed events. */
#include <cenote/events.h>

#include "inspect/internal.h"

enum { READ_MOST = 100000 };

static void show(ceni_json *json, const cen_event *event)
{
    ceni_json_open(json, NULL, '{');
    ceni_json_count(json, "number", event->number);
    ceni_json_number(json, "time_ns", event->time_ns);
    ceni_json_words(json, "level", cen_event_level_name(event->level));
    ceni_json_words(json, "kind", cen_event_kind_name(event->kind));
    ceni_json_words(json, "what", event->what);
    ceni_json_count(json, "component", event->component);
    ceni_json_words(json, "component_kind", event->component_kind);
    ceni_json_words(json, "component_name", event->component_name);
    ceni_json_words(json, "part", event->part);
    ceni_json_count(json, "holder", event->holder);
    ceni_json_words(json, "where", event->where);
    ceni_json_words(json, "given_where", event->given_where);
    ceni_json_number(json, "held_ns", event->held_ns);
    ceni_json_number(json, "value", event->value);
    ceni_json_words(json, "status", cen_status_name(event->status));
    ceni_json_number(json, "code", event->code);
    ceni_json_words(json, "cause", cen_cause_name(event->cause));
    ceni_json_words(json, "text", event->text);
    ceni_json_close(json, '}');
}

void ceni_answer_events(const ceni_query *query, ceni_answer *answer)
{
    ceni_json *json = &answer->json;
    bool traces = query->level == CEN_LEVEL_TRACE;
    cen_event_cursor at = {.next = query->after, .next_trace = query->after_trace};
    cen_event event;
    uint64_t shown = 0, read = 0;
    ceni_json_open(json, NULL, '{');
    ceni_json_open(json, "events", '[');
    /* Writers may be faster than this loop, so the number of reads is limited. */
    while (shown < query->limit && read++ < READ_MOST && cen_events_read(&at, &event) == CEN_OK) {
        if ((int)event.level < query->level) continue;
        show(json, &event);
        shown++;
    }
    ceni_json_close(json, ']');
    ceni_json_count(json, "next", at.next);
    ceni_json_count(json, "missed", at.missed);
    if (traces) {
        ceni_json_count(json, "next_trace", at.next_trace);
        ceni_json_count(json, "missed_trace", at.missed_trace);
    }
    ceni_json_close(json, '}');
}
