/* SPDX-License-Identifier: MIT */
/* The program's allocator is called with no lock held by starts and ends of children, and by children that come and go. */
#include "support/unlocked.h"
#include "unit/supervisor/kids.h"

enum { MANY = 100 };

static char names[MANY][8];

static cen_status add_named(int i)
{
    cen_child_options options = kid_options(2);
    snprintf(names[i], sizeof names[i], "n%d", i);
    options.name = names[i];
    return cen_supervisor_add(supervisor, &options, CEN_NEVER, NULL, NULL);
}

/* guarantees: pool.allocator-unlocked */
TEST(the_allocator_is_called_with_no_lock_held_by_a_supervisor)
{
    init_kids();
    cen_child_options children[] = {kid_options(0), kid_options(1)};
    make_supervisor(children, 2, .allocator = &unlocked, .max_restarts = CEN_OFF, .max_children = MANY);
    allocs_since(), frees_since();

    die(0, false); /* a start: one record instead of another */
    expect_equal(allocs_since(), 1);
    expect_equal(frees_since(), 1);

    for (int i = 0; i < MANY - 2; i++) expect_equal(add_named(i), CEN_OK); /* and both tables grow several times */
    expect(allocs_since() > 2 * (MANY - 2) + 4);
    expect_equal(add_named(MANY - 1), CEN_FULL);
    expect_equal(add_named(0), CEN_EXISTS);
    expect_equal(allocs_since(), 2);
    frees_since();

    for (int i = 0; i < MANY - 2; i++)
        expect_equal(cen_supervisor_remove(supervisor, names[i], CEN_NEVER, NULL), CEN_OK);
    expect(frees_since() >= 2 * (MANY - 2)); /* at once, not with the supervisor */
    end_supervisor();
    expect_equal(ceni_load_seq_cst(&unlocked_allocs), ceni_load_seq_cst(&unlocked_frees));
}

/* A child that leaves while somebody walks through all. */
static void remove_it(void *argument, const cen_child_stats *child)
{
    (void)argument;
    if (strcmp(child->name, "n0") == 0)
        expect_equal(cen_supervisor_remove(supervisor, "n0", CEN_NOW, NULL), CEN_TIMEOUT);
    poll();
}

TEST(the_allocator_is_called_with_no_lock_held_by_a_walk_during_which_a_child_leaves)
{
    init_kids();
    make_supervisor(NULL, 0, .allocator = &unlocked);
    expect_equal(add_named(0), CEN_OK);
    frees_since();
    expect_equal(cen_supervisor_each(supervisor, remove_it, NULL), CEN_OK);
    expect(frees_since() >= 1);
    expect_equal(look().children, 0);
    end_supervisor();
    expect_equal(ceni_load_seq_cst(&unlocked_allocs), ceni_load_seq_cst(&unlocked_frees));
}

TEST(what_is_refused_by_a_supervisor_that_has_stopped_is_freed_at_once)
{
    init_kids();
    make_supervisor(NULL, 0, .allocator = &unlocked);
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    allocs_since(), frees_since();
    for (int i = 0; i < 10; i++) expect_equal(add_named(i), CEN_CLOSED);
    expect_equal(allocs_since(), 10);
    expect_equal(frees_since(), 10);
    free_all();
}
