/* SPDX-License-Identifier: MIT */
/*
 * PostgreSQL goes away, falls silent, refuses, is slow, cuts connections off, and comes back, under load. What must hold whatever
 * happens is in load.h; beyond that each says how soon the pool must answer again, and what the server may see of it.
 */
#include <string.h>

#include "campaigns/pq_campaign.h"

static server *postgresql;

void test_program_begin(void)
{
    postgresql = server_start(SERVER_POSTGRESQL, (const char *const[]){"max_connections=60", NULL});
}

void test_program_end(void)
{
    server_stop(postgresql);
}

static load *load_on(cen_pool *pool)
{
    load *l = load_start(&(load_plan){.pool = pool, .threads = THREADS, .use = ask_one});
    load_await_answers(l, 200);
    return l;
}

static bool was_refused(const load_counts *counts)
{
    return counts->refused > 0;
}

static bool was_broken(const load_counts *counts)
{
    return counts->broken > 0;
}

static bool was_broken_and_waited_for(const load_counts *counts)
{
    return counts->broken > 0 && counts->timeouts + counts->refused > 0;
}

/* guarantees: drivers.outages */
TEST(the_server_is_killed_under_load_and_restarted)
{
    cen_pool *pool = pool_at(server_url(postgresql), &(cen_pool_options){.max = CONNECTIONS});
    load *l = load_on(pool);
    int64_t slowest = 0;
    for (int64_t round = 0; round < campaign_time(2, 20); round++) {
        server_kill(postgresql);
        campaign_sleep(300 * MS);
        load_await_trouble(l, was_refused);
        server_restart(postgresql);
        int64_t recovery = load_await_answers(l, 100);
        if (recovery > slowest) slowest = recovery;
    }
    load_counts counts = load_stop(l);
    expect(counts.broken > 0 && counts.refused > 0);
    connections_end_at(server_admin_url(postgresql));
    load_judge(&counts, "killed by SIGKILL and restarted", slowest, 2 * SECOND);
}

/* Questions hang then. Who holds for more than half a second is interrupted, and cut off if not even that gets through. */
/* guarantees: drivers.outages */
TEST(the_network_swallows_everything)
{
    fault_proxy *proxy = proxy_start("127.0.0.1", server_port(postgresql));
    cen_pool *pool = pool_at(proxy_url(proxy, server_url(postgresql)), &(cen_pool_options){.max_hold_ns = 500 * MS});
    load *l = load_on(pool);
    proxy_say(proxy, "blackhole");
    campaign_sleep(campaign_time(2 * SECOND, 10 * SECOND));
    load_await_trouble(l, was_broken_and_waited_for);
    proxy_say(proxy, "clear");
    int64_t recovery = load_await_answers(l, 100);
    load_counts counts = load_stop(l);
    connections_end_at(server_admin_url(postgresql));
    load_judge(&counts, "black hole", recovery, 3 * SECOND);
    proxy_stop(proxy);
}

/* As many attempts as there are if each waits for half of what it may, on average: a part of how long it has lasted. */
static uint64_t tries_in(int64_t outage, int64_t least, int64_t most)
{
    uint64_t count = 0;
    for (int64_t passed = 0; passed < outage; count++) {
        int64_t bound = passed / 64 < least ? least : passed / 64 < most ? passed / 64 : most;
        passed += bound / 2;
    }
    return count;
}

/* The connections that had to be opened once more: they were closed, or their opening failed. */
static uint64_t replaced_by(cen_pool *pool)
{
    cen_pool_stats n = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(pool, &n), CEN_OK);
    return n.closed + n.open_failed;
}

/* A thousand wait, and the server sees no storm: as many connects at a time as the pool was told, fewer and fewer, then one
 * at a time, and after it is back one, two, four. */
