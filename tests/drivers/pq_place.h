/* SPDX-License-Identifier: MIT */
/* One PostgreSQL for all tests of a program, and what an administrator sees and does there. */
#ifndef TESTS_DRIVERS_PQ_PLACE_H
#define TESTS_DRIVERS_PQ_PLACE_H

#include <cenote/cenote.h>
#include <cenote/pq.h>

#include "drivers/conformance.h"
#include "support/servers.h"

/* It allows so many connections, three of them for the administrator. */
enum { PLACE_CONNECTIONS = 20, PLACE_RESERVED = 3 };

server *place_server(void);

/* Runs it as the administrator, on a connection that each process has for itself; the first field of the first row, "" if there is
 * none, until the next call. Fails the test if it fails. */
const char *place_admin(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same on any connection: NULL if it failed. */
const char *place_ask(PGconn *conn, const char *sql);

/* The good address through a proxy that passes on what the server reports when one logs in, and no events of that afterwards. *out, if
 * it is not NULL: its listening descriptor, which may be shut down. */
const char *place_proxy(int *out);

/* The functions of a case; `driver` is to be added. */
const char *place_good(void);
const char *place_wrong(void);
const char *place_at(uint16_t port);
bool place_use(void *conn);
uint64_t place_identity(void *conn);
bool place_make_dirty(void *conn);
bool place_is_clean(void *conn);
bool place_cut(uint64_t identity);
bool place_hang(void *conn);
int place_connections(void);
bool place_fill(bool full);

#define PLACE_CASE \
    .good = place_good, .wrong = place_wrong, .at = place_at, .address = "127.0.0.1", .secret = "secret", \
    .wrong_status = CEN_DRIVER, .absent_status = CEN_DOWN, .full_status = CEN_FULL, .use = place_use, \
    .identity = place_identity, .make_dirty = place_make_dirty, .is_clean = place_is_clean, .cut = place_cut, \
    .hang = place_hang, .connections = place_connections, .fill = place_fill

/* A pool, a lease and so on, or the test fails. */
cen_pool *place_pool(cen_pool_options options);
cen_lease place_take(cen_pool *pool);
cen_pool_stats place_stats(cen_pool *pool);
void place_close(cen_pool *pool);
void place_pause_ms(int ms);

/* Asks until it is so, for some seconds at most. */
#define place_soon(condition) \
    do { \
        bool is_so_ = (condition); \
        for (int tries_ = 0; !is_so_ && tries_ < 6000; tries_++) { \
            place_pause_ms(10); \
            is_so_ = (condition); \
        } \
        if (!is_so_) test_fail(__FILE__, __LINE__, "expected soon %s", #condition); \
    } while (0)

#endif
