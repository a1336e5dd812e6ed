/* SPDX-License-Identifier: MIT */
/* APR's resource list: all objects made at the start, no time to live, a limit to waiting. */
#include <apr_general.h>
#include <apr_pools.h>
#include <apr_reslist.h>

#include "../../rules/lend.h"

typedef struct lend_object *pool_lease;

static apr_reslist_t *list;
static unsigned made;

static apr_status_t construct(void **resource, void *parameters, apr_pool_t *pool)
{
    (void)parameters, (void)pool;
    *resource = &lend_objects[made++];
    return APR_SUCCESS;
}

static apr_status_t destruct(void *resource, void *parameters, apr_pool_t *pool)
{
    (void)resource, (void)parameters, (void)pool;
    return APR_SUCCESS;
}

static void pool_make(const struct lend_plan *plan)
{
    apr_pool_t *memory;
    int size = (int)plan->size;
    if (apr_initialize() != APR_SUCCESS || apr_pool_create(&memory, NULL) != APR_SUCCESS ||
        apr_reslist_create(&list, size, size, size, 0, construct, destruct, NULL, memory) != APR_SUCCESS)
        bench_fail("APR could not make the list");
    apr_reslist_timeout_set(list, apr_time_from_sec(LEND_PATIENCE_S));
}

static void pool_enter(struct lend_worker *worker)
{
    (void)worker;
}

static inline struct lend_object *pool_take(pool_lease *lease)
{
    void *object;
    if (apr_reslist_acquire(list, &object) != APR_SUCCESS)
        bench_fail("a take failed or waited for %d s", LEND_PATIENCE_S);
    return *lease = object;
}

static inline void pool_give(pool_lease *lease)
{
    apr_reslist_release(list, *lease);
}

#include "../../rules/lend_loop.h"
