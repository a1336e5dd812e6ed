/* SPDX-License-Identifier: MIT */
/*
 * The requests and replies of one connection, shared by threads, without its socket.
 *
 * The exchange has the protocol (wire.h), a lock, and two roles that change hands: one thread at a time writes, and one
 * reads. A transport moves the bytes: that of src/net in a program, one in memory in the tests. The event loop, if
 * there is one, calls ceni_exchange_loop.
 *
 *     request   lock, slot, encode, unlock; write the output, unless another thread does; wait
 *     writing   a thread that adds output and finds no writer writes, in its own call
 *     reading   a thread that waits for its reply and finds no reader reads, and completes
 *               whatever arrives; otherwise the loop does
 *
 * For the owner of the transport (src/net):
 *   1. Call ceni_exchange_init once it is connected. Then ceni_exchange_loop(exchange, 0) on the loop returns what to
 *      watch.
 *   2. When a watched event occurs, or `wake` was called: call ceni_exchange_loop(exchange, what happened), on the
 *      loop's thread only. Its result replaces what was watched before.
 *   3. `broken` is called once, when the connection has ended for any reason. Shut the socket down, so that a sleeping
 *      read returns, and stop watching. Do not close the descriptor yet: threads may still be in read or write.
 *   4. To end: ceni_exchange_refuse; when all is drained or the time is up, ceni_exchange_fail; no more calls of
 *      ceni_exchange_loop; ceni_exchange_fini, which waits for the last thread that is inside; then close.
 *
 * Threads: any thread may call everything except ceni_exchange_loop (the loop's thread only), init and fini. No lock is
 * held while the transport's functions, an executor's, or `broken` are called.
 * Fork: request and request_async return FORKED in the child. Only ceni_exchange_abandon may be called there.
 */
#ifndef CENI_WIRE_EXCHANGE_H
#define CENI_WIRE_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/codec.h>
#include <cenote/deadline.h>
#include <cenote/request.h>
#include <cenote/runtime.h>

#include "base/list.h"
#include "port/mutex.h"
#include "runtime/runtime.h"
#include "wire/input.h"
#include "wire/wire.h"

/* ---- The transport ------------------------------------------------------------------ */

typedef enum ceni_moved {
    CENI_MOVED,      /* at least one byte */
    CENI_MOVED_NONE, /* the call would have to wait, or the moment came */
    /* the connection has ended, *cause has the reason (closed by the peer: LOST, code 0, a sentence) */
    CENI_MOVED_NEVER,
} ceni_moved;

/* None of these is a cancellation point: their system calls are made with cancellation held. */
typedef struct ceni_transport {
    /* Write what the socket takes without waiting; *moved: the number of bytes. One call at a time; size is never 0. */
    ceni_moved (*write)(void *argument, const void *bytes, size_t size, size_t *moved, cen_error *cause);
    /* Read at most `size` bytes. With moment 0 it never waits. Otherwise it sleeps, on the real clock, until there is
     * input, the moment has come (CENI_FOREVER: no limit) or the connection was broken; it may return NONE spuriously.
     * One call at a time. */
    ceni_moved (*read)(void *argument, void *into, size_t size, int64_t moment, size_t *moved, cen_error *cause);
    /* Make the loop call ceni_exchange_loop(exchange, 0) soon. Any thread. Spare calls do no harm. */
    void (*wake)(void *argument);
    /* The connection has ended. Called once, on the thread that noticed, before the requests in flight are completed.
     * Must be quick. */
    void (*broken)(void *argument, const cen_error *cause);
} ceni_transport;

/* ---- Settings ------------------------------------------------------------------------- */

enum {
    CENI_EXCHANGE_IN_FLIGHT = 1024,
    CENI_EXCHANGE_WAITING = 1024,
    CENI_EXCHANGE_PAYLOAD = 1 << 20,
    CENI_EXCHANGE_OUTPUT = 1 << 18,
    CENI_EXCHANGE_PATIENCE_S = 30,
    /* how soon the loop calls again after CENI_LOOP_SOON was returned */
    CENI_EXCHANGE_LINGER_NS = 5000000,
};

