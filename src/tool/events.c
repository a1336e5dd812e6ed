/* SPDX-License-Identifier: MIT */
/* cenote events: the events of a running process, or of one that has ended and left an events file or a core file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cenote/events.h>

#include "tool/client.h"
#include "tool/client_words.h"
#include "tool/command.h"
#include "tool/model.h"
#include "tool/stop.h"
#include "tool/terminal.h"
#include "tool/text_json.h"
#include "tool/view.h"
#include "tool/words.h"

typedef struct settings {
    client_options client;
    int64_t level, last, interval_ns;
    bool follow, json;
} settings;

static const settings usual = {.level = CEN_LEVEL_DETAIL - 1, .interval_ns = SECOND_NS / 2};

static const option_row rows[] = {
    {"level", 'l', OPTION_CHOICE, "LEVEL", offsetof(settings, level), 0, 0, "trace detail notice warning error",
     "lowest level to print (detail)"},
    {"last", 'n', OPTION_COUNT, "N", offsetof(settings, last), 0, 0, NULL, "print only the last N events"},
    {"follow", 'f', OPTION_FLAG, NULL, offsetof(settings, follow), 0, 0, NULL,
     "keep printing new events until the process ends or Ctrl-C"},
    {"interval", 'i', OPTION_DURATION, "TIME", offsetof(settings, interval_ns), 1e7, 60e9, NULL,
     "with --follow: polling interval (500ms)"},
    {"json", 0, OPTION_FLAG, NULL, offsetof(settings, json), 0, 0, NULL, "print one JSON object per line"},
    WATCHING_ROWS(settings, client),
    {0},
};

/* ---- One event ---------------------------------------------------------------------------------- */

static int rank_of(const char *level)
{
    for (int i = CEN_LEVEL_TRACE; i <= CEN_LEVEL_ERROR; i++)
        if (strcmp(level, cen_event_level_name((cen_event_level)i)) == 0) return i;
    return CEN_LEVEL_NOTICE;
}

static void print_plain(json_t *event)
{
    static const ink inks[] = {INK_FAINT, INK_FAINT, INK_PLAIN, INK_WARN, INK_BAD};
    char clock[32], line[VIEW_ROOM], clean[VIEW_ROOM];
    int64_t when = model_number(event, "time_ns");
    time_t seconds = (time_t)(when / SECOND_NS);
    struct tm tm;
    const char *level = model_text(event, "level"), *kind = model_text(event, "component_kind"),
               *name = model_text(event, "component_name");
    const char *text = model_text(event, "text");
    bool named = *name && !strstr(text, name); /* most texts contain the component's name */
    if (!localtime_r(&seconds, &tm) || strftime(clock, sizeof clock, "%Y-%m-%d %H:%M:%S", &tm) == 0) clock[0] = 0;
    snprintf(line, sizeof line, "%s.%03d %-7.16s %-16.24s %s%s%s%s%s", clock, (int)(when / 1000000 % 1000), level,
             model_text(event, "what"), named ? kind : "", named && *kind ? " " : "", named ? name : "",
             named ? ": " : "", text);
    view_clean(clean, sizeof clean, line, false);
    printf("%s%s%s\n", terminal_ink(stdout, inks[rank_of(level) - 1]), clean, terminal_ink(stdout, INK_PLAIN));
}

static void print_event(const settings *s, json_t *event)
{
    char *text = s->json ? json_dumps(event, JSON_COMPACT) : NULL;
    if (text) printf("%s\n", text);
    else print_plain(event);
    free(text);
}

/* Print the events of the level; with --last only the last of those. */
static void print_all(const settings *s, json_t *all, int64_t last)
{
    size_t i, skip = 0, wanted = 0;
    json_t *event;
    json_array_foreach(all, i, event) wanted += rank_of(model_text(event, "level")) > s->level;
    if (last > 0 && wanted > (size_t)last) skip = wanted - (size_t)last;
    json_array_foreach(all, i, event)
    {
        if (rank_of(model_text(event, "level")) <= s->level) continue;
        if (skip > 0) skip--;
        else print_event(s, event);
    }
    fflush(stdout);
}

