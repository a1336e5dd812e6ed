/* SPDX-License-Identifier: MIT */
/* One writer and its readers. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "drivers/sqlite_files.h"

void test_program_begin(void)
{
    begin_places();
}

void test_program_end(void)
{
    end_places();
}

static cen_sqlite_pool *open_both(const cen_sqlite_pool_options *options)
{
    cen_sqlite_pool *both = NULL;
    cen_error error = {.text = ""};
    if (cen_sqlite_pool_new(options, &both, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    return both;
}
#define both_with(...) open_both(&CEN_SQLITE_POOL_OPTIONS(__VA_ARGS__))

static void end_both(cen_sqlite_pool *both)
{
    cen_error error = {.text = ""};
    cen_status status = cen_sqlite_pool_close(both, cen_in_s(10), &error);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "close: %s", error.text);
    expect_equal(cen_sqlite_pool_free(both), CEN_OK);
}

TEST(the_writer_writes_and_readers_read_at_the_same_time)
{
    cen_sqlite_pool *both = both_with(.name = "orders", .path = make_place(), .readers = 2);
    expect_text(cen_pool_name(cen_sqlite_pool_writer(both)), "orders-writer");
    expect_text(cen_pool_name(cen_sqlite_pool_readers(both)), "orders-readers");
    expect_equal(cen_pool_max(cen_sqlite_pool_writer(both)), 1);
    expect_equal(cen_pool_max(cen_sqlite_pool_readers(both)), 2);
    cen_lease writer = take(cen_sqlite_pool_writer(both));
    run(writer.object, "create table t (a); insert into t values (1)");
    expect_equal(cen_sqlite_begin(writer.object, NULL), CEN_OK);
    run(writer.object, "insert into t values (2)");
    cen_lease reader = take(cen_sqlite_pool_readers(both));
    expect_equal(number(reader.object, "select count(*) from t"), 1);
    expect_equal(cen_sqlite_commit(writer.object, NULL), CEN_OK);
    expect_equal(number(reader.object, "select count(*) from t"), 2);
    cen_pool_stats w = CEN_SIZED(cen_pool_stats), r = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_sqlite_pool_stats_get(both, &w, &r), CEN_OK);
    expect_equal(w.held, 1);
    expect_equal(r.held, 1);
    cen_pool_give(&reader);
    cen_pool_give(&writer);
    end_both(both);
    char log[120];
    snprintf(log, sizeof log, "%s-wal", file);
    expect_equal(access(log, F_OK), -1); /* the writer was the last, and has put it away */
}

TEST(a_write_through_a_reader_fails_with_a_clear_error)
{
    cen_sqlite_pool *both = both_with(.path = make_place());
    cen_lease writer = take(cen_sqlite_pool_writer(both)), reader = take(cen_sqlite_pool_readers(both));
    run(writer.object, "create table t (a)");
    cen_error error;
    int code = sqlite3_exec(reader.object, "insert into t values (1)", NULL, NULL, NULL);
    expect_equal(code, SQLITE_READONLY);
    expect_equal(cen_sqlite_error_get(reader.object, code, &error), CEN_DRIVER);
    printf("     %s\n", error.text);
    expect_words(error, "read-only connection of a reader");
    expect_equal(cen_sqlite_begin(reader.object, &error), CEN_MISUSE);
    expect_words(error, "writer");
    /* Not even one that was told otherwise: the file itself is open for reading only. */
    run(reader.object, "pragma query_only = off");
    expect_equal(sqlite3_exec(reader.object, "insert into t values (1)", NULL, NULL, NULL), SQLITE_READONLY);
    expect_equal(cen_sqlite_begin(writer.object, &error), CEN_OK);
    expect_equal(cen_sqlite_begin(writer.object, &error), CEN_MISUSE);
    expect_words(error, "a transaction is already open");
    expect_equal(cen_sqlite_rollback(writer.object, &error), CEN_OK);
    expect_equal(cen_sqlite_rollback(writer.object, &error), CEN_OK);
    cen_pool_give(&reader);
    cen_pool_give(&writer);
    end_both(both);
}

