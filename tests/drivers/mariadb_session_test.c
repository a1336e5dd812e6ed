/* SPDX-License-Identifier: MIT */
/* What a session is like when it is lent: settings, statements, and every way to come back dirty or broken. */
#include "drivers/mariadb_server.h"

void test_program_begin(void)
{
    mariadb = server_start(SERVER_MARIADB, NULL);
    run(admin(), "create table t (a int) engine = innodb");
    run(admin(), "insert into t values (1), (2)");
    run(admin(), "create database elsewhere");
    run(admin(), "grant all on elsewhere.* to tester@'%'");
    mysql_close(admin());
}

void test_program_end(void)
{
    server_stop(mariadb);
}

static MYSQL_STMT *prepared(MYSQL *mysql, const char *sql)
{
    MYSQL_STMT *statement = NULL;
    cen_error error = {.text = ""};
    cen_status status = cen_mariadb_prepare(mysql, sql, &statement, &error);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "%s: %s", sql, error.text);
    return statement;
}

/* Executes it with one number and answers the first of the result. */
static int ask(MYSQL_STMT *statement, int number)
{
    int answer = -1;
    MYSQL_BIND in = {.buffer_type = MYSQL_TYPE_LONG, .buffer = &number},
               out = {.buffer_type = MYSQL_TYPE_LONG, .buffer = &answer};
    expect(mysql_stmt_bind_param(statement, &in) == 0 && mysql_stmt_execute(statement) == 0);
    expect(mysql_stmt_bind_result(statement, &out) == 0 && mysql_stmt_store_result(statement) == 0);
    expect(mysql_stmt_fetch(statement) == 0);
    mysql_stmt_free_result(statement);
    return answer;
}

static cen_mariadb_cache cache(MYSQL *mysql)
{
    cen_mariadb_cache found = CEN_SIZED(cen_mariadb_cache);
    expect_equal(cen_mariadb_cache_get(mysql, &found), CEN_OK);
    return found;
}

/* ---- Settings ------------------------------------------------------------------------ */

/* guarantees: pool-api.describe */
TEST(a_connection_is_shown_by_the_servers_number_of_it)
{
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 1);
    cen_lease lease = take(pool);
    cen_object_view view = CEN_SIZED(cen_object_view);
    size_t count;
    expect_equal(cen_pool_holders(pool, &view, 1, &count), CEN_OK);
    expect_equal(count, 1);
    expect_equal(view.identity, number(lease.object, "select connection_id()"));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end_pool(pool);
}

TEST(a_session_has_the_documented_defaults)
{
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 1);
    cen_lease lease = take(pool);
    expect_text(mysql_character_set_name(lease.object), "utf8mb4");
    expect_equal(
        number(lease.object, "select @@character_set_client = 'utf8mb4' and @@character_set_results = 'utf8mb4'"), 1);
    expect_equal(number(lease.object, "select database() = 'test'"), 1);
    expect(mysql_query(lease.object, "load data local infile '/etc/hostname' into table t") != 0);
    expect(mysql_errno(lease.object) == ER_NOT_ALLOWED_COMMAND || mysql_errno(lease.object) == 4166);
    cen_pool_give(&lease);
    end_pool(pool);
}

TEST(setup_is_run_for_each_session_and_after_each_reset)
{
    cen_pool *pool = pool_with(1, .url = server_url(mariadb), .setup = "set @who = 7, time_zone = '+03:00'");
    cen_lease lease = take(pool);
    for (int i = 0; i < 3; i++) {
        expect_equal(number(lease.object, "select @who"), 7);
        expect_equal(number(lease.object, "select @@time_zone = '+03:00'"), 1);
        run(lease.object, "set @who = 8");
        cen_pool_give(&lease);
        lease = take(pool);
    }
    cen_pool_give(&lease);
    expect_equal(stats(pool).reset, 3);
    expect_equal(stats(pool).opened, 1);
    end_pool(pool);
    cen_error error = {.text = ""};
    pool = pool_with(1, .url = server_url(mariadb), .setup = "selekt");
    expect(cen_pool_take(pool, cen_in_s(5), &lease, &error) != CEN_OK);
    expect_words(error, "setup failed");
    end_pool(pool);
}

