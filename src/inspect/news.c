/* SPDX-License-Identifier: MIT */
/* News as JSON. A reader goes on with the "next" that he was told: whoever falls behind learns how many he missed. */
#include <cenote/news.h>

#include "inspect/inside.h"

enum { READ_MOST = 100000 };

static void show(ceni_json *json, const cen_news *news)
{
    ceni_json_open(json, NULL, '{');
    ceni_json_count(json, "number", news->number);
    ceni_json_number(json, "time_ns", news->time_ns);
    ceni_json_words(json, "level", cen_level_name(news->level));
    ceni_json_count(json, "component", news->component);
    ceni_json_words(json, "kind", news->kind);
    ceni_json_words(json, "name", news->name);
    ceni_json_words(json, "what", news->what);
    ceni_json_number(json, "value", news->value);
    ceni_json_words(json, "text", news->text);
    ceni_json_close(json, '}');
}

void ceni_answer_news(const ceni_query *query, ceni_answer *answer)
{
    ceni_json *json = &answer->json;
    bool traces = query->level == CEN_LEVEL_TRACE;
    cen_cursor at = {.next = query->after, .next_trace = query->after_trace};
    cen_news news;
    uint64_t shown = 0, read = 0;
    ceni_json_open(json, NULL, '{');
    ceni_json_open(json, "news", '[');
    /* Those who write may be faster than this reads: it does not follow them for ever. */
    while (shown < query->limit && read++ < READ_MOST && cen_news_read(&at, &news) == CEN_OK) {
        if ((int)news.level < query->level) continue;
        show(json, &news);
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