TEST(memory_is_shared_by_the_writer_and_its_readers)
{
    cen_sqlite_pool *both = both_with(.path = ":memory:");
    cen_lease writer = take(cen_sqlite_pool_writer(both));
    run(writer.object, "create table t (a); insert into t values (1)");
    cen_lease reader = take(cen_sqlite_pool_readers(both));
    expect_equal(number(reader.object, "select a from t"), 1);
    expect_equal(sqlite3_exec(reader.object, "insert into t values (1)", NULL, NULL, NULL), SQLITE_READONLY);
    cen_pool_give(&reader);
    cen_pool_give(&writer);
    cen_pool_reap(cen_sqlite_pool_writer(both), 0, NULL, NULL);
    cen_pool_reap(cen_sqlite_pool_readers(both), 0, NULL, NULL);
    reader = take(cen_sqlite_pool_readers(both));
    expect_equal(number(reader.object, "select a from t"), 1);
    cen_pool_give(&reader);
    end_both(both);
}

TEST(readers_can_be_opened_while_there_is_no_writer)
{
    cen_sqlite_pool *both = both_with(.path = make_place());
    cen_lease writer = take(cen_sqlite_pool_writer(both));
    run(writer.object, "create table t (a); insert into t values (1)");
    cen_pool_give(&writer);
    uint32_t reaped = 0;
    cen_pool_reap(cen_sqlite_pool_writer(both), 0, &reaped, NULL); /* as the last it has put the log away */
    expect_equal(reaped, 1);
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    expect_soon(cen_pool_stats_get(cen_sqlite_pool_writer(both), &s) == CEN_OK && s.closed == 1);
    cen_lease reader = take(cen_sqlite_pool_readers(both));
    expect_equal(number(reader.object, "select a from t"), 1);
    writer = take(cen_sqlite_pool_writer(both));
    run(writer.object, "insert into t values (2)");
    expect_equal(number(reader.object, "select count(*) from t"), 2);
    cen_pool_give(&reader);
    cen_pool_give(&writer);
    end_both(both);
}

TEST(what_cannot_be_opened_fails_at_once_and_leaves_nothing)
{
    cen_sqlite_pool *both = NULL;
    cen_error error = {.text = ""};
    char path[200];
    make_place();
    snprintf(path, sizeof path, "%s/nowhere/x.db", place);
    expect_equal(cen_sqlite_pool_new(&CEN_SQLITE_POOL_OPTIONS(.path = path), &both, &error), CEN_DRIVER);
    expect_words(error, "no such file or directory");
    expect_equal(cen_sqlite_pool_new(&CEN_SQLITE_POOL_OPTIONS(.readers = 3), &both, &error), CEN_INVALID);
    expect_words(error, "path");
    cen_sqlite_options database = CEN_SQLITE_OPTIONS(.path = file, .read_only = true);
    expect_equal(cen_sqlite_pool_new(&CEN_SQLITE_POOL_OPTIONS(.database = &database), &both, &error), CEN_INVALID);
    expect_equal(cen_sqlite_pool_new(NULL, &both, &error), CEN_INVALID);
    expect(both == NULL);
    expect_equal(cen_sqlite_pool_free(NULL), CEN_OK);
}

TEST(close_tells_who_still_has_one)
{
    cen_sqlite_pool *both = both_with(.path = make_place());
    cen_lease writer = take(cen_sqlite_pool_writer(both));
    cen_error error;
    expect_equal(cen_sqlite_pool_close(both, cen_in_ms(20), &error), CEN_TIMEOUT);
    expect_equal(cen_pool_give(&writer), CEN_REVOKED);
    expect_equal(cen_sqlite_pool_free(both), CEN_OK);
}

/* ---- Eight threads ------------------------------------------------------------------- */

enum { WRITERS = 4, READERS = 4, ROUNDS = 150 };
static cen_sqlite_pool *crowd;
static atomic_int written, counted;

