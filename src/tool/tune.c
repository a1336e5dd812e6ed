/* SPDX-License-Identifier: MIT */
/* cenote tune: find the right size of a pool. */
#include "tool/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cenote/deadline.h>

#include "tool/command.h"
#include "tool/curve.h"
#include "tool/report.h"
#include "tool/stop.h"
#include "tool/terminal.h"
#include "tool/words.h"

enum { MAX_USUAL = 64, CLIENTS_MOST = LOAD_THREADS_MOST, BAR = 26 };

static const char usual_report[] = "cenote-tune.html";

typedef struct settings {
    target_settings target;
    const char *goal, *report;
    int64_t time_ns, clients, max, replicas, hold_ns;
    double margin, rate;
    bool no_report, force, json, ascii, quiet;
} settings;

static const settings usual = {.time_ns = 30 * SECOND_NS, .replicas = 1, .margin = 0.05};

static const option_row rows[] = {
    TARGET_ROWS(settings, target),
    {"time", 't', OPTION_DURATION, "TIME", offsetof(settings, time_ns), 1e9, 3600e9, NULL,
     "time limit of the whole sweep (30s)"},
    {"margin", 'm', OPTION_SHARE, "SHARE", offsetof(settings, margin), 0.005, 0.5, NULL,
     "recommend the smallest size this close to the best (5%)"},
    {"goal", 'g', OPTION_TEXT, "pN=TIME", offsetof(settings, goal), 0, 0, NULL,
     "recommend only sizes that meet it: p99=20ms, wait.p95=5ms, whole.p99=1s"},
    {"max", 'M', OPTION_COUNT, "N", offsetof(settings, max), 1, LOAD_THREADS_MOST, NULL,
     "largest size to try (64); never more than the server has left"},
    {"replicas", 'n', OPTION_COUNT, "N", offsetof(settings, replicas), 1, 1e6, NULL,
     "number of processes that will each have such a pool (1)"},
    {"clients", 'c', OPTION_COUNT, "N", offsetof(settings, clients), 1, LOAD_THREADS_MOST, NULL,
     "number of clients (twice the largest size)"},
    {"rate", 'r', OPTION_NUMBER, "N", offsetof(settings, rate), 0.001, 1e9, NULL,
     "open loop: operations due per second"},
    {"hold", 0, OPTION_DURATION, "TIME", offsetof(settings, hold_ns), 0, 3600e9, NULL,
     "keep the object this long after each operation (0)"},
    {"report", 'o', OPTION_TEXT, "FILE", offsetof(settings, report), 0, 0, NULL,
     "file of the HTML report (cenote-tune.html; none with --json)"},
    {"no-report", 0, OPTION_FLAG, NULL, offsetof(settings, no_report), 0, 0, NULL, "write no HTML report"},
    {"force", 0, OPTION_FLAG, NULL, offsetof(settings, force), 0, 0, NULL,
     "overwrite a file that is not such a report"},
    {"json", 'j', OPTION_FLAG, NULL, offsetof(settings, json), 0, 0, NULL, "print one JSON object instead of the text"},
    {"ascii", 0, OPTION_FLAG, NULL, offsetof(settings, ascii), 0, 0, NULL, "draw the curve without Unicode"},
    {"quiet", 0, OPTION_FLAG, NULL, offsetof(settings, quiet), 0, 0, NULL, "show no progress"},
    {0},
};