TEST(a_unix_socket_is_as_good)
{
    char url[300], path[200], *to = path;
    for (const char *at = server_directory(mariadb); *at; at++) to += snprintf(to, 8, *at == '/' ? "%%2F" : "%c", *at);
    snprintf(url, sizeof url, "mysql://tester:secret@%s%%2Fmariadb.sock/test", path);
    cen_pool *pool = pool_of(cen_mariadb(url), 2);
    cen_lease lease = take(pool);
    expect_equal(number(lease.object, "select 5"), 5);
    expect(strstr(mysql_get_host_info(lease.object), "socket"));
    cen_pool_give(&lease);
    end_pool(pool);
}

/* ---- Statements --------------------------------------------------------------------------- */

TEST(a_statement_forgets_what_another_holder_has_bound_to_it)
{
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 1);
    cen_lease lease = take(pool);
    MYSQL_STMT *statement = prepared(lease.object, "select a from t order by a");
    int theirs = 0;
    my_bool on = 1;
    MYSQL_BIND out = {.buffer_type = MYSQL_TYPE_LONG, .buffer = &theirs};
    expect(mysql_stmt_attr_set(statement, STMT_ATTR_UPDATE_MAX_LENGTH, &on) == 0 && mysql_stmt_execute(statement) == 0);
    expect(mysql_stmt_bind_result(statement, &out) == 0 && mysql_stmt_store_result(statement) == 0);
    expect(mysql_stmt_fetch(statement) == 0);
    expect_equal(theirs, 1);
    cen_pool_give(&lease);
    theirs = -7;
    lease = take(pool);
    expect(prepared(lease.object, "select a from t order by a") == statement);
    expect(mysql_stmt_attr_get(statement, STMT_ATTR_UPDATE_MAX_LENGTH, &on) == 0 && !on);
    expect(mysql_stmt_execute(statement) == 0 && mysql_stmt_store_result(statement) == 0);
    mysql_stmt_fetch(statement);
    expect_equal(theirs, -7);
    mysql_stmt_free_result(statement);
    cen_pool_give(&lease);
    end_pool(pool);
}

TEST(what_another_holder_has_sent_ahead_is_not_used)
{
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 1);
    cen_lease lease = take(pool);
    MYSQL_STMT *statement = prepared(lease.object, "select concat(?, '!')");
    char mine[] = "mine", got[20] = "";
    unsigned long length = 4;
    MYSQL_BIND none = {.buffer_type = MYSQL_TYPE_STRING};
    MYSQL_BIND out = {.buffer_type = MYSQL_TYPE_STRING, .buffer = got, .buffer_length = sizeof got};
    expect(mysql_stmt_bind_param(statement, &none) == 0 && mysql_stmt_send_long_data(statement, 0, "theirs", 6) == 0);
    cen_pool_give(&lease);
    lease = take(pool);
    statement = prepared(lease.object, "select concat(?, '!')");
    MYSQL_BIND in = {.buffer_type = MYSQL_TYPE_STRING, .buffer = mine, .buffer_length = length, .length = &length};
    expect(mysql_stmt_bind_param(statement, &in) == 0 && mysql_stmt_execute(statement) == 0);
    expect(mysql_stmt_bind_result(statement, &out) == 0 && mysql_stmt_store_result(statement) == 0);
    expect(mysql_stmt_fetch(statement) == 0);
    expect_text(got, "mine!");
    mysql_stmt_free_result(statement);
    cen_pool_give(&lease);
    end_pool(pool);
}

TEST(a_statement_is_prepared_once)
{
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 1);
    cen_lease lease = take(pool);
    MYSQL_STMT *first = prepared(lease.object, "select ? + 1");
    expect_equal(ask(first, 4), 5);
    long long before = number(lease.object, "show session status like 'Com_stmt_prepare'");
    for (int i = 0; i < 10; i++) {
        cen_pool_give(&lease);
        lease = take(pool);
        expect(prepared(lease.object, "select ? + 1") == first);
        expect_equal(ask(first, i), i + 1);
    }
    expect_equal(number(lease.object, "show session status like 'Com_stmt_prepare'"), before);
    expect_equal(cache(lease.object).hits, 10);
    expect_equal(cache(lease.object).misses, 1);
    cen_pool_give(&lease);
    expect_equal(stats(pool).reset, 0);
    end_pool(pool);
}

/* As the server counts them. */
static long long open_statements(void)
{
    MYSQL *mysql = admin();
    run(mysql, "set @unused = 1");
    expect(mysql_query(mysql, "show global status like 'Prepared_stmt_count'") == 0);
    MYSQL_RES *result = mysql_store_result(mysql);
    long long count = strtoll(mysql_fetch_row(result)[1], NULL, 10);
    mysql_free_result(result);
    return count;
}

