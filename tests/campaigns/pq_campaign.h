/* SPDX-License-Identifier: MIT */
/* What the campaigns against PostgreSQL share: servers, pools, the question that is asked, and what the server counts. */
#ifndef TESTS_CAMPAIGNS_PQ_CAMPAIGN_H
#define TESTS_CAMPAIGNS_PQ_CAMPAIGN_H

#include <cenote/pq.h>

#include "campaigns/load.h"
#include "support/faultproxy.h"
#include "support/servers.h"

enum { CONNECTIONS = 8, THREADS = 16 };

/* "select 1", and whether the answer was right. */
bool ask_one(void *object, cen_error *error);

/* An insert into the table "notes", which make_notes makes. */
bool write_note(void *object, cen_error *error);
void make_notes(const char *admin_url);

/* A pool of up to CONNECTIONS: short back-off (20 ms to 500 ms), idle ones tested after 100 ms; what is not zero in `more`
 * replaces that. */
cen_pool *pool_of(const cen_pq_options *target, const cen_pool_options *more);
cen_pool *pool_at(const char *url, const cen_pool_options *more);

/* Runs SQL as the superuser; fails the test if that does not work. */
void administer(const char *admin_url, const char *sql);

/* How many connections of the pool's user the server has. */
int connections_at(const char *admin_url);

/* Waits until there are none: a backend ends after its client has closed, and later still behind a proxy. */
void connections_end_at(const char *admin_url);

/* The most objects that were being opened at a time, and failed openings, as a listener and a look now and then see them. */
typedef struct openings openings;
openings *openings_watch(cen_pool *pool);
uint64_t openings_failed(openings *self);
uint32_t openings_most(openings *self);
bool openings_breaker(openings *self);    /* it was open at some time */
uint32_t openings_probes(openings *self); /* the most that were being opened at a time while the breaker was open */
void openings_end(openings *self);        /* before the pool ends */

#endif
