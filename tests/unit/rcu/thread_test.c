/* SPDX-License-Identifier: MIT */
/* Sections on threads of the system, by liburcu: readers never meet what was released, and ThreadSanitizer agrees. */
#include "explore/rcus.h"
#include "port/port.h"
#include "unit/runtime/runtimes.h"

enum { READERS = 2, SWAPS = 2000, GONE = 13 };

static _Atomic bool over;
static _Atomic uint32_t began; /* futex: readers that have read */
static ceni_bin bin;

static void poison_and_release(ceni_retired *retired)
{
    thing *self = CENI_LIST_ENTRY(retired, thing, retired);
    ceni_store_relaxed(&self->word, GONE); /* nobody can be reading it; carries nothing */
    release_thing(retired);
}

static void read_on(void *unused)
{
    read_once(unused);
    ceni_add_seq_cst(&began, 1);
    ceni_futex_wake(&began, 1);
    while (!ceni_load_acquire(&over)) {
        ceni_read_begin();
        for (int i = 0; i < 100; i++) look_at_published();
        ceni_read_end();
    }
}

static ceni_thread begin_thread(void (*run)(void *), void *argument)
{
    ceni_thread thread;
    int code;
    expect_equal(ceni_thread_start(&thread, "reader", run, argument, &code), CEN_OK);
    return thread;
}

TEST(readers_never_meet_what_was_released_while_it_is_replaced_again_and_again)
{
    cen_runtime *runtime = make_runtime(.name = "bins");
    ceni_thread threads[READERS];
    ceni_rcu_join();
    ceni_bin_init(&bin, runtime);
    ceni_store_release(&published, make_thing());
    for (int i = 0; i < READERS; i++) threads[i] = begin_thread(read_on, NULL);
    for (uint32_t seen; (seen = ceni_load_seq_cst(&began)) < READERS;) ceni_futex_wait(&began, seen, CENI_FOREVER);
    for (int i = 0; i < SWAPS; i++) {
        thing *old = ceni_exchange_acq_rel(&published, make_thing());
        ceni_bin_put(&bin, &old->retired, poison_and_release, i % 50 == 0 ? 8 << 20 : sizeof *old, true);
    }
    ceni_store_release(&over, true);
    for (int i = 0; i < READERS; i++) ceni_thread_join(&threads[i]);
    put_thing(&bin, ceni_exchange_acq_rel(&published, NULL));
    ceni_bin_empty(&bin);
    expect_equal(ceni_load_seq_cst(&released), SWAPS + 1);
    free_runtime(runtime);
}

/* An object with a plain field: ThreadSanitizer does not remember relaxed loads. */
typedef struct plain_object {
    ceni_retired retired;
    int field;
} plain_object;

static _Atomic(plain_object *) shown;
static _Atomic uint32_t turn; /* a relaxed word: it orders nothing */

static void wait_for_turn(uint32_t number)
{
    while (ceni_load_relaxed(&turn) < number) ceni_thread_yield(); /* carries nothing, on purpose */
}

static void read_in_turn(void *unused)
{
    (void)unused;
    ceni_read_begin();
    expect_equal(ceni_load_acquire(&shown)->field, ALIVE);
    ceni_read_end();
    ceni_store_relaxed(&turn, 1); /* carries nothing, on purpose */
    wait_for_turn(2);
}

static void overwrite(ceni_retired *retired)
{
    CENI_LIST_ENTRY(retired, plain_object, retired)->field = GONE;
    ceni_add_seq_cst(&released, 1);
}

/* The section is over when the object is put into the bin. Only the grace period orders the read before the release.
 * ThreadSanitizer reports the release if there is no grace period: in every run, since the turns force the interleaving. */
TEST(a_grace_period_orders_a_read_before_the_release)
{
    static plain_object object = {.field = ALIVE};
    cen_runtime *runtime = make_runtime(.name = "bins");
    ceni_rcu_join();
    ceni_bin_init(&bin, runtime);
    ceni_store_release(&shown, &object);
    ceni_thread reader = begin_thread(read_in_turn, NULL);
    wait_for_turn(1);
    ceni_store_release(&shown, NULL);
    ceni_bin_put(&bin, &object.retired, overwrite, sizeof object, true);
    ceni_bin_empty(&bin);
    expect_equal(ceni_load_seq_cst(&released), 1);
    ceni_store_relaxed(&turn, 2); /* carries nothing, on purpose */
    ceni_thread_join(&reader);
    free_runtime(runtime);
}

/* liburcu notices by itself that a thread which has read is gone. */
TEST(a_grace_period_does_not_wait_for_threads_that_have_ended)
{
    for (int i = 0; i < 20; i++) {
        ceni_thread reader = begin_thread(read_once, NULL);
        ceni_thread_join(&reader);
        ceni_rcu_wait();
    }
}