TEST(the_least_recently_used_leaves_but_none_of_this_lease)
{
    cen_pool *pool = pool_with(1, .url = server_url(mariadb), .statements = 3);
    cen_lease lease = take(pool);
    MYSQL_STMT *mine[5];
    char sql[40];
    for (int i = 0; i < 5; i++) {
        snprintf(sql, sizeof sql, "select ? + %d", i);
        mine[i] = prepared(lease.object, sql);
    }
    for (int i = 0; i < 5; i++) expect_equal(ask(mine[i], 10), 10 + i);
    expect_equal(cache(lease.object).kept, 5);
    cen_pool_give(&lease);
    lease = take(pool);
    prepared(lease.object, "select ? + 2"); /* 2, 3 and 4 are left */
    expect_equal(cache(lease.object).kept, 3);
    prepared(lease.object, "select ? + 3");
    prepared(lease.object, "select ? + 4");
    expect_equal(cache(lease.object).hits, 3);
    expect_equal(ask(prepared(lease.object, "select ? + 0"), 3), 3);
    expect_equal(cache(lease.object).misses, 6);
    expect_equal(number(lease.object, "select 1"), 1);
    expect_soon(open_statements() == 4);
    cen_pool_give(&lease);
    end_pool(pool);
    expect_soon(open_statements() == 0);
}

TEST(one_whose_rows_are_fetched_is_not_given_again)
{
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 1);
    cen_lease lease = take(pool);
    MYSQL_STMT *outer = prepared(lease.object, "select a from t where a > ?");
    int zero = 0, a = 0, pairs = 0;
    MYSQL_BIND in = {.buffer_type = MYSQL_TYPE_LONG, .buffer = &zero},
               out = {.buffer_type = MYSQL_TYPE_LONG, .buffer = &a};
    expect(mysql_stmt_bind_param(outer, &in) == 0 && mysql_stmt_execute(outer) == 0 &&
           mysql_stmt_bind_result(outer, &out) == 0);
    expect(mysql_stmt_store_result(outer) == 0);
    while (mysql_stmt_fetch(outer) == 0) {
        MYSQL_STMT *inner = prepared(lease.object, "select a from t where a > ?");
        expect(inner != outer);
        expect_equal(ask(inner, a - 1), a);
        pairs++;
    }
    expect_equal(pairs, 2);
    expect_equal(cache(lease.object).kept, 2);
    cen_pool_give(&lease);
    end_pool(pool);
}

TEST(a_reset_of_the_session_empties_the_cache_and_a_rollback_does_not)
{
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 1);
    cen_lease lease = take(pool);
    MYSQL_STMT *first = prepared(lease.object, "select ? * 2");
    run(lease.object, "begin");
    cen_pool_give(&lease);
    lease = take(pool);
    expect_equal(stats(pool).reset, 1);
    expect(prepared(lease.object, "select ? * 2") == first);
    expect_equal(ask(first, 4), 8);
    run(lease.object, "set @a = 1");
    cen_pool_give(&lease);
    lease = take(pool);
    expect_equal(stats(pool).reset, 2);
    expect_equal(cache(lease.object).kept, 0);
    expect_equal(ask(prepared(lease.object, "select ? * 2"), 4), 8);
    /* What a holder does itself is found out, too. */
    expect_equal(mysql_reset_connection(lease.object), 0);
    expect_equal(ask(prepared(lease.object, "select ? * 2"), 5), 10);
    expect_equal(cache(lease.object).kept, 1);
    cen_pool_give(&lease);
    expect_soon(stats(pool).idle == 1);
    end_pool(pool);
    expect_soon(open_statements() == 0);
}

TEST(what_cannot_be_prepared_says_why)
{
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 1);
    cen_lease lease = take(pool);
    MYSQL_STMT *none = NULL;
    cen_error error;
    expect_equal(cen_mariadb_prepare(lease.object, "select * from nowhere", &none, &error), CEN_DRIVER);
    expect_equal(error.code, ER_NO_SUCH_TABLE);
    expect_words(error, "nowhere");
    expect_words(error, "127.0.0.1");
    expect_equal(cen_mariadb_prepare(lease.object, NULL, &none, &error), CEN_INVALID);
    expect_equal(cen_mariadb_prepare(NULL, "select 1", &none, &error), CEN_INVALID);
    expect_equal(cen_mariadb_prepare(admin(), "select 1", &none, &error), CEN_INVALID);
    expect(cut(mysql_thread_id(lease.object)));
    expect_equal(cen_mariadb_prepare(lease.object, "select 1", &none, &error), CEN_LOST);
    expect(none == NULL);
    cen_pool_give(&lease);
    lease = take(pool);
    expect_equal(number(lease.object, "select 1"), 1);
    cen_pool_give(&lease);
    end_pool(pool);
}

