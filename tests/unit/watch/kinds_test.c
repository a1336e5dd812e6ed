/* SPDX-License-Identifier: MIT */
/*
 * docs/components.md says what every kind tells. Here is one of each, in use, and what it tells is compared with the page: metrics
 * and actions must be the same on both sides, and whatever a description writes, a duration is called or the events tell must be there.
 */
#include <stdlib.h>
#include <unistd.h>

#include <cenote/cenote.h>
#include <cenote/mux_pool.h>
#include <cenote/mux_server.h>
#include <cenote/poller.h>
#include <cenote/registry.h>
#include <cenote/supervisor.h>

#include "port/port.h"
#include "support/description.h"

/* ---- The page -------------------------------------------------------------------------------- */

static char *page;

static void read_page(void)
{
    FILE *file = fopen(CENOTE_DOCS "/components.md", "r");
    expect(file != NULL);
    expect_equal(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    rewind(file);
    page = malloc((size_t)size + 1);
    expect(page && fread(page, 1, (size_t)size, file) == (size_t)size);
    page[size] = '\0';
    fclose(file);
}

/* The part about a kind, as a text of its own. */
static char *section_of(const char *kind)
{
    char title[64];
    snprintf(title, sizeof title, "\n## %s\n", kind);
    const char *begin = strstr(page, title);
    if (!begin) test_fail(__FILE__, __LINE__, "docs/components.md has no section \"%s\"", kind);
    const char *end = strstr(begin + strlen(title), "\n## ");
    return strndup(begin, end ? (size_t)(end - begin) : strlen(begin));
}

/* Calls for every name in backticks, with the line that it is in. */
static void each_name(const char *section, void (*call)(void *argument, const char *name, const char *line),
                      void *argument)
{
    char line[2048], name[DESCRIPTION_PATH];
    for (const char *at = section; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        expect(strlen(line) == strcspn(at, "\n"));
        for (const char *quote = strchr(line, '`'); quote; quote = strchr(quote, '`')) {
            size_t length = strcspn(quote + 1, "`");
            snprintf(name, sizeof name, "%.*s", (int)length, quote + 1);
            call(argument, name, line);
            quote += length + 2;
            if (quote > line + strlen(line)) break;
        }
    }
}

typedef struct search {
    const char *name, *mark;
    bool found;
} search;

static void compare_name(void *argument, const char *name, const char *line)
{
    search *wanted = argument;
    if (strcmp(name, wanted->name) == 0 && strstr(line, wanted->mark)) wanted->found = true;
}

/* Whether a line that has `mark` in it names it. */
static bool is_said(const char *section, const char *name, const char *mark)
{
    search wanted = {.name = name, .mark = mark};
    each_name(section, compare_name, &wanted);
    return wanted.found;
}

/* ---- What components tell -------------------------------------------------------------------------- */

typedef struct told {
    const char *kind, *section;
    cen_metric metrics[CEN_METRICS_MAX];
    size_t count;
} told;

static const char *mark_of(const cen_metric *metric)
{
    return metric->kind == CEN_COUNTER ? "| counter |" : "| gauge |";
}

/* A row of the page must be a reading. */
static void find_metric(void *argument, const char *name, const char *line)
{
    const told *t = argument;
    const char *mark = strstr(line, "| counter |") ? "| counter |" : strstr(line, "| gauge |") ? "| gauge |" : NULL;
    if (!mark || strstr(line, name) > strstr(line, mark)) return;
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->metrics[i].name, name) == 0 && strcmp(mark_of(&t->metrics[i]), mark) == 0) return;
    test_fail(__FILE__, __LINE__, "docs/components.md has the reading `%s` (%s) of a %s, which has none", name, mark,
              t->kind);
}

static void compare_metrics(told *t, cen_component *component)
{
    t->count = cen_component_metrics(component, t->metrics, CEN_METRICS_MAX);
    expect(t->count > 0 && t->count <= CEN_METRICS_MAX);
    for (size_t i = 0; i < t->count; i++)
        if (!is_said(t->section, t->metrics[i].name, mark_of(&t->metrics[i])))
            test_fail(__FILE__, __LINE__, "docs/components.md lacks `%s` (%s) of a %s", t->metrics[i].name,
                      mark_of(&t->metrics[i]), t->kind);
    each_name(t->section, find_metric, t);
}

/* "workers[12].state" as the page has it: "workers[].state". */
static void without_numbers(const char *path, char *out)
{
    for (; *path; path++) {
        if (out[-1] == '[' && *path >= '0' && *path <= '9') continue;
        *out++ = *path;
    }
    *out = '\0';
}

static void compare_description(const told *t, cen_component *component)
{
    description s = {.most = 100};
    description_draw(&s, component);
    expect(s.count > 0);
    for (size_t i = 0; i < s.count; i++) {
        char general[DESCRIPTION_PATH + 1] = " ";
        without_numbers(s.leaves[i].path, general + 1);
        if (!is_said(t->section, general + 1, "| `"))
            test_fail(__FILE__, __LINE__, "docs/components.md lacks `%s` of the description of a %s", general + 1,
                      t->kind);
    }
    description_drop(&s);
}

