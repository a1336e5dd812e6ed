/* SPDX-License-Identifier: MIT */
/*
 * Name lookup on a helper thread of the runtime.
 *
 * The system's resolver may block for any time and cannot be cancelled. So a lookup has its own record with two
 * references: the helper's and the connection's. A connection that gives up leaves the record to the helper and does
 * not wait.
 *
 * Invariants
 *  K1 `mux` is read and cleared under the mutex. While it is not NULL the connection exists: the connection clears it,
 *     on the loop's thread, before it goes away.
 *  K2 The helper owns the connection's endpoints until it has posted `found`.
 *
 * Everything is ordered by this mutex and the loop's mutex, except:
 * Order table
 * tag  site    | operation     | order   | pairs with | carries             | breaks if weakened
 * [K1] drop | subtract of hands | seq_cst | itself | all that was done with the record | it is freed under the other reference's last access
 *
 * Tested by tests/unit/net/open_test.c.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "net/mux.h"
#include "runtime/runtime.h"

struct ceni_lookup {
    /* fixed before it is posted */
    const cen_allocator *allocator;
    cen_runtime *runtime; /* a user of it */
    ceni_address address;
    ceni_errand errand;
    /* any thread, atomically */
    _Atomic uint32_t hands;
    /* under the mutex, of rank CONNECTION */
    ceni_mutex mutex;
    cen_mux *mux; /* NULL: the connection has given up */
};

static void drop(ceni_lookup *lookup)
{
    if (ceni_sub_seq_cst(&lookup->hands, 1u) != 1) return; /* [K1] */
    cen_runtime *runtime = lookup->runtime;
    ceni_free(lookup->allocator, lookup, sizeof *lookup, _Alignof(ceni_lookup));
    ceni_runtime_leave(runtime);
}

static void run(ceni_errand *errand)
{
    ceni_lookup *lookup = CENI_LIST_ENTRY(errand, ceni_lookup, errand);
    ceni_endpoints endpoints;
    cen_error error = {.status = CEN_OK};
    cen_status status = ceni_address_resolve(&lookup->address, false, &endpoints, &error);
    ceni_mutex_lock(&lookup->mutex, CENI_RANK_CONNECTION);
    cen_mux *mux = lookup->mux;
    if (mux) {
        mux->lookup_status = status;
        if (status == CEN_OK) mux->endpoints = endpoints;
        else mux->last = error;
        ceni_loop_post(mux->loop, &mux->found);
    }
    ceni_mutex_unlock(&lookup->mutex, CENI_RANK_CONNECTION);
    drop(lookup);
}

cen_status ceni_lookup_begin(cen_mux *mux, cen_error *error)
{
    cen_status status = CEN_NO_MEMORY;
    ceni_lookup *lookup = ceni_alloc(mux->allocator, sizeof *lookup, _Alignof(ceni_lookup));
    if (!lookup) return ceni_error_set(error, status, 0, "cannot look up %s: out of memory", mux->address.text);
    lookup->allocator = mux->allocator;
    lookup->address = mux->address;
    lookup->mux = mux;
    ceni_store_relaxed(&lookup->hands, 2u); /* not yet shared; carries nothing */
    ceni_errand_init(&lookup->errand, run);
    if ((status = ceni_runtime_join(mux->runtime, &lookup->runtime)) != CEN_OK) goto undo_memory;
    mux->lookup = lookup;
    if ((status = ceni_errand_post(lookup->runtime, &lookup->errand)) != CEN_OK) goto undo_join;
    return CEN_OK;

undo_join:
    mux->lookup = NULL;
    ceni_runtime_leave(lookup->runtime);
undo_memory:
    ceni_free(mux->allocator, lookup, sizeof *lookup, _Alignof(ceni_lookup));
    return ceni_error_set(error, status, 0, "cannot look up %s: %s", mux->address.text, cen_status_text(status));
}

void ceni_lookup_leave(cen_mux *mux)
{
    ceni_lookup *lookup = mux->lookup;
    if (!lookup) return;
    mux->lookup = NULL;
    ceni_mutex_lock(&lookup->mutex, CENI_RANK_CONNECTION);
    lookup->mux = NULL;
    ceni_mutex_unlock(&lookup->mutex, CENI_RANK_CONNECTION);
    drop(lookup);
}
