/* SPDX-License-Identifier: MIT */
/* cenote top: a running process, live on a terminal, or once as plain text or JSON. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tool/client.h"
#include "tool/command.h"
#include "tool/screen.h"
#include "tool/stop.h"
#include "tool/terminal.h"
#include "tool/top_feed.h"
#include "tool/top_live.h"
#include "tool/client_words.h"
#include "tool/words.h"

typedef struct settings {
    client_options client;
    int64_t interval_ns;
    bool once, json;
} settings;

static const settings usual = {.interval_ns = SECOND_NS};

static const option_row rows[] = {
    {"interval", 'i', OPTION_DURATION, "TIME", offsetof(settings, interval_ns), 0, 60e9, NULL, "refresh interval (1s)"},
    {"once", '1', OPTION_FLAG, NULL, offsetof(settings, once), 0, 0, NULL,
     "print plain text once (the default without a terminal)"},
    {"json", 0, OPTION_FLAG, NULL, offsetof(settings, json), 0, 0, NULL, "print the JSON response of the process once"},
    WATCHING_ROWS(settings, client),
    {0},
};

/* ---- Once ---------------------------------------------------------------------------------- */

static int print_json(const command *self, client *peer)
{
    cen_error error;
    char *text;
    size_t length;
    json_t *process;
    if (client_greet(peer, &process, &error) != CEN_OK) return watching_fail(self, &error);
    json_decref(process);
    if (client_get_text(peer, "/api/components?parts=1", &text, &length, &error) != CEN_OK)
        return watching_fail(self, &error);
    fwrite(text, 1, length, stdout);
    if (length == 0 || text[length - 1] != '\n') fputc('\n', stdout);
    free(text);
    return EXIT_DONE;
}

static void print_process(json_t *process, const char *shown)
{
    char text[VIEW_ROOM], line[VIEW_ROOM], age[WORDS_ROOM];
    snprintf(text, sizeof text, "%.200s, process %lld, up %s, cenote %.40s, at %.300s", model_text(process, "program"),
             (long long)model_number(process, "pid"),
             words_duration(age, model_number(process, "now_ns") - model_number(process, "started_ns")),
             model_text(process, "version"), shown);
    view_clean(line, sizeof line, text, false);
    printf("%s\n", line);
}

static void print_panes(const model *m, json_t *events)
{
    enum { LAST = 20 }; /* events */
    unsigned columns = terminal_is(stdout) ? terminal_width(stdout) : 0;
    for (int pane = 0; pane < PANES; pane++) {
        view_table shown = view_of((view_pane)pane, m, events);
        /* a busy pool reports every wait */
        if (pane == PANE_EVENTS) view_keep_from(&shown, VIEW_LEVEL_COLUMN, VIEW_NOTICE);
        size_t all = shown.count;
        if (pane == PANE_EVENTS && all > LAST) view_cut(&shown, LAST);
        if (all > 0 || pane == PANE_POOLS) {
            printf("\n%s (%zu%s)\n", view_pane_names[pane], all, all > shown.count ? ", only the latest shown" : "");
            view_print(&shown, stdout, columns);
        }
        view_table_free(&shown);
    }
}

static int print_looks(const command *self, client *peer, const feed_look *before, const feed_look *after)
{
    const char *shown = client_address(peer)->shown;
    model *m = model_new(before->components, after->components);
    if (!m) return command_fail(self, EXIT_UNREACHABLE, "%s is not a cenote inspection endpoint.", shown);
    print_process(after->process, shown);
    print_panes(m, after->events);
    model_free(m);
    return EXIT_DONE;
}