static const char teaching[] =
    "Drives the real resource through pools of 1, 2, 4... objects until larger pools bring no more throughput,\n"
    "then tries sizes in between, and repeats the candidates in turns until their 95 % confidence intervals\n"
    "separate or the time is up. Recommends the smallest size whose throughput is within the margin of the\n"
    "best and that meets the goal, if there is one. Prints the curve, and writes a self-contained HTML report\n"
    "with charts.\n"
    "\n"
    "Without a URL, creates an SQLite file with sample data and removes it at the end.\n"
    "\n"
    "  cenote tune postgresql://ann:secret@localhost/shop -q 'select * from orders where id = 7'\n"
    "  cenote tune redis://localhost --goal p99=2ms --replicas 12\n"
    "  cenote tune http://localhost:8080/search?q=a --max 32 --time 1m --report search.html\n"
    "  cenote tune mariadb://ann:secret@localhost/shop --rate 500 --goal p99=50ms    at your own load\n"
    "\n"
    "A goal limits the time with the object (use) or, with --rate, the time from due to completion (whole).\n"
    "The load is real: run it beside a system that others depend on only if that is what you want.\n";

/* ---- Progress ------------------------------------------------------------------------------------------ */

typedef struct tune_watch {
    progress progress;
    double began, time_limit;
    sweep_step step;
} tune_watch;

static double now(void)
{
    return (double)cen_clock() / 1e9;
}

static void show(tune_watch *self, double per_second)
{
    static const char *const phases[] = {
        [SWEEP_CLIMB] = "climbing", [SWEEP_BISECT] = "bisecting", [SWEEP_CHECK] = "checking"};
    char bar[BAR + 1], rate[WORDS_ROOM] = "";
    double elapsed = now() - self->began;
    terminal_bar(bar, BAR, elapsed / self->time_limit);
    if (per_second > 0) words_rate(rate, per_second);
    progress_show(&self->progress, "%s at most %.0f s left, %s: size %u %s", bar,
                  ceil(fmax(self->time_limit - elapsed, 0)), phases[self->step.phase], self->step.size, rate);
}

static void on_tick(void *argument, const load_progress *so_far)
{
    show(argument, so_far->per_second);
}

/* ---- Sizes --------------------------------------------------------------------------------------------- */

static tune_size *size_made(tuning *self, uint32_t size)
{
    uint32_t at = self->count;
    for (uint32_t i = 0; i < self->count; i++)
        if (self->sizes[i]->size == size) return self->sizes[i];
    tune_size *made = self->count < SWEEP_SIZES_MOST ? calloc(1, sizeof *made) : NULL;
    if (!made) return NULL;
    made->size = size;
    while (at > 0 && self->sizes[at - 1]->size > size) {
        self->sizes[at] = self->sizes[at - 1];
        at--;
    }
    self->sizes[at] = made;
    self->count++;
    return made;
}

/* Copy the sizes with results. Those without are left out, so that indices here are indices of the sweep's points. */
static void take_over(tuning *self, const sweep *from)
{
    uint32_t count, kept = 0;
    const knee_point *points = sweep_points(from, &count);
    knee_weather weather = knee_weather_of(points, count);
    self->spread = weather.spread;
    for (uint32_t i = 0; i < self->count; i++) {
        tune_size *size = self->sizes[i];
        if (kept < count && points[kept].size == size->size) {
            size->failed = points[kept].failed;
            size->throughput = knee_throughput(&points[kept], weather);
            self->sizes[kept++] = size;
        } else {
            free(size);
        }
    }
    self->count = kept;
    self->answer = sweep_answer(from);
    self->end = sweep_ended(from);
    self->visits = sweep_visits(from);
    self->rounds = sweep_rounds(from);
}

static void note_trouble(tuning *self, const tune_size *size, bool counts)
{
    bool is_largest = self->sizes[self->count - 1] == size;
    if (counts && is_largest)
        snprintf(self->trouble, sizeof self->trouble, "A pool of %u failed, so no larger one was tried: %s", size->size,
                 size->cause);
    else if (counts) /* larger sizes have worked: the size was not the cause */
        snprintf(self->trouble, sizeof self->trouble,
                 "A pool of %u failed although larger ones worked; it was left out: %s", size->size, size->cause);
    else if (!self->trouble[0])
        snprintf(self->trouble, sizeof self->trouble, "A visit to size %u failed and was left out: %s", size->size,
                 size->cause);
}

