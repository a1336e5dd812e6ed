/* SPDX-License-Identifier: MIT */
/* The shared declarations of the exchange's files. */
#ifndef CENI_WIRE_INTERNAL_H
#define CENI_WIRE_INTERNAL_H

#include "base/plant.h"
#include "port/port.h"
#include "sync/future.h"
#include "wire/exchange.h"

/* A thread that waits for its reply. The record is on its stack. */
typedef struct ceni_blocked {
    /* any thread, atomically */
    _Atomic uint32_t word; /* AWAKE, ASLEEP or DONE */
    /* fixed before it is shared */
    cen_request *request;
    int64_t moment; /* the end of the wait, on the real clock */
    /* under the lock */
    ceni_list link; /* in exchange->blocked while it sleeps and could read */
    bool reads;     /* it has the reader's role */
} ceni_blocked;

enum { CENI_BLOCKED_AWAKE = 0, CENI_BLOCKED_ASLEEP, CENI_BLOCKED_DONE };

/* A list of completed requests in order, by the links of ceni_sent. It points into itself. */
typedef struct ceni_chain {
    ceni_list *first, **end;
} ceni_chain;

/* What a call has to do after it has dropped the lock. On the caller's stack. */
typedef struct ceni_after {
    ceni_chain threads; /* requests with a blocked thread */
    /* asynchronous requests: completed after the threads, because a `done` may take long */
    ceni_chain futures;
    ceni_blocked *heir; /* a sleeping thread that got the reader's role */
    bool wake;          /* wake the loop */
    bool broken;        /* this call has ended the connection */
    bool urgent;        /* what this call adds is written at once, on any thread */
    bool loops;         /* this is the loop's call */
    uint32_t replies;   /* the number of requests in `futures` */
    cen_future *drained;
} ceni_after;

/* ---- after.c: what is done with no lock held --------------------------------------------- */

void ceni_after_init(ceni_after *after);

/* Add a finished request to the lists. The caller has taken it OUT. `end` also writes its result. */
void ceni_after_add(ceni_after *after, cen_request *request);
void ceni_after_end(ceni_after *after, cen_request *request, cen_status status, const cen_error *cause);

/* Write the reply into the request. Not under the lock: it may allocate. */
void ceni_request_answer(cen_request *request, const void *answer, size_t size, const cen_allocator *allocator);

/* Complete all requests in the two lists. No lock is held, and no exchange is touched. */
void ceni_after_tell(ceni_after *after, const cen_allocator *allocator);

/* The end of a call. Takes the lock over and drops it: admits waiting requests, writes output, provides a reader, and
 * completes the requests in the lists. */
void ceni_exchange_leave(ceni_exchange *exchange, ceni_after *after);
/* As leave, but stays inside and returns with the lock held. Requests that the completed `done`s make on the loop's
 * thread are written by the next settle or leave. */
void ceni_exchange_settle(ceni_exchange *exchange, ceni_after *after);
/* The first half of both, under the lock: all changes of the exchange. May drop the lock meanwhile. */
void ceni_exchange_prepare(ceni_exchange *exchange, ceni_after *after);
/* The second half, without the lock, for a call that stays inside: wakes and completes. */
void ceni_exchange_call_out(ceni_exchange *exchange, ceni_after *after);

/* ---- exchange.c ---------------------------------------------------------------------------- */

static inline void ceni_exchange_lock(ceni_exchange *exchange)
{
    ceni_mutex_lock(&exchange->lock, CENI_RANK_CONNECTION);
}

static inline void ceni_exchange_unlock(ceni_exchange *exchange)
{
    ceni_mutex_unlock(&exchange->lock, CENI_RANK_CONNECTION);
}

/* Take the lock, and count the thread as inside until ceni_exchange_leave. */
static inline void ceni_exchange_enter(ceni_exchange *exchange)
{
    ceni_exchange_lock(exchange);
    exchange->inside++;
}

/* Mark the connection as ended, unless it was before. Under the lock. */
void ceni_exchange_break(ceni_exchange *exchange, ceni_after *after, const cen_error *cause);

/* End the requests in the list (links of ceni_sent), which were taken OUT, with this status. Under the lock. Returns
 * how many. */
uint64_t ceni_exchange_end_all(ceni_exchange *exchange, ceni_after *after, ceni_list *over, cen_status status,
                               const cen_error *cause);

/* Count a request that was taken OUT. Under the lock. */
static inline void ceni_exchange_count_out(ceni_exchange *exchange, cen_request *request)
{
    if (!ceni_sent_of(request)->blocked) exchange->asked--;
}

