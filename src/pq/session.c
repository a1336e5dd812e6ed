/* SPDX-License-Identifier: MIT */
/*
 * Detects changes that a holder made to its session, as far as they are visible: from the text of its statements, and
 * from settings that the server reports.
 *
 * A text is split into words. Comments and blanks are skipped. A string, a quoted identifier or a dollar quote counts
 * as one word that is no keyword. Each statement is judged by its first words. A doubtful one counts as a change: that
 * costs one DISCARD ALL, while a missed change would reach the next holder.
 *
 * Not detected: set_config, and what functions and DO blocks do inside the server.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "pq/internal.h"

enum { WORD_SIZE = 16, WORDS_MOST = 6 };

/* ---- Words ---------------------------------------------------------------------------------------- */

/* Skip a comment that starts with slash star. Such comments nest. */
static const char *skip_comment(const char *at)
{
    int depth = 0;
    do {
        if (at[0] == '/' && at[1] == '*') depth++, at += 2;
        else if (at[0] == '*' && at[1] == '/') depth--, at += 2;
        else at++;
    } while (depth > 0 && *at);
    return at;
}

static const char *skip_space(const char *at)
{
    for (;;) {
        if (isspace((unsigned char)*at)) at++;
        else if (at[0] == '-' && at[1] == '-') at += strcspn(at, "\n\r");
        else if (at[0] == '/' && at[1] == '*') at = skip_comment(at);
        else return at;
    }
}

/* Skip to behind the closing quote. A doubled quote is treated as two strings in a row, which makes no difference
 * here. */
static const char *skip_quoted(const char *at, bool has_escapes)
{
    char quote = *at++;
    while (*at && *at != quote) at += has_escapes && *at == '\\' && at[1] ? 2 : 1;
    return *at ? at + 1 : at;
}

/* Skip $tag$ ... $tag$, or only the dollar sign if it begins no such quote ($1). */
static const char *skip_dollar(const char *at)
{
    const char *end = at + 1;
    while (isalnum((unsigned char)*end) || *end == '_' || (unsigned char)*end >= 0x80) end++;
    if (*end != '$' || isdigit((unsigned char)at[1])) return at + 1;
    size_t length = (size_t)(end - at) + 1;
    for (const char *close = strchr(end + 1, '$'); close; close = strchr(close + 1, '$'))
        if (strncmp(close, at, length) == 0) return close + length;
    return end + strlen(end);
}

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Read the next word or sign and move *at behind it; "" for anything but a bare word. Returns false at the end. */
static bool next_word(const char **at, char word[WORD_SIZE], bool *ends_statement)
{
    const char *from = skip_space(*at), *to = from;
    word[0] = 0;
    *ends_statement = *from == ';';
    if (!*from) return false;
    if (isalpha((unsigned char)*from) || *from == '_') {
        while (is_letter(*to)) to++;
        bool has_escapes = to == from + 1 && (*from == 'E' || *from == 'e') && *to == '\'';
        if (has_escapes) to = skip_quoted(to, true);
        else if (to - from < WORD_SIZE) memcpy(word, from, (size_t)(to - from)), word[to - from] = 0;
    } else if (*from == '\'' || *from == '"') {
        to = skip_quoted(from, false);
    } else if (*from == '$') {
        to = skip_dollar(from);
    } else {
        to++;
    }
    *at = to;
    return true;
}

/* ---- Statements ------------------------------------------------------------------------------------- */

static bool is(const char *word, const char *keyword)
{
    return strcasecmp(word, keyword) == 0;
}

/* create [or replace] [global | local] temp | temporary ... */
static bool creates_temporary(char words[][WORD_SIZE], int count)
{
    int i = 1;
    while (i < count &&
           (is(words[i], "or") || is(words[i], "replace") || is(words[i], "global") || is(words[i], "local")))
        i++;
    return i < count && (is(words[i], "temp") || is(words[i], "temporary"));
}

/* Judge one statement by its first words, and by whether HOLD, or INTO TEMP, occurs anywhere in it. */
static bool changes(char words[][WORD_SIZE], int count, bool has_hold, bool has_temporary)
{
    const char *first = count > 0 ? words[0] : "", *second = count > 1 ? words[1] : "";
    if (is(first, "set")) /* these three end with the transaction */
        return !is(second, "local") && !is(second, "transaction") && !is(second, "constraints");
    if (is(first, "prepare")) return !is(second, "transaction");
    if (is(first, "declare")) return has_hold;
    if (is(first, "create")) return creates_temporary(words, count);
    if (is(first, "select") || is(first, "with")) return has_temporary; /* into temp */
    return is(first, "reset") || is(first, "discard") || is(first, "listen") || is(first, "load");
}

bool ceni_pq_changes_session(const char *sql)
{
    char words[WORDS_MOST][WORD_SIZE], word[WORD_SIZE];
    int count = 0;
    bool has_hold = false, has_temporary = false, was_into = false, ends_statement;
    while (next_word(&sql, word, &ends_statement)) {
        if (ends_statement) {
            if (changes(words, count, has_hold, has_temporary)) return true;
            count = 0;
            has_hold = has_temporary = false;
            continue;
        }
        has_hold |= is(word, "hold");
        has_temporary |=
            was_into && (is(word, "temp") || is(word, "temporary") || is(word, "local") || is(word, "global"));
        was_into = is(word, "into");
        if (count == 0 && !word[0]) continue; /* a parenthesis before a select */
        if (count < WORDS_MOST) memcpy(words[count++], word, WORD_SIZE);
    }
    return changes(words, count, has_hold, has_temporary);
}

/* ---- Reported settings ------------------------------------------------------------------------------- */

/* libpq looks a name up in a list, so each of them costs some tens of nanoseconds. libpq has client_encoding as a
 * number. */
static const char *const reported[] = {
    "session_authorization",       "TimeZone",   "DateStyle", "IntervalStyle", "application_name",
    "standard_conforming_strings", "search_path"}; /* reported since PostgreSQL 18 */

enum { REPORTED = sizeof reported / sizeof *reported };

static uint64_t sum_of(const PGconn *conn, unsigned names)
{
    uint64_t sum = UINT64_C(0xCBF29CE484222325) ^ (uint64_t)(unsigned)PQclientEncoding(conn);
    for (unsigned i = 0; i < REPORTED; i++) {
        const char *value = names >> i & 1 ? PQparameterStatus(conn, reported[i]) : NULL;
        for (; value && *value; value++) sum = (sum ^ (unsigned char)*value) * UINT64_C(0x100000001B3);
        sum = (sum ^ 0xFF) * UINT64_C(0x100000001B3);
    }
    return sum;
}

void ceni_pq_session_begins(ceni_pq_link *link)
{
    link->is_changed = false;
    link->reported_names = 0;
    for (unsigned i = 0; i < REPORTED; i++)
        if (PQparameterStatus(link->conn, reported[i])) link->reported_names |= 1u << i;
    link->reported_sum = sum_of(link->conn, link->reported_names);
}

bool ceni_pq_session_is_changed(const ceni_pq_link *link)
{
    return link->is_changed || sum_of(link->conn, link->reported_names) != link->reported_sum;
}
