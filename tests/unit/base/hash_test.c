/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include "base/fault.h"
#include "support/test.h"

enum { ENTRIES = 1000 };

typedef struct entry {
    uint64_t key;
    ceni_table_node node;
} entry;

static bool same_key(const ceni_table_node *node, const void *key)
{
    return CENI_TABLE_ENTRY(node, const entry, node)->key == *(const uint64_t *)key;
}

static entry *find(const ceni_table *table, uint64_t key, uint64_t hash)
{
    ceni_table_node *node = ceni_table_find(table, hash, same_key, &key);
    return node ? CENI_TABLE_ENTRY(node, entry, node) : NULL;
}

/* ---- Mixing -------------------------------------------------------------- */

enum { SAMPLES = 400 };

/* How often each bit of the hash changes with one bit of the word. */
static void count_changes(uint64_t *state, int bit, int changes[64])
{
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t word = test_random(state) % 4096, seed = test_random(state) % 4096;
        uint64_t difference = ceni_hash_word(seed, word) ^ ceni_hash_word(seed, word ^ (UINT64_C(1) << bit));
        expect(difference != 0);
        for (int out = 0; out < 64; out++) changes[out] += (int)(difference >> out & 1);
    }
}

TEST(each_bit_of_a_word_changes_each_bit_of_its_hash_about_every_other_time)
{
    uint64_t state = test_seed();
    for (int bit = 0; bit < 64; bit++) {
        int changes[64] = {0};
        count_changes(&state, bit, changes);
        for (int out = 0; out < 64; out++) expect(changes[out] > SAMPLES / 3 && changes[out] < SAMPLES * 2 / 3);
    }
}

TEST(small_numbers_fill_the_low_bits_evenly)
{
    int filled[64] = {0};
    for (uint64_t i = 0; i < 6400; i++) filled[ceni_hash_word(7, i) % 64]++;
    for (int i = 0; i < 64; i++) expect(filled[i] > 50 && filled[i] < 160);
}

TEST(bytes_hash_by_content_size_and_seed)
{
    const char a[] = "a pool of pools", b[] = "_a pool of pools";
    expect(ceni_hash_bytes(1, a, sizeof a) == ceni_hash_bytes(1, b + 1, sizeof a));
    expect(ceni_hash_bytes(1, a, sizeof a) != ceni_hash_bytes(2, a, sizeof a));
    for (size_t size = 0; size < sizeof a; size++)
        expect(ceni_hash_bytes(1, a, size) != ceni_hash_bytes(1, a, size + 1));
}

TEST(bytes_that_differ_only_in_trailing_zeros_hash_differently)
{
    const char zeros[40] = {0};
    uint64_t seen[40];
    for (size_t size = 0; size < 40; size++) {
        seen[size] = ceni_hash_bytes(0, zeros, size);
        for (size_t other = 0; other < size; other++) expect(seen[size] != seen[other]);
    }
}

TEST(each_byte_matters_wherever_it_stands)
{
    unsigned char bytes[23] = {0};
    uint64_t plain = ceni_hash_bytes(3, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = 1;
        expect(ceni_hash_bytes(3, bytes, sizeof bytes) != plain);
        bytes[i] = 0;
    }
}

/* ---- The table ----------------------------------------------------------- */

TEST(what_was_inserted_is_found_until_it_is_removed)
{
    ceni_table table;
    ceni_table_init(&table, NULL);
    static entry entries[ENTRIES];
    for (uint64_t i = 0; i < ENTRIES; i++) {
        entries[i].key = i;
        expect(find(&table, i, ceni_hash_word(9, i)) == NULL);
        ceni_table_insert(&table, &entries[i].node, ceni_hash_word(9, i));
    }
    expect_equal(table.count, ENTRIES);
    expect(table.mask + 1 >= ENTRIES / 2);
    for (uint64_t i = 0; i < ENTRIES; i++) expect(find(&table, i, ceni_hash_word(9, i)) == &entries[i]);
    for (uint64_t i = 0; i < ENTRIES; i += 2) expect(ceni_table_remove(&table, &entries[i].node));
    expect(!ceni_table_remove(&table, &entries[0].node));
    for (uint64_t i = 0; i < ENTRIES; i++)
        expect(find(&table, i, ceni_hash_word(9, i)) == (i % 2 ? &entries[i] : NULL));
    expect_equal(table.count, ENTRIES / 2);
    ceni_table_fini(&table);
    expect_equal(table.count, 0);
}

