/* SPDX-License-Identifier: MIT */
/* Interrupts, roles, passwords, capacitys, threads, forks, and what is different over a poller. */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "drivers/mariadb_server.h"

enum { MS = 1000000 };

void test_program_begin(void)
{
    mariadb = server_start(SERVER_MARIADB, (const char *const[]){"max_connections=14", NULL});
    run(admin(), "create table t (a int)");
    mysql_close(admin());
}

void test_program_end(void)
{
    server_stop(mariadb);
}

static cen_poller *new_poller(void)
{
    cen_poller *poller = NULL;
    cen_poller_options options = CEN_POLLER_OPTIONS(.name = "mariadb");
    expect_equal(cen_poller_new(&options, &poller, NULL), CEN_OK);
    return poller;
}

/* NULL is nothing. What was closed a moment ago may still be on its way. */
static void end_poller(cen_poller *poller)
{
    cen_status status = CEN_BUSY;
    for (int i = 0; i < 6000 && (status = cen_poller_free(poller)) == CEN_BUSY; i++) pause_ms(10);
    expect_equal(status, CEN_OK);
}

/* Somebody who accepts and never says a word. */
static int silent_port(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 16) == 0);
    expect(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    *port = ntohs(address.sin_port);
    return fd;
}

/* A way to the server through another port: both directions of as many connections as there are. */
static void carry(int from, int to)
{
    struct pollfd ends[] = {{.fd = from, .events = POLLIN}, {.fd = to, .events = POLLIN}};
    char bytes[4096];
    ssize_t size = 1;
    while (size > 0 && poll(ends, 2, -1) > 0) {
        int k = ends[0].revents ? 0 : 1;
        size = read(ends[k].fd, bytes, sizeof bytes);
        if (size > 0 && write(ends[1 - k].fd, bytes, (size_t)size) != size) size = 0;
    }
    close(from), close(to);
}

static void *carry_one(void *argument)
{
    int from = (int)(intptr_t)argument, to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(server_port(mariadb)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(to, (struct sockaddr *)&address, sizeof address) == 0) carry(from, to);
    return NULL;
}

static void *carry_all(void *argument)
{
    int listener = (int)(intptr_t)argument;
    for (int fd; (fd = accept(listener, NULL, NULL)) >= 0;) {
        pthread_t thread;
        expect_equal(pthread_create(&thread, NULL, carry_one, (void *)(intptr_t)fd), 0);
        pthread_detach(thread);
    }
    return NULL;
}

/* ---- Interrupt --------------------------------------------------------------------------- */

static void hold_for(cen_pool *pool, int64_t ns)
{
    cen_pool_options options = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(pool, &options), CEN_OK);
    options.max_hold_ns = ns;
    expect_equal(cen_pool_options_set(pool, &options, NULL), CEN_OK);
}

TEST(the_server_itself_ends_the_query_and_the_holder_hears_it)
{
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 1);
    cen_lease lease = take(pool);
    uint64_t id = mysql_thread_id(lease.object);
    hold_for(pool, 100 * MS);
    expect(hang(lease.object));
    expect_equal(mysql_errno(lease.object), ER_QUERY_INTERRUPTED);
    cen_error error;
    expect_equal(cen_mariadb_error_get(lease.object, &error), CEN_INTERRUPTED);
    expect_words(error, "interrupted");
    expect(is_there(id));
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    expect_soon(!is_there(id));
    end_pool(pool);
    expect_soon(connections() == 0);
}

TEST(a_holder_that_goes_on_is_cut_off)
{
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 1);
    cen_lease lease = take(pool);
    hold_for(pool, 100 * MS);
    int asked = 0;
    while (number(lease.object, "select sleep(0.01)") >= 0 || mysql_errno(lease.object) == ER_QUERY_INTERRUPTED)
        asked++;
    expect(mysql_errno(lease.object) == CR_SERVER_LOST || mysql_errno(lease.object) == CR_SERVER_GONE_ERROR);
    expect(asked > 1);
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    end_pool(pool);
}