static void compare_component(void *argument, cen_component *component)
{
    told t = {.kind = argument};
    char *section = section_of(t.kind);
    cen_histogram *histogram = calloc(1, sizeof *histogram);
    cen_histogram_header timing;
    t.section = section;
    compare_metrics(&t, component);
    compare_description(&t, component);
    for (size_t i = 0; cen_component_action_name(component, i); i++)
        if (!is_said(section, cen_component_action_name(component, i), ""))
            test_fail(__FILE__, __LINE__, "docs/components.md lacks the action `%s` of a %s",
                      cen_component_action_name(component, i), t.kind);
    for (size_t i = 0; cen_component_histogram(component, i, &timing, histogram); i++) {
        const char *name =
            strncmp(timing.name, "normal_", 7) == 0 || strncmp(timing.name, "low_", 4) == 0 ? "high_wait" : timing.name;
        if (!is_said(section, name, ""))
            test_fail(__FILE__, __LINE__, "docs/components.md lacks the times `%s` of a %s", name, t.kind);
    }
    free(histogram);
    free(section);
}

static void compare(const char *kind)
{
    if (component_visit(kind, NULL, compare_component, (void *)(uintptr_t)kind) == 0)
        test_fail(__FILE__, __LINE__, "there is no %s", kind);
}

/* Each line that begins with "Events:", and the ones after it, has what is told of a kind. */
static void compare_events(void)
{
    const description_heard *heard = events_hear();
    expect(heard->count > 0);
    for (unsigned i = 0; i < heard->count; i++) {
        char *section = section_of(heard->all[i].component_kind);
        const char *list = strstr(section, "\nEvents:");
        bool is_pool = strcmp(heard->all[i].component_kind, "pool") == 0; /* its events are those of pool.h */
        if (!is_pool && (!list || !is_said(list, heard->all[i].what, "")))
            test_fail(__FILE__, __LINE__, "docs/components.md lacks the events `%s` of a %s", heard->all[i].what,
                      heard->all[i].component_kind);
        free(section);
    }
}

/* ---- One of each ---------------------------------------------------------------------------------- */

static cen_error error;

#define MUST(call) \
    do { \
        error.text[0] = '\0'; \
        cen_status status_ = (call); \
        if (status_ != CEN_OK) test_fail(__FILE__, __LINE__, "%s: %s", #call, error.text); \
    } while (0)

#define AWAIT(condition) \
    do { \
        for (int64_t until_ = ceni_clock_now() + INT64_C(60000000000); !(condition);) { \
            if (ceni_clock_now() > until_) test_fail(__FILE__, __LINE__, "never %s", #condition); \
            ceni_sleep_until(ceni_clock_now() + 200000); \
        } \
    } while (0)

TEST(the_page_has_what_a_queue_tells)
{
    cen_queue *queue;
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = 8, .capacity = 4);
    read_page();
    MUST(cen_queue_new(&options, &queue, &error));
    compare("queue");
    cen_queue_close(queue);
    cen_queue_free(queue);
    compare_events();
}

static cen_next hold_on(cen_task *task)
{
    while (cen_task_check_stop(task) == CEN_OK) ceni_sleep_until(ceni_clock_now() + 100000);
    return cen_task_done(task, NULL);
}

TEST(the_page_has_what_a_crew_tells)
{
    cen_crew *crew;
    cen_task task;
    cen_crew_stats stats = CEN_SIZED(cen_crew_stats);
    cen_crew_options options = CEN_CREW_OPTIONS(.workers = 2, .slow_ns = 1000000);
    read_page();
    MUST(cen_crew_new(&options, &crew, &error));
    cen_task_init(&task, hold_on);
    MUST(cen_crew_submit(crew, &task, NULL));
    AWAIT(cen_crew_stats_get(crew, &stats) == CEN_OK && stats.slow == 1);
    compare("crew");
    MUST(cen_crew_resize(crew, 1, NULL));
    expect(!cen_task_cancel(&task));
    MUST(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL));
    MUST(cen_crew_free(crew));
    compare_events();
}

TEST(the_page_has_what_lanes_tell)
{
    cen_lanes *lanes;
    cen_lanes_options options = CEN_LANES_OPTIONS(.max_total = 1);
    cen_task two[2];
    read_page();
    MUST(cen_lanes_new(&options, &lanes, &error));
    for (int i = 0; i < 2; i++) cen_task_init(&two[i], hold_on);
    MUST(cen_lanes_submit(lanes, CEN_PRIORITY_HIGH, &two[0], (cen_deadline){0}, &error));
    expect_equal(cen_lanes_submit(lanes, CEN_PRIORITY_LOW, &two[1], (cen_deadline){0}, &error), CEN_FULL);
    compare("lanes");
    MUST(cen_lanes_max_tasks_set(lanes, CEN_PRIORITY_LOW, 9, NULL));
    cen_task_cancel(&two[0]);
    MUST(cen_lanes_stop(lanes, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL));
    MUST(cen_lanes_free(lanes));
    compare_events();
}

