/* SPDX-License-Identifier: MIT */
/* Data directories from a template, which each test looks for in a folder of its own. */
#include <dirent.h>
#include <sys/stat.h>

#include "support/servers.h"
#include "support/servers/guardian.h"
#include "unit/support/clients.h"

static char folder[64];

static void use_new_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/cenote-templates-XXXXXX");
    expect(mkdtemp(folder));
    setenv("CENOTE_SERVER_TEMPLATES", folder, 1);
}

/* How many entries there are whose names contain this; the last of them is at *path. */
static int entries(const char *part, char *path, size_t room)
{
    int count = 0;
    DIR *list = opendir(folder);
    expect(list);
    for (struct dirent *entry; (entry = readdir(list));)
        if (entry->d_name[0] != '.' && strstr(entry->d_name, part)) {
            if (path) expect(snprintf(path, room, "%s/%s", folder, entry->d_name) < (int)room);
            count++;
        }
    closedir(list);
    return count;
}

static void start_and_stop(server_kind kind)
{
    server *at = server_start(kind, NULL);
    expect_query(at, "select 1", "1");
    server_stop(at);
}

TEST(the_first_start_makes_a_template_and_the_second_uses_it)
{
    char path[512];
    struct stat before, after;
    use_new_folder();
    start_and_stop(SERVER_MARIADB);
    expect_equal(entries("mariadb-", path, sizeof path), 1);
    expect(stat(path, &before) == 0);
    start_and_stop(SERVER_MARIADB);
    expect_equal(entries("mariadb-", path, sizeof path), 1);
    expect(stat(path, &after) == 0);
    expect_equal(after.st_ino, before.st_ino);
    tree_remove(folder);
}

/* What the second server has can only come from there. */
TEST(a_server_has_what_the_template_has)
{
    char path[512], file[600];
    use_new_folder();
    start_and_stop(SERVER_POSTGRESQL);
    expect_equal(entries("postgresql-", path, sizeof path), 1);
    snprintf(file, sizeof file, "%s/mark", path);
    FILE *mark = fopen(file, "w");
    expect(mark && fclose(mark) == 0);
    server *at = server_start(SERVER_POSTGRESQL, NULL);
    snprintf(file, sizeof file, "%s/data/mark", server_directory(at));
    expect(access(file, F_OK) == 0);
    server_stop(at);
    tree_remove(folder);
}

TEST(programs_that_start_together_make_one_template_and_all_have_their_server)
{
    enum { PROGRAMS = 4 };
    pid_t programs[PROGRAMS];
    use_new_folder();
    for (int i = 0; i < PROGRAMS; i++) {
        programs[i] = fork();
        if (programs[i] == 0) {
            start_and_stop(SERVER_MARIADB);
            exit(0);
        }
    }
    for (int i = 0; i < PROGRAMS; i++) {
        int status;
        expect(waitpid(programs[i], &status, 0) == programs[i] && status == 0);
    }
    expect_equal(entries("mariadb-", NULL, 0), 1);
    expect_equal(entries("", NULL, 0), 2); /* it and the lock */
    tree_remove(folder);
}

TEST(what_somebody_left_half_made_is_replaced)
{
    char path[512], half[600], file[700];
    use_new_folder();
    start_and_stop(SERVER_MARIADB);
    expect_equal(entries("mariadb-", path, sizeof path), 1);
    snprintf(half, sizeof half, "%s.new", path);
    expect(rename(path, half) == 0);
    snprintf(file, sizeof file, "%s/ibdata1", half);
    expect(unlink(file) == 0);
    start_and_stop(SERVER_MARIADB);
    start_and_stop(SERVER_MARIADB);
    expect_equal(entries("mariadb-", NULL, 0), 1);
    expect(access(half, F_OK) != 0);
    tree_remove(folder);
}

TEST(where_no_template_can_be_kept_the_server_starts_without)
{
    setenv("CENOTE_SERVER_TEMPLATES", "/proc/none", 1);
    start_and_stop(SERVER_MARIADB);
}
