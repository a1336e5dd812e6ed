/* SPDX-License-Identifier: MIT */
/*
 * Metrics: what is in them, by names and labels; and whether those accept them who will read them: promtool, whose
 * check reads the older form, and a real Prometheus, which asks for OpenMetrics and is strict about it.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cenote/cenote.h>
#if HAS_NET
#include <cenote/mux_pool.h>
#include <cenote/mux_server.h>
#endif

#include "inspect/client.h"
#include "inspect/metrics.h"
#include "record/directory.h"
#include "support/test.h"

static cen_status make_nothing(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    static int object;
    *out = &object;
    return CEN_OK;
}

static void end_nothing(void *argument, void *object)
{
    (void)argument, (void)object;
}

static const cen_driver_calls
    database = {.size = sizeof database, .open = make_nothing, .close = end_nothing, .system = "postgresql"},
    service = {.size = sizeof service, .open = make_nothing, .close = end_nothing, .system = "http"},
    neither = {.size = sizeof neither, .open = make_nothing, .close = end_nothing};

static cen_pool *make_pool(const char *name, const cen_driver_calls *calls)
{
    cen_pool *pool;
    cen_error error = {.text = ""};
    cen_pool_options options = CEN_POOL_OPTIONS(.name = name, .driver = {calls, NULL}, .max = 3, .min_idle = 1,
                                                .max_idle = 2, .exact_times = true);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    return pool;
}

/* ---- What is in them --------------------------------------------------------------------------- */

/* The value of the sample whose line begins so, or fails the test. */
static double sample(const char *text, const char *series)
{
    size_t length = strlen(series);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, series, length) == 0 && line[length] == ' ') return strtod(line + length, NULL);
    test_fail(__FILE__, __LINE__, "there is no %s in\n%.3000s", series, text);
}

static bool has_line(const char *text, const char *words)
{
    size_t length = strlen(words);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, words, length) == 0 && line[length] == '\n') return true;
    return false;
}

#define POOL "{db_client_connection_pool_name=\"orders\""

#define WAIT_US 20000

/* Gives a lease back when one has been seen waiting for WAIT_US. Only so a wait has a least length: a deadline is a moment, and
 * whoever asks for 20 ms and then gets no CPU for 15 waits for 5. */
static void *give_late(void *lease)
{
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    do {
        usleep(1000);
        expect_equal(cen_pool_stats_get(((cen_lease *)lease)->pool, &stats), CEN_OK);
    } while (stats.waiting == 0);
    usleep(WAIT_US);
    cen_pool_give(lease);
    return NULL;
}

/* guarantees: inspect.metrics */
TEST(pools_of_databases_have_the_names_of_opentelemetry)
{
    cen_pool *pool = make_pool("orders", &database);
    cen_lease leases[3], late;
    for (int i = 0; i < 3; i++) expect_equal(cen_pool_take(pool, cen_in_s(5), &leases[i], NULL), CEN_OK);
    expect_equal(cen_pool_take(pool, cen_in_ms(20), &late, NULL), CEN_TIMEOUT);
    pthread_t giver;
    expect_equal(pthread_create(&giver, NULL, give_late, &leases[0]), 0);
    expect_equal(cen_pool_take(pool, cen_in_s(60), &late, NULL), CEN_OK);
    expect_equal(pthread_join(giver, NULL), 0);
    cen_pool_give(&late);
    char *text = cen_inspect_metrics(NULL);
    expect_equal(sample(text, "db_client_connection_count" POOL ",db_client_connection_state=\"used\"}"), 2);
    expect_equal(sample(text, "db_client_connection_count" POOL ",db_client_connection_state=\"idle\"}"), 1);
    expect_equal(sample(text, "db_client_connection_max" POOL "}"), 3);
    expect_equal(sample(text, "db_client_connection_idle_max" POOL "}"), 2);
    expect_equal(sample(text, "db_client_connection_idle_min" POOL "}"), 1);
    expect_equal(sample(text, "db_client_connection_pending_requests" POOL "}"), 0);
    expect_equal(sample(text, "db_client_connection_timeouts_total" POOL "}"), 1);
    expect(sample(text, "db_client_connection_create_time_seconds_count" POOL "}") >= 3);
    double waits = sample(text, "db_client_connection_wait_time_seconds_count" POOL "}");
    expect(waits >= 5); /* three takes, the one that came to nothing, and the one that waited for the giver */
    expect_equal(sample(text, "db_client_connection_wait_time_seconds_bucket" POOL ",le=\"+Inf\"}"), (long long)waits);
    expect(sample(text, "db_client_connection_wait_time_seconds_bucket" POOL ",le=\"0.01\"}") < waits);
    expect(sample(text, "db_client_connection_wait_time_seconds_sum" POOL "}") >= WAIT_US / 1e6);
    expect(sample(text, "db_client_connection_use_time_seconds_count" POOL "}") >= 1);
    expect(has_line(text, "# TYPE db_client_connection_wait_time_seconds histogram"));
    expect(has_line(text, "# UNIT db_client_connection_wait_time_seconds seconds"));
    expect(has_line(text, "# TYPE db_client_connection_timeouts counter"));
    expect(strlen(text) > 6 && strcmp(text + strlen(text) - 6, "# EOF\n") == 0);
    free(text);
    for (int i = 1; i < 3; i++) cen_pool_give(&leases[i]);
    cen_pool_free(pool);
}

