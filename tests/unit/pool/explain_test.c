/* SPDX-License-Identifier: MIT */
/*
 * Why there is no object: each cause is named in the text of the take that
 * failed, with counts that agree, the right holder and the right age; and
 * cen_pool_explain says the same at length.
 */
#include "unit/pool/listeners.h"

#define MS INT64_C(1000000)

static cen_pool *pool;
static workshop shop;

static void expect_says(const char *text, const char *words)
{
    if (!strstr(text, words)) test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", text, words);
}

static void expect_not_says(const char *text, const char *words)
{
    if (strstr(text, words)) test_fail(__FILE__, __LINE__, "\"%s\" says \"%s\"", text, words);
}

static unsigned count_before(const char *text, const char *words)
{
    const char *at = strstr(text, words);
    if (!at) return 0;
    while (at > text && at[-1] == ' ') at--;
    while (at > text && at[-1] >= '0' && at[-1] <= '9') at--;
    unsigned count = 0;
    expect(sscanf(at, "%u", &count) == 1);
    return count;
}

/* Every object is in one of the counts. */
static void expect_counts_agree(const char *text, unsigned live)
{
    const char *counts = strstr(text, "max is ");
    expect(counts != NULL);
    counts = strchr(counts, ':') + 1;
    expect_equal(count_before(counts, " held,") + count_before(counts, " idle") + count_before(counts, " opening") +
                     count_before(counts, " changing hands") + count_before(counts, " resetting") +
                     count_before(counts, " testing") + count_before(counts, " closing") +
                     count_before(counts, " revoked"),
                 live);
}

static void take_at(cen_lease *lease, const char *where)
{
    expect_equal(cen_pool_take_at(pool, CEN_NOW, lease, NULL, where), CEN_OK);
}

/* A take from another thread, which holds nothing. */
static void run_until_it_fails(taker *one, cen_deadline deadline, cen_status status)
{
    begin_take(one, pool, deadline);
    join(one->thread);
    expect_equal(one->status, status);
    expect_equal(one->error.status, status);
    expect(strncmp(one->error.text, "pool \"", 6) == 0);
    expect(memchr(one->error.text, '\0', sizeof one->error.text) != NULL);
}

/* ---- Timeouts ------------------------------------------------------------------------------------ */

TEST(L18_a_timeout_says_how_long_it_waited_how_many_wait_and_who_holds_them_since_when)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.name = "orders", .max = 2, .exact_times = true), 2);
    cen_lease leases[2];
    take_at(&leases[0], "cellar.c:11");
    ceni_world_advance(3 * SECOND);
    take_at(&leases[1], "kitchen.c:22");
    taker one, other;
    begin_take(&other, pool, CEN_NEVER);
    run_until_it_fails(&one, cen_in_ms(500), CEN_TIMEOUT);
    const char *text = one.error.text;
    expect_because(&one.error, CEN_CAUSE_EXHAUSTED);
    expect(strncmp(text, "pool \"orders\": no object after 500 ms. Exhausted: ", 49) == 0);
    expect_says(text, "max is 2: 2 held, 0 idle, 0 opening; 1 waiting.");
    char holder[200];
    snprintf(holder, sizeof holder,
             "Held longest: object 0, held by thread %llu (fiber %llu) for at least 3500 ms, taken at cellar.c:11.",
             (unsigned long long)cen_thread_number(), (unsigned long long)cen_thread_number());
    expect_says(text, holder);
    expect_not_says(text, "kitchen");
    expect_counts_agree(text, 2);
    give_back(&leases[0]);
    expect_taken(&other, 1);
    give_back(&other.lease);
    give_back(&leases[1]);
    free_pool(pool);
}

