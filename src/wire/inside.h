/* SPDX-License-Identifier: MIT */
/* What the files of the exchange have in common. */
#ifndef CENI_WIRE_INSIDE_H
#define CENI_WIRE_INSIDE_H

#include "port/port.h"
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

/* What a call has to do once it has dropped the lock. On the caller's stack. */
typedef struct ceni_after {
    ceni_list threads;  /* requests that are over, for which a thread is blocked; */
    ceni_list futures;  /* those that were asked: told after the threads, for a `done` may take long; */
    ceni_blocked *heir; /* it was given the reader's role and sleeps */
    bool wake;          /* the loop */
    bool broken;        /* this call has ended the connection */
    bool urgent;        /* what this call adds is written at once, whoever makes it */
    bool loops;         /* this is the loop's call */
    cen_future *drained;
} ceni_after;

/* ---- after.c: what is done with no lock held --------------------------------------------- */

void ceni_after_init(ceni_after *after);

/* The request is over, and is to be told; its answer is written into it here. Whoever calls has taken it OUT. */
void ceni_after_add(ceni_after *after, cen_request *request);
void ceni_after_end(ceni_after *after, cen_request *request, cen_status status, const cen_error *cause);

/* Writes the answer that came in. Not under the lock: it may allocate. */
void ceni_request_answer(cen_request *request, const cen_allocator *allocator);

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

/* Those in the list, by the links of ceni_asked, were taken OUT and end so. Under the lock. Returns how many. */
uint64_t ceni_exchange_end_all(ceni_exchange *exchange, ceni_after *after, ceni_list *over, cen_status status,
                               const cen_error *cause);

/* A request was taken OUT. Under the lock. */
static inline void ceni_exchange_count_out(ceni_exchange *exchange, cen_request *request)
{
    if (!ceni_asked_of(request)->blocked) exchange->asked--;
}

/* ---- ask.c ----------------------------------------------------------------------------------- */

/* Lets those in who wait, as long as there is room. Under the lock, which it may drop meanwhile. */
void ceni_exchange_admit(ceni_exchange *exchange, ceni_after *after);

/* The alarm's call: deadlines have come. */
void ceni_exchange_due(ceni_alarm *alarm);

/* ---- roles.c ----------------------------------------------------------------------------------- */

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
