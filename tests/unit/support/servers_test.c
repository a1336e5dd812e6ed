/* SPDX-License-Identifier: MIT */
/* Servers in use: every test finds those that the program's first process started. */
#include "support/servers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "support/servers/guardian.h"
#include "unit/support/clients.h"

static server *servers[SERVER_KINDS];

static const char *const settings[SERVER_KINDS][3] = {
    [SERVER_POSTGRESQL] = {"max_connections=23", "application_name=it's this"},
    [SERVER_MARIADB] = {"max_connections=23", "skip-show-database"},
    [SERVER_REDIS] = {"maxclients=23"},
    [SERVER_NGINX] = {"worker_processes=2", "add_header=X-Setting 23"},
};

void test_program_begin(void)
{
    for (int i = 0; i < SERVER_KINDS; i++) servers[i] = server_start((server_kind)i, settings[i]);
}

void test_program_end(void)
{
    for (int i = 0; i < SERVER_KINDS; i++) server_stop(servers[i]);
}

#define EACH(at) (int kind_ = 0; kind_ < SERVER_KINDS; kind_++) for (server *at = servers[kind_]; at; at = NULL)
#define EACH_DATABASE(at) \
    (int kind_ = 0; kind_ < SERVER_NGINX; kind_++) for (server *at = servers[kind_]; at; at = NULL)

static bool waited_until_not(const server *at, bool answer)
{
    for (int i = 0; i < 6000; i++) {
        struct timespec moment = {.tv_nsec = 10000000};
        if (server_answers(at) != answer) return true;
        nanosleep(&moment, NULL);
    }
    return false;
}

static bool waited_until_gone(const server *at)
{
    for (int i = 0; i < 6000 && server_pid(at) != 0; i++) {
        struct timespec moment = {.tv_nsec = 10000000};
        nanosleep(&moment, NULL);
    }
    return server_pid(at) == 0;
}

/* ---- Where they are ----------------------------------------------------------------------------------------- */

TEST(each_answers_and_its_url_names_its_port)
{
    static const char *const forms[] = {"postgresql://tester:secret@127.0.0.1:%u/test",
                                        "mariadb://tester:secret@127.0.0.1:%u/test", "redis://:secret@127.0.0.1:%u/0",
                                        "http://127.0.0.1:%u/"};
    for
        EACH(at)
        {
            char url[96];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(url, sizeof url, forms[kind_], server_port(at));
#pragma GCC diagnostic pop
            expect_text(server_url(at), url);
            expect(server_answers(at));
        }
}

TEST(statements_are_carried_out_with_the_password_of_the_url)
{
    expect_query(servers[SERVER_POSTGRESQL], "select current_user || current_database()", "testertest");
    expect_query(servers[SERVER_MARIADB], "select concat(current_user(), database())", "tester@%test");
    expect_query(servers[SERVER_REDIS], "echo hello", "hello");
}

TEST(a_wrong_password_and_none_are_refused)
{
    static const char *const refusals[] = {"password authentication failed", "Access denied", "WRONGPASS"};
    for
        EACH_DATABASE(at)
        {
            outcome wrong = query_as(at, "secret2", kind_ == SERVER_REDIS ? "ping" : "select 1");
            expect(wrong.status != 0);
            expect_has(wrong.text, refusals[kind_]);
            expect(query_as(at, "", kind_ == SERVER_REDIS ? "ping" : "select 1").status != 0);
        }
}

TEST(the_unix_socket_asks_for_the_password_too)
{
    const char *directory = server_directory(servers[SERVER_POSTGRESQL]);
    char url[256], port[16];
    snprintf(port, sizeof port, "%u", server_port(servers[SERVER_POSTGRESQL]));
    snprintf(url, sizeof url, "host=%s port=%s user=tester dbname=test", directory, port);
    outcome none = COMMAND("psql", "-X", "-w", url, "-c", "select 1");
    expect_has(none.text, "no password supplied");
    snprintf(url, sizeof url, "host=%s port=%s user=tester dbname=test password=secret", directory, port);
    expect_equal(COMMAND("psql", "-X", "-w", url, "-c", "select 1").status, 0);
}

TEST(the_admin_url_is_a_superusers)
{
    outcome super = COMMAND("psql", "-X", "-q", "-A", "-t", "-w", server_admin_url(servers[SERVER_POSTGRESQL]), "-c",
                            "select usesuper from pg_user where usename = current_user");
    expect_text(super.text, "t\n");
    expect_query(servers[SERVER_POSTGRESQL], "select usesuper from pg_user where usename = current_user", "f");
    char port[16];
    snprintf(port, sizeof port, "%u", server_port(servers[SERVER_MARIADB]));
    outcome all = COMMAND("mariadb", "--no-defaults", "-N", "-h127.0.0.1", "-P", port, "-uadmin", "-pcommander", "-e",
                          "select count(*) from mysql.global_priv where User = 'root'");
    expect_text(all.text, "0\n");
    expect_has(COMMAND("curl", "-sS", server_admin_url(servers[SERVER_NGINX])).text, "server accepts handled requests");
}

