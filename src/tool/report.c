/* SPDX-License-Identifier: MIT */
#include "tool/report.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/stop.h"
#include "tool/words.h"

/* Identifies a file as such a report; within its first MARK_WITHIN bytes. */
static const char mark[] = "<meta name=\"generator\" content=\"cenote tune\">";
enum { MARK_WITHIN = 512, PATH_ROOM = 4096 };

/* ---- Parts --------------------------------------------------------------------------------------------- */

static void element(FILE *out, const char *begin, const char *text, const char *end)
{
    fputs(begin, out);
    html_text(out, text);
    fputs(end, out);
}

static void write_head(const tuning *self, FILE *out)
{
    char text[1024], title[80];
    fprintf(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">%s\n", mark);
    fputs("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'\">\n<title>",
          out);
    if (self->answer.chosen < 0) snprintf(title, sizeof title, "No size can be recommended");
    else if (!self->answer.keeps_goal) snprintf(title, sizeof title, "No size meets the goal");
    else snprintf(title, sizeof title, "A pool of %u", self->sizes[self->answer.chosen]->size);
    html_text(out, title);
    fprintf(
        out,
        " \u00b7 cenote tune</title>\n<style>\n%s</style></head>\n<body><main>\n<p class=\"over\">cenote tune \u00b7 ",
        report_style);
    html_text(out, self->shown);
    fputs(" \u00b7 ", out);
    html_text(out, self->when);
    fputs("</p>\n", out);
    element(out, "<h1>", title, "</h1>\n");
    tune_advice(self, text, sizeof text);
    element(out, "<p class=\"advice\">", text, "</p>\n");
    if (tune_doubts(self, text, sizeof text)) element(out, "<p class=\"doubt\">", text, "</p>\n");
    if (self->trouble[0] && self->answer.chosen >= 0) element(out, "<p class=\"doubt\">", self->trouble, "</p>\n");
}

static void tile(FILE *out, const char *kind, const char *value, const char *name)
{
    fprintf(out, "<li%s><b>", kind);
    html_text(out, value);
    element(out, "</b><span>", name, "</span></li>\n");
}

static void write_tiles(const tuning *self, FILE *out)
{
    char text[WORDS_ROOM], name[96];
    if (self->answer.chosen < 0) return;
    const tune_size *chosen = self->sizes[self->answer.chosen];
    fputs("<ul class=\"tiles\">\n", out);
    snprintf(text, sizeof text, "%u", chosen->size);
    tile(out, " class=\"main\"", text, self->answer.keeps_goal ? "recommended size" : "closest to the goal");
    snprintf(name, sizeof name, "throughput, \u00b1\u00a0%.1f\u00a0%%",
             chosen->throughput.mean > 0
                 ? (chosen->throughput.high - chosen->throughput.mean) / chosen->throughput.mean * 100
                 : 0.0);
    tile(out, "", words_rate(text, chosen->throughput.mean), name);
    const tune_size *best = self->sizes[self->answer.best], *first = tune_first(self);
    double share = first == best ? self->answer.share.mean : chosen->throughput.mean / first->throughput.mean;
    snprintf(text, sizeof text, "%.0f %%", share * 100);
    snprintf(name, sizeof name, first == best ? "of the best, at %u" : "of the highest, at %u, from fewer visits",
             first->size);
    tile(out, "", text, name);
    tile(out, "", words_duration(text, cen_histogram_percentile(&chosen->use, 990000)), "p99 of one operation");
    tile(out, "", words_share(text, tune_utilisation(chosen)), "of the pool in use");
    fputs("</ul>\n", out);
}

static void write_time(const tuning *self, FILE *out)
{
    char text[640], number[WORDS_ROOM];
    if (tune_capacity_words(self, text, sizeof text) == 0) return;
    tune_capacity time_limit = tune_capacity_of(self, self->sizes[self->answer.chosen]->size);
    fputs("<figure class=\"small time_limit\"><figcaption><h3>Total connections</h3></figcaption>\n"
          "<div>",
          out);
    fprintf(out, "<p class=\"count\"><b>%s</b>", words_count(number, time_limit.wanted));
    if (time_limit.usable) fprintf(out, " of %s", words_count(number, time_limit.usable));
    fputs("</p>", out);
    if (time_limit.usable)
        fprintf(out, "<div class=\"gauge%s\"><i style=\"width:%.1f%%\"></i></div>", time_limit.is_over ? " over" : "",
                fmin(100.0 * (double)time_limit.wanted / time_limit.usable, 100));
    element(out, "<p>", text, "</p>");
    fputs("</div></figure>\n", out);
}

