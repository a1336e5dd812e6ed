/* SPDX-License-Identifier: MIT */
#include "tool/dashboard.h"

#include <string.h>
#include <time.h>

#include <cenote/deadline.h>

#include "tool/stop.h"
#include "tool/terminal.h"
#include "tool/words.h"

#ifdef TOOL_HAS_INSPECT
#include <cenote/inspect.h>

static int exit_of(cen_status status)
{
    if (status == CEN_INVALID) return EXIT_USAGE;
    return status == CEN_EXISTS ? EXIT_UNREACHABLE : EXIT_SYSTEM;
}

/* Programs are told of their options; a user has but the address. */
static const char *words_of(const cen_error *error)
{
    static const char option[] = "options.at is ";
    const char *text = words_of_error(error->text);
    if (strstr(text, "options.anywhere"))
        return "others reach this address, and whoever has the page may pause and resize: use 127.0.0.1:0.";
    return strncmp(text, option, strlen(option)) == 0 ? text + strlen(option) : text;
}

int dashboard_start(dashboard *self, const command *whose, const char *at, const char *title)
{
    cen_error error;
    cen_inspect *inspect;
    cen_inspect_options options = CEN_INSPECT_OPTIONS(.at = *at ? at : "127.0.0.1:0", .control = true, .title = title);
    if (cen_inspect_start(&options, &inspect, &error) != CEN_OK)
        return command_fail(whose, exit_of(error.status), "--dashboard: %s", words_of(&error));
    self->inspect = inspect;
    fprintf(stderr, "The dashboard is at %s%s%s\n", terminal_ink(stderr, INK_ACCENT), cen_inspect_address(inspect),
            terminal_ink(stderr, INK_PLAIN));
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

void dashboard_linger(const dashboard *self, int64_t ns)
{
    int64_t end = cen_clock() + ns;
    struct timespec slice = {0, 50000000};
    char text[WORDS_ROOM];
    if (!self->inspect || ns <= 0) return;
    fprintf(stderr, "The dashboard stays for %s; Ctrl-C ends it.\n", words_duration(text, ns));
    while (cen_clock() < end && !stop_asked()) nanosleep(&slice, NULL);
}