TEST(pools_of_anything_else_have_no_such_names_and_all_have_their_own)
{
    cen_pool *pools[] = {make_pool("web", &service), make_pool("buffers", &neither)};
    size_t length = 0;
    char *text = cen_inspect_metrics(&length);
    expect_equal(length, strlen(text));
    expect(strstr(text, "db_client_connection") == NULL);
    char series[128];
    snprintf(series, sizeof series, "cenote_pool_max{name=\"web\",number=\"1\",system=\"http\"}");
    expect_equal(sample(text, series), 3);
    expect_equal(sample(text, "cenote_pool_max{name=\"buffers\",number=\"2\"}"), 3);
    expect_equal(sample(text, "cenote_pool_use_one_in{name=\"buffers\",number=\"2\"}"), 1);
    expect_equal(sample(text, "cenote_components"), 2);
    expect(has_line(text, "# TYPE cenote_pool_taken counter"));
    expect_equal(sample(text, "cenote_pool_taken_total{name=\"buffers\",number=\"2\"}"), 0);
    free(text);
    for (int i = 0; i < 2; i++) cen_pool_free(pools[i]);
}

TEST(nothing_at_all_is_a_whole_text_too)
{
    char *text = cen_inspect_metrics(NULL);
    expect_equal(sample(text, "cenote_components"), 0);
    expect(strstr(text, "# TYPE cenote info\n") != NULL);
    free(text);
}

/* No line begins twice with the same name and labels, and no family comes twice. */
static void expect_no_series_twice(const char *text)
{
    size_t count = 0, room = 0;
    char **lines = NULL;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        /* The value is after the last blank. */
        size_t length = strcspn(line, "\n");
        while (line[0] != '#' && length && line[length] != ' ') length--;
        if (count == room) lines = realloc(lines, (room = room ? room * 2 : 256) * sizeof *lines);
        lines[count] = strndup(line, length);
        for (size_t i = 0; i < count; i++)
            if (strcmp(lines[i], lines[count]) == 0) test_fail(__FILE__, __LINE__, "%s is there twice", lines[i]);
        count++;
    }
    for (size_t i = 0; i < count; i++) free(lines[i]);
    free(lines);
}

TEST(two_of_one_name_are_two_series)
{
    /* The third has the very name that the second is given to tell it from the first. */
    cen_pool *pools[] = {make_pool("orders", &database), make_pool("orders", &database),
                         make_pool("orders#2", &database), make_pool("orders", &neither),
                         make_pool("orders", &database)};
    char *text = cen_inspect_metrics(NULL);
    expect_no_series_twice(text);
    expect_equal(sample(text, "db_client_connection_max{db_client_connection_pool_name=\"orders\"}"), 3);
    expect_equal(sample(text, "db_client_connection_max{db_client_connection_pool_name=\"orders#2\"}"), 3);
    expect_equal(sample(text, "db_client_connection_max{db_client_connection_pool_name=\"orders#2.1\"}"), 3);
    expect_equal(sample(text, "db_client_connection_max{db_client_connection_pool_name=\"orders#5\"}"), 3);
    free(text);
    for (size_t i = 0; i < 5; i++) cen_pool_free(pools[i]);
}

