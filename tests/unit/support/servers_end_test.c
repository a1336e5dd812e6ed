/* SPDX-License-Identifier: MIT */
/*
 * Nothing of a server outlives the program that started it, in whatever way that ends.
 *
 * Each test makes itself the reaper of its descendants and forks an owner, which starts servers. When the owner
 * is gone its guardians are the test's own children, and so would be every process that a guardian forgot. The
 * test waits for its children until there are none: then all must be gone, and the directory too.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/time.h>
#include <time.h>

#include "support/servers.h"
#include "unit/support/clients.h"

typedef enum ending { KILLED, LEFT, CRASHED, FAILED } ending;

typedef struct trace {
    char directory[2][128];
    pid_t server[2];
    int memory; /* the id of PostgreSQL's shared memory, or -1 */
} trace;

static int shared_memory_of(const server *at)
{
    char command[192];
    snprintf(command, sizeof command, "sed -n '7s/^ *[0-9]* *//p' %s/data/postmaster.pid 2>/dev/null",
             server_directory(at));
    outcome line = COMMAND("sh", "-c", command);
    char *end;
    long id = strtol(line.text, &end, 10);
    return end == line.text ? -1 : (int)id;
}

static void note(trace *traces, int place, const server *at)
{
    snprintf(traces->directory[place], sizeof traces->directory[place], "%s", server_directory(at));
    traces->server[place] = server_pid(at);
    if (kind_of(at) == SERVER_POSTGRESQL) traces->memory = shared_memory_of(at);
}