/* Zero means default in every field. */
typedef struct ceni_exchange_settings {
    const char *name;                /* for messages; must live as long as the exchange; default "connection" */
    cen_codec codec;                 /* default binary */
    const ceni_transport *transport; /* required; must live as long as the exchange */
    void *argument;                  /* passed to the transport's functions */
    cen_runtime *runtime;            /* required; the owner stays one of its users until after fini */
    const cen_allocator *allocator;
    uint32_t max_in_flight; /* requests in flight; default 1024, at most 2^20 */
    /* requests that wait for room; further ones fail with FULL. Default 1024; CEN_OFF: no limit; CEN_NONE: none may
     * wait */
    int64_t max_waiters;
    size_t max_payload;    /* bytes of a request; larger ones are INVALID; default 1 MB */
    size_t max_reply;      /* bytes of a reply; a larger one ends the connection; default 1 MB */
    size_t max_output;     /* unwritten bytes above which requests wait; default 256 KB */
    cen_deadline deadline; /* of requests without their own; default 30 s */
    /* Only the loop reads. Callers that block only wait, so they must not run on the loop's thread. Always true with a
     * manual runtime. */
    bool loop_reads;
} ceni_exchange_settings;

typedef struct ceni_exchange_stats {
    uint32_t in_flight, waiting;
    uint64_t sent;    /* requests whose frames were written to the output */
    uint64_t replied; /* requests with a reply in time */
    uint64_t timed_out, cancelled, failed;
    uint64_t late; /* replies dropped because their request was over */
    uint64_t bytes_out, bytes_in;
    uint64_t writes, reads; /* calls of the transport that moved bytes */
    uint64_t thread_reads;  /* reads by a thread that waited for its own reply */
    uint64_t wakes;         /* calls of `wake` */
    size_t output;          /* unwritten bytes */
} ceni_exchange_stats;

/* The events that the loop watches, and those that have occurred. */
enum {
    CENI_LOOP_READ = 1,  /* input, or the end of the connection */
    CENI_LOOP_WRITE = 2, /* room for output */
    CENI_LOOP_SOON = 4,  /* call again after CENI_EXCHANGE_LINGER_NS, with SOON */
};

enum { CENI_EXCHANGE_OPEN, CENI_EXCHANGE_REFUSING, CENI_EXCHANGE_BROKEN };

/* Requests made on the loop's thread while it completes replies: batch.c. */
enum { CENI_BATCH = 64 };

typedef struct ceni_batch_entry {
    cen_request *request;
    uint64_t id; /* of the slot reserved for it */
} ceni_batch_entry;

typedef struct ceni_batch {
    /* any thread, atomically */
    /* the loop's thread while it completes requests and handles those made meanwhile; 0: no batch */

    _Atomic uint64_t thread;
    _Atomic uint32_t count;     /* complete entries */
    _Atomic uint32_t is_closed; /* no more may be added */
    /* under the lock */
    uint32_t merged; /* entries that are in the wire */
    /* that thread's; under the lock while `thread` is 0 */
    uint32_t added, room; /* used entries, and reserved ones */
    bool is_wanted;       /* a request was made in a batch: from then on it has memory */
    size_t limit;         /* add nothing once the output has this many bytes */
    ceni_bytes output;
    ceni_batch_entry entries[CENI_BATCH];
    cen_error why; /* for the codec's reason to refuse a payload */
} ceni_batch;

