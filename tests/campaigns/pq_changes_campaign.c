/* SPDX-License-Identifier: MIT */
/*
 * The server stays and something about it changes, under load: how many connections it has, whether it may be written to, the
 * password, its address. And the program forks, again and again. What must hold whatever happens is in load.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "campaigns/pq_campaign.h"

static server *postgresql;
static const char *const usual[] = {"max_connections=60", NULL};

void test_program_begin(void)
{
    postgresql = server_start(SERVER_POSTGRESQL, usual);
}

void test_program_end(void)
{
    server_stop(postgresql);
}

/* Eight were open, and after a restart the server has room for five. */
/* guarantees: drivers.no-storm */
TEST(max_connections_are_lowered_under_a_pool)
{
    static const char *const fewer[] = {"max_connections=8", "superuser_reserved_connections=3", "max_wal_senders=0",
                                        NULL};
    cen_pool *pool = pool_at(server_url(postgresql), &(cen_pool_options){.max_concurrent_opens = 2});
    openings *seen = openings_watch(pool);
    load *l = load_start(&(load_plan){.pool = pool, .threads = THREADS, .use = ask_one});
    load_await_answers(l, 200);
    server_configure(postgresql, fewer);
    server_restart(postgresql);
    int64_t recovery = load_await_answers(l, 100);
    int64_t narrow = campaign_time(2 * SECOND, 20 * SECOND);
    uint64_t failed = openings_failed(seen);
    int64_t began = cen_clock();
    campaign_sleep(narrow);
    failed = openings_failed(seen) - failed;
    narrow = cen_clock() - began;
    int during = connections_at(server_admin_url(postgresql));
    server_configure(postgresql, usual);
    server_restart(postgresql);
    load_await_answers(l, 100);
    openings_end(seen);
    load_counts counts = load_stop(l);
    char remark[120];
    snprintf(remark, sizeof remark, "%d connections in room for 5; %llu openings failed in %lld ms", during,
             (unsigned long long)failed, (long long)(narrow / MS));
    expect(during >= 1 && during <= 5);
    expect(failed <= 20 + (uint64_t)(2 * narrow / (250 * MS)));
    load_judge_saying(&counts, "max_connections lowered", recovery, 3 * SECOND, remark);
}

/* The primary is made read-only, and the address leads to another server from then on. Connections to the old one must go:
 * the server says by itself what it has become. */
/* guarantees: drivers.failover */
TEST(the_primary_is_demoted_to_read_only)
{
    server *next = server_start(SERVER_POSTGRESQL, usual);
    char target[64];
    make_notes(server_admin_url(postgresql));
    make_notes(server_admin_url(next));
    fault_proxy *proxy = proxy_start("127.0.0.1", server_port(postgresql));
    cen_pq_options options = CEN_PQ_OPTIONS(.uri = proxy_url(proxy, server_url(postgresql)), .role = CEN_PQ_READ_WRITE,
                                            .connect_timeout_ns = SECOND);
    cen_pool *pool = pool_of(&options, &(cen_pool_options){.max = CONNECTIONS});
    load *l = load_start(&(load_plan){.pool = pool, .threads = THREADS, .use = write_note});
    load_await_answers(l, 200);
    snprintf(target, sizeof target, "to 127.0.0.1:%u", (unsigned)server_port(next));
    proxy_say(proxy, target);
    administer(server_admin_url(postgresql), "alter system set default_transaction_read_only = on");
    administer(server_admin_url(postgresql), "select pg_reload_conf()");
    int64_t recovery = load_await_answers(l, 500);
    connections_end_at(server_admin_url(postgresql)); /* a connection learns it with its next query */
    load_counts then = load_look(l);
    campaign_sleep(campaign_time(SECOND, 10 * SECOND));
    int old = connections_at(server_admin_url(postgresql)), new = connections_at(server_admin_url(next));
    load_counts later = load_look(l);
    load_counts counts = load_stop(l);
    administer(server_admin_url(postgresql), "alter system reset default_transaction_read_only");
    administer(server_admin_url(postgresql), "select pg_reload_conf()");
    char remark[120];
    snprintf(remark, sizeof remark, "%llu writes failed; afterwards %d connections to the old one, %d to the new",
             (unsigned long long)counts.broken, old, new);
    expect_equal(old, 0);
    expect(new > 0);
    expect(counts.broken <= 3 * CONNECTIONS);
    expect_equal(later.broken, then.broken);
    load_judge_saying(&counts, "primary demoted", recovery, 3 * SECOND, remark);
    proxy_stop(proxy);
    server_stop(next);
}

