/* SPDX-License-Identifier: MIT */
/* Start, stop, what is there before and what is left after; forks; threads that start and stop while others ask. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cenote/cenote.h>

#include "inspect/client.h"
#include "inspect/internal.h"
#include "support/test.h"

static int open_files(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

/* A directory of this test's own, where addresses are announced. */
static char scratch[64];

static void make_scratch(void)
{
    snprintf(scratch, sizeof scratch, "/tmp/cenote-life-XXXXXX");
    expect(mkdtemp(scratch) != NULL);
    setenv("XDG_RUNTIME_DIR", scratch, 1);
}

static void remove_scratch(void)
{
    char place[100];
    snprintf(place, sizeof place, "%s/cenote", scratch);
    expect(rmdir(place) == 0 || errno == ENOENT); /* and so nothing was left in it */
    expect_equal(rmdir(scratch), 0);
}

static cen_status start_at(const char *at, cen_inspect **out, cen_error *error)
{
    cen_inspect_options options = CEN_INSPECT_OPTIONS(.at = at);
    return cen_inspect_start(&options, out, error);
}

/* guarantees: inspect.leftovers */
TEST(a_hundred_starts_and_stops_leave_nothing_behind)
{
    make_scratch();
    cen_inspect_stop(inspect_started((cen_inspect_options){.at = NULL}));
    int before = open_files();
    for (int i = 0; i < 100; i++) {
        cen_inspect *inspect;
        cen_error error = {.text = ""};
        char where[100];
        snprintf(where, sizeof where, "unix:%s/socket", scratch);
        if (start_at(i % 3 == 0 ? NULL : i % 3 == 1 ? "localhost:0" : where, &inspect, &error) != CEN_OK)
            test_fail(__FILE__, __LINE__, "%s", error.text);
        if (i % 10 == 0) json_decref(ask_json(cen_inspect_address(inspect), "/api/process"));
        cen_inspect_stop(inspect);
    }
    expect_equal(open_files(), before);
    cen_inspect_stop(NULL);
    remove_scratch();
}

TEST(without_options_it_is_found_by_the_number_of_the_process)
{
    make_scratch();
    cen_inspect *inspect;
    expect_equal(cen_inspect_start(NULL, &inspect, NULL), CEN_OK);
    char path[128], line[256] = "", expected[256];
    snprintf(path, sizeof path, "%s/cenote/%d.address", scratch, (int)getpid());
    FILE *file = fopen(path, "re");
    expect(file != NULL);
    expect(fgets(line, sizeof line, file) != NULL);
    fclose(file);
    snprintf(expected, sizeof expected, "%s\n", cen_inspect_address(inspect));
    expect_text(line, expected);
    snprintf(expected, sizeof expected, "unix:%s/cenote/%d.socket\n", scratch, (int)getpid());
    expect_text(line, expected);
    struct stat there;
    expect_equal(stat(path, &there), 0);
    expect_equal(there.st_mode & 0777, 0600);
    json_decref(ask_json(cen_inspect_address(inspect), "/api/process"));
    cen_inspect_stop(inspect);
    expect(access(path, F_OK) != 0);
    remove_scratch();
}

/* As it is for a program that runs with the rights of another user than the one that started it. */
static bool is_not_to_be_believed;
char *__real_secure_getenv(const char *name);
char *__wrap_secure_getenv(const char *name);
char *__wrap_secure_getenv(const char *name)
{
    return is_not_to_be_believed ? NULL : __real_secure_getenv(name);
}

TEST(a_program_with_the_rights_of_another_takes_no_place_from_who_started_it)
{
    make_scratch();
    char place[200], expected[64];
    cen_error error;
    is_not_to_be_believed = true;
    cen_status status = ceni_inspect_place(place, sizeof place, &error);
    is_not_to_be_believed = false;
    snprintf(expected, sizeof expected, "/tmp/cenote-%u", (unsigned)geteuid());
    expect_equal(status, CEN_OK);
    expect_text(place, expected);
    expect_equal(ceni_inspect_place(place, sizeof place, &error), CEN_OK);
    expect(strncmp(place, scratch, strlen(scratch)) == 0);
    remove_scratch();
}

/* A process that starts, says so, and is killed: its number. */
static pid_t killed_at(const char *at)
{
    int ready[2];
    char byte;
    expect_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        cen_inspect *inspect;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(start_at(at, &inspect, NULL) == CEN_OK && write(ready[1], "r", 1) == 1 && pause() ? 0 : 1);
    }
    close(ready[1]);
    expect_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    expect_equal(kill(child, SIGKILL), 0);
    expect_equal(waitpid(child, NULL, 0), child);
    return child;
}

