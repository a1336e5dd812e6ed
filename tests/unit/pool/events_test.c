/* SPDX-License-Identifier: MIT */
/* What a listener is told: which events, in which order, with which texts; and what is lost. */
#include "base/fault.h"
#include "support/printed.h"
#include "unit/pool/ledger.h"
#include "unit/pool/listeners.h"

static cen_pool *pool;
static ear ear_one, ear_two;
static workshop shop;

static void begin(void)
{
    memset(&ear_one, 0, sizeof ear_one);
    memset(&ear_two, 0, sizeof ear_two);
    shop = (workshop){0};
}

/* ---- Arguments ----------------------------------------------------------------------------- */

TEST(listening_needs_a_pool_that_is_open_and_memory)
{
    begin();
    ledger book = {0};
    cen_allocator allocator = allocator_of(&book);
    cen_error error;
    expect_equal(cen_pool_listen(NULL, hear, &ear_one, &error), CEN_INVALID);
    expect_error(&error, CEN_INVALID, "pool is NULL");
    pool = make_pool(.name = "loud", .max = 1, .allocator = &allocator);
    book.exhausted = true;
    expect_equal(cen_pool_listen(pool, hear, &ear_one, &error), CEN_NO_MEMORY);
    expect_error(&error, CEN_NO_MEMORY, "\"loud\"");
    expect_equal(cen_pool_listen(pool, NULL, NULL, &error), CEN_OK);
    tell(pool, 1);
    book.exhausted = false;
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK);
    expect_equal(cen_pool_listen(pool, hear, &ear_one, &error), CEN_CLOSED);
    expect_error(&error, CEN_CLOSED, "\"loud\"");
    expect_equal(cen_pool_listen(pool, NULL, NULL, &error), CEN_OK);
    free_pool(pool);
    expect_equal(ear_one.count, 0);
    expect_equal(book.bytes, 0);
}

TEST(a_pool_that_nobody_listens_to_needs_no_memory_and_no_runtime_to_tell)
{
    begin();
    pool = make_pool(.max = 1);
    uint64_t before = ceni_world_allocations();
    for (int i = 0; i < 1000; i++) tell(pool, i);
    expect_equal(ceni_world_allocations(), before);
    cen_runtime_stats stats = CEN_SIZED(cen_runtime_stats);
    expect_equal(cen_runtime_stats_get(NULL, &stats), CEN_OK);
    expect_equal(stats.users + stats.helpers, 0);
    free_pool(pool);
}

/* ---- What is told ----------------------------------------------------------------------------- */

TEST(events_are_told_in_their_order_on_another_thread_with_time_and_text)
{
    begin();
    pool = make_pool(.name = "loud", .max = 1);
    listen_with(pool, &ear_one);
    int64_t began = ceni_clock_wall();
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    ceni_world_advance(5);
    expect_equal(cen_pool_resume(pool, NULL), CEN_OK);
    expect_equal(cen_pool_reload(pool, 0, NULL), CEN_OK);
    ceni_world_settle();
    expect_equal(ear_one.count, 3);
    expect(ear_one.thread != 0 && ear_one.thread != ceni_thread_id());
    expect_text(ear_one.events[0].text, "pool \"loud\": paused");
    expect_text(ear_one.events[1].text, "pool \"loud\": resumed");
    expect_equal(ear_one.events[0].time_ns, began);
    expect_equal(ear_one.events[1].time_ns, began + 5);
    for (int i = 0; i < 3; i++) {
        expect_equal(ear_one.events[i].value, 0);
        expect_equal(ear_one.events[i].level, CEN_LEVEL_NOTICE);
        expect_equal(ear_one.missed[i], 0);
        expect_text(ear_one.events[i].component_kind, "pool");
        expect_text(ear_one.events[i].component_name, "loud");
    }
    expect_heard(&ear_one, "paused resumed reloaded ");
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK); /* the second changes nothing */
    expect_heard(&ear_one, "paused ");
    free_pool(pool);
    expect_heard(&ear_one, "pool_closed ");
}

