/* SPDX-License-Identifier: MIT */
/* The directory under every schedule: no visit of an entry that has left. */
#include "base/alloc.h"
#include "base/atomic.h"
#include "record/directory.h"
#include "support/world.h"

static ceni_directory directory;

static size_t no_metrics(const void *object, cen_metric *metrics, size_t room)
{
    (void)metrics;
    (void)room;
    return ceni_load_relaxed((_Atomic size_t *)(uintptr_t)object);
}

/* A component that is gone when its owner has left; the world notices a touch. */
typedef struct component {
    ceni_directory_entry entry;
    _Atomic size_t metrics;
} component;

static component *join_new(void)
{
    component *t = ceni_alloc(NULL, sizeof *t, 16);
    expect(t != NULL);
    t->entry = (ceni_directory_entry){.kind = "component", .name = "t", .snapshot = no_metrics, .object = &t->metrics};
    ceni_directory_join(&directory, &t->entry);
    return t;
}

static void leave_and_free(void *argument)
{
    component *t = argument;
    ceni_directory_leave(&directory, &t->entry);
    ceni_free(NULL, t, sizeof *t, 16);
}

static void ask(void *argument, ceni_directory_entry *entry)
{
    uint32_t *visits = argument;
    expect_equal(entry->snapshot(entry->object, NULL, 0), 0);
    (*visits)++;
}

/* guarantees: record.directory */
EXPLORE(an_owner_that_leaves_waits_for_the_visitor, 4)
{
    ceni_directory_init(&directory);
    component *first = join_new(), *second = join_new();
    ceni_thread owner = start("owner", leave_and_free, first);
    uint32_t visits = 0;
    ceni_directory_each(&directory, ask, &visits);
    expect(visits == 1 || visits == 2);
    join(owner);
    leave_and_free(second);
    expect_equal(ceni_directory_count(&directory), 0);
}

EXPLORE(two_owners_leave_while_one_walk_goes_on, 3)
{
    ceni_directory_init(&directory);
    component *first = join_new(), *second = join_new();
    ceni_thread a = start("a", leave_and_free, first), b = start("b", leave_and_free, second);
    uint32_t visits = 0;
    ceni_directory_each(&directory, ask, &visits);
    join(a);
    join(b);
    expect_equal(ceni_directory_count(&directory), 0);
}

static void leave_when_visited(void *argument, ceni_directory_entry *entry)
{
    (void)argument;
    leave_and_free(CENI_LIST_ENTRY(entry, component, entry));
}

static void walk(void *argument)
{
    ceni_directory_each(&directory, ask, argument);
}

EXPLORE(a_visitor_that_leaves_its_own_entry_waits_for_other_visitors_only, 4)
{
    ceni_directory_init(&directory);
    join_new();
    uint32_t visits = 0;
    ceni_thread other = start("other", walk, &visits);
    ceni_directory_each(&directory, leave_when_visited, NULL);
    join(other);
    expect(visits <= 1);
    expect_equal(ceni_directory_count(&directory), 0);
}

EXPLORE(two_owners_that_wait_for_two_visitors_both_go_on, 2)
{
    ceni_directory_init(&directory);
    component *first = join_new(), *second = join_new();
    uint32_t visits = 0, others = 0;
    ceni_thread walker = start("walker", walk, &others);
    ceni_thread a = start("a", leave_and_free, second), b = start("b", leave_and_free, first);
    ceni_directory_each(&directory, ask, &visits);
    join(walker);
    join(a);
    join(b);
    expect_equal(ceni_directory_count(&directory), 0);
}