static _Atomic uint32_t handled;

static void compare_inside(void *argument, cen_message *message)
{
    (void)message, (void)argument;
    compare("actor");
    ceni_add_seq_cst(&handled, 1);
}

TEST(the_page_has_what_an_actor_tells)
{
    cen_actor *actor;
    cen_message message;
    cen_future stopped;
    cen_actor_options options =
        CEN_ACTOR_OPTIONS(.handle = compare_inside, .capacity = 3, .slow_ns = INT64_C(100000000000));
    read_page();
    MUST(cen_actor_new(&options, &actor, &error));
    cen_message_init(&message, "page");
    MUST(cen_actor_tell(actor, &message, NULL));
    cen_future_init(&stopped);
    MUST(cen_actor_stop(actor, CEN_STOP_DRAIN, &stopped, NULL));
    MUST(cen_future_wait(&stopped, CEN_NEVER));
    expect_equal(ceni_load_seq_cst(&handled), 1);
    MUST(cen_actor_free(actor));
    compare_events();
}

static void ignore(cen_watch *watch, unsigned events)
{
    (void)watch, (void)events;
}

TEST(the_page_has_what_a_poller_tells)
{
    cen_poller *poller;
    cen_poller_options options = CEN_POLLER_OPTIONS(.manual = true);
    cen_watch watch = {.ready = ignore};
    int pair[2];
    read_page();
    expect_equal(pipe(pair), 0);
    MUST(cen_poller_new(&options, &poller, &error));
    MUST(cen_poller_watch(poller, &watch, pair[0], CEN_READABLE, cen_in_s(1000), NULL));
    compare("poller");
    expect(cen_poller_unwatch(poller, &watch));
    MUST(cen_poller_free(poller));
    close(pair[0]);
    close(pair[1]);
}

/* ---- A routing pool has one of each of the others ---------------------------------------------------- */

static void echo(void *argument, cen_mux_call *call)
{
    (void)argument;
    cen_mux_call_reply(call, call->payload, call->payload_size);
}

static uint32_t connections_up(cen_mux_pool *pool)
{
    cen_mux_pool_stats stats = CEN_SIZED(cen_mux_pool_stats);
    MUST(cen_mux_pool_stats_get(pool, &stats));
    return stats.up;
}

TEST(the_page_has_what_routing_pools_their_parts_and_servers_tell)
{
    cen_mux_server *server;
    cen_mux_pool *pool;
    cen_mux_server_options serving = CEN_MUX_SERVER_OPTIONS(.address = "127.0.0.1:0", .handle = echo);
    read_page();
    MUST(cen_mux_server_start(&serving, &server, &error));
    const char *address = cen_mux_server_address(server);
    cen_mux_pool_options options = CEN_MUX_POOL_OPTIONS(.addresses = &address, .address_count = 1, .connections = 2,
                                                        .max_in_flight = 100, .target_in_flight = 50);
    MUST(cen_mux_pool_new(&options, &pool, &error));
    AWAIT(connections_up(pool) == 2);
    static const char *const kinds[] = {"mux_server", "mux", "mux_pool", "registry", "router", "supervisor"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) compare(kinds[i]);
    cen_mux_server_stop(server);
    AWAIT(events_of("mux_pool", "connection_failed", NULL) > 0);
    static const char *const others[] = {"mux_pool", "registry", "router", "supervisor"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) compare(others[i]);
    MUST(cen_mux_pool_free(pool));
    compare_events();
}

/* ---- The checkout pool -------------------------------------------------------------------------------- */

static cen_status make_object(void *argument, void **out, cen_error *why)
{
    (void)argument, (void)why;
    *out = malloc(1);
    return *out ? CEN_OK : CEN_NO_MEMORY;
}

static void end_object(void *argument, void *object)
{
    (void)argument;
    free(object);
}

TEST(the_page_has_what_a_pool_tells)
{
    static const cen_driver_calls calls = {.size = sizeof calls, .open = make_object, .close = end_object};
    cen_pool *pool;
    cen_lease lease;
    cen_take_op waits;
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = {&calls, NULL}, .max = 1, .max_idle = 1, .max_waiters = 7);
    read_page();
    MUST(cen_pool_new(&options, &pool, &error));
    MUST(cen_pool_take(pool, CEN_NOW, &lease, &error));
    cen_take_op_init(&waits, NULL, NULL);
    MUST(cen_pool_take_async(pool, cen_in_s(1000), &waits));
    compare("pool");
    MUST(cen_pool_give(&lease));
    MUST(cen_future_wait(&waits.future, CEN_NEVER));
    MUST(cen_pool_give(&waits.lease));
    MUST(cen_pool_close(pool, CEN_NEVER, NULL, &error));
    cen_pool_free(pool);
    compare_events();
}