TEST(keys_with_the_same_hash_are_told_apart)
{
    ceni_table table;
    ceni_table_init(&table, NULL);
    entry entries[3] = {{.key = 1}, {.key = 2}, {.key = 3}};
    for (int i = 0; i < 3; i++) ceni_table_insert(&table, &entries[i].node, 77);
    for (uint64_t key = 1; key <= 3; key++) expect(find(&table, key, 77) == &entries[key - 1]);
    expect(find(&table, 1, 78) == NULL);
    expect(ceni_table_remove(&table, &entries[1].node));
    expect(find(&table, 2, 77) == NULL);
    expect(find(&table, 1, 77) == &entries[0] && find(&table, 3, 77) == &entries[2]);
    ceni_table_fini(&table);
}

TEST(next_walks_over_every_node_once)
{
    ceni_table table;
    ceni_table_init(&table, NULL);
    expect(ceni_table_next(&table, NULL) == NULL);
    static entry entries[ENTRIES];
    for (uint64_t i = 0; i < ENTRIES; i++) {
        entries[i].key = 0;
        ceni_table_insert(&table, &entries[i].node, ceni_hash_word(9, i));
    }
    size_t walked = 0;
    for (ceni_table_node *n = NULL; (n = ceni_table_next(&table, n));) {
        walked++;
        expect_equal(CENI_TABLE_ENTRY(n, entry, node)->key++, 0);
    }
    expect_equal(walked, ENTRIES);
    ceni_table_fini(&table);
}

TEST(a_table_that_cannot_grow_works_with_longer_chains)
{
    ceni_table table;
    ceni_table_init(&table, NULL);
    static entry entries[ENTRIES];
    for (uint64_t i = 0; i < ENTRIES; i++) {
        entries[i].key = i;
        ceni_fault_arm(CENI_FAULT_ALLOC, 1);
        ceni_table_insert(&table, &entries[i].node, ceni_hash_word(9, i));
        expect(i == 0 || ceni_fault_disarm());
    }
    expect_equal(table.mask, 0);
    expect_equal(table.count, ENTRIES);
    for (uint64_t i = 0; i < ENTRIES; i++) expect(find(&table, i, ceni_hash_word(9, i)) == &entries[i]);
    entry late = {.key = ENTRIES};
    ceni_fault_disarm();
    ceni_table_insert(&table, &late.node, ceni_hash_word(9, ENTRIES));
    expect(table.mask > 0);
    for (uint64_t i = 0; i < ENTRIES; i++) expect(find(&table, i, ceni_hash_word(9, i)) == &entries[i]);
    ceni_table_fini(&table);
}

TEST(a_table_under_a_lock_grows_in_steps_and_by_the_larger_of_two)
{
    ceni_table table;
    ceni_table_room small, large, again;
    static entry entries[ENTRIES];
    ceni_table_init(&table, NULL);
    ceni_table_room_for(&table, 1, &small);
    expect_equal(small.count, 0);
    for (uint64_t i = 0; i < ENTRIES; i++) {
        entries[i].key = i;
        ceni_table_put(&table, &entries[i].node, ceni_hash_word(9, i));
    }
    expect_equal(table.mask, 0); /* put never allocates */
    ceni_table_room_for(&table, table.count, &small);
    expect(ceni_table_room_alloc(&table, &small));
    large = (ceni_table_room){.count = 2 * small.count};
    expect(ceni_table_room_alloc(&table, &large));
    ceni_table_room_use(&table, &large);
    expect(!large.buckets); /* the first array is the table's own */
    again = small;
    ceni_table_room_use(&table, &small);
    expect(small.buckets == again.buckets); /* another was quicker, with more: it is to be freed */
    ceni_table_room_free(&table, &small);
    for (uint64_t i = 0; i < ENTRIES; i++) expect(find(&table, i, ceni_hash_word(9, i)) == &entries[i]);
    ceni_table_room_take(&table, &large);
    expect_equal(table.count, 0);
    expect_equal(table.mask, 0);
    ceni_table_room_free(&table, &large);
}
