/* SPDX-License-Identifier: MIT */
/*
 * Somebody watches all the time: two threads walk through all components, read them, have them draw themselves and read the events,
 * while others use one of each kind as hard as they can, and make and free more of them.
 *
 * What must hold: every description is well formed (support/description.h fails otherwise), every reading of a counter is at least what it
 * was before, and nothing is touched that is gone, which the sanitizers tell.
 */
#include <stdlib.h>

#include <cenote/cenote.h>
#include <cenote/mux_pool.h>
#include <cenote/mux_server.h>
#include <cenote/registry.h>
#include <cenote/router.h>
#include <cenote/supervisor.h>

#include "base/atomic.h"
#include "port/port.h"
#include "support/description.h"

#define MS INT64_C(1000000)

static _Atomic uint32_t over;
static _Atomic uint64_t rounds[16]; /* of each user, to see that none stood still */

static bool goes_on(unsigned user)
{
    ceni_add_seq_cst(&rounds[user], 1);
    return !ceni_load_seq_cst(&over);
}

#define MUST(call) expect_equal((call), CEN_OK)

/* ---- Users -------------------------------------------------------------------------------------- */

static void use_queue(void *unused)
{
    (void)unused;
    while (goes_on(0)) {
        cen_queue *queue;
        int element = 1;
        cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof element, .capacity = 8);
        MUST(cen_queue_new(&options, &queue, NULL));
        for (int i = 0; i < 100; i++) {
            MUST(cen_queue_push(queue, &element));
            MUST(cen_queue_pop(queue, &element));
        }
        MUST(cen_queue_close(queue));
        cen_queue_free(queue);
    }
}

static cen_next block_a_little(cen_task *task)
{
    cen_blocking_begin();
    ceni_thread_yield();
    cen_blocking_end();
    return cen_task_done(task, NULL);
}

static void use_crew(void *unused)
{
    (void)unused;
    while (goes_on(1)) {
        cen_crew *crew;
        cen_task tasks[8];
        cen_crew_options options = CEN_CREW_OPTIONS(.workers = 2, .max = 4);
        MUST(cen_crew_new(&options, &crew, NULL));
        for (uint32_t round = 0; round < 20; round++) {
            for (int i = 0; i < 8; i++) {
                cen_task_init(&tasks[i], block_a_little);
                tasks[i].name = i % 2 ? "odd" : "even";
                MUST(cen_crew_submit(crew, &tasks[i], NULL));
            }
            MUST(cen_crew_resize(crew, 1 + round % 3, NULL));
            for (int i = 0; i < 8; i++) MUST(cen_future_wait(&tasks[i].future, CEN_NEVER));
        }
        MUST(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL));
        MUST(cen_crew_free(crew));
    }
}

static void use_lanes(void *unused)
{
    static const cen_crew_options one = CEN_CREW_OPTIONS(.workers = 1, .max = 2);
    (void)unused;
    while (goes_on(2)) {
        cen_lanes *lanes;
        cen_task tasks[8];
        bool admitted[8];
        cen_lanes_options options =
            CEN_LANES_OPTIONS(.high = {.crew = &one, .max_tasks = 4}, .normal.is_absent = true, .low.crew = &one);
        MUST(cen_lanes_new(&options, &lanes, NULL));
        for (int round = 0; round < 20; round++) {
            for (int i = 0; i < 8; i++) {
                cen_task_init(&tasks[i], block_a_little);
                admitted[i] = cen_lanes_submit(lanes, CEN_PRIORITY_HIGH, &tasks[i], (cen_deadline){0}, NULL) == CEN_OK;
            }
            for (int i = 0; i < 8; i++)
                if (admitted[i]) MUST(cen_future_wait(&tasks[i].future, CEN_NEVER));
        }
        MUST(cen_lanes_stop(lanes, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL));
        MUST(cen_lanes_free(lanes));
    }
}

static void answer_it(void *argument, cen_message *message)
{
    (void)argument;
    cen_message_reply(message, NULL);
}

static void use_actor(void *unused)
{
    (void)unused;
    while (goes_on(3)) {
        cen_actor *actor;
        cen_message message;
        cen_future stopped;
        cen_actor_options options = CEN_ACTOR_OPTIONS(.handle = answer_it, .slow_ns = 1000 * MS);
        MUST(cen_actor_new(&options, &actor, NULL));
        cen_message_init(&message, "question");
        for (int i = 0; i < 50; i++) {
            cen_future answer;
            cen_future_init(&answer);
            while (cen_actor_ask(actor, &message, &answer, NULL) == CEN_MISUSE)
                ceni_thread_yield(); /* it is just let go of */
            MUST(cen_future_wait(&answer, CEN_NEVER));
        }
        cen_future_init(&stopped);
        MUST(cen_actor_stop(actor, CEN_STOP_DRAIN, &stopped, NULL));
        MUST(cen_future_wait(&stopped, CEN_NEVER));
        while (cen_actor_free(actor) == CEN_BUSY) ceni_thread_yield();
    }
}

