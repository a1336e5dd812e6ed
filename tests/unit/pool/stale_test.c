/* SPDX-License-Identifier: MIT */
/* Double gives: counted, told with both places, printed once per pool. */
#include "support/printed.h"
#include "unit/pool/listeners.h"

static cen_pool *pool;
static ear ears;

static void prepare(void)
{
    ears = (ear){.count = 0};
    pool = make_stocked(CEN_POOL_OPTIONS(.name = "orders", .max = 2), 2);
}

static void prepare_with_listener(void)
{
    prepare();
    listen_with(pool, &ears);
}

static cen_lease take_at(const char *where)
{
    cen_lease lease;
    expect_equal(cen_pool_take_at(pool, CEN_NOW, &lease, NULL, where), CEN_OK);
    return lease;
}

static uint64_t stale_gives(void)
{
    return expect_sound(pool).stale_gives;
}

static void expect_told(const char *taken, const char *given)
{
    ceni_world_settle();
    expect_equal(ears.count, 1);
    const cen_event *event = &ears.events[0];
    expect_equal(event->kind, CEN_EVENT_STALE_GIVE);
    expect_equal(event->status, CEN_STALE);
    expect_text(event->where, taken ? taken : "");
    expect_text(event->given_where, given);
    expect(strstr(ears.events[0].text, given) != NULL);
    ears.count = 0;
}

/* guarantees: pool.L8-double-give */
TEST(L8_a_double_give_is_counted_and_told_with_both_places)
{
    prepare_with_listener();
    cen_lease lease = take_at("orders.c:71"), copy = lease;
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(stale_gives(), 0);
    expect_equal(cen_pool_give_at(&copy, "orders.c:88"), CEN_STALE);
    expect(copy.pool == pool); /* left as it was */
    expect_equal(stale_gives(), 1);
    expect_told("orders.c:71", "orders.c:88");
    free_pool(pool);
}

/* guarantees: pool.L8-double-give */
TEST(L8_the_same_variable_given_twice_is_told_too)
{
    prepare_with_listener();
    cen_pool *other = make_stocked(CEN_POOL_OPTIONS(.name = "other", .max = 2), 2);
    cen_lease lease = take_at("orders.c:71");
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(cen_pool_give_at(&lease, "orders.c:90"), CEN_STALE);
    expect_equal(stale_gives(), 1);
    expect_equal(expect_sound(other).stale_gives, 0);
    expect_told("orders.c:71", "orders.c:90");
    free_pool(other);
    free_pool(pool);
}

TEST(L8_a_lease_that_is_given_again_without_waiting_is_told_too)
{
    prepare_with_listener();
    cen_lease lease = take_at("orders.c:71"), copy = lease;
    cen_future given;
    cen_future_init(&given);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(cen_pool_give_async_at(&copy, &given, "orders.c:93"), CEN_STALE);
    expect_equal(stale_gives(), 1);
    expect_told("orders.c:71", "orders.c:93");
    free_pool(pool);
}

/* guarantees: pool.L8-double-give */
TEST(L8_a_double_discard_and_a_scope_left_twice_are_told)
{
    prepare_with_listener();
    cen_lease lease = take_at("orders.c:71"), copy = lease;
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(cen_pool_discard_at(&copy, "orders.c:91"), CEN_STALE);
    expect_told("orders.c:71", "orders.c:91");
    cen_scope scope;
    expect_equal(cen_pool_enter_at(pool, CEN_NOW, &scope, NULL, "orders.c:72"), CEN_OK);
    expect_equal(cen_pool_leave(&scope), CEN_OK);
    expect_equal(cen_pool_leave_at(&scope, "orders.c:92"), CEN_STALE);
    expect_told("orders.c:72", "orders.c:92");
    expect_equal(stale_gives(), 2);
    free_pool(pool);
}

/* guarantees: pool.L8-double-give */
TEST(L8_a_double_give_of_a_slot_that_was_lent_again_names_the_give_only)
{
    prepare_with_listener();
    cen_lease lease = take_at("orders.c:71"), copy = lease;
    expect_equal(cen_pool_give(&lease), CEN_OK);
    lease = take_at("orders.c:73"); /* the same slot: this thread had it last */
    expect(lease.slot == copy.slot);
    expect_equal(cen_pool_give_at(&copy, "orders.c:93"), CEN_STALE);
    expect_told(NULL, "orders.c:93");
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(stale_gives(), 1);
    free_pool(pool);
}

/* guarantees: pool.L8-double-give */
TEST(a_lease_that_was_never_taken_is_not_told)
{
    prepare_with_listener();
    cen_lease none = {.object = NULL};
    cen_scope scope = cen_scope_none_();
    expect_equal(cen_pool_give(&none), CEN_STALE);
    expect_equal(cen_pool_leave(&scope), CEN_STALE);
    expect_equal(cen_pool_give(NULL), CEN_INVALID);
    expect_equal(stale_gives(), 0);
    expect_heard(&ears, "");
    free_pool(pool);
}

/* guarantees: pool.L8-double-give */
TEST(a_double_give_after_free_is_stale_and_touches_nothing)
{
    prepare();
    cen_lease lease = take_at("orders.c:71"), copy = lease;
    expect_equal(cen_pool_give(&lease), CEN_OK);
    free_pool(pool);
    expect_equal(cen_pool_give(&copy), CEN_STALE);
    expect_equal(cen_pool_give(&lease), CEN_STALE);
    prepare(); /* perhaps where the other one was */
    expect_equal(cen_pool_give(&copy), CEN_STALE);
    expect_equal(cen_pool_give(&lease), CEN_STALE);
    expect_equal(stale_gives(), 0);
    free_pool(pool);
}

/* guarantees: pool.L8-double-give */
TEST(the_first_double_give_of_a_pool_is_printed_if_nobody_listens)
{
    prepare();
    cen_lease lease = take_at("orders.c:71");
    expect_equal(cen_pool_give(&lease), CEN_OK);
    printed captured = printed_begin();
    ceni_pool_tells = true;
    for (int i = 0; i < 3; i++) expect_equal(cen_pool_give_at(&lease, "orders.c:88"), CEN_STALE);
    ceni_pool_tells = false;
    char text[400];
    printed_end(&captured, text, sizeof text);
    expect_text(text, "STALE-GIVE pool \"orders\": ended lease given again at orders.c:88; it was taken "
                      "at orders.c:71\n");
    expect_equal(stale_gives(), 3);
    free_pool(pool);
}

/* guarantees: pool.L8-double-give */
TEST(a_give_can_be_called_through_its_address)
{
    prepare();
    cen_status (*give)(cen_lease *) = cen_pool_give, (*discard)(cen_lease *) = cen_pool_discard;
    cen_status (*leave)(cen_scope *) = cen_pool_leave;
    cen_lease lease = take_at("orders.c:71");
    expect_equal(give(&lease), CEN_OK);
    lease = take_at("orders.c:71");
    expect_equal(discard(&lease), CEN_OK);
    cen_scope scope;
    expect_equal(cen_pool_enter(pool, CEN_NOW, &scope, NULL), CEN_OK);
    expect_equal(leave(&scope), CEN_OK);
    free_pool(pool);
}
