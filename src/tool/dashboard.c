/* SPDX-License-Identifier: MIT */
#include "tool/dashboard.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cenote/deadline.h>

#include "tool/stop.h"
#include "tool/terminal.h"
#include "tool/words.h"

#ifdef TOOL_HAS_INSPECT
#include <sys/random.h>

#include <cenote/inspect.h>

enum { TOKEN_BYTES = 16, TOKEN_SIZE = 257 };

static int exit_of(cen_status status)
{
    if (status == CEN_INVALID) return EXIT_USAGE;
    return status == CEN_EXISTS ? EXIT_UNREACHABLE : EXIT_SYSTEM;
}

/* The library's text names options of the C API. Here the user only has the address. */
static const char *words_of(const cen_error *error)
{
    static const char option[] = "options.at is ";
    const char *text = words_of_error(error->text);
    if (error->cause == CEN_CAUSE_NOT_LOOPBACK)
        return "other machines can reach this address, and the page can pause and resize pools; use 127.0.0.1:0.";
    return strncmp(text, option, strlen(option)) == 0 ? text + strlen(option) : text;
}

/* Create a random token, which control over TCP requires. CENOTE_TOKEN replaces it if it is set. */
static bool make_token(char token[TOKEN_SIZE])
{
    const char *given = getenv("CENOTE_TOKEN");
    unsigned char bytes[TOKEN_BYTES];
    if (given && *given) return (size_t)snprintf(token, TOKEN_SIZE, "%s", given) < TOKEN_SIZE;
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) return false;
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* A user who can read the terminal gets the token, and so the page. */
static void print_address(const cen_inspect *inspect, const char *token)
{
    const char *address = cen_inspect_address(inspect);
    fprintf(stderr, "The dashboard is at %s%s", terminal_ink(stderr, INK_ACCENT), address);
    if (strncmp(address, "http:", 5) == 0) fprintf(stderr, "?token=%s", token);
    fprintf(stderr, "%s\n", terminal_ink(stderr, INK_PLAIN));
}

int dashboard_start(dashboard *self, const command *whose, const char *at, const char *title)
{
    char token[TOKEN_SIZE] = "";
    cen_error error;
    cen_inspect *inspect;
    bool is_local = strncmp(at, "unix:", 5) == 0;
    if (!is_local && !make_token(token))
        return command_fail(whose, EXIT_SYSTEM,
                            "--dashboard: no usable token; set CENOTE_TOKEN to a token of at most %d bytes.",
                            TOKEN_SIZE - 1);
    cen_inspect_options options = CEN_INSPECT_OPTIONS(.at = *at ? at : "127.0.0.1:0", .token = is_local ? NULL : token,
                                                      .control = true, .title = title);
    if (cen_inspect_start(&options, &inspect, &error) != CEN_OK)
        return command_fail(whose, exit_of(error.status), "--dashboard: %s", words_of(&error));
    self->inspect = inspect;
    print_address(inspect, token);
    return EXIT_DONE;
}

void dashboard_stop(dashboard *self)
{
    cen_inspect_stop(self->inspect);
    self->inspect = NULL;
}
#else
int dashboard_start(dashboard *self, const command *whose, const char *at, const char *title)
{
    (void)self, (void)at, (void)title;
    return command_fail(whose, EXIT_USAGE, "--dashboard: this cenote was built without libcenote-inspect.");
}

void dashboard_stop(dashboard *self)
{
    (void)self;
}
#endif

void dashboard_keep(const dashboard *self, int64_t ns)
{
    int64_t end = cen_clock() + ns;
    struct timespec slice = {0, 50000000};
    char text[WORDS_ROOM];
    if (!self->inspect || ns <= 0) return;
    fprintf(stderr, "The dashboard stays up for %s; Ctrl-C stops it.\n", words_duration(text, ns));
    while (cen_clock() < end && !stop_asked()) nanosleep(&slice, NULL);
}
