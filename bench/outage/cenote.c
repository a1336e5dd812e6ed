/* SPDX-License-Identifier: MIT */
/* cenote with the patience that HikariCP has by default, 30 seconds and nothing else; and with a deadline of half a second, a
 * limit of one second to holding, and back-off up to a second. */
#include <cenote/cenote.h>
#include <cenote/pq.h>

#include "../support/bench.h"
#include "outage.h"

static cen_pool *pool;
static cen_deadline patience;

static void make(const cen_pool_options *options)
{
    cen_error error;
    if (cen_pool_new(options, &pool, &error) != CEN_OK) bench_fail("%s", error.text);
}

static void begin_plain(const char *url)
{
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = cen_pq(url), .max = OUTAGE_CONNECTIONS);
    patience = cen_in_s(30);
    make(&options);
}

static void begin_held(const char *url)
{
    cen_pq_options server = CEN_PQ_OPTIONS(.uri = url, .cancel_timeout_ns = INT64_C(500000000), .connect_timeout_ns = INT64_C(1000000000));
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = cen_pq_with(&server), .max = OUTAGE_CONNECTIONS,
                                                .hold_ns = INT64_C(1000000000), .backoff_most_ns = INT64_C(1000000000));
    patience = cen_in_ms(500);
    make(&options);
}

static bool call(void)
{
    cen_lease lease;
    if (cen_pool_take(pool, patience, &lease, NULL) != CEN_OK) return false;
    bool answered = outage_ask(lease.object);
    cen_pool_give(&lease);
    return answered;
}

const outage_way cenote_way = {"cenote", begin_plain, call}, cenote_held_way = {"cenote-held", begin_held, call};
