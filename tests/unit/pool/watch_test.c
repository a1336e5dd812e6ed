/* SPDX-License-Identifier: MIT */
/* A pool as a component that is watched: metrics, the description, actions, the system its objects belong to. */
#include <cenote/pool_async.h>

#include "unit/pool/scripted.h"
#include "unit/pool/watchers.h"

/* ---- Metrics ----------------------------------------------------------------------------- */

static void expect_equations(const metrics *r)
{
    static const char *const states[] = {"idle",      "held",    "moving",  "revoked", "opening",
                                         "resetting", "testing", "closing", "vacant"};
    int64_t there = 0;
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) there += metric(r, states[i]);
    int64_t places = metric(r, "places"), out = metric(r, "held") + metric(r, "revoked");
    int64_t difference = metric(r, "taken") - metric(r, "ended");
    expect_equal(there, places);
    expect(places >= metric(r, "max"));
    expect(out <= difference && difference <= out + metric(r, "moving"));
    if (metric(r, "moving") + metric(r, "opening") + metric(r, "closing") == 0)
        expect_equal(metric(r, "opened") + metric(r, "adopted") - metric(r, "closed"), places - metric(r, "vacant"));
    expect_equal(metric(r, "waited"), metric(r, "served") + metric(r, "timed_out") + metric(r, "sent_away") +
                                          metric(r, "failed") + metric(r, "shed") + metric(r, "waiting"));
}

/* No counter has fallen since. */
static void expect_risen(const metrics *before, const metrics *now)
{
    for (size_t i = 0; i < now->count; i++) {
        const cen_metric *was = find_metric(before, now->all[i].name);
        if (was && was->kind == CEN_COUNTER && now->all[i].value < was->value)
            test_fail(__FILE__, __LINE__, "%s has fallen", was->name);
    }
}

/* guarantees: pool-api.metrics */
TEST(L19_the_metrics_satisfy_the_equations_through_a_life_and_counters_never_fall)
{
    static script s;
    s = (script){.opened = 0, .of[CALL_OPEN] = {.fail_from = 3, .fail_to = 4}};
    cen_pool *pool = begin_life(&s, HAS_TEST, .name = "life", .max = 3, .backoff_initial_ns = CEN_OFF);
    metrics before = metrics_of(pool);
    cen_lease out[3] = {{0}};
    taker late;
    for (unsigned step = 0; step < 300; step++) {
        cen_lease *one = &out[step % 3];
        unsigned choice = step * 7919 % 11;
        if (!one->pool) (void)cen_pool_try_take(pool, one, NULL);
        else if (choice < 4) (void)cen_pool_give(one);
        else if (choice < 6) (void)cen_pool_discard(one);
        else if (choice == 6) expect_equal(cen_pool_reload(pool, 0, NULL), CEN_OK);
        else if (choice == 7) expect_equal(cen_pool_resize(pool, 2 + step % 4, NULL), CEN_OK);
        else if (choice == 8) expect_equal(cen_pool_reap(pool, 0, NULL, NULL), CEN_OK);
        if (step % 50 == 49) {
            begin_take(&late, pool, cen_in_ns(10));
            ceni_world_advance(20);
            ceni_world_settle();
            expect(late.returned);
            join(late.thread);
            if (late.status == CEN_OK) give_back(&late.lease);
        }
        metrics now = metrics_of(pool);
        expect_equations(&now);
        expect_risen(&before, &now);
        before = now;
    }
    for (int i = 0; i < 3; i++)
        if (out[i].pool) (void)cen_pool_give(&out[i]);
    end_life(&s, pool);
}

