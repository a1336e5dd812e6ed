/* SPDX-License-Identifier: MIT */
/* The ABI rule of cenote/sized.h for every struct of libcenote. */
#include <cenote/cenote.h>

#include "support/sized.h"
#include "support/test.h"

/* ---- Making --------------------------------------------------------------------- */

static cen_status open_nothing(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    *out = NULL;
    return CEN_OK;
}

static cen_pool *pool_of(void)
{
    cen_pool *pool = NULL;
    static const cen_driver_calls calls = {.size = sizeof calls, .open = open_nothing, .closes_nothing = true};
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = {&calls, NULL}, .max = 4);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    return pool;
}

static cen_status call_pool_new(void *given)
{
    cen_pool *pool = NULL;
    cen_status status = cen_pool_new(given, &pool, NULL);
    expect_equal(pool != NULL, status == CEN_OK);
    expect_equal(cen_pool_free(pool), CEN_OK);
    return status;
}

static cen_status call_pool_set(void *given)
{
    cen_pool *pool = NULL;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = NULL);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    cen_status status = cen_pool_options_set(pool, given, NULL);
    expect_equal(cen_pool_free(pool), CEN_OK);
    return status;
}

static void fill_calls(void *full)
{
    ((cen_driver_calls *)full)->open = open_nothing;
    ((cen_driver_calls *)full)->closes_nothing = true;
}

static cen_status call_driver(void *given)
{
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = {given, NULL});
    return call_pool_new(&options);
}

static void fill_queue(void *full)
{
    ((cen_queue_options *)full)->element_size = 4;
}

static cen_status call_queue_new(void *given)
{
    cen_queue *queue = NULL;
    cen_status status = cen_queue_new(given, &queue, NULL);
    cen_queue_free(queue);
    return status;
}

static cen_status call_inbox_new(void *given)
{
    cen_inbox *inbox = NULL;
    cen_status status = cen_inbox_new(given, &inbox, NULL);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
    return status;
}

static cen_status call_runtime_new(void *given)
{
    cen_runtime *runtime = NULL;
    cen_status status = cen_runtime_new(given, &runtime, NULL);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    return status;
}

static cen_status call_poller_new(void *given)
{
    cen_poller *poller = NULL;
    cen_status status = cen_poller_new(given, &poller, NULL);
    expect_equal(cen_poller_free(poller), CEN_OK);
    return status;
}

static cen_status call_pollable_new(void *given)
{
    cen_pollable *pollable = NULL;
    cen_status status = cen_pollable_new(given, &pollable, NULL);
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
    return status;
}

static void handle(void *argument, cen_message *message)
{
    (void)argument, (void)message;
}

static void fill_actor(void *full)
{
    ((cen_actor_options *)full)->handle = handle;
}

static void end_actor(cen_actor *one)
{
    if (!one) return;
    cen_future stopped;
    cen_future_init(&stopped);
    expect_equal(cen_actor_stop(one, CEN_STOP_DROP, &stopped, NULL), CEN_OK);
    expect_equal(cen_future_wait(&stopped, cen_in_s(30)), CEN_OK);
    expect_equal(cen_actor_free(one), CEN_OK);
}

static cen_status call_actor_new(void *given)
{
    cen_actor *one = NULL;
    cen_status status = cen_actor_new(given, &one, NULL);
    end_actor(one);
    return status;
}

static void end_crew(cen_crew *crew)
{
    if (!crew) return;
    expect_equal(cen_crew_stop(crew, CEN_STOP_DROP, cen_in_s(30), NULL, NULL), CEN_OK);
    expect_equal(cen_crew_free(crew), CEN_OK);
}

static cen_status call_crew_new(void *given)
{
    cen_crew *crew = NULL;
    cen_status status = cen_crew_new(given, &crew, NULL);
    end_crew(crew);
    return status;
}

static void end_lanes(cen_lanes *lanes)
{
    if (!lanes) return;
    expect_equal(cen_lanes_stop(lanes, CEN_STOP_DROP, cen_in_s(30), NULL, NULL), CEN_OK);
    expect_equal(cen_lanes_free(lanes), CEN_OK);
}

static cen_status call_lanes_new(void *given)
{
    cen_lanes *lanes = NULL;
    cen_status status = cen_lanes_new(given, &lanes, NULL);
    end_lanes(lanes);
    return status;
}

