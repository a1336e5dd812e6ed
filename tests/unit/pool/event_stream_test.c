/* SPDX-License-Identifier: MIT */
/* What the events of the process hear of a pool, in virtual time. */
#include <cenote/events.h>
#include <cenote/pool_async.h>

#include "pool/internal.h"
#include "record/events.h"
#include "unit/pool/scripted.h"
#include "unit/pool/watchers.h"

/* The world's rings have room for four events, and for two traces: what is to be seen is read at once. */
static cen_event_cursor at;

static void begin_events(void)
{
    ceni_events_switch_on();
    ceni_pool_tells = true;
    at = (cen_event_cursor){.next = 0};
    cen_event passed;
    while (cen_events_read(&at, &passed) == CEN_OK) continue;
}

static void end_events(void)
{
    ceni_pool_tells = false;
}

static void note_number(void *argument, cen_component *it)
{
    *(uint64_t *)argument = cen_component_number(it);
}

/* The next event, of that pool. */
static cen_event expect_event(cen_pool *pool, const char *what, cen_event_level level, int64_t value)
{
    cen_event event = {.what = "nothing"};
    uint64_t number = 0;
    cen_events_read(&at, &event);
    expect_text(event.what, what);
    expect_equal(event.level, level);
    expect_equal(event.value, value);
    expect_text(event.component_kind, "pool");
    expect_text(event.component_name, cen_pool_name(pool));
    visit_pool(pool, note_number, &number);
    expect_equal(event.component, number);
    return event;
}

static void expect_no_events(void)
{
    cen_event event = {.what = "nothing"};
    expect_equal(cen_events_read(&at, &event), CEN_EMPTY);
    expect_text(event.what, "nothing");
}

static void expect_words(const cen_event *event, const char *words)
{
    if (!strstr(event->text, words)) test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", event->text, words);
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* guarantees: pool-api.events */
TEST(every_event_of_a_pool_is_in_the_events_though_nobody_listens)
{
    begin_events();
    workshop shop = {.fail_from = 2, .fail_to = 2, .failure_text = "connection refused"};
    cen_pool *pool = make_pool(.name = "told", .max = 2, .driver = driver_of(&shop));
    cen_lease lease = take_now(pool), other;
    cen_event event = expect_event(pool, "opened", CEN_LEVEL_DETAIL, 0);
    expect_words(&event, "pool \"told\": object 0 opened");
    expect_equal(cen_pool_try_take(pool, &other, NULL), CEN_DRIVER);
    event = expect_event(pool, "open_failed", CEN_LEVEL_WARNING, 1);
    expect_words(&event, "connection refused");
    expect_equal(cen_pool_discard(&lease), CEN_OK);
    event = expect_event(pool, "closed", CEN_LEVEL_DETAIL, 0);
    expect_words(&event, "discarded by its holder");
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    expect_event(pool, "paused", CEN_LEVEL_NOTICE, 0);
    expect_equal(cen_pool_resume(pool, NULL), CEN_OK);
    expect_event(pool, "resumed", CEN_LEVEL_NOTICE, 0);
    expect_equal(cen_pool_reload(pool, 0, NULL), CEN_OK);
    expect_event(pool, "reloaded", CEN_LEVEL_NOTICE, 0);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK);
    expect_event(pool, "pool_closed", CEN_LEVEL_NOTICE, 0);
    expect_no_events();
    free_pool(pool);
    end_events();
}

/* guarantees: pool-api.events */
TEST(what_is_opened_before_the_pool_is_there_bears_its_name_and_no_number)
{
    begin_events();
    workshop shop = {0};
    cen_pool *pool = make_pool(.name = "eager", .max = 1, .driver = driver_of(&shop), .eager = true);
    cen_event event;
    expect_equal(cen_events_read(&at, &event), CEN_OK);
    expect_text(event.what, "opened");
    expect_text(event.component_name, "eager");
    expect_equal(event.component, 0);
    free_pool(pool);
    end_events();
}

static void ignore(void *unused, const cen_event *event, uint64_t missed)
{
    (void)missed;
    (void)unused, (void)event;
}

/* guarantees: pool-api.events */
TEST(a_leak_is_in_the_events_with_how_long_it_was_held_and_the_breaker_as_an_error)
{
    static script s;
    s = (script){.opened = 0, .of[CALL_OPEN] = {.fail_from = 2, .fail_to = 9}};
    begin_events();
    cen_pool *pool =
        begin_life(&s, 0, .name = "leaks", .max = 3, .leak_after_ns = SECOND, .exact_times = false,
                   .backoff_initial_ns = 1000 * SECOND, .backoff_max_ns = 1000 * SECOND, .breaker_failures = 1);
    cen_lease lease = take_now(pool), other;
    cen_object_view holding;
    size_t count;
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
    expect_event(pool, "opened", CEN_LEVEL_DETAIL, 0);
    expect_equal(cen_pool_listen(pool, ignore, NULL, NULL), CEN_OK); /* or it is printed, too */
    pass(2 * SECOND);
    cen_event event;
    expect_equal(cen_events_read(&at, &event), CEN_OK);
    expect_text(event.what, "leak");
    expect(event.level == CEN_LEVEL_WARNING && event.value == 0 && event.held_ns >= SECOND);
    expect_equal(event.kind, CEN_EVENT_LEAK);
    expect(event.holder == cen_thread_number() && event.where[0]);
    expect_equal(cen_pool_try_take(pool, &other, NULL), CEN_DRIVER);
    expect_event(pool, "open_failed", CEN_LEVEL_WARNING, 1);
    expect_event(pool, "breaker_opened", CEN_LEVEL_ERROR, 0);
    give_back(&lease);
    end_life(&s, pool);
    end_events();
}