/* ---- Charts -------------------------------------------------------------------------------------------- */

/* Failed sizes have no numbers to draw. The table has their causes. */
static void chart_begin(chart *self, const tuning *from, const char *title, chart_unit unit, const char *note)
{
    memset(self, 0, sizeof *self);
    self->title = title, self->unit = unit, self->note = note;
    self->chosen = -1;
    for (uint32_t i = 0; i < from->count && self->count < CHART_POINTS_MOST; i++) {
        if (from->sizes[i]->failed || from->sizes[i]->visits == 0) continue;
        if ((int)i == from->answer.chosen) self->chosen = (int)self->count;
        self->size[self->count++] = from->sizes[i]->size;
    }
}

static chart_line *chart_add(chart *self, const char *name)
{
    chart_line *line = &self->lines[self->line_count++];
    line->name = name;
    return line;
}

static void fill_percentiles(chart *self, const tuning *from, tune_time time)
{
    static const struct {
        const char *name;
        uint32_t per_million;
    } all[] = {{"p50", 500000}, {"p95", 950000}, {"p99", 990000}};
    for (size_t l = 0; l < 3; l++) {
        chart_line *line = chart_add(self, all[l].name);
        uint32_t at = 0;
        for (uint32_t i = 0; i < from->count && at < self->count; i++) {
            const tune_size *size = from->sizes[i];
            if (size->failed || size->visits == 0) continue;
            tune_goal percentile = {.per_million = all[l].per_million, .time = time};
            line->value[at++] = (double)tune_goal_value(&percentile, size);
        }
    }
}

static void write_throughput(const tuning *self, chart *drawn, FILE *out)
{
    char name[64];
    chart_begin(drawn, self, "Throughput", CHART_RATE, NULL);
    chart_line *line = chart_add(drawn, "operations a second");
    line->has_band = true;
    uint32_t at = 0;
    for (uint32_t i = 0; i < self->count && at < drawn->count; i++) {
        const tune_size *size = self->sizes[i];
        if (size->failed || size->visits == 0) continue;
        line->value[at] = size->throughput.mean, line->low[at] = size->throughput.low,
        line->high[at] = size->throughput.high;
        at++;
    }
    if (self->answer.best >= 0) {
        snprintf(name, sizeof name, "%.0f %% of the best", (1 - self->rule.margin) * 100);
        drawn->threshold = self->sizes[self->answer.best]->throughput.mean * (1 - self->rule.margin);
        drawn->threshold_name = name;
    }
    chart_write(drawn, out);
}

static void write_charts(const tuning *self, FILE *out)
{
    chart *drawn = malloc(sizeof *drawn);
    if (!drawn || self->count == 0) {
        free(drawn);
        return;
    }
    fputs("<h2>What each size does</h2>\n<div class=\"charts\">\n", out);
    write_throughput(self, drawn, out);
    chart_begin(drawn, self, "Use: one operation", CHART_TIME, NULL);
    drawn->is_log = drawn->is_small = true;
    fill_percentiles(drawn, self, TUNE_USE);
    if (self->goal.ns && self->goal.time == TUNE_USE)
        drawn->threshold = (double)self->goal.ns, drawn->threshold_name = self->goal.text;
    chart_write(drawn, out);
    chart_begin(drawn, self, self->rate > 0 ? "Whole: from due time to completion" : "Wait: for an object", CHART_TIME,
                NULL);
    drawn->is_log = drawn->is_small = true;
    tune_time time = self->rate > 0 ? TUNE_WHOLE : TUNE_WAIT;
    fill_percentiles(drawn, self, time);
    if (self->goal.ns && self->goal.time == time)
        drawn->threshold = (double)self->goal.ns, drawn->threshold_name = self->goal.text;
    chart_write(drawn, out);
    chart_begin(drawn, self, "Pool utilisation", CHART_SHARE, NULL);
    drawn->is_small = true;
    chart_line *line = chart_add(drawn, "time held");
    uint32_t at = 0;
    for (uint32_t i = 0; i < self->count && at < drawn->count; i++)
        if (!self->sizes[i]->failed && self->sizes[i]->visits) line->value[at++] = tune_utilisation(self->sizes[i]);
    chart_write(drawn, out);
    write_time(self, out);
    fputs("</div>\n", out);
    if (self->rate <= 0)
        fprintf(out,
                "<p class=\"note\">The %u clients start their next operation as soon as the last one ends, so every "
                "pool is as busy as it can be. The wait for an object depends on the number of clients and does not "
                "tell how good a size is.</p>\n",
                self->clients);
    free(drawn);
}

