/* SPDX-License-Identifier: MIT */
#include "tool/terminal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cenote/deadline.h>

#include "tool/command.h"

bool terminal_is(FILE *stream)
{
    return isatty(fileno(stream)) == 1;
}

unsigned terminal_width(FILE *stream)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    double number;
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    if (columns && options_number(columns, &number) && number >= 20 && number <= 1000) return (unsigned)number;
    return 80;
}

bool terminal_has_colour(FILE *stream)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return terminal_is(stream) && !(no && *no) && term && *term && strcmp(term, "dumb") != 0;
}

const char *terminal_ink(FILE *stream, ink wanted)
{
    static const char *const sequences[] = {
        [INK_PLAIN] = "\033[0m", [INK_BOLD] = "\033[1m", [INK_FAINT] = "\033[2m",   [INK_GOOD] = "\033[32m",
        [INK_WARN] = "\033[33m", [INK_BAD] = "\033[31m", [INK_ACCENT] = "\033[36m",
    };
    return terminal_has_colour(stream) ? sequences[wanted] : "";
}

void terminal_bar(char *text, unsigned columns, double share)
{
    unsigned inner = columns > 2 ? columns - 2 : 0;
    unsigned full = (unsigned)((share < 0 ? 0 : share > 1 ? 1 : share) * inner + 0.5);
    size_t at = 0;
    if (columns > 0) text[at++] = '[';
    for (unsigned i = 0; i < inner; i++) text[at++] = i < full ? '#' : '.';
    if (columns > 1) text[at++] = ']';
    text[at] = 0;
}

/* ---- Progress -------------------------------------------------------------------------------------------- */

void progress_begin(progress *self, bool quiet)
{
    *self = (progress){.stream = stderr, .is_quiet = quiet, .began = cen_clock()};
}

void progress_show(progress *self, const char *format, ...)
{
    char line[1024];
    bool drawn = terminal_is(self->stream);
    int64_t now = cen_clock(), since = now - (self->last ? self->last : self->began);
    if (self->is_quiet || since < (drawn ? SECOND_NS / 10 : 2 * SECOND_NS)) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    self->last = now;
    if (drawn) fprintf(self->stream, "\r%.*s\033[K", (int)terminal_width(self->stream) - 1, line);
    else fprintf(self->stream, "%s\n", line);
    fflush(self->stream);
    self->is_drawn = drawn;
}

void progress_clear(progress *self)
{
    if (!self->is_drawn) return;
    fputs("\r\033[K", self->stream);
    fflush(self->stream);
    self->is_drawn = false;
}