/* ---- Takes --------------------------------------------------------------------------------------- */

/* guarantees: pool-api.events */
TEST(a_take_that_times_out_is_told_with_its_cause_though_it_wants_no_text)
{
    begin_events();
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "late", .max = 1), 1);
    cen_lease held = take_now(pool), none;
    expect_equal(cen_pool_take(pool, cen_in_s(3), &none, NULL), CEN_TIMEOUT);
    expect_event(pool, "self_wait", CEN_LEVEL_WARNING, 0);
    cen_event event = expect_event(pool, "timed_out", CEN_LEVEL_WARNING, 3 * SECOND);
    expect_words(&event, "pool \"late\": no object after 3000 ms. Self-wait:");
    expect_equal(cen_pool_take(pool, CEN_NOW, &none, NULL), CEN_TIMEOUT); /* it did not want to wait */
    expect_equal(cen_pool_try_take(pool, &none, NULL), CEN_EMPTY);
    expect_no_events();
    give_back(&held);
    free_pool(pool);
    end_events();
}

static void ask_for(cen_pool *pool, cen_take_op *take, cen_error *error)
{
    cen_take_op_init(take, NULL, NULL);
    take->future.error = error;
    expect_equal(cen_pool_take_async_at(pool, cen_in_s(2), take, "ask.c:5"), CEN_OK);
    pass(2 * SECOND);
    expect_equal(take->future.status, CEN_TIMEOUT);
}

/* guarantees: pool-api.events */
TEST(an_ask_that_times_out_is_told_with_or_without_a_text)
{
    begin_events();
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "late", .max = 1), 1);
    cen_lease held = take_now(pool);
    cen_take_op asked;
    cen_error error;
    ask_for(pool, &asked, NULL);
    cen_event event = expect_event(pool, "timed_out", CEN_LEVEL_WARNING, 2 * SECOND);
    expect_words(&event, "an asynchronous take at ask.c:5 waited ");
    expect_words(&event, " and timed out");
    ask_for(pool, &asked, &error);
    event = expect_event(pool, "timed_out", CEN_LEVEL_WARNING, 2 * SECOND);
    expect_words(&event, "no object after 2000 ms. Exhausted:");
    expect_no_events();
    give_back(&held);
    free_pool(pool);
    end_events();
}

/* guarantees: pool-api.events */
TEST(long_waits_are_told_and_neither_short_ones_nor_many_at_a_time)
{
    begin_events();
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "waits", .max = 1), 1);
    const int64_t waits[] = {MS - 1, 5 * MS, 5 * MS, 25 * MS};
    for (int i = 0; i < 4; i++) {
        cen_lease held = take_now(pool);
        taker one;
        begin_take(&one, pool, CEN_NEVER);
        ceni_world_advance(waits[i]);
        give_back(&held);
        expect_taken(&one, 1);
        give_back(&one.lease);
        if (i == 1) {
            cen_event event = expect_event(pool, "waited", CEN_LEVEL_DETAIL, 5 * MS);
            expect_words(&event, "a take at ");
            expect_words(&event, " waited 5000 us and was served");
        }
        if (i == 3) { /* 30 ms after the last that was told */
            cen_event event = expect_event(pool, "waited", CEN_LEVEL_DETAIL, 25 * MS);
            expect_words(&event, " waited 25 ms and was served");
        } else expect_no_events();
    }
    free_pool(pool);
    end_events();
}

/* guarantees: pool-api.events */
TEST(refusals_are_told_once_in_a_while_with_how_many_there_were)
{
    begin_events();
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "full", .max = 1, .max_waiters = 1), 1);
    taker holder, first;
    cen_lease none;
    begin_take(&holder, pool, CEN_NEVER);
    expect_taken(&holder, 1);
    begin_take(&first, pool, CEN_NEVER);
    for (int i = 0; i < 5; i++) expect_equal(cen_pool_take(pool, cen_in_s(1), &none, NULL), CEN_FULL);
    cen_event event = expect_event(pool, "refused", CEN_LEVEL_WARNING, 1);
    expect_words(&event, "wait queue full (max_waiters = 1)");
    expect_no_events();
    ceni_world_advance(100 * MS);
    expect_equal(cen_pool_take(pool, cen_in_s(1), &none, NULL), CEN_FULL);
    expect_event(pool, "refused", CEN_LEVEL_WARNING, 5);
    expect_no_events();
    give_back(&holder.lease);
    expect_taken(&first, 1);
    give_back(&first.lease);
    while (cen_events_read(&at, &event) == CEN_OK) continue;
    free_pool(pool);
    end_events();
}

/* ---- Every pair ------------------------------------------------------------------------------------- */

/* guarantees: pool-api.events */
TEST(with_trace_takes_every_take_and_give_is_traced_and_otherwise_none)
{
    for (int traced = 0; traced < 2; traced++) {
        begin_events();
        cen_pool *pool =
            make_stocked(CEN_POOL_OPTIONS(.name = "pairs", .max = 1, .exact_times = !traced, .trace_takes = traced), 1);
        for (int i = 0; i < 70; i++) {
            cen_lease lease;
            expect_equal(cen_pool_take_at(pool, CEN_NOW, &lease, NULL, "pairs.c:7"), CEN_OK);
            ceni_world_advance(9);
            give_back(&lease);
            if (traced) {
                cen_event event = expect_event(pool, "taken", CEN_LEVEL_TRACE, 0);
                expect_text(event.text, "pairs.c:7");
                expect_text(event.where, "pairs.c:7");
                event = expect_event(pool, "given", CEN_LEVEL_TRACE, 0);
                expect_equal(event.held_ns, 9);
            }
            expect_no_events();
        }
        free_pool(pool);
        end_events();
    }
}
