/* SPDX-License-Identifier: MIT */
/* Registries when memory cannot be had: nothing leaks, nothing half-done is left; and what needs no memory works without. */
#include "support/faults.h"
#include "support/world.h"
#include "unit/registry/registries.h"

static cen_owner *owner;

static void hear_nothing(void *argument, const cen_registered *change)
{
    (void)argument, (void)change;
}

static void make_runtime(void)
{
    make_manual();
}

static cen_status make_one(void)
{
    cen_error error = {.status = CEN_OK};
    cen_registry_options options = CEN_REGISTRY_OPTIONS(.runtime = runtime, .listener = hear_nothing);
    cen_status status = cen_registry_new(&options, &registry, &error);
    expect(status == CEN_OK || (error.status == status && strstr(error.text, "cen_registry_new: ")));
    return status;
}

static const char *nothing_was_made(cen_status status)
{
    return status != CEN_NO_MEMORY ? "it does not say NO_MEMORY" : registry ? "the output was written" : NULL;
}

static void end_all(void)
{
    if (owner) expect_equal(cen_owner_end(owner), CEN_OK);
    owner = NULL;
    expect_equal(cen_registry_free(registry), CEN_OK);
    registry = NULL;
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

TEST(a_registry_that_gets_no_memory_leaves_nothing_behind)
{
    fault_sweep sweep = {.mask = CENI_FAULT_ALLOC,
                         .setup = make_runtime,
                         .operation = make_one,
                         .check = nothing_was_made,
                         .undo = end_all};
    expect_equal(fault_sweep_check(&sweep), 3);
}

/* ---- Register ------------------------------------------------------------------------------------------------------ */

static size_t entries_before, keys_before;

static void remember(void)
{
    cen_registry_stats stats = look();
    entries_before = stats.entries;
    keys_before = stats.keys;
}

static const char *nothing_changed(cen_status status)
{
    cen_registry_stats stats = look();
    /* Tables that cannot grow go on with the buckets they have. */
    if (status == CEN_OK) return stats.entries != entries_before + 1 ? "nothing was registered" : NULL;
    if (status != CEN_NO_MEMORY) return "it does not say NO_MEMORY";
    return stats.entries != entries_before || stats.keys != keys_before ? "something was registered" : NULL;
}

static void make_with_entries(cen_registry_kind kind, int count)
{
    make_registry(.kind = kind);
    owner = make_owner("one");
    for (int i = 0; i < count; i++) put("many", i, owner);
    remember();
}

static void make_unique(void)
{
    make_with_entries(CEN_UNIQUE, 1);
}

static void make_duplicate(void)
{
    make_with_entries(CEN_DUPLICATE, 0);
}

static void make_duplicate_of_4(void)
{
    make_with_entries(CEN_DUPLICATE, 4);
}

static void make_duplicate_of_8(void)
{
    make_with_entries(CEN_DUPLICATE, 8);
}

static cen_status register_new(void)
{
    return cen_registry_register(registry, cen_key_text("new"), NULL, owner, NULL, NULL);
}

static cen_status register_another(void)
{
    return cen_registry_register(registry, cen_key_text("many"), NULL, owner, NULL, NULL);
}

static unsigned sweep_register(void (*setup)(void), cen_status (*operation)(void))
{
    return fault_sweep_check(&(fault_sweep){
        .mask = CENI_FAULT_ALLOC, .setup = setup, .operation = operation, .check = nothing_changed, .undo = end_all});
}

/* guarantees: registry.refused */
TEST(a_register_that_gets_no_memory_leaves_nothing_behind)
{
    expect_equal(sweep_register(make_unique, register_new), 4);    /* the entry, its shelf, and two indices */
    expect_equal(sweep_register(make_duplicate, register_new), 2); /* the entry and its shelf */
    /* the entry, the chunks and the first of them */
    expect_equal(sweep_register(make_duplicate_of_4, register_another), 3);
    expect_equal(sweep_register(make_duplicate_of_8, register_another), 2); /* the entry and a chunk */
}

static cen_status register_for_a_new_thread(void)
{
    return cen_registry_register(registry, cen_key_text("new"), NULL, NULL, NULL, NULL);
}

static cen_status status_of_thread;
static unsigned faults_of_thread;

static void sweep_in_thread(void *unused)
{
    (void)unused;
    make_registry(.kind = CEN_UNIQUE);
    remember();
    for (faults_of_thread = 0;; faults_of_thread++) {
        ceni_fault_arm(CENI_FAULT_ALLOC | CENI_FAULT_KEY, faults_of_thread + 1);
        status_of_thread = register_for_a_new_thread();
        if (!ceni_fault_disarm()) break;
        expect(status_of_thread == CEN_NO_MEMORY || status_of_thread == CEN_SYSTEM);
        expect_equal(look().entries, 0);
    }
    expect_equal(status_of_thread, CEN_OK);
    expect_equal(look().entries, 1);
}

TEST(a_thread_that_cannot_be_an_owner_is_told_so_and_registers_nothing)
{
    join(start("thread", sweep_in_thread, NULL));
    expect(faults_of_thread >= 2);
    expect_equal(look().entries, 0);
    end_registry();
}

/* ---- Update, listen -------------------------------------------------------------------------------------------------- */

static cen_listening *listening;
static uint64_t number;

static void make_heard(void)
{
    make_registry(.kind = CEN_DUPLICATE, .listener = hear_nothing);
    number = put("key", 1, NULL);
    remember();
}

static cen_status update_it(void)
{
    return cen_registry_update(registry, number, value_of(2), NULL, NULL);
}

static const char *value_is_as_before(cen_status status)
{
    return find("key") != 1 ? "the value has changed" : nothing_changed(status);
}

static cen_status listen_to_it(void)
{
    return cen_registry_listen(registry, NULL, hear_nothing, NULL, &listening, NULL);
}

static const char *nobody_listens(cen_status status)
{
    return look().listeners != 1 || listening ? "somebody listens" : nothing_changed(status);
}

static void end_heard(void)
{
    expect_equal(cen_registry_unregister(registry, cen_key_text("key"), NULL, NULL), CEN_OK);
    listening = NULL;
    end_all();
}

static void keep_an_owner(void)
{
    cen_owner *own;
    expect_equal(cen_owner_thread(&own, NULL), CEN_OK); /* lives on through the rounds */
}

TEST(an_update_that_gets_no_memory_changes_nothing)
{
    keep_an_owner();
    fault_sweep sweep = {.mask = CENI_FAULT_ALLOC,
                         .setup = make_heard,
                         .operation = update_it,
                         .check = value_is_as_before,
                         .undo = end_heard};
    expect_equal(fault_sweep_check(&sweep), 1);
}

TEST(a_listener_that_gets_no_memory_is_not_one)
{
    keep_an_owner();
    fault_sweep sweep = {.mask = CENI_FAULT_ALLOC,
                         .setup = make_heard,
                         .operation = listen_to_it,
                         .check = nobody_listens,
                         .undo = end_heard};
    expect_equal(fault_sweep_check(&sweep), 2);
}

/* ---- What needs none --------------------------------------------------------------------------------------------------- */

/* guarantees: registry.no-memory */
TEST(removals_the_end_of_an_owner_and_free_ask_for_no_memory)
{
    make_registry(.kind = CEN_DUPLICATE, .listener = hear_nothing);
    owner = make_owner("one");
    for (int i = 0; i < 20; i++) number = put("key", i, owner);
    for (int i = 0; i < 20; i++) put("other", i, owner);
    uint64_t before = ceni_world_allocations();
    expect_equal(cen_registry_remove(registry, number, NULL), CEN_OK);
    expect_equal(cen_registry_unregister(registry, cen_key_text("key"), owner, NULL), CEN_OK);
    expect_equal(cen_owner_end(owner), CEN_OK);
    expect_equal(look().entries, 0);
    cen_registry *mine = registry;
    registry = NULL;
    expect_equal(cen_registry_free(mine), CEN_OK);
    expect_equal(ceni_world_allocations(), before);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}
