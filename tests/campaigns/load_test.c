/* SPDX-License-Identifier: MIT */
/* The judge of the campaigns is judged: it passes a sound pool, and refuses what is not. */
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "campaigns/load.h"

static _Atomic unsigned long numbers; /* several threads open at a time */

static cen_status open_number(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    *out = (void *)(16 * (atomic_fetch_add(&numbers, 1) + 1));
    return CEN_OK;
}

static cen_status open_always_the_same(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    *out = (void *)16;
    return CEN_OK;
}

static bool answer(void *object, cen_error *error)
{
    (void)object, (void)error;
    campaign_sleep(MS / 10);
    return true;
}

static bool fail(void *object, cen_error *error)
{
    (void)object, (void)error;
    return false;
}

static load_counts run(const cen_driver_calls *calls, bool (*use)(void *object, cen_error *error))
{
    cen_pool *pool;
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = {calls, NULL}, .max = 4);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    load *l = load_start(&(load_plan){.pool = pool, .threads = 8, .use = use});
    campaign_sleep(200 * MS);
    return load_stop(l);
}

static load_counts run_soundly(bool (*use)(void *object, cen_error *error))
{
    static const cen_driver_calls sound = {.size = sizeof sound, .open = open_number, .closes_nothing = true};
    return run(&sound, use);
}

/* Whether the judge refuses it, in a process of its own. */
static bool is_refused(const load_counts *counts, int64_t recovery_ns)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        load_judge(counts, "refused by the judge, as it must be", recovery_ns, SECOND);
        _exit(0);
    }
    int status;
    expect_equal(waitpid(child, &status, 0), child);
    return status != 0;
}

/* guarantees: drivers.outages */
TEST(a_sound_pool_passes)
{
    load_counts counts = run_soundly(answer);
    expect(counts.answered > 0);
    load_judge(&counts, "nothing happens", 0, SECOND);
    counts = run_soundly(fail);
    expect_equal(counts.answered, 0);
    load_judge(&counts, "every question fails", 0, SECOND);
}

/* guarantees: drivers.outages */
TEST(an_object_that_two_have_is_seen_and_refused)
{
    static const cen_driver_calls shared = {
        .size = sizeof shared, .open = open_always_the_same, .closes_nothing = true};
    load_counts counts = run(&shared, answer);
    expect(counts.shared > 0);
    expect(is_refused(&counts, 0));
}

/* guarantees: drivers.outages */
TEST(what_does_not_add_up_or_comes_late_is_refused)
{
    load_counts sound = run_soundly(answer), other = sound;
    expect(!is_refused(&sound, 0));
    other.answered--;
    expect(is_refused(&other, 0));
    other = sound;
    other.latest_ns = 101 * MS + 4 * sound.sleeper_ns;
    expect(is_refused(&other, 0));
    other = sound;
    other.stats.taken++;
    expect(is_refused(&other, 0));
    other = sound;
    other.stats.closed--;
    expect(is_refused(&other, 0));
    other = sound;
    other.strange = 1;
    expect(is_refused(&other, 0));
    expect(is_refused(&sound, SECOND + 1));
}
