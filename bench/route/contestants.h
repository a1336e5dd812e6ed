/* SPDX-License-Identifier: MIT */
/* The tables of route/picks.c. */
#ifndef BENCH_ROUTE_CONTESTANTS_H
#define BENCH_ROUTE_CONTESTANTS_H

#include "../rules/picks.h"

extern const struct pick_contestant floor_contestants[], circle_contestants[], mutex_contestants[],
    cenote_contestants[], quick_contestants[];

/* cenote.c: the routers, for the inline functions too. */
void *set_up_random(unsigned members);
void *set_up_round_robin(unsigned members);
void *set_up_two_choices(unsigned members);
void *set_up_shared_round_robin(unsigned members);
void *set_up_strict_round_robin(unsigned members);
void *set_up_least_in_flight(unsigned members);
void *set_up_peak_ewma(unsigned members);
void *set_up_weighted(unsigned members);
void *set_up_consistent_hash(unsigned members);
void verify_router(void *set);

#endif
