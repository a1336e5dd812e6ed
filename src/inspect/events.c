/* SPDX-License-Identifier: MIT */
/* Events as JSON. A reader goes on with the "next" that he was told: whoever falls behind learns how many he missed. */
#include <cenote/events.h>

#include "inspect/internal.h"

enum { READ_MOST = 100000 };

static void show(ceni_json *json, const cen_event *events)
{
    ceni_json_open(json, NULL, '{');
    ceni_json_count(json, "number", events->number);
    ceni_json_number(json, "time_ns", events->time_ns);
    ceni_json_words(json, "level", cen_event_level_name(events->level));
    ceni_json_count(json, "component", events->component);
    ceni_json_words(json, "kind", events->kind);
    ceni_json_words(json, "name", events->name);
    ceni_json_words(json, "what", events->what);
    ceni_json_number(json, "value", events->value);
    ceni_json_words(json, "text", events->text);
    ceni_json_close(json, '}');
}

void ceni_answer_events(const ceni_query *query, ceni_answer *answer)
{
    ceni_json *json = &answer->json;
    bool traces = query->level == CEN_LEVEL_TRACE;
    cen_event_cursor at = {.next = query->after, .next_trace = query->after_trace};
    cen_event events;
    uint64_t shown = 0, read = 0;
    ceni_json_open(json, NULL, '{');
    ceni_json_open(json, "events", '[');
    /* Those who write may be faster than this reads: it does not follow them for ever. */
    while (shown < query->limit && read++ < READ_MOST && cen_events_read(&at, &events) == CEN_OK) {
        if ((int)events.level < query->level) continue;
        show(json, &events);
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