/* An owner: starts the servers, tells the test, and ends as it was told to. */
__attribute__((noreturn)) static void own(const server_kind *kinds, int count, ending way, int teller)
{
    trace traces = {.memory = -1};
    signal(SIGABRT, SIG_DFL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    for (int i = 0; i < count; i++) note(&traces, i, server_start(kinds[i], NULL));
    expect(write(teller, &traces, sizeof traces) == sizeof traces);
    close(teller);
    if (way == LEFT) _exit(0);
    if (way == CRASHED) abort();
    if (way == FAILED) test_fail(__FILE__, __LINE__, "this is how a test fails");
    for (;;) pause();
}

static pid_t fork_owner(const server_kind *kinds, int count, ending way, int *listener)
{
    int ends[2];
    expect(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    expect(pipe2(ends, O_CLOEXEC) == 0);
    pid_t owner = fork();
    expect(owner >= 0);
    if (owner == 0) {
        close(ends[0]);
        freopen("/dev/null", "w", stdout);
        own(kinds, count, way, ends[1]);
    }
    close(ends[1]);
    *listener = ends[0];
    return owner;
}

/* All that was below us, however deep, ends by itself and is waited for here. */
static void expect_all_to_end(void)
{
    while (waitpid(-1, NULL, 0) > 0) {
    }
    expect_equal(errno, ECHILD);
}

static void expect_no_trace(const trace *traces, int count)
{
    struct shmid_ds segment;
    for (int i = 0; i < count; i++) {
        expect(traces->directory[i][0] == '/' && access(traces->directory[i], F_OK) != 0);
        expect(traces->server[i] > 0 && kill(traces->server[i], 0) != 0);
    }
    if (traces->memory >= 0) expect(shmctl(traces->memory, IPC_STAT, &segment) != 0);
}

static void expect_nothing_left(const server_kind *kinds, int count, ending way)
{
    trace traces;
    int listener;
    pid_t owner = fork_owner(kinds, count, way, &listener);
    expect(read(listener, &traces, sizeof traces) == sizeof traces);
    for (int i = 0; i < count; i++)
        if (kinds[i] == SERVER_POSTGRESQL) expect(traces.memory >= 0);
    if (way == KILLED) kill(owner, SIGKILL);
    expect_all_to_end();
    expect_no_trace(&traces, count);
}

TEST(a_program_killed_with_postgresql_leaves_nothing)
{
    expect_nothing_left((server_kind[]){SERVER_POSTGRESQL}, 1, KILLED);
}

TEST(a_program_killed_with_mariadb_leaves_nothing)
{
    expect_nothing_left((server_kind[]){SERVER_MARIADB}, 1, KILLED);
}

TEST(a_program_killed_with_redis_leaves_nothing)
{
    expect_nothing_left((server_kind[]){SERVER_REDIS}, 1, KILLED);
}

TEST(a_program_killed_with_nginx_leaves_nothing)
{
    expect_nothing_left((server_kind[]){SERVER_NGINX}, 1, KILLED);
}

/* The second guardian must not hold the first one's lifeline. */
TEST(a_program_killed_with_two_servers_leaves_neither)
{
    expect_nothing_left((server_kind[]){SERVER_POSTGRESQL, SERVER_REDIS}, 2, KILLED);
}

TEST(a_program_that_leaves_without_stopping_its_server_leaves_nothing)
{
    expect_nothing_left((server_kind[]){SERVER_POSTGRESQL}, 1, LEFT);
}

TEST(a_program_that_crashes_leaves_nothing)
{
    expect_nothing_left((server_kind[]){SERVER_POSTGRESQL}, 1, CRASHED);
}

TEST(a_test_that_fails_leaves_nothing)
{
    expect_nothing_left((server_kind[]){SERVER_POSTGRESQL}, 1, FAILED);
}

/* Whatever it was at, from the guardian's first moment to the server's first answer. */
TEST(a_program_killed_while_its_server_starts_leaves_nothing)
{
    char above[] = "/tmp/cenote-end-XXXXXX";
    expect(mkdtemp(above));
    setenv("TMPDIR", above, 1); /* so that what is left would be seen */
    for (int i = 0; i < 16; i++) {
        int listener;
        pid_t owner = fork_owner((server_kind[]){all_kinds[i % SERVER_KINDS]}, 1, KILLED, &listener);
        struct timespec moment = {.tv_nsec = (i * i) * 1000000L};
        nanosleep(&moment, NULL);
        kill(owner, SIGKILL);
        expect_all_to_end();
        close(listener);
    }
    expect(rmdir(above) == 0);
}

TEST(a_server_ends_with_its_owner_though_a_child_of_that_lives_on)
{
    int ends[2], line[2];
    trace traces = {.memory = -1};
    expect(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 && pipe(ends) == 0 && pipe(line) == 0);
    pid_t owner = fork();
    if (owner == 0) {
        note(&traces, 0, server_start(SERVER_REDIS, NULL));
        pid_t child = fork();
        if (child == 0) {
            char byte;
            close(line[1]);
            _exit(read(line[0], &byte, 1) == 0 ? 0 : 1); /* until the test has seen enough */
        }
        expect(write(ends[1], &traces, sizeof traces) == sizeof traces &&
               write(ends[1], &child, sizeof child) == sizeof child);
        _exit(0);
    }
    pid_t child, ended;
    close(line[0]);
    expect(read(ends[0], &traces, sizeof traces) == sizeof traces &&
           read(ends[0], &child, sizeof child) == sizeof child);
    expect(waitpid(owner, NULL, 0) == owner);
    ended = waitpid(-1, NULL, 0); /* the guardian */
    expect(ended > 0 && ended != child);
    expect_no_trace(&traces, 1);
    expect_equal(waitpid(child, NULL, WNOHANG), 0);
    close(line[1]);
    expect_all_to_end();
}

TEST(a_program_killed_while_its_server_is_paused_leaves_nothing)
{
    int ends[2];
    trace traces = {.memory = -1};
    expect(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 && pipe(ends) == 0);
    pid_t owner = fork();
    if (owner == 0) {
        server *at = server_start(SERVER_POSTGRESQL, NULL);
        note(&traces, 0, at);
        server_pause(at);
        expect(write(ends[1], &traces, sizeof traces) == sizeof traces);
        for (;;) pause();
    }
    expect(read(ends[0], &traces, sizeof traces) == sizeof traces);
    kill(owner, SIGKILL);
    expect_all_to_end();
    expect_no_trace(&traces, 1);
}

/* Not only soon after it, but by then. */
TEST(at_exit_what_was_not_stopped_is_stopped)
{
    int ends[2];
    trace traces = {.memory = -1};
    expect(pipe(ends) == 0);
    pid_t owner = fork();
    if (owner == 0) {
        note(&traces, 0, server_start(SERVER_POSTGRESQL, NULL));
        note(&traces, 1, server_start(SERVER_REDIS, NULL));
        expect(write(ends[1], &traces, sizeof traces) == sizeof traces);
        exit(0);
    }
    expect(read(ends[0], &traces, sizeof traces) == sizeof traces);
    expect(waitpid(owner, NULL, 0) == owner);
    expect_no_trace(&traces, 2);
}

TEST(a_stopped_server_is_gone_and_another_is_not)
{
    trace traces = {.memory = -1};
    server *first = server_start(SERVER_POSTGRESQL, NULL), *second = server_start(SERVER_REDIS, NULL);
    note(&traces, 0, first);
    server_stop(first);
    expect_no_trace(&traces, 1);
    expect(server_answers(second));
    server_stop(second);
    expect(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

TEST(a_server_that_a_child_has_stopped_may_be_stopped_again)
{
    server *at = server_start(SERVER_REDIS, NULL);
    int status;
    pid_t child = fork();
    if (child == 0) {
        server_stop(at);
        _exit(0);
    }
    expect(waitpid(child, &status, 0) == child && status == 0);
    expect(!server_answers(at));
    server_stop(at);
}