TEST(nginx_has_files_of_several_sizes)
{
    expect_query(servers[SERVER_NGINX], "", "cenote");
    outcome small = query(servers[SERVER_NGINX], "1k");
    expect_equal(strlen(small.text), 1024);
    for (int i = 0; i < 1024; i++) expect(small.text[i] == 'a' + i % 26);
    char command[256];
    snprintf(command, sizeof command, "for f in 64k 1m; do curl -sS -f %s$f | wc -c; done",
             server_http1_url(servers[SERVER_NGINX]));
    expect_text(COMMAND("sh", "-c", command).text, "65536\n1048576\n");
}

/* A client's preface and its empty settings; the server's settings are the answer. */
TEST(nginx_speaks_http2_by_prior_knowledge)
{
    static const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";
    unsigned char reply[64] = {0};
    expect(port_ask(server_port(servers[SERVER_NGINX]), hello, sizeof hello, reply, sizeof reply, 9) >= 9);
    expect_equal(reply[3], 4);
    expect_equal(reply[5] | reply[6] | reply[7] | reply[8], 0);
}

TEST(as_root_each_runs_as_nobody)
{
    if (getuid() != 0) return;
    const struct passwd *nobody = getpwnam("nobody");
    expect(nobody);
    for
        EACH(at)
        {
            char path[32];
            struct stat status;
            snprintf(path, sizeof path, "/proc/%d", (int)server_pid(at));
            expect(stat(path, &status) == 0);
            expect_equal(status.st_uid, nobody->pw_uid);
        }
}

/* ---- Settings ----------------------------------------------------------------------------------------------- */

TEST(settings_take_effect)
{
    expect_query(servers[SERVER_POSTGRESQL], "show max_connections", "23");
    expect_query(servers[SERVER_MARIADB], "select @@max_connections", "23");
    expect(query(servers[SERVER_MARIADB], "show databases").status != 0);
    outcome redis = query(servers[SERVER_REDIS], "config get maxclients");
    expect_has(redis.text, "23");
    expect_has(COMMAND("curl", "-sSi", server_http1_url(servers[SERVER_NGINX])).text, "X-Setting: 23");
}

TEST(a_quote_in_a_value_is_part_of_it)
{
    outcome name = COMMAND("psql", "-X", "-q", "-A", "-t", "-w", server_admin_url(servers[SERVER_POSTGRESQL]), "-c",
                           "select setting from pg_file_settings where name = 'application_name'");
    expect_text(name.text, "it's this\n");
}

TEST(other_settings_hold_from_the_next_restart_on)
{
    server *at = servers[SERVER_POSTGRESQL];
    server_configure(at, (const char *const[]){"max_connections=17", NULL});
    expect_query(at, "show max_connections", "23");
    server_restart(at);
    expect_query(at, "show max_connections", "17");
    server_configure(at, settings[SERVER_POSTGRESQL]);
    server_restart(at);
    expect_query(at, "show max_connections", "23");
}

TEST(a_reload_reads_the_settings_again)
{
    server *at = servers[SERVER_POSTGRESQL];
    pid_t before = server_pid(at);
    server_configure(at, (const char *const[]){"max_connections=23", "work_mem=1234kB", NULL});
    server_reload(at);
    outcome memory;
    do memory = query(at, "show work_mem");
    while (strcmp(memory.text, "1234kB\n") != 0);
    expect_equal(server_pid(at), before);
    server_configure(at, settings[SERVER_POSTGRESQL]);
}

/* ---- What happens to them ----------------------------------------------------------------------------------- */

static void write_and_kill(server *at)
{
    if (kind_of(at) == SERVER_REDIS) {
        expect_query(at, "set kept 42", "OK");
    } else {
        expect_query(at, "create table if not exists kept (number int)", "");
        expect_query(at, "insert into kept values (42)", "");
    }
    server_kill(at);
}

TEST(a_killed_server_is_gone_and_a_restart_keeps_its_port_and_its_data)
{
    for
        EACH_DATABASE(at)
        {
            uint16_t port = server_port(at);
            write_and_kill(at);
            expect(!server_answers(at));
            expect_equal(server_pid(at), 0);
            server_restart(at);
            expect(server_answers(at));
            expect_equal(server_port(at), port);
            expect_query(at, kind_ == SERVER_REDIS ? "get kept" : "select max(number) from kept", "42");
        }
}

static int processes_below(pid_t parent)
{
    char command[96];
    snprintf(command, sizeof command, "cat /proc/[0-9]*/stat 2>/dev/null | sed 's/.*) . //' | grep -c '^%d '",
             (int)parent);
    return (int)strtol(COMMAND("sh", "-c", command).text, NULL, 10);
}