/* guarantees: pool-api.metrics */
TEST(the_metrics_are_what_a_look_shows_with_one_name_each)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "read", .max = 5, .max_idle = 4, .min_idle = 0), 3);
    cen_lease lease = take_now(pool);
    cen_pool_stats s = expect_sound(pool);
    metrics r = metrics_of(pool);
    for (size_t i = 0; i < r.count; i++)
        for (size_t j = 0; j < i; j++) expect(strcmp(r.all[i].name, r.all[j].name) != 0);
    expect(metric(&r, "max") == 5 && metric(&r, "idle") == s.idle && metric(&r, "held") == 1 &&
           metric(&r, "adopted") == 3);
    expect(metric(&r, "taken") == 1 && metric(&r, "paused") == 0 && metric(&r, "breaker") == 0 &&
           metric(&r, "is_closed") == 0);
    expect(metric(&r, "max_idle") == 4 && metric(&r, "min_idle") == 0);
    expect(find_metric(&r, "max_waiters") == NULL);
    expect_equal(find_metric(&r, "taken")->kind, CEN_COUNTER);
    expect_equal(find_metric(&r, "timed_out")->kind, CEN_COUNTER);
    expect_equal(find_metric(&r, "idle")->kind, CEN_GAUGE);
    give_back(&lease);
    free_pool(pool);
    pool = make_stocked(CEN_POOL_OPTIONS(.name = "read", .max = 5), 3);
    r = metrics_of(pool);
    expect(find_metric(&r, "max_idle") == NULL);
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    r = metrics_of(pool);
    expect_equal(metric(&r, "paused"), 1);
    free_pool(pool);
}

/* Whoever has little room gets the first of them, and the number of all. */
static void read_two(void *argument, cen_component *it)
{
    cen_metric *two = argument;
    size_t count = cen_component_metrics(it, two, 2);
    expect(count > 40 && count <= CEN_METRICS_MAX);
    expect(cen_component_metrics(it, NULL, 0) == count);
}

/* guarantees: pool-api.metrics */
TEST(metrics_beyond_the_room_are_counted_and_not_written)
{
    cen_pool *pool = make_pool(.name = "little", .max = 1);
    cen_metric two[3] = {{"", 0, CEN_GAUGE}, {"", 0, CEN_GAUGE}, {"kept", 7, CEN_GAUGE}};
    visit_pool(pool, read_two, two);
    expect_text(two[0].name, "max");
    expect_text(two[2].name, "kept");
    free_pool(pool);
}

/* ---- The description ------------------------------------------------------------------------------ */

static drawing d;

/* guarantees: overload.causes, pool-api.description */
TEST(the_description_has_the_settings_the_state_and_why_a_take_would_wait)
{
    d = (drawing){.most = 0};
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "drawn", .max = 2, .leak_after_ns = 60 * SECOND), 2);
    draw_pool(pool, &d, 10);
    expect_drawn(&d, "max=2 min_idle=0 ");
    expect_drawn(&d, "leak_after_ns=60000000000 ");
    expect_not_drawn(&d, "max_idle=");
    expect_not_drawn(&d, "idle_timeout_ns=");
    expect_drawn(&d, "exact_times=false trace_takes=false backtraces=false ");
    expect_drawn(&d, "cause=null explanation=\"pool \"drawn\": a take gets an idle object or opens one.");
    expect_drawn(&d, "breaker=\"closed\" paused=false closed=false last_error=null [holders ] [waiters ] ");
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    draw_pool(pool, &d, 10);
    expect_drawn(&d, "paused=true");
    expect_drawn(&d, "cause=\"paused\" explanation=\"pool \"drawn\": Paused: ");
    free_pool(pool);
}

/* guarantees: pool-api.description */
TEST(the_description_has_the_last_error_and_how_long_ago_it_was)
{
    static script s;
    s = (script){.opened = 0,
                 .of[CALL_OPEN] = {.fail_from = 1, .fail_to = 1, .code = 111, .text = "connection refused"}};
    cen_pool *pool = begin_life(&s, 0, .name = "drawn", .max = 2, .backoff_initial_ns = SECOND, .breaker_failures = 1);
    cen_lease lease;
    expect_equal(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_DRIVER);
    ceni_world_advance(7);
    draw_pool(pool, &d, 10);
    expect_drawn(&d, "breaker=\"open\"");
    expect_drawn(&d, "connection refused\" last_error_code=111 last_error_ago_ns=7 ");
    end_life(&s, pool);
}

