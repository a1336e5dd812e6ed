/* SPDX-License-Identifier: MIT */
#include "tool/command.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "tool/terminal.h"

extern const command run_command, tune_command, top_command, explain_command, metrics_command, events_command,
    page_command;

const command *const commands[] = {&run_command,     &tune_command,    &top_command,    &page_command,
                                   &explain_command, &metrics_command, &events_command, NULL};

const command *command_of(const char *name)
{
    for (const command *const *at = commands; *at; at++)
        if (strcmp((*at)->name, name) == 0) return *at;
    return NULL;
}

int command_fail(const command *self, int status, const char *format, ...)
{
    va_list arguments;
    /* nobody reads the output: there is nobody to tell, as with any SIGPIPE */
    if (status == EXIT_SIGNAL + SIGPIPE) return status;
    fprintf(stderr, "%scenote%s%s:%s ", terminal_ink(stderr, INK_BAD), self ? " " : "", self ? self->name : "",
            terminal_ink(stderr, INK_PLAIN));
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return status;
}

/* Whoever read what we write has had enough, as head has. Asked of the descriptor: if the write that failed was not the last one,
 * its errno is long gone. */
static bool is_reader_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && out.revents & (POLLERR | POLLHUP);
}

int command_flush(const command *self, int status)
{
    errno = 0;
    bool fails = fflush(stdout) != 0 || ferror(stdout);
    int code = errno;
    clearerr(stdout);
    if (!fails || code == EPIPE || is_reader_gone()) return status;
    return command_fail(self, EXIT_SYSTEM, "The output could not be written: %s.",
                        code ? strerrordesc_np(code) : "it is full or closed");
}

/* ---- Help ------------------------------------------------------------------------------------------------ */

static void print_heading(FILE *out, const char *text)
{
    fprintf(out, "\n%s%s%s\n", terminal_ink(out, INK_BOLD), text, terminal_ink(out, INK_PLAIN));
}

static void print_row(FILE *out, const option_row *row)
{
    char left[64], letter[8] = "    ";
    const char *sign = row->kind == OPTION_FLAG ? "" : row->kind == OPTION_MAYBE ? "[=" : " ";
    if (row->letter) snprintf(letter, sizeof letter, "-%c, ", row->letter);
    snprintf(left, sizeof left, "%s--%s%s%s%s", letter, row->name, sign, row->value ? row->value : "",
             row->kind == OPTION_MAYBE ? "]" : "");
    if (strlen(left) > 26) fprintf(out, "  %s\n  %-26s  %s\n", left, "", row->meaning);
    else fprintf(out, "  %-26s  %s\n", left, row->meaning);
    if (row->choices) fprintf(out, "  %-26s  one of: %s\n", "", row->choices);
}

static void print_statuses(FILE *out)
{
    print_heading(out, "Exit status");
    fputs("  0  done, and what was measured or looked at is well\n"
          "  1  done, but what was measured failed, in part or in all\n"
          "  2  the arguments make no sense; nothing was done\n"
          "  3  the server, the file or the process is not there, or refuses us\n"
          "  4  this machine refused: no memory, no threads, a file cannot be written\n"
          "  130, 143  ended early by Ctrl-C or SIGTERM, with the report so far; a second one ends at once\n"
          "  141  ended early because nobody reads the output any more\n",
          out);
}

void command_help(const command *self, FILE *out)
{
    fprintf(out, "Usage: cenote %s [OPTION...] %s\n\n%s %s.\n", self->name, self->arguments, self->name, self->summary);
    if (self->teaching && *self->teaching) fprintf(out, "\n%s", self->teaching);
    print_heading(out, "Options");
    for (const option_row *row = self->rows; row->name; row++) print_row(out, row);
    fprintf(out, "  %-26s  %s\n", "    --help", "print this");
    print_statuses(out);
}

void command_help_all(FILE *out)
{
    fputs("Usage: cenote COMMAND [OPTION...] [ARGUMENT]\n\n"
          "Drives a real resource through a pool, finds the pool's right size, and looks into running processes.\n",
          out);
    print_heading(out, "Commands");
    for (const command *const *at = commands; *at; at++) fprintf(out, "  %-9s %s\n", (*at)->name, (*at)->summary);
    print_heading(out, "Begin with");
    fputs("  cenote run                              a sample file of SQLite, ten seconds, eight clients, four "
          "connections\n"
          "  cenote tune                             which size that pool should have\n"
          "  cenote tune postgresql://ann@db/shop    ... and one of yours\n"
          "  cenote top                              what goes on in a process with libcenote-inspect\n"
          "  cenote page                             the same in a browser\n"
          "  cenote COMMAND --help                   all about one command\n",
          out);
    print_statuses(out);
}

static void print_words_of_option(const option_row *row, FILE *out)
{
    fprintf(out, "--%s%s\n", row->name, row->kind == OPTION_FLAG || row->kind == OPTION_MAYBE ? "" : "=");
    for (const char *at = row->choices; at && *at;) {
        int length = (int)strcspn(at, " ");
        fprintf(out, "--%s=%.*s\n", row->name, length, at);
        at += length + (at[length] == ' ');
    }
}

void command_words(const command *self, FILE *out)
{
    if (!self) {
        for (const command *const *at = commands; *at; at++) fprintf(out, "%s\n", (*at)->name);
        fputs("help\n--help\n--version\n", out);
        return;
    }
    for (const option_row *row = self->rows; row->name; row++) print_words_of_option(row, out);
    fputs("--help\n", out);
}
