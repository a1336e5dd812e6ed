/* SPDX-License-Identifier: MIT */
/* What a child registers goes when its start is over, before the next one begins. */
#include <cenote/registry.h>

#include "support/world.h"
#include "unit/supervisor/kids.h"

static cen_registry *registry;

/* Registers itself under its letter. That there is no entry of an earlier start is what OK says. */
static void enlist(kid *self, cen_child child)
{
    cen_owner *owner, *again;
    expect_equal(cen_child_owner(child, &owner, NULL), CEN_OK);
    expect_equal(cen_child_owner(child, &again, NULL), CEN_OK);
    expect(owner == again);
    expect_equal(cen_registry_register(registry, cen_key_number((uint64_t)self->letter), self, owner, NULL, NULL),
                 CEN_OK);
    cen_owner_drop(owner);
    cen_owner_drop(again);
}

static size_t entries(void)
{
    size_t sum = 0, one;
    for (char letter = 'a'; letter <= 'b'; letter++) {
        expect_equal(cen_registry_count(registry, cen_key_number((uint64_t)letter), &one), CEN_OK);
        sum += one;
    }
    return sum;
}

static void make_family(cen_supervision supervision)
{
    make_runtime();
    cen_registry_options options = CEN_REGISTRY_OPTIONS(.name = "names", .runtime = runtime);
    expect_equal(cen_registry_new(&options, &registry, NULL), CEN_OK);
    init_kids();
    cen_child_options children[] = {kid_options(0), kid_options(1)};
    kids[0].in_start = kids[1].in_start = enlist;
    make_supervisor(children, 2, .supervision = supervision);
    expect_equal(entries(), 2);
}

static void end_family(void)
{
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(entries(), 0);
    expect_equal(cen_registry_free(registry), CEN_OK);
    free_all();
}

TEST(what_a_child_has_registered_goes_with_its_death_and_it_can_register_again)
{
    make_family(CEN_ONE_FOR_ONE);
    die(0, false);
    expect_history("aba");
    expect_equal(entries(), 2);
    end_family();
}

TEST(what_its_group_has_registered_goes_too)
{
    make_family(CEN_ONE_FOR_ALL);
    die(0, false);
    expect_history("abBab");
    expect_equal(entries(), 2);
    end_family();
}

TEST(what_a_child_has_registered_that_is_terminated_goes)
{
    make_family(CEN_ONE_FOR_ONE);
    expect_equal(cen_supervisor_terminate(supervisor, "b", CEN_NEVER, NULL), CEN_OK);
    expect_equal(entries(), 1);
    end_family();
}

/* guarantees: supervisor.limit */
TEST(what_an_abandoned_child_has_registered_goes_and_it_registers_no_more)
{
    cen_owner *owner;
    make_family(CEN_ONE_FOR_ONE);
    kids[1].lingers = true;
    cen_child child = kids[1].child;
    expect_equal(cen_child_owner(child, &owner, NULL), CEN_OK);
    expect_equal(cen_supervisor_terminate(supervisor, "b", CEN_NOW, NULL), CEN_TIMEOUT);
    advance(5 * second);
    expect_equal(look().abandoned, 1);
    expect_equal(entries(), 1);
    cen_owner *late;
    expect_equal(cen_child_owner(child, &late, NULL), CEN_ABSENT);
    expect_equal(cen_registry_register(registry, cen_key_number(99), NULL, owner, NULL, NULL), CEN_CLOSED);
    cen_owner_drop(owner);
    end_family();
}
