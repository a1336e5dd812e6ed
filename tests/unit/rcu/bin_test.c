/* SPDX-License-Identifier: MIT */
/* The bin in a world, one step after the other: what is released when, and by whom. */
#include "base/fault.h"
#include "explore/rcus.h"
#include "support/world.h"
#include "unit/runtime/runtimes.h"

enum { MUCH = 5 << 20 }; /* more than a bin keeps when its putter may wait */

static cen_runtime *runtime;
static ceni_bin bin;

/* A manual runtime runs nothing until somebody asks: what is released meanwhile the caller itself has released. */
static void begin(bool manual)
{
    runtime = manual ? make_runtime(.manual = true, .virtual_time = true) : make_runtime(.name = "bins");
    ceni_bin_init(&bin, runtime);
    ceni_store_relaxed(&released, 0); /* nobody is there yet; carries nothing */
}

static void finish(void)
{
    free_runtime(runtime);
    expect_equal(ceni_world_bytes(), 0);
}

static uint32_t count(void)
{
    return ceni_load_seq_cst(&released);
}

static void put(size_t bytes, bool may_wait)
{
    ceni_bin_put(&bin, &make_thing()->retired, release_thing, bytes, may_wait);
}

TEST(what_is_put_is_released_in_the_runtimes_next_round_and_not_before)
{
    begin(true);
    put(1, true);
    put(1, true);
    expect_equal(count(), 0);
    cen_runtime_poll(runtime);
    expect_equal(count(), 2);
    finish();
}

TEST(a_helper_comes_by_itself)
{
    begin(false);
    put(1, true);
    ceni_world_settle();
    expect_equal(count(), 1);
    ceni_bin_empty(&bin);
    finish();
}

TEST(empty_releases_all_at_once_and_an_empty_bin_can_be_emptied)
{
    begin(true);
    ceni_bin_empty(&bin);
    for (int i = 0; i < 100; i++) put(1, true);
    ceni_bin_empty(&bin);
    expect_equal(count(), 100);
    ceni_bin_empty(&bin);
    finish();
}

/* ---- Sections ---------------------------------------------------------------- */

static _Atomic uint32_t gate;

static void read_until_the_gate_opens(void *unused)
{
    (void)unused;
    ceni_read_begin();
    while (ceni_load_seq_cst(&gate) == 0) ceni_futex_wait(&gate, 0, CENI_FOREVER);
    ceni_read_end();
}

static void open_the_gate(void)
{
    ceni_store_seq_cst(&gate, 1);
    ceni_futex_wake(&gate, UINT32_MAX);
}

TEST(nothing_is_released_while_a_section_is_open)
{
    begin(false);
    ceni_thread reader = start("reader", read_until_the_gate_opens, NULL);
    ceni_world_settle();
    put(1, true);
    ceni_world_settle();
    expect_equal(count(), 0);
    open_the_gate();
    join(reader);
    ceni_bin_empty(&bin);
    expect_equal(count(), 1);
    finish();
}

TEST(what_is_put_while_a_batch_waits_is_released_with_the_next)
{
    begin(false);
    ceni_thread reader = start("reader", read_until_the_gate_opens, NULL);
    ceni_world_settle();
    put(1, true);
    ceni_world_settle(); /* the helper has the first and waits */
    put(1, true);
    open_the_gate();
    ceni_world_settle();
    expect_equal(count(), 2);
    join(reader);
    ceni_bin_empty(&bin);
    finish();
}

TEST(sections_nest_and_only_the_outermost_is_open)
{
    begin(true);
    expect(!ceni_read_is_open());
    ceni_read_begin();
    ceni_read_begin();
    ceni_read_end();
    expect(ceni_read_is_open());
    ceni_read_end();
    expect(!ceni_read_is_open());
    finish();
}

/* ---- Much -------------------------------------------------------------------- */

TEST(who_puts_much_waits_and_releases_itself)
{
    begin(true);
    put(1, true);
    put(MUCH, true);
    expect_equal(count(), 2);
    ceni_bin_empty(&bin);
    finish();
}

TEST(who_puts_much_in_a_section_does_not_wait)
{
    begin(true);
    ceni_read_begin();
    put(MUCH, true);
    expect_equal(count(), 0);
    ceni_read_end();
    ceni_bin_relieve(&bin);
    expect_equal(count(), 1);
    ceni_bin_empty(&bin);
    finish();
}

TEST(who_puts_much_under_a_lock_relieves_the_bin_later)
{
    begin(true);
    put(MUCH, false);
    expect_equal(count(), 0);
    ceni_bin_relieve(&bin);
    expect_equal(count(), 1);
    put(1, false);
    ceni_bin_relieve(&bin);
    expect_equal(count(), 1); /* that is not much */
    ceni_bin_empty(&bin);
    finish();
}

/* ---- A release that puts; the end --------------------------------------------------- */

static void release_and_put_another(ceni_retired *retired)
{
    release_thing(retired);
    put(1, false);
}

TEST(what_a_release_puts_is_released_too)
{
    begin(true);
    ceni_bin_put(&bin, &make_thing()->retired, release_and_put_another, 1, true);
    ceni_bin_empty(&bin);
    expect_equal(count(), 2);
    finish();
}

static unsigned lasts;

static void count_last(ceni_bin *abandoned)
{
    expect(abandoned == &bin);
    lasts++;
}

TEST(an_abandoned_bin_that_is_empty_has_its_last_call_at_once)
{
    begin(true);
    lasts = 0;
    ceni_bin_abandon(&bin, count_last);
    expect_equal(lasts, 1);
    finish();
}

TEST(an_abandoned_bin_has_its_last_call_when_the_last_thing_is_released)
{
    begin(true);
    lasts = 0;
    put(1, true);
    ceni_bin_abandon(&bin, count_last);
    expect_equal(lasts, 0);
    cen_runtime_poll(runtime);
    expect_equal(lasts, 1);
    expect_equal(count(), 1);
    finish();
}

/* ---- No helper ----------------------------------------------------------------- */

static void put_without_a_helper(void)
{
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    put(1, true);
    expect(ceni_fault_disarm());
}

TEST(what_was_put_when_no_helper_could_be_had_is_released_when_one_can)
{
    begin(false);
    put_without_a_helper();
    ceni_world_settle();
    expect_equal(count(), 0);
    ceni_sleep_until(ceni_clock_now() + 1000000000);
    ceni_world_settle();
    expect_equal(count(), 1);
    ceni_bin_empty(&bin);
    finish();
}

TEST(empty_needs_no_helper)
{
    begin(false);
    put_without_a_helper();
    ceni_bin_empty(&bin);
    expect_equal(count(), 1);
    finish();
}