/* ---- Numbers ------------------------------------------------------------------------------------------- */

static void write_row(const tuning *self, uint32_t at, FILE *out)
{
    char text[WORDS_ROOM];
    const tune_size *size = self->sizes[at];
    fprintf(out, "<tr%s><td>%u</td>", (int)at == self->answer.chosen ? " class=\"chosen\"" : "", size->size);
    if (size->failed || size->visits == 0) {
        element(out, "<td class=\"cause\" colspan=\"11\">", size->cause[0] ? size->cause : "nothing was measured",
                "</td></tr>\n");
        return;
    }
    fprintf(out, "<td>%s</td>", words_rate(text, size->throughput.mean));
    fprintf(out, "<td>%s", words_count(text, (uint64_t)llround(size->throughput.low)));
    fprintf(out, "..%s</td>", words_count(text, (uint64_t)llround(size->throughput.high)));
    const tune_size *best = self->answer.best >= 0 ? tune_first(self) : size;
    fprintf(out, "<td>%.1f %%</td>",
            best->throughput.mean > 0 ? size->throughput.mean / best->throughput.mean * 100 : 0.0);
    const uint32_t parts[] = {500000, 950000, 990000};
    for (size_t i = 0; i < 3; i++)
        fprintf(out, "<td>%s</td>", words_duration(text, cen_histogram_percentile(&size->use, parts[i])));
    fprintf(out, "<td>%s</td>", words_duration(text, cen_histogram_percentile(&size->wait, 500000)));
    fprintf(out, "<td>%s</td>", words_duration(text, cen_histogram_percentile(&size->wait, 990000)));
    fprintf(out, "<td>%s</td>", words_share(text, tune_utilisation(size)));
    fprintf(out, "<td>%s</td>", words_count(text, size->failures));
    fprintf(out, "<td>%u</td></tr>\n", size->visits);
}

static void write_table(const tuning *self, FILE *out)
{
    if (self->count == 0) return;
    fputs("<h2>All numbers</h2>\n"
          "<div class=\"card scroll\"><table><thead><tr><th>size</th><th>throughput</th><th>95 % CI</th><th>of "
          "best</th><th>use p50</th><th>p95</th><th>p99</th><th>wait p50</th><th>p99</th><th>in "
          "use</th><th>failed</th><th>visits</th></tr></thead><tbody>\n",
          out);
    for (uint32_t i = 0; i < self->count; i++) write_row(self, i, out);
    fputs("</tbody></table></div>\n", out);
}

static void entry(FILE *out, const char *name, const char *value)
{
    element(out, "<dt>", name, "</dt>");
    element(out, "<dd>", value, "</dd>\n");
}

static void write_method(const tuning *self, FILE *out)
{
    char text[640], number[WORDS_ROOM];
    fputs("<h2>How it was measured</h2>\n<div class=\"card\"><dl>\n", out);
    element(out, "<dt>command</dt><dd><code>", self->command, "</code></dd>\n");
    entry(out, "resource", self->shown);
    element(out, "<dt>one operation</dt><dd><code>", self->query, "</code></dd>\n");
    if (self->rate > 0)
        snprintf(text, sizeof text, "%u clients, open loop: %s due, whether or not earlier operations are done",
                 self->clients, words_rate(number, self->rate));
    else
        snprintf(text, sizeof text, "%u clients, closed loop: each starts its next operation when the last one ends",
                 self->clients);
    entry(out, "load", text);
    if (self->hold_ns) {
        snprintf(text, sizeof text, "each client keeps the object for another %s after its operation",
                 words_duration(number, self->hold_ns));
        entry(out, "hold", text);
    }
    snprintf(text, sizeof text, "within %.3g %% of the best throughput%s%s", self->rule.margin * 100,
             self->goal.ns ? ", with " : "", self->goal.ns ? self->goal.text : "");
    entry(out, "rule", text);
    snprintf(text, sizeof text, "%u visits to %u sizes, %u check rounds, in %.1f s of at most %g s; %s", self->visits,
             self->count, self->rounds, self->elapsed, self->time_limit, tune_end_words(self));
    entry(out, "visits", text);
    entry(out, "machine", self->machine);
    entry(out, "when", self->when);
    entry(out, "version", self->version);
    fputs("</dl></div>\n", out);
    fputs(
        "<h2>How to read the report</h2>\n"
        "<div class=\"card\"><ul class=\"plain\">\n"
        "<li>The sweep tries ever larger sizes until they bring no more throughput, then sizes in between. It repeats "
        "the candidates in turns, so that slow changes of the machine affect all of them alike.</li>\n"
        "<li>The 95 % intervals use batch means: they account for the correlation of neighbouring windows.</li>\n"
        "<li>All objects of a size are open before it is measured. The cost of opening is not in these numbers.</li>\n"
        "</ul></div>\n"
        "<h2>What is not claimed</h2>\n"
        "<div class=\"card\"><ul class=\"plain\">\n"
        "<li>That the result holds for another operation, server, data set or machine: measure there.</li>\n"
        "<li>That the result holds where clients and server run on separate machines, if they shared one here.</li>\n"
        "<li>That several programs running this load at once each get as much: replicas share the server.</li>\n"
        "<li>That the intervals cover what did not happen during the sweep, such as a nightly backup.</li>\n"
        "</ul></div>\n",
        out);
}