TEST(without_room_for_a_second_connection_the_socket_is_shut_down)
{
    MYSQL *others[16];
    int count = 0;
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 1);
    cen_lease lease = take(pool);
    while (count < 16 && (others[count] = dial("admin", "commander", NULL))) count++;
    expect(count < 16);
    hold_for(pool, 100 * MS);
    expect(hang(lease.object));
    expect_equal(mysql_errno(lease.object), CR_SERVER_LOST);
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    while (count) mysql_close(others[--count]);
    end_pool(pool);
}

TEST(a_server_that_is_silent_does_not_keep_the_holder)
{
    cen_pool *pool = pool_with(1, .url = server_url(mariadb), .cancel_timeout_ns = 200 * MS);
    cen_lease lease = take(pool);
    server_pause(mariadb);
    hold_for(pool, 100 * MS);
    bool failed = hang(lease.object);
    server_resume(mariadb);
    expect(failed);
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    end_pool(pool);
}

/* One holder after the other is revoked in the middle of a query, while others ask without end: of these none may fail. */
static cen_pool *crowd;
static atomic_bool stopped;
static atomic_int asked;

static void *ask_all_the_time(void *unused)
{
    while (!stopped) {
        cen_lease lease = take(crowd);
        if (number(lease.object, "select sleep(0.002) + 1") != 1)
            test_fail(__FILE__, __LINE__, "hit: %s", mysql_error(lease.object));
        asked++;
        cen_pool_give(&lease);
    }
    return unused;
}

TEST(a_kill_never_hits_the_next_users_query)
{
    pthread_t threads[3];
    cen_pool *victims = pool_of(cen_mariadb(server_url(mariadb)), 2);
    crowd = pool_of(cen_mariadb(server_url(mariadb)), 3);
    for (int i = 0; i < 3; i++) expect_equal(pthread_create(&threads[i], NULL, ask_all_the_time, NULL), 0);
    for (int i = 0; i < 15; i++) {
        hold_for(victims, CEN_OFF);
        cen_lease lease = take(victims);
        hold_for(victims, 5 * MS);
        hang(lease.object);
        expect_equal(cen_pool_give(&lease), CEN_REVOKED);
        hold_for(victims, CEN_OFF);
        lease = take(victims); /* in its place: a KILL on its way would meet it */
        for (int k = 0; k < 5; k++) expect_equal(number(lease.object, "select sleep(0.002) + 1"), 1);
        expect_equal(cen_pool_give(&lease), CEN_OK);
    }
    stopped = true;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    expect(asked > 0);
    end_pool(victims);
    end_pool(crowd);
    expect_soon(connections() == 0);
}

/* There the number may be anybody's: of the session that the server sees, another port is the one that it comes from. */
TEST(behind_a_proxy_nothing_is_killed_and_the_holder_is_cut_off)
{
    uint16_t port;
    char url[100];
    pthread_t thread;
    int listener = silent_port(&port);
    expect_equal(pthread_create(&thread, NULL, carry_all, (void *)(intptr_t)listener), 0);
    snprintf(url, sizeof url, "mariadb://tester:secret@127.0.0.1:%u/test", port);
    cen_pool *pool = pool_of(cen_mariadb(url), 1);
    cen_lease lease = take(pool);
    hold_for(pool, 100 * MS);
    expect(hang(lease.object));
    expect_equal(mysql_errno(lease.object), CR_SERVER_LOST);
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    end_pool(pool);
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(listener);
}

TEST(a_pool_may_be_freed_while_a_query_is_being_ended)
{
    for (int i = 0; i < 2; i++) {
        cen_poller *poller = i ? new_poller() : NULL;
        cen_pool *pool = pool_with(1, .url = server_url(mariadb), .poller = poller);
        cen_lease lease = take(pool);
        expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
        expect_equal(cen_pool_free(pool), CEN_OK);
        expect_equal(cen_pool_give(&lease), CEN_REVOKED);
        expect_soon(connections() == 0);
        end_poller(poller);
    }
}