TEST(what_becomes_of_objects_is_told_with_the_drivers_number_and_words)
{
    begin();
    shop = (workshop){
        .fail_from = 2, .fail_to = 2, .failure = CEN_SYSTEM, .failure_code = 111, .failure_text = "no route"};
    pool = make_pool(.name = "loud", .max = 3, .driver = driver_of(&shop));
    listen_with(pool, &ear_one);
    cen_lease lease = take_now(pool), none;
    expect_equal(cen_pool_try_take(pool, &none, NULL), CEN_SYSTEM);
    ceni_world_settle();
    expect_equal(ear_one.count, 2);
    expect_equal(ear_one.events[0].value, 0);
    expect_equal(ear_one.events[1].status, CEN_SYSTEM);
    expect_equal(ear_one.events[1].code, 111);
    expect_text(ear_one.events[1].text, "pool \"loud\": cannot open an object: no route");
    expect_equal(cen_pool_discard(&lease), CEN_OK);
    expect_heard(&ear_one, "opened open_failed closed ");
    free_pool(pool);
    expect_heard(&ear_one, "pool_closed ");
}

TEST(L20_a_thread_that_waits_for_what_it_holds_itself_is_told_of)
{
    begin();
    pool = make_stocked(CEN_POOL_OPTIONS(.name = "loud", .max = 2), 2);
    listen_with(pool, &ear_one);
    cen_lease first = take_now(pool), second = take_now(pool), none;
    expect_equal(cen_pool_take(pool, cen_in_ms(5), &none, NULL), CEN_TIMEOUT);
    ceni_world_settle();
    expect_equal(ear_one.events[0].holder, cen_thread_number());
    expect_heard(&ear_one, "self_wait ");
    give_back(&first);
    give_back(&second);
    free_pool(pool);
}

TEST(a_text_that_is_too_long_is_cut)
{
    begin();
    char words[2000];
    memset(words, 'a', sizeof words - 1);
    words[sizeof words - 1] = '\0';
    pool = make_pool(.name = "0123456789012345678901234567890123456789", .max = 1);
    listen_with(pool, &ear_one);
    ceni_pool_event_tell(pool, (ceni_occurrence){.kind = CEN_EVENT_CLOSED}, "%s", words);
    ceni_world_settle();
    expect_equal(ear_one.count, 1);
    expect_equal(strlen(ear_one.events[0].text), CEN_ERROR_TEXT_SIZE - 1);
    expect(strncmp(ear_one.events[0].text, "pool \"0123456789012345678901234567890\": aaaa", 44) == 0);
    free_pool(pool);
}

/* ---- Lost ----------------------------------------------------------------------------------------- */

TEST(events_that_find_the_queue_full_are_lost_and_counted_exactly)
{
    begin();
    pool = make_pool(.max = 1);
    ear_one.stays = true;
    listen_with(pool, &ear_one);
    tell(pool, 0);
    ceni_world_settle(); /* the listener has it, and stays */
    expect_equal(ear_one.count, 1);
    for (int i = 1; i <= 256 + 43; i++) tell(pool, i);
    expect_equal(ear_one.count, 1);
    let_go(&ear_one);
    expect_equal(ear_one.count, 257);
    for (int i = 0; i < 257; i++) {
        expect_equal(ear_one.events[i].code, i);
        expect_equal(ear_one.missed[i], 0);
    }
    tell(pool, 1000);
    tell(pool, 1001);
    ceni_world_settle();
    expect_equal(ear_one.count, 259);
    expect(ear_one.events[257].code == 1000 && ear_one.missed[257] == 43);
    expect(ear_one.events[258].code == 1001 && ear_one.missed[258] == 0);
    free_pool(pool);
}