void report_html(const tuning *self, FILE *out)
{
    write_head(self, out);
    write_tiles(self, out);
    write_charts(self, out);
    write_table(self, out);
    write_method(self, out);
    fputs("</main></body></html>\n", out);
}

/* ---- The file -------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static bool refuse(char *why, size_t room, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, room, format, arguments);
    va_end(arguments);
    return false;
}

static const char *system_words(int error)
{
    const char *words = strerrordesc_np(error);
    return words && error ? words : "the write was incomplete";
}

/* Return true if the path may be written: there is no file, or such a report, or with force any regular file. */
static bool may_replace(const char *path, bool force, char *why, size_t room)
{
    char text[MARK_WITHIN + 1];
    struct stat there;
    if (stat(path, &there) != 0) {
        if (errno == ENOENT) return true;
        return refuse(why, room, "%s cannot be accessed: %s.", path, system_words(errno));
    }
    if (!S_ISREG(there.st_mode))
        return refuse(why, room, "%s exists and is not a regular file; name another file with --report.", path);
    if (force) return true;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, MARK_WITHIN);
    if (fd >= 0) close(fd);
    text[size > 0 ? size : 0] = '\0';
    if (size == 0 || (size > 0 && strstr(text, mark))) return true;
    return refuse(why, room,
                  "%s exists and is not a report of cenote tune; name another file with --report, or pass --force.",
                  path);
}

static int make_beside(const char *path, char *beside, char *why, size_t room)
{
    int size = snprintf(beside, PATH_ROOM, "%s.XXXXXX", path);
    if (size < 0 || size >= PATH_ROOM) {
        refuse(why, room, "The name of the report is too long.");
        return -1;
    }
    int fd = mkostemp(beside, O_CLOEXEC);
    if (fd < 0) refuse(why, room, "%s cannot be written: %s.", path, system_words(errno));
    else stop_remove_later(beside); /* removed if a second signal comes before it is renamed */
    return fd;
}

bool report_may_write(const char *path, bool force, char *why, size_t room)
{
    char beside[PATH_ROOM];
    if (!may_replace(path, force, why, room)) return false;
    int fd = make_beside(path, beside, why, room);
    if (fd < 0) return false;
    close(fd);
    unlink(beside);
    return true;
}

bool report_write(const tuning *self, const char *path, bool force, char *why, size_t room)
{
    char beside[PATH_ROOM];
    if (!may_replace(path, force, why, room)) return false;
    int fd = make_beside(path, beside, why, room);
    if (fd < 0) return false;
    /* Give it the permissions of any new file. */
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask);
    FILE *out = fdopen(fd, "w");
    bool is_good = out != NULL;
    if (out) report_html(self, out);
    else close(fd);
    errno = 0;
    if (out && (fflush(out) != 0 || ferror(out) || fsync(fd) != 0)) is_good = false;
    int error = errno;
    if (out && fclose(out) != 0) is_good = false, error = errno;
    if (is_good && rename(beside, path) != 0) is_good = false, error = errno;
    if (is_good) return true;
    unlink(beside);
    return refuse(why, room, "%s cannot be written: %s.", path, system_words(error));
}
