/* SPDX-License-Identifier: MIT */
/* PostgreSQL. */
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <unistd.h>

#include "support/servers/guardian.h"

/* The newest one that the system has; Debian puts them into a folder per version, and none in the usual ones. */
static bool find(char *path, size_t room)
{
    glob_t found = {0};
    long best = 0;
    if (glob("/usr/lib/postgresql/*/bin/postgres", 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) {
            long version = strtol(found.gl_pathv[i] + strlen("/usr/lib/postgresql/"), NULL, 10);
            if (version > best && snprintf(path, room, "%s", found.gl_pathv[i]) < (int)room) best = version;
        }
    globfree(&found);
    return best > 0 || post_find_program("postgres", path, room);
}

/* In the server's mode for a single user each line is a statement. */
#define STATEMENTS "CREATE ROLE tester LOGIN PASSWORD 'secret'\nCREATE DATABASE test OWNER tester\n"
#define INITDB_WORDS \
    "-U", "admin", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--wal-segsize=1"
#define KEY_TEXT(...) #__VA_ARGS__
#define KEY(words) KEY_TEXT(words)

static bool make(post *here)
{
    char initdb[sizeof here->program + 8], data[2 * POST_PATH], password[2 * POST_PATH + 16], input[2 * POST_PATH];
    snprintf(initdb, sizeof initdb, "%.*sinitdb", (int)(strrchr(here->program, '/') + 1 - here->program),
             here->program);
    snprintf(password, sizeof password, "--pwfile=%s/input", here->directory);
    post_path(here, data, sizeof data, "data");
    post_path(here, input, sizeof input, "input");
    const char *init[] = {initdb, INITDB_WORDS, password, "-D", data, NULL};
    const char *single[] = {here->program, "--single", "-F", "-D", data, "postgres", NULL};
    bool ok = post_write(here, "input", "commander\n") && post_run(here, init, NULL) &&
              post_write(here, "input", "%s", STATEMENTS) && post_run(here, single, input);
    unlink(input);
    return ok;
}

/* Data that a killed server has given to the system are safe there, so that nothing need be written through to
 * the disk. Memory that it shares is kept in files, which go with the directory. */
static bool write_settings(post *here)
{
    static const setting_form form = {.before = "", .between = " = '", .after = "'\n"};
    char settings[2 * POST_SETTINGS];
    if (!settings_write(here->settings, &form, settings, sizeof settings))
        return post_fail(here, "there are too many settings");
    return post_write(here, "data/pg_hba.conf",
                      "local all all scram-sha-256\nhost all all 127.0.0.1/32 scram-sha-256\n") &&
           post_write(here, "data/postgresql.conf",
                      "listen_addresses = '127.0.0.1'\n"
                      "port = %u\n"
                      "unix_socket_directories = '%s'\n"
                      "password_encryption = 'scram-sha-256'\n"
                      "fsync = off\n"
                      "full_page_writes = off\n"
                      "shared_buffers = '32MB'\n"
                      "dynamic_shared_memory_type = 'mmap'\n"
                      "huge_pages = off\n"
                      "jit = off\n"
                      "min_wal_size = '8MB'\n"
                      "timezone = 'UTC'\n"
                      "log_line_prefix = '%%m [%%p] '\n"
                      "%s",
                      here->ports[0], here->directory, settings);
}

static void command_of(const post *here, const char **arguments, char *text, size_t room)
{
    post_path(here, text, room, "data");
    arguments[0] = here->program;
    arguments[1] = "-D";
    arguments[2] = text;
}

/* Any answer but "the database system is starting up" and its like. */
static bool answers(const uint16_t *ports)
{
    static const char request[] = "\0\0\0\043\0\003\0\0user\0tester\0database\0test\0";
    _Static_assert(sizeof request == 35, "the first four bytes are the length");
    char reply[512] = "";
    size_t size = port_ask(ports[0], request, sizeof request, reply, sizeof reply, 9);
    return size > 0 && (reply[0] == 'R' || (reply[0] == 'E' && !memmem(reply, size, "C57P03", 6)));
}

/* The seventh line of postmaster.pid is the key and the id of a small piece of shared memory that keeps a second
 * server off the data; a killed server leaves both behind. */
static void clean(post *here)
{
    char path[2 * POST_PATH];
    unsigned long key;
    int id;
    post_path(here, path, sizeof path, "data/postmaster.pid");
    FILE *file = fopen(path, "re");
    if (!file) return;
    for (int line = 1; line < 7; line++)
        if (fscanf(file, "%*[^\n]") == EOF || getc(file) == EOF) break;
    struct shmid_ds segment;
    /* Ours, and nobody's any more: not one that got the number later. */
    if (fscanf(file, "%lu %d", &key, &id) == 2 && shmctl(id, IPC_STAT, &segment) == 0 &&
        (unsigned long)segment.shm_perm.__key == key && segment.shm_nattch == 0)
        shmctl(id, IPC_RMID, NULL);
    fclose(file);
    unlink(path);
}

const recipe recipe_postgresql = {
    .name = "postgresql",
    .title = "PostgreSQL",
    .find = find,
    .ports = 1,
    .shutdown_signal = SIGINT,
    .reloads = true,
    .key = KEY(INITDB_WORDS) STATEMENTS,
    .make = make,
    .write = write_settings,
    .command = command_of,
    .answers = answers,
    .clean = clean,
    .url = "postgresql://tester:secret@127.0.0.1:%u/test",
    .admin_url = "postgresql://admin:commander@127.0.0.1:%u/test",
};