TEST(L18_ages_without_exact_times_are_at_least_and_begin_with_the_first_look)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    cen_lease lease;
    take_at(&lease, "cellar.c:11");
    ceni_world_advance(100 * SECOND);
    taker one;
    run_until_it_fails(&one, CEN_NOW, CEN_TIMEOUT);
    expect_says(one.error.text, " for an unknown time, taken at cellar.c:11");
    expect_not_says(one.error.text, "at least 0");
    ceni_world_advance(30 * SECOND);
    run_until_it_fails(&one, CEN_NOW, CEN_TIMEOUT);
    expect_says(one.error.text, "for at least 30 s, taken at cellar.c:11");
    give_back(&lease);
    free_pool(pool);
}

TEST(L18_a_holder_is_not_blamed_for_how_long_the_one_before_it_had_the_object)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    cen_lease lease;
    taker one;
    take_at(&lease, "cellar.c:11");
    run_until_it_fails(&one, CEN_NOW, CEN_TIMEOUT);
    ceni_world_advance(3600 * SECOND);
    run_until_it_fails(&one, CEN_NOW, CEN_TIMEOUT);
    expect_says(one.error.text, "at least 60 min, taken at cellar.c:11");
    give_back(&lease);
    take_at(&lease, "kitchen.c:22");
    run_until_it_fails(&one, CEN_NOW, CEN_TIMEOUT);
    expect_says(one.error.text, "for an unknown time, taken at kitchen.c:22");
    expect_not_says(one.error.text, "min");
    expect_not_says(one.error.text, "cellar");
    give_back(&lease);
    free_pool(pool);
}

/* guarantees: overload.causes */
TEST(L18_one_who_holds_an_object_far_longer_than_others_is_suspected)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.name = "orders", .max = 3, .exact_times = true), 3);
    cen_lease leases[3];
    take_at(&leases[0], "cellar.c:11");
    take_at(&leases[1], "leak.c:5");
    give_back(&leases[0]);
    ceni_world_advance(61 * SECOND);
    take_at(&leases[0], "cellar.c:11");
    take_at(&leases[2], "cellar.c:12");
    taker one;
    run_until_it_fails(&one, cen_in_ms(100), CEN_TIMEOUT);
    expect_because(&one.error, CEN_CAUSE_LEAK);
    expect_says(one.error.text, "Leak suspected: object 1, held by thread ");
    expect_says(one.error.text, "for at least 61 s, taken at leak.c:5; the youngest known lease is less than a tenth");
    expect_not_says(one.error.text, "Held longest"); /* it is named already */
    for (int i = 0; i < 3; i++) give_back(&leases[i]);
    free_pool(pool);
}

TEST(L18_if_nothing_came_back_for_long_a_leak_is_suspected)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 2, .exact_times = true), 2);
    cen_lease leases[2];
    for (int i = 0; i < 2; i++) take_at(&leases[i], "leak.c:5");
    ceni_world_advance(120 * SECOND);
    taker one;
    run_until_it_fails(&one, cen_in_ms(100), CEN_TIMEOUT);
    expect_because(&one.error, CEN_CAUSE_LEAK);
    expect_says(one.error.text, "nothing was given back in the last 60 s");
    for (int i = 0; i < 2; i++) give_back(&leases[i]);
    free_pool(pool);
}

/* guarantees: overload.causes */
TEST(L18_a_timeout_of_a_paused_pool_says_so)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 2), 2);
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    taker one;
    run_until_it_fails(&one, cen_in_ms(100), CEN_TIMEOUT);
    expect_because(&one.error, CEN_CAUSE_PAUSED);
    expect_says(one.error.text, "Paused: ");
    expect_says(one.error.text, "0 held, 2 idle");
    free_pool(pool);
}

/* guarantees: overload.causes */
TEST(L20_a_thread_that_waits_for_itself_is_told_so)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 2), 2);
    cen_lease leases[2], none;
    cen_error error;
    for (int i = 0; i < 2; i++) take_at(&leases[i], "cellar.c:11");
    expect_equal(cen_pool_take(pool, cen_in_ms(10), &none, &error), CEN_TIMEOUT);
    expect_says(error.text, "Self-wait: this thread holds all of them itself.");
    expect_because(&error, CEN_CAUSE_SELF_WAIT);
    expect_equal(cen_pool_try_take(pool, &none, &error), CEN_EMPTY);
    expect_because(&error, CEN_CAUSE_SELF_WAIT);
    taker one;
    run_until_it_fails(&one, cen_in_ms(10), CEN_TIMEOUT); /* another thread does not */
    expect_because(&one.error, CEN_CAUSE_EXHAUSTED);
    for (int i = 0; i < 2; i++) give_back(&leases[i]);
    free_pool(pool);
}