static void use_router(void *unused)
{
    static int value;
    (void)unused;
    while (goes_on(4)) {
        cen_router *router;
        cen_member *members[3];
        cen_router_options options = CEN_ROUTER_OPTIONS(.measure = true, .max_in_flight = 50);
        cen_error cut = {.status = CEN_LOST, .text = "cut"};
        MUST(cen_router_new(&options, &router, NULL));
        for (int i = 0; i < 3; i++) {
            cen_member_options member = CEN_MEMBER_OPTIONS(.value = &value);
            MUST(cen_router_add(router, &member, &members[i], NULL));
        }
        for (int round = 0; round < 30; round++) {
            cen_route route;
            MUST(cen_member_up(members[round % 3], NULL));
            if (cen_router_route(router, NULL, CEN_NOW, &route, NULL) == CEN_OK)
                cen_route_done(&route, CEN_OUTCOME_OK, 0);
            MUST(cen_member_down(members[round % 3], &cut));
        }
        MUST(cen_router_free(router));
    }
}

static void use_registry(void *unused)
{
    (void)unused;
    cen_owner_options owning = CEN_OWNER_OPTIONS(.name = "one");
    while (goes_on(5)) {
        cen_registry *registry;
        cen_owner *owner;
        cen_registry_options options = CEN_REGISTRY_OPTIONS(.kind = CEN_DUPLICATE);
        MUST(cen_registry_new(&options, &registry, NULL));
        MUST(cen_owner_new(&owning, &owner, NULL));
        for (uint64_t i = 0; i < 200; i++)
            MUST(cen_registry_register(registry, cen_key_number(i % 50), NULL, owner, NULL, NULL));
        cen_owner_end(owner);
        MUST(cen_registry_free(registry));
    }
}

static cen_status start_child(void *argument, cen_child child, cen_error *error)
{
    (void)argument, (void)child, (void)error;
    return CEN_OK;
}

static void stop_child(void *argument, cen_child child)
{
    (void)argument, (void)child;
}

static void kill_first(void *argument, const cen_child_stats *stats)
{
    cen_error cut = {.status = CEN_LOST, .text = "cut"};
    (void)argument;
    cen_child_report_ended(stats->child, &cut);
}

static void use_supervisor(void *unused)
{
    (void)unused;
    while (goes_on(6)) {
        cen_supervisor *outer, *inner;
        cen_child_options below =
            CEN_CHILD_OPTIONS(.name = "below", .start = start_child, .stop = stop_child, .stops_at_once = true);
        cen_supervisor_options nested =
            CEN_SUPERVISOR_OPTIONS(.name = "inner", .children = &below, .child_count = 1, .nested = true,
                                   .max_restarts = CEN_OFF, .backoff_initial_ns = CEN_OFF);
        MUST(cen_supervisor_new(&nested, &inner, NULL));
        cen_child_options children[] = {below, cen_supervisor_child(inner)};
        children[0].name = "beside";
        cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.name = "outer", .children = children, .child_count = 2,
                                                                .max_restarts = CEN_OFF, .backoff_initial_ns = CEN_OFF);
        MUST(cen_supervisor_new(&options, &outer, NULL));
        for (int i = 0; i < 20; i++) MUST(cen_supervisor_each(inner, kill_first, NULL));
        MUST(cen_supervisor_stop(outer, CEN_NEVER, NULL, NULL));
        MUST(cen_supervisor_free(outer));
        MUST(cen_supervisor_free(inner));
    }
}

static void echo(void *argument, cen_mux_call *call)
{
    (void)argument;
    cen_mux_call_reply(call, call->payload, call->payload_size);
}

static void use_connections(void *unused)
{
    (void)unused;
    while (goes_on(7)) {
        cen_mux_server *server;
        cen_mux_pool *pool;
        cen_mux_server_options serving = CEN_MUX_SERVER_OPTIONS(.address = "127.0.0.1:0", .handle = echo);
        MUST(cen_mux_server_start(&serving, &server, NULL));
        const char *address = cen_mux_server_address(server);
        cen_mux_pool_options options =
            CEN_MUX_POOL_OPTIONS(.addresses = &address, .address_count = 1, .connections = 2);
        MUST(cen_mux_pool_new(&options, &pool, NULL));
        for (uint64_t i = 0; i < 50; i++) {
            uint64_t reply;
            cen_request request;
            cen_request_init(&request, NULL, NULL);
            request.payload = &i;
            request.size = request.capacity = sizeof i;
            request.reply = &reply;
            cen_mux_pool_request(pool, NULL, &request, NULL);
        }
        MUST(cen_mux_pool_free(pool));
        cen_mux_server_stop(server);
    }
}