static cen_status call_lane_crew(void *given)
{
    cen_lanes_options options = CEN_LANES_OPTIONS(.high.crew = given, .normal.is_absent = true, .low.is_absent = true);
    return call_lanes_new(&options);
}

static cen_status call_take_with(void *given)
{
    cen_lease lease;
    cen_pool *one = pool_of();
    cen_status status = cen_pool_take_with(one, given, &lease, NULL);
    if (status == CEN_OK) expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(cen_pool_free(one), CEN_OK);
    return status;
}

static cen_status call_enter_with(void *given)
{
    cen_scope scope;
    cen_pool *one = pool_of();
    cen_status status = cen_pool_enter_with(one, given, &scope, NULL);
    if (status == CEN_OK) expect_equal(cen_pool_leave(&scope), CEN_OK);
    expect_equal(cen_pool_free(one), CEN_OK);
    return status;
}

/* guarantees: sized.every-size */
TEST(options_of_every_size_make_a_thing)
{
    static const sized_case cases[] = {
        SIZED_INPUT(cen_pool_options, size, NULL, call_pool_new),
        SIZED_INPUT(cen_pool_options, size, NULL, call_pool_set),
        SIZED_INPUT(cen_take_options, size, NULL, call_take_with),
        SIZED_INPUT(cen_take_options, size, NULL, call_enter_with),
        SIZED_INPUT(cen_driver_calls, size, fill_calls, call_driver),
        SIZED_INPUT(cen_queue_options, element_size, fill_queue, call_queue_new),
        SIZED_INPUT(cen_inbox_options, size, NULL, call_inbox_new),
        SIZED_INPUT(cen_runtime_options, size, NULL, call_runtime_new),
        SIZED_INPUT(cen_poller_options, size, NULL, call_poller_new),
        SIZED_INPUT(cen_pollable_options, size, NULL, call_pollable_new),
        SIZED_INPUT(cen_actor_options, handle, fill_actor, call_actor_new),
    };
    SIZED_TRY(cases);
}

/* guarantees: sized.every-size */
TEST(options_of_every_size_make_threads)
{
    static const sized_case cases[] = {
        SIZED_INPUT(cen_crew_options, size, NULL, call_crew_new),
        SIZED_INPUT(cen_crew_options, size, NULL, call_lane_crew),
        SIZED_INPUT(cen_lanes_options, size, NULL, call_lanes_new),
    };
    SIZED_TRY(cases);
}

/* ---- Outputs ---------------------------------------------------------------------- */

static cen_pool *pool;
static cen_actor *actor;
static cen_crew *crew;
static cen_lanes *lanes;

static cen_status call_pool_get(void *given)
{
    return cen_pool_options_get(pool, given);
}

static cen_status call_pool_look(void *given)
{
    return cen_pool_stats_get(pool, given);
}

static cen_status call_pool_close(void *given)
{
    cen_pool *one = pool_of();
    cen_status status = cen_pool_close(one, cen_in_s(30), given, NULL);
    expect_equal(cen_pool_is_closed(one), status == CEN_OK);
    expect_equal(cen_pool_free(one), CEN_OK);
    return status;
}

static cen_status call_pool_close_async(void *given)
{
    cen_close_op closing;
    cen_pool *one = pool_of();
    cen_close_op_init(&closing, NULL, NULL);
    closing.report = given;
    cen_status status = cen_pool_close_async(one, CEN_NEVER, &closing);
    expect_equal(cen_pool_is_closed(one), status == CEN_OK);
    if (status == CEN_OK) expect(cen_future_is_done(&closing.future));
    expect_equal(cen_pool_free(one), CEN_OK);
    return status;
}

static cen_status call_actor_look(void *given)
{
    return cen_actor_stats_get(actor, given);
}

static cen_status call_crew_look(void *given)
{
    return cen_crew_stats_get(crew, given);
}

static cen_status call_crew_stop(void *given)
{
    cen_crew *one = NULL;
    cen_crew_options options = CEN_CREW_OPTIONS(.workers = 1);
    expect_equal(cen_crew_new(&options, &one, NULL), CEN_OK);
    cen_status status = cen_crew_stop(one, CEN_STOP_DRAIN, cen_in_s(30), given, NULL);
    end_crew(one);
    return status;
}

