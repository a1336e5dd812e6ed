/* SPDX-License-Identifier: MIT */
/* What servers are: users, rights, passwords that change, roles, old versions, sockets, capacitys. Both forms. */
#include "drivers/redis_place.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

/* ---- Users and passwords ------------------------------------------------------------------------------------ */

BOTH_FORMS(a_user_with_odd_letters_has_its_database_and_name_before_and_after_a_reset)
{
    char url[120], row[2048];
    place_admin("ACL SETUSER ann@home on >w/o:r@d%% ~* &* +@all");
    snprintf(url, sizeof url, "redis://ann%%40home:w%%2Fo%%3Ar%%40d%%25@127.0.0.1:%u/7", server_port(place_server()));
    cen_pool *pool = place_form_pool((cen_redis_options){.url = url}, is_later, (cen_pool_options){0});
    for (int i = 0; i < 2; i++) {
        cen_lease lease = place_take(pool);
        snprintf(row, sizeof row, "%s", place_row(place_form_fd(lease.object, is_later)));
        if (!strstr(row, " user=ann@home ") || !strstr(row, " db=7 ") || !strstr(row, " name=" PLACE_NAME " "))
            test_fail(__FILE__, __LINE__, "the server has it as %s", row);
        expect_equal(place_form_ask(lease.object, is_later, NULL, 0, "AUTH default secret"), REDIS_REPLY_STATUS);
        expect_equal(place_form_ask(lease.object, is_later, NULL, 0, "SELECT 1"), REDIS_REPLY_STATUS);
        expect_equal(cen_pool_give(&lease), CEN_OK);
    }
    place_soon(place_stats(pool).reset == 2);
    expect_equal(place_stats(pool).opened, 1);
    place_close(pool);
}

static void on_capacity(void *argument, const cen_redis_capacity_report *report)
{
    *(cen_redis_capacity_report *)argument = *report;
}

/* As docs/redis.md has it. */
BOTH_FORMS(a_user_with_few_rights_is_enough)
{
    char url[80];
    cen_redis_capacity_report report = CEN_SIZED(cen_redis_capacity_report);
    place_admin("ACL SETUSER app reset on >few ~cache:* +@read +@write +@transaction -@dangerous "
                "+select +ping +client|setname +role +info");
    snprintf(url, sizeof url, "redis://app:few@127.0.0.1:%u/1", server_port(place_server()));
    cen_redis_options options = {
        .url = url, .role = CEN_REDIS_PRIMARY, .on_capacity = on_capacity, .argument = &report};
    cen_pool *pool = place_form_pool(options, is_later, (cen_pool_options){.test_after_idle_ns = CEN_US(100)});
    for (int i = 0; i < 3; i++) {
        cen_lease lease = place_take(pool);
        expect_equal(place_form_ask(lease.object, is_later, NULL, 0, "SET cache:x 1"), REDIS_REPLY_STATUS);
        expect_equal(place_form_ask(lease.object, is_later, NULL, 0, "SET x 1"), REDIS_REPLY_ERROR);
        expect_equal(place_form_ask(lease.object, is_later, NULL, 0, "MULTI"), REDIS_REPLY_STATUS);
        expect_equal(cen_pool_give(&lease), CEN_OK);
    }
    place_soon(place_stats(pool).reset == 3);
    expect_equal(place_stats(pool).opened, 1);
    expect(report.max_clients > 0);
    place_close(pool);
}

BOTH_FORMS(a_server_that_wants_a_password_says_so)
{
    char url[80];
    snprintf(url, sizeof url, "redis://127.0.0.1:%u", server_port(place_server()));
    place_refused((cen_redis_options){.url = url}, is_later, CEN_DRIVER, CEN_REDIS_NO_AUTH, "password required");
}

/* No label of a name is that long, so that nobody is asked for it. */
BOTH_FORMS(a_name_that_nobody_has_is_told)
{
    char url[100] = "redis://", *end = url + strlen(url);
    memset(end, 'x', 70);
    place_refused((cen_redis_options){.url = url}, is_later, CEN_DOWN, CEN_REDIS_NO_ADDRESS, "xxxxxxxxxx:6379");
}

BOTH_FORMS(a_database_that_is_not_there_is_named)
{
    char url[80];
    snprintf(url, sizeof url, "redis://:secret@127.0.0.1:%u/99", server_port(place_server()));
    place_refused((cen_redis_options){.url = url}, is_later, CEN_DRIVER, CEN_REDIS_ERROR,
                  "database 99, user \"default\": SELECT failed");
}

struct safe {
    const char *_Atomic word;
    atomic_int asked;
    cen_status status;
};