TEST(a_lost_holder_is_cut_off_and_its_memory_stays)
{
    cen_pool *pool = NULL;
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = cen_mariadb(server_url(mariadb)), .max = 1,
                                                .leak_after_ns = 50 * MS, .on_leak = CEN_LEAK_RECLAIM);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    cen_lease lost = take(pool);
    uint64_t id = mysql_thread_id(lost.object);
    (void)mysql_query(lost.object, "begin"); /* fails if the place was taken back before, on a busy machine */
    cen_lease lease = take(pool);
    expect_soon(!is_there(id));
    expect_equal(number(lost.object, "select 1"), -1);
    cen_error error;
    expect_equal(cen_mariadb_error_get(lost.object, &error), CEN_LOST);
    expect_equal(cen_mariadb_prepare(lost.object, "select 1", &(MYSQL_STMT *){NULL}, &error), CEN_LOST);
    expect_equal(cen_pool_give(&lost), CEN_REVOKED);
    cen_pool_give(&lease);
    end_pool(pool);
}

/* Take until one take fails with these words. An object is tested once a round of the housekeeper has seen it idle, and a
   round may be late; so may an opening on a busy machine. */
static void take_until_refused(cen_pool *pool, const char *words, cen_error *error)
{
    for (int i = 0; i < 3000; i++) {
        cen_lease lease = {0};
        cen_status status = cen_pool_take(pool, cen_in_ms(300), &lease, error);
        if (status != CEN_OK && strstr(error->text, words)) return;
        if (status == CEN_OK) cen_pool_give(&lease);
        pause_ms(20);
    }
    test_fail(__FILE__, __LINE__, "no take failed with \"%s\", last: %s", words, error->text);
}

/* ---- Roles ----------------------------------------------------------------------------------- */

static void demote(bool read_only)
{
    run(admin(), read_only ? "set global read_only = 1" : "set global read_only = 0");
}

TEST(a_demoted_primary_is_left_at_the_next_test)
{
    for (int i = 0; i < 2; i++) {
        cen_poller *poller = i ? new_poller() : NULL;
        cen_pool *pool = NULL;
        cen_mariadb_options driver =
            CEN_MARIADB_OPTIONS(.url = server_url(mariadb), .role = CEN_MARIADB_PRIMARY, .poller = poller);
        cen_pool_options options =
            CEN_POOL_OPTIONS(.driver = cen_mariadb_with(&driver), .max = 1, .test_after_idle_ns = CEN_US(100),
                             .backoff_initial_ns = 5 * MS, .backoff_max_ns = 50 * MS);
        expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
        cen_lease lease = take(pool);
        cen_pool_give(&lease);
        pause_ms(2);
        demote(true);
        cen_error error = {.text = ""};
        take_until_refused(pool, "server is not a primary (read-only)", &error);
        expect(stats(pool).test_failed == 1);
        demote(false);
        lease = take_after_outage(pool);
        cen_pool_give(&lease);
        end_pool(pool);
        end_poller(poller);
    }
}

TEST(a_write_that_a_demoted_primary_refused_ends_the_connection)
{
    cen_pool *pool = pool_with(1, .url = server_url(mariadb), .role = CEN_MARIADB_PRIMARY);
    cen_lease lease = take(pool);
    uint64_t id = mysql_thread_id(lease.object);
    demote(true);
    expect(mysql_query(lease.object, "insert into t values (1)") != 0);
    expect_equal(mysql_errno(lease.object), ER_OPTION_PREVENTS_STATEMENT);
    demote(false);
    cen_pool_give(&lease);
    lease = take(pool);
    expect(mysql_thread_id(lease.object) != id);
    cen_pool_give(&lease);
    end_pool(pool);
}

TEST(a_replica_must_be_read_only)
{
    char url[200];
    snprintf(url, sizeof url, "%s?role=replica", server_url(mariadb));
    cen_pool *pool = pool_of(cen_mariadb(url), 1);
    cen_error error = {.text = ""};
    take_until_refused(pool, "server is not a replica", &error);
    demote(true);
    cen_lease lease = take_after_outage(pool);
    expect_equal(number(lease.object, "select 1"), 1);
    demote(false);
    cen_pool_give(&lease);
    end_pool(pool);
}

