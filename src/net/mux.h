/* SPDX-License-Identifier: MIT */
/*
 * The shared declarations of one multiplexed connection.
 *
 *     OPENING ──connected──▶ OPEN ──closed, lost──▶ (OPEN, has_ended)
 *        └──────failed, given up──▶ FAILED (has_ended)
 *
 * From OPEN on the connection has an exchange (src/wire). The exchange knows by itself when it has ended, so OPEN is
 * never left. What each file does:
 *     connect.c   OPENING to OPEN or FAILED, on the loop's thread
 *     watch.c     the exchange's transport: bytes on any thread, what to watch on the loop's
 *     mux.c       the public calls
 *     close.c     close and free
 *     lookup.c    the name lookup, on a helper of the runtime
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
    /* fixed before it is shared */
    uint64_t epoch; /* of the process that created it */
    const cen_allocator *allocator;
    cen_runtime *runtime;
    cen_loop *loop;
    ceni_exchange_settings settings;
    int64_t connect_moment;
    int64_t keepalive_ns; /* 0: none */
    ceni_address address;
    char name[CENI_MUX_NAME];
    char label[CENI_MUX_NAME + CENI_ADDRESS_TEXT]; /* name and address, for messages */
    ceni_directory_entry entry;

    /* written by the loop's thread; any thread, atomically */
    _Atomic uint32_t state;
    _Atomic uint32_t let_go; /* a futex: the loop has finished with the connection */

    /* constant from OPEN on */
    ceni_exchange exchange;
    int fd; /* before OPEN the loop's; -1: none */

    /* under the mutex, of rank CONNECTION */
    ceni_mutex mutex;
    cen_future *opened, *ended; /* to complete; NULL: none */
    bool is_closing;            /* close was called */
    bool has_ended;
    cen_error cause; /* why the connection ended */

    /* the loop's thread alone */
    uv_poll_t poll;
    uv_timer_t timer;
    bool has_poll, has_timer;
    unsigned handles; /* libuv handles that are open or being closed */
    unsigned watched; /* the events that poll is started for */
    bool is_timed;    /* the timer is started */
    bool leaving;     /* it is being freed */
    bool awaited;     /* free waits for it on another thread, which does the rest */
    ceni_endpoints endpoints;
    unsigned which;           /* the endpoint that is being tried */
    int64_t attempt_moment;   /* the end of the current attempt */
    bool retries;             /* the timer repeats the attempt at the same endpoint */
    cen_error last;           /* the error of the latest attempt */
    ceni_lookup *lookup;      /* NULL: none in progress */
    cen_status lookup_status; /* stored with endpoints or `last`, before `found` is posted */

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
void ceni_mux_open_ready(cen_mux *mux); /* the connect has succeeded or failed */
void ceni_mux_open_due(cen_mux *mux);   /* the timer has expired */
void ceni_mux_open_next(cen_mux *mux);  /* the socket of the last attempt is closed */
/* Fail a connection that is opening. */
void ceni_mux_open_fail(cen_mux *mux, const cen_error *cause);

/* ---- watch.c ------------------------------------------------------------------------------- */

extern const ceni_transport ceni_mux_transport;

void ceni_mux_wake(ceni_loop_call *wake);
/* End the watch: stop watching the socket, and complete `ended` if the program asked for it. May be called
 * repeatedly. */
void ceni_mux_watch_end(ceni_loop_call *end);
cen_status ceni_mux_make_poll(cen_mux *mux);      /* creates the handle of its socket */
void ceni_mux_watch(cen_mux *mux, unsigned what); /* CENI_LOOP_READ, CENI_LOOP_WRITE */
void ceni_mux_set_timer(cen_mux *mux, int64_t moment);
void ceni_mux_close_poll(cen_mux *mux);
void ceni_mux_attend(cen_mux *mux, unsigned happened);

/* ---- lookup.c ------------------------------------------------------------------------------ */

/* Look up mux->address and post mux->found. Errors: NO_MEMORY, SYSTEM. */
cen_status ceni_lookup_begin(cen_mux *mux, cen_error *error);
/* Give up the lookup, or leave it when it is over. On the loop's thread. */
void ceni_lookup_leave(cen_mux *mux);

/* ---- close.c ---------------------------------------------------------------------------------- */

/* Start to free the connection, on the loop's thread. */
void ceni_mux_leave(ceni_loop_call *leave);
/* The last handle is closed. This is the loop thread's last access to the connection. */
void ceni_mux_gone(cen_mux *mux);

/* ---- mux.c ----------------------------------------------------------------------------------- */

/* Return the phase. In CENI_MUX_PHASE_OPEN there is an exchange. */
uint32_t ceni_mux_phase(cen_mux *mux);
/* Wait for a future that the loop, or a job of the runtime, completes. Returns false if `moment` came first. */
bool ceni_mux_wait(cen_mux *mux, cen_future *future, int64_t moment);
/* Write an event: the connection was closed, or else `kind`. */
void ceni_mux_tell_end(const cen_mux *mux, cen_event_kind kind, const cen_error *why);
/* Complete a future with a value or a cause. NULL: do nothing. No lock is held. */
void ceni_mux_tell(cen_future *future, void *value, const cen_error *cause);

#endif