static void note_stillness(tuning *self, const tune_size *size)
{
    if (!self->trouble[0])
        snprintf(self->trouble, sizeof self->trouble,
                 "A visit to size %u was left out: no operation completed during it.", size->size);
}

/* ---- The sweep ------------------------------------------------------------------------------------------ */

static cen_status sweep_all(tuning *self, tune_bench *bench, tune_watch *watch, cen_error *error)
{
    sweep *course = sweep_new(self->rule, self->max, self->time_limit);
    tune_size *size = NULL;
    while (course && !stop_asked() && sweep_next(course, now() - watch->began, &watch->step)) {
        sweep_outcome outcome;
        size = size_made(self, watch->step.size);
        if (!size) break;
        show(watch, 0);
        double left = self->time_limit - (now() - watch->began);
        if (!tune_measure(bench, &watch->step, &self->goal, left, size, &outcome)) break;
        bool counts = sweep_note(course, now() - watch->began, &outcome);
        if (!outcome.failed && !counts && !outcome.operations) note_stillness(self, size);
        if (outcome.failed) note_trouble(self, size, counts);
        else if (!counts && outcome.operations)
            *size = (tune_size){.size = size->size}; /* the first size, which is measured again */
    }
    bool is_whole = course && (size || stop_asked());
    if (is_whole) take_over(self, course);
    sweep_free(course);
    self->stopped = stop_asked();
    self->elapsed = now() - watch->began;
    if (is_whole) return CEN_OK;
    *error = (cen_error){.status = CEN_NO_MEMORY, .text = "Out of memory for the sweep."};
    return CEN_NO_MEMORY;
}

/* Set the largest size: the requested one or the default, never more than the server has left, or than there are
 * clients. */
static void set_limits(tuning *self, const settings *given, tune_bench *bench)
{
    self->max = given->max ? (uint32_t)given->max : MAX_USUAL;
    const target_limit *limit = &self->limit;
    if (limit->most > limit->reserved) {
        uint32_t usable = limit->most - limit->reserved,
                 others = limit->in_use > 1 ? limit->in_use - 1 : 0; /* one is ours */
        uint32_t left = usable > others ? usable - others : 1;
        if (left < self->max)
            self->max = left,
            snprintf(self->max_words, sizeof self->max_words, "the server has only %u connections left", left);
    }
    if (given->clients && given->clients < self->max) {
        self->max = (uint32_t)given->clients;
        snprintf(self->max_words, sizeof self->max_words, "%u clients cannot use more", self->max);
    }
    uint32_t clients = self->max * 2 > self->processors * 2 ? self->max * 2 : self->processors * 2;
    if (clients > CLIENTS_MOST) clients = CLIENTS_MOST;
    self->clients = bench->clients = given->clients ? (uint32_t)given->clients : clients;
}

/* ---- Output ---------------------------------------------------------------------------------------------- */

static int print_all(const command *self, tuning *found, const settings *given)
{
    char why[600];
    bool is_well = found->answer.chosen >= 0 && found->answer.keeps_goal && found->end != SWEEP_FAILED;
    int status = is_well ? EXIT_DONE : EXIT_FAILED;
    int ended = stop_status(-1); /* a reader that leaves during the output has seen enough, which is not a failure */
    bool is_written =
        !found->report || found->count == 0 || report_write(found, found->report, given->force, why, sizeof why);
    if (!is_written || found->count == 0) found->report = NULL;
    if (given->json) {
        if (!report_json(found, stdout)) status = command_fail(self, EXIT_SYSTEM, "Out of memory for the JSON.");
    } else {
        tune_print(found, given->ascii || !curve_may_be_unicode(), stdout);
        if (found->report) printf("\nThe report with charts is %s.\n", found->report);
    }
    if (!is_written) status = command_fail(self, EXIT_SYSTEM, "%s", why);
    return ended >= 0 ? ended : status;
}

/* A report file that was named must be writable before anything is measured. The default one is left out if it is
 * not. */
