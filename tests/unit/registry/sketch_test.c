/* SPDX-License-Identifier: MIT */
/* What whoever watches is told of a registry: how much it has, and where the most of it is. */
#include "support/sketch.h"
#include "support/world.h"
#include "unit/registry/registries.h"

TEST(the_keys_with_the_most_entries_come_first)
{
    sketch s;
    make_registry(.name = "phones", .kind = CEN_DUPLICATE);
    cen_owner *owner = make_owner("one");
    static const int entries[] = {2, 5, 1, 3};
    static const char *const keys[] = {"two", "five", "one", "three"};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < entries[i]; k++) put(keys[i], k, owner);
    sketch_take(&s, "registry", "phones", 3);
    expect_text(sketch_words(&s, "keys_are"), "duplicate");
    expect_equal(sketch_number(&s, "keys"), 4);
    expect_equal(sketch_number(&s, "entries"), 11);
    expect_equal(sketch_count(&s, "largest_keys"), 3);
    expect_text(sketch_words(&s, "largest_keys[0].key"), "\"five\"");
    expect_equal(sketch_number(&s, "largest_keys[0].entries"), 5);
    expect_text(sketch_words(&s, "largest_keys[1].key"), "\"three\"");
    expect_text(sketch_words(&s, "largest_keys[2].key"), "\"two\"");
    expect_equal(sketch_number(&s, "largest_keys_more"), 1);
    sketch_drop(&s);
    cen_owner_end(owner);
    sketch_take(&s, "registry", "phones", 3);
    expect_equal(sketch_count(&s, "largest_keys"), 0);
    expect(!sketch_has(&s, "largest_keys_more"));
    sketch_drop(&s);
    expect_equal(reading_and_kind_of("registry", "phones", "registered").kind, CEN_COUNTER);
    expect_equal(reading_of("registry", "phones", "owner_ended"), 11);
    end_registry();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(of_many_keys_some_are_shown_and_the_rest_counted)
{
    sketch s;
    make_registry(.name = "many");
    cen_owner *owner = make_owner("one");
    for (uint64_t i = 0; i < 100; i++)
        expect_equal(cen_registry_register(registry, cen_key_number(i), NULL, owner, NULL, NULL), CEN_OK);
    sketch_take(&s, "registry", "many", 1000);
    expect_text(sketch_words(&s, "keys_are"), "unique");
    size_t shown = sketch_count(&s, "largest_keys");
    expect(shown > 0 && shown < 100);
    expect_equal(sketch_number(&s, "largest_keys_more"), 100 - shown);
    sketch_drop(&s);
    cen_owner_end(owner);
    end_registry();
}