/* guarantees: overload.causes */
TEST(a_pool_that_has_and_makes_no_objects_says_so)
{
    pool = make_pool(.max = 2);
    taker one;
    run_until_it_fails(&one, cen_in_ms(10), CEN_TIMEOUT);
    expect_because(&one.error, CEN_CAUSE_NO_OBJECTS);
    expect_says(one.error.text, "Empty: ");
    free_pool(pool);
}

TEST(a_place_that_is_long_is_shown_by_its_end)
{
    char where[400];
    memset(where, 'd', sizeof where);
    memcpy(where + sizeof where - 13, "/cellar.c:11", 13);
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    cen_lease lease;
    take_at(&lease, where);
    taker one;
    run_until_it_fails(&one, CEN_NOW, CEN_TIMEOUT);
    expect_says(one.error.text, "taken at ...ddd");
    expect_says(one.error.text, "ddd/cellar.c:11.");
    give_back(&lease);
    free_pool(pool);
}

/* ---- Others than timeouts ----------------------------------------------------------------------------- */

TEST(L18_a_take_that_is_refused_because_enough_wait_says_so)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.name = "orders", .max = 1, .max_waiters = 1), 1);
    cen_lease lease = take_now(pool);
    taker first, second;
    begin_take(&first, pool, CEN_NEVER);
    run_until_it_fails(&second, cen_in_s(1), CEN_FULL);
    expect_because(&second.error, CEN_CAUSE_QUEUE_FULL);
    expect_says(second.error.text,
                "pool \"orders\": wait queue full (max_waiters = 1); try again in about 1000 us. Exhausted: ");
    expect_says(second.error.text, "1 held, 0 idle, 0 opening; 1 waiting.");
    give_back(&lease);
    expect_taken(&first, 1);
    give_back(&first.lease);
    free_pool(pool);
}

TEST(L18_a_take_that_was_interrupted_says_so_and_how_long_it_had_waited)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.name = "orders", .max = 1), 1);
    cen_lease lease = take_now(pool);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    ceni_world_advance(700 * MS);
    expect(cen_pool_interrupt(pool, one.thread.handle + 1)); /* a world numbers its threads from 1 */
    expect_answer(&one, CEN_INTERRUPTED);
    expect_because(&one.error, CEN_CAUSE_INTERRUPTED);
    expect_says(one.error.text, "pool \"orders\": interrupted after 700 ms. Exhausted: ");
    give_back(&lease);
    free_pool(pool);
}

TEST(an_empty_strict_pool_says_that_others_come_first)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1, .max_barging_ns = CEN_NONE), 1);
    cen_lease lease = take_now(pool), none;
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    cen_error error;
    expect_equal(cen_pool_try_take(pool, &none, &error), CEN_EMPTY);
    expect_says(error.text, "no idle object. ");
    expect_says(error.text, "; 1 waiting.");
    give_back(&lease);
    expect_taken(&one, 1);
    give_back(&one.lease);
    free_pool(pool);
}

/* ---- Opening fails ------------------------------------------------------------------------------------------ */

static void make_failing(cen_pool_options options)
{
    shop = (workshop){.fail_from = 2,
                      .fail_to = 99,
                      .failure = CEN_SYSTEM,
                      .failure_code = 111,
                      .failure_text = "connection refused"};
    options.driver = driver_of(&shop);
    options.backoff_initial_ns = 1000 * SECOND; /* random up to this */
    options.backoff_max_ns = 1000 * SECOND;
    pool = make_from(options);
}