TEST(the_buckets_of_a_histogram_never_fall_and_end_with_its_count)
{
    cen_pool *pool = make_pool("orders", &neither);
    for (int i = 0; i < 100; i++) {
        cen_lease lease;
        expect_equal(cen_pool_take(pool, cen_in_s(5), &lease, NULL), CEN_OK);
        usleep((unsigned)i * 20);
        cen_pool_give(&lease);
    }
    char *text = cen_inspect_metrics(NULL), series[128];
    double before = 0;
    static const char *const bounds[] = {"0.0001", "0.00025", "0.0005", "0.001", "0.0025", "0.005",
                                         "0.01",   "0.025",   "0.05",   "0.1",   "0.25",   "0.5",
                                         "1.0",    "2.5",     "5.0",    "10.0",  "+Inf"};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        snprintf(series, sizeof series, "cenote_pool_use_seconds_bucket{name=\"orders\",number=\"1\",le=\"%s\"}",
                 bounds[i]);
        double within = sample(text, series);
        expect(within >= before);
        before = within;
    }
    expect_equal(before, 100);
    expect_equal(sample(text, "cenote_pool_use_seconds_count{name=\"orders\",number=\"1\"}"), 100);
    expect(sample(text, "cenote_pool_use_seconds_bucket{name=\"orders\",number=\"1\",le=\"0.001\"}") > 1);
    expect(sample(text, "cenote_pool_use_seconds_sum{name=\"orders\",number=\"1\"}") >= 0.099);
    free(text);
    cen_pool_free(pool);
}

/* ---- More than fits ------------------------------------------------------------------------------- */

/* Something that looks like a pool of a database, whose name makes each of its lines long. */
static size_t two_metrics(const void *object, cen_metric *metrics, size_t room)
{
    (void)object;
    if (room > 0) metrics[0] = (cen_metric){.name = "max", .value = 7, .kind = CEN_GAUGE};
    if (room > 1) metrics[1] = (cen_metric){.name = "timed_out", .value = 3, .kind = CEN_COUNTER};
    return 2;
}

static bool three_timings(const void *object, size_t index, cen_histogram_header *timing, cen_histogram *out)
{
    static const char *const names[] = {"wait", "use", "create"};
    (void)object;
    if (index >= 3) return false;
    *timing = (cen_histogram_header){.name = names[index], .one_in = 1, .instant = 5};
    memset(out, 0, sizeof *out);
    return true;
}

static const char *of_postgresql(const void *object)
{
    (void)object;
    return "postgresql";
}

static const ceni_component_calls wide_calls = {.histogram = three_timings, .system = of_postgresql};
enum { WIDE_MOST = 600, WIDE_NAME = 4000 };
static ceni_directory_entry wide[WIDE_MOST];
static char wide_names[WIDE_MOST][WIDE_NAME + 1];

static void make_wide(int count)
{
    for (int i = 0; i < count; i++) {
        memset(wide_names[i], 'w', WIDE_NAME);
        snprintf(wide_names[i], 8, "%d", i);
        wide_names[i][strlen(wide_names[i])] = 'w';
        wide[i] = (ceni_directory_entry){
            .kind = "pool", .name = wide_names[i], .snapshot = two_metrics, .calls = &wide_calls};
        ceni_directory_join(ceni_directory_process(), &wide[i]);
    }
}

static void end_wide(int count)
{
    for (int i = 0; i < count; i++) ceni_directory_leave(ceni_directory_process(), &wide[i]);
}

static int lines_with(const char *text, const char *begin)
{
    int count = 0;
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        count += strncmp(line, begin, strlen(begin)) == 0;
    return count;
}

/* In so many pools' text there are so many histograms under either name, and all the rest, and it says what is missing. */
static void expect_kept(int pools, int own, int conventional)
{
    make_wide(pools);
    char *text = cen_inspect_metrics(NULL);
    expect(text != NULL);
    expect_equal(lines_with(text, "cenote_pool_wait_seconds_count{"), own);
    expect_equal(lines_with(text, "db_client_connection_wait_time_seconds_count{"), conventional);
    expect_equal(lines_with(text, "# TYPE cenote_pool_wait_seconds "), own > 0);
    expect_equal(lines_with(text, "# TYPE db_client_connection_wait_time_seconds "), conventional > 0);
    expect_equal(lines_with(text, "db_client_connection_max{"), pools);
    expect_equal(lines_with(text, "cenote_pool_timed_out_total{"), pools);
    expect_equal(lines_with(text, "cenote_pool_wait_one_in{"), pools);
    expect_equal(sample(text, "cenote_histograms_left_out"), 3 * (2 * pools - own - conventional));
    expect(strcmp(text + strlen(text) - 6, "# EOF\n") == 0);
    free(text);
    end_wide(pools);
}

