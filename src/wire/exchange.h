/* SPDX-License-Identifier: MIT */
/*
 * A connection's requests and replies, shared by threads, without its socket.
 *
 * The exchange has the protocol (wire.h), its lock, and two roles that go round:
 * one thread at a time writes, and one reads. What moves bytes is a transport, that of
 * src/net in a program and one in memory in the tests; an event loop, if it has one,
 * calls ceni_exchange_loop.
 *
 *     request   lock, slot, encode, unlock; write what there is, unless somebody does; wait
 *     writing   whoever adds output and finds nobody writing does it, in its own thread
 *     reading   a thread that waits for its reply and finds nobody reading does it, and completes
 *               whatever comes; otherwise the loop does
 *
 * For the one who has the transport (src/net):
 *   1. ceni_exchange_init once it is connected; then ceni_exchange_loop(exchange, 0) on the loop says what to watch.
 *   2. Whenever one of the watched events comes, or `wake` was called: ceni_exchange_loop(exchange, what happened), on
 *      the loop's thread only, whose answer says what to watch from then on, instead of what was watched before.
 *   3. `broken` is called once, when the connection has ended, for whatever reason: shut the socket down, so that a read
 *      that sleeps returns, and stop watching. Do not close the descriptor yet: threads may still be in read or write.
 *   4. ceni_exchange_refuse, then, when all is drained or time is up, ceni_exchange_fail; then no more calls of
 *      ceni_exchange_loop; then ceni_exchange_fini, which waits for the last thread that is inside; then close.
 *
 * Threads: everything from any thread, except ceni_exchange_loop (the loop's only), init and fini. No lock is held
 * while the transport's functions are called, or an executor's, or `broken`.
 * Fork: request and ask answer FORKED in the child; nothing else may be called there but ceni_exchange_abandon.
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
    CENI_MOVED_NONE, /* it would have to wait, or the moment came */
    /* the connection has ended: `cause` says why (an end of the other side: LOST, code 0, a sentence) */
    CENI_MOVED_NEVER,
} ceni_moved;

/* None of these is a cancellation point: whoever makes system calls holds cancellation meanwhile. */
typedef struct ceni_transport {
    /* Writes what goes without waiting; *moved says how much. One call at a time; the size is never 0. */
    ceni_moved (*write)(void *argument, const void *bytes, size_t size, size_t *moved, cen_error *cause);
    /* Reads what is there, at most `size`. With moment 0 it never waits; else it sleeps, on the real clock, until there
     * is something, or the moment has come (CENI_FOREVER: no limit), or the connection was broken; it may return
     * NONE earlier for no reason. One call at a time. */
    ceni_moved (*read)(void *argument, void *into, size_t size, int64_t moment, size_t *moved, cen_error *cause);
    /* Lets the loop call ceni_exchange_loop(exchange, 0) soon. Any thread; once more than needed does no harm. */
    void (*wake)(void *argument);
    /* The connection has ended. Once, on whichever thread noticed, before the requests in flight are told. It is quick. */
    void (*broken)(void *argument, const cen_error *cause);
} ceni_transport;

/* ---- Settings ------------------------------------------------------------------------- */

enum {
    CENI_EXCHANGE_IN_FLIGHT = 1024,
    CENI_EXCHANGE_WAITING = 1024,
    CENI_EXCHANGE_PAYLOAD = 1 << 20,
    CENI_EXCHANGE_OUTPUT = 1 << 18,
    CENI_EXCHANGE_PATIENCE_S = 30,
    CENI_EXCHANGE_LINGER_NS = 5000000, /* how soon the loop is to call again after it answered SOON */
};

