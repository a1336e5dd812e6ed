/* SPDX-License-Identifier: MIT */
/* The program with-server, by its path WITH_SERVER. */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>

#include "unit/support/clients.h"

TEST(the_command_finds_the_server_and_its_status_is_passed_on)
{
    outcome heard = COMMAND(WITH_SERVER, "postgresql", "max_connections=23", "--", "sh", "-c",
                            "psql -X -q -A -t \"$CENOTE_SERVER_URL\" -c 'show max_connections'; "
                            "kill -0 $CENOTE_SERVER_PID && exit 7");
    expect_text(heard.text, "23\n");
    expect(WIFEXITED(heard.status) && WEXITSTATUS(heard.status) == 7);
}

TEST(the_command_hears_url_port_and_directory)
{
    outcome heard = COMMAND(WITH_SERVER, "nginx", "--", "sh", "-c",
                            "test $CENOTE_SERVER_URL = http://127.0.0.1:$CENOTE_SERVER_PORT/ && "
                            "test -d $CENOTE_SERVER_DIRECTORY && "
                            "curl -sS $CENOTE_SERVER_HTTP1_URL && curl -sS $CENOTE_SERVER_ADMIN_URL");
    expect_equal(heard.status, 0);
    expect_has(heard.text, "cenote\nActive connections");
}

TEST(nested_ones_are_told_apart_by_name)
{
    outcome heard = COMMAND(WITH_SERVER, "redis", "--", WITH_SERVER, "mariadb", "--", "sh", "-c",
                            "echo ${CENOTE_REDIS_URL%%:*} ${CENOTE_MARIADB_URL%%:*} ${CENOTE_SERVER_URL%%:*}");
    expect_text(heard.text, "redis mariadb mariadb\n");
}

TEST(afterwards_the_server_is_gone)
{
    outcome heard = COMMAND(WITH_SERVER, "redis", "--", "sh", "-c", "echo $CENOTE_SERVER_DIRECTORY");
    heard.text[strcspn(heard.text, "\n")] = 0;
    expect(heard.text[0] == '/' && access(heard.text, F_OK) != 0);
}

TEST(a_server_that_cannot_start_is_said_to_be_the_reason)
{
    outcome heard = COMMAND(WITH_SERVER, "redis", "no_such_thing=1", "--", "echo", "never");
    expect(WIFEXITED(heard.status) && WEXITSTATUS(heard.status) == 125);
    expect_has(heard.text, "no_such_thing");
    expect(!strstr(heard.text, "never"));
}

TEST(a_wrong_line_of_arguments_is_refused)
{
    expect_has(COMMAND(WITH_SERVER, "oracle", "--", "true").text, "usage: with-server");
    expect_has(COMMAND(WITH_SERVER, "redis", "true").text, "usage: with-server");
    expect_has(COMMAND(WITH_SERVER, "redis", "--").text, "usage: with-server");
}

TEST(the_signal_that_ended_the_command_is_in_the_status)
{
    outcome heard = COMMAND(WITH_SERVER, "redis", "--", "sh", "-c", "kill -9 $$");
    expect(WIFEXITED(heard.status) && WEXITSTATUS(heard.status) == 128 + SIGKILL);
}

/* Starts one whose command waits, and reads the command's id and the directory, which it prints. */
static pid_t start_waiting(pid_t *command, char *directory, size_t room)
{
    int ends[2];
    expect(pipe2(ends, O_CLOEXEC) == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        const char *words[] = {
            WITH_SERVER, "redis", "--", "sh", "-c", "echo $$ $CENOTE_SERVER_DIRECTORY; exec sleep 100", NULL};
        execute(words);
    }
    close(ends[1]);
    char line[256], *end;
    ssize_t size = read(ends[0], line, sizeof line - 1);
    expect(size > 1);
    line[size - 1] = 0;
    *command = (pid_t)strtol(line, &end, 10);
    expect(*command > 0 && end[0] == ' ' && end[1] == '/');
    snprintf(directory, room, "%s", end + 1);
    close(ends[0]);
    return child;
}

TEST(a_signal_to_end_it_goes_to_the_command_and_the_server_is_gone_after_it)
{
    char directory[256];
    int status;
    pid_t command, child = start_waiting(&command, directory, sizeof directory);
    expect(access(directory, F_OK) == 0);
    kill(child, SIGTERM);
    expect(waitpid(child, &status, 0) == child);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM);
    expect(access(directory, F_OK) != 0);
}

TEST(killed_it_leaves_no_server)
{
    char directory[256];
    pid_t command, child = start_waiting(&command, directory, sizeof directory);
    kill(child, SIGKILL);
    expect(waitpid(child, NULL, 0) == child);
    /* The command is a child of ours now, and so is the guardian, which ends by itself. */
    pid_t ended = waitpid(-1, NULL, 0);
    expect(ended > 0 && ended != command && access(directory, F_OK) != 0);
    kill(command, SIGKILL);
    expect(waitpid(command, NULL, 0) == command);
}