TEST(L18_a_timeout_while_opening_fails_says_what_the_driver_said_and_when_it_is_tried_again)
{
    make_failing(CEN_POOL_OPTIONS(.name = "orders", .max = 3));
    cen_lease lease = take_now(pool);
    taker one;
    run_until_it_fails(&one, CEN_NOW, CEN_SYSTEM); /* the very take that tried */
    expect_because(&one.error, CEN_CAUSE_OPENING_FAILED);
    run_until_it_fails(&one, cen_in_ms(2), CEN_TIMEOUT);
    expect_because(&one.error, CEN_CAUSE_OPENING_FAILED);
    expect_says(one.error.text, "Driver error: opening failed 1 time in a row, last: cannot open an object: "
                                "connection refused (CEN_SYSTEM, code 111); next attempt in ");
    expect_not_says(one.error.text, "breaker");
    expect_equal(one.error.code, 111);
    expect_counts_agree(one.error.text, 1);
    give_back(&lease);
    free_pool(pool);
}

TEST(L18_a_take_that_is_refused_because_nothing_can_be_opened_answers_what_the_driver_did)
{
    make_failing(CEN_POOL_OPTIONS(.name = "orders", .max = 3, .breaker_failures = 1));
    shop.fail_from = 1;
    taker one;
    run_until_it_fails(&one, CEN_NOW, CEN_SYSTEM);
    run_until_it_fails(&one, cen_in_s(1), CEN_SYSTEM);
    expect_because(&one.error, CEN_CAUSE_BREAKER_OPEN);
    expect(strncmp(one.error.text, "pool \"orders\": opening failed 1 time in a row, last: ", 52) == 0);
    expect_says(one.error.text,
                "connection refused (CEN_SYSTEM, code 111); the circuit breaker is open; next attempt in ");
    expect_equal(one.error.code, 111);
    cen_lease none;
    expect_equal(cen_pool_take(pool, cen_in_s(1), &none, NULL), CEN_SYSTEM);
    free_pool(pool);
}

TEST(a_driver_that_timed_out_is_not_taken_for_the_takes_own_deadline)
{
    make_failing(CEN_POOL_OPTIONS(.name = "orders", .max = 3, .breaker_failures = 1));
    shop.fail_from = 1;
    shop.failure = CEN_TIMEOUT;
    taker one;
    run_until_it_fails(&one, CEN_NOW, CEN_TIMEOUT); /* the driver's own answer, to the take that tried */
    run_until_it_fails(&one, cen_in_s(1), CEN_DRIVER);
    expect_says(one.error.text, "(CEN_TIMEOUT, code 111)");
    free_pool(pool);
}

TEST(L18_with_all_objects_in_use_a_failed_opening_is_mentioned_and_not_blamed)
{
    make_failing(CEN_POOL_OPTIONS(.name = "orders", .max = 2));
    cen_lease first = take_now(pool), none;
    expect_equal(cen_pool_try_take(pool, &none, NULL), CEN_SYSTEM);
    expect_equal(cen_pool_resize(pool, 1, NULL), CEN_OK);
    taker one;
    run_until_it_fails(&one, cen_in_ms(2), CEN_TIMEOUT);
    expect_because(&one.error, CEN_CAUSE_EXHAUSTED);
    expect_says(one.error.text, "Also, opening failed 1 time in a row, last: ");
    give_back(&first);
    free_pool(pool);
}

/* ---- A driver that blocks --------------------------------------------------------------------------------------- */

static _Atomic uint32_t door;

static cen_status open_slowly(void *argument, void **out, cen_error *error)
{
    (void)error;
    while (ceni_load_seq_cst(&door) == 0) ceni_futex_wait(&door, 0, CENI_FOREVER);
    *out = argument;
    return CEN_OK;
}

