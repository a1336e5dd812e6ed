/* SPDX-License-Identifier: MIT */
/* Keys: which are the same, which are none, and how they read. */
#include "unit/registry/registries.h"

TEST(a_number_and_a_string_of_the_same_bytes_are_two_keys)
{
    uint64_t number = 0x3132333435363738;
    make_registry(.kind = CEN_UNIQUE);
    expect_equal(cen_registry_register(registry, cen_key_number(number), value_of(1), NULL, NULL, NULL), CEN_OK);
    expect_equal(cen_registry_register(registry, cen_key_bytes(&number, sizeof number), value_of(2), NULL, NULL, NULL),
                 CEN_OK);
    expect(!cen_key_same(cen_key_number(0), cen_key_bytes("", 0)));
    expect(cen_key_same(cen_key_number(7), cen_key_number(7)));
    expect(!cen_key_same(cen_key_number(7), cen_key_number(8)));
    expect_equal(look().keys, 2);
    end_registry();
}

TEST(keys_are_compared_by_all_their_bytes_zeros_included)
{
    make_registry(.kind = CEN_UNIQUE);
    const cen_key keys[] = {cen_key_bytes("a\0b", 3), cen_key_bytes("a\0c", 3), cen_key_bytes("a", 1),
                            cen_key_bytes("a\0", 2), cen_key_bytes("", 0)};
    for (int i = 0; i < 5; i++)
        expect_equal(cen_registry_register(registry, keys[i], value_of(i), NULL, NULL, NULL), CEN_OK);
    for (int i = 0; i < 5; i++) {
        const cen_entry *entry;
        cen_read_begin();
        expect_equal(cen_registry_lookup(registry, keys[i], &entry), CEN_OK);
        expect_equal((intptr_t)cen_entry_value(entry), i);
        expect(cen_key_same(cen_entry_key(entry), keys[i]));
        cen_read_end();
    }
    expect_equal(cen_registry_register(registry, cen_key_bytes(NULL, 0), NULL, NULL, NULL, NULL),
                 CEN_EXISTS); /* the empty one */
    end_registry();
}

TEST(a_key_is_copied_when_it_is_registered)
{
    char text[] = "moving";
    make_registry(.kind = CEN_UNIQUE);
    put(text, 5, NULL);
    text[0] = 'l';
    expect_equal(find("moving"), 5);
    expect_equal(find("loving"), -1);
    end_registry();
}

static void hear_nothing(void *argument, const cen_registered *change)
{
    (void)argument, (void)change;
}

TEST(what_is_no_key_is_invalid_in_every_call)
{
    static char large[CEN_KEY_MAX + 1];
    const cen_entry *entry;
    size_t count;
    visited all = {.count = 0};
    make_registry(.kind = CEN_UNIQUE);
    const cen_key bad[] = {cen_key_text(NULL), cen_key_bytes(NULL, 3), cen_key_bytes(large, sizeof large)};
    for (int i = 0; i < 3; i++) {
        cen_listening *listening;
        cen_error error = {.text = ""};
        expect_equal(cen_registry_register(registry, bad[i], NULL, NULL, NULL, &error), CEN_INVALID);
        expect(strstr(error.text, "key"));
        expect_equal(cen_registry_unregister(registry, bad[i], NULL, NULL), CEN_INVALID);
        cen_read_begin();
        expect_equal(cen_registry_lookup(registry, bad[i], &entry), CEN_INVALID);
        expect_equal(cen_registry_pick(registry, bad[i], &entry), CEN_INVALID);
        expect_equal(cen_registry_nth(registry, bad[i], 0, &entry), CEN_INVALID);
        cen_read_end();
        expect_equal(cen_registry_count(registry, bad[i], &count), CEN_INVALID);
        expect_equal(cen_registry_each(registry, bad[i], note_visit, &all), CEN_INVALID);
        expect_equal(cen_registry_listen(registry, &bad[i], hear_nothing, NULL, &listening, &error), CEN_INVALID);
    }
    expect_equal(cen_registry_register(registry, cen_key_bytes(large, CEN_KEY_MAX), NULL, NULL, NULL, NULL), CEN_OK);
    end_registry();
}

TEST(a_key_reads_as_a_number_or_in_quotes_and_is_cut_if_it_is_long)
{
    char text[CENI_KEY_TEXT], many[200], expected[CENI_KEY_TEXT];
    expect_text(ceni_key_print(cen_key_number(UINT64_MAX), text), "18446744073709551615");
    expect_text(ceni_key_print(cen_key_text("orders"), text), "\"orders\"");
    expect_text(ceni_key_print(cen_key_bytes("", 0), text), "\"\"");
    expect_text(ceni_key_print(cen_key_bytes("a\"\\\n\xff", 5), text), "\"a\\x22\\x5c\\x0a\\xff\"");
    memset(many, 'x', sizeof many);
    ceni_key_print(cen_key_bytes(many, sizeof many), text);
    snprintf(expected, sizeof expected, "\"%.*s...\"", CENI_KEY_TEXT - 6, many);
    expect_text(text, expected);
    memset(many, 1, sizeof many);
    expect(strlen(ceni_key_print(cen_key_bytes(many, sizeof many), text)) < CENI_KEY_TEXT);
}
