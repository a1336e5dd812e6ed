/* SPDX-License-Identifier: MIT */
/*
 * What went wrong, as a sentence, a status and a number.
 *
 * libpq's words go into ours as far as they are known to hold no password. Only those about an address that it could
 * not read may: of these everything between the first and the last quotation mark is left out, which is wherever it
 * quotes.
 *
 * While a connection is being opened libpq has no function for the SQLSTATE of the server's refusal, but it writes it
 * into its message when it is verbose, "FATAL:  28P01: password ...": it is taken from there.
 */
#include <stdio.h>
#include <string.h>

#include "pq/internal.h"

enum { DIGITS = 36, STATE_LENGTH = 5 };

static int digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'A' && c <= 'Z' ? c - 'A' + 10 : -1;
}

/* Five digits to the base of 36. */
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

/* What a state means for whoever takes, if it means more than `status`; *what says it in words. */
static cen_status meaning(const char *sqlstate, cen_status status, const char **what)
{
    if (is_any(sqlstate, "28")) {
        if (!is_any(*what, "it wants a password")) *what = "it refused the credentials";
        return CEN_DRIVER;
    }
    if (is_any(sqlstate, "53300")) {
        *what = "it has no connection left";
        return CEN_FULL;
    }
    if (is_any(sqlstate, "57P01") || is_any(sqlstate, "57P02")) {
        *what = "it ended the connection or is shutting down";
        return CEN_DOWN;
    }
    if (is_any(sqlstate, "57P03")) {
        *what = "it is starting, or shutting down";
        return CEN_DOWN;
    }
    if (is_any(sqlstate, "57014")) {
        *what = "the query was cancelled";
        return CEN_INTERRUPTED;
    }
    return status;
}

/* libpq's words on one line: blanks for its lines and tabs, and no full stop. */
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

cen_status ceni_pq_say(cen_error *error, const PGconn *conn, cen_status status, const char *sqlstate, const char *what,
                       const char *cause)
{
    char place[100], state[32] = "";
    const char *host = or_else(conn ? PQhost(conn) : NULL, "the default host"),
               *port = or_else(conn ? PQport(conn) : NULL, "5432");
    status = meaning(sqlstate, status, &what);
    if (!error) return status;
    snprintf(place, sizeof place, *host == '/' ? "%.70s/.s.PGSQL.%.10s" : "%.70s:%.10s", host, port);
    *error = (cen_error){.status = status, .code = cen_pq_code(sqlstate)};
    if (error->code) snprintf(state, sizeof state, " (SQLSTATE %.5s)", sqlstate);
    int length =
        snprintf(error->text, sizeof error->text, "PostgreSQL at %s, database %.30s, user %.30s: %.60s%s: ", place,
                 or_else(conn ? PQdb(conn) : NULL, "of the user's name"),
                 or_else(conn ? PQuser(conn) : NULL, "of the process"), what, state);
    /* as much as there is room for */
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
                       is_lost ? "the connection broke" : what, cause);
}

/* ---- Openings ------------------------------------------------------------------------------------- */

/* Where "XXXXX: " begins after the severity and two blanks; NULL if the words have none. */
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
        return ceni_pq_say(error, conn, CEN_DRIVER, "28P01", "it wants a password, and has none", words);
    return ceni_pq_say(error, conn, state ? CEN_DRIVER : CEN_DOWN, state ? sqlstate : "08001",
                       state ? "it refused the connection" : "it cannot be reached", words);
}

cen_status ceni_pq_say_unreadable(cen_error *error, const char *words)
{
    const char *first = words ? strchr(words, '"') : NULL, *last = first ? strrchr(first, '"') : NULL;
    char before[200], after[200];
    flatten(words ? words : "", before, sizeof before);
    if (first) before[(size_t)(first - words) < sizeof before ? (size_t)(first - words) : sizeof before - 1] = 0;
    flatten(last ? last + 1 : "", after, sizeof after);
    *error = (cen_error){.status = CEN_INVALID};
    snprintf(error->text, sizeof error->text, "cen_pq_options.uri is not an address that libpq can read: %s%s%s",
             before, first ? "..." : "", after);
    return CEN_INVALID;
}
