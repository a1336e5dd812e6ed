/* SPDX-License-Identifier: MIT */
/* The suite that every driver passes, for MariaDB: with calls that block, and over a poller. */
#include "drivers/conformance.h"
#include "drivers/mariadb_server.h"

enum { MOST = 12 };

void test_program_begin(void)
{
    mariadb = server_start(SERVER_MARIADB, (const char *const[]){"max_connections=12", NULL});
}

void test_program_end(void)
{
    server_stop(mariadb);
}

static cen_driver driver_with(const char *url, int64_t timeout_ns, cen_poller *poller)
{
    static cen_mariadb_options options;
    options = CEN_MARIADB_OPTIONS(.url = url, .connect_timeout_ns = timeout_ns, .poller = poller);
    return cen_mariadb_with(&options);
}

static cen_driver blocking_driver(const char *url, int64_t timeout_ns)
{
    return timeout_ns ? driver_with(url, timeout_ns, NULL) : cen_mariadb(url);
}

static cen_driver polled_driver(const char *url, int64_t timeout_ns)
{
    static cen_poller *poller; /* one for each test's process */
    if (!poller) {
        cen_poller_options options = CEN_POLLER_OPTIONS(.name = "mariadb");
        expect_equal(cen_poller_new(&options, &poller, NULL), CEN_OK);
    }
    return driver_with(url, timeout_ns, poller);
}

static const char *good(void)
{
    return server_url(mariadb);
}

static const char *at(uint16_t port)
{
    static char url[100];
    snprintf(url, sizeof url, "mariadb://tester:secret@127.0.0.1:%u/test", port);
    return url;
}

static const char *wrong(void)
{
    static char url[100];
    snprintf(url, sizeof url, "mariadb://tester:not-secret@127.0.0.1:%u/test", server_port(mariadb));
    return url;
}

static bool use(void *mysql)
{
    return number(mysql, "select 40 + 2") == 42;
}

static uint64_t identity(void *mysql)
{
    return mysql_thread_id(mysql);
}

static bool make_dirty(void *mysql)
{
    return mysql_query(mysql, "begin") == 0 && mysql_query(mysql, "set @left = 1") == 0 &&
           mysql_query(mysql, "create temporary table behind (a int)") == 0;
}

static bool is_clean(void *mysql)
{
    return number(mysql, "select @left") == -1 && number(mysql, "select count(*) from behind") == -1 &&
           number(mysql, "select @@in_transaction") == 0;
}

static bool fill(bool full)
{
    static MYSQL *others[MOST + 1];
    static int count;
    unsigned reason = 0;
    admin();
    while (full && count <= MOST && (others[count] = dial("admin", "commander", &reason))) count++;
    while (!full && count) mysql_close(others[--count]);
    return !full || reason == ER_CON_COUNT_ERROR;
}

#define CASE(makes) \
    .driver = (makes), .good = good, .wrong = wrong, .at = at, .address = "127.0.0.1", .secret = "secret@", \
    .wrong_status = CEN_DRIVER, .wrong_code = ER_ACCESS_DENIED_ERROR, .absent_status = CEN_DOWN, \
    .absent_code = CR_CONNECTION_ERROR, .full_status = CEN_FULL, .full_code = ER_CON_COUNT_ERROR, .use = use, \
    .identity = identity, .make_dirty = make_dirty, .is_clean = is_clean, .cut = cut, .hang = hang, \
    .connections = connections, .fill = fill

static const conformance blocking = {.name = "mariadb", CASE(blocking_driver)};
CONFORMANCE(blocking)

static const conformance polled = {.name = "mariadb over a poller", CASE(polled_driver), .cannot_renew = true};
CONFORMANCE(polled)
