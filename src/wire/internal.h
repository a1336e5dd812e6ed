/* SPDX-License-Identifier: MIT */
/* What the files of the exchange have in common. */
#ifndef CENI_WIRE_INTERNAL_H
#define CENI_WIRE_INTERNAL_H

#include "base/plant.h"
#include "port/port.h"
#include "sync/future.h"
#include "wire/exchange.h"

/* A thread that waits for its reply, on its stack. */
typedef struct ceni_blocked {
    /* any thread, atomically */
    _Atomic uint32_t word; /* AWAKE, ASLEEP or DONE */
    /* fixed before it is seen */
    cen_request *request;
    int64_t moment; /* until when it sleeps, on the real clock */
    /* under the lock */
    ceni_list link; /* in exchange->blocked, while it sleeps and could read */
    bool reads;     /* it has the reader's role */
} ceni_blocked;

enum { CENI_BLOCKED_AWAKE = 0, CENI_BLOCKED_ASLEEP, CENI_BLOCKED_DONE };

/* Requests that are over, in their order: the links of ceni_sent. Points into itself. */
typedef struct ceni_chain {
    ceni_list *first, **end;
} ceni_chain;

/* What a call has to do once it has dropped the lock. On the caller's stack. */
typedef struct ceni_after {
    ceni_chain threads; /* for which a thread is blocked; */
    ceni_chain futures; /* those that were asked: told after the threads, for a `done` may take long; */
    ceni_blocked *heir; /* it was given the reader's role and sleeps */
    bool wake;          /* the loop */
    bool broken;        /* this call has ended the connection */
    bool urgent;        /* what this call adds is written at once, whoever makes it */
    bool loops;         /* this is the loop's call */
    uint32_t replies;   /* how many are in `futures` */
    cen_future *drained;
} ceni_after;

/* ---- after.c: what is done with no lock held --------------------------------------------- */

void ceni_after_init(ceni_after *after);

/* The request is over, and is to be told; its answer is written into it here. Whoever calls has taken it OUT. */
void ceni_after_add(ceni_after *after, cen_request *request);
void ceni_after_end(ceni_after *after, cen_request *request, cen_status status, const cen_error *cause);

/* Writes the answer that came in. Not under the lock: it may allocate. */
void ceni_request_answer(cen_request *request, const void *answer, size_t size, const cen_allocator *allocator);

/* Tells all in the two lists. No lock is held. Touches no exchange. */
void ceni_after_tell(ceni_after *after, const cen_allocator *allocator);

/* Everything. The lock is held and is dropped: those who wait are let in, what is to be written is, a reader is seen to,
 * those in the lists are told. */
void ceni_exchange_leave(ceni_exchange *exchange, ceni_after *after);
/* The same, and stays inside: returns with the lock held. What the `done`s of those in the lists ask on the loop's
 * thread is written by what that does next: one more settle, or leave. */
void ceni_exchange_settle(ceni_exchange *exchange, ceni_after *after);
/* The first half of both, under the lock: all that changes the exchange. It may drop the lock meanwhile. */
void ceni_exchange_prepare(ceni_exchange *exchange, ceni_after *after);
/* The second half, without the lock, for one who stays inside: wakes, and tells. */
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

/* Takes the lock, and counts the thread as one that is inside until ceni_exchange_leave. */
static inline void ceni_exchange_enter(ceni_exchange *exchange)
{
    ceni_exchange_lock(exchange);
    exchange->inside++;
}

/* The connection has ended, by this call or before. Under the lock. */
void ceni_exchange_break(ceni_exchange *exchange, ceni_after *after, const cen_error *cause);

/* Those in the list, by the links of ceni_sent, were taken OUT and end so. Under the lock. Returns how many. */
uint64_t ceni_exchange_end_all(ceni_exchange *exchange, ceni_after *after, ceni_list *over, cen_status status,
                               const cen_error *cause);

/* A request was taken OUT. Under the lock. */
static inline void ceni_exchange_count_out(ceni_exchange *exchange, cen_request *request)
{
    if (!ceni_sent_of(request)->blocked) exchange->asked--;
}

