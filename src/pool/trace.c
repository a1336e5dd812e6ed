/* SPDX-License-Identifier: MIT */
/*
 * Backtraces of takes, with options.backtraces.
 *
 * Every slot has room for one backtrace in its chunk. The holder writes it before its take returns. A reader may read
 * while the next holder writes. So the generation before the addresses is cleared first and written last, and a
 * reader checks it before and after. The addresses in between belong to that lease, or are not shown.
 *
 *     room[0]  the generation, 0: being written      room[1..]  return addresses, innermost first; NULL: end
 *
 * Order table
 * [B1] note | store of the generation, 0 | release | - | nothing: B2 orders the later stores behind it | -
 * [B2] note | stores of addresses        | release | B4 | that the generation was cleared before | addresses of two leases are shown as one backtrace
 * [B3] note | store of the generation    | release | B4 | the addresses | the previous holder's addresses are shown for this one
 * [B4] read | loads of all               | acquire | B2 B3 | the same | the same
 */
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

static _Atomic uint64_t *room_of(cen_pool *pool, uint32_t index)
{
    ceni_chunk *chunk = ceni_chunk_of(pool, index);
    return chunk && chunk->traces ? &chunk->traces[(size_t)(index - chunk->first) * CENI_TRACE_ROOM] : NULL;
}

void ceni_trace_note(cen_pool *pool, const cen_lease *lease, const void *from)
{
    _Atomic uint64_t *room = room_of(pool, ceni_slot_index(pool, lease->slot));
    if (!room) return;
    void *frames[CEN_BACKTRACE_MAX];
    unsigned count = ceni_backtrace(frames, CEN_BACKTRACE_MAX, from);
    ceni_store_release(&room[0], 0); /* [B1] */
    for (unsigned i = 0; i < CEN_BACKTRACE_MAX; i++)
        ceni_store_release(&room[1 + i], i < count ? (uint64_t)(uintptr_t)frames[i] : 0); /* [B2] */
    ceni_store_release(&room[0], lease->generation);                                      /* [B3] */
}

void ceni_trace_read(cen_pool *pool, uint32_t index, cen_object_view *out)
{
    _Atomic uint64_t *room = room_of(pool, index);
    if (!room || ceni_load_acquire(&room[0]) != out->generation) return; /* [B4] */
    uint32_t count = 0;
    while (count < CEN_BACKTRACE_MAX) {
        uint64_t frame = ceni_load_acquire(&room[1 + count]); /* [B4] */
        if (!frame) break;
        out->backtrace[count++] = (void *)(uintptr_t)frame;
    }
    out->backtrace_count = ceni_load_acquire(&room[0]) == out->generation ? count : 0; /* [B4] */
}