static uint64_t identify(void *unused, void *object)
{
    (void)unused;
    return 4700 + (uint64_t)(uintptr_t)object;
}

/* guarantees: pool-api.describe */
TEST(an_object_is_described_by_what_its_server_knows_it_as)
{
    workshop shop = {0};
    cen_driver_calls calls = workshop_calls;
    calls.identify = identify;
    calls.identity_prefix = "pid ";
    cen_pool *pool = make_pool(.name = "named", .max = 2, .driver = {&calls, &shop});
    cen_lease opened = take_now(pool), adopted;
    expect_equal(cen_pool_adopt(pool, (void *)77, NULL), CEN_OK);
    adopted = take_now(pool);
    draw_pool(pool, &d, 10);
    expect_drawn(&d, " object=\"0x1\" identity=\"pid 4701\" ");
    expect_drawn(&d, " object=\"0x4d\" identity=\"pid 4777\" ");
    expect_equal(cen_pool_discard(&opened), CEN_OK);
    opened = take_now(pool); /* another object in the same slot */
    draw_pool(pool, &d, 10);
    expect_drawn(&d, "identity=\"pid 4702\" ");
    expect_not_drawn(&d, "pid 4701");
    give_back(&opened);
    give_back(&adopted);
    free_pool(pool);
}

/* guarantees: pool-api.description */
TEST(holders_are_described_oldest_first_and_those_beyond_most_are_counted)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "held", .max = 4, .exact_times = true), 4);
    cen_lease first = take_now(pool), second, third;
    ceni_world_advance(5);
    expect_equal(cen_pool_take_at(pool, CEN_NOW, &second, NULL, "orders.c:12 buy"), CEN_OK);
    ceni_world_advance(5);
    give_back(&first);
    /* in the first one's slot, and younger */
    expect_equal(cen_pool_take_at(pool, CEN_NOW, &third, NULL, NULL), CEN_OK);
    expect_equal(cen_pool_detach(&third), CEN_OK);
    ceni_world_advance(5);
    draw_pool(pool, &d, 10);
    expect_drawn(&d, "[holders {index=1 object=\"0x2\" holder=\"thread 1\" thread_name=\"fiber 1\" where=\"orders.c:12 "
                     "buy\" held_ns=10 "
                     "exact=true detached=false revoked=false } {index=0 object=\"0x1\" holder=\"thread 1\" ");
    expect_drawn(&d, "where=null held_ns=5 exact=true detached=true revoked=false } ] ");
    expect_not_drawn(&d, "holders_more");
    draw_pool(pool, &d, 1);
    expect_drawn(&d, "revoked=false } ] holders_more=1 ");
    give_back(&second);
    give_back(&third);
    free_pool(pool);
}

/* guarantees: pool-api.description */
TEST(without_exact_times_a_holders_age_begins_with_the_first_description)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "held", .max = 1), 1);
    cen_lease lease = take_now(pool);
    ceni_world_advance(SECOND);
    draw_pool(pool, &d, 10);
    expect_drawn(&d, "held_ns=0 exact=false");
    ceni_world_advance(9);
    draw_pool(pool, &d, 10);
    expect_drawn(&d, "held_ns=9 exact=false");
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    draw_pool(pool, &d, 10);
    expect_drawn(&d, "revoked=true");
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    free_pool(pool);
}

/* guarantees: pool-api.description */
TEST(with_backtraces_a_holder_is_described_with_the_calls_that_led_there)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "traced", .max = 1, .backtraces = true), 1);
    cen_lease lease = take_now(pool);
    draw_pool(pool, &d, 10);
    expect_drawn(&d, "[backtrace {at=\"call_1+0x0 (thread 1)\" } {at=\"call_2+0x0 (thread 1)\" } ");
    give_back(&lease);
    free_pool(pool);
}

typedef struct asker {
    cen_pool *pool;
    cen_priority priority;
    cen_deadline deadline;
    const char *where;
    cen_lease lease;
    cen_status status;
} asker;

static void wait_with_priority(void *argument)
{
    asker *a = argument;
    a->status = cen_pool_take_priority_at(a->pool, a->priority, a->deadline, &a->lease, NULL, a->where);
    if (a->status == CEN_OK) give_back(&a->lease);
}

