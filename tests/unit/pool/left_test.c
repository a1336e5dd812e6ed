/* SPDX-License-Identifier: MIT */
/* What a reset ended that a holder had left open is told, with the call site of the lease. */
#include <stdio.h>
#include <string.h>

#include <cenote/cenote.h>

#include "pool/internal.h"
#include "support/printed.h"
#include "support/test.h"

static const char *says;       /* what the driver's reset says */
static cen_status says_status; /* and with which status in the error */

static cen_status open_thing(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    static int thing;
    *out = &thing;
    return CEN_OK;
}

static cen_condition check_thing(void *argument, void *object)
{
    (void)argument, (void)object;
    return CEN_DIRTY;
}

static cen_status reset_thing(void *argument, void *object, cen_error *error)
{
    (void)argument, (void)object;
    if (!says) return CEN_OK;
    *error = (cen_error){.status = says_status};
    snprintf(error->text, sizeof error->text, "%s", says);
    return CEN_OK;
}

static const cen_driver_calls calls = {
    .size = sizeof calls, .open = open_thing, .closes_nothing = true, .check = check_thing, .reset = reset_thing};

static unsigned events;
static char text[CEN_ERROR_TEXT_SIZE], where[100];

static void on_event(void *argument, const cen_event *event, uint64_t missed)
{
    (void)argument;
    (void)missed;
    if (event->kind != CEN_EVENT_LEFT_OPEN) return;
    events++;
    snprintf(text, sizeof text, "%s", event->text);
    snprintf(where, sizeof where, "%s", event->where);
}

static cen_pool *begin(void)
{
    cen_pool *pool;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "orders", .driver = {&calls, NULL}, .max = 1);
    events = 0;
    says = "transaction left open";
    says_status = CEN_OK;
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    expect_equal(cen_pool_listen(pool, on_event, NULL, NULL), CEN_OK);
    return pool;
}

/* When free returns the listener has heard all. */
static void end(cen_pool *pool)
{
    expect_equal(cen_pool_close(pool, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_pool_free(pool), CEN_OK);
}

static void use_at(cen_pool *pool, const char *site)
{
    cen_lease lease;
    expect_equal(cen_pool_take_at(pool, CEN_NOW, &lease, NULL, site), CEN_OK);
    expect_equal(cen_pool_give(&lease), CEN_OK);
}

/* guarantees: drivers.left-open */
TEST(what_was_left_open_is_told_with_the_call_site_of_the_lease)
{
    cen_pool *pool = begin();
    use_at(pool, "orders.c:40");
    end(pool);
    expect_equal(events, 1);
    expect_text(text, "pool \"orders\": transaction left open by orders.c:40");
    expect_text(where, "orders.c:40");
}

/* guarantees: drivers.left-open */
TEST(what_was_left_open_is_told_once_for_each_call_site)
{
    char copy[] = "orders.c:40"; /* the same text at another address */
    cen_pool *pool = begin();
    for (int i = 0; i < 3; i++) {
        use_at(pool, "orders.c:40");
        use_at(pool, copy);
        use_at(pool, "orders.c:57");
    }
    end(pool);
    expect_equal(events, 2);
}

/* guarantees: drivers.left-open */
TEST(no_more_than_64_call_sites_are_told)
{
    static char sites[70][20];
    cen_pool *pool = begin();
    for (int i = 0; i < 70; i++) {
        snprintf(sites[i], sizeof sites[i], "orders.c:%d", i);
        use_at(pool, sites[i]);
        use_at(pool, sites[i]);
    }
    end(pool);
    expect_equal(events, 64);
}

/* guarantees: drivers.left-open */
TEST(a_reset_that_ended_nothing_tells_nothing)
{
    cen_pool *pool = begin();
    says = NULL;
    use_at(pool, "orders.c:40");
    says = "an error of an earlier try";
    says_status = CEN_LOST;
    use_at(pool, "orders.c:41");
    end(pool);
    expect_equal(events, 0);
}

/* guarantees: drivers.left-open */
TEST(the_first_object_with_something_left_open_is_printed_if_nobody_listens)
{
    char printed_text[400];
    cen_pool *pool = begin();
    expect_equal(cen_pool_listen(pool, NULL, NULL, NULL), CEN_OK);
    printed captured = printed_begin();
    ceni_pool_tells = true;
    use_at(pool, "orders.c:40");
    use_at(pool, "orders.c:57");
    ceni_pool_tells = false;
    printed_end(&captured, printed_text, sizeof printed_text);
    expect_text(printed_text, "LEFT-OPEN pool \"orders\": transaction left open by orders.c:40\n");
    end(pool);
}
