/* SPDX-License-Identifier: MIT */
/* Threads of the system as owners: however one ends, its entries are gone when it was joined, and listeners were told. */
#include <pthread.h>

#include "unit/registry/registries.h"

static _Atomic int ended_told, others_told;

static void count_tales(void *argument, const cen_registered *change)
{
    (void)argument;
    if (change->change != CEN_UNREGISTERED) return;
    if (change->reason == CEN_REASON_OWNER_ENDED) atomic_fetch_add(&ended_told, 1);
    else atomic_fetch_add(&others_told, 1);
}

static void prepare(void)
{
    atomic_store(&ended_told, 0);
    atomic_store(&others_told, 0);
    registry = new_registry(CEN_REGISTRY_OPTIONS(.kind = CEN_DUPLICATE, .listener = count_tales));
}

static void finish(int expected)
{
    expect_equal(count_of("topic"), 0);
    expect_equal(look().entries, 0);
    expect_equal(atomic_load(&ended_told), expected);
    expect_equal(cen_registry_free(registry), CEN_OK);
    expect_equal(atomic_load(&others_told), 0);
}

static pthread_t begin(void *(*run)(void *))
{
    pthread_t thread;
    expect_equal(pthread_create(&thread, NULL, run, NULL), 0);
    return thread;
}

static void *return_from_it(void *unused)
{
    put("topic", 1, NULL);
    put("topic", 2, NULL);
    return unused;
}

/* guarantees: registry.owner */
TEST(a_thread_that_returns_takes_its_entries_along)
{
    prepare();
    for (int i = 0; i < 20; i++) {
        pthread_join(begin(return_from_it), NULL);
        expect_equal(count_of("topic"), 0);
    }
    finish(40);
}

static void *exit_from_it(void *unused)
{
    put("topic", 1, NULL);
    cen_read_begin(); /* ends with the thread, too: nobody may wait for it for ever */
    cen_read_end();
    pthread_exit(unused);
}

/* guarantees: registry.owner */
TEST(a_thread_that_calls_pthread_exit_takes_its_entries_along)
{
    prepare();
    pthread_join(begin(exit_from_it), NULL);
    finish(1);
}

static void *be_cancelled(void *unused)
{
    put("topic", 1, NULL);
    put("other", 2, NULL);
    /* Not in a call that waits: ThreadSanitizer would hear nothing more of what the thread does after it. */
    while (!unused) pthread_testcancel();
    return unused;
}

/* guarantees: registry.owner */
TEST(a_thread_that_is_cancelled_takes_its_entries_along)
{
    prepare();
    pthread_t thread = begin(be_cancelled);
    while (count_of("other") == 0) ceni_thread_yield();
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    finish(2);
}

/* ---- After the program's own destructors ------------------------------------------------------------------------- */

static pthread_key_t key;

static void look_in_destructor(void *value)
{
    (void)value;
    expect_equal(count_of("topic"), 1); /* still there */
    expect_equal(cen_registry_unregister(registry, cen_key_text("topic"), NULL, NULL), CEN_OK);
    put("topic", 3, NULL);
}

static void *end_with_destructor(void *unused)
{
    expect_equal(pthread_setspecific(key, &key), 0);
    put("topic", 1, NULL);
    return unused;
}

TEST(a_destructor_of_the_program_finds_what_its_thread_has_registered)
{
    prepare();
    expect_equal(pthread_key_create(&key, look_in_destructor), 0);
    pthread_join(begin(end_with_destructor), NULL);
    expect_equal(count_of("topic"), 0);
    expect_equal(atomic_load(&others_told), 1);
    atomic_store(&others_told, 0);
    finish(1);
    pthread_key_delete(key);
}

static int again;

static void register_again(void *argument, const cen_registered *change)
{
    (void)argument;
    if (change->reason == CEN_REASON_OWNER_ENDED && again++ == 0) put("again", 2, NULL);
}

TEST(what_a_listener_registers_while_its_thread_ends_goes_too)
{
    again = 0;
    registry = new_registry(CEN_REGISTRY_OPTIONS(.kind = CEN_DUPLICATE, .listener = register_again));
    pthread_join(begin(exit_from_it), NULL);
    expect_equal(again, 2);
    expect_equal(look().owner_ended, 2);
    expect_equal(look().entries, 0);
    expect_equal(cen_registry_free(registry), CEN_OK);
}

/* ---- Cancellation -------------------------------------------------------------------------------------------------- */

static int state_inside;

static void look_at_state(void)
{
    expect_equal(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_inside), 0);
    expect_equal(state_inside, PTHREAD_CANCEL_DISABLE);
}

static void look_in_listener(void *argument, const cen_registered *change)
{
    (void)argument, (void)change;
    look_at_state();
}

static void look_in_release(void *argument, void *value)
{
    (void)argument, (void)value;
    look_at_state();
    pthread_testcancel();
}

TEST(listeners_and_release_are_called_with_cancellation_disabled)
{
    int now;
    make_registry(.kind = CEN_UNIQUE, .listener = look_in_listener, .release = look_in_release);
    state_inside = -1;
    put("key", 1, NULL);
    expect_equal(state_inside, PTHREAD_CANCEL_DISABLE);
    expect_equal(cen_registry_unregister(registry, cen_key_text("key"), NULL, NULL), CEN_OK);
    state_inside = -1;
    empty_bin();
    expect_equal(state_inside, PTHREAD_CANCEL_DISABLE);
    expect_equal(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &now), 0);
    expect_equal(now, PTHREAD_CANCEL_ENABLE);
    end_registry();
}