static int choose_report(const command *self, const settings *given, tuning *found)
{
    char why[600];
    if (given->no_report && given->report)
        return command_fail(self, EXIT_USAGE, "--report and --no-report contradict each other.");
    if (given->no_report || (given->json && !given->report)) return EXIT_DONE;
    found->report = given->report ? given->report : usual_report;
    if (report_may_write(found->report, given->force, why, sizeof why)) return EXIT_DONE;
    if (given->report) return command_fail(self, EXIT_SYSTEM, "%s", why);
    found->report = NULL;
    command_fail(self, EXIT_DONE, "%s No report will be written.", why);
    return EXIT_DONE;
}

static int tune_target(const command *self, const settings *given, tuning *found, target *it)
{
    cen_error error;
    int status = EXIT_DONE;
    tune_watch watch = {.began = now(), .time_limit = found->time_limit};
    tune_bench bench = {
        .target = it, .rate = found->rate, .hold_ns = found->hold_ns, .tick = on_tick, .argument = &watch};
    progress_begin(&watch.progress, given->quiet);
    if (target_probe(it, &watch.progress, &found->limit, &status, &error) != CEN_OK)
        return command_fail(self, status, "%s", error.text);
    if (tune_bench_open(&bench, &error) != CEN_OK) {
        status = command_fail(self, EXIT_SYSTEM, "%s", error.text);
    } else {
        found->shown = it->shown, found->system = it->kind->system, found->query = it->settings.query;
        set_limits(found, given, &bench);
        tune_describe(found, given->target.url);
        progress_begin(&watch.progress, given->quiet);
        cen_status swept = sweep_all(found, &bench, &watch, &error);
        progress_clear(&watch.progress);
        status = swept == CEN_OK ? print_all(self, found, given) : command_fail(self, EXIT_SYSTEM, "%s", error.text);
    }
    tune_bench_close(&bench);
    return status;
}

static int open_status(cen_status status)
{
    return status == CEN_INVALID                             ? EXIT_USAGE
           : status == CEN_NO_MEMORY || status == CEN_SYSTEM ? EXIT_SYSTEM
                                                             : EXIT_UNREACHABLE;
}

static int run(const command *self, void *its_settings, int count, char **arguments)
{
    settings *given = its_settings;
    char why[400];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    tuning *found = calloc(1, sizeof *found);
    if (!found) return command_fail(self, EXIT_SYSTEM, "Out of memory.");
    found->processors = processors > 0 ? (uint32_t)processors : 1;
    found->time_limit = (double)given->time_ns / 1e9;
    found->rate = given->rate, found->hold_ns = given->hold_ns, found->replicas = (uint32_t)given->replicas;
    found->goal = (tune_goal){.per_million = 990000, .time = given->rate > 0 ? TUNE_WHOLE : TUNE_USE};
    int status = EXIT_DONE;
    if (given->goal && !tune_goal_read(given->goal, found->goal.time, &found->goal, why, sizeof why))
        status = command_fail(self, EXIT_USAGE, "%s", why);
    found->rule = (knee_rule){.margin = given->margin, .goal = (double)found->goal.ns / 1e9};
    if (status == EXIT_DONE) status = choose_report(self, given, found);
    if (status == EXIT_DONE) {
        cen_error error;
        target *it = NULL;
        stop_watch_output();
        given->target.url = count > 0 ? arguments[0] : NULL;
        cen_status opened = target_open(&given->target, &it, &error);
        if (opened != CEN_OK) status = command_fail(self, open_status(opened), "%s", error.text);
        else status = tune_target(self, given, found, it);
        if (opened == CEN_OK) target_close(it);
    }
    for (uint32_t i = 0; i < found->count; i++) free(found->sizes[i]);
    free(found);
    return status;
}

const command tune_command = {
    .name = "tune",
    .summary = "finds the right pool size",
    .arguments = "[URL]",
    .teaching = teaching,
    .rows = rows,
    .settings_size = sizeof usual,
    .usual = &usual,
    .most = 1,
    .run = run,
};
