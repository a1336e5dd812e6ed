/* SPDX-License-Identifier: MIT */
/* cenote: load-test a real resource through a pool, find the pool's right size, inspect running processes. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cenote/version.h>

#include "tool/command.h"
#include "tool/nearest.h"
#include "tool/stop.h"

/* If one of the three descriptors is closed, a socket would get its number and be taken for it. They are filled with a
 * descriptor that cannot be written, so that a report without an output is a failure, as on a full disk. */
static void fill_standard_descriptors(void)
{
    int fd;
    do fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) close(fd);
}

static int run_command_of(const command *self, int count, char **words)
{
    char why[400];
    void *settings = calloc(1, self->settings_size ? self->settings_size : 1);
    if (!settings) return command_fail(self, EXIT_SYSTEM, "Out of memory.");
    if (self->usual) memcpy(settings, self->usual, self->settings_size);
    int status = EXIT_DONE;
    switch (options_read(self, settings, &count, words, why, sizeof why)) {
    case OPTIONS_HELP: command_help(self, stdout); break;
    case OPTIONS_WRONG: status = command_fail(self, EXIT_USAGE, "%s", why); break;
    case OPTIONS_READ:
        stop_catch();
        status = self->run(self, settings, count, words);
        stop_remove_since(0);
        break;
    }
    free(settings);
    return status;
}

static int unknown(const char *name)
{
    char question[NEAREST_ROOM];
    nearest near = nearest_to(name, strlen(name));
    for (const command *const *at = commands; *at; at++) nearest_try(&near, (*at)->name);
    nearest_try(&near, "help");
    return command_fail(NULL, EXIT_USAGE, "Unknown command \"%.60s\"%s", name,
                        nearest_question(&near, "", "\"cenote --help\" lists all commands.", question));
}

/* Handle calls without a command: help, the version, words for the shell. */
static int talk(int count, char **words)
{
    const char *first = count > 0 ? words[0] : "";
    const command *named = count > 1 ? command_of(words[1]) : NULL;
    if (count > 1 && !named) return unknown(words[1]);
    if (strcmp(first, "--version") == 0)
        printf("cenote %d.%d.%d\n", CEN_VERSION_MAJOR, CEN_VERSION_MINOR, CEN_VERSION_PATCH);
    else if (strcmp(first, "--words") == 0) command_words(named, stdout);
    else if (named) command_help(named, stdout);
    else command_help_all(count > 0 ? stdout : stderr);
    return count > 0 ? EXIT_DONE : EXIT_USAGE;
}

int main(int count, char **words)
{
    static const char *const talks[] = {"--help", "-h", "help", "--version", "--words", NULL};
    fill_standard_descriptors();
    if (count < 2) return command_flush(NULL, talk(0, NULL));
    for (const char *const *at = talks; *at; at++)
        if (strcmp(words[1], *at) == 0) return command_flush(NULL, talk(count - 1, words + 1));
    const command *named = command_of(words[1]);
    if (named) return command_flush(NULL, run_command_of(named, count - 2, words + 2));
    if (words[1][0] == '-')
        return command_fail(NULL, EXIT_USAGE, "Unknown option %.60s; the command must come first.", words[1]);
    return unknown(words[1]);
}
