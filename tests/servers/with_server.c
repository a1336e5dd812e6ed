/* SPDX-License-Identifier: MIT */
/*
 * Runs a command beside a real server of its own, and ends the server afterwards.
 *
 *     with-server postgresql|mariadb|redis|nginx [setting=value...] -- command [argument...]
 *
 * The command finds it by CENOTE_SERVER_URL, CENOTE_SERVER_ADMIN_URL, CENOTE_SERVER_PORT, CENOTE_SERVER_PID and
 * CENOTE_SERVER_DIRECTORY, and nginx by CENOTE_SERVER_HTTP1_URL too (tests/support/servers.h says what they are).
 * Several may be nested; those of the innermost hold, and each sets its own by name too, as in
 * CENOTE_POSTGRESQL_URL. The status is the command's; 125 if the server could not be started, and 128 + n
 * if a signal n ended the command. If with-server itself is killed the server is ended all the same.
 */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/servers.h"
#include "support/test.h"

/* The word of the harness, which this program does without. */
void test_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    (void)file;
    (void)line;
    va_start(arguments, format);
    fprintf(stderr, "with-server: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    _exit(125);
}

static void usage(void)
{
    fprintf(stderr, "usage: with-server postgresql|mariadb|redis|nginx [setting=value...] -- command [argument...]\n");
    exit(2);
}

static server_kind kind_of(const char *name)
{
    for (int i = 0; i < SERVER_KINDS; i++)
        if (strcmp(server_name((server_kind)i), name) == 0) return (server_kind)i;
    usage();
    return SERVER_POSTGRESQL;
}

/* Sets CENOTE_SERVER_what and, for nested servers, CENOTE_NAME_what. */
static void tell(const char *name, const char *what, const char *value)
{
    char variable[64];
    snprintf(variable, sizeof variable, "CENOTE_SERVER_%s", what);
    setenv(variable, value, 1);
    snprintf(variable, sizeof variable, "CENOTE_%s_%s", name, what);
    for (char *letter = variable; *letter; letter++) *letter = (char)toupper((unsigned char)*letter);
    setenv(variable, value, 1);
}

static void tell_all(const server *self, const char *name)
{
    char number[32];
    tell(name, "URL", server_url(self));
    tell(name, "ADMIN_URL", server_admin_url(self));
    tell(name, "DIRECTORY", server_directory(self));
    if (*server_http1_url(self)) tell(name, "HTTP1_URL", server_http1_url(self));
    snprintf(number, sizeof number, "%u", server_port(self));
    tell(name, "PORT", number);
    snprintf(number, sizeof number, "%d", (int)server_pid(self));
    tell(name, "PID", number);
}

static volatile pid_t command_id;

/* Who ends this program means the command, which then ends this program. */
static void pass_on(int number)
{
    if (command_id > 0) kill(command_id, number);
}

static int run(char **command)
{
    int status = 0;
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t set, before;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) sigaddset(&set, ends[i]);
    sigprocmask(SIG_BLOCK, &set, &before);
    command_id = fork();
    if (command_id == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        execvp(command[0], command);
        fprintf(stderr, "with-server: cannot execute %s: error %d\n", command[0], errno);
        _exit(127);
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) signal(ends[i], pass_on);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (command_id < 0) return 125;
    while (waitpid(command_id, &status, 0) < 0 && errno == EINTR) {
    }
    command_id = 0; /* the id may be somebody else's from now on */
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int count, char **arguments)
{
    int at = 2;
    while (at < count && strcmp(arguments[at], "--") != 0) at++;
    if (count < 4 || at >= count - 1) usage();
    server_kind kind = kind_of(arguments[1]);
    arguments[at] = NULL;
    char why[6000];
    server *self = server_try_start(kind, (const char *const *)arguments + 2, why, sizeof why);
    if (!self) {
        fprintf(stderr, "with-server: %s did not start: %s\n", server_name(kind), why);
        return 125;
    }
    tell_all(self, server_name(kind));
    int status = run(arguments + at + 1);
    server_stop(self);
    return status;
}
