/* SPDX-License-Identifier: MIT */
/* A MariaDB for all tests of a program, a way to ask it as its administrator, and short forms. */
#ifndef TESTS_DRIVERS_MARIADB_SERVER_H
#define TESTS_DRIVERS_MARIADB_SERVER_H

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cenote/cenote.h>
#include <cenote/mariadb.h>
#include <cenote/poller.h>
#include <errmsg.h>
#include <mysqld_error.h>

#include "support/servers.h"
#include "support/test.h"

static server *mariadb;

static inline void pause_ms(int ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

#define expect_soon(condition) \
    do { \
        for (int tries_ = 0; !(condition) && tries_ < 6000; tries_++) pause_ms(10); \
        expect(condition); \
    } while (0)

#define expect_words(error, words) \
    do { \
        if (!strstr((error).text, (words))) \
            test_fail(__FILE__, __LINE__, "\"%s\" has no \"%s\"", (error).text, words); \
    } while (0)

/* A plain connection, made by nobody's pool: NULL if the server will not have it. */
static inline MYSQL *dial(const char *user, const char *password, unsigned *number)
{
    MYSQL *mysql = mysql_init(NULL);
    expect(mysql != NULL);
    if (mysql_real_connect(mysql, "127.0.0.1", user, password, "test", server_port(mariadb), NULL, 0)) return mysql;
    if (number) *number = mysql_errno(mysql);
    mysql_close(mysql);
    return NULL;
}

/* One for each process: a test's process is a fork of the program's. */
static inline MYSQL *admin(void)
{
    static MYSQL *connection;
    static pid_t process;
    if (process != getpid() || (connection && mysql_ping(connection) != 0)) connection = NULL;
    process = getpid();
    if (!connection) connection = dial("admin", "commander", NULL);
    expect(connection != NULL);
    return connection;
}

static inline void run_at(int line, MYSQL *mysql, const char *sql)
{
    if (mysql_query(mysql, sql) != 0) test_fail(__FILE__, line, "%s: %s", sql, mysql_error(mysql));
    mysql_free_result(mysql_store_result(mysql));
}
#define run(mysql, sql) run_at(__LINE__, (mysql), (sql))

/* The first column of the first row as a number; -1: it is null, there is none, or the statement failed. */
static inline long long number(MYSQL *mysql, const char *sql)
{
    long long n = -1;
    if (mysql_query(mysql, sql) != 0) return -1;
    MYSQL_RES *result = mysql_store_result(mysql);
    MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
    if (row && row[0]) n = strtoll(row[0], NULL, 10);
    mysql_free_result(result);
    return n;
}

/* Connections of the pools' user. */
static inline int connections(void)
{
    return (int)number(admin(), "select count(*) from information_schema.processlist where user = 'tester'");
}

static inline bool is_there(uint64_t id)
{
    char sql[100];
    snprintf(sql, sizeof sql, "select count(*) from information_schema.processlist where id = %llu",
             (unsigned long long)id);
    return number(admin(), sql) == 1;
}

static inline bool cut(uint64_t id)
{
    char sql[60];
    snprintf(sql, sizeof sql, "kill %llu", (unsigned long long)id);
    if (mysql_query(admin(), sql) != 0) return false;
    for (int i = 0; is_there(id) && i < 500; i++) pause_ms(10);
    return !is_there(id);
}

static inline cen_pool *pool_at(int line, cen_driver driver, uint32_t max)
{
    cen_pool *pool = NULL;
    cen_error error = {.text = ""};
    cen_pool_options options =
        CEN_POOL_OPTIONS(.name = "orders", .driver = driver, .max = max, .breaker_wait_ns = INT64_C(250000000));
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) test_fail(__FILE__, line, "cen_pool_new: %s", error.text);
    return pool;
}
#define pool_of(driver, max) pool_at(__LINE__, (driver), (max))
#define pool_with(most, ...) pool_of(cen_mariadb_with(&CEN_MARIADB_OPTIONS(__VA_ARGS__)), (most))

static inline cen_lease take_at(int line, cen_pool *pool)
{
    cen_lease lease = {0};
    cen_error error = {.text = ""};
    if (cen_pool_take(pool, cen_in_s(20), &lease, &error) != CEN_OK) test_fail(__FILE__, line, "take: %s", error.text);
    return lease;
}
#define take(pool) take_at(__LINE__, (pool))

/* After an outage: the breaker may be open for a while, and takes fail at once. */
static inline cen_lease take_after_outage(cen_pool *pool)
{
    cen_lease lease = {0};
    cen_error error = {.text = ""};
    cen_deadline deadline = cen_deadline_fix(cen_in_s(20));
    cen_status status = CEN_OK;
    for (int i = 0; i < 1000 && (status = cen_pool_take(pool, deadline, &lease, &error)) != CEN_OK; i++) pause_ms(20);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "take: %s", error.text);
    return lease;
}

static inline cen_pool_stats stats(cen_pool *pool)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(pool, &s), CEN_OK);
    return s;
}

static inline void end_pool(cen_pool *pool)
{
    expect_equal(cen_pool_close(pool, cen_in_s(10), NULL, NULL), CEN_OK);
    expect_equal(cen_pool_free(pool), CEN_OK);
}

/* A minute, unless it is interrupted. */
static inline bool hang(void *mysql)
{
    if (mysql_query(mysql, "select sleep(60)") != 0) return true;
    MYSQL_RES *result = mysql_store_result(mysql);
    mysql_free_result(result);
    return !result;
}

#endif
