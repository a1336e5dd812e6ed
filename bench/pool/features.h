/* SPDX-License-Identifier: MIT */
/*
 * What costs a pool time and is easily left out: that an ended lease is noticed,
 * even if its slot was lent again, that the holder is known, and that a forked
 * child is told so. A figure counts only if all of it is on in the same
 * process, so each run begins with this.
 */
#ifndef BENCH_POOL_FEATURES_H
#define BENCH_POOL_FEATURES_H

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cenote/pool.h>

#include "../rules/bench.h"

static void expect(bool fact, const char *sentence)
{
    if (!fact) bench_fail("the pool measured here is not the real one: %s", sentence);
}

static void assert_stale_is_noticed(cen_pool *subject)
{
    cen_lease lease, copy;
    expect(cen_pool_take(subject, cen_in_s(1), &lease, NULL) == CEN_OK, "a take fails");
    copy = lease;
    expect(cen_pool_give(&lease) == CEN_OK, "a give fails");
    expect(cen_pool_give(&lease) == CEN_STALE, "a second give of a lease is not STALE");
    expect(cen_pool_give(&copy) == CEN_STALE, "the give of a copy is not STALE");
    expect(cen_pool_take(subject, cen_in_s(1), &lease, NULL) == CEN_OK, "a take fails");
    expect(lease.object == copy.object, "one object is two");
    expect(cen_pool_give(&copy) == CEN_STALE, "an old copy ends a later lease of the same slot");
    expect(cen_pool_give(&lease) == CEN_OK, "a give fails");
}

static void assert_holder_is_known(cen_pool *subject)
{
    cen_lease lease;
    cen_object_view holding;
    size_t held = 0;
    static const char here[] = "bench/pool/cenote.c:here";
    expect(cen_pool_take_at(subject, cen_in_s(1), &lease, NULL, here) == CEN_OK, "a take fails");
    expect(cen_pool_holders(subject, &holding, 1, &held) == CEN_OK && held == 1, "the holder is not listed");
    expect(holding.holder != 0 && holding.owner == cen_thread_number(), "the holder's number is not listed");
    expect(holding.where != NULL && strcmp(holding.where, here) == 0, "the place of the take is not listed");
    expect(cen_pool_give(&lease) == CEN_OK, "a give fails");
}

static void assert_fork_is_noticed(cen_pool *subject)
{
    cen_lease lease, other;
    int status;
    expect(cen_pool_take(subject, cen_in_s(1), &lease, NULL) == CEN_OK, "a take fails");
    pid_t child = fork();
    if (child == 0)
        _exit(cen_pool_give(&lease) == CEN_FORKED && cen_pool_take(subject, cen_in_s(1), &other, NULL) == CEN_FORKED
                  ? 0
                  : 1);
    expect(child > 0 && waitpid(child, &status, 0) == child && status == 0, "a forked child is not told FORKED");
    expect(cen_pool_give(&lease) == CEN_OK, "a give fails");
}

/* `subject` has one object and the settings that are measured. */
static void assert_features(cen_pool *subject)
{
    assert_stale_is_noticed(subject);
    assert_holder_is_known(subject);
    assert_fork_is_noticed(subject);
}

#endif
