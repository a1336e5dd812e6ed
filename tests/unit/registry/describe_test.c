/* SPDX-License-Identifier: MIT */
/* What whoever watches is told of a registry: how much it has, and where the most of it is. */
#include "support/description.h"
#include "support/world.h"
#include "unit/registry/registries.h"

TEST(the_keys_with_the_most_entries_come_first)
{
    description s;
    make_registry(.name = "phones", .kind = CEN_DUPLICATE);
    cen_owner *owner = make_owner("one");
    static const int entries[] = {2, 5, 1, 3};
    static const char *const keys[] = {"two", "five", "one", "three"};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < entries[i]; k++) put(keys[i], k, owner);
    description_take(&s, "registry", "phones", 3);
    expect_text(description_words(&s, "keys_are"), "duplicate");
    expect_equal(description_number(&s, "keys"), 4);
    expect_equal(description_number(&s, "entries"), 11);
    expect_equal(description_count(&s, "largest_keys"), 3);
    expect_text(description_words(&s, "largest_keys[0].key"), "\"five\"");
    expect_equal(description_number(&s, "largest_keys[0].entries"), 5);
    expect_text(description_words(&s, "largest_keys[1].key"), "\"three\"");
    expect_text(description_words(&s, "largest_keys[2].key"), "\"two\"");
    expect_equal(description_number(&s, "largest_keys_more"), 1);
    description_drop(&s);
    cen_owner_end(owner);
    description_take(&s, "registry", "phones", 3);
    expect_equal(description_count(&s, "largest_keys"), 0);
    expect(!description_has(&s, "largest_keys_more"));
    description_drop(&s);
    expect_equal(metric_and_kind_of("registry", "phones", "registered").kind, CEN_COUNTER);
    expect_equal(metric_of("registry", "phones", "owner_ended"), 11);
    end_registry();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(of_many_keys_some_are_shown_and_the_rest_counted)
{
    description s;
    make_registry(.name = "many");
    cen_owner *owner = make_owner("one");
    for (uint64_t i = 0; i < 100; i++)
        expect_equal(cen_registry_register(registry, cen_key_number(i), NULL, owner, NULL, NULL), CEN_OK);
    description_take(&s, "registry", "many", 1000);
    expect_text(description_words(&s, "keys_are"), "unique");
    size_t shown = description_count(&s, "largest_keys");
    expect(shown > 0 && shown < 100);
    expect_equal(description_number(&s, "largest_keys_more"), 100 - shown);
    description_drop(&s);
    cen_owner_end(owner);
    end_registry();
}
