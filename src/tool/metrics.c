/* SPDX-License-Identifier: MIT */
/* cenote metrics: one scrape, printed. */
#include <stdlib.h>
#include <string.h>

#include "tool/client.h"
#include "tool/client_words.h"
#include "tool/command.h"
#include "tool/stop.h"

typedef struct settings {
    client_options client;
    const char *filter;
    int64_t format;
} settings;

/* Accept headers, in the order of the option's choices. */
static const char *const accepted[] = {"text/plain; version=0.0.4", "application/openmetrics-text; version=1.0.0"};

static const option_row rows[] = {
    {"filter", 'f', OPTION_TEXT, "TEXT", offsetof(settings, filter), 0, 0, NULL,
     "print only metrics with this text in their name or labels"},
    {"format", 0, OPTION_CHOICE, "FORMAT", offsetof(settings, format), 0, 0, "prometheus openmetrics",
     "text format: Prometheus 0.0.4 or OpenMetrics 1.0 (prometheus)"},
    WATCHING_ROWS(settings, client),
    {0},
};

/* ---- Filter ---------------------------------------------------------------------------------- */

enum { HEADS = 8 };

/* The lines "# TYPE name ..." of a family, kept until one of its samples is printed. */
typedef struct family {
    const char *filter;
    const char *heads[HEADS];
    unsigned count;
    bool matches; /* all of its samples match */
    bool metric;  /* its heads are printed */
} family;

static bool has(const char *line, size_t length, const char *text)
{
    return memmem(line, length, text, strlen(text)) != NULL;
}

static void print_heads(family *f)
{
    for (unsigned i = 0; i < f->count; i++) printf("%.*s\n", (int)strcspn(f->heads[i], "\n"), f->heads[i]);
    f->count = 0;
}

/* Read the name from "# TYPE name counter". */
static void read_head(family *f, const char *line)
{
    const char *name = strchr(line + 2, ' ');
    if (!f->metric) {
        f->count = 0;
        f->matches = false;
    }
    f->metric = true;
    if (f->count < HEADS) f->heads[f->count++] = line;
    if (name) f->matches = f->matches || has(name + 1, strcspn(name + 1, " \n"), f->filter);
}

static void read_sample(family *f, const char *line, size_t length)
{
    f->metric = false;
    if (!f->matches && !has(line, length, f->filter)) return;
    print_heads(f);
    printf("%.*s\n", (int)length, line);
}

static void print_matching(const char *text, const char *filter)
{
    family f = {.filter = filter};
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        if (strncmp(line, "# EOF", 5) == 0) printf("# EOF\n"); /* without it the text would count as truncated */
        else if (*line == '#') read_head(&f, line);
        else if (length) read_sample(&f, line, length);
        line += length + (line[length] == '\n');
    }
}

/* Comments are allowed in the older format only. OpenMetrics allows no lines that begin with # other than its own. */
static void print_type(const char *type)
{
    char clean[100];
    if (!*type || strstr(type, "openmetrics")) return;
    snprintf(clean, sizeof clean, "%s", type);
    for (char *at = clean; *at; at++)
        if (*at < ' ' || *at > '~') *at = '?';
    printf("# Content-Type: %s\n", clean);
}

static int run(const command *self, void *given, int count, char **arguments)
{
    settings *s = given;
    client *peer;
    cen_error error;
    json_t *process;
    char *text;
    size_t length;
    s->client.stop = stop_flag();
    if (client_open(count ? arguments[0] : NULL, &s->client, &peer, &error) != CEN_OK)
        return watching_fail(self, &error);
    /* Many servers have metrics. This command explains only cenote's, so it checks the server. */
    cen_status status = client_greet(peer, &process, &error);
    if (status == CEN_OK) {
        json_decref(process);
        status = client_accept(peer, accepted[s->format], &error);
    }
    if (status == CEN_OK) {
        status = client_get_text(peer, "/metrics", &text, &length, &error);
        if (status == CEN_OK) print_type(client_content_type(peer));
    }
    client_close(peer);
    if (status != CEN_OK) return watching_fail(self, &error);
    if (s->filter && *s->filter) print_matching(text, s->filter);
    else fwrite(text, 1, length, stdout);
    free(text);
    return EXIT_DONE;
}

static const settings usual;

const command metrics_command = {
    .name = "metrics",
    .summary = "scrapes the metrics of a running process once",
    .arguments = "[ADDRESS|PID]",
    .teaching = "Prints the metrics of a process that has inspection enabled, in the Prometheus text format 0.0.4, or\n"
                "with --format openmetrics in OpenMetrics 1.0. The first line of the Prometheus format is a comment\n"
                "with the content type; OpenMetrics allows no such comment. Both end with # EOF. docs/inspect.md\n"
                "describes each metric.\n"
                "\n" WATCHING_TEACHING "\n"
                "  cenote metrics                             the only process with inspection enabled\n"
                "  cenote metrics 4711 | promtool check metrics\n"
                "  cenote metrics --filter wait_time          only metrics with that text in their name or labels\n",
    .rows = rows,
    .settings_size = sizeof usual,
    .usual = &usual,
    .most = 1,
    .run = run,
};