static cen_status call_lanes_look(void *given)
{
    return cen_lanes_stats_get(lanes, given);
}

static cen_status call_lanes_times(void *given)
{
    return cen_lanes_latency_get(lanes, CEN_PRIORITY_HIGH, given);
}

static cen_status call_lanes_stop(void *given)
{
    cen_lanes *one = NULL;
    cen_crew_options crew_options = CEN_CREW_OPTIONS(.workers = 1);
    cen_lanes_options options =
        CEN_LANES_OPTIONS(.high.crew = &crew_options, .normal.is_absent = true, .low.is_absent = true);
    expect_equal(cen_lanes_new(&options, &one, NULL), CEN_OK);
    cen_status status = cen_lanes_stop(one, CEN_STOP_DRAIN, cen_in_s(30), given, NULL);
    end_lanes(one);
    return status;
}

static cen_status call_runtime_look(void *given)
{
    return cen_runtime_stats_get(NULL, given);
}

/* guarantees: sized.every-size */
TEST(outputs_of_every_size_are_written_within_their_size)
{
    static const sized_case cases[] = {
        SIZED_OUTPUT(cen_pool_options, call_pool_get),      SIZED_OUTPUT(cen_pool_stats, call_pool_look),
        SIZED_OUTPUT(cen_close_report, call_pool_close),    SIZED_OUTPUT(cen_close_report, call_pool_close_async),
        SIZED_OUTPUT(cen_actor_stats, call_actor_look),     SIZED_OUTPUT(cen_crew_stats, call_crew_look),
        SIZED_OUTPUT(cen_crew_report, call_crew_stop),      SIZED_OUTPUT(cen_lanes_stats, call_lanes_look),
        SIZED_OUTPUT(cen_lane_latency, call_lanes_times),   SIZED_OUTPUT(cen_lanes_report, call_lanes_stop),
        SIZED_OUTPUT(cen_runtime_stats, call_runtime_look),
    };
    cen_actor_options actor_options = CEN_ACTOR_OPTIONS(.handle = handle);
    cen_crew_options crew_options = CEN_CREW_OPTIONS(.workers = 1);
    cen_lanes_options lanes_options = CEN_LANES_OPTIONS(.high.crew = &crew_options);
    pool = pool_of();
    expect_equal(cen_actor_new(&actor_options, &actor, NULL), CEN_OK);
    expect_equal(cen_crew_new(&crew_options, &crew, NULL), CEN_OK);
    expect_equal(cen_lanes_new(&lanes_options, &lanes, NULL), CEN_OK);
    SIZED_TRY(cases);
    end_lanes(lanes);
    end_crew(crew);
    end_actor(actor);
    expect_equal(cen_pool_free(pool), CEN_OK);
}

/* ---- What a smaller struct means ------------------------------------------------------ */

/* guarantees: sized.defaults */
TEST(options_that_an_older_program_sets_leave_newer_ones_as_they_are)
{
    cen_pool *one = NULL;
    cen_pool_options options = CEN_POOL_OPTIONS(.max = 3, .max_idle = 2, .breaker_wait_ns = 77), older = options;
    expect_equal(cen_pool_new(&options, &one, NULL), CEN_OK);
    older.size = offsetof(cen_pool_options, max_concurrent_opens);
    older.max_idle = 99; /* is not there */
    expect_equal(cen_pool_options_get(one, &older), CEN_OK);
    expect_equal(older.size, offsetof(cen_pool_options, max_concurrent_opens));
    expect_equal(older.max_idle, 99);
    older.max = 5;
    expect_equal(cen_pool_options_set(one, &older, NULL), CEN_OK);
    cen_pool_options now = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(one, &now), CEN_OK);
    expect_equal(now.max, 5);
    expect_equal(now.max_idle, 2);
    expect_equal(now.breaker_wait_ns, 77);
    expect_equal(cen_pool_free(one), CEN_OK);
}

/* ---- Arrays ------------------------------------------------------------------------------ */

enum { HELD = 3, ROOM = 4 };

