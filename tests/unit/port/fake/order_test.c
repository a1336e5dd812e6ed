/* SPDX-License-Identifier: MIT */
/* The instrument itself: memory orders that are too weak are found, by stale
 * values and as data races, and those that are strong enough are not. */
#include "unit/port/fake/reports.h"

#include "base/alloc.h"
#include "base/atomic.h"

static _Atomic uint32_t x, y, seen_x, seen_y, gate;

/* ---- Stale values ------------------------------------------------------------------ */

static void store_x_then_y_relaxed(void *unused)
{
    (void)unused;
    ceni_store_relaxed(&x, 1);
    ceni_store_relaxed(&y, 1);
}

static void store_x_release_y(void *unused)
{
    (void)unused;
    ceni_store_relaxed(&x, 1);
    ceni_store_release(&y, 1);
}

static void read_y_then_x(void (*writer)(void *))
{
    x = y = 0;
    ceni_thread a = start("write", writer, NULL);
    if (ceni_load_acquire(&y)) expect(ceni_load_relaxed(&x) == 1);
    join(a);
}

static void message_without_release(void)
{
    read_y_then_x(store_x_then_y_relaxed);
}

static void message_with_release(void)
{
    read_y_then_x(store_x_release_y);
}

PLAIN_TEST(a_message_without_release_arrives_before_its_contents)
{
    expect(reports(&(ceni_exploration){.body = message_without_release, .preemptions = 2, .memory = CENI_MEMORY_WEAK},
                   "ceni_load_relaxed(&x) == 1"));
}

PLAIN_TEST(x86_would_not_have_shown_it)
{
    expect(!fails(&(ceni_exploration){.body = message_without_release, .preemptions = 4, .memory = CENI_MEMORY_TSO},
                  NULL));
}

PLAIN_TEST(a_message_with_release_arrives_whole)
{
    expect(
        !fails(&(ceni_exploration){.body = message_with_release, .preemptions = 4, .memory = CENI_MEMORY_WEAK}, NULL));
}

static void add_x_load_y(void *unused)
{
    (void)unused;
    ceni_add_acq_rel(&x, 1);
    ceni_store_relaxed(&seen_y, ceni_load_acquire(&y));
}

static void add_y_load_x(void *unused)
{
    (void)unused;
    ceni_add_acq_rel(&y, 1);
    ceni_store_relaxed(&seen_x, ceni_load_acquire(&x));
}

/* Right on x86, where every read-modify-write is a barrier; wrong in C11. */
static void dekker_with_acq_rel(void)
{
    x = y = seen_x = seen_y = 0;
    ceni_thread a = start("a", add_x_load_y, NULL), b = start("b", add_y_load_x, NULL);
    join(a);
    join(b);
    expect(ceni_load_relaxed(&seen_x) || ceni_load_relaxed(&seen_y));
}

PLAIN_TEST(publish_then_look_needs_seq_cst_on_both_sides)
{
    expect(reports(&(ceni_exploration){.body = dekker_with_acq_rel, .preemptions = 3, .memory = CENI_MEMORY_WEAK},
                   "seen_x"));
    expect(!fails(&(ceni_exploration){.body = dekker_with_acq_rel, .preemptions = 4, .memory = CENI_MEMORY_TSO}, NULL));
}

static void read_x_twice(void *unused)
{
    (void)unused;
    uint32_t first = ceni_load_relaxed(&x), second = ceni_load_relaxed(&x);
    expect(first <= second);
}

EXPLORE(one_object_never_goes_back_for_one_reader, 4)
{
    x = 0;
    ceni_thread reader = start("read", read_x_twice, NULL);
    for (uint32_t i = 1; i <= 3; i++) ceni_store_relaxed(&x, i);
    join(reader);
}

/* ---- Data races ------------------------------------------------------------------------ */

static _Atomic uint32_t *shared;
static int bytes[2];

static void publish_before_copying(void *unused)
{
    (void)unused;
    static const int seven = 7;
    ceni_store_seq_cst(&gate, 1);
    ceni_watch_copy(&bytes[0], &seven, sizeof seven);
}

static void early_publication(void)
{
    gate = 0;
    bytes[0] = bytes[1] = 0;
    ceni_thread a = start("write", publish_before_copying, NULL);
    if (ceni_load_seq_cst(&gate)) {
        ceni_watch_copy(&bytes[1], &bytes[0], sizeof bytes[0]);
        expect(bytes[1] == 7);
    }
    join(a);
}

PLAIN_TEST(a_copy_on_the_wrong_side_of_its_publication_shows)
{
    expect(reports(&(ceni_exploration){.body = early_publication, .preemptions = 2}, "data race"));
}

static void publish_carelessly(void *unused)
{
    (void)unused;
    static const int seven = 7;
    ceni_watch_copy(&bytes[0], &seven, sizeof seven);
    ceni_store_relaxed(&gate, 1);
}

static void publish_with_care(void *unused)
{
    (void)unused;
    static const int seven = 7;
    ceni_watch_copy(&bytes[0], &seven, sizeof seven);
    ceni_store_release(&gate, 1);
}

static void read_what_is_published(void (*publish)(void *))
{
    gate = 0;
    bytes[0] = bytes[1] = 0;
    ceni_thread a = start("write", publish, NULL);
    if (ceni_load_acquire(&gate)) ceni_watch_copy(&bytes[1], &bytes[0], sizeof bytes[0]);
    join(a);
}

static void relaxed_publication(void)
{
    read_what_is_published(publish_carelessly);
}

static void released_publication(void)
{
    read_what_is_published(publish_with_care);
}

PLAIN_TEST(bytes_published_by_a_relaxed_store_are_a_data_race)
{
    expect(reports(&(ceni_exploration){.body = relaxed_publication, .preemptions = 2}, "data race: main reads bytes"));
}

PLAIN_TEST(bytes_published_by_a_release_are_none)
{
    expect(!fails(&(ceni_exploration){.body = released_publication, .preemptions = 4}, NULL));
}

static void touch_and_tell(void *unused)
{
    (void)unused;
    ceni_store_relaxed(shared, 1);
    ceni_store_relaxed(&gate, 1);
}

/* In every schedule the free comes last; only nothing says that it must. */
static void free_after_a_relaxed_word(void)
{
    gate = 0;
    shared = ceni_alloc(NULL, sizeof *shared, 16);
    ceni_thread a = start("user", touch_and_tell, NULL);
    while (ceni_load_relaxed(&gate) == 0) ceni_pause();
    ceni_free(NULL, (void *)shared, sizeof *shared, 16);
    join(a);
}

PLAIN_TEST(a_free_that_nothing_orders_after_the_last_use_is_a_data_race)
{
    expect(reports(&(ceni_exploration){.body = free_after_a_relaxed_word, .preemptions = 2},
                   "data race: main frees memory"));
}

static _Atomic uint32_t *also_shared;

static void touch_and_release(void *unused)
{
    (void)unused;
    ceni_store_relaxed(also_shared, 1);
    ceni_store_release(shared, 1);
}

/* The store that tells of the end is itself in the memory that is freed. */
EXPLORE(a_free_after_an_acquired_release_is_no_race, 3)
{
    shared = ceni_alloc(NULL, 2 * sizeof *shared, 16);
    also_shared = shared + 1;
    ceni_thread a = start("user", touch_and_release, NULL);
    while (ceni_load_acquire(shared) == 0) ceni_pause();
    ceni_free(NULL, (void *)shared, 2 * sizeof *shared, 16);
    join(a);
}
