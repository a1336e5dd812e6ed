/* SPDX-License-Identifier: MIT */
/*
 * The seal: shows from memory whether hiredis has written to the socket.
 *
 * hiredis counts no bytes, and 0.14 has no hook for writes. But redisBufferWrite, in 0.14 and in 1.x, frees the output
 * buffer when all of it was written, and replaces it by an empty one without capacity. So the driver gives the buffer
 * capacity: that is the seal. The driver's own writes bypass the buffer, or clear it and keep its capacity. A buffer
 * without capacity was written by hiredis.
 *
 *     sealed, empty     nothing was written directly
 *     not empty         commands wait; `appended` of these bytes came through cen_redis_append
 *     broken, empty     hiredis wrote: our commands if `appended` is not 0, else direct ones
 *
 * hiredis also writes the commands of cen_redis_append, in redisGetReply. It reads only after it has written
 * everything, so the first reply finds the buffer empty and renews the seal.
 *
 * Not detected: a direct command that is appended between cen_redis_append and the next reply, and bytes that the
 * program writes to the descriptor itself. The reply to the former is noticed when it arrives with the others.
 */
#include "redis/redis.h"

#if HIREDIS_MAJOR >= 1
#define capacity_of(buffer) hi_sdsalloc(buffer)
#define with_room(buffer) hi_sdsMakeRoomFor((buffer), 1)
#else
#define capacity_of(buffer) sdsalloc(buffer)
#define with_room(buffer) sdsMakeRoomFor((buffer), 1)
#endif

bool ceni_redis_seal_is_intact(const ceni_redis_ledger *ledger)
{
    return !ledger->has_seal || capacity_of(ledger->context->obuf) > 0;
}

bool ceni_redis_seal_renew(ceni_redis_ledger *ledger)
{
    redisContext *context = ledger->context;
    ledger->has_seal = true;
    ledger->appended = 0;
    if (capacity_of(context->obuf) > 0) return true;
    char *buffer = with_room(context->obuf);
    if (!buffer) return false;
    context->obuf = buffer;
    return true;
}

void ceni_redis_seal_before_command(ceni_redis_ledger *ledger)
{
    size_t unsent = ceni_redis_unsent(ledger->context);
    bool was_ours = unsent == 0 && ledger->appended > 0;
    if (unsent != ledger->appended && !was_ours) ceni_redis_ledger_lose(ledger);
    if (ceni_redis_seal_is_intact(ledger)) return;
    if (!was_ours) ceni_redis_ledger_used_directly(ledger);
    if (unsent == 0 && !ceni_redis_seal_renew(ledger)) ceni_redis_ledger_lose(ledger);
}

void ceni_redis_seal_at_reply(ceni_redis_ledger *ledger)
{
    if (ledger->appended == 0 || ceni_redis_unsent(ledger->context) > 0) return;
    if (!ceni_redis_seal_renew(ledger)) ceni_redis_ledger_lose(ledger);
}
