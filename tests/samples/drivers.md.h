/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sqlite3.h>
#include <sys/socket.h>

cen_status failed(sqlite3 *db, int code, cen_error *error);
#if SAMPLE == 6
#define driver driver_
cen_driver driver(const char *url, int64_t timeout_ns);
const char *good_url(void), *wrong_password_url(void), *url_with_port(uint16_t port);
bool one_round_trip(void *object), begin(void *object), nothing_is_left(void *object), long_query(void *object);
uint64_t number_at_the_server(void *object);
bool kill_at_the_server(uint64_t identity), use_up_all(bool full);
int count_at_the_server(void);
#endif
#if SAMPLE == 1
cen_status open_connection(void *file, void **out, cen_error *error);
void close_connection(void *file, void *db);
void interrupt_connection(void *file, void *db);
cen_condition check_connection(void *file, void *db);
cen_status reset_connection(void *file, void *db, cen_error *error);
cen_status test_connection(void *file, void *db, cen_error *error);
extern char file[];
#endif
