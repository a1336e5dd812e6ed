/* SPDX-License-Identifier: MIT */
/* cenote run: the command. */
#include "tool/run.h"

#include <stdlib.h>
#include <string.h>

#include "tool/dashboard.h"
#include "tool/stop.h"
#include "tool/terminal.h"
#include "tool/words.h"

#define AT(field) offsetof(run_settings, field)
#define DAY 86400e9

static const option_row rows[] = {
    {"clients", 'c', OPTION_COUNT, "N", AT(clients), 1, LOAD_FUTURES_MOST, NULL,
     "number of clients that use the pool at once (8)"},
    {"size", 's', OPTION_COUNT, "N", AT(size), 1, 10000, NULL, "maximum number of objects in the pool (4)"},
    {"duration", 'd', OPTION_DURATION, "TIME", AT(duration_ns), 1e6, 7 * DAY, NULL, "how long to measure (10s)"},
    {"warm-up", 'w', OPTION_DURATION, "TIME", AT(warm_up_ns), 0, DAY, NULL,
     "load before the measurement, not counted (1s)"},
    {"rate", 'r', OPTION_NUMBER, "N", AT(rate), 0.001, 1e7, NULL, "open loop: operations due per second"},
    {"futures", 'f', OPTION_FLAG, NULL, AT(futures), 0, 0, NULL,
     "clients are futures on one thread instead of threads"},
    TARGET_ROWS(run_settings, target),
    {"think", 0, OPTION_DURATION, "TIME", AT(think_ns), 0, DAY, NULL, "pause of a client between two operations (0)"},
    {"hold", 0, OPTION_DURATION, "TIME", AT(hold_ns), 0, DAY, NULL,
     "keep the object this long after each operation (0)"},
    {"timeout", 't', OPTION_DURATION, "TIME", AT(timeout_ns), 1e3, DAY, NULL,
     "how long a client waits for an object before it gives up (5s)"},
    {"min-idle", 0, OPTION_COUNT, "N", AT(min_idle), 0, 10000, NULL, "number of objects the pool keeps idle (0)"},
    {"exact-times", 0, OPTION_FLAG, NULL, AT(exact_times), 0, 0, NULL, "time every lease instead of one in 64"},
    {"seed", 0, OPTION_COUNT, "N", AT(seed), 0, 1e15, NULL, "seed of the drawn parameters (random)"},
    {"dashboard", 0, OPTION_MAYBE, "ADDRESS", AT(dashboard), 0, 0, NULL,
     "serve the live page during the run (127.0.0.1:0)"},
    {"keep-dashboard", 0, OPTION_DURATION, "TIME", AT(keep_dashboard_ns), 0, DAY, NULL,
     "keep serving the page this long after the end (0)"},
    {"json", 'j', OPTION_FLAG, NULL, AT(json), 0, 0, NULL, "print one JSON object instead of tables"},
    {"quiet", 0, OPTION_FLAG, NULL, AT(quiet), 0, 0, NULL, "show no progress"},
    {0},
};

static const run_settings usual = {
    .clients = 8, .size = 4, .duration_ns = 10 * SECOND_NS, .warm_up_ns = SECOND_NS, .timeout_ns = 5 * SECOND_NS};

static const char teaching[] =
    "Each client takes an object from the pool, does one operation with it, gives it back, and starts again. The\n"
    "report shows the throughput, how long clients waited for an object and used it, how busy the pool was, and\n"
    "what failed and why. Everything is real: the connections, the queries, the pool.\n"
    "\n"
    "URL names the resource:\n"
    "  sqlite:                          a sample file, removed at the end (the default)\n"
    "  sqlite:PATH                      a file of your own, opened read-only unless --write-share is given\n"
    "  postgresql://USER@HOST/DATABASE  any URL that libpq accepts\n"
    "  mariadb://USER:PASSWORD@HOST/DATABASE, mysql://...\n"
    "  redis://HOST:PORT, unix://PATH   Redis\n"
    "  http://HOST:PORT/PATH, https://  a GET of that path, or --query 'POST /orders {\"id\": {}}'\n"
    "\n"
    "In a closed loop, the default, a client starts its next operation when the last one ends. It measures the\n"
    "highest possible throughput. In an open loop (--rate), operations are due at fixed times, like real traffic,\n"
    "whether or not earlier ones are done. Each is timed from when it was due. It measures how long users wait.\n"
    "\n"
    "Each parameter of a query (? or $1 in SQL, {} in a command, a path or a body) gets a number from 1 to --keys.\n"
    "\n"
    "Examples:\n"
    "  cenote run                                        a first try\n"
    "  cenote run --size 2 --clients 32                  a pool that is too small: see the wait\n"
    "  cenote run --write-share 10% --hold 1ms           with writes and a longer hold time\n"
    "  cenote run postgresql://ann@db/shop -q 'select * from items where id = $1' --rate 500 --clients 50\n"
    "  cenote run redis://127.0.0.1 -q 'GET item:{}' --futures --clients 1000\n"
    "  cenote run --dashboard --duration 5m              watch it in a browser\n"
    "  cenote run --json | jq .throughput\n";

/* ---- Meanwhile ------------------------------------------------------------------------------------------- */