static _Atomic(const char *) password = "secret";

static cen_status tell_password(void *argument, char *room, size_t size, cen_error *error)
{
    (void)argument, (void)error;
    snprintf(room, size, "%s", password);
    return CEN_OK;
}

/* Nobody notices: what is open stays as long as it is used, and all that is opened has the new one. */
/* guarantees: drivers.failover */
TEST(credentials_are_rotated_and_the_pool_reloaded)
{
    cen_pq_options options = CEN_PQ_OPTIONS(.uri = server_url(postgresql), .password = tell_password);
    cen_pool *pool = pool_of(&options, &(cen_pool_options){.max = CONNECTIONS});
    load *l = load_start(&(load_plan){.pool = pool, .threads = THREADS, .deadline_ns = 60 * SECOND, .use = ask_one});
    load_await_answers(l, 200);
    for (int64_t round = 0; round < campaign_time(3, 30); round++) {
        bool odd = round % 2 == 0;
        /* Both are there for a moment in which neither is right: nothing is opened then. */
        expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
        administer(server_admin_url(postgresql),
                   odd ? "alter role tester password 'another'" : "alter role tester password 'secret'");
        password = odd ? "another" : "secret";
        expect_equal(cen_pool_resume(pool, NULL), CEN_OK);
        expect_equal(cen_pool_reload(pool, 200 * MS, NULL), CEN_OK);
        load_await_answers(l, 200);
        campaign_sleep(300 * MS);
    }
    int64_t recovery = load_await_answers(l, 100);
    load_counts counts = load_stop(l);
    administer(server_admin_url(postgresql), "alter role tester password 'secret'");
    expect_equal(counts.broken + counts.refused + counts.timeouts, 0);
    expect(counts.stats.opened > CONNECTIONS);
    load_judge(&counts, "credentials rotated", recovery, SECOND);
}

/* ---- A name ---------------------------------------------------------------------------------------------------- */

static const char *const wrapper = "/usr/lib/x86_64-linux-gnu/libnss_wrapper.so";

static void name_leads_to(const char *hosts, const char *address)
{
    char other[256];
    snprintf(other, sizeof other, "%s.new", hosts);
    FILE *file = fopen(other, "w");
    expect(file != NULL);
    fprintf(file, "%s database.test\n", address);
    expect_equal(fclose(file), 0);
    expect_equal(rename(other, hosts), 0);
}

static fault_proxy *proxy_at(const char *address, unsigned port)
{
    char listen[64], to[64];
    snprintf(listen, sizeof listen, "%s:%u", address, port);
    snprintf(to, sizeof to, "127.0.0.1:%u", (unsigned)server_port(postgresql));
    return proxy_start_with((const char *const[]){"--listen", listen, "--to", to, NULL});
}

/* In a process that resolves names by a file of the test's. */
static void change_address(const char *hosts)
{
    fault_proxy *before = proxy_at("127.0.0.2", 0);
    fault_proxy *after = proxy_at("127.0.0.3", proxy_port(before));
    char url[128];
    snprintf(url, sizeof url, "postgresql://tester:secret@database.test:%u/test", proxy_port(before));
    name_leads_to(hosts, "127.0.0.2");
    /* One at a time: the library that resolves names here does not stand two. */
    cen_pool *pool = pool_at(url, &(cen_pool_options){.max_concurrent_opens = 1});
    load *l = load_start(&(load_plan){.pool = pool, .threads = THREADS, .use = ask_one});
    load_await_answers(l, 200);
    expect(proxy_stat(before, "accepted") > 0);
    expect_equal(proxy_stat(after, "accepted"), 0);
    name_leads_to(hosts, "127.0.0.3");
    proxy_stop(before); /* the old address is gone, with all connections */
    int64_t recovery = load_await_answers(l, 100);
    expect(proxy_stat(after, "accepted") > 0);
    load_counts counts = load_stop(l);
    load_judge(&counts, "the name leads to another address", recovery, 2 * SECOND);
    proxy_stop(after);
}