/* guarantees: overload.causes */
TEST(L18_a_timeout_while_an_opening_is_under_way_says_so)
{
    static const cen_driver_calls calls = {
        .size = sizeof calls, .open = open_slowly, .closes_nothing = true, .blocks = true};
    door = 0;
    pool = make_pool(.name = "orders", .max = 1, .driver = {&calls, &door});
    cen_lease none;
    cen_error error;
    expect_equal(cen_pool_try_take(pool, &none, &error), CEN_EMPTY);
    expect(error.cause == CEN_CAUSE_NOT_OPENED || error.cause == CEN_CAUSE_OPENING_SLOW);
    taker one;
    run_until_it_fails(&one, cen_in_ms(20), CEN_TIMEOUT);
    expect_because(&one.error, CEN_CAUSE_OPENING_SLOW);
    expect_says(one.error.text, "Opening is slow: 1 in progress. max is 1: 0 held, 0 idle, 1 opening; 0 waiting.");
    ceni_store_seq_cst(&door, 1);
    ceni_futex_wake(&door, 9);
    ceni_world_settle();
    free_pool(pool);
    ceni_world_settle(); /* its helpers end */
}

/* ---- Explain ---------------------------------------------------------------------------------------------------------- */

static char text[4000];

/* The cause that a description has, decided with its sentence. */
#define expect_explained(cause) \
    expect_text(cen_cause_name(ceni_pool_explain_briefly(pool, NULL, 0)), cen_cause_name(cause))

static const char *explain(void)
{
    size_t needed = cen_pool_explain(pool, text, sizeof text);
    expect_equal(needed, strlen(text) + 1);
    expect(text[strlen(text) - 1] == '\n');
    return text;
}

TEST(explain_says_that_there_is_no_pool_and_never_writes_beyond_its_room)
{
    expect_equal(cen_pool_explain(NULL, text, sizeof text), strlen(text) + 1);
    expect_says(text, "pool is NULL");
    pool = make_stocked(CEN_POOL_OPTIONS(.name = "orders", .max = 2), 1);
    size_t needed = cen_pool_explain(pool, NULL, 0);
    char whole[400], cut[400];
    expect_equal(cen_pool_explain(pool, NULL, 99), needed);
    expect_equal(cen_pool_explain(pool, whole, sizeof whole), needed);
    for (size_t room = 0; room <= needed; room++) {
        memset(cut, 0x5A, sizeof cut);
        expect_equal(cen_pool_explain(pool, cut, room), needed);
        expect(cut[room] == 0x5A);
        if (room == 0) continue;
        expect_equal(strlen(cut), room - 1);
        expect(strncmp(cut, whole, room - 1) == 0);
    }
    free_pool(pool);
}

TEST(explain_lists_the_five_oldest_holders_the_oldest_first)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.name = "orders", .max = 8, .exact_times = true), 8);
    static const int order[] = {4, 0, 6, 2, 7, 1, 5, 3}; /* in which they are taken */
    cen_lease leases[8], other[8];
    static const char *const places[] = {"at 0", "at 1", "at 2", "at 3", "at 4", "at 5", "at 6", "at 7"};
    for (int i = 0; i < 8; i++) take_at(&other[i], "all");
    for (int i = 0; i < 8; i++) {
        give_back(&other[order[i]]);
        take_at(&leases[i], places[i]);
        ceni_world_advance(SECOND);
    }
    explain();
    const char *at = strstr(text, "Held longest:\n");
    expect(at != NULL);
    for (int i = 0; i < 5; i++) {
        char line[120];
        snprintf(line, sizeof line, "\n  object %d, held by thread %llu (fiber %llu) for at least %d ms, taken at %s",
                 order[i], (unsigned long long)cen_thread_number(), (unsigned long long)cen_thread_number(),
                 (8 - i) * 1000, places[i]);
        at = strstr(at, line);
        if (!at) test_fail(__FILE__, __LINE__, "no \"%s\" in \"%s\"", line, text);
    }
    expect_says(at, "\n  and 3 more\n");
    expect_says(text, "max is 8: 8 held, 0 idle, 0 opening; 0 waiting.");
    for (int i = 0; i < 8; i++) give_back(&leases[i]);
    expect_says(explain(), "pool \"orders\": a take gets an idle object or opens one.\n");
    expect_not_says(text, "Held longest");
    free_pool(pool);
}