/* guarantees: pool-api.description */
TEST(those_who_wait_are_described_in_the_order_of_service)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "waited", .max = 1, .aging_ns = SECOND), 1);
    cen_lease held = take_now(pool);
    asker low = {pool, CEN_PRIORITY_LOW, CEN_NEVER, "low.c:1", {0}, CEN_OK};
    asker high = {pool, CEN_PRIORITY_HIGH, cen_in_ns(1000), "high.c:3", {0}, CEN_OK};
    ceni_thread first = start("low", wait_with_priority, &low);
    ceni_world_settle();
    ceni_world_advance(10);
    cen_take_op asked;
    cen_take_op_init(&asked, NULL, NULL);
    expect_equal(cen_pool_take_async_at(pool, cen_in_ns(500), &asked, "ask.c:2"), CEN_OK);
    ceni_world_advance(10);
    ceni_thread last = start("high", wait_with_priority, &high);
    ceni_world_settle();
    ceni_world_advance(10);
    draw_pool(pool, &d, 10);
    expect_drawn(&d, "[waiters {kind=\"thread\" holder=\"thread 4\" thread_name=\"fiber 4\" where=\"high.c:3\" "
                     "priority=\"high\" waited_ns=10 "
                     "deadline_in_ns=990 } {kind=\"future\" holder=\"thread 1\" thread_name=\"fiber 1\" "
                     "where=\"ask.c:2\" priority=\"normal\" "
                     "waited_ns=20 deadline_in_ns=480 } {kind=\"thread\" holder=\"thread 2\" thread_name=\"fiber 2\" "
                     "where=\"low.c:1\" "
                     "priority=\"low\" waited_ns=30 } ] ");
    expect_not_drawn(&d, "waiters_more");
    draw_pool(pool, &d, 2);
    expect_drawn(&d, "deadline_in_ns=480 } ] waiters_more=1 ");
    draw_pool(pool, &d, 0);
    expect_drawn(&d, "[holders ] holders_more=1 [waiters ] waiters_more=3 ");
    expect(cen_future_cancel(&asked.future));
    give_back(&held);
    join(first);
    join(last);
    expect(low.status == CEN_OK && high.status == CEN_OK);
    free_pool(pool);
}

/* Whoever draws may use the pool itself, and holds no lock of it. */
static void use_the_pool(drawing *drawn)
{
    cen_pool *pool = drawn->argument;
    ceni_rank_expect_none("a function of a description");
    cen_lease lease = take_now(pool);
    give_back(&lease);
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(pool, &s), CEN_OK);
}

/* guarantees: pool-api.description */
TEST(L9_no_lock_is_held_while_a_description_is_drawn)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "busy", .max = 2), 2);
    cen_lease held = take_now(pool);
    d = (drawing){.inside = use_the_pool, .argument = pool};
    draw_pool(pool, &d, 10);
    expect_drawn(&d, "[holders {index=0 ");
    d = (drawing){.inside = NULL};
    give_back(&held);
    free_pool(pool);
}

/* ---- Actions -------------------------------------------------------------------------------------- */

typedef struct order {
    const char *action;
    int64_t value;
    cen_status status;
    cen_error error;
} order;

static void tell_component(void *argument, cen_component *it)
{
    order *o = argument;
    o->status = cen_component_invoke(it, o->action, o->value, &o->error);
}

static cen_error told; /* what the last one was answered */

static cen_status tell_pool(cen_pool *pool, const char *action, int64_t value)
{
    order o = {.action = action, .value = value};
    visit_pool(pool, tell_component, &o);
    told = o.error;
    return o.status;
}

static void list_actions(void *argument, cen_component *it)
{
    char *text = argument;
    for (size_t i = 0; cen_component_action_name(it, i); i++)
        snprintf(text + strlen(text), 16, "%s ", cen_component_action_name(it, i));
}