/* ---- Passwords, capacitys ---------------------------------------------------------------------------- */

TEST(a_server_that_wants_a_password_says_so)
{
    char url[100];
    snprintf(url, sizeof url, "mariadb://tester@127.0.0.1:%u/test", server_port(mariadb));
    cen_pool *pool = pool_of(cen_mariadb(url), 1);
    cen_lease lease;
    cen_error error;
    expect(cen_pool_take(pool, cen_in_s(30), &lease, &error) != CEN_OK);
    expect(strstr(error.text, "password required, none given"));
    expect_equal(cen_pool_free(pool), CEN_OK);
}

static const char *password_of_now = "secret";
static atomic_int password_calls;

static cen_status tell_password(void *argument, char *password, size_t room, cen_error *error)
{
    expect(argument == &password_calls);
    password_calls++;
    if (!password_of_now) return snprintf(error->text, sizeof error->text, "the vault is closed"), CEN_ABSENT;
    snprintf(password, room, "%s", password_of_now);
    return CEN_OK;
}

TEST(the_password_is_asked_for_at_each_opening)
{
    char url[100];
    snprintf(url, sizeof url, "mariadb://tester@127.0.0.1:%u/test", server_port(mariadb));
    for (int i = 0; i < 2; i++) {
        cen_poller *poller = i ? new_poller() : NULL;
        password_calls = 0;
        cen_pool *pool =
            pool_with(2, .url = url, .password = tell_password, .argument = &password_calls, .poller = poller);
        cen_lease lease = take(pool);
        expect_equal(password_calls, 1);
        run(admin(), "set password for tester@'%' = password('rotated')");
        password_of_now = "rotated";
        expect_equal(number(lease.object, "select 1"), 1); /* those that are open go on */
        cen_lease other = take(pool);
        expect_equal(password_calls, 2);
        run(admin(), "set password for tester@'%' = password('secret')");
        password_of_now = NULL;
        expect_equal(cen_pool_discard(&other), CEN_OK);
        cen_error error = {.text = ""};
        take_until_refused(pool, "the vault is closed", &error);
        password_of_now = "secret";
        cen_pool_give(&lease);
        end_pool(pool);
        end_poller(poller);
    }
}

static cen_mariadb_capacity_report told;
static atomic_int capacity_calls;

static void keep_report(void *argument, const cen_mariadb_capacity_report *report)
{
    (void)argument;
    told = *report;
    capacity_calls++;
}

/* Of all users, as the server counts them for the report. */
static long long connected(void)
{
    MYSQL *mysql = admin();
    expect(mysql_query(mysql, "show global status like 'Threads_connected'") == 0);
    MYSQL_RES *result = mysql_store_result(mysql);
    long long count = strtoll(mysql_fetch_row(result)[1], NULL, 10);
    mysql_free_result(result);
    return count;
}

TEST(the_capacity_is_told_once_and_may_be_asked_for)
{
    for (int i = 0; i < 2; i++) {
        expect_soon(connected() == 1); /* ours: those of the test before may still be on their way out */
        cen_poller *poller = i ? new_poller() : NULL;
        capacity_calls = 0;
        cen_pool *pool =
            pool_with(3, .url = server_url(mariadb), .on_capacity = keep_report, .capacity_max = 30, .poller = poller);
        cen_lease lease = take(pool), other = take(pool);
        expect_equal(capacity_calls, 1);
        printf("     %s\n", told.text);
        expect_equal(told.max_connections, 14);
        expect_equal(told.in_use, 2);
        expect_equal(told.free, 12);
        expect_equal(told.pool_max, 30);
        expect(!told.fits);
        cen_mariadb_capacity_report report = CEN_SIZED(cen_mariadb_capacity_report);
        cen_error error = {.text = ""};
        run(lease.object, "set @a = 1");
        expect_equal(cen_mariadb_capacity(lease.object, 3, &report, &error), CEN_OK);
        expect_equal(report.in_use, 3);
        expect(report.fits);
        expect_equal(cen_mariadb_capacity(admin(), 3, &report, &error), CEN_INVALID);
        cen_pool_give(&lease);
        cen_pool_give(&other);
        expect_soon(stats(pool).reset == 1); /* what the holder did was not forgotten over the question */
        end_pool(pool);
        end_poller(poller);
    }
}