/* guarantees: drivers.outages, drivers.no-storm */
TEST(connections_are_refused_and_a_thousand_wait)
{
    int64_t outage = campaign_time(3 * SECOND, 30 * SECOND);
    fault_proxy *proxy = proxy_start("127.0.0.1", server_port(postgresql));
    cen_pool *pool =
        pool_at(proxy_url(proxy, server_url(postgresql)), &(cen_pool_options){.max_concurrent_opens = 2,
                                                                              .breaker_failures = 5,
                                                                              .backoff_initial_ns = 20 * MS,
                                                                              .backoff_max_ns = 500 * MS});
    openings *seen = openings_watch(pool);
    proxy_say(proxy, "refuse");
    load *l = load_start(&(load_plan){.pool = pool, .threads = 1000, .pause_ns = 50 * MS, .use = ask_one});
    int64_t began = cen_clock();
    campaign_sleep(outage);
    load_await_trouble(l, was_refused);
    while (!openings_breaker(seen)) campaign_sleep(MS);
    outage = cen_clock() - began;
    uint64_t tried = openings_failed(seen), accepted = proxy_stat(proxy, "accepted");
    uint32_t most = openings_most(seen), probes = openings_probes(seen);
    bool opened = openings_breaker(seen);
    uint64_t replaced = replaced_by(pool);
    proxy_say(proxy, "clear");
    int64_t recovery = load_await_answers(l, 1000);
    uint64_t came = proxy_stat(proxy, "accepted") - accepted;
    replaced = replaced_by(pool) - replaced; /* on a busy machine a health check or a connect may take too long */
    openings_end(seen);
    load_counts counts = load_stop(l);
    uint64_t many = 20 + 2 * tries_in(outage, 20 * MS, 500 * MS); /* twice as many would be too many */
    char remark[160];
    snprintf(remark, sizeof remark,
             "%llu connects tried, at most %u at a time, %u while the breaker was open; %llu accepted afterwards",
             (unsigned long long)tried, most, probes, (unsigned long long)came);
    expect(counts.refused > 0 && strlen(counts.last_text) > 0);
    expect(opened);
    expect(most <= 2);
    expect(probes <= 1);
    expect(tried <= many);
    if (came > CONNECTIONS + replaced) printf("     %s, %llu replaced\n", remark, (unsigned long long)replaced);
    expect(came <= CONNECTIONS + replaced);
    load_judge_saying(&counts, "refused, 1,000 wait", recovery, 2 * SECOND, remark);
    proxy_stop(proxy);
}

/* guarantees: drivers.outages */
TEST(the_server_accepts_slowly)
{
    fault_proxy *proxy = proxy_start("127.0.0.1", server_port(postgresql));
    proxy_say(proxy, "accept-every 300");
    cen_pool *pool = pool_at(proxy_url(proxy, server_url(postgresql)), &(cen_pool_options){.max_concurrent_opens = 2});
    openings *seen = openings_watch(pool);
    load *l = load_start(&(load_plan){.pool = pool, .threads = THREADS, .use = ask_one});
    load_await_answers(l, 100);
    campaign_sleep(campaign_time(SECOND, 10 * SECOND));
    proxy_say(proxy, "clear");
    int64_t recovery = load_await_answers(l, 100);
    uint32_t most = openings_most(seen);
    openings_end(seen);
    load_counts counts = load_stop(l);
    expect(most <= 2);
    expect(proxy_stat(proxy, "accepted") <= 2 * CONNECTIONS);
    load_judge(&counts, "slow accept", recovery, SECOND);
    proxy_stop(proxy);
}

/* guarantees: drivers.outages */
TEST(half_of_all_connections_are_reset)
{
    fault_proxy *proxy = proxy_start("127.0.0.1", server_port(postgresql));
    cen_pool *pool = pool_at(proxy_url(proxy, server_url(postgresql)), &(cen_pool_options){.max_concurrent_opens = 2});
    load *l = load_on(pool);
    proxy_say(proxy, "reset 50% after 2000");
    proxy_say(proxy, "reset");
    campaign_sleep(campaign_time(2 * SECOND, 20 * SECOND));
    load_await_trouble(l, was_broken);
    proxy_say(proxy, "clear");
    int64_t recovery = load_await_answers(l, 100);
    load_counts counts = load_stop(l);
    load_judge(&counts, "half of the connections reset", recovery, 2 * SECOND);
    proxy_stop(proxy);
}