/* guarantees: pool-api.actions */
TEST(a_pool_obeys_its_actions)
{
    static script s;
    s = (script){.opened = 0};
    cen_pool *pool =
        begin_life(&s, HAS_TEST, .name = "told", .max = 3, .test_after_idle_ns = CEN_OFF, .test_interval_ns = CEN_OFF);
    char actions[200] = "";
    visit_pool(pool, list_actions, actions);
    expect_text(actions, "pause resume resize reload evict test ");
    warm_up(pool, 2);
    expect_equal(tell_pool(pool, "pause", 0), CEN_OK);
    expect(look(pool).is_paused);
    expect_equal(tell_pool(pool, "resume", 0), CEN_OK);
    expect(!look(pool).is_paused);
    expect_equal(tell_pool(pool, "resize", 7), CEN_OK);
    expect_equal(cen_pool_max(pool), 7);
    expect_equal(tell_pool(pool, "test", 0), CEN_OK);
    ceni_world_advance(SECOND);
    expect_equal(look(pool).tested, 2);
    expect_equal(tell_pool(pool, "evict", 0), CEN_OK);
    expect(look(pool).idle == 0 && look(pool).closed == 2);
    warm_up(pool, 1);
    expect_equal(tell_pool(pool, "reload", 0), CEN_OK);
    expect_equal(look(pool).closed, 3);
    warm_up(pool, 1);
    expect_equal(tell_pool(pool, "reload", SECOND), CEN_OK);
    expect_equal(look(pool).closed, 3);
    ceni_world_advance(5 * SECOND);
    expect_equal(look(pool).closed, 4);
    end_life(&s, pool);
}

/* guarantees: pool-api.actions */
TEST(a_pool_refuses_what_it_cannot_do_and_changes_nothing)
{
    cen_pool *pool = make_pool(.name = "told", .max = 3);
    const int64_t bad[] = {0, -1, CEN_POOL_MAX + 1, INT64_MAX, INT64_MIN, INT64_C(4294967297)};
    for (int i = 0; i < 6; i++) {
        expect_equal(tell_pool(pool, "resize", bad[i]), CEN_INVALID);
        expect_error(&told, CEN_INVALID, "pool \"told\": max must be 1 to 1000000 (got ");
    }
    expect_equal(cen_pool_max(pool), 3);
    expect_equal(tell_pool(pool, "reload", -1), CEN_INVALID);
    expect_equal(tell_pool(pool, "explode", 0), CEN_ABSENT);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK);
    const char *const all[] = {"pause", "resume", "resize", "reload", "evict", "test"};
    for (int i = 0; i < 6; i++) {
        expect_equal(tell_pool(pool, all[i], 5), CEN_CLOSED);
        expect_error(&told, CEN_CLOSED, "has been closed");
    }
    free_pool(pool);
}

/* ---- The system ------------------------------------------------------------------------------------ */

static void read_system(void *argument, cen_component *it)
{
    *(const char **)argument = cen_component_system(it);
}

static const char *system_of(cen_pool *pool)
{
    const char *system = "unread";
    visit_pool(pool, read_system, &system);
    return system;
}

/* guarantees: pool-api.actions */
TEST(the_system_is_what_the_driver_says_and_none_of_a_driver_that_does_not_know_it)
{
    static cen_driver_calls calls;
    calls = (cen_driver_calls){.size = sizeof calls, .open = workshop_open, .close = workshop_close, .system = "redis"};
    workshop shop = {0};
    cen_pool *pool = make_pool(.name = "named", .driver = {&calls, &shop});
    expect_text(system_of(pool), "redis");
    draw_pool(pool, &d, 1);
    expect_drawn(&d, "driver=\"redis\"");
    free_pool(pool);
    calls.size = offsetof(cen_driver_calls, system); /* as it was before */
    pool = make_pool(.name = "named", .driver = {&calls, &shop});
    expect(system_of(pool) == NULL);
    draw_pool(pool, &d, 1);
    expect_drawn(&d, "driver=null");
    free_pool(pool);
    pool = make_pool(.name = "named", .max = 1);
    expect(system_of(pool) == NULL);
    free_pool(pool);
}
