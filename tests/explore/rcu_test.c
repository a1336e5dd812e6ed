/* SPDX-License-Identifier: MIT */
/* Sections and the bin under every schedule. That a thing is freed under a reader is noticed by the world, in the reader. */
#include "explore/rcus.h"
#include "explore/runtimes.h"

static cen_runtime *runtime;
static ceni_bin bin;

static void begin(bool manual)
{
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.manual = manual, .idle_timeout_ns = manual ? 0 : CEN_OFF);
    expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
    ceni_bin_init(&bin, runtime);
    ceni_store_relaxed(&released, 0);             /* nobody is there yet; carries nothing */
    ceni_store_relaxed(&published, make_thing()); /* as above; carries nothing */
}

static void finish(uint32_t things)
{
    ceni_bin_empty(&bin);
    expect_equal(ceni_load_seq_cst(&released), things);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

/* Nobody finds it any more, and it is let go of. */
static void withdraw(void)
{
    thing *old = ceni_exchange_acq_rel(&published, NULL);
    put_thing(&bin, old);
}

EXPLORE(a_grace_period_waits_for_a_section_that_may_have_found_it, 4)
{
    begin(true);
    ceni_thread reader = start("reader", read_once, NULL);
    thing *old = ceni_load_relaxed(&published); /* our own; carries nothing */
    ceni_store_release(&published, NULL);
    ceni_rcu_wait();
    ceni_free(NULL, old, sizeof *old, _Alignof(thing));
    join(reader);
    finish(0);
}

EXPLORE(a_bin_releases_nothing_under_an_open_section, 4)
{
    begin(true);
    ceni_thread reader = start("reader", read_once, NULL);
    withdraw();
    finish(1);
    join(reader);
}

EXPLORE(a_helper_releases_nothing_under_an_open_section, 3)
{
    begin(false);
    ceni_thread reader = start("reader", read_once, NULL);
    withdraw();
    join(reader);
    finish(1);
}

static void read_nested(void *unused)
{
    ceni_read_begin();
    read_once(unused);
    look_at_published();
    ceni_read_end();
}

EXPLORE(the_end_of_an_inner_section_does_not_end_the_outer, 4)
{
    begin(true);
    ceni_thread reader = start("reader", read_nested, NULL);
    withdraw();
    finish(1);
    join(reader);
}

static void put_one(void *unused)
{
    (void)unused;
    put_thing(&bin, make_thing());
}

EXPLORE(empty_returns_when_all_that_was_put_has_been_released, 3)
{
    begin(false);
    put_one(NULL);
    withdraw();
    finish(2);
}

EXPLORE(two_who_put_at_once_lose_nothing, 2)
{
    begin(false);
    ceni_thread other = start("other", put_one, NULL);
    withdraw();
    join(other);
    finish(2);
}

static _Atomic uint32_t lasts;

static void free_bin(ceni_bin *abandoned)
{
    ceni_free(NULL, abandoned, sizeof *abandoned, _Alignof(ceni_bin));
    ceni_add_seq_cst(&lasts, 1);
}

/* Its memory is given back in the last call: who touches it later is caught. */
EXPLORE(an_abandoned_bin_is_touched_by_nobody_after_its_last_call, 3)
{
    begin(false);
    ceni_store_relaxed(&lasts, 0); /* nobody is there yet; carries nothing */
    ceni_bin *abandoned = ceni_alloc(NULL, sizeof *abandoned, _Alignof(ceni_bin));
    expect(abandoned != NULL);
    ceni_bin_init(abandoned, runtime);
    put_thing(abandoned, ceni_exchange_acq_rel(&published, NULL));
    ceni_bin_abandon(abandoned, free_bin);
    cen_status status;
    while ((status = cen_runtime_free(runtime)) == CEN_BUSY) ceni_thread_yield(); /* its job is still queued */
    expect_equal(status, CEN_OK);
    expect_equal(ceni_load_seq_cst(&lasts), 1);
    expect_equal(ceni_load_seq_cst(&released), 1);
    expect_equal(ceni_world_bytes(), 0);
}