static void say_missed(int64_t missed)
{
    if (missed > 0)
        fprintf(stderr, "cenote events: %" PRId64 " events were overwritten before they could be read.\n", missed);
}

/* ---- From a process ------------------------------------------------------------------------------- */

/* The reader's position in the process's numbering. TRACE events have their own numbers. */
typedef struct reader {
    uint64_t next, next_trace;
    int64_t missed;
} reader;

static void move_on(reader *r, json_t *answer)
{
    if (json_is_integer(json_object_get(answer, "next"))) r->next = (uint64_t)model_number(answer, "next");
    if (json_is_integer(json_object_get(answer, "next_trace")))
        r->next_trace = (uint64_t)model_number(answer, "next_trace");
    r->missed += model_number(answer, "missed") + model_number(answer, "missed_trace");
}

/* Read a part of the available events; *more: there are more. */
static cen_status read_some(client *peer, const settings *s, reader *r, json_t *all, bool *more, cen_error *error)
{
    enum { AT_ONCE = 500 };
    char path[160];
    json_t *answer;
    snprintf(path, sizeof path, "/api/events?after=%" PRIu64 "&limit=%d&level=%s", r->next, AT_ONCE,
             cen_event_level_name((cen_event_level)(s->level + 1)));
    if (s->level == 0)
        snprintf(path + strlen(path), sizeof path - strlen(path), "&after_trace=%" PRIu64, r->next_trace);
    cen_status status = client_get(peer, path, &answer, error);
    if (status != CEN_OK) return status;
    json_t *events = json_object_get(answer, "events");
    reader before = *r;
    move_on(r, answer);
    *more = json_array_size(events) >= AT_ONCE && (r->next != before.next || r->next_trace != before.next_trace);
    if (events) json_array_extend(all, events);
    json_decref(answer);
    return CEN_OK;
}

static cen_status read_round(client *peer, const settings *s, reader *r, json_t *all, cen_error *error)
{
    bool more = true;
    cen_status status = CEN_OK;
    r->missed = 0;
    while (status == CEN_OK && more && !stop_asked()) status = read_some(peer, s, r, all, &more, error);
    return status;
}

static int follow(const command *self, const settings *s, client *peer, reader *r)
{
    cen_error error;
    while (!stop_asked()) {
        json_t *all = json_array();
        watching_pause(s->interval_ns);
        cen_status status = read_round(peer, s, r, all, &error);
        if (status == CEN_OK) {
            say_missed(r->missed);
            print_all(s, all, 0);
        }
        json_decref(all);
        if (ferror(stdout)) return EXIT_DONE; /* the output has no reader any longer */
        if (status == CEN_DOWN) {
            fprintf(stderr, "cenote events: The process has ended or has turned inspection off.\n");
            return EXIT_DONE;
        }
        if (status != CEN_OK) return watching_fail(self, &error);
    }
    return stop_status(EXIT_DONE);
}

static int tell_of_process(const command *self, const settings *s, const char *text)
{
    client *peer;
    cen_error error;
    json_t *process, *all = json_array();
    reader r = {.next = 0};
    int result = EXIT_DONE;
    cen_status status = client_open(text, &s->client, &peer, &error);
    if (status != CEN_OK) {
        json_decref(all);
        return watching_fail(self, &error);
    }
    status = client_greet(peer, &process, &error);
    if (status == CEN_OK) json_decref(process);
    if (status == CEN_OK) status = read_round(peer, s, &r, all, &error);
    if (status == CEN_OK && !s->last) say_missed(r.missed);
    if (status == CEN_OK) print_all(s, all, s->last);
    else result = watching_fail(self, &error);
    json_decref(all);
    if (status == CEN_OK && s->follow) result = follow(self, s, peer, &r);
    client_close(peer);
    return result;
}

/* ---- From a file ------------------------------------------------------------------------------------ */