/* ---- Dirty -------------------------------------------------------------------------------------- */

static const char *const dirt[] = {
    "begin",
    "start transaction read only",
    "set autocommit = 0",
    "set @a = 1",
    "create temporary table left_behind (a int)",
    "set time_zone = '+05:00'",
    "set names latin1",
    "set session sql_mode = ''",
    "set session wait_timeout = 77",
    "use elsewhere",
    "prepare left_behind from 'select 1'",
    "set session transaction isolation level serializable",
};

static bool is_as_new(MYSQL *mysql)
{
    return number(mysql, "select @@in_transaction") == 0 && number(mysql, "select @@autocommit") == 1 &&
           number(mysql, "select @a") == -1 && number(mysql, "select 1 from left_behind") == -1 &&
           number(mysql, "select @@time_zone = 'SYSTEM'") == 1 &&
           number(mysql, "select @@character_set_client = 'utf8mb4'") == 1 &&
           number(mysql, "select @@sql_mode = @@global.sql_mode") == 1 &&
           number(mysql, "select @@wait_timeout = @@global.wait_timeout") == 1 &&
           number(mysql, "select database() = 'test'") == 1 && number(mysql, "execute left_behind") == -1 &&
           number(mysql, "select @@tx_isolation = 'REPEATABLE-READ'") == 1;
}

TEST(every_kind_of_dirt_is_seen_and_removed)
{
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 1);
    cen_lease lease = take(pool);
    unsigned long id = mysql_thread_id(lease.object);
    for (size_t i = 0; i < sizeof dirt / sizeof *dirt; i++) {
        run(lease.object, dirt[i]);
        cen_pool_give(&lease);
        lease = take(pool);
        if (stats(pool).reset != i + 1) test_fail(__FILE__, __LINE__, "%s: not seen, or not removed", dirt[i]);
        if (!is_as_new(lease.object)) test_fail(__FILE__, __LINE__, "%s: still there", dirt[i]);
        expect_equal(mysql_thread_id(lease.object), id);
        cen_pool_give(&lease); /* what is_as_new has asked, failures included, leaves nothing */
        lease = take(pool);
        expect_equal(stats(pool).reset, i + 1);
    }
    cen_pool_give(&lease);
    end_pool(pool);
}

TEST(a_session_that_was_rolled_back_has_written_nothing)
{
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 1);
    cen_lease lease = take(pool);
    run(lease.object, "set session completion_type = chain");
    run(lease.object, "begin");
    run(lease.object, "insert into t values (77)");
    cen_pool_give(&lease);
    lease = take(pool);
    expect_equal(number(lease.object, "select count(*) from t where a = 77"), 0);
    expect_equal(number(lease.object, "select @@in_transaction"), 0);
    cen_pool_give(&lease);
    end_pool(pool);
}

TEST(without_a_reset_what_is_dirty_is_closed)
{
    cen_pool *pool = pool_with(1, .url = server_url(mariadb), .reset = CEN_MARIADB_RESET_NOTHING);
    cen_lease lease = take(pool);
    unsigned long id = mysql_thread_id(lease.object);
    cen_pool_give(&lease);
    lease = take(pool);
    expect_equal(mysql_thread_id(lease.object), id);
    run(lease.object, "set @a = 1");
    cen_pool_give(&lease);
    lease = take(pool);
    expect(mysql_thread_id(lease.object) != id);
    expect_equal(stats(pool).reset, 0);
    cen_pool_give(&lease);
    end_pool(pool);
}

TEST(always_means_a_lock_that_nobody_told_of_is_gone_too)
{
    cen_pool *pool = pool_with(2, .url = server_url(mariadb), .reset = CEN_MARIADB_RESET_ALL);
    cen_lease lease = take(pool), other = take(pool);
    expect_equal(number(lease.object, "select get_lock('orders', 0)"), 1);
    expect_equal(number(other.object, "select get_lock('orders', 0)"), 0);
    cen_pool_give(&lease);
    expect_soon(stats(pool).reset == 1);
    expect_equal(number(other.object, "select get_lock('orders', 5)"), 1);
    cen_pool_give(&other);
    expect_soon(stats(pool).reset == 2);
    end_pool(pool);
}

