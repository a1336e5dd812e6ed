/* SPDX-License-Identifier: MIT */
/* One Redis for all tests of a program, what an administrator sees and does there, and both forms of the driver in use. */
#ifndef TESTS_DRIVERS_REDIS_PLACE_H
#define TESTS_DRIVERS_REDIS_PLACE_H

#include <cenote/cenote.h>
#include <cenote/redis.h>

#include "drivers/conformance.h"
#include "support/servers.h"

/* By this name the server knows connections of a pool. */
#define PLACE_NAME "pooled"

server *place_server(void);

/* Runs it as the administrator, on one connection; the reply's text, until the thread's next call. Fails the test if it fails. */
const char *place_admin(const char *format, ...);

/* Of the client whose end of the connection is that descriptor: its row in CLIENT LIST, with a blank before and after, or "". */
const char *place_row(int fd);
/* The value of "name=value" in such a row; -1 if there is none. */
long long place_number(const char *row, const char *name);

/* The functions of a case for blocking connections, and those that differ for asynchronous ones. */
cen_driver place_driver(const char *url, int64_t timeout_ns);
const char *place_good(void);
const char *place_wrong(void);
const char *place_at(uint16_t port);
bool place_use(void *context);
uint64_t place_identity(void *context);
bool place_make_dirty(void *context);
bool place_is_clean(void *context);
bool place_cut(uint64_t identity);
bool place_hang(void *context);
int place_connections(void);
bool place_fill(bool full);

cen_poller *place_poller(void); /* of this process, with a thread */
cen_driver place_later_driver(const char *url, int64_t timeout_ns);
bool place_later_use(void *context);
uint64_t place_later_identity(void *context);
bool place_later_make_dirty(void *context);
bool place_later_is_clean(void *context);
bool place_later_hang(void *context);
/* Sends it and waits for the reply, whose type is answered; its text is in `text`; 0: the connection is lost, -1: it was
 * refused. */
int place_later_ask(redisAsyncContext *context, char *text, size_t room, const char *format, ...);

/* A pool, a lease and so on, or the test fails. */
cen_pool *place_pool(cen_pool_options options);
cen_lease place_take(cen_pool *pool);
cen_pool_stats place_stats(cen_pool *pool);
void place_close(cen_pool *pool);
void place_pause_ms(int ms);

/* ---- Both forms: one test for each ---------------------------------------------------------------------- */

#define BOTH_FORMS(name) \
    static void name(bool is_later); \
    TEST(blocking_##name) \
    { \
        name(false); \
    } \
    TEST(later_##name) \
    { \
        name(true); \
    } \
    static void name(bool is_later)

/* With those options; the good address, PLACE_NAME and a max of 1 if they say nothing else. */
cen_pool *place_form_pool(cen_redis_options options, bool is_later, cen_pool_options given);
cen_redis_options place_at_server(server *self, char url[80]);
int place_form_fd(void *object, bool is_later);
bool place_form_use(void *object, bool is_later);
/* The type of its reply, 0 if the connection is lost, and its text. */
int place_form_ask(void *object, bool is_later, char *text, size_t room, const char *command);
/* A take of a pool with those fails so, and its text says that, and no password. */
void place_refused(cen_redis_options options, bool is_later, cen_status status, int code, const char *says);

#define place_soon(condition) \
    do { \
        for (int tries_ = 0; !(condition) && tries_ < 6000; tries_++) place_pause_ms(10); \
        expect(condition); \
    } while (0)

#endif