/* Take two samples, so that there are rates; with an interval of 0 take one. */
static int print_once(const command *self, const settings *s, client *peer)
{
    feed_look before = {.told = false}, after = {.told = false};
    uint64_t next = 0, again = 0;
    cen_status looked = CEN_OK;
    int status;
    if (s->interval_ns > 0) {
        looked = feed_look_once(peer, &again, &before);
        if (looked == CEN_OK) watching_pause(s->interval_ns);
    }
    if (looked == CEN_OK && !stop_asked()) looked = feed_look_once(peer, &next, &after);
    if (stop_asked()) status = stop_status(EXIT_DONE);
    else if (looked != CEN_OK) status = watching_fail(self, after.events ? &after.error : &before.error);
    else status = print_looks(self, peer, &before, &after);
    feed_look_free(&before);
    feed_look_free(&after);
    return status;
}

/* ---- Live ------------------------------------------------------------------------------------ */

/* Requests end early when the screen is left for any reason. */
static atomic_bool leaving;

static void live_loop(live *seen, feed *source)
{
    while (!seen->quits && !stop_asked()) {
        feed_look look;
        screen_draw(seen);
        int key = screen_key(feed_fd(source), 200);
        if (key) live_press(seen, key);
        if (feed_take(source, &look)) live_receive(seen, &look);
    }
}

static int run_live(const command *self, const settings *s, client *peer)
{
    static live seen; /* large */
    char why[200], shown[ADDRESS_TEXT];
    const int64_t least = SECOND_NS / 20;
    int64_t interval = s->interval_ns > least ? s->interval_ns : s->interval_ns > 0 ? least : SECOND_NS;
    json_t *process;
    cen_error error;
    /* Errors at the start are printed on the normal terminal, not on a screen that disappears. */
    if (client_greet(peer, &process, &error) != CEN_OK) {
        client_close(peer);
        return watching_fail(self, &error);
    }
    json_decref(process);
    snprintf(shown, sizeof shown, "%s", client_address(peer)->shown);
    client_set_stop(peer, &leaving);
    if (!screen_begin(terminal_has_colour(stdout), why, sizeof why)) {
        client_close(peer);
        return command_fail(self, EXIT_SYSTEM, "%s", why);
    }
    feed *source = feed_start(peer, interval);
    if (source) {
        live_begin(&seen, source, shown, interval);
        live_loop(&seen, source);
    }
    screen_end();
    atomic_store(&leaving, true);
    if (!source) return command_fail(self, EXIT_SYSTEM, "Cannot poll the process: out of memory or threads.");
    feed_stop(source);
    live_end(&seen);
    return stop_status(EXIT_DONE);
}

static int run(const command *self, void *given, int count, char **arguments)
{
    settings *s = given;
    client *peer;
    cen_error error;
    s->client.stop = stop_flag();
    view_begin();
    if (client_open(count ? arguments[0] : NULL, &s->client, &peer, &error) != CEN_OK)
        return watching_fail(self, &error);
    if (!s->json && !s->once && terminal_is(stdout) && terminal_is(stdin)) return run_live(self, s, peer);
    int status = s->json ? print_json(self, peer) : print_once(self, s, peer);
    client_close(peer);
    return status;
}

const command top_command = {
    .name = "top",
    .summary = "shows a running process, live",
    .arguments = "[ADDRESS|PID]",
    .teaching =
        "Shows the pools of a process that has inspection enabled (cen_inspect_start): held, idle and opening\n"
        "objects, waiters, takes per second, percentiles of wait and hold time. Further panes show the holders\n"
        "with their hold times and call sites, the waiters, crews and queues, routers and supervisors, and\n"
        "events. The key ? lists all keys; q quits.\n"
        "\n" WATCHING_TEACHING "\n"
        "Without a terminal, or with --once, it takes two samples, one interval apart, and prints plain text.\n"
        "\n"
        "  cenote top                        the only process with inspection enabled, or a list to choose from\n"
        "  cenote top 4711                   the process with that ID\n"
        "  cenote top localhost:9911         a process by its address\n"
        "  cenote top --once unix:/run/s     once, as text\n"
        "  cenote top --json | jq .components[]  once, as JSON\n",
    .rows = rows,
    .settings_size = sizeof usual,
    .usual = &usual,
    .most = 1,
    .run = run,
};