/* The texts of a file are arbitrary bytes, cut where the process's buffer ended. */
static void keep(void *argument, const cen_event *event)
{
    json_t *shown = json_pack("{s:I, s:I, s:s, s:s, s:o, s:I, s:o, s:o, s:o}", "number", (json_int_t)event->number,
                              "time_ns", (json_int_t)event->time_ns, "level", cen_event_level_name(event->level),
                              "kind", cen_event_kind_name(event->kind), "what", text_as_json(event->what), "component",
                              (json_int_t)event->component, "component_kind", text_as_json(event->component_kind),
                              "component_name", text_as_json(event->component_name), "part", text_as_json(event->part));
    json_t *more = json_pack("{s:I, s:o, s:o, s:I, s:I, s:s, s:i, s:s, s:o}", "holder", (json_int_t)event->holder,
                             "where", text_as_json(event->where), "given_where", text_as_json(event->given_where),
                             "held_ns", (json_int_t)event->held_ns, "value", (json_int_t)event->value, "status",
                             cen_status_name(event->status), "code", event->code, "cause", cen_cause_name(event->cause),
                             "text", text_as_json(event->text));
    if (shown && more) json_object_update(shown, more);
    json_decref(more);
    json_array_append_new(argument, shown);
}

static int tell_of_file(const command *self, const settings *s, const char *path)
{
    cen_error error = {.text = ""};
    json_t *all = json_array();
    if (s->follow) {
        json_decref(all);
        return command_fail(self, EXIT_USAGE, "--follow needs a running process; %.200s is a file.", path);
    }
    cen_status status = cen_events_read_file(path, keep, all, &error);
    if (status == CEN_OK) print_all(s, all, s->last);
    if (status == CEN_OK && json_array_size(all) == 0)
        fprintf(stderr,
                "cenote events: No events in %.200s. A process that persists its events has them in that file, not in "
                "its core file.\n",
                path);
    json_decref(all);
    if (status == CEN_ABSENT)
        return command_fail(
            self, EXIT_UNREACHABLE,
            "No events in %.200s: it is neither a file written by cen_events_persist nor a core file with events.",
            path);
    return status == CEN_OK ? EXIT_DONE : command_fail(self, EXIT_UNREACHABLE, "%s", words_of_error(error.text));
}

/* An existing path is a file, whatever else it could mean. Exceptions: a number is a process ID, and unix: is a
 * socket. */
static bool is_file(const char *text)
{
    struct stat s;
    bool number = strspn(text, "0123456789") == strlen(text);
    if (number || strncmp(text, "unix:", 5) == 0 || strstr(text, "://")) return false;
    return (stat(text, &s) == 0 && S_ISREG(s.st_mode)) || strchr(text, ':') == NULL;
}

static int run(const command *self, void *given, int count, char **arguments)
{
    settings *s = given;
    const char *text = count ? arguments[0] : NULL;
    s->client.stop = stop_flag();
    view_begin();
    return text && is_file(text) ? tell_of_file(self, s, text) : tell_of_process(self, s, text);
}

const command events_command = {
    .name = "events",
    .summary = "prints the events of a process, also after a crash",
    .arguments = "[ADDRESS|PID|FILE]",
    .teaching = "Prints the events of a process that has inspection enabled: objects opened, objects closed and why,\n"
                "timeouts and their causes, leaks, circuit breakers, members down, children restarted. FILE is a file\n"
                "written by cen_events_persist or a core file. It holds the last events of a process that has ended,\n"
                "however it ended.\n"
                "\n" WATCHING_TEACHING "\n"
                "  cenote events --follow --level warning     warnings and errors as they occur\n"
                "  cenote events -n 20 4711                   the last 20 events of process 4711\n"
                "  cenote events /var/lib/shop/events         events persisted by a process that crashed\n"
                "  cenote events core.4711                    events in a core file\n",
    .rows = rows,
    .settings_size = sizeof usual,
    .usual = &usual,
    .most = 1,
    .run = run,
};