static cen_status open_one(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    *out = malloc(8);
    return *out ? CEN_OK : CEN_NO_MEMORY;
}

static void close_one(void *argument, void *object)
{
    (void)argument;
    free(object);
}

static void use_pool(void *unused)
{
    static const cen_driver_calls calls = {.size = sizeof calls, .open = open_one, .close = close_one};
    (void)unused;
    while (goes_on(8)) {
        cen_pool *pool;
        cen_pool_options options = CEN_POOL_OPTIONS(.driver = {&calls, NULL}, .max = 3);
        MUST(cen_pool_new(&options, &pool, NULL));
        for (int i = 0; i < 100; i++) {
            cen_lease two[2];
            cen_take_op waits;
            for (int k = 0; k < 2; k++) MUST(cen_pool_take(pool, CEN_NEVER, &two[k], NULL));
            cen_take_op_init(&waits, NULL, NULL);
            MUST(cen_pool_take_async(pool, CEN_NEVER, &waits));
            for (int k = 0; k < 2; k++) MUST(cen_pool_give(&two[k]));
            MUST(cen_future_wait(&waits.future, CEN_NEVER));
            MUST(cen_pool_give(&waits.lease));
        }
        cen_pool_free(pool);
    }
}

/* ---- Who watches ---------------------------------------------------------------------------------- */

typedef struct watcher {
    uint64_t components, drawn;
    cen_histogram *histogram;
} watcher;

static void watch_one(void *argument, cen_component *component)
{
    watcher *self = argument;
    cen_metric before[CEN_METRICS_MAX], after[CEN_METRICS_MAX];
    description s = {.most = 1 + self->components % 5};
    cen_histogram_header timing;
    self->components++;
    size_t count = cen_component_metrics(component, before, CEN_METRICS_MAX);
    description_draw(&s, component);
    self->drawn += s.count;
    description_drop(&s);
    for (size_t i = 0; cen_component_histogram(component, i, &timing, self->histogram); i++)
        expect(timing.name != NULL);
    size_t again = cen_component_metrics(component, after, CEN_METRICS_MAX);
    for (size_t i = 0; i < count && i < again; i++)
        if (before[i].kind == CEN_COUNTER && strcmp(before[i].name, after[i].name) == 0 &&
            after[i].value < before[i].value)
            test_fail(__FILE__, __LINE__, "%s of a %s has fallen from %lld to %lld", before[i].name,
                      cen_component_kind(component), (long long)before[i].value, (long long)after[i].value);
}

static _Atomic uint64_t seen, drawn, heard;

static void watch(void *unused)
{
    watcher self = {.histogram = calloc(1, sizeof *self.histogram)};
    cen_event_cursor at = {0};
    cen_event event;
    (void)unused;
    while (!ceni_load_seq_cst(&over)) {
        cen_components_each(watch_one, &self);
        while (cen_events_read(&at, &event) == CEN_OK) ceni_add_seq_cst(&heard, 1);
    }
    ceni_add_seq_cst(&seen, self.components);
    ceni_add_seq_cst(&drawn, self.drawn);
    free(self.histogram);
}

TEST(two_who_watch_everything_see_it_whole_while_it_is_used_made_and_freed)
{
    static void (*const users[])(void *) = {use_queue,    use_crew,       use_lanes,       use_actor, use_router,
                                            use_registry, use_supervisor, use_connections, use_pool};
    enum { USERS = sizeof users / sizeof *users, WATCHERS = 2 };
    const char *seconds = getenv("CENOTE_STRESS_SECONDS");
    int64_t ns = seconds ? strtoll(seconds, NULL, 10) * 1000 * MS : 1500 * MS;
    ceni_thread threads[USERS + WATCHERS];
    for (int i = 0; i < WATCHERS; i++) MUST(ceni_thread_start(&threads[i], "watch", watch, NULL, NULL));
    for (int i = 0; i < USERS; i++) MUST(ceni_thread_start(&threads[WATCHERS + i], "use", users[i], NULL, NULL));
    ceni_sleep_until(ceni_clock_now() + ns);
    ceni_store_seq_cst(&over, 1);
    for (int i = 0; i < USERS + WATCHERS; i++) ceni_thread_join(&threads[i]);
    for (int i = 0; i < USERS; i++) expect(ceni_load_seq_cst(&rounds[i]) > 0);
    expect(ceni_load_seq_cst(&seen) > 10 && ceni_load_seq_cst(&drawn) > 10 && ceni_load_seq_cst(&heard) > 10);
    printf("     %llu components seen, %llu fields drawn, %llu events heard\n",
           (unsigned long long)ceni_load_seq_cst(&seen), (unsigned long long)ceni_load_seq_cst(&drawn),
           (unsigned long long)ceni_load_seq_cst(&heard));
}
