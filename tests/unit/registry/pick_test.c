/* SPDX-License-Identifier: MIT */
/* Picking by index and at random, and what register, unregister and pick cost with many entries. */
#include "unit/registry/registries.h"

static const cen_entry *nth(const char *key, size_t index)
{
    const cen_entry *entry = NULL;
    cen_status status = cen_registry_nth(registry, cen_key_text(key), index, &entry);
    expect(status == CEN_OK || (status == CEN_ABSENT && !entry));
    return entry;
}

static bool there[200]; /* by value */

/* Every entry that is there has one index, and there are no others. */
static void expect_indices(const char *key, size_t count)
{
    static bool seen[200];
    memset(seen, 0, sizeof seen);
    cen_read_begin();
    for (size_t i = 0; i < count; i++) {
        const cen_entry *entry = nth(key, i);
        expect(entry);
        intptr_t value = (intptr_t)cen_entry_value(entry);
        expect(there[value] && !seen[value]);
        seen[value] = true;
    }
    for (size_t i = count; i < count + 5; i++) expect(!nth(key, i));
    expect(!nth(key, SIZE_MAX));
    cen_read_end();
}

TEST(each_entry_has_one_index_below_the_count_and_there_is_none_beyond)
{
    uint64_t numbers[200], dice = 5;
    intptr_t values[200];
    size_t left = 200;
    memset(there, 0, sizeof there);
    make_registry(.kind = CEN_DUPLICATE);
    for (size_t i = 0; i < 200; i++) {
        numbers[i] = put("key", (intptr_t)i, NULL);
        values[i] = (intptr_t)i;
        there[i] = true;
        expect_indices("key", i + 1);
    }
    while (left > 1) {
        size_t at = test_random(&dice) % left;
        expect_equal(cen_registry_remove(registry, numbers[at], NULL), CEN_OK);
        there[values[at]] = false;
        numbers[at] = numbers[--left];
        values[at] = values[left];
        expect_indices("key", left);
        expect_equal(count_of("key"), left);
    }
    expect_equal(cen_registry_remove(registry, numbers[0], NULL), CEN_OK);
    cen_read_begin();
    expect(!nth("key", 0));
    cen_read_end();
    end_registry();
}

/* With n entries and k picks each is picked k/n times on average, with variance k/n (1 - 1/n). The sum of the
 * squared deviations over k/n is chi-squared with n - 1 = 9 degrees of freedom: beyond 40 by chance in 1 of 100,000
 * runs. The numbers come from the world, so they are the same in every run. */
TEST(a_pick_takes_any_with_the_same_likelihood)
{
    enum { ENTRIES = 10, PICKS = 20000 };
    double counts[ENTRIES] = {0}, square = 0;
    make_registry(.kind = CEN_DUPLICATE);
    for (int i = 0; i < ENTRIES; i++) put("key", i, NULL);
    for (int i = 0; i < PICKS; i++) {
        const cen_entry *entry;
        cen_read_begin();
        expect_equal(cen_registry_pick(registry, cen_key_text("key"), &entry), CEN_OK);
        counts[(intptr_t)cen_entry_value(entry)]++;
        cen_read_end();
    }
    for (int i = 0; i < ENTRIES; i++) {
        double off = counts[i] - (double)PICKS / ENTRIES;
        square += off * off / ((double)PICKS / ENTRIES);
    }
    if (square > 40) test_fail(__FILE__, __LINE__, "chi-squared is %f", square);
    cen_read_begin();
    expect_equal(cen_registry_pick(registry, cen_key_text("none"), &(const cen_entry *){NULL}), CEN_ABSENT);
    cen_read_end();
    end_registry();
}