/* Zero means default in every field. */
typedef struct ceni_exchange_settings {
    const char *name;                /* for texts; must live as long as the exchange; default "connection" */
    cen_codec codec;                 /* default binary */
    const ceni_transport *transport; /* required; must live as long as the exchange */
    void *argument;                  /* the transport's */
    cen_runtime *runtime;            /* required: the owner is one of its users until after fini */
    const cen_allocator *allocator;
    uint32_t max_in_flight; /* requests that were sent and are not over; default 1024, at most 2^20 */
    /* requests that wait for room; more are FULL; default 1024, CEN_OFF: no limit, CEN_NONE: none waits */
    int64_t max_waiters;
    size_t max_payload;    /* of a request: larger ones are INVALID; default 1 MB */
    size_t max_reply;      /* larger ones end the connection; default 1 MB */
    size_t max_output;     /* bytes not yet written, above which requests wait; default 256 KB */
    cen_deadline deadline; /* of requests that have none; default 30 s */
    /* only the loop reads, and blocking callers just wait, so they must not be on its thread. Always so with a
     * manual runtime */
    bool loop_reads;
} ceni_exchange_settings;

typedef struct ceni_exchange_stats {
    uint32_t in_flight, waiting;
    uint64_t sent;    /* requests whose frames were written to the output */
    uint64_t replied; /* of which a reply came in time */
    uint64_t timed_out, cancelled, failed;
    uint64_t late; /* replies to requests that were over, dropped */
    uint64_t bytes_out, bytes_in;
    uint64_t writes, reads; /* calls of the transport that moved something */
    uint64_t thread_reads;  /* reads by a thread that waited for its own reply */
    uint64_t wakes;         /* of the loop */
    size_t output;          /* bytes not yet written */
} ceni_exchange_stats;

/* What the loop is to watch, and what it has seen. */
enum {
    CENI_LOOP_READ = 1,  /* there is something to read, or the connection has ended */
    CENI_LOOP_WRITE = 2, /* more can be written */
    CENI_LOOP_SOON = 4,  /* call again after CENI_EXCHANGE_LINGER_NS, with SOON */
};

enum { CENI_EXCHANGE_OPEN, CENI_EXCHANGE_REFUSING, CENI_EXCHANGE_BROKEN };

/* What is asked while the loop's thread tells others of their replies: batch.c. */
enum { CENI_BATCH = 64 };

typedef struct ceni_batch_entry {
    cen_request *request;
    uint64_t id; /* from a slot that is reserved for it */
} ceni_batch_entry;

typedef struct ceni_batch {
    /* any thread, atomically */
    /* the loop's, while it tells them, and will see to what they ask meanwhile; 0: nobody does */
    _Atomic uint64_t thread;
    _Atomic uint32_t count;     /* entries that are complete */
    _Atomic uint32_t is_closed; /* no more is to be added */
    /* under the lock */
    uint32_t merged; /* entries that are in the wire */
    /* that thread's; while there is none, under the lock */
    uint32_t added, room; /* entries that are used, and that there are */
    bool is_wanted;       /* something was asked in a batch: from then on it has memory */
    size_t limit;         /* so many bytes may be in the output before one is added */
    ceni_bytes output;
    ceni_batch_entry entries[CENI_BATCH];
    cen_error why; /* room for what the codec says of a payload that it refuses */
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
    bool loop_reads; /* only the loop does */
    bool is_virtual; /* the runtime's clock: nobody can sleep until a moment of it */
    bool is_manual;
    /* the reader's, whoever that is */
    ceni_input input;
    /* the writer's: what was taken out of the wire to be written, and how much of it was */
    ceni_bytes sending;
    size_t sent;
    /* under the lock */
    ceni_mutex lock;
    int state;
    bool is_writing; /* a thread has the writer's role */
    /* the transport took no more, or a thread has written long enough for others: the loop goes on */
    bool is_stuck;
    bool is_reading;      /* somebody has the reader's role */
    bool is_looping;      /* the loop is in ceni_exchange_loop, and will say what to watch */
    bool is_waking;       /* `wake` was or is being called, and the loop has not come since */
    unsigned watched;     /* what the loop was answered; 0 while it is inside */
    uint64_t turns;       /* how often a thread has become the reader */
    uint64_t turns_seen;  /* ... when the loop looked last */
    ceni_list blocked;    /* of ceni_blocked: threads that sleep and could read */
    uint32_t asked;       /* requests in flight or waiting that no thread is blocked for */
    uint32_t inside;      /* threads that will touch the exchange again, and an alarm that is set */
    bool is_ending;       /* fini waits for them */
    int64_t alarm_moment; /* for when the alarm is set; CENI_FOREVER: it is not */
    int64_t dated;        /* the latest moment that the connection's deadline has given to a request; -1: none */
    bool is_refused;
    cen_future *drained;
    ceni_exchange_stats stats;
    ceni_batch batch; /* and its thread's, see batch.c */
    ceni_wire wire;
    cen_error cause; /* of the end */
    /* a futex, written under the lock */
    _Atomic uint32_t emptied;
    /* the runtime's */
    ceni_alarm alarm;
} ceni_exchange;