TEST(encryption_that_a_server_has_not_is_not_done_without)
{
    char url[200];
    snprintf(url, sizeof url, "%s?tls=on", server_url(mariadb));
    cen_pool *pool = pool_of(cen_mariadb(url), 1);
    cen_lease lease;
    cen_error error = {.text = ""};
    expect_equal(cen_pool_take(pool, cen_in_s(5), &lease, &error), CEN_DRIVER);
    expect_equal(error.code, CR_SSL_CONNECTION_ERROR);
    end_pool(pool);
}

/* ---- Threads ----------------------------------------------------------------------------------------- */

static void *use_once(void *pool)
{
    cen_lease lease = take(pool);
    expect_equal(number(lease.object, "select 1"), 1);
    MYSQL_STMT *statement;
    expect_equal(cen_mariadb_prepare(lease.object, "select 1", &statement, NULL), CEN_OK);
    cen_pool_give(&lease);
    return NULL;
}

static void *keep_one(void *pool)
{
    take(pool); /* and end with it */
    return NULL;
}

static void ignore(void *argument, const cen_event *event, uint64_t missed)
{
    (void)missed;
    (void)argument, (void)event;
}

/* The client library complains on stderr. The pool does not: somebody listens to it. */
TEST(threads_come_and_go_and_the_library_does_not_complain)
{
    int fds[2], kept = dup(2);
    expect(pipe(fds) == 0 && kept >= 0 && dup2(fds[1], 2) == 2);
    close(fds[1]);
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 4);
    expect_equal(cen_pool_listen(pool, ignore, NULL, NULL), CEN_OK);
    for (int round = 0; round < 5; round++) {
        pthread_t threads[8];
        for (int i = 0; i < 8; i++)
            expect_equal(pthread_create(&threads[i], NULL, i < 7 ? use_once : keep_one, pool), 0);
        for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    }
    expect_soon(stats(pool).held == 0);
    end_pool(pool);
    mysql_library_end();
    dup2(kept, 2);
    char said[400];
    ssize_t length = read(fds[0], said, sizeof said - 1);
    said[length > 0 ? length : 0] = 0;
    expect_text(said, "");
}

/* ---- Fork ------------------------------------------------------------------------------------------------ */

static int open_descriptors(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory)) count++;
    closedir(directory);
    return count;
}

static int child_checks(cen_pool *pool, cen_lease *held, int descriptors)
{
    cen_error error;
    MYSQL_STMT *statement;
    cen_lease own;
    if (cen_mariadb_prepare(held->object, "select 1", &statement, &error) != CEN_FORKED) return 1;
    if (cen_pool_take(pool, cen_in_s(5), &own, &error) != CEN_OK) return 2;
    /* Of the parent's two nothing is open, of its own the socket and its double; and the epoll and event descriptors of a runtime. */
    if (number(held->object, "select 1") != -1) return 3;
    if (number(own.object, "select 1") != 1) return 4;
    if (open_descriptors() > descriptors) return 5;
    if (cen_pool_give(&own) != CEN_OK) return 6;
    if (cen_pool_close(pool, cen_in_s(5), NULL, NULL) != CEN_OK) return 7;
    return cen_pool_free(pool) == CEN_OK ? 0 : 8;
}

