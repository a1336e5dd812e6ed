/* SPDX-License-Identifier: MIT */
/*
 * A driver of your own, for a server of your own. own_driver.h is the driver, in fewer than 100 lines. lines.h has the
 * client library and the server that stand for yours.
 *
 *     a holder forgets a transaction          the next one finds the old value
 *     a holder asks for a minute of work      and is interrupted after 0.2 s
 *     the server ends an idle connection      and no take gets it
 *     the server is gone                      and the pool reports that
 */
#include "own_driver.h"

static int surprises;
static own_server server = {.timeout_ms = 1000, .user = "tester", .password = "secret"};

static void expect_that(bool holds, const char *what)
{
    if (!holds) surprises++;
    printf("  %s %s\n", holds ? "ok:    " : "FAILED:", what);
}

static bool says(own_object *object, const char *question, const char *expected)
{
    char answer[120];
    line_ask(&object->line, question, answer, sizeof answer);
    return strcmp(answer, expected) == 0;
}

static void forget_a_transaction(cen_pool *pool)
{
    cen_error error = {.text = ""};
    CEN_WITH (pool, cen_in_s(5), own_object *, object, &error) {
        expect_that(says(object, "add 20 22", "ok 42"), "20 + 22 = 42");
        says(object, "set before", "ok");
        expect_that(says(object, "begin", "ok") && says(object, "set half-done", "ok"),
                    "a transaction is begun and forgotten");
    } else {
        expect_that(false, error.text);
    }
    CEN_WITH (pool, cen_in_s(5), own_object *, object, &error) {
        expect_that(says(object, "get", "ok before"), "the next holder finds it rolled back");
    }
}

static void work_for_too_long(cen_pool *pool)
{
    char answer[120];
    cen_lease lease;
    cen_error error = {.text = ""};
    if (cen_pool_take(pool, cen_in_s(5), &lease, &error) != CEN_OK) return expect_that(false, error.text);
    own_object *object = lease.object;
    int64_t begin = cen_clock();
    expect_that(!line_ask(&object->line, "sleep 60000", answer, sizeof answer), "a minute of work fails");
    expect_that(cen_clock() - begin < 5000000000, "it is interrupted soon");
    expect_that(cen_pool_give(&lease) == CEN_REVOKED, "the lease was revoked");
}

static void lose_one(cen_pool *pool)
{
    char answer[120], kill_it[130];
    line admin;
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    CEN_WITH (pool, cen_in_s(5), own_object *, object, NULL) line_ask(&object->line, "who", answer, sizeof answer);
    snprintf(kill_it, sizeof kill_it, "kill %s", answer + 3);
    expect_that(line_connect(&admin, server.port, 1000) &&
                    line_ask(&admin, "hello admin commander", answer, sizeof answer) &&
                    line_ask(&admin, kill_it, answer, sizeof answer),
                "the server ends an idle connection");
    close(admin.fd);
    poll(NULL, 0, 20);
    CEN_WITH (pool, cen_in_s(5), own_object *, object, NULL) {
        expect_that(says(object, "ping", "ok"), "no take gets it");
    }
    cen_pool_stats_get(pool, &stats);
    expect_that(stats.test_failed == 1 && stats.reset == 1, "a health check found it");
}

int main(void)
{
    pid_t process = lines_start(10, &server.port);
    if (process < 0) return perror("the server"), 1;
    cen_pool *pool;
    cen_error error;
    cen_pool_options options =
        CEN_POOL_OPTIONS(.name = "lines", .driver = {&own_calls, &server}, .max = 1, .max_hold_ns = CEN_MS(200),
                         .test_after_idle_ns = CEN_MS(10), .breaker_failures = 1, .breaker_wait_ns = CEN_OFF);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) return puts(error.text), 1;
    puts("A pool with a driver of your own:");
    forget_a_transaction(pool);
    work_for_too_long(pool);
    lose_one(pool);
    lines_stop(process);
    cen_lease lease;
    poll(NULL, 0, 20);
    expect_that(cen_pool_take(pool, cen_in_s(5), &lease, &error) != CEN_OK, "the server is gone, and a take fails:");
    printf("           %s\n", error.text);
    expect_that(cen_pool_close(pool, cen_in_s(5), NULL, NULL) == CEN_OK && cen_pool_free(pool) == CEN_OK,
                "the pool is closed");
    return surprises ? 1 : 0;
}