/* Whether they are allowed is told by nobody: so every reset of a session forbids them. */
TEST(several_statements_in_one_text_are_forbidden_by_a_reset)
{
    for (int i = 0; i < 2; i++) {
        cen_pool *pool =
            pool_with(1, .url = server_url(mariadb), .reset = i ? CEN_MARIADB_RESET_ALL : CEN_MARIADB_RESET_CHANGED);
        cen_lease lease = take(pool);
        unsigned long id = mysql_thread_id(lease.object);
        expect_equal(mysql_set_server_option(lease.object, MYSQL_OPTION_MULTI_STATEMENTS_ON), 0);
        expect_equal(mysql_query(lease.object, "do 1; do 2"), 0);
        while (mysql_next_result(lease.object) == 0) continue;
        if (i == 0) run(lease.object, "set @left = 1");
        cen_pool_give(&lease);
        lease = take(pool);
        expect_equal(mysql_thread_id(lease.object), id);
        expect(mysql_query(lease.object, "do 1; do 2") != 0);
        expect_equal(mysql_errno(lease.object), ER_PARSE_ERROR);
        expect_equal(number(lease.object, "select 7"), 7);
        cen_pool_give(&lease);
        end_pool(pool);
    }
}

TEST(a_session_without_a_database_that_was_led_to_one_is_closed)
{
    char url[100];
    snprintf(url, sizeof url, "mariadb://tester:secret@127.0.0.1:%u", server_port(mariadb));
    cen_pool *pool = pool_of(cen_mariadb(url), 1);
    cen_lease lease = take(pool);
    unsigned long id = mysql_thread_id(lease.object);
    run(lease.object, "use test");
    cen_pool_give(&lease);
    lease = take(pool);
    expect(mysql_thread_id(lease.object) != id);
    expect_equal(number(lease.object, "select database()"), -1);
    cen_pool_give(&lease);
    end_pool(pool);
}

TEST(a_session_that_became_another_users_is_closed)
{
    run(admin(), "create user if not exists somebody@'%' identified by 'else'");
    run(admin(), "grant all on test.* to somebody@'%'");
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 1);
    cen_lease lease = take(pool);
    unsigned long id = mysql_thread_id(lease.object);
    expect_equal(mysql_change_user(lease.object, "somebody", "else", "test"), 0);
    cen_pool_give(&lease);
    lease = take(pool);
    expect(mysql_thread_id(lease.object) != id);
    expect_equal(number(lease.object, "select current_user() = 'tester@%'"), 1);
    cen_pool_give(&lease);
    end_pool(pool);
}

/* ---- Broken ---------------------------------------------------------------------------------------- */

static void leave_an_answer_unread(MYSQL *mysql)
{
    expect(mysql_query(mysql, "select 1") == 0);
}

static void leave_further_results_unread(MYSQL *mysql)
{
    mysql_set_server_option(mysql, MYSQL_OPTION_MULTI_STATEMENTS_ON);
    expect(mysql_query(mysql, "select 1; select 2") == 0);
    mysql_free_result(mysql_store_result(mysql));
}

static void leave_a_query_sent(MYSQL *mysql)
{
    expect(mysql_send_query(mysql, "select 1", 8) == 0);
}

static void leave_a_call_begun(MYSQL *mysql)
{
    static int code; /* where the library would write, were it led on */
    expect(mysql_real_query_start(&code, mysql, "select sleep(1)", 15) != 0);
}

static void leave_rows_of_a_statement_unread(MYSQL *mysql)
{
    MYSQL_STMT *statement = prepared(mysql, "select a from t where a > ?");
    int zero = 0;
    MYSQL_BIND in = {.buffer_type = MYSQL_TYPE_LONG, .buffer = &zero};
    expect(mysql_stmt_bind_param(statement, &in) == 0 && mysql_stmt_execute(statement) == 0);
}

TEST(an_answer_that_was_not_read_ends_the_connection)
{
    static void (*const leave[])(MYSQL * mysql) = {leave_an_answer_unread, leave_further_results_unread,
                                                   leave_rows_of_a_statement_unread, leave_a_query_sent,
                                                   leave_a_call_begun};
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 1);
    for (size_t i = 0; i < sizeof leave / sizeof *leave; i++) {
        cen_lease lease = take(pool);
        unsigned long id = mysql_thread_id(lease.object);
        leave[i](lease.object);
        cen_pool_give(&lease);
        lease = take(pool);
        if (mysql_thread_id(lease.object) == id) test_fail(__FILE__, __LINE__, "case %zu: not seen", i);
        expect_equal(number(lease.object, "select 9"), 9);
        cen_pool_give(&lease);
    }
    end_pool(pool);
    expect_soon(connections() == 0);
}

