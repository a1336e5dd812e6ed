/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <cenote/pq.h>
#include <cenote/registry.h>
#include <cenote/router.h>

enum { WORKERS = 4 };

#if SAMPLE == 2
cen_status run(PGconn *conn, const char *sql, int count, const char *const *values, cen_error *error);
#endif
#if SAMPLE == 7
extern cen_pool_options options;
#endif

struct request;

void serve(void *object);
void serve_requests(cen_pool *pool);
extern bool is_batch;
int reply_503(int64_t retry_after_ns);
void call_geocoder(void);
void start_query(struct request *request, void *connection);
void reply_error(struct request *request, cen_cause cause, int64_t retry_after_ns);
void handle(const struct epoll_event *event);
extern cen_pollable *pollable;
