/* SPDX-License-Identifier: MIT */
/* cenote explain: why takes wait or fail at the moment. */
#include <stdlib.h>
#include <string.h>

#include "tool/client.h"
#include "tool/client_words.h"
#include "tool/command.h"
#include "tool/explain_advice.h"
#include "tool/stop.h"
#include "tool/terminal.h"
#include "tool/view.h"
#include "tool/words.h"

typedef struct settings {
    client_options client;
    int64_t holders;
    bool quiet, backtraces;
} settings;

static const settings usual = {.holders = 5};

static const option_row rows[] = {
    {"holders", 'n', OPTION_COUNT, "N", offsetof(settings, holders), 0, 1000, NULL,
     "how many of the oldest holders to list (5)"},
    {"quiet", 'q', OPTION_FLAG, NULL, offsetof(settings, quiet), 0, 0, NULL,
     "print only pools where a take would wait or fail"},
    {"backtraces", 'b', OPTION_FLAG, NULL, offsetof(settings, backtraces), 0, 0, NULL,
     "print backtraces of all listed holders, not only of suspected leaks"},
    WATCHING_ROWS(settings, client),
    {0},
};

/* Print lines from another process, indented, without characters that a terminal would obey. */
static void print_lines(const char *text, unsigned indent)
{
    char clean[VIEW_ROOM * 8];
    view_clean(clean, sizeof clean, text, true);
    for (char *line = clean; *line;) {
        size_t length = strcspn(line, "\n");
        if (length) printf("%*s%.*s\n", (int)indent, "", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

/* ---- One pool ------------------------------------------------------------------------------- */

static void print_trace(json_t *holder)
{
    size_t i;
    json_t *frame;
    json_array_foreach(json_object_get(holder, "backtrace"), i, frame)
    {
        print_lines(model_text(frame, "at"), 8);
    }
}

static void print_holder(const model_holder *h, bool traced)
{
    char line[VIEW_ROOM], age[WORDS_ROOM], whose[160];
    const char *identity = model_text(h->item, "identity");
    snprintf(line, sizeof line, "object %lld%s%s%s, %s%s, %s%s, taken at %s", (long long)h->index,
             *identity ? " (" : "", identity, *identity ? ")" : "", h->exact ? "" : "at least ",
             words_duration(age, h->held_ns), model_holder_words(h, "holder unknown", whose, sizeof whose),
             h->detached ? ", detached" : "", *h->where ? h->where : "an unknown place");
    print_lines(line, 4);
    if (traced) print_trace(h->item);
}

/* Print the oldest holders. For a healthy pool, print only those that have held longer than leak_after_ns. */
static void print_holders(const model *m, const model_pool *pool, const settings *s, bool well)
{
    int64_t shown = 0, more = 0, leak = model_number(pool->description, "leak_after_ns");
    for (size_t i = 0; i < m->holder_count; i++) {
        const model_holder *h = &m->holders[i];
        bool suspected = leak > 0 && h->held_ns >= leak;
        if (h->pool != pool || (well && !suspected)) continue;
        if (shown == s->holders) {
            more++;
            continue;
        }
        if (shown++ == 0) printf("  %s:\n", well ? "held for longer than leak_after_ns" : "oldest holders");
        print_holder(h, suspected || s->backtraces);
    }
    if (more > 0) printf("    and %lld more\n", (long long)more);
}

static void print_failure(const model_pool *pool)
{
    static const char *const words[] = {"closed: opens are allowed",
                                        "open: too many opens failed; no open is attempted until the back-off ends",
                                        "half-open: one trial open is allowed"};
    char age[WORDS_ROOM], line[VIEW_ROOM];
    printf("  breaker: %s\n", words[pool->breaker]);
    if (!*pool->last_error) return;
    snprintf(line, sizeof line, "last error, %s ago: %s",
             words_duration(age, model_number(pool->description, "last_error_ago_ns")), pool->last_error);
    print_lines(line, 2);
}

static void print_pool(const model *m, const model_pool *pool, const settings *s, explain_verdict verdict)
{
    static const char *const words[] = {"a take succeeds at once", "a take would wait", "a take would fail"};
    static const ink inks[] = {INK_GOOD, INK_WARN, INK_BAD};
    char name[128], advice[400], line[VIEW_ROOM];
    view_clean(name, sizeof name, pool->name, false);
    printf("%s%s%s: %s%s%s\n", terminal_ink(stdout, INK_BOLD), name, terminal_ink(stdout, INK_PLAIN),
           terminal_ink(stdout, inks[verdict]), words[verdict], terminal_ink(stdout, INK_PLAIN));
    if (*pool->explanation) print_lines(pool->explanation, 2);
    else
        printf("  max %lld: %lld held, %lld idle, %lld opening; %lld waiting.\n", (long long)pool->max,
               (long long)pool->held, (long long)pool->idle, (long long)pool->opening, (long long)pool->waiting);
    print_holders(m, pool, s, verdict == VERDICT_WELL);
    if (verdict != VERDICT_WELL || *pool->last_error) print_failure(pool);
    explain_advise(m, pool, advice, sizeof advice);
    snprintf(line, sizeof line, "what to do: %s", advice);
    print_lines(line, 2);
}

/* ---- All pools, or the named one -------------------------------------------------------------- */

static int print_pools(const command *self, const model *m, const settings *s, const char *name, const char *shown)
{
    bool found = false, ill = false, first = true;
    for (size_t i = 0; i < m->pool_count; i++) {
        const model_pool *pool = &m->pools[i];
        if (name && strcmp(name, pool->name) != 0) continue;
        explain_verdict verdict = explain_judge(pool);
        found = true;
        ill = ill || verdict != VERDICT_WELL;
        if (s->quiet && verdict == VERDICT_WELL) continue;
        if (!first) printf("\n");
        first = false;
        print_pool(m, pool, s, verdict);
    }
    if (name && !found)
        return command_fail(self, EXIT_UNREACHABLE, "The process at %s has no pool \"%.100s\".", shown, name);
    if (m->pool_count == 0 && !s->quiet) printf("No pools.\n");
    return ill ? EXIT_FAILED : EXIT_DONE;
}

static int explain(const command *self, const settings *s, client *peer, const char *name)
{
    cen_error error;
    json_t *process, *components = NULL;
    cen_status status = client_greet(peer, &process, &error);
    if (status == CEN_OK) {
        json_decref(process);
        status = client_get(peer, "/api/components?parts=1", &components, &error);
    }
    if (status != CEN_OK) return watching_fail(self, &error);
    const char *shown = client_address(peer)->shown;
    model *m = model_new(NULL, components);
    int result = m ? print_pools(self, m, s, name, shown)
                   : command_fail(self, EXIT_UNREACHABLE, "%s is not a cenote inspection endpoint.", shown);
    model_free(m);
    json_decref(components);
    return result;
}

/* A single argument is a pool of the only process, unless it can only be an address. */
static int run(const command *self, void *given, int count, char **arguments)
{
    settings *s = given;
    client *peer;
    cen_error error;
    bool named = count == 2 || (count == 1 && address_is_one(arguments[0]));
    const char *pool = count == 2 ? arguments[1] : count == 1 && !named ? arguments[0] : NULL;
    s->client.stop = stop_flag();
    view_begin();
    if (client_open(named ? arguments[0] : NULL, &s->client, &peer, &error) != CEN_OK)
        return watching_fail(self, &error);
    int status = explain(self, s, peer, pool);
    client_close(peer);
    return status;
}

const command explain_command = {
    .name = "explain",
    .summary = "says why takes wait or fail",
    .arguments = "[ADDRESS|PID] [POOL]",
    .teaching =
        "For each pool of a process that has inspection enabled, or for the named pool, prints what a take\n"
        "would encounter now: the cause, the oldest holders and the line where each took its object, the last\n"
        "failed open, the circuit breaker, and what to do.\n"
        "\n" WATCHING_TEACHING "\n"
        "The exit status is 0 if a take would succeed at once in every pool, and 1 if it would wait or fail in\n"
        "any of them.\n"
        "\n"
        "  cenote explain                    all pools of the only process with inspection enabled\n"
        "  cenote explain orders             the pool \"orders\" of that process\n"
        "  cenote explain 4711 orders        the pool \"orders\" of process 4711\n"
        "  cenote explain -q || page-someone\n",
    .rows = rows,
    .settings_size = sizeof usual,
    .usual = &usual,
    .most = 2,
    .run = run,
};