/* guarantees: inspect.long-metrics */
TEST(what_would_be_too_long_loses_histograms_and_says_how_many)
{
    expect_kept(20, 20, 20);
    expect_kept(40, 0, 40); /* what is there twice goes first */
    expect_kept(100, 0, 0);
}

/* guarantees: inspect.long-metrics */
TEST(what_is_too_long_without_any_histogram_is_an_error)
{
    make_wide(WIDE_MOST);
    size_t length = 1;
    expect(cen_inspect_metrics(&length) == NULL && length == 0);
    cen_inspect *inspect = inspect_started((cen_inspect_options){.at = NULL});
    expect_error(ask(cen_inspect_address(inspect), "GET", "/metrics", NULL), 503, "NO_MEMORY", "16 MiB");
    cen_inspect_stop(inspect);
    end_wide(WIDE_MOST);
}

TEST(the_form_is_the_one_that_is_asked_for)
{
    cen_inspect *inspect = inspect_started((cen_inspect_options){.at = NULL});
    const char *at = cen_inspect_address(inspect);
    reply plain = ask(at, "GET", "/metrics", NULL),
          open = ask_with(at, "GET", "/metrics", NULL,
                          "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5", NULL);
    expect_text(reply_header(&plain, "Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
    expect(strstr(plain.body, "# TYPE cenote_info gauge\n") != NULL);
    expect_text(reply_header(&open, "Content-Type"), CEN_INSPECT_METRICS_TYPE);
    expect(strstr(open.body, "# TYPE cenote info\n") != NULL);
    reply_fini(&plain);
    reply_fini(&open);
    cen_inspect_stop(inspect);
}

/* ---- Those who read them --------------------------------------------------------------------------- */

/* One of each kind, under names that do harm where nobody takes care. */
typedef struct household {
    cen_pool *pools[4];
    cen_queue *queue;
    cen_crew *crew;
    cen_lanes *lanes;
    cen_actor *actor;
    cen_poller *poller;
#if HAS_NET
    cen_mux_server *server;
    cen_mux_pool *routed; /* has a router, a registry, a supervisor and connections */
#endif
} household;

static void ignore(void *argument, cen_message *message)
{
    (void)argument, (void)message;
}

#if HAS_NET
static void echo(void *argument, cen_mux_call *call)
{
    (void)argument;
    cen_mux_call_reply(call, call->payload, call->payload_size);
}

static void connect_out(household *h)
{
    cen_mux_pool_stats stats = CEN_SIZED(cen_mux_pool_stats);
    cen_mux_server_options serving = CEN_MUX_SERVER_OPTIONS(.address = "127.0.0.1:0", .handle = echo);
    expect_equal(cen_mux_server_start(&serving, &h->server, NULL), CEN_OK);
    const char *address = cen_mux_server_address(h->server);
    cen_mux_pool_options options = CEN_MUX_POOL_OPTIONS(.addresses = &address, .address_count = 1, .connections = 2);
    expect_equal(cen_mux_pool_new(&options, &h->routed, NULL), CEN_OK);
    while (stats.up < 2) {
        usleep(1000);
        expect_equal(cen_mux_pool_stats_get(h->routed, &stats), CEN_OK);
    }
}
#endif

static household settle_in(void)
{
    household h = {.pools = {make_pool("a\"b\\c\nd", &database), make_pool("\xC3\xA9\xE2\x82\xAC{}=,#", &database),
                             make_pool("\xFF\xC3", &database), make_pool("\xFF\xC3", &neither)}};
    cen_queue_options queue =
        CEN_QUEUE_OPTIONS(.name = "\"} 1\ncenote_evil 1\n# EOF", .element_size = 8, .capacity = 8);
    cen_crew_options crew = CEN_CREW_OPTIONS(.name = "\r\t\x01", .workers = 1);
    expect_equal(cen_queue_new(&queue, &h.queue, NULL), CEN_OK);
    expect_equal(cen_crew_new(&crew, &h.crew, NULL), CEN_OK);
    cen_lanes_options lanes = CEN_LANES_OPTIONS(.max_total = 3);
    cen_actor_options actor = CEN_ACTOR_OPTIONS(.handle = ignore);
    cen_poller_options poller = CEN_POLLER_OPTIONS(.manual = true);
    expect_equal(cen_lanes_new(&lanes, &h.lanes, NULL), CEN_OK);
    expect_equal(cen_actor_new(&actor, &h.actor, NULL), CEN_OK);
    expect_equal(cen_poller_new(&poller, &h.poller, NULL), CEN_OK);
#if HAS_NET
    connect_out(&h);
#endif
    cen_lease lease;
    for (int i = 0; i < 4; i++) {
        expect_equal(cen_pool_take(h.pools[i], cen_in_s(5), &lease, NULL), CEN_OK);
        cen_pool_give(&lease);
    }
    return h;
}

static void move_out(household *h)
{
    for (int i = 0; i < 4; i++) cen_pool_free(h->pools[i]);
    cen_queue_free(h->queue);
    cen_crew_stop(h->crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL);
    cen_crew_free(h->crew);
    cen_lanes_stop(h->lanes, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL);
    cen_lanes_free(h->lanes);
    cen_future stopped;
    cen_future_init(&stopped);
    cen_actor_stop(h->actor, CEN_STOP_DRAIN, &stopped, NULL);
    cen_future_wait(&stopped, CEN_NEVER);
    cen_actor_free(h->actor);
    cen_poller_free(h->poller);
#if HAS_NET
    cen_mux_pool_free(h->routed);
    cen_mux_server_stop(h->server);
#endif
}

static int run(const char *command)
{
    fflush(stdout);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void write_file(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "we");
    expect(file && fwrite(text, 1, length, file) == length && fclose(file) == 0);
}

/* guarantees: inspect.metrics */
TEST(promtool_has_no_complaint_whatever_components_are_called)
{
    char folder[] = "/tmp/cenote-metrics-XXXXXX", path[64], command[256];
    expect(mkdtemp(folder) != NULL);
    household h = settle_in();
    cen_inspect *inspect = inspect_started((cen_inspect_options){.at = NULL});
    reply r = ask(cen_inspect_address(inspect), "GET", "/metrics", NULL);
    expect_equal(r.code, 200);
    expect_no_series_twice(r.body);
    expect(strstr(r.body, "\ncenote_evil") == NULL);
    json_decref(
        ask_json(cen_inspect_address(inspect), "/api/components?parts=1")); /* and no name is twice in an object */
    static const char *const kinds[] = {"pool",       "queue", "crew",     "lanes",  "actor",    "poller",
                                        "mux_server", "mux",   "mux_pool", "router", "registry", "supervisor"};
    for (size_t i = 0; i < (HAS_NET ? 12 : 6); i++) {
        char start[64];
        snprintf(start, sizeof start, "\ncenote_%s_", kinds[i]);
        if (!strstr(r.body, start)) test_fail(__FILE__, __LINE__, "no %s", start);
    }
    snprintf(path, sizeof path, "%s/metrics", folder);
    write_file(path, r.body, r.length);
    snprintf(command, sizeof command, "promtool check metrics <%s >%s.said 2>&1", path, path);
    int status = run(command);
    if (status) {
        snprintf(command, sizeof command, "cat %s.said", path);
        run(command);
        test_fail(__FILE__, __LINE__, "promtool answers %d", status);
    }
    /* And the check can fail. */
    write_file(path, "cenote_evil 1\ncenote_evil 1\n", 28);
    snprintf(command, sizeof command, "promtool check metrics <%s >/dev/null 2>&1", path);
    expect(run(command) != 0);
    reply_fini(&r);
    cen_inspect_stop(inspect);
    move_out(&h);
    snprintf(command, sizeof command, "rm -r %s", folder);
    expect_equal(run(command), 0);
}

static int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect(bind(probe, (struct sockaddr *)&at, sizeof at) == 0 &&
           getsockname(probe, (struct sockaddr *)&at, &length) == 0);
    close(probe);
    return ntohs(at.sin_port);
}

static pid_t start_prometheus(const char *folder, const char *target, const char *token, int port)
{
    char path[64], config[512], file[96], place[96], listen[64];
    snprintf(path, sizeof path, "%s/prometheus.yml", folder);
    int length =
        snprintf(config, sizeof config,
                 "global:\n  scrape_interval: 500ms\n  scrape_timeout: 500ms\nscrape_configs:\n  - job_name: cenote\n"
                 "    authorization:\n      credentials: %s\n    static_configs:\n      - targets: ['%s']\n",
                 token, target);
    write_file(path, config, (size_t)length);
    snprintf(file, sizeof file, "--config.file=%s", path);
    snprintf(place, sizeof place, "--storage.tsdb.path=%s/series", folder);
    snprintf(listen, sizeof listen, "--web.listen-address=127.0.0.1:%d", port);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char log[80];
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it does not outlive a test that fails */
        snprintf(log, sizeof log, "%s/log", folder);
        expect(freopen(log, "w", stderr) && freopen(log, "a", stdout));
        execlp("prometheus", "prometheus", file, place, listen, "--log.level=warn", (char *)NULL);
        _exit(127);
    }
    expect(child > 0);
    return child;
}

