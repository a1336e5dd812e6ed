/* SPDX-License-Identifier: MIT */
/*
 * 150,000 entries under one key: what a register, an unregister, a remove and a
 * pick do is counted, turn by turn of every loop there is, and does not grow. On threads of the system,
 * without the world, which would count every atomic operation too.
 */
#include "unit/registry/registries.h"

enum { MANY = 150000, ROUNDS = 200 };

static cen_owner *owners[ROUNDS];
static uint64_t numbers[MANY];

static uint64_t one_round(int i)
{
    uint64_t before = ceni_registry_steps;
    const cen_entry *entry;
    put("topic", i, owners[i]);
    uint64_t number = put("topic", i, owners[i]);
    cen_read_begin();
    expect_equal(cen_registry_pick(registry, cen_key_text("topic"), &entry), CEN_OK);
    expect_equal(cen_registry_nth(registry, cen_key_text("topic"), count_of("topic") - 1, &entry), CEN_OK);
    cen_read_end();
    expect_equal(cen_registry_remove(registry, number, NULL), CEN_OK);
    expect_equal(cen_registry_unregister(registry, cen_key_text("topic"), owners[i], NULL), CEN_OK);
    return ceni_registry_steps - before;
}

static uint64_t steps_of_rounds(void)
{
    uint64_t steps = 0;
    for (int i = 0; i < ROUNDS; i++) steps += one_round(i);
    return steps;
}

/* The chains of the indices are as long as chance makes them: about as many steps as rounds for each look. */
static void expect_constant(uint64_t steps)
{
    if (steps > 24 * ROUNDS)
        test_fail(__FILE__, __LINE__, "%llu steps in %d rounds", (unsigned long long)steps, ROUNDS);
}

static void fill(cen_owner *owner)
{
    for (int i = 0; i < MANY; i++) {
        expect_equal(cen_registry_register(registry, cen_key_text("topic"), value_of(i),
                                           owner ? owner : owners[i % ROUNDS], &numbers[i], NULL),
                     CEN_OK);
    }
    expect_equal(count_of("topic"), MANY);
}

static void prepare(void)
{
    make_registry(.kind = CEN_DUPLICATE);
    for (int i = 0; i < ROUNDS; i++) owners[i] = make_owner(NULL);
}

static void finish(void)
{
    for (int i = 0; i < ROUNDS; i++) expect_equal(cen_owner_end(owners[i]), CEN_OK);
    expect_equal(look().entries, 0);
    end_registry();
}

/* guarantees: registry.constant */
TEST(with_150000_entries_of_one_owner_under_one_key_changes_and_picks_take_a_constant_number_of_steps)
{
    prepare();
    cen_owner *crowd = make_owner("crowd");
    uint64_t few = steps_of_rounds();
    fill(crowd);
    uint64_t many = steps_of_rounds();
    printf("%llu steps in %d rounds with few entries, %llu with %d\n", (unsigned long long)few, ROUNDS,
           (unsigned long long)many, MANY);
    expect_constant(few);
    expect_constant(many);
    /* from the middle of the crowd's own */
    uint64_t before = ceni_registry_steps;
    for (int i = 0; i < ROUNDS; i++) expect_equal(cen_registry_remove(registry, numbers[MANY / 2 + i], NULL), CEN_OK);
    expect_constant(ceni_registry_steps - before);
    before = ceni_registry_steps;
    expect_equal(cen_owner_end(crowd), CEN_OK);
    expect(ceni_registry_steps - before < 8 * MANY); /* each of them a constant number */
    expect_equal(count_of("topic"), 0);
    finish();
}

/* guarantees: registry.constant */
TEST(with_150000_entries_of_many_owners_under_one_key_each_unregisters_its_own_in_as_many_steps_as_it_has)
{
    prepare();
    fill(NULL);
    uint64_t before = ceni_registry_steps;
    expect_equal(cen_registry_unregister(registry, cen_key_text("topic"), owners[7], NULL), CEN_OK);
    expect(ceni_registry_steps - before < 16 * (MANY / ROUNDS));
    expect_equal(count_of("topic"), MANY - MANY / ROUNDS);
    finish();
}