/* ---- Life -------------------------------------------------------------------------------- */

/* Check that the codec has all its functions. Returns: OK, INVALID. */
cen_status ceni_codec_check(cen_codec codec, const char *call, cen_error *error);

/* Errors: INVALID (the text names the field), NO_MEMORY, SYSTEM (nobody keeps time). */
cen_status ceni_exchange_init(ceni_exchange *exchange, const ceni_exchange_settings *settings, cen_error *error);

/* Refuses requests from now on (CLOSED). `drained`, if not NULL and fresh, is done with OK when nothing is in flight or waiting
 * any more, by replies, deadlines or the connection's end; perhaps within this call. It cannot be cancelled.
 * False: it was refused before, and `drained` is left alone. */
bool ceni_exchange_refuse(ceni_exchange *exchange, cen_future *drained);

/* Ends the connection: what is in flight or waits fails with cause->status and its text, and `broken` is
 * called, unless it has ended before. */
void ceni_exchange_fail(ceni_exchange *exchange, const cen_error *cause);

/* After fail, or broken. Waits until no thread is inside, and gives the memory back. Never from within a `done`, a
 * transport's function, or an alarm: these are inside. */
void ceni_exchange_fini(ceni_exchange *exchange);

/* In a forked child: gives the memory back and touches nothing else. */
void ceni_exchange_abandon(ceni_exchange *exchange);

/* ---- Requests ------------------------------------------------------------------------------ */

/* Sends a request and waits for its reply, or until its deadline. Returns how it ended; its future is done then, with the
 * same. Such a request cannot be cancelled. Errors by which it was refused, and nothing of it has changed: INVALID (too
 * large, or the codec says so; NULL), MISUSE (not fresh, or it has a `done`), FULL (only_if_room, or too many wait), CLOSED,
 * LOST, NO_MEMORY, FORKED. */
cen_status ceni_exchange_request(ceni_exchange *exchange, cen_request *request, cen_error *error);

/* Sends it and returns; request->future tells how it ended. Errors, after which nothing is told: as above. When there is no room
 * it waits in line, and its payload is copied. */
cen_status ceni_exchange_request_async(ceni_exchange *exchange, cen_request *request, cen_error *error);

/* The same for several, in this order, with one write. *asked says how many were asked: the first that
 * could not be, whose status is returned, and those after it were not. */
cen_status ceni_exchange_request_all_async(ceni_exchange *exchange, cen_request *const requests[], size_t count,
                                           size_t *asked, cen_error *error);

/* ---- The loop -------------------------------------------------------------------------------- */

/* On the loop's thread: something that was watched has happened (0: `wake` was called, or it is the first time).
 * Answers what to watch from now on; 0 when the connection has ended. */
unsigned ceni_exchange_loop(ceni_exchange *exchange, unsigned happened);

/* ---- A look at it ------------------------------------------------------------------------------ */

/* Each number was true during the call. */
void ceni_exchange_look(ceni_exchange *exchange, ceni_exchange_stats *out);

#endif