/* All that are in flight or wait end with the connection's cause. Under the lock. */
void ceni_exchange_fail_all(ceni_exchange *exchange, ceni_after *after);

/* ---- batch.c ------------------------------------------------------------------------------------ */

/* This thread, the loop's, is about to tell of so many replies. Under the lock, which it may drop meanwhile. */
void ceni_batch_begin(ceni_exchange *exchange, uint32_t replies);
/* It has told them: what was asked meanwhile is in flight, and to be written. Under the lock. */
void ceni_batch_end(ceni_exchange *exchange, ceni_after *after);
/* In the batch, on its thread, and not under the lock: asks a request that is sound and has no deadline of its own. False: it
 * must go the other way. */
bool ceni_batch_add(ceni_exchange *exchange, cen_request *request);
/* What was asked up to now is in flight. Under the lock. */
void ceni_batch_merge(ceni_exchange *exchange);
/* Takes the output of a batch that is over, and leaves it the memory of `empty`; false if there is none. Under the lock. */
bool ceni_batch_take_output(ceni_exchange *exchange, ceni_bytes *empty);
/* From now on all go the other way, until the next batch. Under the lock. */
static inline void ceni_batch_close(ceni_exchange *exchange)
{
    ceni_setting_put(&exchange->batch.is_closed, true);
}
/* The connection has ended, and what is not written never will be. Under the lock. */
void ceni_batch_forget(ceni_exchange *exchange);

/* ---- requests.c ----------------------------------------------------------------------------------- */

/* Lets those in who wait, as long as there is room. Under the lock, which it may drop meanwhile. */
void ceni_exchange_admit(ceni_exchange *exchange, ceni_after *after);

/* Those that are UNDATED get the connection's deadline, from now on. Under the lock. */
void ceni_exchange_date(ceni_exchange *exchange);

/* Gives a request up; for its future. */
bool ceni_exchange_withdraw(cen_future *future);

/* Whether it may be asked; if not, requests.c says why. */
static inline bool ceni_request_is_sound(const ceni_exchange *exchange, const cen_request *request)
{
    return request && (request->payload || !request->size) && request->size <= exchange->wire.max_payload &&
           (request->future.executor_ || !request->done_) && ceni_future_is_fresh(&request->future);
}

/* The timer is made ready where it enters the wheel, link and id where they are used. */
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

/* Whether the alarm comes before the connection's deadline has passed once more. Under the lock. */
static inline bool ceni_exchange_alarm_dates(const ceni_exchange *exchange)
{
    return exchange->alarm_moment <= exchange->dated || ceni_planted(wire_batch_sets_no_alarm);
}

/* The alarm's call: deadlines have come. */
void ceni_exchange_due(ceni_alarm *alarm);

/* ---- roles.c ----------------------------------------------------------------------------------- */

/* Whether this thread tells others of their replies just now, on the loop, and sees to what they ask when it is through. */
static inline bool ceni_exchange_batches(ceni_exchange *exchange)
{
    uint64_t thread = ceni_setting(&exchange->batch.thread); /* only that thread finds its own number there */
    return thread && thread == ceni_thread_id();
}

/* Writes what there is, unless somebody else does or nothing goes. Under the lock, which it drops meanwhile. */
void ceni_exchange_write(ceni_exchange *exchange, ceni_after *after);

/* Whether a thread that waits for its reply is to read. Under the lock. */
bool ceni_exchange_may_read(const ceni_exchange *exchange);

/* Sees to it that somebody reads, and that stuck output goes on. Under the lock. */
void ceni_exchange_see_to_roles(ceni_exchange *exchange, ceni_after *after);

/* The reader's role is held by the caller, and no lock: reads once, until the moment at most, and takes those OUT whose
 * replies came; their answers are written. */
typedef enum ceni_came {
    CENI_CAME_NOTHING,
    CENI_CAME_SOME,
    CENI_CAME_MORE, /* as much as there was room for: there may be more */
} ceni_came;
ceni_came ceni_exchange_read(ceni_exchange *exchange, int64_t moment, ceni_after *after);

#endif