/* guarantees: drivers.failover */
TEST(the_name_leads_to_another_address)
{
    char hosts[256];
    const char *set = getenv("NSS_WRAPPER_HOSTS");
    if (set) {
        change_address(set);
        return;
    }
    if (access(wrapper, R_OK) != 0) test_fail(__FILE__, __LINE__, "%s is not there (libnss-wrapper)", wrapper);
    snprintf(hosts, sizeof hosts, "%s/hosts-of-the-campaign", server_directory(postgresql));
    name_leads_to(hosts, "127.0.0.2");
    pid_t child = fork();
    if (child == 0) {
        setenv("LD_PRELOAD", wrapper, 1);
        setenv("NSS_WRAPPER_HOSTS", hosts, 1);
        execl("/proc/self/exe", "campaign", "the_name_leads_to_another_address", (char *)NULL);
        _exit(127);
    }
    int status;
    expect_equal(waitpid(child, &status, 0), child);
    expect_equal(status, 0);
}

/* ---- Forks ------------------------------------------------------------------------------------------------------ */

/* A child of a process with 200 threads that use the pool: what it has of the parent's it does not touch, and what it takes is new. */
static void be_a_child(cen_pool *pool)
{
    cen_lease lease;
    cen_error error;
    bool right = cen_pool_take(pool, cen_in_s(60), &lease, &error) == CEN_OK && ask_one(lease.object, &error) &&
                 cen_pool_give(&lease) == CEN_OK && cen_pool_close(pool, cen_in_s(60), NULL, NULL) == CEN_OK;
    if (!right) fprintf(stderr, "a child: %s\n", error.text);
    _exit(right ? 0 : 1);
}

/* GSSAPI, which libpq asks for a ticket before it connects, has a lock that stays locked in a child if another thread was in
 * it at the fork: each opening of such a child would hang. A program that forks beside openings switches it off. */
/* guarantees: drivers.L14 */
TEST(two_hundred_threads_and_a_storm_of_forks)
{
    setenv("PGGSSENCMODE", "disable", 1);
    cen_pool *pool = pool_at(server_url(postgresql), &(cen_pool_options){.max = 16, .on_fork = CEN_FORK_RENEW});
    load *l = load_start(&(load_plan){.pool = pool, .threads = 200, .deadline_ns = 60 * SECOND, .use = ask_one});
    load_await_answers(l, 500);
    enum { AT_A_TIME = 8 };
    pid_t children[AT_A_TIME];
    int64_t wrong = 0, rounds = campaign_time(5, 100);
    for (int64_t round = 0; round < rounds; round++) {
        for (int i = 0; i < AT_A_TIME; i++) {
            children[i] = fork();
            if (children[i] == 0) be_a_child(pool);
            expect(children[i] > 0);
        }
        for (int i = 0; i < AT_A_TIME; i++) {
            int status;
            expect_equal(waitpid(children[i], &status, 0), children[i]);
            wrong += status != 0;
        }
    }
    int64_t recovery = load_await_answers(l, 500);
    load_counts counts = load_stop(l);
    char remark[80];
    snprintf(remark, sizeof remark, "%lld children, each with connections of its own", (long long)(rounds * AT_A_TIME));
    expect_equal(wrong, 0);
    expect_equal(counts.broken + counts.refused, 0);
    load_judge_saying(&counts, "200 threads, a storm of forks", recovery, 5 * SECOND, remark);
}
