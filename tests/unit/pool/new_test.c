/* SPDX-License-Identifier: MIT */
/* Making a pool: options, defaults, eager objects and where the memory is from. */
#include "pool/internal.h"
#include "record/directory.h"
#include "support/world.h"
#include "unit/pool/ledger.h"
#include "unit/pool/pools.h"

static workshop shop;

/* ---- Options ------------------------------------------------------------------------- */

static void expect_bad(cen_pool_options options, const char *field)
{
    cen_pool *const untouched = (cen_pool *)(uintptr_t)16;
    cen_pool *pool = untouched;
    cen_error error = {.status = CEN_OK};
    expect_equal(cen_pool_new(&options, &pool, &error), CEN_INVALID);
    expect_error(&error, CEN_INVALID, field);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_INVALID);
    expect(pool == untouched);
    expect_equal(ceni_world_allocations(), 0);
    expect_equal(shop.opens, 0);
}

#define bad(field, ...) expect_bad(CEN_POOL_OPTIONS(__VA_ARGS__), field)

/* guarantees: pool-api.options */
TEST(each_bad_option_is_refused_by_its_name_and_nothing_is_written)
{
    shop = (workshop){0};
    expect_bad((cen_pool_options){.size = 0, .max = 1}, "options.size");
    expect_bad((cen_pool_options){.size = CEN_SIZED_MAX + 1}, "options.size");
    bad("options.max", .max = CEN_POOL_MAX + 1);
    bad("options.max", .max = UINT32_MAX);
    bad("options.order", .order = (cen_order)3);
    bad("options.order", .order = (cen_order)-1);
    bad("options.max_barging_ns", .max_barging_ns = -3);
    bad("options.max_barging_ns", .max_barging_ns = INT64_MIN);
}

/* guarantees: pool-api.options */
TEST(a_driver_without_its_size_is_refused)
{
    shop = (workshop){0};
    cen_driver_calls calls = workshop_calls;
    calls.size = 0;
    bad("options.driver", .driver = {&calls, &shop});
    calls.size = CEN_SIZED_MAX + 1;
    bad("options.driver", .driver = {&calls, &shop}, .eager = true);
}

TEST(a_driver_without_its_size_an_open_or_a_close_is_refused_with_a_hint)
{
    shop = (workshop){0};
    cen_driver_calls calls = workshop_calls;
    calls.size = 0;
    bad(".size = sizeof(cen_driver_calls)", .driver = {&calls, &shop});
    calls = workshop_calls;
    calls.open = NULL;
    bad("options.driver has no open; set .open, or .opens_nothing", .driver = {&calls, &shop});
    calls = workshop_calls;
    calls.close = NULL;
    bad("options.driver has no close; set .close, or .closes_nothing", .driver = {&calls, &shop});
}

/* guarantees: pool-api.options */
TEST(eager_without_an_open_contradicts_itself)
{
    cen_driver_calls calls = workshop_calls;
    shop = (workshop){0};
    calls.open = NULL;
    calls.opens_nothing = true;
    bad("options.eager", .eager = true);
    bad("options.eager", .eager = true, .driver = {&calls, &shop});
    bad("options.driver", .eager = true); /* both are named */
}

/* guarantees: pool-api.options */
TEST(an_allocator_that_lacks_a_function_is_refused)
{
    static const cen_allocator cannot_free = {.alloc = ledger_alloc}, cannot_alloc = {.free = ledger_free};
    shop = (workshop){0};
    bad("options.allocator", .allocator = &cannot_free);
    bad("options.allocator", .allocator = &cannot_alloc);
}

/* guarantees: pool-api.options */
TEST(new_needs_options_and_a_place_for_the_pool_but_no_place_for_the_error)
{
    cen_pool_options options = CEN_POOL_OPTIONS(.max = 1);
    cen_pool *pool = NULL;
    cen_error error = {.status = CEN_OK};
    expect_equal(cen_pool_new(NULL, &pool, &error), CEN_INVALID);
    expect_error(&error, CEN_INVALID, "options is NULL");
    expect_equal(cen_pool_new(&options, NULL, &error), CEN_INVALID);
    expect_error(&error, CEN_INVALID, "out is NULL");
    expect_equal(cen_pool_new(NULL, NULL, NULL), CEN_INVALID);
    expect(!pool);
    memset(&error, 0x3C, sizeof error);
    const cen_error before = error;
    expect_equal(cen_pool_new(&options, &pool, &error), CEN_OK);
    expect(memcmp(&error, &before, sizeof error) == 0); /* written only by a call that failed */
    free_pool(pool);
}

