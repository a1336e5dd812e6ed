/* SPDX-License-Identifier: MIT */
/*
 * Random sequences of every change, against a list of what should be there, from fixed seeds. After
 * each the registry is compared with the list: by lookup, by count, by for-each in its order, by every index, and by what a
 * listener knows that was told of everything from somewhere in the middle on.
 */
#include "unit/registry/registries.h"

enum { KEYS = 6, OWNERS = 3, MOST = 60, CHANGES = 300, RUNS = 30 };

typedef struct item {
    uint64_t key, number;
    intptr_t value;
    int owner;
} item;

typedef struct list {
    item items[MOST];
    int count;
} list;

static list wanted, heard;
static cen_owner *owners[OWNERS];
static uint64_t dice;
static intptr_t last_value;
static cen_listening *listening;

static uint64_t roll(uint64_t sides)
{
    return test_random(&dice) % sides;
}

static void drop_item(list *self, int at)
{
    memmove(&self->items[at], &self->items[at + 1], sizeof(item) * (size_t)(self->count - at - 1));
    self->count--;
}

static int find_number(const list *self, uint64_t number)
{
    for (int i = 0; i < self->count; i++)
        if (self->items[i].number == number) return i;
    return -1;
}

static int count_key(uint64_t key)
{
    int count = 0;
    for (int i = 0; i < wanted.count; i++) count += wanted.items[i].key == key;
    return count;
}

/* ---- The listener's own list ----------------------------------------------------------------------------------- */

static void hear(void *argument, const cen_registered *change)
{
    (void)argument;
    if (change->change == CEN_REGISTRY_ENDS) return;
    int at = find_number(&heard, change->number);
    if (change->change == CEN_REGISTERED) {
        expect(at < 0);
        heard.items[heard.count++] = (item){change->key.number, change->number, (intptr_t)change->value, 0};
        return;
    }
    expect(at >= 0);
    if (change->change == CEN_UPDATED) {
        expect_equal(heard.items[at].value, (intptr_t)change->before);
        heard.items[at].value = (intptr_t)change->value;
    } else {
        expect_equal(heard.items[at].value, (intptr_t)change->value);
        drop_item(&heard, at);
    }
}

static void compare_heard(void)
{
    if (!listening) return;
    expect_equal(heard.count, wanted.count);
    for (int i = 0; i < wanted.count; i++) {
        int at = find_number(&heard, wanted.items[i].number);
        expect(at >= 0);
        expect_equal(heard.items[at].value, wanted.items[i].value);
        expect_equal(heard.items[at].key, wanted.items[i].key);
    }
}

/* ---- Comparing ----------------------------------------------------------------------------------------------------- */

static void compare_key(uint64_t key)
{
    visited all = {.count = 0};
    size_t count;
    int at = 0;
    expect_equal(cen_registry_count(registry, cen_key_number(key), &count), CEN_OK);
    expect_equal(count, count_key(key));
    expect_equal(cen_registry_each(registry, cen_key_number(key), note_visit, &all), CEN_OK);
    expect_equal(all.count, count);
    for (int i = 0; i < wanted.count; i++)
        if (wanted.items[i].key == key) expect_equal(all.values[at++], wanted.items[i].value);
    cen_read_begin();
    for (size_t i = 0; i < count; i++) {
        const cen_entry *entry;
        expect_equal(cen_registry_nth(registry, cen_key_number(key), i, &entry), CEN_OK);
        expect(find_number(&wanted, cen_entry_number(entry)) >= 0);
    }
    cen_read_end();
}

static void compare(void)
{
    cen_registry_stats stats = look();
    uint64_t keys = 0;
    for (uint64_t key = 0; key < KEYS; key++) {
        compare_key(key);
        keys += count_key(key) > 0;
    }
    expect_equal(stats.entries, wanted.count);
    expect_equal(stats.keys, keys);
    compare_heard();
}

/* ---- Changing both --------------------------------------------------------------------------------------------------- */

