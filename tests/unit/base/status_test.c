/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include <cenote/status.h>
#include <cenote/version.h>

#include "base/error.h"
#include "support/test.h"

TEST(every_status_has_a_name_and_a_sentence)
{
    static const cen_status all[] = {
#define ONE(code, name, sentence) CEN_##name,
        CEN_STATUS_LIST(ONE)
#undef ONE
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        expect_equal(all[i], i); /* codes are given out in order and never again */
        expect(strncmp(cen_status_name(all[i]), "CEN_", 4) == 0);
        expect(strlen(cen_status_text(all[i])) > 10);
    }
    expect_text(cen_status_name(CEN_TIMEOUT), "CEN_TIMEOUT");
}

/* The whole page, to be freed. */
static char *page(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) test_fail(__FILE__, __LINE__, "%s cannot be read", path);
    size_t room = 1 << 20;
    char *text = calloc(1, room);
    expect(text && fread(text, 1, room - 1, file) > 0);
    fclose(file);
    return text;
}

TEST(every_status_and_every_cause_has_a_row_that_says_what_to_do)
{
    char row[80], *errors = page(DOCS "/errors.md"), *diagnosis = page(DOCS "/diagnosis.md");
    for (int i = 0; strcmp(cen_status_name((cen_status)i), "CEN_?") != 0; i++) {
        snprintf(row, sizeof row, "\n| `%s` | ", cen_status_name((cen_status)i));
        if (!strstr(errors, row)) test_fail(__FILE__, __LINE__, "docs/errors.md has no row of %s", row + 3);
    }
    for (int i = 0; strcmp(cen_cause_name((cen_cause)i), "?") != 0; i++) {
        snprintf(row, sizeof row, "\n| `%s` | ", cen_cause_name((cen_cause)i));
        if (!strstr(diagnosis, row)) test_fail(__FILE__, __LINE__, "docs/diagnosis.md has no row of %s", row + 3);
    }
    free(errors);
    free(diagnosis);
}

TEST(a_number_that_is_no_status_is_said_to_be_none)
{
    expect_text(cen_status_name((cen_status)9999), "CEN_?");
    expect_text(cen_status_text((cen_status)-1), "unknown status");
}

/* guarantees: overload.causes */
TEST(every_cause_has_a_number_and_a_word_of_its_own)
{
    static const cen_cause all[] = {
#define ONE(code, name, word) CEN_CAUSE_##name,
        CEN_CAUSE_LIST(ONE)
#undef ONE
    };
    size_t count = sizeof all / sizeof all[0];
    for (size_t i = 0; i < count; i++) {
        expect_equal(all[i], i); /* given out in order and never again */
        const char *word = cen_cause_name(all[i]);
        expect(*word && strspn(word, "abcdefghijklmnopqrstuvwxyz_") == strlen(word));
        for (size_t other = 0; other < i; other++) expect(strcmp(word, cen_cause_name(all[other])) != 0);
    }
    expect_text(cen_cause_name(CEN_CAUSE_QUEUE_FULL), "queue_full");
    expect_text(cen_cause_name((cen_cause)9999), "?");
}

TEST(an_error_is_filled_in_and_its_status_returned)
{
    cen_error error;
    expect_equal(ceni_error_set(&error, CEN_SYSTEM, 24, "the %s is %d", "limit", 7), CEN_SYSTEM);
    expect_equal(error.status, CEN_SYSTEM);
    expect_equal(error.code, 24);
    expect_text(error.text, "the limit is 7");
}

TEST(an_error_that_is_used_again_forgets_the_cause_and_the_limit_it_had)
{
    cen_error error = {.cause = CEN_CAUSE_LANE_FULL, .retry_after_ns = 1, .current = 2, .max = 3};
    ceni_error_set(&error, CEN_INVALID, 0, "another");
    expect_equal(error.cause, CEN_CAUSE_NONE);
    expect_equal(error.retry_after_ns, 0);
    expect_equal(error.current, 0);
    expect_equal(error.max, 0);
}

TEST(an_error_that_nobody_wants_is_only_a_status)
{
    expect_equal(ceni_error_set(NULL, CEN_INVALID, 0, "unseen"), CEN_INVALID);
}

TEST(a_long_error_is_cut_and_ended)
{
    cen_error error;
    ceni_error_set(&error, CEN_INVALID, 0, "%0600d", 1);
    expect_equal(strlen(error.text), CEN_ERROR_TEXT_SIZE - 1);
}

TEST(the_library_tells_the_version_of_its_headers)
{
    expect_equal(cen_version(), CEN_VERSION_MAJOR * 1000000 + CEN_VERSION_MINOR * 1000 + CEN_VERSION_PATCH);
}