/* guarantees: pool-api.size */
TEST(the_smallest_and_every_allowed_setting_is_accepted)
{
    static const cen_order orders[] = {CEN_ORDER_WARM, CEN_ORDER_LIFO, CEN_ORDER_FIFO};
    static const int64_t overtake[] = {0, CEN_NONE, 1, INT64_MAX};
    const cen_deadline patience[] = {ZERO, CEN_NOW, CEN_NEVER, cen_in_ns(1), cen_at(5)};
    cen_driver_calls nothing = {.size = sizeof nothing, .opens_nothing = true, .closes_nothing = true};
    for (int i = 0; i < 3 * 4 * 5; i++) {
        cen_pool *pool =
            make_pool(.max = 1, .order = orders[i % 3], .max_barging_ns = overtake[i / 3 % 4],
                      .default_deadline = patience[i / 12], .exact_times = i % 2, .driver = {&nothing, NULL});
        expect_sound(pool);
        free_pool(pool);
    }
}

/* ---- Defaults ------------------------------------------------------------------------------ */

TEST(a_pool_has_ten_places_and_the_name_pool_unless_told_otherwise)
{
    shop = (workshop){0};
    cen_pool *pool = make_pool(.driver = driver_of(&shop));
    expect_text(cen_pool_name(pool), "pool");
    expect_equal(cen_pool_max(pool), 10);
    expect(!cen_pool_is_closed(pool));
    expect_log(&shop, ""); /* nothing is made before it is wanted */
    cen_pool_stats s = expect_sound(pool);
    expect(s.max == 10 && s.vacant == s.places && s.taken == 0 && s.opened == 0 && s.waited == 0 &&
           s.wait_longest_ns == 0);
    cen_lease leases[10];
    for (int i = 0; i < 10; i++) leases[i] = take_now(pool);
    expect_none(pool);
    for (int i = 0; i < 10; i++) give_back(&leases[i]);
    free_pool(pool);
    expect_equal(shop.closed, 10);
}

TEST(a_name_is_copied_and_keeps_its_first_31_bytes)
{
    char name[64] = "orders";
    cen_pool *pool = make_pool(.name = name);
    strcpy(name, "another");
    expect_text(cen_pool_name(pool), "orders");
    free_pool(pool);
    pool = make_pool(.name = "0123456789012345678901234567890123456789");
    expect_text(cen_pool_name(pool), "0123456789012345678901234567890");
    free_pool(pool);
}

TEST(a_pool_that_is_null_has_no_name_no_room_and_is_closed)
{
    expect_text(cen_pool_name(NULL), "");
    expect_equal(cen_pool_max(NULL), 0);
    expect(cen_pool_is_closed(NULL));
    expect_equal(cen_pool_free(NULL), CEN_OK);
}

TEST(what_options_and_the_driver_value_pointed_to_on_the_way_may_be_gone)
{
    shop = (workshop){0};
    cen_pool_options options = CEN_POOL_OPTIONS(.max = 2, .driver = driver_of(&shop), .name = "kept");
    cen_pool *pool = make_from(options);
    memset(&options, 0xEE, sizeof options);
    cen_lease lease = take_now(pool);
    expect_equal(number_of(&lease), 1);
    give_back(&lease);
    free_pool(pool);
    expect_log(&shop, "+1 -1 ");
}

/* ---- Eager ------------------------------------------------------------------------------- */

static uint64_t opener;

static void note_thread(workshop *unused, char what, void *object)
{
    (void)unused;
    (void)object;
    if (what == '+') opener = cen_thread_number();
}