static bool is_in_place(pid_t process, const char *suffix)
{
    char path[200];
    snprintf(path, sizeof path, "%s/cenote/%ld.%s", scratch, (long)process, suffix);
    struct stat there;
    return lstat(path, &there) == 0;
}

static void write_in_place(const char *name, const char *line)
{
    char path[200];
    snprintf(path, sizeof path, "%s/cenote/%s", scratch, name);
    FILE *file = fopen(path, "we");
    expect(file != NULL);
    fputs(line, file);
    fclose(file);
}

static void remove_in_place(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/cenote/%s", scratch, name);
    expect_equal(unlink(path), 0);
}

/* guarantees: inspect.leftovers */
TEST(what_killed_processes_have_left_is_gone_when_the_next_one_starts)
{
    make_scratch();
    pid_t local = killed_at(NULL), network = killed_at("localhost:0");
    expect(!is_in_place(local, "address") && !is_in_place(local, "socket")); /* by the second */
    expect(is_in_place(network, "address"));
    cen_inspect *inspect = inspect_started((cen_inspect_options){.at = "localhost:0"});
    expect(!is_in_place(network, "address"));
    expect(is_in_place(getpid(), "address"));
    cen_inspect_stop(inspect);
    remove_scratch();
}

/* Of a number that nobody here has, as if from another namespace: somebody answers. And what is not ours is not touched. */
/* guarantees: inspect.leftovers */
TEST(what_is_not_known_to_be_left_stays)
{
    make_scratch();
    pid_t gone = killed_at("localhost:0");
    cen_inspect *first = inspect_started((cen_inspect_options){.at = "localhost:0"});
    char line[200], name[32];
    snprintf(line, sizeof line, "%s\n", cen_inspect_address(first));
    snprintf(name, sizeof name, "%ld.address", (long)gone);
    write_in_place(name, line);
    write_in_place("notes.address", "unix:/nowhere\n");
    write_in_place("999999999.txt", "unix:/nowhere\n");
    write_in_place("1.address", "unix:/nowhere\n"); /* the number of somebody who is there */
    cen_inspect *second = inspect_started((cen_inspect_options){.at = "localhost:0"});
    cen_inspect_stop(second);
    cen_inspect_stop(first);
    remove_in_place(name);
    remove_in_place("notes.address");
    remove_in_place("999999999.txt");
    remove_in_place("1.address");
    remove_scratch();
}

TEST(two_of_one_process_are_both_reached_and_the_last_is_announced)
{
    make_scratch();
    cen_inspect *first = inspect_started((cen_inspect_options){.at = NULL}),
                *second = inspect_started((cen_inspect_options){.at = NULL});
    char path[128];
    snprintf(path, sizeof path, "%s/cenote/%d.address", scratch, (int)getpid());
    json_decref(ask_json(cen_inspect_address(first), "/api/process"));
    json_decref(ask_json(cen_inspect_address(second), "/api/process"));
    cen_inspect_stop(first);
    expect_equal(access(path, F_OK), 0);
    cen_inspect_stop(second);
    expect(access(path, F_OK) != 0);
    remove_scratch();
}

TEST(an_address_that_is_taken_is_told_so)
{
    cen_inspect *inspect = inspect_started((cen_inspect_options){.at = NULL}), *other = NULL;
    cen_error error;
    char where[64];
    snprintf(where, sizeof where, "%.*s", (int)strlen(cen_inspect_address(inspect)) - 8,
             cen_inspect_address(inspect) + 7);
    expect_equal(start_at(where, &other, &error), CEN_EXISTS);
    expect(strstr(error.text, where) && error.code == EADDRINUSE && !other);
    json_decref(ask_json(cen_inspect_address(inspect), "/api/process")); /* and goes on */
    cen_inspect_stop(inspect);
    expect_equal(start_at(where, &other, &error), CEN_OK); /* and is free again at once */
    cen_inspect_stop(other);
}

/* guarantees: inspect.leftovers */
TEST(a_socket_at_which_somebody_answers_is_not_replaced_and_a_dead_one_is)
{
    make_scratch();
    char where[100];
    cen_inspect *inspect, *other = NULL;
    cen_error error;
    struct sockaddr_un dead = {.sun_family = AF_UNIX};
    snprintf(where, sizeof where, "unix:%s/socket", scratch);
    snprintf(dead.sun_path, sizeof dead.sun_path, "%s/socket", scratch);
    int socket_ = socket(AF_UNIX, SOCK_STREAM, 0);
    expect_equal(bind(socket_, (struct sockaddr *)&dead, sizeof dead), 0);
    close(socket_); /* as a process that was killed leaves it */
    expect_equal(start_at(where, &inspect, &error), CEN_OK);
    json_decref(ask_json(where, "/api/process"));
    expect_equal(start_at(where, &other, &error), CEN_EXISTS);
    expect(strstr(error.text, where) != NULL);
    json_decref(ask_json(where, "/api/process"));
    cen_inspect_stop(inspect);
    int file = open(where + 5, O_CREAT | O_WRONLY | O_CLOEXEC, 0600); /* a file of the user's is nobody's to remove */
    close(file);
    expect_equal(start_at(where, &other, &error), CEN_EXISTS);
    expect(strstr(error.text, "is not a socket") != NULL);
    expect_equal(unlink(where + 5), 0);
    remove_scratch();
}

