/* SPDX-License-Identifier: MIT */
/*
 * What the files of a connection share.
 *
 *     OPENING ──connected──▶ OPEN ──closed, lost──▶ (OPEN, has_ended)
 *        └──────failed, given up──▶ FAILED (has_ended)
 *
 * From OPEN on there is an exchange (src/wire), which itself knows that it has
 * ended; so OPEN is never left. Who moves what:
 *     connect.c   OPENING to OPEN or FAILED, on the loop's thread
 *     watch.c     the exchange's transport: bytes on any thread, what to watch on the loop's
 *     mux.c       the program's calls
 *     close.c     the end
 *     lookup.c    a name, on a helper of the runtime
 */
#ifndef CENI_NET_MUX_H
#define CENI_NET_MUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include <cenote/mux.h>

#include "base/atomic.h"
#include "net/loop.h"
#include "net/socket.h"
#include "record/events.h"
#include "port/mutex.h"
#include "record/directory.h"
#include "wire/exchange.h"

enum { CENI_MUX_NAME = 64 };
enum { CENI_MUX_PHASE_OPENING = 0, CENI_MUX_PHASE_OPEN, CENI_MUX_PHASE_FAILED };

typedef struct ceni_lookup ceni_lookup;

struct cen_mux {
    /* fixed before it is known */
    uint64_t epoch; /* of the process that made it */
    const cen_allocator *allocator;
    cen_runtime *runtime;
    cen_loop *loop;
    ceni_exchange_settings settings;
    int64_t connect_moment;
    int64_t keepalive_ns; /* 0: none */
    ceni_address address;
    char name[CENI_MUX_NAME];
    char label[CENI_MUX_NAME + CENI_ADDRESS_TEXT]; /* name and address, for texts */
    ceni_directory_entry entry;

    /* written by the loop's thread; any thread, atomically */
    _Atomic uint32_t state;
    _Atomic uint32_t let_go; /* a futex: the loop knows of it no more */

    /* there, and fixed, from OPEN on */
    ceni_exchange exchange;
    int fd; /* before that the loop's; -1: none */

    /* under the mutex, of rank CONNECTION */
    ceni_mutex mutex;
    cen_future *opened, *ended; /* NULL: nobody is to be told */
    bool is_closing;            /* somebody has called close */
    bool has_ended;
    cen_error cause; /* of the end */

    /* the loop's thread alone */
    uv_poll_t poll;
    uv_timer_t timer;
    bool has_poll, has_timer;
    unsigned handles; /* of libuv's that are open, or being closed */
    unsigned watched; /* what poll is started for */
    bool is_timed;    /* the timer is started */
    bool leaving;     /* it is being freed */
    bool awaited;     /* by a thread, which does the rest */
    ceni_endpoints endpoints;
    unsigned which;           /* of the endpoints is being tried */
    int64_t attempt_moment;   /* until when */
    bool retries;             /* the same one again, when the timer says so */
    cen_error last;           /* what the latest attempt failed of */
    ceni_lookup *lookup;      /* NULL: none is under way */
    cen_status lookup_status; /* with endpoints or `last`, written before `found` is posted */

    /* posted by any thread */
    ceni_loop_call begin, found, wake, end, leave;
};

static inline void ceni_mux_lock(cen_mux *mux)
{
    ceni_mutex_lock(&mux->mutex, CENI_RANK_CONNECTION);
}

static inline void ceni_mux_unlock(cen_mux *mux)
{
    ceni_mutex_unlock(&mux->mutex, CENI_RANK_CONNECTION);
}

/* ---- connect.c: on the loop's thread ------------------------------------------------------ */

void ceni_mux_open_begin(ceni_loop_call *begin);
void ceni_mux_open_found(ceni_loop_call *found);
void ceni_mux_open_ready(cen_mux *mux); /* the socket says what became of it */
void ceni_mux_open_due(cen_mux *mux);   /* the timer */
void ceni_mux_open_next(cen_mux *mux);  /* the socket of the last attempt is closed */
/* It is opening, and shall not. */
void ceni_mux_open_fail(cen_mux *mux, const cen_error *cause);

/* ---- watch.c ------------------------------------------------------------------------------- */

extern const ceni_transport ceni_mux_transport;

void ceni_mux_wake(ceni_loop_call *wake);
/* It has ended: nothing is watched any more, and whoever wants to hear of it is told. Any number of times. */
void ceni_mux_watch_end(ceni_loop_call *end);
cen_status ceni_mux_make_poll(cen_mux *mux);      /* makes the handle for its socket */
void ceni_mux_watch(cen_mux *mux, unsigned what); /* CENI_LOOP_READ and WRITE */
void ceni_mux_set_timer(cen_mux *mux, int64_t moment);
void ceni_mux_close_poll(cen_mux *mux);
void ceni_mux_attend(cen_mux *mux, unsigned happened);

/* ---- lookup.c ------------------------------------------------------------------------------ */

/* Finds the endpoints of mux->address, and posts mux->found. Errors: NO_MEMORY, SYSTEM. */
cen_status ceni_lookup_begin(cen_mux *mux, cen_error *error);
/* Nobody wants it any more, or it is over. On the loop's thread. */
void ceni_lookup_leave(cen_mux *mux);

/* ---- close.c ---------------------------------------------------------------------------------- */

/* It is being freed, on the loop's thread. */
void ceni_mux_leave(ceni_loop_call *leave);
/* Its last handle is closed. The last touch of the loop's thread. */
void ceni_mux_gone(cen_mux *mux);

/* ---- mux.c ----------------------------------------------------------------------------------- */

/* CENI_MUX_PHASE_OPEN: there is an exchange. */
uint32_t ceni_mux_phase(cen_mux *mux);
/* Waits for a future that is told by the loop, or by what the runtime runs; false: the moment came first. */
bool ceni_mux_wait(cen_mux *mux, cen_future *future, int64_t moment);
/* Into the events of the process: it was closed, or else `kind` happened to it. */
void ceni_mux_tell_end(const cen_mux *mux, cen_event_kind kind, const cen_error *why);
/* Completes a future, if it is not NULL: with a value, or with a cause. No lock is held. */
void ceni_mux_tell(cen_future *future, void *value, const cen_error *cause);

#endif
