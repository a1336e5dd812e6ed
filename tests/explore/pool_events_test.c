/* SPDX-License-Identifier: MIT */
/*
 * Listening, telling, removing, closing and freeing at one time, under every
 * schedule: one call at a time, in the order of telling, none after listen or
 * free has returned, and everything told is heard or counted as lost.
 *
 * The runtime is a manual one, and one of the threads polls: so that the
 * schedules are the pool's and not those of starting helpers. The last test
 * has one with threads.
 */
#include "explore/pools.h"

static cen_runtime *runtime;

/* What was heard. `allowed` is cleared by one who has removed the listener: a
 * call that is under way, or begins, afterwards is a mistake. */
typedef struct ear {
    _Atomic uint32_t allowed, inside;
    uint32_t count;
    int codes[8];
    uint64_t missed;
} ear;

static ear ears[2];

static void hear(void *argument, const cen_event *event, uint64_t missed)
{
    ear *self = argument;
    expect_equal(ceni_load_seq_cst(&self->allowed), 1);
    expect_equal(ceni_add_seq_cst(&self->inside, 1), 0);
    expect(self->count < 8);
    self->codes[self->count++] = event->code;
    self->missed += missed;
    expect_equal(ceni_sub_seq_cst(&self->inside, 1), 1);
    expect_equal(ceni_load_seq_cst(&self->allowed), 1);
}

static void begin_on(cen_runtime_options options)
{
    ceni_world_set_cpus(1);
    memset(ears, 0, sizeof ears);
    ears[0].allowed = ears[1].allowed = 1;
    expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
    begin(0);
    cen_pool_options of_pool = CEN_POOL_OPTIONS(.max = 1, .runtime = runtime);
    expect_equal(cen_pool_new(&of_pool, &pool, NULL), CEN_OK);
}

static void begin_listening(void)
{
    begin_on(CEN_RUNTIME_OPTIONS(.manual = true));
    expect_equal(cen_pool_listen(pool, hear, &ears[0], NULL), CEN_OK);
}

static void tell(int number)
{
    ceni_pool_event_tell(pool, (ceni_occurrence){.kind = CEN_EVENT_RELOADED, .code = number}, "number %d", number);
}

static void poll_once(void *unused)
{
    (void)unused;
    cen_runtime_poll(runtime);
}

static void tell_two(void *unused)
{
    (void)unused;
    tell(1);
    tell(2);
}