TEST(a_new_listener_hears_what_happens_from_now_on_and_what_was_queued_for_the_former_is_lost)
{
    begin();
    pool = make_pool(.max = 1);
    ear_one.stays = true;
    listen_with(pool, &ear_one);
    for (int i = 0; i < 10; i++) tell(pool, i);
    ceni_world_settle();
    expect_equal(ear_one.count, 1);
    tell(pool, 10);
    ear_one.stays = false;
    ceni_store_seq_cst(&ear_one.let_go, 1); /* it does not look before it is woken */
    ceni_futex_wake(&ear_one.let_go, 1);
    listen_with(pool, &ear_two); /* returns after the first has returned */
    expect_equal(ear_one.inside, 0);
    tell(pool, 11);
    ceni_world_settle();
    expect_equal(ear_two.count, 1);
    expect_equal(ear_two.events[0].code, 11);
    expect_equal(ear_two.missed[0] + (uint64_t)ear_one.count, 11); /* each of the eleven was heard or is counted */
    free_pool(pool);
}

/* ---- Removing ------------------------------------------------------------------------------------------ */

static bool removed;

static void remove_listener(void *unused)
{
    (void)unused;
    expect_equal(cen_pool_listen(pool, NULL, NULL, NULL), CEN_OK);
    removed = true;
}

TEST(removing_a_listener_waits_until_it_has_returned_and_it_hears_nothing_more)
{
    begin();
    removed = false;
    pool = make_pool(.max = 1);
    ear_one.stays = true;
    listen_with(pool, &ear_one);
    for (int i = 0; i < 3; i++) tell(pool, i);
    ceni_world_settle();
    ceni_thread thread = start("remover", remove_listener, NULL);
    ceni_world_settle();
    expect(!removed && ear_one.inside == 1);
    let_go(&ear_one);
    join(thread);
    expect(removed);
    tell(pool, 9);
    ceni_world_settle();
    expect_equal(ear_one.count, 1);
    listen_with(pool, &ear_two);
    tell(pool, 10);
    ceni_world_settle();
    expect_equal(ear_two.count, 1);
    expect_equal(ear_two.missed[0], 2); /* what nobody listened to is not counted */
    free_pool(pool);
}

/* ---- The end ------------------------------------------------------------------------------------------------ */

TEST(what_happened_before_the_close_is_told_after_it)
{
    begin();
    shop = (workshop){0};
    pool = make_pool(.max = 2, .driver = driver_of(&shop), .eager = true);
    ear_one.stays = true;
    listen_with(pool, &ear_one);
    tell(pool, 1);
    ceni_world_settle();
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK); /* does not wait for the listener */
    expect_equal(ear_one.count, 1);
    let_go(&ear_one);
    expect_heard(&ear_one, "reloaded pool_closed closed closed ");
    free_pool(pool);
    expect_equal(ear_one.count, 0);
}

TEST(free_tells_the_rest_itself_and_waits_for_the_listener)
{
    begin();
    pool = make_pool(.max = 1);
    listen_with(pool, &ear_one);
    tell(pool, 1); /* no helper has begun */
    free_pool(pool);
    expect_equal(ear_one.inside, 0);
    expect_equal(ear_one.thread, ceni_thread_id());
    expect_heard(&ear_one, "reloaded pool_closed ");
}

TEST(a_runtime_can_be_freed_after_a_pool_with_a_listener)
{
    for (int manual = 0; manual < 2; manual++) {
        begin();
        cen_runtime *runtime;
        cen_runtime_options options = CEN_RUNTIME_OPTIONS(.manual = manual);
        expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
        pool = make_pool(.max = 1, .runtime = runtime);
        listen_with(pool, &ear_one);
        tell(pool, 1);
        free_pool(pool);
        expect_heard(&ear_one, "reloaded pool_closed ");
        expect_equal(cen_runtime_free(runtime), CEN_OK);
    }
}

/* ---- Without threads --------------------------------------------------------------------------------------------- */

TEST(a_manual_runtime_tells_in_its_poll)
{
    begin();
    cen_runtime *runtime;
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = true);
    expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
    pool = make_pool(.max = 1, .runtime = runtime);
    listen_with(pool, &ear_one);
    expect_equal(cen_runtime_advance(runtime, 77), CEN_OK);
    for (int i = 0; i < 3; i++) tell(pool, i);
    expect_equal(ear_one.count, 0);
    expect(cen_runtime_poll(runtime) != 0);
    expect_equal(ear_one.count, 3);
    expect_equal(ear_one.thread, ceni_thread_id());
    free_pool(pool);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