/* Waits until its target is "up": a first look on a busy machine may come too late. Else what it is, and why. */
static void await_target(const char *prometheus, char state[16], char trouble[400])
{
    state[0] = trouble[0] = 0;
    for (int i = 0; i < 400; i++) {
        reply r = ask(prometheus, "GET", "/api/v1/targets?state=active", NULL);
        json_t *json = r.code == 200 ? reply_json(&r) : NULL;
        json_t *target = json_array_get(json_object_get(json_object_get(json, "data"), "activeTargets"), 0);
        const char *health = json_string_value(json_object_get(target, "health"));
        if (health && strcmp(health, "unknown") != 0) {
            snprintf(state, 16, "%s", health);
            snprintf(trouble, 400, "%s", json_string_value(json_object_get(target, "lastError")));
        }
        json_decref(json);
        reply_fini(&r);
        if (strcmp(state, "up") == 0) return;
        usleep(50000);
    }
}

/* What it answers to a question about numbers, which it keeps a moment after it has read them; "" if it has none. */
static void await_number(const char *prometheus, const char *query, char number[32])
{
    number[0] = 0;
    for (int i = 0; i < 1200 && !number[0]; i++) {
        reply r = ask(prometheus, "GET", query, NULL);
        json_t *json = reply_json(&r),
               *first = json_array_get(json_object_get(json_object_get(json, "data"), "result"), 0);
        const char *text = json_string_value(json_array_get(json_object_get(first, "value"), 1));
        if (text) snprintf(number, 32, "%s", text);
        else usleep(50000);
        json_decref(json);
        reply_fini(&r);
    }
}