/* Lists the holders into elements of that size; what lies behind the last is not touched. */
static void expect_stride(cen_pool *one, size_t size)
{
    static unsigned char room[(sizeof(cen_object_view) + 64) * ROOM] __attribute__((aligned(16)));
    size_t count = 0;
    memset(room, 0xa5, sizeof room);
    expect_equal(cen_pool_holders_sized(one, (cen_object_view *)(void *)room, size, ROOM, &count), CEN_OK);
    expect_equal(count, HELD);
    for (size_t i = 0; i < HELD; i++) {
        cen_object_view seen = {.index = UINT32_MAX};
        memcpy(&seen, room + i * size, size < sizeof seen ? size : sizeof seen);
        expect_equal(seen.size, size);
        if (size >= offsetof(cen_object_view, index) + sizeof seen.index) expect_equal(seen.index, i);
        for (size_t at = sizeof seen; at < size; at++) expect_equal(room[i * size + at], 0);
    }
    for (size_t at = HELD * size; at < sizeof room; at++) expect_equal(room[at], 0xa5);
}

/* guarantees: sized.stride */
TEST(holders_are_written_at_the_callers_stride)
{
    cen_pool *one = pool_of();
    cen_lease leases[HELD];
    size_t count;
    for (int i = 0; i < HELD; i++) expect_equal(cen_pool_take(one, CEN_NOW, &leases[i], NULL), CEN_OK);
    for (size_t size = sizeof(size_t); size <= sizeof(cen_object_view) + 64; size++) expect_stride(one, size);
    const size_t wrong[] = {0, 1, sizeof(size_t) - 1, CEN_SIZED_MAX + 1};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_equal(cen_pool_holders_sized(one, &(cen_object_view){.size = 0}, wrong[i], 1, &count), CEN_INVALID);
    for (int i = 0; i < HELD; i++) cen_pool_give(&leases[i]);
    expect_equal(cen_pool_free(one), CEN_OK);
}

static bool see_holding(void *argument, const cen_object_view *holding)
{
    *(size_t *)argument = holding->size;
    return true;
}

static size_t size_of_holding(void)
{
    cen_pool *one = pool_of();
    cen_lease lease;
    size_t size = 0;
    expect_equal(cen_pool_take(one, CEN_NOW, &lease, NULL), CEN_OK);
    expect_equal(cen_pool_each(one, see_holding, &size), CEN_OK);
    cen_pool_give(&lease);
    expect_equal(cen_pool_free(one), CEN_OK);
    return size;
}

/* guarantees: sized.stride */
TEST(a_visitor_is_told_the_size_of_what_it_sees)
{
    static const sized_shown shown[] = {SIZED_SHOWN(cen_object_view, size_of_holding)};
    SIZED_EXPECT(shown);
}

static size_t metric_count;

static void read_at_strides(void *argument, cen_component *thing)
{
    static unsigned char room[(sizeof(cen_metric) + 24) * CEN_METRICS_MAX] __attribute__((aligned(16)));
    cen_metric usual[CEN_METRICS_MAX];
    (void)argument;
    metric_count = cen_component_metrics(thing, usual, CEN_METRICS_MAX);
    for (size_t size = sizeof(char *); size <= sizeof(cen_metric) + 24; size += sizeof(void *)) {
        memset(room, 0xa5, sizeof room);
        expect_equal(cen_component_metrics_sized(thing, (cen_metric *)(void *)room, size, CEN_METRICS_MAX),
                     metric_count);
        for (size_t i = 0; i < metric_count; i++) {
            cen_metric seen = {.name = NULL};
            memcpy(&seen, room + i * size, size < sizeof seen ? size : sizeof seen);
            expect_text(seen.name, usual[i].name);
        }
        for (size_t at = metric_count * size; at < sizeof room; at++) expect_equal(room[at], 0xa5);
    }
}

/* guarantees: sized.stride */
TEST(metrics_are_written_at_the_callers_stride)
{
    cen_pool *one = pool_of();
    cen_components_each(read_at_strides, NULL);
    expect(metric_count > 1);
    expect_equal(cen_pool_free(one), CEN_OK);
}

/* ---- Parts: they lie within another struct, and never change ------------------------------ */

SIZED_PART(cen_lane_options, 56)
SIZED_PART(cen_lane_report, 64)
SIZED_PART(cen_lane_stats, 160)
SIZED_PART(cen_latency_summary, 64)