static void change_register(cen_registry_kind kind)
{
    uint64_t key = roll(KEYS), number = 0;
    int owner = (int)roll(OWNERS);
    if (wanted.count == MOST) return;
    bool taken = kind == CEN_UNIQUE && count_key(key) > 0;
    cen_status status =
        cen_registry_register(registry, cen_key_number(key), value_of(++last_value), owners[owner], &number, NULL);
    expect_equal(status, taken ? CEN_EXISTS : CEN_OK);
    if (!taken) wanted.items[wanted.count++] = (item){key, number, last_value, owner};
}

static void change_unregister(void)
{
    uint64_t key = roll(KEYS);
    int owner = (int)roll(OWNERS), before = wanted.count;
    for (int i = wanted.count - 1; i >= 0; i--)
        if (wanted.items[i].key == key && wanted.items[i].owner == owner) drop_item(&wanted, i);
    expect_equal(cen_registry_unregister(registry, cen_key_number(key), owners[owner], NULL),
                 wanted.count < before ? CEN_OK : CEN_ABSENT);
}

static void change_remove(void)
{
    if (wanted.count == 0) return;
    int at = (int)roll((uint64_t)wanted.count);
    uint64_t number = wanted.items[at].number;
    drop_item(&wanted, at);
    expect_equal(cen_registry_remove(registry, number, NULL), CEN_OK);
    expect_equal(cen_registry_remove(registry, number, NULL), CEN_STALE);
}

static void change_update(void)
{
    if (wanted.count == 0) return;
    item *one = &wanted.items[roll((uint64_t)wanted.count)];
    void *before;
    expect_equal(cen_registry_update(registry, one->number, value_of(++last_value), &before, NULL), CEN_OK);
    expect_equal((intptr_t)before, one->value);
    one->value = last_value;
}

static void change_owner(void)
{
    int owner = (int)roll(OWNERS);
    for (int i = wanted.count - 1; i >= 0; i--)
        if (wanted.items[i].owner == owner) drop_item(&wanted, i);
    expect_equal(cen_owner_end(owners[owner]), CEN_OK);
    owners[owner] = make_owner(NULL);
}

static void change_listener(void)
{
    if (listening) {
        expect_equal(cen_registry_unlisten(listening), CEN_OK);
        listening = NULL;
        return;
    }
    heard.count = 0;
    expect_equal(cen_registry_listen(registry, NULL, hear, NULL, &listening, NULL), CEN_OK);
}

static void change(cen_registry_kind kind)
{
    switch (roll(16)) {
    case 0:
    case 1: change_unregister(); break;
    case 2:
    case 3: change_remove(); break;
    case 4:
    case 5: change_update(); break;
    case 6:
        if (roll(3) == 0) change_owner();
        break;
    case 7:
        if (roll(3) == 0) change_listener();
        break;
    case 8: empty_bin(); break;
    default: change_register(kind);
    }
}

static void run(cen_registry_kind kind, uint64_t seed)
{
    dice = seed;
    wanted.count = 0;
    listening = NULL;
    make_registry(.kind = kind);
    for (int i = 0; i < OWNERS; i++) owners[i] = make_owner(NULL);
    for (int i = 0; i < CHANGES; i++) {
        change(kind);
        compare();
    }
    for (int i = 0; i < OWNERS; i++) expect_equal(cen_owner_end(owners[i]), CEN_OK);
    expect_equal(look().entries, 0);
    if (listening) expect_equal(heard.count, 0);
    end_registry();
}

TEST(random_changes_of_a_unique_registry_leave_what_a_list_says)
{
    for (uint64_t seed = 1; seed <= RUNS; seed++) run(CEN_UNIQUE, seed);
}

/* guarantees: registry.listeners */
TEST(random_changes_of_a_duplicate_registry_leave_what_a_list_says)
{
    for (uint64_t seed = 1; seed <= RUNS; seed++) run(CEN_DUPLICATE, seed);
}
