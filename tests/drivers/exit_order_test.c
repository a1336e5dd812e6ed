/* SPDX-License-Identifier: MIT */
/*
 * The order of exit handlers: each driver initialises its client library in prepare, and cenote's handler is registered after
 * that of the library. It runs before it then.
 *
 * This program has its own __cxa_atexit, which every handler comes through: it notes whose they are and hands them on.
 */
#include <dlfcn.h>

#include <cenote/cenote.h>
#ifdef TEST_PQ
#include <cenote/pq.h>
#endif
#ifdef TEST_MARIADB
#include <cenote/mariadb.h>
#endif
#ifdef TEST_CURL
#include <cenote/curl.h>
#endif

#include "port/process_exit.h"
#include "support/test.h"

static unsigned count, of_openssl, of_cenote; /* handlers; when the last of each was registered, from 1 */

int __cxa_atexit(void (*handler)(void *), void *argument, void *library);

int __cxa_atexit(void (*handler)(void *), void *argument, void *library)
{
    static int (*next)(void (*)(void *), void *, void *);
    Dl_info found;
    if (!next) *(void **)(void *)&next = dlsym(RTLD_NEXT, "__cxa_atexit");
    count++;
    if ((uintptr_t)handler == (uintptr_t)ceni_exit_run) of_cenote = count;
    if (dladdr((void *)(uintptr_t)handler, &found) && found.dli_fname && strstr(found.dli_fname, "libcrypto"))
        of_openssl = count;
    return next(handler, argument, library);
}

static void expect_order_of(cen_driver driver)
{
    cen_pool *pool;
    cen_error error;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "order", .driver = driver, .max = 1);
    expect_equal(of_openssl, 0);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    expect(of_openssl > 0);
    expect(of_cenote > of_openssl);
    cen_pool_free(pool);
}

#ifdef TEST_PQ
/* guarantees: runtime.exit-tls */
TEST(libpq_has_initialised_openssl_before_the_exit_handler_is_registered)
{
    expect_order_of(cen_pq("postgresql://127.0.0.1:1/none"));
}
#endif

#ifdef TEST_MARIADB
/* guarantees: runtime.exit-tls */
TEST(the_mariadb_connector_has_initialised_openssl_before_the_exit_handler_is_registered)
{
    expect_order_of(cen_mariadb("mariadb://user@127.0.0.1:1/none"));
}
#endif

#ifdef TEST_CURL
/* guarantees: runtime.exit-tls */
TEST(curl_has_initialised_openssl_before_the_exit_handler_is_registered)
{
    expect_order_of(cen_curl("https://127.0.0.1:1/"));
}
#endif

/* The program uses it first: the second driver's prepare comes later still. */
static cen_status prepare_late(void *argument, void **state, cen_error *error)
{
    (void)argument, (void)state, (void)error;
    of_openssl = ++count; /* as if a library registered its handler here */
    return CEN_OK;
}

/* guarantees: runtime.exit-tls */
TEST(the_exit_handler_is_registered_again_after_the_prepare_of_another_driver_and_once_for_each)
{
    static const cen_driver_calls late = {
        .size = sizeof late, .prepare = prepare_late, .blocks = true, .opens_nothing = true, .closes_nothing = true};
    cen_pool *pool, *another;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "late", .driver = {&late, NULL}, .max = 1);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    expect(of_cenote > of_openssl);
    unsigned before = of_cenote;
    expect_equal(cen_pool_new(&options, &another, NULL), CEN_OK);
    expect_equal(of_cenote, before);
    cen_pool_free(another);
    cen_pool_free(pool);
}
