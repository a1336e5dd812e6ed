/* SPDX-License-Identifier: MIT */
/* What a program may ask a pool for at any time: statistics, holders, name, limit. stats.c and holding.c read. */
#include "base/error.h"
#include "pool/internal.h"
#include "port/port.h"

cen_status cen_pool_stats_get(cen_pool *pool, cen_pool_stats *out)
{
    cen_pool_stats read = CEN_SIZED(cen_pool_stats);
    cen_status status = ceni_pool_check(pool, "cen_pool_stats_get", NULL);
    if (status == CEN_OK) status = cen_sized_check(out, sizeof *out, "cen_pool_stats_get: out", NULL);
    if (status != CEN_OK) return status;
    ceni_pool_stats_read(pool, &read);
    cen_sized_write(out, &read, sizeof read);
    return CEN_OK;
}

/* Write the element at `index` of the caller's array, whose elements may be another version's and have another size. */
static void put_holding(void *array, size_t size, size_t index, const cen_object_view *holding)
{
    unsigned char *at = (unsigned char *)array + index * size;
    memset(at, 0, size);
    memcpy(at, &size, sizeof size);
    cen_sized_write(at, holding, sizeof *holding);
}

cen_status cen_pool_holders_sized(cen_pool *pool, cen_object_view *holdings, size_t size, size_t room, size_t *out)
{
    cen_status status = ceni_pool_check(pool, "cen_pool_holders", NULL);
    if (status != CEN_OK) return status;
    if (!out || (room && !holdings) || size < sizeof size || size > CEN_SIZED_MAX) return CEN_INVALID;
    uint32_t places = ceni_place_reach(pool);
    size_t count = 0;
    for (uint32_t index = 0; index < places; index++) {
        cen_object_view holding;
        if (!ceni_slot_holding(pool, index, &holding) || holding.state == CEN_OBJECT_IDLE) continue;
        ceni_slot_meet(pool, ceni_slot_at(pool, index), ceni_word(holding.generation, CENI_SLOT_HELD));
        if (count < room) put_holding(holdings, size, count, &holding);
        count++;
    }
    *out = count;
    return CEN_OK;
}

uint64_t cen_thread_number(void)
{
    return ceni_thread_id();
}

_Static_assert(CEN_HOLDER_TASK == CENI_HOLDER_TASK, "the bit that the header shows");

uint64_t cen_holder_number(void)
{
    return ceni_holder_number();
}

const char *cen_pool_name(const cen_pool *pool)
{
    return pool ? pool->name : "";
}

uint32_t cen_pool_max(const cen_pool *pool)
{
    if (!pool) return 0;
    ceni_pool_check(pool, "cen_pool_max", NULL);                   /* a pool that is being renewed has no max yet */
    return ceni_load_relaxed(&((cen_pool *)(uintptr_t)pool)->max); /* a setting; carries nothing */
}

bool cen_pool_is_closed(const cen_pool *pool)
{
    /* in a forked child the queue may belong to another pool */
    if (ceni_pool_check(pool, "cen_pool_is_closed", NULL) != CEN_OK) return true;
    return ceni_load_relaxed(&pool->waiters->ctl) & CENI_CTL_CLOSED; /* a mark; carries nothing */
}