static void fine(sqlite3 *db, int code)
{
    cen_error error;
    if (cen_sqlite_error_get(db, code, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
}

static void *write_some(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        cen_lease lease = take(cen_sqlite_pool_writer(crowd));
        cen_error error = {.text = ""};
        sqlite3_stmt *insert;
        if (cen_sqlite_begin(lease.object, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
        if (cen_sqlite_prepare(lease.object, "insert into t values (?)", &insert, &error) != CEN_OK)
            test_fail(__FILE__, __LINE__, "%s", error.text);
        for (int k = 0; k < 2; k++) { /* two rows or none */
            sqlite3_bind_int(insert, 1, i);
            fine(lease.object, sqlite3_step(insert));
            sqlite3_reset(insert);
        }
        if (i % 10 == 9) { /* some forget */
            cen_pool_give(&lease);
            continue;
        }
        if (cen_sqlite_commit(lease.object, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
        written += 2;
        cen_pool_give(&lease);
    }
    return unused;
}

static void *read_some(void *unused)
{
    int64_t last = 0;
    for (int i = 0; i < ROUNDS; i++) {
        cen_lease lease = take(cen_sqlite_pool_readers(crowd));
        sqlite3_stmt *count;
        cen_error error = {.text = ""};
        if (cen_sqlite_prepare(lease.object, "select count(*) from t", &count, &error) != CEN_OK)
            test_fail(__FILE__, __LINE__, "%s", error.text);
        fine(lease.object, sqlite3_step(count));
        int64_t now = sqlite3_column_int64(count, 0);
        if (i % 10 != 9) sqlite3_reset(count);
        if (now < last || now % 2)
            test_fail(__FILE__, __LINE__, "saw %lld rows after %lld", (long long)now, (long long)last);
        last = now;
        counted++;
        cen_pool_give(&lease);
    }
    return unused;
}

TEST(eight_threads_write_and_read_and_nobody_meets_a_lock)
{
    /* what is locked would say so at once */
    cen_sqlite_options database = CEN_SQLITE_OPTIONS(.busy_timeout_ns = CEN_NONE);
    crowd = both_with(.path = make_place(), .readers = 3, .database = &database);
    cen_lease lease = take(cen_sqlite_pool_writer(crowd));
    run(lease.object, "create table t (a); pragma wal_autocheckpoint = 20");
    cen_pool_give(&lease);
    pthread_t threads[WRITERS + READERS];
    for (int i = 0; i < WRITERS + READERS; i++)
        expect_equal(pthread_create(&threads[i], NULL, i < WRITERS ? write_some : read_some, NULL), 0);
    for (int i = 0; i < WRITERS + READERS; i++) pthread_join(threads[i], NULL);
    expect_equal(written, WRITERS * ROUNDS * 9 / 10 * 2);
    expect_equal(counted, READERS * ROUNDS);
    lease = take(cen_sqlite_pool_readers(crowd));
    expect_equal(number(lease.object, "select count(*) from t"), written);
    cen_pool_give(&lease);
    cen_pool_stats w = CEN_SIZED(cen_pool_stats), r = CEN_SIZED(cen_pool_stats);
    expect_soon(cen_sqlite_pool_stats_get(crowd, &w, &r) == CEN_OK && w.resetting == 0);
    expect_equal(w.opened, 1);
    expect_equal(w.reset, WRITERS * ROUNDS / 10);
    expect(r.opened <= 3);
    end_both(crowd);
}

TEST(a_child_of_a_fork_is_refused_by_both)
{
    cen_sqlite_pool *both = both_with(.path = make_place());
    cen_lease reader = take(cen_sqlite_pool_readers(both));
    fflush(stdout);
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        cen_lease lease;
        alarm(60);
        if (cen_pool_take(cen_sqlite_pool_writer(both), cen_in_s(1), &lease, NULL) != CEN_FORKED) _exit(1);
        if (cen_pool_take(cen_sqlite_pool_readers(both), cen_in_s(1), &lease, NULL) != CEN_FORKED) _exit(2);
        _exit(cen_sqlite_pool_free(both) == CEN_OK ? 0 : 3);
    }
    expect(waitpid(child, &status, 0) == child);
    expect_equal(status, 0);
    expect_equal(number(reader.object, "select 1"), 1);
    cen_pool_give(&reader);
    end_both(both);
}

/* ---- A transaction that was left open ---------------------------------------------------------- */

static char left[CEN_ERROR_TEXT_SIZE];
static atomic_uint left_count;

static void on_left_open(void *argument, const cen_event *event, uint64_t missed)
{
    (void)argument;
    (void)missed;
    if (event->kind != CEN_EVENT_LEFT_OPEN) return;
    snprintf(left, sizeof left, "%s", event->text);
    left_count++;
}

/* guarantees: drivers.left-open */
TEST(a_transaction_left_open_is_told_once_with_its_call_site)
{
    cen_sqlite_pool *both = both_with(.name = "orders", .path = make_place());
    cen_pool *writer = cen_sqlite_pool_writer(both);
    expect_equal(cen_pool_listen(writer, on_left_open, NULL, NULL), CEN_OK);
    for (int i = 0; i < 3; i++) {
        cen_lease lease;
        expect_equal(cen_pool_take_at(writer, cen_in_s(10), &lease, NULL, "orders.c:40"), CEN_OK);
        if (i != 1) run(lease.object, "begin immediate");
        expect_equal(cen_pool_give(&lease), CEN_OK);
    }
    end_both(both);
    expect_equal(left_count, 1);
    expect_text(left, "pool \"orders-writer\": transaction left open by orders.c:40");
}
