/* SPDX-License-Identifier: MIT */
/* The table of keys: growth, and the grace period between two of them. */
#include "base/fault.h"
#include "support/world.h"
#include "unit/registry/registries.h"

static void put_number(uint64_t key)
{
    expect_equal(cen_registry_register(registry, cen_key_number(key), value_of((intptr_t)key), NULL, NULL, NULL),
                 CEN_OK);
}

static void expect_numbers(uint64_t from, uint64_t to)
{
    cen_read_begin();
    for (uint64_t i = from; i < to; i++) {
        const cen_entry *entry;
        expect_equal(cen_registry_lookup(registry, cen_key_number(i), &entry), CEN_OK);
        expect_equal((intptr_t)cen_entry_value(entry), (intptr_t)i);
    }
    cen_read_end();
}

TEST(a_table_grows_with_its_keys_and_loses_none)
{
    make_registry(.kind = CEN_UNIQUE);
    for (uint64_t i = 0; i < 1000; i++) {
        put_number(i);
        empty_bin();
    }
    expect_equal(look().buckets, 1024);
    expect_numbers(0, 1000);
    for (uint64_t i = 0; i < 1000; i += 2)
        expect_equal(cen_registry_unregister(registry, cen_key_number(i), NULL, NULL), CEN_OK);
    for (uint64_t i = 1; i < 1000; i += 2) expect_numbers(i, i + 1);
    expect_equal(look().keys, 500);
    expect_equal(look().buckets, 1024);
    end_registry();
}

TEST(a_table_does_not_grow_again_before_a_grace_period_unless_it_is_crowded)
{
    make_registry(.kind = CEN_UNIQUE);
    for (uint64_t i = 0; i < 5; i++) put_number(i);
    expect_equal(look().buckets, 8);
    for (uint64_t i = 5; i < 32; i++) put_number(i); /* nobody polls: the first four buckets are not let go of */
    expect_equal(look().buckets, 8);
    put_number(32);
    expect_equal(look().buckets, 64); /* four to a bucket: this one waited for a grace period */
    expect_numbers(0, 33);
    end_registry();
}

TEST(a_table_that_is_crowded_waits_for_no_section_of_its_own_caller)
{
    make_registry(.kind = CEN_UNIQUE);
    for (uint64_t i = 0; i < 5; i++) put_number(i);
    cen_read_begin();
    for (uint64_t i = 5; i < 100; i++) put_number(i);
    expect_equal(look().buckets, 8);
    expect_numbers(0, 100);
    cen_read_end();
    put_number(100);
    expect_equal(look().buckets, 128);
    expect_numbers(0, 101);
    end_registry();
}

TEST(a_table_that_gets_no_memory_for_buckets_goes_on_with_those_it_has)
{
    make_registry(.kind = CEN_UNIQUE);
    for (uint64_t i = 0; i < 4; i++) put_number(i);
    /* entry and shelf, then the buckets */
    ceni_fault_arm(CENI_FAULT_ALLOC, 3);
    put_number(4);
    expect(ceni_fault_disarm());
    expect_equal(look().buckets, 4);
    expect_numbers(0, 5);
    put_number(5);
    expect_equal(look().buckets, 8);
    expect_numbers(0, 6);
    end_registry();
}