static void show_progress(void *argument, const load_progress *now)
{
    char bar[32], rate[WORDS_ROOM], count[WORDS_ROOM], failed[WORDS_ROOM + 16] = "";
    terminal_bar(bar, 16, now->share);
    if (now->failed) snprintf(failed, sizeof failed, "  failed %s", words_count(count, now->failed));
    progress_show(argument, "%s %3.0f %% %s %s  in use %u of %u  waiting %u%s", bar, now->share * 100,
                  now->is_warming ? "warming up" : "measuring", words_rate(rate, now->per_second), now->pool.held,
                  now->pool.max, now->pool.waiting, failed);
}

static cen_status drive(run_report *report, target *aim, target_pools *pools, cen_error *error)
{
    const run_settings *settings = report->settings;
    progress line;
    load_plan plan = {
        .target = aim,
        .pool = pools->pool,
        .writer = pools->writer,
        .clients = (uint32_t)settings->clients,
        .futures = settings->futures,
        .warm_up_ns = settings->warm_up_ns,
        .duration_ns = settings->duration_ns,
        .rate = settings->rate,
        .think_ns = settings->think_ns,
        .hold_ns = settings->hold_ns,
        .timeout_ns = settings->timeout_ns,
        .seed = (uint64_t)settings->seed,
        .stop = stop_flag(),
        .tick = show_progress,
        .argument = &line,
    };
    progress_begin(&line, settings->quiet);
    cen_status status = load_run(&plan, &report->load, error);
    progress_clear(&line);
    report->pool = report->writer = CEN_SIZED(cen_pool_stats);
    cen_pool_stats_get(pools->pool, &report->pool);
    if (pools->writer) cen_pool_stats_get(pools->writer, &report->writer);
    return status;
}

/* ---- The command ----------------------------------------------------------------------------------------- */

static int judge(const load_result *load)
{
    bool failed = load->operations == 0 || load->timed_out || load->refused || load->failed;
    return stop_status(failed ? EXIT_FAILED : EXIT_DONE);
}

static int tell(const command *self, run_report *report)
{
    run_advise(report);
    if (!report->settings->json) run_print(report, stdout);
    else if (!run_print_json(report, stdout)) return command_fail(self, EXIT_SYSTEM, "Out of memory for the report.");
    return command_flush(self, judge(&report->load));
}

static int drive_pools(const command *self, run_report *report, target *aim, dashboard *page)
{
    const run_settings *settings = report->settings;
    cen_error error;
    target_pools pools;
    cen_pool_options options =
        CEN_POOL_OPTIONS(.max = (uint32_t)settings->size, .min_idle = (uint32_t)settings->min_idle,
                         .exact_times = settings->exact_times, .default_deadline = cen_in_ns(settings->timeout_ns));
    if (target_pools_new(aim, &options, &pools, &error) != CEN_OK)
        return command_fail(self, error.status == CEN_INVALID ? EXIT_USAGE : EXIT_SYSTEM, "%s", error.text);
    cen_status status = drive(report, aim, &pools, &error);
    int answer = status == CEN_OK ? tell(self, report) : command_fail(self, EXIT_SYSTEM, "%s", error.text);
    if (status == CEN_OK) dashboard_keep(page, settings->keep_dashboard_ns);
    target_pools_free(aim, &pools);
    return answer;
}

static int drive_target(const command *self, run_report *report, target *aim)
{
    cen_error error = {0};
    progress line;
    int answer;
    progress_begin(&line, report->settings->quiet);
    if (target_probe(aim, &line, &report->limit, &answer, &error) != CEN_OK)
        return command_fail(self, answer, "%s", error.text);
    dashboard page = {0};
    if (report->settings->dashboard) answer = dashboard_start(&page, self, report->settings->dashboard, aim->shown);
    else answer = EXIT_DONE;
    if (answer == EXIT_DONE) answer = drive_pools(self, report, aim, &page);
    dashboard_stop(&page);
    return answer;
}

/* Check what the limits of single options cannot express. */
static const char *contradiction(const run_settings *settings)
{
    if (!settings->futures && settings->clients > LOAD_THREADS_MOST)
        return "--clients: at most 1,024 threads are allowed; --futures allows 100,000 clients.";
    if (settings->min_idle > settings->size) return "--min-idle must not exceed --size.";
    if (settings->rate > 0 && settings->think_ns) return "--think needs a closed loop, but --rate makes an open one.";
    if (settings->keep_dashboard_ns && !settings->dashboard) return "--keep-dashboard requires --dashboard.";
    return NULL;
}

static int run(const command *self, void *its_settings, int count, char **arguments)
{
    run_settings *settings = its_settings;
    cen_error error;
    target *aim;
    const char *why = contradiction(settings);
    if (why) return command_fail(self, EXIT_USAGE, "%s", why);
    if (count > 0) settings->target.url = arguments[0];
    stop_watch_output();
    run_report *report = calloc(1, sizeof *report);
    if (!report) return command_fail(self, EXIT_SYSTEM, "Out of memory.");
    report->settings = settings;
    int answer;
    if (target_open(&settings->target, &aim, &error) != CEN_OK) {
        answer = command_fail(self, error.status == CEN_INVALID ? EXIT_USAGE : EXIT_SYSTEM, "%s", error.text);
    } else {
        report->target = aim;
        answer = drive_target(self, report, aim);
        target_close(aim);
    }
    free(report);
    return answer;
}

const command run_command = {
    .name = "run",
    .summary = "load-tests a real resource through a connection pool",
    .arguments = "[URL]",
    .teaching = teaching,
    .rows = rows,
    .settings_size = sizeof usual,
    .usual = &usual,
    .most = 1,
    .run = run,
};