/* guarantees: inspect.metrics */
TEST(prometheus_reads_openmetrics_with_a_token_whatever_components_are_called)
{
    char folder[] = "/tmp/cenote-metrics-XXXXXX", target[64], prometheus[64], state[16], trouble[400], command[64],
         number[32] = "";
    expect(mkdtemp(folder) != NULL);
    household h = settle_in();
    cen_inspect *inspect = inspect_started((cen_inspect_options){.token = "for-prometheus"});
    snprintf(target, sizeof target, "%.*s", (int)strlen(cen_inspect_address(inspect)) - 8,
             cen_inspect_address(inspect) + 7);
    int port = free_port();
    snprintf(prometheus, sizeof prometheus, "http://127.0.0.1:%d/", port);
    pid_t server = start_prometheus(folder, target, "for-prometheus", port);
    await_target(prometheus, state, trouble);
    if (strcmp(state, "up") == 0) await_number(prometheus, "/api/v1/query?query=count(cenote_pool_max)", number);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    if (strcmp(state, "up") != 0) {
        snprintf(command, sizeof command, "cat %s/log", folder);
        run(command);
        test_fail(__FILE__, __LINE__, "the target is \"%s\": %s", state, trouble);
    }
    expect_text(number, "4");
    cen_inspect_stop(inspect);
    move_out(&h);
    snprintf(command, sizeof command, "rm -r %s", folder);
    expect_equal(run(command), 0);
}