static void end_listening(void)
{
    expect_equal(cen_pool_free(pool), CEN_OK);
    ceni_store_seq_cst(&ears[0].allowed, 0);
    ceni_store_seq_cst(&ears[1].allowed, 0);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

/* ---- Order --------------------------------------------------------------------------------------- */

EXPLORE(what_one_thread_tells_is_heard_in_its_order_whoever_delivers_it, 3)
{
    begin_listening();
    ceni_thread teller = start("tell", tell_two, NULL), poller = start("poll", poll_once, NULL);
    join(teller);
    join(poller);
    end_listening();
    expect_equal(ears[0].count, 3);
    expect(ears[0].codes[0] == 1 && ears[0].codes[1] == 2 && ears[0].codes[2] == 0); /* and that the pool was closed */
}

static void listen_second(void *unused)
{
    (void)unused;
    expect_equal(cen_pool_listen(pool, hear, &ears[1], NULL), CEN_OK);
}

EXPLORE(two_who_listen_first_make_one_record_and_one_of_them_hears_the_end, 3)
{
    begin_on(CEN_RUNTIME_OPTIONS(.manual = true));
    ceni_thread other = start("listen", listen_second, NULL), teller = start("tell", tell_two, NULL);
    expect_equal(cen_pool_listen(pool, hear, &ears[0], NULL), CEN_OK);
    join(other);
    join(teller);
    end_listening();
    expect((ears[0].count == 0) != (ears[1].count == 0)); /* nobody polled before the end */
    ear *last = ears[0].count ? &ears[0] : &ears[1];
    expect(last->count + last->missed <= 3 && last->codes[last->count - 1] == 0);
}

/* ---- Removing ---------------------------------------------------------------------------------------- */

EXPLORE(after_a_listener_was_removed_it_is_not_called_while_events_are_delivered, 4)
{
    begin_listening();
    tell_two(NULL);
    ceni_thread poller = start("poll", poll_once, NULL);
    expect_equal(cen_pool_listen(pool, NULL, NULL, NULL), CEN_OK);
    ceni_store_seq_cst(&ears[0].allowed, 0);
    join(poller);
    expect(ears[0].count <= 2);
    end_listening();
}

EXPLORE(after_a_listener_was_removed_it_is_not_called_while_another_tells_and_delivers, 3)
{
    begin_listening();
    ceni_thread teller = start("tell", tell_two, NULL), poller = start("poll", poll_once, NULL);
    expect_equal(cen_pool_listen(pool, NULL, NULL, NULL), CEN_OK);
    ceni_store_seq_cst(&ears[0].allowed, 0);
    join(teller);
    join(poller);
    end_listening();
    for (uint32_t i = 0; i < ears[0].count; i++) expect_equal(ears[0].codes[i], (int)i + 1);
}

EXPLORE(each_event_is_heard_by_one_of_two_listeners_or_counted_as_lost, 3)
{
    begin_listening();
    ceni_thread teller = start("tell", tell_two, NULL), poller = start("poll", poll_once, NULL);
    expect_equal(cen_pool_listen(pool, hear, &ears[1], NULL), CEN_OK);
    ceni_store_seq_cst(&ears[0].allowed, 0);
    join(teller);
    join(poller);
    end_listening(); /* the close is the last event, and says how many were lost before it */
    expect(ears[1].count >= 1);
    expect_equal(ears[0].count + ears[1].count - 1 + ears[0].missed + ears[1].missed, 2);
    int last = 0;
    for (int e = 0; e < 2; e++)
        for (uint32_t i = 0; i < ears[e].count && ears[e].codes[i]; i++) {
            expect(ears[e].codes[i] > last);
            last = ears[e].codes[i];
        }
}

static void remove_here(void *argument, const cen_event *event, uint64_t missed)
{
    hear(argument, event, missed);
    expect_equal(cen_pool_listen(pool, NULL, NULL, NULL), CEN_OK);
}

EXPLORE(a_listener_that_removes_itself_and_one_who_removes_it_do_not_wait_for_each_other, 4)
{
    begin_listening();
    expect_equal(cen_pool_listen(pool, remove_here, &ears[0], NULL), CEN_OK);
    tell_two(NULL);
    ceni_thread poller = start("poll", poll_once, NULL);
    expect_equal(cen_pool_listen(pool, NULL, NULL, NULL), CEN_OK);
    ceni_store_seq_cst(&ears[0].allowed, 0);
    join(poller);
    expect(ears[0].count <= 1);
    end_listening();
}

/* ---- The end -------------------------------------------------------------------------------------------- */

EXPLORE(free_hears_everything_out_and_nothing_is_heard_after_it, 3)
{
    begin_listening();
    tell(1);
    ceni_thread poller = start("poll", poll_once, NULL);
    expect_equal(cen_pool_free(pool), CEN_OK);
    ceni_store_seq_cst(&ears[0].allowed, 0);
    join(poller);
    cen_runtime_poll(runtime); /* if the errand was still posted, its hand */
    expect(ears[0].count == 2 && ears[0].codes[0] == 1);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

static void close_it(void *unused)
{
    (void)unused;
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK);
}

EXPLORE(a_close_a_removal_and_a_delivery_at_one_time_all_end, 3)
{
    begin_listening();
    tell(1);
    ceni_thread closer = start("close", close_it, NULL), poller = start("poll", poll_once, NULL);
    expect_equal(cen_pool_listen(pool, NULL, NULL, NULL), CEN_OK);
    ceni_store_seq_cst(&ears[0].allowed, 0);
    join(closer);
    join(poller);
    end_listening();
    expect(ears[0].count <= 2);
}

/* With a thread that the runtime starts for it. */
EXPLORE(a_helper_and_free_deliver_each_event_once, 3)
{
    begin_on(CEN_RUNTIME_OPTIONS(.idle_timeout_ns = CEN_OFF));
    expect_equal(cen_pool_listen(pool, hear, &ears[0], NULL), CEN_OK);
    tell(1);
    expect_equal(cen_pool_free(pool), CEN_OK);
    ceni_store_seq_cst(&ears[0].allowed, 0);
    expect(ears[0].count == 2 && ears[0].codes[0] == 1);
    ceni_world_settle(); /* free waits for a helper no longer than for a moment */
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}