TEST(a_child_closes_its_copies_of_the_descriptors_and_can_do_no_harm_with_them)
{
    cen_pool *pool = NULL;
    cen_pool_options options =
        CEN_POOL_OPTIONS(.driver = cen_mariadb(server_url(mariadb)), .max = 3, .on_fork = CEN_FORK_RENEW);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    cen_lease held = take(pool), idle = take(pool);
    run(held.object, "begin");
    run(held.object, "insert into t values (1)");
    cen_pool_give(&idle);
    fflush(stdout);
    int status = -1, descriptors = open_descriptors();
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(child_checks(pool, &held, descriptors));
    }
    expect(waitpid(child, &status, 0) == child);
    expect_equal(status, 0);
    expect_equal(number(held.object, "select @@in_transaction"), 1);
    run(held.object, "rollback");
    expect_equal(connections(), 2);
    cen_pool_give(&held);
    end_pool(pool);
}

/* The poller is the parent's, and so are its thread and the locks. */
TEST(a_childs_pool_over_the_parents_poller_answers_forked)
{
    cen_poller *poller = new_poller();
    cen_mariadb_options driver = CEN_MARIADB_OPTIONS(.url = server_url(mariadb), .poller = poller);
    cen_pool_options options =
        CEN_POOL_OPTIONS(.driver = cen_mariadb_with(&driver), .max = 1, .on_fork = CEN_FORK_RENEW,
                         .breaker_failures = 1, .breaker_wait_ns = CEN_OFF);
    cen_pool *pool = NULL;
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    cen_lease lease = take(pool);
    fflush(stdout);
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        cen_lease own;
        alarm(60);
        _exit((int)cen_pool_take(pool, cen_in_s(5), &own, NULL));
    }
    expect(waitpid(child, &status, 0) == child);
    expect(WIFEXITED(status));
    expect_equal(WEXITSTATUS(status), CEN_FORKED);
    cen_pool_give(&lease);
    end_pool(pool);
    expect_equal(cen_poller_free(poller), CEN_OK);
}

/* ---- Over a poller ------------------------------------------------------------------------------------------ */

TEST(a_name_is_looked_up_by_a_job_and_the_poller_does_the_rest)
{
    char url[100];
    snprintf(url, sizeof url, "mariadb://tester:secret@localhost:%u/test", server_port(mariadb));
    cen_poller *poller = new_poller();
    cen_pool *pool = pool_with(2, .url = url, .poller = poller);
    cen_lease lease = take(pool);
    expect(strstr(mysql_get_host_info(lease.object), "TCP"));
    expect_equal(number(lease.object, "select 3"), 3);
    run(lease.object, "set @a = 1");
    cen_pool_give(&lease);
    lease = take(pool);
    expect_equal(number(lease.object, "select @a"), -1);
    cen_pool_give(&lease);
    end_pool(pool);
    end_poller(poller);
}

TEST(an_opening_is_given_up_when_the_pool_is_closed)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost"};
    for (int i = 0; i < 2; i++) {
        uint16_t port;
        char url[100];
        int fd = silent_port(&port);
        snprintf(url, sizeof url, "mariadb://tester:secret@%s:%u/test", hosts[i], port);
        cen_poller *poller = new_poller();
        cen_pool *pool = pool_with(2, .url = url, .poller = poller, .connect_timeout_ns = INT64_C(60000) * MS);
        cen_lease lease;
        expect_equal(cen_pool_take(pool, cen_in_ms(50), &lease, NULL), CEN_TIMEOUT);
        /* in half of the time limit of the opening */
        expect_equal(cen_pool_close(pool, cen_in_s(30), NULL, NULL), CEN_OK);
        expect_equal(cen_pool_free(pool), CEN_OK);
        end_poller(poller);
        close(fd);
    }
}

/* The driver as it is, but for an opening that begins only after it was cancelled. */
static const cen_driver_calls *as_they_are;
static atomic_bool was_cancelled;

static void open_late(void *state, cen_ticket ticket)
{
    for (int i = 0; !was_cancelled && i < 1000; i++) pause_ms(10);
    as_they_are->open_async(state, ticket);
}

static void cancel_early(void *state, cen_ticket ticket)
{
    as_they_are->cancel(state, ticket);
    was_cancelled = true;
}