/* guarantees: overload.causes */
TEST(explain_names_a_leak_first_also_where_a_take_would_be_served)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.name = "orders", .max = 2, .leak_after_ns = 5 * SECOND), 2);
    cen_lease lease, other;
    take_at(&lease, "report.c:7");
    ceni_world_advance(4 * SECOND);
    expect_says(explain(), "pool \"orders\": a take gets an idle object or opens one.\n");
    ceni_world_advance(5 * SECOND); /* the age counts from the first look */
    explain();
    expect(strncmp(text, "pool \"orders\": Leak: object ", 28) == 0);
    expect_explained(CEN_CAUSE_LEAK);
    expect_says(text, "taken at report.c:7 (leak_after_ns is 5000 ms). A take gets an idle object or opens one.\n");
    take_at(&other, "order.c:1");
    expect_says(explain(), "(leak_after_ns is 5000 ms). Exhausted: all objects are in use");
    expect_explained(CEN_CAUSE_LEAK);
    give_back(&other);
    give_back(&lease);
    expect_says(explain(), "pool \"orders\": a take gets an idle object or opens one.\n");
    expect_explained(CEN_CAUSE_NONE);
    free_pool(pool);
}

TEST(explain_tells_of_those_who_wait_and_of_those_who_gave_up)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1, .max_waiters = 1), 1);
    cen_lease lease = take_now(pool);
    taker one, late;
    run_until_it_fails(&late, cen_in_ms(200), CEN_TIMEOUT);
    begin_take(&one, pool, CEN_NEVER);
    run_until_it_fails(&late, cen_in_ms(200), CEN_FULL);
    ceni_world_advance(1500 * MS);
    explain();
    expect_says(text, "Takes that waited: 2; 0 served, 1 timed out, 0 failed otherwise, 1 still waiting, "
                      "the first for 1500 ms");
    expect_says(text, ", max 200 ms.\n");
    expect_says(text, "Takes refused because the wait queue was full (max_waiters): 1.\n");
    give_back(&lease);
    expect_taken(&one, 1);
    give_back(&one.lease);
    free_pool(pool);
}

TEST(explain_tells_of_a_failed_opening_while_it_fails_and_after_it_works_again)
{
    make_failing(CEN_POOL_OPTIONS(.max = 2, .breaker_failures = 1));
    cen_lease first = take_now(pool), second;
    expect_equal(cen_pool_try_take(pool, &second, NULL), CEN_SYSTEM);
    expect_says(explain(),
                "Driver error: opening failed 1 time in a row, last: cannot open an object: connection refused");
    expect_says(text, "the circuit breaker is open; next attempt in ");
    expect_explained(CEN_CAUSE_BREAKER_OPEN);
    shop.fail_to = 2;
    cen_pool_stats s = expect_sound(pool);
    ceni_world_advance(s.next_open_ns + SECOND);
    ceni_world_settle();
    second = take_now(pool);
    expect_says(explain(), "Opening works again; it last failed ");
    expect_says(text, "connection refused (CEN_SYSTEM, code 111).\n");
    give_back(&first);
    give_back(&second);
    free_pool(pool);
}

TEST(explain_says_that_a_pool_is_paused_or_closed)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 2), 2);
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    expect_says(explain(), "Paused: ");
    expect_explained(CEN_CAUSE_PAUSED);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK);
    expect_says(explain(), "Closed: ");
    expect_explained(CEN_CAUSE_CLOSED);
    free_pool(pool);
}

TEST(explain_allocates_nothing)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 3), 3);
    cen_lease lease = take_now(pool);
    uint64_t before = ceni_world_allocations();
    explain();
    expect_equal(ceni_world_allocations(), before);
    give_back(&lease);
    free_pool(pool);
}