/* Fail all requests in flight or waiting with the connection's cause. Under the lock. */
void ceni_exchange_fail_all(ceni_exchange *exchange, ceni_after *after);

/* ---- batch.c ------------------------------------------------------------------------------------ */

/* Start a batch: the loop's thread is about to complete this many replies. Under the lock, which it may drop
 * meanwhile. */
void ceni_batch_begin(ceni_exchange *exchange, uint32_t replies);
/* End the batch: requests made meanwhile are in flight and ready to be written. Under the lock. */
void ceni_batch_end(ceni_exchange *exchange, ceni_after *after);
/* Add a request, on the batch's thread and not under the lock. The request is sound and has no deadline of its own.
 * Returns false if it must go the normal way. */
bool ceni_batch_add(ceni_exchange *exchange, cen_request *request);
/* Put the requests made so far in flight. Under the lock. */
void ceni_batch_merge(ceni_exchange *exchange);
/* Take the output of a finished batch, and leave it the memory of `empty`. Returns false if there is none. Under the
 * lock. */
bool ceni_batch_take_output(ceni_exchange *exchange, ceni_bytes *empty);
/* Send all further requests the normal way until the next batch. Under the lock. */
static inline void ceni_batch_close(ceni_exchange *exchange)
{
    ceni_setting_put(&exchange->batch.is_closed, true);
}
/* Drop the output after the connection has ended. Under the lock. */
void ceni_batch_forget(ceni_exchange *exchange);

/* ---- requests.c ----------------------------------------------------------------------------------- */

/* Send waiting requests while there is room. Under the lock, which it may drop meanwhile. */
void ceni_exchange_admit(ceni_exchange *exchange, ceni_after *after);

/* Give UNDATED requests the connection's deadline, counted from now. Under the lock. */
void ceni_exchange_date(ceni_exchange *exchange);

/* Cancel a request; called by its future. */
bool ceni_exchange_withdraw(cen_future *future);

/* Return true if the request is valid. If not, requests.c reports why. */
static inline bool ceni_request_is_sound(const ceni_exchange *exchange, const cen_request *request)
{
    return request && (request->payload || !request->size) && request->size <= exchange->wire.max_payload &&
           (request->future.executor_ || !request->done_) && ceni_future_is_fresh(&request->future);
}

/* The timer is initialised when it enters the wheel, link and id when they are used. */
static inline void ceni_request_make_ready(cen_request *request, ceni_blocked *blocked, int64_t moment)
{
    ceni_sent *asked = ceni_sent_of(request);
    asked->place = CENI_PLACE_OUT;
    asked->is_allocated = asked->is_answered = false;
    asked->blocked = blocked;
    asked->copy = NULL;
    asked->moment = moment;
    request->reply_size = 0;
}

/* Return true if the alarm fires before the connection's deadline has passed once more. Under the lock. */
static inline bool ceni_exchange_alarm_dates(const ceni_exchange *exchange)
{
    return exchange->alarm_moment <= exchange->dated || ceni_planted(wire_batch_sets_no_alarm);
}

/* The alarm's callback: deadlines have passed. */
void ceni_exchange_due(ceni_alarm *alarm);

/* ---- roles.c ----------------------------------------------------------------------------------- */

/* Return true if this thread is the loop's and is completing replies. Then it also writes what their `done`s request,
 * when all are complete. */
static inline bool ceni_exchange_batches(ceni_exchange *exchange)
{
    uint64_t thread = ceni_setting(&exchange->batch.thread); /* only that thread finds its own id there */
    return thread && thread == ceni_thread_id();
}

/* Write the output, unless another thread does or the socket is full. Under the lock, which it drops meanwhile. */
void ceni_exchange_write(ceni_exchange *exchange, ceni_after *after);

/* Return true if a thread that waits for its reply should read. Under the lock. */
bool ceni_exchange_may_read(const ceni_exchange *exchange);

/* Make sure that there is a reader and that stuck output continues. Under the lock. */
void ceni_exchange_see_to_roles(ceni_exchange *exchange, ceni_after *after);

/* Read once, until `moment` at most. The caller has the reader's role and holds no lock. Requests whose replies arrive
 * are taken OUT, and their results are written. */
typedef enum ceni_came {
    CENI_CAME_NOTHING,
    CENI_CAME_SOME,
    CENI_CAME_MORE, /* the buffer was filled: there may be more */
} ceni_came;
ceni_came ceni_exchange_read(ceni_exchange *exchange, int64_t moment, ceni_after *after);

#endif
