/* SPDX-License-Identifier: MIT */
/*
 * Pools at the end of the process: when the exit handler is registered, and how it cancels running driver calls.
 *
 * A client library registers its own handler when it is initialised: in the driver's prepare or init, or otherwise in
 * the first open. cenote's handler must be registered after it (port/process_exit.h), so it is registered again after
 * each of these, once for each driver.
 *
 * Tested by tests/drivers/exit_tls_test.c, tests/drivers/exit_cancel_test.c, tests/unit/pool/exit_test.c.
 */
#include <string.h>

#include "pool/internal.h"
#include "port/process_exit.h"
#include "record/directory.h"

static void cancel_one(void *argument, ceni_directory_entry *entry)
{
    (void)argument;
    if (strcmp(entry->kind, "pool") != 0) return;
    cen_pool *pool = (cen_pool *)(uintptr_t)entry->object;
    if (!pool->calls.cancel_all) return;
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    pool->calls.cancel_all(pool->driver.argument);
    ceni_callout_end(&callout);
}

/* A pool that was freed may still have a helper in a call of its driver. */
static void cancel_all(void)
{
    ceni_directory_each(ceni_directory_process(), cancel_one, NULL);
    ceni_directory_each(ceni_directory_freed(), cancel_one, NULL);
}

/* The key of a driver before its first open, and after it: two different addresses of its functions. */
static const void *key_of(const cen_pool *pool, bool called)
{
    const cen_driver_calls *calls = &pool->calls;
    if (called && calls->open) return (const void *)(uintptr_t)calls->open;
    if (calls->prepare) return (const void *)(uintptr_t)calls->prepare;
    return calls->init ? (const void *)(uintptr_t)calls->init : NULL;
}

void ceni_exit_prepared(const cen_pool *pool)
{
    ceni_exit_register(key_of(pool, false), cancel_all);
}

void ceni_exit_opened(const cen_pool *pool)
{
    ceni_exit_register(key_of(pool, true), cancel_all);
}
