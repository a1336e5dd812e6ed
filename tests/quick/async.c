/* SPDX-License-Identifier: MIT */
/*
 * COUNT asynchronous takes from a pool that has an idle object: started, completed, told by the
 * inbox, given back, all on one thread, for tools/check-instructions.
 *
 *     async take COUNT
 */
#include <cenote/inbox.h>
#include <cenote/pool_async.h>
#include <stdlib.h>

static cen_status open_one(void *argument, void **out, cen_error *error)
{
    (void)error;
    *out = argument;
    return CEN_OK;
}

static void give_back(cen_take_op *take)
{
    if (take->future.status != CEN_OK || cen_pool_give(&take->lease) != CEN_OK) abort();
}

int main(int argc, char **argv)
{
    static const cen_driver_calls calls = {.size = sizeof calls, .open = open_one, .closes_nothing = true};
    if (argc != 3) return 2;
    unsigned long count = strtoul(argv[2], NULL, 10);
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = {&calls, &options}, .max = 10, .eager = true);
    cen_pool *pool;
    cen_inbox *inbox;
    cen_take_op take;
    if (cen_pool_new(&options, &pool, NULL) != CEN_OK || cen_inbox_new(NULL, &inbox, NULL) != CEN_OK) return 1;
    for (unsigned long i = 0; i < count; i++) {
        cen_take_op_init(&take, give_back, cen_inbox_executor(inbox));
        if (cen_pool_take_async(pool, cen_in_s(5), &take) != CEN_OK || cen_inbox_poll(inbox, 0) != 1) return 1;
    }
    return cen_pool_free(pool) != CEN_OK || cen_inbox_free(inbox) != CEN_OK;
}
