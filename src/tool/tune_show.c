/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cenote/version.h>

#include "tool/curve.h"
#include "tool/terminal.h"
#include "tool/tune.h"
#include "tool/words.h"

/* ---- Known without measuring ------------------------------------------------------------------------------ */

static void read_processor(char *out, size_t room)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    snprintf(out, room, "unknown processor");
    while (file && fgets(line, sizeof line, file)) {
        char *name = strstr(line, ": ");
        if (strncmp(line, "model name", 10) != 0 || !name) continue;
        name[strcspn(name, "\n")] = '\0';
        snprintf(out, room, "%.80s", name + 2);
        break;
    }
    if (file) fclose(file);
}

static void append(char *out, size_t room, size_t *at, const char *text)
{
    for (; *text && *at + 1 < room; text++) out[(*at)++] = *text;
    out[*at] = '\0';
}

/* Write the command line as typed, quoted for a shell, with the URL without its password. */
static void read_command(const tuning *self, const char *url, char *out, size_t room)
{
    char words[4096];
    size_t at = 0;
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t size = file ? fread(words, 1, sizeof words - 1, file) : 0;
    if (file) fclose(file);
    words[size] = '\0';
    append(out, room, &at, "cenote");
    for (size_t i = strlen(words) + 1; i < size; i += strlen(words + i) + 1) {
        const char *word = url && strcmp(words + i, url) == 0 ? self->shown : words + i;
        bool is_plain =
            *word &&
            strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+.,:/@%") == strlen(word);
        append(out, room, &at, is_plain ? " " : " '");
        append(out, room, &at, word);
        if (!is_plain) append(out, room, &at, "'");
    }
}

void tune_describe(tuning *self, const char *url)
{
    char processor[96];
    struct utsname system;
    struct tm parts;
    time_t moment = time(NULL);
    read_processor(processor, sizeof processor);
    if (uname(&system) != 0) memset(&system, 0, sizeof system);
    snprintf(self->machine, sizeof self->machine, "%s, %u processor%s, %.30s %.40s", processor, self->processors,
             self->processors == 1 ? "" : "s", system.sysname, system.release);
    if (gmtime_r(&moment, &parts)) strftime(self->when, sizeof self->when, "%Y-%m-%d %H:%M UTC", &parts);
    snprintf(self->version, sizeof self->version, "cenote %d.%d.%d", CEN_VERSION_MAJOR, CEN_VERSION_MINOR,
             CEN_VERSION_PATCH);
    read_command(self, url, self->command, sizeof self->command);
}

/* ---- On the terminal -------------------------------------------------------------------------------------- */

static void print_curve(const tuning *self, bool ascii, FILE *out)
{
    curve_column columns[SWEEP_SIZES_MOST];
    char name[16];
    tune_goal usual = {.per_million = 990000, .time = self->rate > 0 ? TUNE_WHOLE : TUNE_USE};
    const tune_goal *goal = self->goal.ns ? &self->goal : &usual;
    for (uint32_t i = 0; i < self->count; i++) {
        const tune_size *size = self->sizes[i];
        bool is_known = !size->failed && size->visits > 0;
        columns[i] = (curve_column){.size = size->size,
                                    .failed = size->failed,
                                    .height = is_known ? size->throughput.mean : 0,
                                    .latency = is_known ? (double)tune_goal_value(goal, size) / 1e9 : -1};
    }
    snprintf(name, sizeof name, "p%g", goal->per_million / 1e4);
    curve picture = {.columns = columns,
                     .count = self->count,
                     .chosen = self->answer.chosen,
                     .best = self->answer.best,
                     .latency_name = name,
                     .width = terminal_width(out),
                     .plain = ascii,
                     .ink = terminal_ink};
    curve_print(&picture, out);
    fputc('\n', out);
}

static void print_row(table *rows, const tuning *self, const tune_size *size)
{
    char text[WORDS_ROOM];
    table_row(rows);
    table_set(rows, 0, "%u", size->size);
    if (size->failed || size->visits == 0) {
        table_set(rows, 1, "failed");
        return;
    }
    const tune_size *first = tune_first(self);
    double best = first ? first->throughput.mean : 0;
    table_set(rows, 1, "%s", words_rate(text, size->throughput.mean));
    table_set(rows, 2, "%.1f %%",
              size->throughput.mean > 0 ? (size->throughput.high - size->throughput.mean) / size->throughput.mean * 100
                                        : 0.0);
    table_set(rows, 3, "%.1f %%", best > 0 ? size->throughput.mean / best * 100 : 0.0);
    table_set(rows, 4, "%s", words_duration(text, cen_histogram_percentile(&size->use, 500000)));
    table_set(rows, 5, "%s", words_duration(text, cen_histogram_percentile(&size->use, 990000)));
    table_set(rows, 6, "%s", words_duration(text, cen_histogram_percentile(&size->wait, 990000)));
    table_set(rows, 7, "%s", words_share(text, tune_utilisation(size)));
    table_set(rows, 8, "%u", size->visits);
}

static void print_table(const tuning *self, FILE *out)
{
    static const char *const heads[] = {"size",    "throughput", "+-",     "of best", "use p50",
                                        "use p99", "wait p99",   "in use", "visits"};
    table *rows = malloc(sizeof *rows);
    if (!rows) return;
    table_begin(rows, 9);
    table_row(rows);
    for (unsigned i = 0; i < 9; i++) table_set(rows, i, "%s", heads[i]);
    for (uint32_t i = 0; i < self->count; i++) print_row(rows, self, self->sizes[i]);
    table_print(rows, out, 2);
    free(rows);
    fputc('\n', out);
}

/* Print whole words, wrapped before the edge. */
static void print_wrapped(FILE *out, ink colour, const char *text)
{
    unsigned width = terminal_width(out), at = 0;
    if (width > 110) width = 110;
    if (!*text) return;
    fputs(terminal_ink(out, colour), out);
    while (*text) {
        unsigned size = (unsigned)strcspn(text, " ");
        if (at && at + 1 + size > width) fputc('\n', out), at = 0;
        if (at) fputc(' ', out), at++;
        fwrite(text, 1, size, out);
        at += size;
        text += size + (text[size] == ' ');
    }
    fprintf(out, "%s\n", terminal_ink(out, INK_PLAIN));
}

void tune_print(const tuning *self, bool ascii, FILE *out)
{
    char text[1024];
    fprintf(out, "%s, %u clients, %u visits in %.1f s\n\n", self->shown, self->clients, self->visits, self->elapsed);
    if (self->answer.chosen >= 0) {
        print_curve(self, ascii, out);
        print_table(self, out);
    }
    tune_advice(self, text, sizeof text);
    print_wrapped(out, INK_BOLD, text);
    tune_doubts(self, text, sizeof text);
    print_wrapped(out, INK_WARN, text);
    if (self->trouble[0] && self->answer.chosen >= 0) print_wrapped(out, INK_WARN, self->trouble);
    if (self->answer.chosen >= 0 && tune_capacity_of(self, self->sizes[self->answer.chosen]->size).is_over) {
        tune_capacity_words(self, text, sizeof text);
        print_wrapped(out, INK_WARN, text);
    }
}
