/* SPDX-License-Identifier: MIT */
/* libcenote-pq does what every driver must. */
#include <cenote/poller.h>

#include "drivers/pq_place.h"

static cen_driver blocking_driver(const char *url, int64_t timeout_ns)
{
    static cen_pq_options options;
    options = CEN_PQ_OPTIONS(.uri = url, .connect_timeout_ns = timeout_ns);
    return cen_pq_with(&options);
}

static const conformance blocking = {.name = "pq", .driver = blocking_driver, PLACE_CASE};
CONFORMANCE(blocking)

/* A poller with a thread of its own, for each test. */
static cen_driver later_driver(const char *url, int64_t timeout_ns)
{
    static cen_pq_options options;
    static cen_poller *poller;
    if (!poller) expect_equal(cen_poller_new(&CEN_POLLER_OPTIONS(.name = "pq"), &poller, NULL), CEN_OK);
    options = CEN_PQ_OPTIONS(.uri = url, .connect_timeout_ns = timeout_ns, .poller = poller);
    return cen_pq_with(&options);
}

static const conformance later = {.name = "pq-later", .driver = later_driver, .cannot_renew = true, PLACE_CASE};
CONFORMANCE(later)