TEST(a_cancel_that_comes_before_its_opening_is_not_lost)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost"};
    for (int i = 0; i < 2; i++) {
        uint16_t port;
        char url[100];
        int fd = silent_port(&port);
        snprintf(url, sizeof url, "mariadb://tester:secret@%s:%u/test", hosts[i], port);
        cen_poller *poller = new_poller();
        cen_mariadb_options options =
            CEN_MARIADB_OPTIONS(.url = url, .poller = poller, .connect_timeout_ns = INT64_C(60000) * MS);
        cen_driver driver = cen_mariadb_with(&options);
        cen_driver_calls calls = *(as_they_are = driver.calls);
        calls.open_async = open_late;
        calls.cancel = cancel_early;
        was_cancelled = false;
        cen_pool *pool = pool_of(((cen_driver){&calls, driver.argument}), 1);
        cen_lease lease;
        expect_equal(cen_pool_take(pool, cen_in_ms(50), &lease, NULL), CEN_TIMEOUT);
        /* in half of the time limit of the opening */
        expect_equal(cen_pool_close(pool, cen_in_s(30), NULL, NULL), CEN_OK);
        expect(was_cancelled);
        expect_equal(cen_pool_free(pool), CEN_OK);
        end_poller(poller);
        close(fd);
    }
}

static atomic_bool polls;
static _Atomic cen_status reset_status;

static void *poll_on(void *poller)
{
    while (polls) cen_poller_poll(poller, cen_in_ms(5), NULL, NULL);
    return NULL;
}

static void keep_status(void *unused, const cen_event *event, uint64_t missed)
{
    (void)unused;
    (void)missed;
    if (event->kind == CEN_EVENT_RESET_FAILED) reset_status = event->status;
}

static void not_told(cen_watch *watch, unsigned events)
{
    (void)watch;
    (void)events;
}

/* The program watches the socket itself, and its poller stands still for that long. The setup, which is part of the reset, has to be
 * waited for. */
TEST(a_call_whose_socket_cannot_be_watched_says_so)
{
    pthread_t thread;
    cen_poller *poller = NULL;
    cen_poller_options options = CEN_POLLER_OPTIONS(.manual = true);
    expect_equal(cen_poller_new(&options, &poller, NULL), CEN_OK);
    cen_pool *pool = pool_with(1, .url = server_url(mariadb), .poller = poller, .setup = "do sleep(0.3)");
    expect_equal(cen_pool_listen(pool, keep_status, NULL, NULL), CEN_OK);
    polls = true;
    expect_equal(pthread_create(&thread, NULL, poll_on, poller), 0);
    cen_lease lease = take(pool);
    run(lease.object, "set @left = 1");
    polls = false;
    pthread_join(thread, NULL);
    cen_watch own = {.ready = not_told};
    expect_equal(cen_poller_watch(poller, &own, mysql_get_socket(lease.object), CEN_READABLE, CEN_NEVER, NULL), CEN_OK);
    cen_pool_give(&lease);
    expect_soon(reset_status != CEN_OK);
    expect_equal(reset_status, CEN_EXISTS);
    cen_poller_unwatch(poller, &own);
    polls = true;
    expect_equal(pthread_create(&thread, NULL, poll_on, poller), 0);
    end_pool(pool);
    polls = false;
    pthread_join(thread, NULL);
    end_poller(poller);
}

static atomic_bool dripped_enough;

/* A greeting that comes byte by byte and never ends. */
static void *drip(void *argument)
{
    int listener = (int)(intptr_t)argument, fds[8], count = 0;
    fcntl(listener, F_SETFL, O_NONBLOCK);
    while (!dripped_enough) {
        int fd = count < 8 ? accept(listener, NULL, NULL) : -1;
        if (fd >= 0 && write(fd, "\xff\0\0\0\x0a", 5) == 5) fds[count++] = fd;
        for (int i = 0; i < count; i++) (void)!send(fds[i], "5", 1, MSG_NOSIGNAL);
        pause_ms(10);
    }
    while (count) close(fds[--count]);
    return NULL;
}