/* guarantees: pool-api.eager */
TEST(an_eager_pool_makes_all_objects_in_order_on_the_calling_thread)
{
    shop = (workshop){.inside = note_thread};
    opener = 0;
    cen_pool *pool = make_pool(.max = 5, .eager = true, .driver = driver_of(&shop));
    expect_log(&shop, "+1 +2 +3 +4 +5 ");
    expect_equal(opener, cen_thread_number());
    expect_counts(pool, 5, 0);
    cen_lease leases[5];
    for (int i = 0; i < 5; i++) {
        leases[i] = take_now(pool);
        expect_equal(number_of(&leases[i]), i + 1);
        expect_counts(pool, (uint32_t)(4 - i), (uint32_t)(i + 1));
    }
    expect_log(&shop, "");
    for (int i = 0; i < 5; i++) give_back(&leases[i]);
    free_pool(pool);
    expect_log(&shop, "-1 -2 -3 -4 -5 ");
}

/* guarantees: pool-bugs.count-leak, pool-api.eager */
TEST(an_eager_pool_whose_nth_object_fails_closes_the_others_last_one_first)
{
    static const char *const logs[] = {"x ", "+1 x -1 ", "+1 +2 x -2 -1 ", "+1 +2 +3 x -3 -2 -1 ",
                                       "+1 +2 +3 +4 x -4 -3 -2 -1 "};
    for (int nth = 1; nth <= 5; nth++)
        for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
            shop = (workshop){
                .fail_from = nth, .fail_to = nth, .failure_code = 40 + nth, .failure_text = "the door is shut"};
            cen_pool_options options =
                CEN_POOL_OPTIONS(.name = "eager", .max = 5, .eager = true, .order = order, .driver = driver_of(&shop));
            cen_pool *pool = NULL;
            cen_error error = {.status = CEN_OK};
            expect_equal(cen_pool_new(&options, &pool, &error), CEN_DRIVER);
            expect(!pool);
            expect_error(&error, CEN_DRIVER, "\"eager\"");
            expect_error(&error, CEN_DRIVER, "the door is shut");
            expect_equal(error.code, 40 + nth);
            expect_log(&shop, logs[nth - 1]);
            expect_equal(ceni_world_bytes(), 0);
        }
}

/* guarantees: pool-api.eager */
TEST(an_eager_pool_that_failed_can_be_made_again_at_once)
{
    for (int round = 0; round < 40; round++) { /* more often than there are lines: none is kept */
        shop = (workshop){.fail_from = 2, .fail_to = 2, .failure = CEN_SYSTEM};
        cen_pool_options options = CEN_POOL_OPTIONS(.max = 3, .eager = true, .driver = driver_of(&shop));
        cen_pool *pool = NULL;
        expect_equal(cen_pool_new(&options, &pool, NULL), CEN_SYSTEM);
        pool = make_from(options);
        expect_counts(pool, 3, 0);
        free_pool(pool);
        expect_equal(shop.closed, shop.opened);
    }
    expect_equal(ceni_world_bytes(), 0);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void use_all(cen_pool *pool)
{
    cen_lease leases[200];
    uint32_t count = cen_pool_max(pool);
    for (uint32_t i = 0; i < count; i++) leases[i] = take_now(pool);
    expect_sound(pool);
    for (uint32_t i = 0; i < count; i++) give_back(&leases[i]);
    expect_sound(pool);
}

/* guarantees: pool-api.allocator */
TEST(every_byte_comes_from_the_given_allocator_and_goes_back_to_it)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        ledger book = {.bytes = 0};
        const cen_allocator allocator = allocator_of(&book);
        shop = (workshop){0};
        cen_pool *pool = make_pool(.max = 3, .driver = driver_of(&shop), .order = order, .allocator = &allocator);
        expect(book.bytes > 0);
        use_all(pool);
        expect_equal(cen_pool_resize(pool, 200, NULL), CEN_OK);
        use_all(pool);
        expect_equal(cen_pool_resize(pool, 1, NULL), CEN_OK);
        use_all(pool);
        expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK);
        free_pool(pool);
        expect_equal(book.bytes, 0);
        expect_equal(book.given, book.taken);
        expect_equal(ceni_world_allocations(), 0); /* none from elsewhere: the line of a small program is static */
    }
}

