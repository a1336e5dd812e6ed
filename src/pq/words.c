/* SPDX-License-Identifier: MIT */
/*
 * Errors: texts, statuses and codes.
 *
 * libpq's message becomes part of the text if it is known to contain no password. Only messages about an address that
 * libpq could not parse may contain one. In these everything between the first and the last quotation mark is left out,
 * because libpq quotes parts of the address.
 *
 * While a connection is opened, libpq has no function for the SQLSTATE of the server's refusal. In verbose mode the
 * message contains it, "FATAL:  28P01: password ...", and it is taken from there.
 */
#include <stdio.h>
#include <string.h>

#include "pq/internal.h"

enum { DIGITS = 36, STATE_LENGTH = 5, NAME_ROOM = 34 };

static int digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'A' && c <= 'Z' ? c - 'A' + 10 : -1;
}

/* Read 5 digits in base 36. */
int cen_pq_code(const char *sqlstate)
{
    int code = 0;
    for (int i = 0; i < STATE_LENGTH; i++) {
        int value = sqlstate ? digit(sqlstate[i]) : -1;
        if (value < 0) return 0;
        code = code * DIGITS + value;
    }
    return sqlstate[STATE_LENGTH] ? 0 : code;
}

const char *cen_pq_sqlstate(int code, char text[6])
{
    text[0] = text[STATE_LENGTH] = 0;
    for (int i = code > 0 ? STATE_LENGTH - 1 : -1; i >= 0; i--, code /= DIGITS)
        text[i] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[code % DIGITS];
    return text;
}

/* ---- Sentences -------------------------------------------------------------------------------- */

static bool is_any(const char *sqlstate, const char *start)
{
    return strncmp(sqlstate, start, strlen(start)) == 0;
}

/* Return the status that a SQLSTATE implies for the caller of take, or `status`; *what: the description. */
static cen_status meaning(const char *sqlstate, cen_status status, const char **what)
{
    if (is_any(sqlstate, "28")) {
        if (!is_any(*what, "password required")) *what = "authentication failed";
        return CEN_DRIVER;
    }
    if (is_any(sqlstate, "53300")) {
        *what = "too many connections";
        return CEN_FULL;
    }
    if (is_any(sqlstate, "57P01") || is_any(sqlstate, "57P02")) {
        *what = "connection terminated or server shutting down";
        return CEN_DOWN;
    }
    if (is_any(sqlstate, "57P03")) {
        *what = "server starting up or shutting down";
        return CEN_DOWN;
    }
    if (is_any(sqlstate, "57014")) {
        *what = "query cancelled";
        return CEN_INTERRUPTED;
    }
    return status;
}

/* Copy libpq's message to one line: blanks for line ends and tabs, without a final full stop. */
static void flatten(const char *words, char *out, size_t room)
{
    size_t length = 0;
    for (; *words && length + 2 < room; words++) {
        bool is_blank = strchr(" \t\r\n", *words) != NULL;
        if (is_blank && length && out[length - 1] == ' ') continue;
        if (*words == '\n' && words[1] && length && !strchr(".;:?", out[length - 1])) out[length++] = ';';
        if (!is_blank || length) out[length++] = is_blank ? ' ' : *words;
    }
    while (length && strchr(" .;?", out[length - 1])) length--;
    out[length] = 0;
}

static const char *or_else(const char *text, const char *other)
{
    return text && *text ? text : other;
}

static const char *quoted(const char *name, char out[NAME_ROOM])
{
    if (name && *name) snprintf(out, NAME_ROOM, "\"%.30s\"", name);
    else snprintf(out, NAME_ROOM, "(default)");
    return out;
}

