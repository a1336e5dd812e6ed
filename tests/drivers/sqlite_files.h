/* SPDX-License-Identifier: MIT */
/* Databases in temporary directories, and short forms for what tests do with them. */
#ifndef TESTS_DRIVERS_SQLITE_FILES_H
#define TESTS_DRIVERS_SQLITE_FILES_H

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cenote/cenote.h>
#include <cenote/sqlite.h>

#include "support/test.h"

static char root[64], place[80], file[96];

static int remove_one(const char *path, const struct stat *what, int kind, struct FTW *where)
{
    (void)what, (void)kind, (void)where;
    return remove(path);
}

/* One directory for the program, which goes when all its tests are done, failed ones included. */
static inline void begin_places(void)
{
    snprintf(root, sizeof root, "/tmp/cenote-sqlite-test-XXXXXX");
    expect(mkdtemp(root) != NULL);
    expect(chmod(root, 0755) == 0);
}

static inline void end_places(void)
{
    expect(nftw(root, remove_one, 10, FTW_DEPTH | FTW_PHYS) == 0);
}

/* A directory in it of the test's own. */
static inline const char *make_place(void)
{
    snprintf(place, sizeof place, "%s/%d", root, (int)getpid());
    expect(mkdir(place, 0755) == 0);
    snprintf(file, sizeof file, "%s/db", place);
    return file;
}

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

static inline cen_pool *pool_at(int line, cen_driver driver, uint32_t max)
{
    cen_pool *pool = NULL;
    cen_error error = {.text = ""};
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "orders", .driver = driver, .max = max);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) test_fail(__FILE__, line, "cen_pool_new: %s", error.text);
    return pool;
}
#define pool_of(driver, max) pool_at(__LINE__, (driver), (max))
#define pool_with(most, ...) pool_of(cen_sqlite_with(&CEN_SQLITE_OPTIONS(__VA_ARGS__)), (most))

static inline cen_lease take_at(int line, cen_pool *pool)
{
    cen_lease lease = {0};
    cen_error error = {.text = ""};
    if (cen_pool_take(pool, cen_in_s(20), &lease, &error) != CEN_OK) test_fail(__FILE__, line, "take: %s", error.text);
    return lease;
}
#define take(pool) take_at(__LINE__, (pool))

static inline void end_pool(cen_pool *pool)
{
    expect_equal(cen_pool_close(pool, cen_in_s(10), NULL, NULL), CEN_OK);
    expect_equal(cen_pool_free(pool), CEN_OK);
}

static inline void run_at(int line, sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        test_fail(__FILE__, line, "%s: %s", sql, sqlite3_errmsg(db));
}
#define run(db, sql) run_at(__LINE__, (db), (sql))

/* The first column of the first row; -1 if there is none. */
static inline int64_t number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t n = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        n = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return n;
}

/* What the first opening of a pool answers, and its words. */
static inline cen_status refused(cen_driver driver, cen_error *error)
{
    cen_pool *pool;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "orders", .driver = driver, .eager = true, .max = 1);
    *error = (cen_error){.text = ""};
    cen_status status = cen_pool_new(&options, &pool, error);
    printf("     %s %d: %s\n", cen_status_name(status), error->code, error->text);
    return status;
}

#define expect_words(error, words) \
    do { \
        if (!strstr((error).text, (words))) \
            test_fail(__FILE__, __LINE__, "\"%s\" has no \"%s\"", (error).text, words); \
    } while (0)

#endif