typedef struct ceni_exchange {
    /* fixed by init */
    const char *name;
    ceni_transport transport;
    void *argument;
    cen_runtime *runtime;
    const cen_allocator *allocator;
    uint64_t epoch;
    cen_deadline deadline;
    bool loop_reads; /* only the loop reads */
    bool is_virtual; /* the runtime's clock is virtual: a thread cannot sleep until a moment of it */
    bool is_manual;
    /* the reader's */
    ceni_input input;
    /* the writer's: output taken out of the wire, and how much of it was written */
    ceni_bytes sending;
    size_t sent;
    /* under the lock */
    ceni_mutex lock;
    int state;
    bool is_writing; /* a thread has the writer's role */
    /* the transport takes no more, or a thread has written long enough for others: the loop continues */

    bool is_stuck;
    bool is_reading;      /* a thread, or the loop, has the reader's role */
    bool is_looping;      /* the loop is in ceni_exchange_loop, which returns what to watch */
    bool is_waking;       /* `wake` was called, or is being called, and the loop has not run since */
    unsigned watched;     /* what the loop watches; 0 while it is inside */
    uint64_t turns;       /* how often a thread has become the reader */
    uint64_t turns_seen;  /* ... at the loop's last call */
    ceni_list blocked;    /* of ceni_blocked: sleeping threads that could read */
    uint32_t asked;       /* asynchronous requests in flight or waiting */
    uint32_t inside;      /* threads that will touch the exchange again, and an alarm that is set */
    bool is_ending;       /* fini waits for them */
    int64_t alarm_moment; /* the time of the alarm; CENI_FOREVER: not set */
    /* the latest moment that the connection's deadline has given to a request; -1: none */
    int64_t dated;
    bool is_refused;
    cen_future *drained;
    ceni_exchange_stats stats;
    ceni_batch batch; /* see batch.c */
    ceni_wire wire;
    cen_error cause; /* why the connection ended */
    /* a futex, written under the lock */
    _Atomic uint32_t emptied;
    /* the runtime's */
    ceni_alarm alarm;
} ceni_exchange;

/* ---- Life -------------------------------------------------------------------------------- */

/* Check that the codec has all its functions. Returns: OK, INVALID. */
cen_status ceni_codec_check(cen_codec codec, const char *call, cen_error *error);

/* Create an exchange. Errors: INVALID (the text names the field), NO_MEMORY, SYSTEM (no thread for the deadlines). */
cen_status ceni_exchange_init(ceni_exchange *exchange, const ceni_exchange_settings *settings, cen_error *error);

/* Refuse further requests (CLOSED). `drained`, if not NULL and fresh, completes with OK when nothing is in flight or
 * waiting any longer, by replies, deadlines or the connection's end; perhaps within this call. It cannot be cancelled.
 * Returns false if requests were refused before; then `drained` is left alone. */
bool ceni_exchange_refuse(ceni_exchange *exchange, cen_future *drained);

/* End the connection, unless it has ended: requests in flight or waiting fail with cause->status and its text, and
 * `broken` is called. */
void ceni_exchange_fail(ceni_exchange *exchange, const cen_error *cause);

/* Free the exchange, after fail or `broken`. Waits until no thread is inside. Never call it from a `done`, a function
 * of the transport, or an alarm: these are inside. */
void ceni_exchange_fini(ceni_exchange *exchange);

/* Free the memory in a forked child, and touch nothing else. */
void ceni_exchange_abandon(ceni_exchange *exchange);

/* ---- Requests ------------------------------------------------------------------------------ */

/* Send a request and wait for its reply or its deadline. Returns the result; its future is done then with the same
 * result. The request cannot be cancelled. Statuses of a refused request, which is left unchanged: INVALID (NULL, too
 * large, or refused by the codec), MISUSE (not fresh, or it has a `done`), FULL (only_if_room is set, or too many
 * wait), CLOSED, LOST, NO_MEMORY, FORKED. */
cen_status ceni_exchange_request(ceni_exchange *exchange, cen_request *request, cen_error *error);

/* Send a request and return; request->future has the result. When there is no room the request waits in the wait queue,
 * with a copy of its payload. Errors, after which the future does not complete: as above. */
cen_status ceni_exchange_request_async(ceni_exchange *exchange, cen_request *request, cen_error *error);

/* Send several requests in order, with one write. *asked: how many were accepted. The first that was not accepted
 * determines the status, and those after it were not tried. */
cen_status ceni_exchange_request_all_async(ceni_exchange *exchange, cen_request *const requests[], size_t count,
                                           size_t *asked, cen_error *error);

/* ---- The loop -------------------------------------------------------------------------------- */

/* On the loop's thread: handle the watched events that occurred (0: `wake` was called, or the first call). Returns what
 * to watch from now on; 0 when the connection has ended. */
unsigned ceni_exchange_loop(ceni_exchange *exchange, unsigned happened);

/* ---- Stats ------------------------------------------------------------------------------------- */

/* Each number was correct at some time during the call. */
void ceni_exchange_look(ceni_exchange *exchange, ceni_exchange_stats *out);

#endif
