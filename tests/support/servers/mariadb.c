/* SPDX-License-Identifier: MIT */
/* MariaDB. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "support/servers/guardian.h"

/* The installed root of each host has no password. */
#define STATEMENTS \
    "FLUSH PRIVILEGES;\n" \
    "CREATE DATABASE test CHARACTER SET utf8mb4;\n" \
    "CREATE USER tester@'%' IDENTIFIED BY 'secret';\n" \
    "GRANT ALL ON test.* TO tester@'%';\n" \
    "CREATE USER admin@'%' IDENTIFIED BY 'commander';\n" \
    "GRANT ALL ON *.* TO admin@'%' WITH GRANT OPTION;\n" \
    "DELETE FROM mysql.global_priv WHERE User = 'root';\n"
#define INSTALL_WORDS \
    "--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"
#define BOTH_WORDS \
    "--innodb-log-file-size=4M", "--debug-no-sync", "--innodb-flush-method=nosync", "--innodb-use-native-aio=0"
#define KEY_TEXT(...) #__VA_ARGS__
#define KEY(words) KEY_TEXT(words)

static bool make(post *here)
{
    char install[2 * POST_PATH], data[2 * POST_PATH + 16], input[2 * POST_PATH];
    if (!post_find_program("mariadb-install-db", install, sizeof install))
        return post_fail(here, "there is no mariadb-install-db on this machine: tools/install-packages servers");
    snprintf(data, sizeof data, "--datadir=%s/data", here->directory);
    post_path(here, input, sizeof input, "input");
    const char *first[] = {install, INSTALL_WORDS, BOTH_WORDS, data, NULL};
    const char *second[] = {here->program, "--no-defaults", "--bootstrap", BOTH_WORDS, data, NULL};
    bool ok =
        post_run(here, first, NULL) && post_write(here, "input", "%s", STATEMENTS) && post_run(here, second, input);
    unlink(input);
    return ok;
}

/* A commit is given to the system, which keeps it when the server is killed; nothing waits for the disk. A host
 * whose handshakes fail is not to be locked out: to fail them is what tests do. */
static bool write_settings(post *here)
{
    static const setting_form form = {.before = "", .between = "=", .after = "\n"};
    char settings[2 * POST_SETTINGS];
    if (!settings_write(here->settings, &form, settings, sizeof settings))
        return post_fail(here, "there are too many settings");
    return post_write(here, "mariadb.cnf",
                      "[mariadbd]\n"
                      "bind-address=127.0.0.1\n"
                      "port=%u\n"
                      "socket=%s/mariadb.sock\n"
                      "pid-file=%s/mariadb.pid\n"
                      "datadir=%s/data\n"
                      "tmpdir=%s\n"
                      "skip-name-resolve\n"
                      "max-connect-errors=1000000000\n"
                      "performance-schema=OFF\n"
                      "innodb-buffer-pool-size=32M\n"
                      "innodb-log-file-size=4M\n"
                      "innodb-flush-log-at-trx-commit=2\n"
                      "debug-no-sync\n"
                      "innodb-flush-method=nosync\n"
                      "innodb-use-native-aio=0\n"
                      "innodb-buffer-pool-dump-at-shutdown=0\n"
                      "%s",
                      here->ports[0], here->directory, here->directory, here->directory, here->directory, settings);
}

static void command_of(const post *here, const char **arguments, char *text, size_t room)
{
    snprintf(text, room, "--defaults-file=%s/mariadb.cnf", here->directory);
    arguments[0] = here->program;
    arguments[1] = text;
}

/* It speaks first: a greeting of protocol 10, or an error. */
static bool answers(const uint16_t *ports)
{
    unsigned char reply[256] = {0};
    size_t size = port_ask(ports[0], NULL, 0, reply, sizeof reply, 5);
    return size >= 5 && (reply[4] == 10 || reply[4] == 255);
}

const recipe recipe_mariadb = {
    .name = "mariadb",
    .title = "MariaDB",
    .program = "mariadbd",
    .ports = 1,
    .shutdown_signal = SIGTERM,
    .key = KEY(INSTALL_WORDS) KEY(BOTH_WORDS) STATEMENTS,
    .make = make,
    .write = write_settings,
    .command = command_of,
    .answers = answers,
    .url = "mariadb://tester:secret@127.0.0.1:%u/test",
    .admin_url = "mariadb://admin:commander@127.0.0.1:%u/test",
};
