/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <cenote/pq.h>

struct attempt {
    PGconn *conn;
    cen_poller *poller;
    cen_deadline deadline;
};
void give_up(struct attempt *attempt);
extern cen_poller *poller;
extern cen_runtime *manual_runtime;
