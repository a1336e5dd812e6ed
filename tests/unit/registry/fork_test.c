/* SPDX-License-Identifier: MIT */
/* What a forked child has of its parent's registries: nothing (L14); and its own. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port/rank.h"
#include "unit/registry/registries.h"

static cen_owner *owner;

static void in_a_child(void (*run)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        *ceni_rank_mask() = 0; /* a lock may be held by a thread that is not here */
        run();
        _exit(0);
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child);
    expect_equal(status, 0);
}

static void use_the_parents(void)
{
    const cen_entry *entry;
    size_t count;
    cen_read_begin();
    expect_equal(cen_registry_lookup(registry, cen_key_text("key"), &entry), CEN_FORKED);
    cen_read_end();
    expect_equal(cen_registry_count(registry, cen_key_text("key"), &count), CEN_FORKED);
    expect_equal(cen_registry_register(registry, cen_key_text("new"), NULL, NULL, NULL, NULL), CEN_FORKED);
    expect_equal(cen_registry_unregister(registry, cen_key_text("own"), NULL, NULL), CEN_FORKED);
    expect_equal(cen_registry_free(registry), CEN_FORKED);
    expect_equal(cen_owner_end(owner), CEN_FORKED);
}

static void *register_in_child(void *unused)
{
    put("thread's", 4, NULL);
    expect_equal(count_of("thread's"), 1);
    return unused;
}

static void use_its_own(void)
{
    cen_owner *parents = owner;
    cen_error error = {.text = ""};
    use_the_parents();
    registry = new_registry(CEN_REGISTRY_OPTIONS(.kind = CEN_UNIQUE));
    put("key", 3, NULL); /* of this thread, which was an owner in the parent */
    expect_equal(find("key"), 3);
    expect_equal(cen_registry_register(registry, cen_key_text("x"), NULL, parents, NULL, &error), CEN_FORKED);
    pthread_t thread;
    expect_equal(pthread_create(&thread, NULL, register_in_child, NULL), 0);
    pthread_join(thread, NULL);
    expect_equal(find("thread's"), -1);
    cen_owner *mine = make_owner("child's");
    put("mine", 5, mine);
    expect_equal(cen_owner_end(mine), CEN_OK);
    expect_equal(find("mine"), -1);
    expect_equal(cen_registry_free(registry), CEN_OK);
}

/* guarantees: registry.L14 */
TEST(L14_a_child_is_answered_with_forked_and_the_parent_notices_nothing)
{
    registry = new_registry(CEN_REGISTRY_OPTIONS(.kind = CEN_UNIQUE));
    owner = make_owner("parent's");
    put("key", 1, owner);
    put("own", 2, NULL);
    in_a_child(use_the_parents);
    in_a_child(use_its_own);
    expect_equal(find("key"), 1);
    expect_equal(find("own"), 2);
    expect_equal(cen_owner_end(owner), CEN_OK);
    expect_equal(find("key"), -1);
    expect_equal(cen_registry_free(registry), CEN_OK);
}

static _Atomic bool stops;

static void *change_all_the_time(void *unused)
{
    while (!atomic_load(&stops)) {
        uint64_t number = put("busy", 1, owner);
        expect_equal(cen_registry_remove(registry, number, NULL), CEN_OK);
    }
    return unused;
}

/* guarantees: registry.L14 */
TEST(L14_a_child_can_be_forked_in_the_middle_of_a_change)
{
    registry = new_registry(CEN_REGISTRY_OPTIONS(.kind = CEN_UNIQUE));
    owner = make_owner("parent's");
    atomic_store(&stops, false);
    put("own", 2, NULL);
    pthread_t thread;
    expect_equal(pthread_create(&thread, NULL, change_all_the_time, NULL), 0);
    for (int i = 0; i < 20; i++) in_a_child(use_its_own);
    atomic_store(&stops, true);
    pthread_join(thread, NULL);
    expect_equal(cen_owner_end(owner), CEN_OK);
    expect_equal(cen_registry_free(registry), CEN_OK);
}