/* guarantees: inspect.leftovers */
TEST(what_took_the_place_of_its_socket_is_left_there_by_stop)
{
    make_scratch();
    char where[100];
    cen_inspect *inspect;
    snprintf(where, sizeof where, "unix:%s/socket", scratch);
    expect_equal(start_at(where, &inspect, NULL), CEN_OK);
    expect_equal(unlink(where + 5), 0);
    close(open(where + 5, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    cen_inspect_stop(inspect);
    expect_equal(unlink(where + 5), 0);
    remove_scratch();
}

static void start_where_it_cannot_be(const char *at, const char *words)
{
    cen_inspect *inspect = NULL;
    cen_error error = {.text = ""};
    expect_equal(start_at(at, &inspect, &error), CEN_SYSTEM);
    expect(!inspect);
    if (!strstr(error.text, words)) test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error.text, words);
}

TEST(a_directory_that_is_not_there_or_not_ones_own_is_told)
{
    make_scratch();
    char place[100], where[120];
    int before = open_files();
    start_where_it_cannot_be("unix:/nowhere/at/all", "unix:/nowhere/at/all");
    snprintf(place, sizeof place, "%s/cenote", scratch);
    expect_equal(mkdir(place, 0755), 0);
    expect_equal(chmod(place, 0755), 0); /* others could look */
    start_where_it_cannot_be(NULL, place);
    expect_equal(rmdir(place), 0);
    expect_equal(symlink("/tmp", place), 0);
    start_where_it_cannot_be(NULL, place);
    /* At an address of its own it starts all the same, and only the announcement is missing. */
    uint64_t events = cen_events_total();
    cen_inspect *inspect = inspect_started((cen_inspect_options){.at = NULL});
    cen_event_cursor cursor = {.next = events};
    cen_event told;
    expect_equal(cen_events_read(&cursor, &told), CEN_OK);
    expect_text(told.what, "inspect_unlisted");
    json_decref(ask_json(cen_inspect_address(inspect), "/api/process"));
    cen_inspect_stop(inspect);
    expect_equal(unlink(place), 0);
    expect_equal(open_files(), before);
    if (geteuid() != 0) { /* root may write anywhere */
        expect_equal(chmod(scratch, 0500), 0);
        snprintf(where, sizeof where, "unix:%s/socket", scratch);
        start_where_it_cannot_be(where, "Permission denied");
        start_where_it_cannot_be(NULL, "Permission denied");
        expect_equal(chmod(scratch, 0700), 0);
    }
    remove_scratch();
}

/* ---- Others meanwhile ---------------------------------------------------------------------- */

static atomic_bool ending;
static _Atomic uint64_t asked;

static void *ask_on(void *argument)
{
    const char *at = argument;
    static const char *const paths[] = {"/api/components?parts=1", "/metrics", "/api/events", "/api/process"};
    for (unsigned i = 0; !ending; i++) {
        reply r = ask(at, "GET", paths[i % 4], NULL);
        if (r.curl == 0 && r.code == 200) asked++; /* what is cut off by a stop is no error */
        reply_fini(&r);
    }
    return NULL;
}

static cen_status make_nothing(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    static int object;
    *out = &object;
    return CEN_OK;
}

static void end_nothing(void *argument, void *object)
{
    (void)argument, (void)object;
}

static const cen_driver_calls nothing = {.size = sizeof nothing, .open = make_nothing, .close = end_nothing};

static void *use_on(void *argument)
{
    (void)argument;
    while (!ending) {
        cen_pool *pool;
        cen_lease lease;
        cen_pool_options options = CEN_POOL_OPTIONS(.name = "short", .driver = {&nothing, NULL}, .max = 4);
        expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
        for (int i = 0; i < 50; i++)
            if (cen_pool_take(pool, cen_in_s(1), &lease, NULL) == CEN_OK) cen_pool_give(&lease);
        cen_pool_free(pool); /* waits for whoever looks at it */
    }
    return NULL;
}

TEST(stop_ends_requests_that_run_and_pools_come_and_go_meanwhile)
{
    char where[64];
    pthread_t users[2], askers[3];
    snprintf(where, sizeof where, "unix:/tmp/cenote-life-%d.socket", (int)getpid());
    for (int i = 0; i < 2; i++) pthread_create(&users[i], NULL, use_on, NULL);
    for (int i = 0; i < 3; i++) pthread_create(&askers[i], NULL, ask_on, where);
    for (int i = 0; i < 20; i++) {
        uint64_t before = asked;
        cen_inspect *inspect = inspect_started((cen_inspect_options){.at = where});
        while (asked < before + 10) usleep(500);
        cen_inspect_stop(inspect);
    }
    ending = true;
    for (int i = 0; i < 3; i++) pthread_join(askers[i], NULL);
    for (int i = 0; i < 2; i++) pthread_join(users[i], NULL);
}

/* Until the server's thread sleeps: the allocators of sanitizers do not survive a fork while it is in them. */
static void await_sleep(void)
{
    for (int asleep = 0; asleep < 3; usleep(1000)) {
        DIR *folder = opendir("/proc/self/task");
        for (struct dirent *entry; (entry = readdir(folder));) {
            char path[300], line[512] = "";
            snprintf(path, sizeof path, "/proc/self/task/%s/stat", entry->d_name);
            FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
            if (!file) continue;
            bool is_it = fgets(line, sizeof line, file) && strstr(line, "(cenote-inspect)");
            fclose(file);
            if (is_it) asleep = strstr(line, ") S ") ? asleep + 1 : 0;
        }
        closedir(folder);
    }
}

/* guarantees: inspect.L14 */
TEST(a_child_has_no_server_and_its_stop_takes_nothing_from_its_parent)
{
    make_scratch();
    cen_inspect *inspect;
    expect_equal(cen_inspect_start(NULL, &inspect, NULL), CEN_OK);
    char at[128]; /* outlives the child's stop */
    snprintf(at, sizeof at, "%s", cen_inspect_address(inspect));
    json_decref(ask_json(at, "/api/process"));
    int client = client_connect(at); /* is there during the fork */
    expect(client_send(client, "GET /api/process HTTP/1.1\r\n", 27));
    int before = open_files();
    fflush(stdout);
    await_sleep();
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        close(client);
        cen_inspect_stop(inspect);
        /* The client's end, the listener, the waker, libmicrohttpd's epoll, and the server's end if it had been accepted. */
        int left = open_files();
        if (left > before - 4) test_fail(__FILE__, __LINE__, "%d files before, %d after", before, left);
        cen_inspect *own;
        expect_equal(cen_inspect_start(NULL, &own, NULL), CEN_OK);
        expect(strcmp(cen_inspect_address(own), at) != 0);
        json_t *process = ask_json(cen_inspect_address(own), "/api/process");
        expect_equal(json_integer_value(json_object_get(process, "pid")), getpid());
        json_decref(process);
        cen_inspect_stop(own);
        fflush(stdout);
        _exit(0);
    }
    int status;
    expect_equal(waitpid(child, &status, 0), child);
    expect_equal(status, 0);
    char answer[4096];
    expect(client_send(client, "Host: localhost\r\nConnection: close\r\n\r\n", 38));
    client_read(client, answer, sizeof answer);
    expect(strncmp(answer, "HTTP/1.1 200", 12) == 0);
    close(client);
    json_decref(ask_json(at, "/api/process"));
    cen_inspect_stop(inspect);
    remove_scratch();
}