TEST(a_server_that_answers_bit_by_bit_is_given_up_in_time)
{
    for (int i = 0; i < 2; i++) {
        uint16_t port;
        char url[100];
        pthread_t thread;
        int listener = silent_port(&port);
        dripped_enough = false;
        expect_equal(pthread_create(&thread, NULL, drip, (void *)(intptr_t)listener), 0);
        snprintf(url, sizeof url, "mariadb://tester:secret@127.0.0.1:%u/test", port);
        cen_poller *poller = i ? new_poller() : NULL;
        cen_pool *pool = pool_with(1, .url = url, .poller = poller, .connect_timeout_ns = 200 * MS);
        cen_lease lease;
        cen_error error = {.text = ""};
        cen_pool_stats s = CEN_SIZED(cen_pool_stats);
        expect(cen_pool_take(pool, cen_in_ms(600), &lease, &error) != CEN_OK);
        expect(cen_pool_stats_get(pool, &s) == CEN_OK && s.open_failed >= 1);
        expect_words(error, "200 ms");
        end_pool(pool);
        end_poller(poller);
        dripped_enough = true;
        pthread_join(thread, NULL);
        close(listener);
    }
}

/* A program with one thread: a manual runtime and a manual poller in its loop. */
TEST(one_thread_does_it_all)
{
    cen_runtime *runtime = NULL;
    cen_poller *poller = NULL;
    cen_pool *pool = NULL;
    expect_equal(cen_runtime_new(&CEN_RUNTIME_OPTIONS(.manual = true), &runtime, NULL), CEN_OK);
    expect_equal(cen_poller_new(&CEN_POLLER_OPTIONS(.manual = true), &poller, NULL), CEN_OK);
    cen_mariadb_options driver = CEN_MARIADB_OPTIONS(.url = server_url(mariadb), .poller = poller);
    cen_pool_options options =
        CEN_POOL_OPTIONS(.driver = cen_mariadb_with(&driver), .max = 2, .runtime = runtime, .min_idle = 2);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    cen_lease lease;
    cen_status status = CEN_EMPTY;
    for (int i = 0; i < 6000 && status != CEN_OK; i++) {
        cen_runtime_poll(runtime);
        cen_poller_poll(poller, cen_in_ms(10), NULL, NULL);
        status = cen_pool_try_take(pool, &lease, NULL);
    }
    expect_equal(status, CEN_OK);
    expect_equal(number(lease.object, "select 6"), 6);
    run(lease.object, "begin");
    expect_equal(cen_pool_give(&lease), CEN_OK);
    for (int i = 0; i < 6000 && stats(pool).idle < 2; i++) {
        cen_runtime_poll(runtime);
        cen_poller_poll(poller, cen_in_ms(10), NULL, NULL);
    }
    expect_equal(stats(pool).idle, 2);
    expect_equal(stats(pool).reset, 1);
    cen_pool_close(pool, CEN_NOW, NULL, NULL);
    for (int i = 0; i < 6000 && stats(pool).closing; i++) {
        cen_runtime_poll(runtime);
        cen_poller_poll(poller, cen_in_ms(10), NULL, NULL);
    }
    expect_equal(cen_pool_free(pool), CEN_OK);
    expect_soon(connections() == 0);
    expect_equal(cen_poller_free(poller), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

/* ---- A server that dies -------------------------------------------------------------------------------------------- */

TEST(a_server_that_was_killed_is_reported_and_found_again)
{
    for (int i = 0; i < 2; i++) {
        cen_poller *poller = i ? new_poller() : NULL;
        cen_pool *pool = pool_with(2, .url = server_url(mariadb), .poller = poller);
        cen_lease lease = take(pool);
        server_kill(mariadb);
        expect_equal(number(lease.object, "select 1"), -1);
        cen_error error;
        expect_equal(cen_mariadb_error_get(lease.object, &error), CEN_LOST);
        expect_words(error, "connection lost");
        cen_pool_give(&lease);
        take_until_refused(pool, "server unreachable", &error);
        server_restart(mariadb);
        lease = take_after_outage(pool);
        expect_equal(number(lease.object, "select 1"), 1);
        cen_pool_give(&lease);
        end_pool(pool);
        end_poller(poller);
    }
}