cen_status ceni_pq_say(cen_error *error, const PGconn *conn, cen_status status, const char *sqlstate, const char *what,
                       const char *cause)
{
    char place[100], state[32] = "", database[NAME_ROOM], user[NAME_ROOM];
    const char *host = or_else(conn ? PQhost(conn) : NULL, "the default host"),
               *port = or_else(conn ? PQport(conn) : NULL, "5432");
    status = meaning(sqlstate, status, &what);
    if (!error) return status;
    snprintf(place, sizeof place, *host == '/' ? "%.70s/.s.PGSQL.%.10s" : "%.70s:%.10s", host, port);
    *error = (cen_error){.status = status, .code = cen_pq_code(sqlstate)};
    if (error->code) snprintf(state, sizeof state, " (SQLSTATE %.5s)", sqlstate);
    int length =
        snprintf(error->text, sizeof error->text, "PostgreSQL at %s, database %s, user %s: %.60s%s: ", place,
                 quoted(conn ? PQdb(conn) : NULL, database), quoted(conn ? PQuser(conn) : NULL, user), what, state);
    /* truncated to the room left */
    flatten(cause ? cause : "", error->text + length, sizeof error->text - (size_t)length);
    if (!error->text[length]) error->text[length - 2] = 0;
    return status;
}

cen_status ceni_pq_say_result(cen_error *error, const PGconn *conn, const PGresult *result, const char *what)
{
    const char *sqlstate = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *primary = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    const char *cause = or_else(primary, or_else(result ? PQresultErrorMessage(result) : NULL, PQerrorMessage(conn)));
    bool is_lost = PQstatus(conn) != CONNECTION_OK;
    if (!sqlstate && is_lost) sqlstate = "08006";
    return ceni_pq_say(error, conn, is_lost ? CEN_LOST : CEN_DRIVER, sqlstate ? sqlstate : "",
                       is_lost ? "connection lost" : what, cause);
}

/* ---- Failed opens --------------------------------------------------------------------------------- */

/* Return the position of "XXXXX: " after the severity and two blanks; NULL if the message has none. */
static const char *state_in(const char *words)
{
    for (const char *at = words; (at = strstr(at, ":  ")); at++) {
        int length = 0;
        while (length < STATE_LENGTH && digit(at[3 + length]) >= 0) length++;
        if (length == STATE_LENGTH && at[3 + STATE_LENGTH] == ':' && at[4 + STATE_LENGTH] == ' ') return at + 3;
    }
    return NULL;
}

cen_status ceni_pq_say_opening(cen_error *error, const PGconn *conn)
{
    char words[1024], sqlstate[STATE_LENGTH + 1] = "";
    const char *given = PQerrorMessage(conn), *failed = strstr(given, " failed: ");
    if (is_any(given, "connection to server ") && failed) given = failed + strlen(" failed: ");
    snprintf(words, sizeof words, "%s", given);
    char *location = strstr(words, "\nLOCATION:");
    if (location) *location = 0;
    char *state = (char *)(uintptr_t)state_in(words);
    if (state) {
        memcpy(sqlstate, state, STATE_LENGTH);
        memmove(state - 1, state + STATE_LENGTH + 2 - 1, strlen(state + STATE_LENGTH + 2 - 1) + 1);
    }
    if (!state && PQconnectionNeedsPassword(conn))
        return ceni_pq_say(error, conn, CEN_DRIVER, "28P01", "password required, none given", words);
    return ceni_pq_say(error, conn, state ? CEN_DRIVER : CEN_DOWN, state ? sqlstate : "08001",
                       state ? "connection rejected" : "server unreachable", words);
}

cen_status ceni_pq_say_unreadable(cen_error *error, const char *words)
{
    const char *first = words ? strchr(words, '"') : NULL, *last = first ? strrchr(first, '"') : NULL;
    char before[200], after[200];
    flatten(words ? words : "", before, sizeof before);
    if (first) before[(size_t)(first - words) < sizeof before ? (size_t)(first - words) : sizeof before - 1] = 0;
    flatten(last ? last + 1 : "", after, sizeof after);
    *error = (cen_error){.status = CEN_INVALID};
    snprintf(error->text, sizeof error->text, "cen_pq_options.uri: invalid connection string: %s%s%s", before,
             first ? "..." : "", after);
    return CEN_INVALID;
}
