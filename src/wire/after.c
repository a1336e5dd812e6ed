/* SPDX-License-Identifier: MIT */
/*
 * What a call does after it has dropped the lock: complete requests, wake the next reader, wake the loop, report the
 * end of the connection.
 *
 * Blocked threads are completed first. Completing one runs none of the program's code, and a thread whose deadline
 * passes in that moment waits for its completion.
 *
 * A request is completed once. The thread that puts it into a list has taken it out of the wire under the lock, and the
 * request is in no other place.
 *
 * Order table
 * tag  site       | operation             | order   | pairs with | carries                               | breaks if weakened
 * [B1] tell       | exchange of the word  | acq_rel | requests.c [B2] [B3] | the request's result                  | a blocked thread reads a half-written result
 * [B4] tell_done  | store of the future's state | release | sync/future.c [F2] | the same                   | a thread that sees it done reads a half-written result
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "sync/future.h"
#include "wire/internal.h"

void ceni_after_init(ceni_after *after)
{
    *after = (ceni_after){.heir = NULL};
    after->threads.end = &after->threads.first;
    after->futures.end = &after->futures.first;
}

void ceni_after_add(ceni_after *after, cen_request *request)
{
    ceni_sent *asked = ceni_sent_of(request);
    ceni_chain *chain = asked->blocked ? &after->threads : &after->futures;
    if (!asked->blocked) after->replies++;
    asked->link.next = NULL;
    *chain->end = &asked->link;
    chain->end = &asked->link.next;
}

void ceni_after_end(ceni_after *after, cen_request *request, cen_status status, const cen_error *cause)
{
    cen_future *future = &request->future;
    future->status = status;
    future->code = cause ? cause->code : 0;
    future->value = NULL;
    if (cause && future->error) *future->error = *cause;
    if (future->error) future->error->status = status;
    if (!cause) ceni_error_set(future->error, status, 0, "%s", cen_status_text(status));
    ceni_after_add(after, request);
}

/* Allocate the reply buffer of a request that has none. */
static bool allocate_reply(cen_request *request, size_t size, const cen_allocator *allocator)
{
    request->reply = ceni_alloc(allocator, size ? size : 1, 1);
    if (!request->reply) return false;
    request->capacity = size;
    request->allocator_ = allocator;
    ceni_sent_of(request)->is_allocated = true;
    return true;
}

static void fail_answer(cen_request *request, cen_status status, const char *text)
{
    request->future.status = status;
    request->future.value = NULL;
    ceni_error_set(request->future.error, status, 0, "%s", text);
}

void ceni_request_answer(cen_request *request, const void *answer, size_t size, const cen_allocator *allocator)
{
    ceni_sent_of(request)->is_answered = true;
    if (!request->reply && !allocate_reply(request, size, allocator)) {
        fail_answer(request, CEN_NO_MEMORY, "out of memory for the reply");
        return;
    }
    request->reply_size = size;
    size_t fits = size < request->capacity ? size : request->capacity;
    if (fits) memcpy(request->reply, answer, fits);
    if (fits < size) {
        fail_answer(request, CEN_FULL, "reply larger than the buffer of the request");
        return;
    }
    request->future.status = CEN_OK;
    request->future.code = 0;
    request->future.value = request->reply;
}

/* ---- Completion -------------------------------------------------------------------------------- */

static cen_request *take_first(ceni_chain *chain)
{
    ceni_list *link = chain->first;
    if (!link) return NULL;
    chain->first = link->next;
    if (!chain->first) chain->end = &chain->first;
    return ceni_request_of(CENI_LIST_ENTRY(link, ceni_sent, link));
}

/* The thread may return, and its stack frame be gone, as soon as the word is DONE. After that only the word's address
 * is used. */
static void tell_thread(ceni_blocked *blocked)
{
    uint32_t before = ceni_exchange_acq_rel(&blocked->word, (uint32_t)CENI_BLOCKED_DONE); /* [B1] */
    if (before == CENI_BLOCKED_ASLEEP && !ceni_planted(wire_tells_no_thread)) ceni_futex_wake(&blocked->word, 1);
}

static void free_copy(cen_request *request, const cen_allocator *allocator)
{
    ceni_sent *asked = ceni_sent_of(request);
    if (!asked->copy) return;
    ceni_free(allocator, asked->copy, request->size, 1);
    asked->copy = NULL;
}

/* Complete a request that was created with its `done`. It has no other consumer: it cannot be waited for, armed or put
 * into a group, and a cancel does not touch a request that is OUT. So no other thread changes its state, and a plain
 * store replaces the locked instruction that other futures need. `open`: the record that collects the job; NULL: post
 * to the executor. */