TEST(a_kill_ends_its_other_processes_too)
{
    server *at = servers[SERVER_NGINX];
    pid_t guardian = 0, first = server_pid(at);
    char command[64];
    snprintf(command, sizeof command, "sed 's/.*) . //; s/ .*//' /proc/%d/stat", (int)first);
    guardian = (pid_t)strtol(COMMAND("sh", "-c", command).text, NULL, 10);
    expect_equal(processes_below(guardian), 1);
    expect_equal(processes_below(first), 2);
    server_kill(at);
    expect_equal(processes_below(guardian), 0); /* they would be the guardian's by now */
    server_restart(at);
    expect_equal(processes_below(server_pid(at)), 2);
}

TEST(what_a_child_does_to_a_server_holds_for_all)
{
    server *at = servers[SERVER_REDIS];
    pid_t before = server_pid(at), child = fork();
    if (child == 0) {
        server_kill(at);
        server_restart(at);
        exit(0);
    }
    int status;
    expect(waitpid(child, &status, 0) == child && status == 0);
    expect(server_pid(at) != before && server_answers(at));
}

TEST(a_server_that_ends_by_itself_is_noticed_and_can_be_restarted)
{
    server *at = servers[SERVER_REDIS];
    query(at, "shutdown nosave");
    expect(waited_until_not(at, true));
    expect(waited_until_gone(at)); /* a server is silent before its process is gone */
    server_restart(at);
    expect(server_answers(at));
}

TEST(a_paused_server_keeps_silent_until_it_is_resumed)
{
    for
        EACH(at)
        {
            server_pause(at);
            expect(!server_answers(at));
            server_resume(at);
            expect(waited_until_not(at, false));
        }
}

TEST(a_paused_server_can_be_killed_and_restarted)
{
    server *at = servers[SERVER_POSTGRESQL];
    server_pause(at);
    server_kill(at);
    server_restart(at);
    expect(server_answers(at));
    server_pause(at);
    server_restart(at);
    expect(server_answers(at));
}

TEST(a_shutdown_is_orderly)
{
    char command[256];
    for
        EACH(at)
        {
            server_shutdown(at);
            expect(!server_answers(at));
            server_restart(at);
        }
    snprintf(command, sizeof command, "grep -c 'database system is shut down' %s/log",
             server_directory(servers[SERVER_POSTGRESQL]));
    expect(strtol(COMMAND("sh", "-c", command).text, NULL, 10) >= 1);
}

/* ---- Ports --------------------------------------------------------------------------------------------------- */

TEST(the_port_of_a_dead_server_refuses_callers_and_is_kept_for_it)
{
    for
        EACH(at)
        {
            server_kill(at);
            struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(server_port(at))};
            address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            int caller = socket(AF_INET, SOCK_STREAM, 0), taker = socket(AF_INET, SOCK_STREAM, 0);
            expect(connect(caller, (struct sockaddr *)&address, sizeof address) != 0 && errno == ECONNREFUSED);
            expect(bind(taker, (struct sockaddr *)&address, sizeof address) != 0 && errno == EADDRINUSE);
            close(caller);
            close(taker);
            server_restart(at);
        }
}

TEST(nobody_who_connects_can_be_given_the_port)
{
    unsigned first = 0;
    FILE *range = fopen("/proc/sys/net/ipv4/ip_local_port_range", "r");
    expect(range && fscanf(range, "%u", &first) == 1);
    fclose(range);
    for
        EACH(at) expect(server_port(at) < first);
}

/* ---- Failures ------------------------------------------------------------------------------------------------ */

TEST(a_server_that_cannot_start_says_why_with_the_end_of_its_log)
{
    for (int i = 0; i < SERVER_KINDS; i++) {
        char why[POST_WHY] = "";
        expect(!server_try_start((server_kind)i, (const char *const[]){"no_such_thing=1", NULL}, why, sizeof why));
        expect_has(why, "before it answered; the end of its log:\n");
        expect_has(why, "no_such_thing");
    }
}

static void start_badly(void *unused)
{
    (void)unused;
    server_start(SERVER_POSTGRESQL, (const char *const[]){"max_connections=many", NULL});
}

TEST(a_server_that_cannot_start_fails_the_test)
{
    outcome failure = hear(start_badly, NULL);
    expect(WIFEXITED(failure.status) && WEXITSTATUS(failure.status) == 1);
    expect_has(failure.text, "PostgreSQL did not start");
    expect_has(failure.text, "invalid value for parameter \"max_connections\": \"many\"");
}

static void restart_badly(void *at)
{
    server_configure(at, (const char *const[]){"no_such_thing=1", NULL});
    server_restart(at);
}

TEST(a_restart_that_fails_fails_the_test_and_can_be_mended)
{
    server *at = servers[SERVER_REDIS];
    outcome failure = hear(restart_badly, at);
    expect(WIFEXITED(failure.status) && WEXITSTATUS(failure.status) == 1);
    expect_has(failure.text, "cannot restart Redis");
    expect_has(failure.text, "no_such_thing");
    server_configure(at, settings[SERVER_REDIS]);
    server_restart(at);
    expect(server_answers(at));
}