/* The child inherits the listener, and does nothing about it. */
/* guarantees: inspect.L14 */
TEST(a_child_that_lives_on_does_not_hold_the_port)
{
    cen_inspect *inspect = inspect_started((cen_inspect_options){.at = NULL}), *again;
    char where[64];
    snprintf(where, sizeof where, "%.*s", (int)strlen(cen_inspect_address(inspect)) - 8,
             cen_inspect_address(inspect) + 7);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        pause();
        _exit(0);
    }
    cen_inspect_stop(inspect);
    cen_error error = {.text = ""};
    cen_status status = start_at(where, &again, &error);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    cen_inspect_stop(again);
}

static atomic_int signals_here;

static void count_signal(int number)
{
    (void)number;
    signals_here++;
}

TEST(signals_are_the_programs_and_none_goes_to_its_thread)
{
    sigset_t mask;
    struct sigaction action = {.sa_handler = count_signal};
    sigaction(SIGUSR1, &action, NULL);
    cen_inspect *inspect = inspect_started((cen_inspect_options){.at = NULL});
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    expect(!sigismember(&mask, SIGUSR1)); /* the starter's are as they were */
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &mask, NULL);
    kill(getpid(), SIGUSR1); /* only its thread could take it now */
    json_decref(ask_json(cen_inspect_address(inspect), "/api/process"));
    expect_equal(signals_here, 0);
    cen_inspect_stop(inspect);
    pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
    expect_equal(signals_here, 1);
}
