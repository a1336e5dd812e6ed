/* SPDX-License-Identifier: MIT */
/*
 * So many uncontended takes and gives of a pool, for tools/check-instructions.
 *
 *     pairs plain|managed|exact|checked COUNT
 *
 * plain: a driver that does not block, and no limits. managed: one that blocks,
 * with a test, and every limit at its default: rounds, tests, lifetimes. exact:
 * with exact times, so that the check can be seen to notice what costs more. checked:
 * as managed, with a driver that looks at what comes back, and only reads.
 */
#include <cenote/pool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cen_status open_one(void *argument, void **out, cen_error *error)
{
    (void)error;
    *out = argument;
    return CEN_OK;
}

static cen_status test_one(void *argument, void *object, cen_error *error)
{
    (void)argument, (void)object, (void)error;
    return CEN_OK;
}

static cen_condition check_one(void *argument, void *object)
{
    return argument == object ? CEN_CLEAN : CEN_BROKEN;
}

static const cen_driver_calls plain = {.size = sizeof plain, .open = open_one, .closes_nothing = true};
static const cen_driver_calls managed = {
    .size = sizeof managed, .open = open_one, .test = test_one, .closes_nothing = true, .blocks = true};
static const cen_driver_calls checked = {.size = sizeof checked,
                                         .open = open_one,
                                         .test = test_one,
                                         .blocks = true,
                                         .check = check_one,
                                         .check_only_reads = true,
                                         .closes_nothing = true};

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    const cen_driver_calls *calls = strcmp(argv[1], "managed") == 0   ? &managed
                                    : strcmp(argv[1], "checked") == 0 ? &checked
                                                                      : &plain;
    unsigned long count = strtoul(argv[2], NULL, 10);
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = {calls, &options}, .max = 10, .eager = true,
                                                .exact_times = strcmp(argv[1], "exact") == 0);
    cen_pool *pool;
    cen_error error;
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) return 1;
    cen_lease lease;
    for (unsigned long i = 0; i < count; i++) {
        if (cen_pool_take(pool, cen_in_s(5), &lease, &error) != CEN_OK) return 1;
        if (cen_pool_give(&lease) != CEN_OK) return 1;
    }
    return cen_pool_free(pool) != CEN_OK;
}
