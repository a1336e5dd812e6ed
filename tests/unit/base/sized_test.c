/* SPDX-License-Identifier: MIT */
/* What keeps the ABI rule for all structs. Each public struct is tried in the tables of sized_*_test.c. */
#include "support/sized.h"
#include "support/test.h"

/* The same struct in three versions of a header. */
typedef struct first {
    size_t size;
    int64_t one;
} first;
typedef struct second {
    size_t size;
    int64_t one;
    void *two;
    uint32_t three;
} second;
typedef struct third {
    size_t size;
    int64_t one;
    void *two;
    uint32_t three;
    int64_t four;
} third;

static cen_status read_second(void *given)
{
    second known;
    return cen_sized_read(&known, sizeof known, given, "read: options", NULL);
}

static cen_status write_second(void *given)
{
    const second from = {.size = sizeof from, .one = 1, .two = given, .three = 3};
    cen_status status = cen_sized_check(given, sizeof from, "write: stats", NULL);
    if (status == CEN_OK) cen_sized_write(given, &from, sizeof from);
    return status;
}

/* guarantees: sized.every-size */
TEST(a_struct_of_every_size_is_read_and_written_within_its_size)
{
    static const sized_case cases[] = {SIZED_INPUT(second, size, NULL, read_second),
                                       SIZED_OUTPUT(second, write_second)};
    SIZED_TRY(cases);
}

/* guarantees: sized.defaults */
TEST(an_older_struct_has_defaults_in_the_fields_it_lacks)
{
    const first given = {.size = sizeof given, .one = 7};
    second known;
    memset(&known, 0xff, sizeof known);
    expect_equal(cen_sized_read(&known, sizeof known, &given, "read: options", NULL), CEN_OK);
    expect_equal(known.size, sizeof known);
    expect_equal(known.one, 7);
    expect(known.two == NULL);
    expect_equal(known.three, 0);
}

/* guarantees: sized.defaults */
TEST(half_a_pointer_is_not_read)
{
    second given = {.size = offsetof(second, two) + 3, .one = 7, .two = &given};
    second known;
    expect_equal(cen_sized_read(&known, sizeof known, &given, "read: options", NULL), CEN_OK);
    expect_equal(known.one, 7);
    expect(known.two == NULL);
}

/* guarantees: sized.every-size */
TEST(a_newer_struct_is_accepted_while_its_new_fields_are_zero)
{
    third given = {.size = sizeof given, .one = 7, .three = 3};
    second known;
    cen_error error;
    expect_equal(cen_sized_read(&known, sizeof known, &given, "read: options", &error), CEN_OK);
    expect_equal(known.one, 7);
    expect_equal(known.three, 3);
    given.four = 4;
    expect_equal(cen_sized_read(&known, sizeof known, &given, "read: options", &error), CEN_INVALID);
    expect_text(error.text, "read: options sets an unknown field at offset 32 (size 40, known 32); leave it "
                            "zero or use a newer library");
}

/* guarantees: sized.every-size */
TEST(an_output_keeps_its_size_and_what_lies_behind)
{
    second room = {.size = sizeof(first), .two = &room, .three = 33};
    const third from = {.size = sizeof from, .one = 1, .two = NULL, .three = 3, .four = 4};
    expect_equal(cen_sized_check(&room, sizeof from, "write: stats", NULL), CEN_OK);
    cen_sized_write(&room, &from, sizeof from);
    expect_equal(room.size, sizeof(first));
    expect_equal(room.one, 1);
    expect(room.two == &room);
    expect_equal(room.three, 33);
}

/* guarantees: sized.zero */
TEST(a_struct_that_was_not_initialised_is_refused_with_a_text_that_says_how)
{
    second given = {.size = 0};
    cen_error error;
    expect_equal(cen_sized_check(&given, sizeof given, "cen_x: options", &error), CEN_INVALID);
    expect_text(error.text, "cen_x: options.size is 0; initialise it with its macro or with CEN_SIZED");
    given.size = 4;
    expect_equal(cen_sized_check(&given, sizeof given, "cen_x: options", &error), CEN_INVALID);
    expect_text(error.text, "cen_x: options.size must be 8 to 8192 (got 4, the library has 32); initialise it with its "
                            "macro or with CEN_SIZED");
    expect_equal(cen_sized_check(NULL, sizeof given, "cen_x: options", &error), CEN_INVALID);
    expect_text(error.text, "cen_x: options is NULL");
}

/* guarantees: sized.zero */
TEST(a_sized_struct_is_an_initialiser_and_a_value)
{
    second one = CEN_SIZED(second);
    expect_equal(one.size, sizeof one);
    expect_equal(one.one, 0);
    one.one = 1;
    one = CEN_SIZED(second);
    expect_equal(one.one, 0);
}
