/* SPDX-License-Identifier: MIT */
/* What a listener may call: look, explain, give, take what is idle, replace itself; and who may not replace it. */
#include "unit/pool/listeners.h"

static cen_pool *pool;
static ear ear_one, ear_two;
static workshop shop;
static cen_lease spare;
static int looked;

static void begin(cen_pool_options options)
{
    memset(&ear_one, 0, sizeof ear_one);
    memset(&ear_two, 0, sizeof ear_two);
    shop = (workshop){0};
    looked = 0;
    options.driver = driver_of(&shop);
    pool = make_from(options);
}

/* ---- Allowed ------------------------------------------------------------------------------------ */

static bool count_visit(void *argument, const cen_object_view *holding)
{
    (void)holding;
    ++*(int *)argument;
    return true;
}

static void look_take_and_give(ear *self, const cen_event *unused)
{
    (void)unused;
    looked++;
    cen_lease lease;
    cen_object_view holding;
    size_t count;
    int visits = 0;
    char text[400];
    expect_equal(expect_sound(self->pool).idle, 1);
    expect_equal(cen_pool_holders(self->pool, &holding, 1, &count), CEN_OK);
    expect_equal(cen_pool_each(self->pool, count_visit, &visits), CEN_OK);
    expect_equal(visits, 2);
    expect(cen_pool_explain(self->pool, text, sizeof text) > 20);
    expect_equal(cen_pool_take(self->pool, CEN_NEVER, &lease, NULL), CEN_OK);
    expect_equal(cen_pool_take(self->pool, CEN_NEVER, &lease, NULL), CEN_MISUSE); /* it would have to wait */
    give_back(&lease);
    if (spare.pool) give_back(&spare);
}

TEST(a_listener_may_look_explain_give_and_take_what_is_idle)
{
    begin(CEN_POOL_OPTIONS(.max = 2, .eager = true));
    ear_one.then = look_take_and_give;
    spare = take_now(pool);
    listen_with(pool, &ear_one);
    tell(pool, 1);
    ceni_world_settle();
    expect_equal(looked, 1);
    expect(spare.pool == NULL);
    ear_one.then = NULL;
    expect_counts(pool, 2, 0);
    free_pool(pool);
}

static void be_served_inside(ear *self, const cen_event *unused)
{
    (void)unused;
    looked++;
    give_back(&spare);
    (void)self;
}

TEST(what_a_listener_gives_reaches_whoever_waits)
{
    begin(CEN_POOL_OPTIONS(.max = 1));
    spare = take_now(pool);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    ear_one.then = be_served_inside;
    listen_with(pool, &ear_one);
    tell(pool, 1);
    expect_taken(&one, 1);
    ear_one.then = NULL;
    give_back(&one.lease);
    free_pool(pool);
}

/* ---- Refused --------------------------------------------------------------------------------------- */

static void try_all_that_is_refused(ear *self, const cen_event *unused)
{
    (void)unused;
    cen_pool *of = self->pool;
    looked++;
    cen_pool_stats before = expect_sound(of);
    expect_equal(cen_pool_close(of, CEN_NEVER, NULL, NULL), CEN_MISUSE);
    expect_equal(cen_pool_free(of), CEN_MISUSE);
    expect_equal(cen_pool_resize(of, 7, NULL), CEN_MISUSE);
    expect_equal(cen_pool_adopt(of, NULL, NULL), CEN_MISUSE);
    expect_equal(cen_pool_discard(&spare), CEN_MISUSE);
    expect_equal(cen_pool_reload(of, 0, NULL), CEN_MISUSE);
    expect_equal(cen_pool_reap(of, 0, NULL, NULL), CEN_MISUSE);
    expect(!cen_pool_is_closed(of));
    cen_pool_stats after = expect_sound(of);
    expect(same_stats(&before, &after));
}

TEST(a_listener_may_not_close_free_or_change_the_pool)
{
    begin(CEN_POOL_OPTIONS(.max = 2));
    spare = take_now(pool);
    ear_one.then = try_all_that_is_refused;
    listen_with(pool, &ear_one);
    tell(pool, 1);
    ceni_world_settle();
    expect_equal(looked, 1);
    ear_one.then = NULL;
    give_back(&spare);
    free_pool(pool);
}

static cen_status from_inside;

static bool listen_in_visit(void *unused, const cen_object_view *holding)
{
    (void)unused, (void)holding;
    from_inside = cen_pool_listen(pool, NULL, NULL, NULL);
    return false;
}

static void listen_in_open(workshop *unused, char what, void *object)
{
    (void)unused, (void)object;
    if (what == '+') from_inside = cen_pool_listen(pool, hear, &ear_two, NULL);
}

TEST(a_driver_or_visitor_may_not_replace_the_listener)
{
    begin(CEN_POOL_OPTIONS(.max = 2));
    listen_with(pool, &ear_one);
    shop.inside = listen_in_open;
    from_inside = CEN_OK;
    cen_lease lease = take_now(pool);
    expect_equal(from_inside, CEN_MISUSE);
    from_inside = CEN_OK;
    expect_equal(cen_pool_each(pool, listen_in_visit, NULL), CEN_OK);
    expect_equal(from_inside, CEN_MISUSE);
    give_back(&lease);
    tell(pool, 1);
    expect_heard(&ear_one, "opened reloaded ");
    expect_equal(ear_two.count, 0);
    free_pool(pool);
}

/* ---- From within itself ----------------------------------------------------------------------------------- */

static void remove_oneself(ear *self, const cen_event *unused)
{
    (void)unused;
    looked++;
    expect_equal(cen_pool_listen(self->pool, NULL, NULL, NULL), CEN_OK);
}

TEST(a_listener_that_removes_itself_hears_nothing_more)
{
    begin(CEN_POOL_OPTIONS(.max = 1));
    ear_one.then = remove_oneself;
    listen_with(pool, &ear_one);
    for (int i = 0; i < 5; i++) tell(pool, i);
    ceni_world_settle();
    tell(pool, 5);
    ceni_world_settle();
    expect_equal(looked, 1);
    expect_equal(ear_one.count, 1);
    expect_equal(ear_one.events[0].code, 0);
    free_pool(pool);
    expect_equal(ear_one.count, 1);
}

static void hand_over(ear *self, const cen_event *unused)
{
    (void)unused;
    listen_with(self->pool, &ear_two);
    tell(self->pool, 50);
}

TEST(a_listener_that_is_replaced_from_within_has_returned_before_the_next_one_is_called)
{
    begin(CEN_POOL_OPTIONS(.max = 1));
    ear_one.then = hand_over;
    listen_with(pool, &ear_one);
    for (int i = 0; i < 3; i++) tell(pool, i);
    ceni_world_settle();
    expect_equal(ear_one.count, 1);
    expect_equal(ear_two.count, 1);
    expect_equal(ear_two.events[0].code, 50);
    expect_equal(ear_two.missed[0], 2);
    free_pool(pool);
    expect_equal(ear_two.count, 2);
}
