/* SPDX-License-Identifier: MIT */
/*
 * The table of docs/outages.md: three threads take, use and give without a break, each take with a deadline of 2.8 s, through
 * an outage of the server. Time is virtual, so the figures are the same in every run.
 */
#include "unit/pool/scripted.h"

enum { THREADS = 3, USE_MS = 5, DEADLINE_MS = 2800 };

typedef struct figures {
    unsigned failed;
    int64_t soonest_ns, latest_ns; /* of those that failed: after how long they were told */
} figures;

static script s;
static int64_t over_at; /* the end of the run */
static figures seen;

static void use(void *pool)
{
    while (cen_clock() < over_at) {
        cen_lease lease;
        int64_t began = cen_clock();
        cen_status status = cen_pool_take(pool, cen_in_ms(DEADLINE_MS), &lease, NULL);
        int64_t took = cen_clock() - began;
        if (status == CEN_OK) {
            ceni_sleep_until(cen_clock() + USE_MS * MS);
            give_back(&lease);
            continue;
        }
        seen.failed++;
        if (took < seen.soonest_ns) seen.soonest_ns = took;
        if (took > seen.latest_ns) seen.latest_ns = took;
        ceni_sleep_until(cen_clock() + USE_MS * MS); /* its caller has something else to do for as long */
    }
}

static figures go_through(int64_t outage_ns, int64_t breaker_wait_ns)
{
    s = (script){.of[CALL_OPEN] = {.takes_ns = MS}};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = THREADS, .breaker_wait_ns = breaker_wait_ns);
    ceni_thread threads[THREADS];
    seen = (figures){.soonest_ns = INT64_MAX};
    warm_up(pool, THREADS);
    fail_all(&s, CALL_OPEN);
    expect_equal(cen_pool_reap(pool, 0, NULL, NULL), CEN_OK); /* the server is gone, and with it what was open */
    over_at = cen_clock() + outage_ns + SECOND;
    for (int i = 0; i < THREADS; i++) threads[i] = start("user", use, pool);
    pass(outage_ns);
    recover(&s, CALL_OPEN);
    pass(SECOND + DEADLINE_MS * MS);
    for (int i = 0; i < THREADS; i++) join(threads[i]);
    end_life(&s, pool);
    return seen;
}

static const int64_t outages[] = {300 * MS, 2000 * MS, 4000 * MS, 10000 * MS};
enum { OUTAGES = 4 };

/* One row. */
static void measure(const char *name, int64_t breaker_wait_ns, figures row[OUTAGES])
{
    char line[300];
    int used = snprintf(line, sizeof line, "     | %s |", name);
    for (int i = 0; i < OUTAGES; i++) {
        row[i] = go_through(outages[i], breaker_wait_ns);
        used +=
            snprintf(line + used, sizeof line - (size_t)used, row[i].failed ? " %u, after %lld to %lld ms |" : " %u |",
                     row[i].failed, (long long)(row[i].soonest_ns / MS), (long long)(row[i].latest_ns / MS));
    }
    printf("%s\n", line);
}

/* guarantees: life.L11-breaker */
TEST(with_off_takes_fail_at_once_in_each_outage)
{
    figures row[OUTAGES];
    measure("`CEN_OFF`", CEN_OFF, row);
    for (int i = 0; i < OUTAGES; i++) expect(row[i].failed > 0 && row[i].soonest_ns < 50 * MS);
}

/* guarantees: life.L11-breaker */
TEST(by_default_only_takes_whose_deadline_comes_before_the_end_fail_in_an_outage_of_less_than_5_s)
{
    figures row[OUTAGES];
    measure("5 s (default)", 0, row);
    expect_equal(row[0].failed + row[1].failed, 0);
    expect_equal(row[2].soonest_ns, DEADLINE_MS * MS);
    expect(row[3].soonest_ns < DEADLINE_MS * MS);
}

/* guarantees: life.L11-breaker */
TEST(with_the_whole_deadline_no_take_fails_before_it)
{
    figures row[OUTAGES];
    measure("`CEN_WHOLE_DEADLINE`", CEN_WHOLE_DEADLINE, row);
    expect_equal(row[0].failed + row[1].failed, 0);
    for (int i = 2; i < OUTAGES; i++) expect_equal(row[i].soonest_ns, DEADLINE_MS * MS);
}