static cen_status password(void *argument, char *out, size_t room, cen_error *error)
{
    struct safe *safe = argument;
    (void)error;
    safe->asked++;
    snprintf(out, room, "%s", safe->word);
    return safe->status;
}

BOTH_FORMS(a_password_is_asked_for_at_each_opening_and_may_change)
{
    char url[80];
    struct safe safe = {.word = "first"};
    place_admin("ACL SETUSER bob reset on >first ~* &* +@all");
    snprintf(url, sizeof url, "redis://bob:ignored@127.0.0.1:%u", server_port(place_server()));
    cen_pool *pool =
        place_form_pool((cen_redis_options){.url = url, .password = password, .argument = &safe}, is_later,
                        (cen_pool_options){.max = 2, .backoff_initial_ns = 1000000, .backoff_max_ns = 1000000});
    cen_lease lease = place_take(pool);
    expect_equal(safe.asked, 1);
    expect(place_form_use(lease.object, is_later));
    place_admin("ACL SETUSER bob resetpass >second");
    expect(place_form_use(lease.object, is_later)); /* who is in stays */
    cen_lease other;
    cen_error error;
    expect_equal(cen_pool_take(pool, cen_in_ms(200), &other, &error), CEN_TIMEOUT);
    expect(strstr(error.text, "WRONGPASS") != NULL);
    safe.word = "second";
    other = place_take(pool);
    expect(place_form_use(other.object, is_later));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(cen_pool_give(&other), CEN_OK);
    place_close(pool);
}

BOTH_FORMS(without_a_password_from_the_program_nothing_is_opened)
{
    struct safe safe = {.word = "secret", .status = CEN_ABSENT};
    place_refused((cen_redis_options){.password = password, .argument = &safe}, is_later, CEN_ABSENT, 0,
                  "cen_redis_options.password failed");
}

/* ---- Servers of another kind --------------------------------------------------------------------------------------- */

/* A server without RESET, as before 6.2: what can be undone is, and what cannot is closed. */
BOTH_FORMS(a_server_without_reset_is_served_by_what_it_has)
{
    static const char *const settings[] = {"rename-command RESET=", NULL};
    server *old = server_start(SERVER_REDIS, settings);
    char url[80], text[100];
    cen_pool *pool = place_form_pool(place_at_server(old, url), is_later, (cen_pool_options){0});
    static const char *const mended[] = {"MULTI", "WATCH x", "SELECT 3"};
    cen_lease lease;
    for (int i = 0; i < 3; i++) {
        lease = place_take(pool);
        expect_equal(place_form_ask(lease.object, is_later, NULL, 0, mended[i]), REDIS_REPLY_STATUS);
        expect_equal(cen_pool_give(&lease), CEN_OK);
        lease = place_take(pool);
        expect(place_form_use(lease.object, is_later));
        expect_equal(place_form_ask(lease.object, is_later, text, sizeof text, "CLIENT INFO"), REDIS_REPLY_STRING);
        expect_equal(cen_pool_give(&lease), CEN_OK);
    }
    expect_equal(place_stats(pool).opened, 1);
    expect_equal(place_stats(pool).reset, 3);
    lease = place_take(pool);
    expect_equal(place_form_ask(lease.object, is_later, NULL, 0, "CLIENT TRACKING ON"), REDIS_REPLY_STATUS);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    lease = place_take(pool);
    expect_equal(place_stats(pool).opened, 2);
    expect_equal(place_stats(pool).reset_failed, 1);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
    server_stop(old);
}

/* It repeats the arguments of a command that it does not know. */
BOTH_FORMS(a_server_that_does_not_know_auth_gives_no_password_away)
{
    static const char *const settings[] = {"rename-command AUTH=", NULL};
    server *odd = server_start(SERVER_REDIS, settings);
    char url[80];
    place_refused(place_at_server(odd, url), is_later, CEN_DRIVER, CEN_REDIS_ERROR, "not shown");
    server_stop(odd);
}

