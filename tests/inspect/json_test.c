/* SPDX-License-Identifier: MIT */
/* What is written as JSON, whatever a component says of itself. */
#include <stdlib.h>

#include <jansson.h>

#include "inspect/text.h"
#include "record/directory.h"
#include "support/test.h"

static json_t *parsed(ceni_json *json)
{
    json_error_t error;
    expect(!json->text.spoiled);
    json_t *value = json_loadb(json->text.bytes, json->text.length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!value) test_fail(__FILE__, __LINE__, "%s: %s", error.text, json->text.bytes);
    ceni_text_fini(&json->text);
    return value;
}

static void expect_read_as(const char *written, const char *read)
{
    ceni_json json = {0};
    ceni_json_words(&json, NULL, written);
    json_t *value = parsed(&json);
    expect_text(json_string_value(value), read);
    json_decref(value);
}

#define LOST "\xEF\xBF\xBD"

TEST(texts_come_back_as_they_were_and_what_is_no_utf8_is_replaced)
{
    expect_read_as("", "");
    expect_read_as("plain", "plain");
    expect_read_as("\"\\/\b\f\n\r\t\x01\x1f\x7f", "\"\\/\b\f\n\r\t\x01\x1f\x7f");
    expect_read_as("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80");
    expect_read_as("a\xFFz", "a" LOST "z");
    expect_read_as("\xC3", LOST);
    expect_read_as("\xE2\x82", LOST LOST);
    expect_read_as("\xC0\x80", LOST LOST);                   /* a zero in two bytes */
    expect_read_as("\xE0\x80\xAF", LOST LOST LOST);          /* a slash in three */
    expect_read_as("\xED\xA0\x80", LOST LOST LOST);          /* a half of a pair */
    expect_read_as("\xF4\x90\x80\x80", LOST LOST LOST LOST); /* beyond the last */
    expect_read_as("\xF8\x88\x80\x80\x80", LOST LOST LOST LOST LOST);
}

TEST(any_bytes_make_json)
{
    uint64_t seed = test_seed();
    for (int round = 0; round < 5000; round++) {
        char bytes[24];
        size_t length = test_random(&seed) % sizeof bytes;
        for (size_t i = 0; i < length; i++) bytes[i] = (char)(1 + test_random(&seed) % 255);
        bytes[length] = 0;
        ceni_json json = {0};
        ceni_json_open(&json, NULL, '{');
        ceni_json_words(&json, bytes, bytes);
        ceni_json_close(&json, '}');
        json_decref(parsed(&json));
    }
}

TEST(a_text_that_would_pass_its_bound_is_spoiled_and_stays_so)
{
    ceni_json json = {0};
    char *words = malloc(1 << 20);
    memset(words, 'a', (1 << 20) - 1);
    words[(1 << 20) - 1] = 0;
    for (int i = 0; i < 15; i++) ceni_json_words(&json, NULL, words);
    expect(!json.text.spoiled);
    ceni_json_words(&json, NULL, words);
    expect(json.text.spoiled);
    size_t length = json.text.length;
    ceni_json_number(&json, NULL, 1);
    expect_equal(json.text.length, length);
    expect(json.text.length < CENI_TEXT_MOST);
    ceni_text_fini(&json.text);
    free(words);
}

/* ---- Descriptions ------------------------------------------------------------------------------- */

static void (*drawn)(const cen_description_writer *s);

static size_t no_metrics(const void *object, cen_metric *metrics, size_t room)
{
    (void)object, (void)metrics, (void)room;
    return 0;
}

static void draw(const void *object, const cen_description_writer *description, size_t most)
{
    (void)object, (void)most;
    drawn(description);
}

static void description_of(void *argument, cen_component *component)
{
    ceni_json *json = argument;
    ceni_json_open(json, NULL, '{');
    ceni_json_description(json, component, 10);
    ceni_json_close(json, '}');
}

static json_t *described(void (*how)(const cen_description_writer *s))
{
    static const ceni_component_calls calls = {.description = draw};
    ceni_directory_entry entry = {.kind = "odd", .name = "odd", .snapshot = no_metrics, .calls = &calls};
    ceni_json json = {0};
    drawn = how;
    ceni_directory_join(ceni_directory_process(), &entry);
    expect_equal(cen_component_visit(entry.number, description_of, &json), CEN_OK);
    ceni_directory_leave(ceni_directory_process(), &entry);
    return parsed(&json);
}

static void draw_well(const cen_description_writer *s)
{
    s->number(s->argument, "number", INT64_MIN);
    s->truth(s->argument, "truth", true);
    s->text(s->argument, "unknown", NULL);
    s->list(s->argument, "list");
    for (int i = 0; i < 2; i++) {
        s->item(s->argument);
        s->number(s->argument, "i", i);
        s->list(s->argument, "inner");
        s->end(s->argument);
        s->end(s->argument);
    }
    s->end(s->argument);
    s->text(s->argument, "last", "here");
}

TEST(a_description_is_an_object_with_lists_of_objects)
{
    json_t *json = described(draw_well), *list = json_object_get(json, "list");
    expect_equal(json_integer_value(json_object_get(json, "number")), INT64_MIN);
    expect(json_is_true(json_object_get(json, "truth")) && json_is_null(json_object_get(json, "unknown")));
    expect_equal(json_array_size(list), 2);
    expect_equal(json_integer_value(json_object_get(json_array_get(list, 1), "i")), 1);
    expect_equal(json_array_size(json_object_get(json_array_get(list, 1), "inner")), 0);
    expect_text(json_string_value(json_object_get(json, "last")), "here");
    json_decref(json);
}

static void draw_open(const cen_description_writer *s)
{
    s->list(s->argument, "list");
    s->item(s->argument);
    s->list(s->argument, "inner");
}

static void draw_too_many_ends(const cen_description_writer *s)
{
    for (int i = 0; i < 3; i++) s->end(s->argument);
    s->number(s->argument, "after", 1);
    s->end(s->argument);
}

static void draw_in_the_wrong_place(const cen_description_writer *s)
{
    s->item(s->argument); /* of no list */
    s->number(s->argument, "lost", 1);
    s->end(s->argument);
    s->list(s->argument, "list");
    s->number(s->argument, "lost", 2);
    s->list(s->argument, "lost");
    s->item(s->argument);
    s->end(s->argument);
    s->end(s->argument);
    s->item(s->argument);
    s->end(s->argument);
    s->end(s->argument);
    s->number(s->argument, "after", 1);
}

static void draw_deep(const cen_description_writer *s)
{
    for (int i = 0; i < 200; i++) {
        s->list(s->argument, "list");
        s->item(s->argument);
    }
    for (int i = 0; i < 400; i++) s->end(s->argument);
    s->number(s->argument, "after", 1);
}

TEST(a_description_that_is_drawn_badly_is_json_all_the_same)
{
    json_decref(described(draw_open));
    void (*badly[])(const cen_description_writer *s) = {draw_too_many_ends, draw_in_the_wrong_place, draw_deep};
    for (size_t i = 0; i < 3; i++) {
        json_t *json = described(badly[i]);
        expect_equal(json_integer_value(json_object_get(json, "after")), 1);
        expect(json_object_get(json, "lost") == NULL);
        json_decref(json);
    }
}