static void tell_another(ear *self, const cen_event *event)
{
    self->count = 0;
    tell(self->pool, event->code + 1);
}

TEST(a_listener_that_causes_ever_more_events_does_not_keep_the_poll)
{
    begin();
    cen_runtime *runtime;
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.manual = true);
    expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
    pool = make_pool(.max = 1, .runtime = runtime);
    ear_one.then = tell_another;
    listen_with(pool, &ear_one);
    tell(pool, 0);
    expect_equal(cen_runtime_poll(runtime), 0);
    expect(ear_one.events[0].code > 1000);
    ear_one.then = NULL;
    free_pool(pool);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

TEST(when_no_thread_can_be_had_the_event_waits_for_the_next_round)
{
    begin();
    pool = make_pool(.max = 1, .leak_after_ns = 3600 * SECOND);
    listen_with(pool, &ear_one);
    ceni_world_settle();
    ceni_fault_arm(CENI_FAULT_THREAD, 1); /* the keeper's own thread comes after it */
    tell(pool, 1);
    expect(ceni_fault_disarm());
    ceni_world_settle();
    expect_equal(ear_one.count, 0);
    ceni_world_advance(2 * SECOND);
    expect_heard(&ear_one, "reloaded ");
    free_pool(pool);
}

/* ---- Leaks without a listener ---------------------------------------------------------------------------------------- */

TEST(L18_a_leak_that_nobody_listens_to_is_one_line_on_stderr_and_no_other_event_is)
{
    begin();
    pool = make_stocked(CEN_POOL_OPTIONS(.name = "leaky", .max = 2, .leak_after_ns = 60 * SECOND), 2);
    char text[1000], line[200];
    printed captured = printed_begin();
    cen_lease lease;
    expect_equal(cen_pool_take_at(pool, CEN_NOW, &lease, NULL, "kitchen.c:7"), CEN_OK);
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    expect_equal(cen_pool_resume(pool, NULL), CEN_OK);
    for (int i = 0; i < 30; i++) {
        ceni_world_advance(10 * SECOND);
        ceni_world_settle();
    }
    printed_end(&captured, text, sizeof text);
    snprintf(line, sizeof line,
             "LEAK-DETECTED pool \"leaky\": object 0, held by thread %llu (fiber %llu) for at least ",
             (unsigned long long)ceni_thread_id(), (unsigned long long)ceni_thread_id());
    if (strncmp(text, line, strlen(line)) != 0) test_fail(__FILE__, __LINE__, "\"%s\"", text);
    expect(strchr(text, '\n') == text + strlen(text) - 1); /* one line, and once */
    long long age = 0;
    expect(sscanf(text + strlen(line), "%lld s", &age) == 1 && age >= 60 && age < 300);
    expect(strstr(text, " s, taken at kitchen.c:7\n"));
    give_back(&lease);
    free_pool(pool);
}

TEST(L18_a_leak_that_somebody_listens_to_is_an_event_and_not_printed)
{
    begin();
    pool = make_stocked(CEN_POOL_OPTIONS(.name = "leaky", .max = 2, .leak_after_ns = 60 * SECOND), 2);
    listen_with(pool, &ear_one);
    char text[1000];
    printed captured = printed_begin();
    cen_lease lease;
    expect_equal(cen_pool_take_at(pool, CEN_NOW, &lease, NULL, "kitchen.c:7"), CEN_OK);
    for (int i = 0; i < 30; i++) {
        ceni_world_advance(10 * SECOND);
        ceni_world_settle();
    }
    printed_end(&captured, text, sizeof text);
    expect_text(text, "");
    expect_equal(ear_one.count, 1);
    const cen_event *leak = &ear_one.events[0];
    expect(leak->kind == CEN_EVENT_LEAK && leak->value == 0 && leak->holder == ceni_thread_id());
    expect_text(leak->where, "kitchen.c:7");
    expect(leak->held_ns >= 60 * SECOND);
    give_back(&lease);
    free_pool(pool);
}
