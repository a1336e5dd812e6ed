/* SPDX-License-Identifier: MIT */
/* The arguments of a request. Unknown ones are refused, so that a typing error is noticed. */
#include <string.h>

#include <cenote/events.h>

#include "inspect/internal.h"

bool ceni_query_number(const char *text, uint64_t most, uint64_t *out)
{
    uint64_t value = 0;
    if (!*text) return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return false;
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (UINT64_MAX - digit) / 10) return false;
        value = value * 10 + digit;
    }
    if (value > most) return false;
    *out = value;
    return true;
}

static bool take_number(const char *name, const char *value, uint64_t most, uint64_t *out, cen_error *error)
{
    if (ceni_query_number(value, most, out)) return true;
    ceni_inspect_error(error, CEN_INVALID, 0, "%s must be a number up to %llu (got \"%.40s\")", name,
                       (unsigned long long)most, value);
    return false;
}

static bool take_level(ceni_query *query, const char *value, cen_error *error)
{
    for (int level = CEN_LEVEL_TRACE; level <= CEN_LEVEL_ERROR; level++)
        if (strcmp(cen_event_level_name((cen_event_level)level), value) == 0) {
            query->level = level;
            return true;
        }
    ceni_inspect_error(error, CEN_INVALID, 0, "level must be trace, detail, notice, warning or error (got \"%.40s\")",
                       value);
    return false;
}

bool ceni_query_take(ceni_query *query, const char *name, const char *value, cen_error *error)
{
    static const struct {
        const char *name;
        unsigned asks;
    } known[] = {{"parts", CENI_QUERY_PARTS}, {"most", CENI_QUERY_MOST},   {"after", CENI_QUERY_AFTER},
                 {"limit", CENI_QUERY_LIMIT}, {"level", CENI_QUERY_LEVEL}, {"after_trace", CENI_QUERY_AFTER_TRACE}};
    uint64_t number = 0;
    unsigned asks = 0;
    if (strcmp(name, "token") == 0) return true; /* checked by door.c */
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, name) == 0) asks = known[i].asks & query->allowed;
    if (!asks || (query->given & asks)) {
        ceni_inspect_error(error, CEN_INVALID, 0, asks ? "argument %.40s given twice" : "unknown argument %.40s", name);
        return false;
    }
    query->given |= asks;
    if (!value) value = "";
    switch (asks) {
    case CENI_QUERY_PARTS:
        if (!take_number(name, value, 1, &number, error)) return false;
        query->parts = number == 1;
        return true;
    case CENI_QUERY_MOST: return take_number(name, value, 1000000, &query->most, error);
    case CENI_QUERY_AFTER: return take_number(name, value, UINT64_MAX, &query->after, error);
    case CENI_QUERY_AFTER_TRACE: return take_number(name, value, UINT64_MAX, &query->after_trace, error);
    case CENI_QUERY_LIMIT: return take_number(name, value, 10000, &query->limit, error);
    default: return take_level(query, value, error);
    }
}