BOTH_FORMS(a_primary_that_was_demoted_is_left)
{
    server *second = server_start(SERVER_REDIS, NULL);
    char url[80], text[100];
    cen_redis_options primary = place_at_server(second, url), replica = primary;
    primary.role = CEN_REDIS_PRIMARY;
    replica.role = CEN_REDIS_REPLICA;
    place_refused(replica, is_later, CEN_DRIVER, CEN_REDIS_WRONG_ROLE, "server is not a replica");
    cen_pool *pool =
        place_form_pool(primary, is_later, (cen_pool_options){.max = 2, .test_after_idle_ns = 3600000000000});
    cen_lease held = place_take(pool), idle = place_take(pool);
    expect_equal(place_form_ask(held.object, is_later, NULL, 0, "SET x 1"), REDIS_REPLY_STATUS);
    expect_equal(place_form_ask(idle.object, is_later, NULL, 0, "REPLICAOF 127.0.0.1 1"), REDIS_REPLY_STATUS);
    expect_equal(cen_pool_give(&idle), CEN_OK);
    expect_equal(place_form_ask(held.object, is_later, text, sizeof text, "SET x 2"), REDIS_REPLY_ERROR);
    expect(strncmp(text, "READONLY", 8) == 0);
    expect_equal(cen_pool_give(&held), CEN_OK); /* known from memory */
    place_soon(place_stats(pool).closed == 1);
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK); /* the other one by asking */
    place_soon(place_stats(pool).closed == 2);
    expect_equal(place_stats(pool).test_failed, 1);
    place_close(pool);
    place_refused(primary, is_later, CEN_DRIVER, CEN_REDIS_WRONG_ROLE, "server is not a primary");
    pool = place_form_pool(replica, is_later, (cen_pool_options){0});
    held = place_take(pool);
    expect(place_form_use(held.object, is_later));
    expect_equal(cen_pool_give(&held), CEN_OK);
    place_close(pool);
    server_stop(second);
}

BOTH_FORMS(a_socket_of_the_system_does_as_well)
{
    char url[200];
    snprintf(url, sizeof url, "unix://:secret@%s/redis.sock?db=3", server_directory(place_server()));
    cen_pool *pool = place_form_pool((cen_redis_options){.url = url}, is_later, (cen_pool_options){0});
    cen_lease lease = place_take(pool);
    expect(place_form_use(lease.object, is_later));
    expect_equal(place_connections(), 1);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
    place_refused((cen_redis_options){.url = "unix:///nowhere/redis.sock"}, is_later, CEN_DOWN, ENOENT,
                  "/nowhere/redis.sock");
}

BOTH_FORMS(the_capacity_is_told_once)
{
    cen_redis_capacity_report report = CEN_SIZED(cen_redis_capacity_report);
    place_admin("CONFIG SET maxclients 10");
    cen_pool *pool =
        place_form_pool((cen_redis_options){.on_capacity = on_capacity, .argument = &report, .capacity_max = 50},
                        is_later, (cen_pool_options){.max = 3});
    cen_lease lease = place_take(pool);
    expect_equal(report.max_clients, 10);
    expect_equal(report.in_use, 2); /* and the administrator */
    expect_equal(report.free, 8);
    expect_equal(report.pool_max, 50);
    expect(!report.fits);
    expect(strstr(report.text, "does not fit") != NULL);
    report = CEN_SIZED(cen_redis_capacity_report);
    cen_lease other = place_take(pool);
    expect_equal(report.max_clients, 0);
    if (!is_later) {
        expect_equal(cen_redis_capacity(other.object, 9, &report, NULL), CEN_OK);
        expect_equal(report.in_use, 3);
        expect(!report.fits);
        expect_equal(cen_redis_capacity(other.object, 8, &report, NULL), CEN_OK);
        expect(report.fits);
    }
    expect_equal(cen_pool_give(&other), CEN_OK);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
    place_admin("CONFIG SET maxclients 1000");
}

static void count_calls(void *argument, const cen_redis_capacity_report *report)
{
    (void)report;
    ++*(atomic_int *)argument;
}

static void *take_one(void *argument)
{
    cen_lease *lease = argument;
    *lease = place_take(lease->pool);
    expect_equal(cen_pool_detach(lease), CEN_OK); /* it outlives this thread */
    return NULL;
}

/* Both have sent their question before either is answered. */
BOTH_FORMS(the_capacity_is_told_once_by_two_that_are_opened_together)
{
    server *own = server_start(SERVER_REDIS, NULL);
    char url[80];
    atomic_int calls = 0;
    cen_redis_options options = place_at_server(own, url);
    options.on_capacity = count_calls;
    options.argument = &calls;
    cen_pool *pool = place_form_pool(options, is_later, (cen_pool_options){.max = 2});
    cen_lease leases[2] = {{.pool = pool}, {.pool = pool}};
    pthread_t threads[2];
    server_pause(own);
    for (int i = 0; i < 2; i++) expect(pthread_create(&threads[i], NULL, take_one, &leases[i]) == 0);
    place_soon(place_stats(pool).opening == 2);
    place_pause_ms(100);
    server_resume(own);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    expect_equal(calls, 1);
    for (int i = 0; i < 2; i++) expect_equal(cen_pool_give(&leases[i]), CEN_OK);
    place_close(pool);
    server_stop(own);
}
