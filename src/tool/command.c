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
    /* the reader of the output has gone: print nothing, as any program that SIGPIPE ends */
    if (status == EXIT_SIGNAL + SIGPIPE) return status;
    fprintf(stderr, "%scenote%s%s:%s ", terminal_ink(stderr, INK_BAD), self ? " " : "", self ? self->name : "",
            terminal_ink(stderr, INK_PLAIN));
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return status;
}

/* Return true if the reader of the output has gone, as head does. This asks the descriptor, because errno is lost
 * unless the last write was the one that failed. */
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
    fputs("  0  success\n"
          "  1  run, tune: operations failed, or no size meets the goal; explain: a take would wait or fail\n"
          "  2  invalid arguments; nothing was done\n"
          "  3  the server, file or process cannot be reached or refuses access\n"
          "  4  local failure: out of memory or threads, or a file or the output cannot be written\n"
          "  130, 143  stopped early by Ctrl-C or SIGTERM, with the report so far; a second signal exits at once\n"
          "  141  run, tune: stopped early because the reader closed the output\n",
          out);
}

void command_help(const command *self, FILE *out)
{
    fprintf(out, "Usage: cenote %s [OPTION...] %s\n\n%s %s.\n", self->name, self->arguments, self->name, self->summary);
    if (self->teaching && *self->teaching) fprintf(out, "\n%s", self->teaching);
    print_heading(out, "Options");
    for (const option_row *row = self->rows; row->name; row++) print_row(out, row);
    fprintf(out, "  %-26s  %s\n", "    --help", "print this help");
    print_statuses(out);
}

void command_help_all(FILE *out)
{
    fputs("Usage: cenote COMMAND [OPTION...] [ARGUMENT]\n"
          "\n"
          "Load-tests a resource through a connection pool, finds the right pool size, inspects running processes.\n",
          out);
    print_heading(out, "Commands");
    for (const command *const *at = commands; *at; at++) fprintf(out, "  %-9s %s\n", (*at)->name, (*at)->summary);
    print_heading(out, "Getting started");
    fputs("  cenote run                              load on a sample SQLite file: 10 s, 8 clients, 4 connections\n"
          "  cenote tune                             find the right pool size for that file\n"
          "  cenote tune postgresql://ann@db/shop    find it for your own database\n"
          "  cenote top                              watch a process with inspection enabled\n"
          "  cenote page                             watch it in a browser\n"
          "  cenote COMMAND --help                   help for one command\n",
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
