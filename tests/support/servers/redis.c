/* SPDX-License-Identifier: MIT */
/* Redis. */
#include <signal.h>
#include <string.h>

#include "support/servers/guardian.h"

static bool make(post *here)
{
    return post_subdirectory(here, "data");
}

/* Each change is given to the system as it happens, and is there after a kill. */
static bool write_settings(post *here)
{
    static const setting_form form = {.before = "", .between = " '", .after = "'\n"};
    char settings[2 * POST_SETTINGS];
    if (!settings_write(here->settings, &form, settings, sizeof settings))
        return post_fail(here, "there are too many settings");
    return post_write(here, "redis.conf",
                      "bind 127.0.0.1\n"
                      "port %u\n"
                      "unixsocket %s/redis.sock\n"
                      "dir %s/data\n"
                      "requirepass secret\n"
                      "appendonly yes\n"
                      "appendfsync no\n"
                      "save ''\n"
                      "enable-debug-command local\n"
                      "%s",
                      here->ports[0], here->directory, here->directory, settings);
}

static void command_of(const post *here, const char **arguments, char *text, size_t room)
{
    post_path(here, text, room, "redis.conf");
    arguments[0] = here->program;
    arguments[1] = text;
}

/* Any answer but that it still reads its files. */
static bool answers(const uint16_t *ports)
{
    static const char request[] = "AUTH secret\r\nPING\r\n", wanted[] = "+OK\r\n+PONG\r\n";
    char reply[256] = "";
    size_t size = port_ask(ports[0], request, sizeof request - 1, reply, sizeof reply - 1, sizeof wanted - 1);
    return size > 0 && (reply[0] == '+' || reply[0] == '-') && !strstr(reply, "-LOADING");
}

const recipe recipe_redis = {
    .name = "redis",
    .title = "Redis",
    .program = "redis-server",
    .ports = 1,
    .shutdown_signal = SIGTERM,
    .make = make,
    .write = write_settings,
    .command = command_of,
    .answers = answers,
    .url = "redis://:secret@127.0.0.1:%u/0",
    .admin_url = "redis://:secret@127.0.0.1:%u/0",
};
