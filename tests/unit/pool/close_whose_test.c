/* SPDX-License-Identifier: MIT */
/* A close that ends at its deadline says who holds what, and so do the events and explain. */
#include "unit/pool/listeners.h"

static cen_pool *pool;
static workshop shop;
static ear ears;

static void prepare(uint32_t max)
{
    shop = (workshop){0};
    ears = (ear){.count = 0};
    pool = make_pool(.name = "orders", .max = max, .driver = driver_of(&shop));
    listen_with(pool, &ears);
}

static void expect_says(const char *text, const char *part)
{
    if (!strstr(text, part)) test_fail(__FILE__, __LINE__, "\"%s\" is not in: %s", part, text);
}

/* guarantees: pool.L15-close-report */
TEST(the_text_of_a_close_that_timed_out_names_who_holds_what_since_when_and_from_where)
{
    prepare(2);
    cen_lease one = take_now(pool), two = take_now(pool);
    cen_error error;
    char who[32];
    snprintf(who, sizeof who, "by thread %llu", (unsigned long long)cen_thread_number());
    expect_equal(cen_pool_close(pool, cen_in_s(20), NULL, &error), CEN_TIMEOUT);
    expect_equal(error.status, CEN_TIMEOUT);
    expect_says(error.text,
                "pool \"orders\": close timed out (revoked: 2, being opened or closed: 0); not given back: object 0, ");
    expect_says(error.text, who);
    expect_says(error.text, "for at least 20 s, taken at ");
    expect_says(error.text, "pools.h:"); /* take_now is there */
    expect_says(error.text, "; object 1, ");
    expect_equal(cen_pool_give(&one), CEN_REVOKED);
    expect_equal(cen_pool_give(&two), CEN_REVOKED);
    free_pool(pool);
}

/* guarantees: pool.L15-close-report */
TEST(a_close_with_many_objects_out_names_the_oldest_and_counts_the_rest)
{
    enum { MANY = 9 };
    prepare(MANY);
    cen_lease leases[MANY];
    for (int i = 0; i < MANY; i++) leases[i] = take_now(pool);
    cen_error error;
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, &error), CEN_TIMEOUT);
    expect_says(error.text, "revoked: 9");
    expect_says(error.text, " more.");
    for (int i = 0; i < MANY; i++) expect_equal(cen_pool_give(&leases[i]), CEN_REVOKED);
    free_pool(pool);
}

/* guarantees: pool.L15-close-report */
TEST(explain_of_a_closed_pool_lists_what_is_still_out)
{
    prepare(2);
    cen_lease one = take_now(pool), two = take_now(pool);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    char text[2000];
    expect(cen_pool_explain(pool, text, sizeof text) <= sizeof text);
    expect_says(text, "Closed: the pool has been closed.");
    cen_error error;
    expect_equal(cen_pool_try_take(pool, &(cen_lease){.pool = NULL}, &error), CEN_CLOSED);
    expect_because(&error, CEN_CAUSE_CLOSED);
    expect_says(text, "Held longest:\n  object 0, revoked, held by thread ");
    expect_says(text, "  object 1, revoked, held by thread ");
    expect_equal(cen_pool_give(&one), CEN_REVOKED);
    cen_pool_explain(pool, text, sizeof text);
    expect(!strstr(text, "object 0, revoked"));
    expect_says(text, "  object 1, revoked, held by thread ");
    expect_equal(cen_pool_give(&two), CEN_REVOKED);
    cen_pool_explain(pool, text, sizeof text);
    expect(!strstr(text, "revoked, held"));
    free_pool(pool);
}

static void expect_revoked(int which, uint32_t index)
{
    const cen_event *event = &ears.events[which];
    expect_equal(event->kind, CEN_EVENT_REVOKED);
    expect_equal(event->value, index);
    expect_equal(event->holder, cen_thread_number());
    expect(strstr(event->where, "pools.h:"));
    expect_says(ears.events[which].text, "; lease revoked: pool closed");
}

/* guarantees: pool.L15-close-report */
TEST(a_close_tells_an_event_for_each_lease_that_it_revokes)
{
    prepare(3);
    cen_lease leases[3] = {take_now(pool), take_now(pool), take_now(pool)};
    give_back(&leases[1]);
    ceni_world_settle();
    ears.count = 0;
    expect_equal(cen_pool_close(pool, cen_in_s(2), NULL, NULL), CEN_TIMEOUT);
    ceni_world_settle();
    int first = ears.count - 2;
    expect(first >= 1);
    expect_equal(ears.events[0].kind, CEN_EVENT_POOL_CLOSED);
    expect_revoked(first, 0);
    expect_revoked(first + 1, 2);
    expect(ears.events[first].held_ns >= INT64_C(2000000000));
    expect_equal(cen_pool_give(&leases[0]), CEN_REVOKED);
    expect_equal(cen_pool_give(&leases[2]), CEN_REVOKED);
    free_pool(pool);
}

/* guarantees: pool.L15-close-report */
TEST(a_free_tells_an_event_for_each_lease_that_it_revokes)
{
    prepare(1);
    cen_lease lease = take_now(pool);
    ceni_world_settle();
    ears.count = 0;
    expect_equal(cen_pool_free(pool), CEN_OK);
    expect(ears.count == 2);
    expect_revoked(1, 0);
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
}