TEST(a_command_without_an_answer_is_no_reason_to_close)
{
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 1);
    cen_lease lease = take(pool);
    MYSQL_STMT *own = mysql_stmt_init(lease.object);
    expect(own && mysql_stmt_prepare(own, "select 1", 8) == 0);
    mysql_stmt_close(own); /* the last that it sends */
    cen_pool_give(&lease);
    lease = take(pool);
    expect_equal(number(lease.object, "select 9"), 9);
    cen_pool_give(&lease);
    expect_equal(stats(pool).opened, 1);
    end_pool(pool);
}

/* The session that its holder began anew has none of the settings by which the server tells of changes. */
TEST(a_session_that_its_holder_has_reset_is_watched_all_the_same)
{
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 1);
    for (int i = 0; i < 2; i++) {
        cen_lease lease = take(pool);
        if (i == 0) expect(mysql_reset_connection(lease.object) == 0);
        else expect(mysql_change_user(lease.object, "tester", "secret", "test") == 0);
        run(lease.object, "set @left = 5");
        cen_pool_give(&lease);
        lease = take(pool);
        expect_equal(number(lease.object, "select @left"), -1);
        run(lease.object, "set @left = 6");
        cen_pool_give(&lease);
        lease = take(pool);
        expect_equal(number(lease.object, "select @left"), -1);
        cen_pool_give(&lease);
    }
    expect_equal(stats(pool).opened, 1);
    end_pool(pool);
}

/* What mysql_real_escape_string does depends on the library's side. */
TEST(a_character_set_is_put_back_on_both_sides)
{
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 1);
    for (int i = 0; i < 2; i++) {
        cen_lease lease = take(pool);
        if (i == 0) expect(mysql_set_character_set(lease.object, "gbk") == 0);
        else run(lease.object, "set names gbk");
        cen_pool_give(&lease);
        lease = take(pool);
        expect_equal(number(lease.object, "select @@character_set_client = 'utf8mb4'"), 1);
        expect_text(mysql_character_set_name(lease.object), "utf8mb4");
        cen_pool_give(&lease);
    }
    expect_equal(stats(pool).opened, 1);
    end_pool(pool);
}

TEST(a_test_that_nobody_answers_fails_in_its_time)
{
    cen_pool *pool = NULL;
    cen_mariadb_options driver =
        CEN_MARIADB_OPTIONS(.url = server_url(mariadb), .test_timeout_ns = 200000000, .connect_timeout_ns = 200000000);
    cen_pool_options options =
        CEN_POOL_OPTIONS(.driver = cen_mariadb_with(&driver), .max = 1, .test_after_idle_ns = CEN_US(100));
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    cen_lease lease = take(pool);
    cen_pool_give(&lease);
    server_pause(mariadb);
    pause_ms(5);
    int64_t begin = cen_clock();
    cen_error error = {.text = ""};
    cen_status status = cen_pool_take(pool, cen_in_ms(900), &lease, &error);
    int64_t took = cen_clock() - begin;
    expect_soon(stats(pool).test_failed == 1); /* while the server is still silent */
    server_resume(mariadb);
    expect(status != CEN_OK);
    expect(took >= 190000000);
    expect_equal(stats(pool).test_failed, 1);
    lease = take_after_outage(pool);
    expect_equal(number(lease.object, "select 9"), 9);
    cen_pool_give(&lease);
    end_pool(pool);
}

/* ---- A transaction that was left open ---------------------------------------------------------- */

static char left[CEN_ERROR_TEXT_SIZE];
static unsigned left_count;

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
    cen_pool *pool = pool_of(cen_mariadb(server_url(mariadb)), 1);
    expect_equal(cen_pool_listen(pool, on_left_open, NULL, NULL), CEN_OK);
    for (int i = 0; i < 4; i++) {
        cen_lease lease;
        expect_equal(cen_pool_take_at(pool, cen_in_s(10), &lease, NULL, "orders.c:40"), CEN_OK);
        if (i == 0) run(lease.object, "set @mine = 1"); /* reset, and no transaction */
        if (i >= 2) run(lease.object, "start transaction");
        expect_equal(cen_pool_give(&lease), CEN_OK);
    }
    end_pool(pool);
    expect_equal(left_count, 1);
    expect(strstr(left, "transaction left open by orders.c:40") != NULL);
}
