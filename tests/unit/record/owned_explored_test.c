/* SPDX-License-Identifier: MIT */
/* What a process makes once, under every schedule: one thread makes it, and those that sleep meanwhile are woken. */
#include "record/owned.h"
#include "support/world.h"

static ceni_owned owned;
static _Atomic uint32_t made; /* carries nothing: what was made */
static _Atomic uint32_t makers;

static void use(void *unused)
{
    (void)unused;
    if (ceni_owned_begin(&owned)) {
        ceni_add_seq_cst(&makers, 1u);
        ceni_store_relaxed(&made, 1u); /* `ready` passes it on; carries nothing */
        ceni_owned_ready(&owned);
    }
    expect_equal(ceni_load_relaxed(&made), 1); /* carries nothing: `begin` has brought it */
}

static void begin(void)
{
    owned = (ceni_owned){0};
    made = makers = 0;
}

/* guarantees: park.owned */
EXPLORE(of_two_threads_one_makes_it_and_the_other_is_woken, 3)
{
    begin();
    ceni_thread other = start("other", use, NULL);
    use(NULL);
    join(other);
    expect_equal(ceni_load_seq_cst(&makers), 1);
}

/* guarantees: park.owned */
EXPLORE(of_three_threads_one_makes_it_and_the_others_are_woken, 2)
{
    begin();
    ceni_thread one = start("one", use, NULL), two = start("two", use, NULL);
    use(NULL);
    join(one);
    join(two);
    expect_equal(ceni_load_seq_cst(&makers), 1);
}
