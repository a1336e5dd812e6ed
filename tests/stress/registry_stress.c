/* SPDX-License-Identifier: MIT */
/*
 * Random load on registries by threads of the system: some register, update and remove, as
 * threads and for owners that end; some look up, pick and visit; one listens and
 * stops again; and the registry is freed while the threads that had registered are just ending.
 * Values are memory of malloc's that `release` frees, so that whoever reads one too late is caught by a sanitizer.
 *
 * The oracle: a value that is read is whole and of the key it was found under; every value that was
 * registered was released, once; the listener's account of what is there, kept by what it
 * was told alone, never goes wrong and is empty at the end; the registry counts the same.
 *
 *     CENOTE_STRESS_SECONDS=n   for all tests of the program together
 *     CENOTE_SEED=n             the same choices, though not the same schedule
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <cenote/registry.h>

#include "port/port.h"
#include "support/test.h"

enum { TESTS = 2, WRITERS = 3, READERS = 2, CHANGES = 400, KEYS = 40, MAGIC = 0x5EAF00D };

typedef struct box {
    uint32_t magic;
    uint64_t key;
} box;

static cen_registry *registry;
static _Atomic uint64_t made, released;
static _Atomic uint32_t writing, finished;
static uint64_t totals[4];
/* the listener's, one at a time */
static uint64_t came, went, updated, present;

static box *make_box(uint64_t key)
{
    box *self = malloc(sizeof *self);
    expect(self != NULL);
    *self = (box){MAGIC, key};
    ceni_add_seq_cst(&made, 1);
    return self;
}

static void release_box(void *argument, void *value)
{
    (void)argument;
    box *self = value;
    expect_equal(self->magic, MAGIC);
    self->magic = 0;
    free(self);
    ceni_add_seq_cst(&released, 1);
}

static void unmake(box *self)
{
    free(self);
    ceni_sub_seq_cst(&made, 1);
}

static void follow(void *argument, const cen_registered *change)
{
    (void)argument;
    if (change->change == CEN_REGISTRY_ENDS) {
        expect_equal(present, 0);
        return;
    }
    const box *self = change->value;
    expect_equal(self->magic, MAGIC);
    expect_equal(self->key, change->key.number);
    if (change->change == CEN_REGISTERED) came++, present++;
    else if (change->change == CEN_UPDATED) updated++;
    else went++, present--;
    expect(present <= came);
}

/* ---- Those who change ---------------------------------------------------------------------------------------------- */

typedef struct writer {
    uint64_t dice;
    uint64_t numbers[8];
} writer;

static void try_register(writer *self, cen_owner *owner)
{
    uint64_t key = test_random(&self->dice) % KEYS, number;
    box *value = make_box(key);
    cen_status status = cen_registry_register(registry, cen_key_number(key), value, owner, &number, NULL);
    if (status == CEN_OK) {
        self->numbers[test_random(&self->dice) % 8] = number;
        return;
    }
    expect(status == CEN_EXISTS || status == CEN_CLOSED);
    unmake(value);
}

static void try_update(uint64_t number, uint64_t key)
{
    box *value = make_box(key);
    cen_status status = cen_registry_update(registry, number, value, NULL, NULL);
    if (status == CEN_OK) return;
    expect_equal(status, CEN_STALE);
    unmake(value);
}

static bool note_number(void *argument, const cen_entry *entry)
{
    *(uint64_t *)argument = cen_entry_number(entry);
    return false;
}

static void change_once(writer *self, cen_owner *owner)
{
    uint64_t key = test_random(&self->dice) % KEYS, number = 0;
    switch (test_random(&self->dice) % 6) {
    case 0:
    case 1: try_register(self, owner); break;
    case 2: try_register(self, NULL); break;
    case 3:
        (void)cen_registry_unregister(registry, cen_key_number(key), test_random(&self->dice) % 2 ? owner : NULL, NULL);
        break;
    case 4: (void)cen_registry_remove(registry, self->numbers[test_random(&self->dice) % 8], NULL); break;
    default:
        expect_equal(cen_registry_each(registry, cen_key_number(key), note_number, &number), CEN_OK);
        try_update(number, key);
    }
}

static void *change_all(void *argument)
{
    writer *self = argument;
    cen_owner *owner = NULL;
    for (int i = 0; i < CHANGES; i++) {
        if (!owner) expect_equal(cen_owner_new(NULL, &owner, NULL), CEN_OK);
        change_once(self, owner);
        if (test_random(&self->dice) % 50) continue;
        expect_equal(cen_owner_end(owner), CEN_OK);
        owner = NULL;
    }
    expect_equal(cen_owner_end(owner), CEN_OK);
    ceni_sub_seq_cst(&writing, 1);
    /* Ends while the registry is freed: what this thread has registered is removed by one of the two. */
    while (!ceni_load_seq_cst(&finished)) ceni_thread_yield();
    return NULL;
}

/* ---- Those who read ------------------------------------------------------------------------------------------------- */

static void expect_whole(const cen_entry *entry)
{
    const box *self = cen_entry_value(entry);
    expect_equal(self->magic, MAGIC);
    expect_equal(self->key, cen_entry_key(entry).number);
    expect(cen_owner_name(cen_entry_owner(entry))[0] != '\0');
}

static bool visit(void *argument, const cen_entry *entry)
{
    ++*(uint64_t *)argument;
    expect_whole(entry);
    return true;
}