/* guarantees: pool.L17 */
TEST(all_memory_of_a_pool_is_had_by_new)
{
    ledger book = {.bytes = 0};
    const cen_allocator allocator = allocator_of(&book);
    shop = (workshop){0};
    cen_pool *pool = make_pool(.max = 100, .driver = driver_of(&shop), .allocator = &allocator);
    unsigned given = book.given;
    book.exhausted = true;
    use_all(pool);
    cen_lease lease = take_now(pool);
    expect_equal(cen_pool_discard(&lease), CEN_OK);
    expect_equal(cen_pool_adopt(pool, NULL, NULL), CEN_OK);
    expect_equal(cen_pool_resize(pool, 50, NULL), CEN_OK);
    expect_equal(cen_pool_resize(pool, 100, NULL), CEN_OK);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK);
    expect_equal(book.given, given);
    free_pool(pool);
    expect_equal(book.bytes, 0);
}

/* What a pool has from the program's allocator, after waits, openings and leases of many lengths. */
TEST(a_pool_of_ten_has_less_than_16_KiB)
{
    ledger book = {.bytes = 0};
    const cen_allocator allocator = allocator_of(&book);
    shop = (workshop){0};
    cen_pool *pool = make_pool(.max = 10, .driver = driver_of(&shop), .allocator = &allocator, .exact_times = true);
    size_t made = book.bytes;
    use_all(pool);
    cen_lease lease;
    for (int ms = 1; ms < 1000; ms *= 3) {
        cen_lease all[10];
        for (int i = 0; i < 10; i++) all[i] = take_now(pool);
        expect_equal(cen_pool_take(pool, cen_in_ms(ms), &lease, NULL), CEN_TIMEOUT);
        for (int i = 0; i < 10; i++) give_back(&all[i]);
    }
    printf("     %zu bytes when it is made and %zu later, %zu for its struct and its line\n", made, book.bytes,
           sizeof(cen_pool) + sizeof(ceni_waiters));
    expect(book.bytes + sizeof(cen_pool) + sizeof(ceni_waiters) <= 16384);
    free_pool(pool);
    expect_equal(book.bytes, 0);
}

TEST(a_pool_for_which_the_allocator_has_nothing_is_not_made)
{
    ledger book = {.exhausted = true};
    const cen_allocator allocator = allocator_of(&book);
    cen_pool_options options = CEN_POOL_OPTIONS(.max = 77, .allocator = &allocator);
    cen_pool *pool = NULL;
    cen_error error;
    expect_equal(cen_pool_new(&options, &pool, &error), CEN_NO_MEMORY);
    expect_error(&error, CEN_NO_MEMORY, "77");
    expect(!pool);
}

/* ---- The directory ------------------------------------------------------------------------------ */

typedef struct sighting {
    int pools;
    int64_t max, idle, held;
} sighting;

static int64_t metric(const cen_metric *metrics, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(metrics[i].name, name) == 0) return metrics[i].value;
    test_fail(__FILE__, __LINE__, "no reading is named %s", name);
}

static void look_at(void *argument, ceni_directory_entry *entry)
{
    sighting *seen = argument;
    cen_metric metrics[CEN_METRICS_MAX];
    if (strcmp(entry->kind, "pool") != 0 || strcmp(entry->name, "seen") != 0) return;
    size_t count = entry->snapshot(entry->object, metrics, CEN_METRICS_MAX);
    expect(count > 0 && count <= CEN_METRICS_MAX);
    seen->max = metric(metrics, count, "max");
    seen->idle = metric(metrics, count, "idle");
    seen->held = metric(metrics, count, "held");
    seen->pools++;
    memset(metrics, 0, sizeof metrics);
    /* with less room it writes less and says the same */
    expect_equal(entry->snapshot(entry->object, metrics, 2), count);
    expect(metrics[1].name && !metrics[2].name);
}

TEST(a_live_pool_is_in_the_directory_with_its_numbers)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "seen", .max = 4), 3);
    cen_lease lease = take_now(pool);
    sighting seen = {.pools = 0};
    ceni_directory_each(ceni_directory_process(), look_at, &seen);
    expect(seen.pools == 1 && seen.max == 4 && seen.idle == 2 && seen.held == 1);
    give_back(&lease);
    free_pool(pool);
    ceni_directory_each(ceni_directory_process(), look_at, &seen);
    expect_equal(seen.pools, 1);
}
