/* SPDX-License-Identifier: MIT */
/*
 * Invoking an action: the body of the request, a small JSON object that is parsed strictly, and the call.
 *
 * The body is a subset of JSON: an action has plain letters, and a value is an integer. Anything else is refused with
 * the byte at which parsing failed, and no action is invoked.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/internal.h"

typedef struct reader {
    const char *begin, *at;
    const char *wanted; /* what was expected where parsing failed; NULL: no error */
} reader;

static void skip_blanks(reader *r)
{
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r') r->at++;
}

static bool want(reader *r, const char *what)
{
    if (!r->wanted) r->wanted = what;
    return false;
}

static bool read_sign(reader *r, char sign, const char *what)
{
    skip_blanks(r);
    if (*r->at != sign) return want(r, what);
    r->at++;
    return true;
}

/* Read "letters_and_digits" without escapes. No action needs one. */
static bool read_word(reader *r, char *out, size_t room)
{
    size_t length = 0;
    if (!read_sign(r, '"', "a string in quotes")) return false;
    while ((*r->at >= 'a' && *r->at <= 'z') || *r->at == '_' || (*r->at >= '0' && *r->at <= '9')) {
        if (length + 1 >= room) return want(r, "a shorter word");
        out[length++] = *r->at++;
    }
    out[length] = 0;
    if (length == 0) return want(r, "a word of lower-case letters");
    if (*r->at != '"') return want(r, "the end of the word (lower-case letters, digits, underscores)");
    r->at++;
    return true;
}

static bool read_value(reader *r, int64_t *out)
{
    skip_blanks(r);
    const char *digits = r->at + (*r->at == '-');
    if (*digits < '0' || *digits > '9') return want(r, "an integer");
    if (digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') return want(r, "a number without leading zeros");
    char *end;
    errno = 0;
    long long value = strtoll(r->at, &end, 10);
    if (errno) return want(r, "a number of at most 63 bits");
    if (*end == '.' || *end == 'e' || *end == 'E') return want(r, "an integer");
    r->at = end;
    *out = value;
    return true;
}

static bool read_members(reader *r, ceni_telling *out)
{
    bool has_action = false, has_value = false;
    char name[16];
    if (!read_sign(r, '{', "an object such as {\"action\": \"pause\"}")) return false;
    do {
        if (!read_word(r, name, sizeof name)) return false;
        bool is_action = strcmp(name, "action") == 0;
        if (!is_action && strcmp(name, "value") != 0) return want(r, "\"action\" or \"value\"");
        if (is_action ? has_action : has_value) return want(r, "each member only once");
        if (!read_sign(r, ':', "a colon")) return false;
        if (is_action ? !read_word(r, out->action, sizeof out->action) : !read_value(r, &out->value)) return false;
        if (is_action) has_action = true;
        else has_value = true;
        skip_blanks(r);
    } while (*r->at == ',' && r->at++);
    if (!read_sign(r, '}', "a comma or the end of the object")) return false;
    skip_blanks(r);
    return has_action || want(r, "a member \"action\"");
}

bool ceni_telling_read(const char *body, size_t length, ceni_telling *out, cen_error *error)
{
    reader r = {body, body, NULL};
    *out = (ceni_telling){.value = 0};
    if (read_members(&r, out) && r.at != body + length) want(&r, "nothing after the object");
    if (!r.wanted) return true;
    ceni_inspect_error(error, CEN_INVALID, 0, "invalid body at byte %zu: expected %s", (size_t)(r.at - body) + 1,
                       r.wanted);
    return false;
}

/* ---- Invoking ------------------------------------------------------------------------- */

typedef struct told {
    const ceni_telling *telling;
    cen_status status;
    cen_error error;
} told;

static void tell(void *argument, cen_component *component)
{
    told *t = argument;
    t->error = (cen_error){.text = ""};
    t->status = cen_component_invoke(component, t->telling->action, t->telling->value, &t->error);
}

static unsigned code_of(cen_status status)
{
    switch (status) {
    case CEN_ABSENT: return MHD_HTTP_NOT_FOUND;
    case CEN_INVALID:
    case CEN_MISUSE: return MHD_HTTP_BAD_REQUEST;
    default: return MHD_HTTP_SERVICE_UNAVAILABLE;
    }
}

void ceni_answer_tell(uint64_t number, const ceni_telling *telling, ceni_answer *answer)
{
    told t = {.telling = telling};
    if (cen_component_visit(number, tell, &t) != CEN_OK) {
        ceni_answer_error(answer, MHD_HTTP_NOT_FOUND, CEN_ABSENT, "no component number %llu",
                          (unsigned long long)number);
    } else if (t.status != CEN_OK) {
        t.error.status = t.status;
        ceni_answer_failure(answer, code_of(t.status), &t.error);
    } else {
        ceni_json_open(&answer->json, NULL, '{');
        ceni_json_words(&answer->json, "status", "OK");
        ceni_json_close(&answer->json, '}');
    }
}