static void *read_all(void *argument)
{
    uint64_t dice = *(uint64_t *)argument, seen = 0;
    while (ceni_load_seq_cst(&writing) > 0) {
        cen_key key = cen_key_number(test_random(&dice) % KEYS);
        const cen_entry *entry;
        cen_read_begin();
        if (cen_registry_lookup(registry, key, &entry) == CEN_OK) expect_whole(entry);
        if (cen_registry_pick(registry, key, &entry) == CEN_OK) expect_whole(entry);
        if (cen_registry_nth(registry, key, test_random(&dice) % 8, &entry) == CEN_OK) expect_whole(entry);
        cen_read_end();
        if (test_random(&dice) % 16 == 0) expect_equal(cen_registry_each_all(registry, visit, &seen), CEN_OK);
        else expect_equal(cen_registry_each(registry, key, visit, &seen), CEN_OK);
    }
    *(uint64_t *)argument = seen;
    return NULL;
}

static void count_up(void *argument, const cen_registered *change)
{
    uint64_t *told = argument;
    if (change->entry) expect_equal(((const box *)change->value)->magic, MAGIC);
    ++*told;
}

static void *listen_now_and_then(void *argument)
{
    uint64_t dice = *(uint64_t *)argument, told = 0;
    while (ceni_load_seq_cst(&writing) > 0) {
        cen_listening *listening;
        cen_key key = cen_key_number(test_random(&dice) % KEYS);
        cen_key *wanted = test_random(&dice) % 2 ? &key : NULL;
        expect_equal(cen_registry_listen(registry, wanted, count_up, &told, &listening, NULL), CEN_OK);
        for (uint64_t i = test_random(&dice) % 64; i > 0; i--) ceni_thread_yield();
        expect_equal(cen_registry_unlisten(listening), CEN_OK);
        uint64_t before = told;
        ceni_thread_yield();
        expect_equal(told, before);
    }
    return NULL;
}

/* ---- A round ----------------------------------------------------------------------------------------------------------- */

static void begin_round(cen_registry_kind kind, bool heard)
{
    cen_registry_options options =
        CEN_REGISTRY_OPTIONS(.kind = kind, .release = release_box, .listener = heard ? follow : NULL);
    came = went = updated = present = 0;
    ceni_store_seq_cst(&made, 0);
    ceni_store_seq_cst(&released, 0);
    ceni_store_seq_cst(&finished, 0);
    ceni_store_seq_cst(&writing, WRITERS);
    expect_equal(cen_registry_new(&options, &registry, NULL), CEN_OK);
}

static void end_round(bool heard)
{
    cen_registry_stats stats = CEN_SIZED(cen_registry_stats);
    expect_equal(cen_registry_stats_get(registry, &stats), CEN_OK);
    expect_equal(stats.entries, stats.registered - stats.removed - stats.owner_ended);
    ceni_store_seq_cst(&finished, 1); /* the writers end from here on */
    expect_equal(cen_registry_free(registry), CEN_OK);
    expect_equal(ceni_load_seq_cst(&released), ceni_load_seq_cst(&made));
    totals[0] += stats.registered;
    totals[1] += stats.updated;
    totals[2] += stats.refused;
    if (!heard) return;
    expect_equal(came, stats.registered);
    expect_equal(went, came);
    expect_equal(updated, stats.updated);
}

static void one_round(uint64_t *dice, cen_registry_kind kind)
{
    bool heard = test_random(dice) % 2;
    pthread_t threads[WRITERS + READERS + 1];
    writer writers[WRITERS] = {{.dice = 0}};
    uint64_t seeds[READERS + 1];
    begin_round(kind, heard);
    for (int i = 0; i < WRITERS; i++) {
        writers[i].dice = test_random(dice);
        expect_equal(pthread_create(&threads[i], NULL, change_all, &writers[i]), 0);
    }
    for (int i = 0; i <= READERS; i++) {
        seeds[i] = test_random(dice);
        expect_equal(
            pthread_create(&threads[WRITERS + i], NULL, i < READERS ? read_all : listen_now_and_then, &seeds[i]), 0);
    }
    for (int i = 0; i <= READERS; i++) pthread_join(threads[WRITERS + i], NULL);
    for (int i = 0; i < READERS; i++) totals[3] += seeds[i];
    end_round(heard);
    for (int i = 0; i < WRITERS; i++) pthread_join(threads[i], NULL);
}

static void load(cen_registry_kind kind)
{
    const char *text = getenv("CENOTE_STRESS_SECONDS");
    double seconds = (text ? strtod(text, NULL) : 2.0) / TESTS;
    uint64_t seed = test_seed(), rounds = 0;
    alarm((unsigned)seconds + 100);
    memset(totals, 0, sizeof totals);
    int64_t until = ceni_clock_now() + (int64_t)(seconds * 1e9);
    for (; rounds == 0 || ceni_clock_now() < until; rounds++) one_round(&seed, kind);
    expect(totals[0] > 0 && totals[1] > 0);
    printf("     %" PRIu64 " registries, %" PRIu64 " entries, %" PRIu64 " updates, %" PRIu64 " refused, %" PRIu64
           " visits\n",
           rounds, totals[0], totals[1], totals[2], totals[3]);
}

/* guarantees: registry.release */
TEST(in_a_unique_registry_every_value_is_whole_while_it_is_read_and_released_once)
{
    load(CEN_UNIQUE);
}

/* guarantees: registry.read */
TEST(in_a_duplicate_registry_every_value_is_whole_while_it_is_read_and_released_once)
{
    load(CEN_DUPLICATE);
}