static void tell_done(cen_request *request, ceni_inline_run *open)
{
    cen_future *future = &request->future;
    ceni_store_release(&future->state_, (uint32_t)CENI_FUTURE_DONE); /* [B4] */
    if (open) {
        ceni_inline_put(open, &future->job_);
        return;
    }
    ceni_rank_expect_none("the executor of a request");
    future->executor_->post(future->executor_, &future->job_);
}

static void tell_futures(ceni_after *after, const cen_allocator *allocator)
{
    const cen_executor *own = cen_inline();
    ceni_inline_run *open = ceni_inline_open();
    int held = -1;
    ceni_list *link = after->futures.first;
    after->futures = (ceni_chain){.first = NULL, .end = &after->futures.first};
    while (link) {
        cen_request *request = ceni_request_of(CENI_LIST_ENTRY(link, ceni_sent, link));
        link = link->next;                                     /* once posted, the request may be gone */
        bool waits = open && request->future.executor_ == own; /* its `done` runs at the end of the record */
        bool calls = !waits || ceni_sent_of(request)->copy;
        if (calls && held < 0) held = ceni_cancel_hold(); /* executors and allocators are the program's */
        free_copy(request, allocator);
        if (request->done_) tell_done(request, waits ? open : NULL);
        else ceni_future_complete(&request->future);
    }
    if (held >= 0) ceni_cancel_release(held);
}

void ceni_after_tell(ceni_after *after, const cen_allocator *allocator)
{
    for (cen_request *request; (request = take_first(&after->threads));) tell_thread(ceni_sent_of(request)->blocked);
    if (after->drained) {
        after->drained->status = CEN_OK;
        ceni_future_complete(after->drained);
        after->drained = NULL;
    }
    if (after->futures.first) tell_futures(after, allocator);
}

/* ---- The end of a call ---------------------------------------------------------------------------- */

static void see_to_drain(ceni_exchange *exchange, ceni_after *after)
{
    if (!exchange->drained || exchange->wire.in_flight || exchange->wire.waiting) return;
    after->drained = exchange->drained;
    exchange->drained = NULL;
}

/* Call the functions that need the exchange to exist, but not its lock. */
static void wake_others(ceni_exchange *exchange, ceni_after *after)
{
    ceni_rank_expect_none("the transport of a connection");
    if (after->heir) ceni_futex_wake(&after->heir->word, 1);
    if (after->wake) exchange->transport.wake(exchange->argument);
    if (after->broken) exchange->transport.broken(exchange->argument, &exchange->cause); /* the cause is final */
    after->heir = NULL;
    after->wake = after->broken = false;
}

void ceni_exchange_prepare(ceni_exchange *exchange, ceni_after *after)
{
    ceni_batch_merge(exchange);
    ceni_exchange_admit(exchange, after);
    ceni_exchange_write(exchange, after);
    ceni_exchange_see_to_roles(exchange, after);
    see_to_drain(exchange, after);
}

void ceni_exchange_call_out(ceni_exchange *exchange, ceni_after *after)
{
    ceni_inline_run here;
    if (after->heir || after->wake || after->broken) wake_others(exchange, after);
    if (!after->threads.first && !after->futures.first && !after->drained) return;
    ceni_inline_begin(&here);
    ceni_after_tell(after, exchange->allocator);
    ceni_inline_end(&here);
}

void ceni_exchange_settle(ceni_exchange *exchange, ceni_after *after)
{
    ceni_exchange_prepare(exchange, after);
    /* Only on the loop's thread, which may not wait. A `done` on another thread may wait for its requests. */
    bool batches = after->futures.first && after->loops;
    if (batches) ceni_batch_begin(exchange, after->replies);
    after->replies = 0;
    ceni_exchange_unlock(exchange);
    ceni_exchange_call_out(exchange, after);
    ceni_exchange_lock(exchange);
    if (batches) ceni_batch_end(exchange, after);
}

void ceni_exchange_leave(ceni_exchange *exchange, ceni_after *after)
{
    const cen_allocator *allocator = exchange->allocator;
    ceni_exchange_prepare(exchange, after);
    if (after->heir || after->wake || after->broken) {
        ceni_exchange_unlock(exchange);
        wake_others(exchange, after);
        ceni_exchange_lock(exchange);
    }
    bool emptied = --exchange->inside == 0 && exchange->is_ending;
    if (emptied) ceni_add_relaxed(&exchange->emptied, 1); /* ordered by the lock; carries nothing */
    _Atomic uint32_t *name = &exchange->emptied;
    ceni_exchange_unlock(exchange);
    if (emptied) ceni_futex_wake(name, 1); /* only the address is used: the exchange may be gone */
    ceni_after_tell(after, allocator);
}
