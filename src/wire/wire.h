/* SPDX-License-Identifier: MIT */
/*
 * The protocol of one connection's asking side: ids, requests in flight, requests that wait for room, output
 * bytes, deadlines. It does no I/O, has no clock and no lock, and calls nobody but the codec.
 *
 * A request is in one of these places:
 *
 *     OUT ──send──▶ FLIGHT ──claim (its reply)──────▶ OUT
 *     OUT ──wait──▶ LINE ──send──▶ FLIGHT
 *                   LINE, FLIGHT ──drop, expire, fail──▶ OUT
 *
 * An id is a slot's number and how often that slot has been used: an id that has ended never comes again, so a late
 * reply meets nobody.
 *
 * Threads: whoever holds the owner's lock.
 */
#ifndef CENI_WIRE_WIRE_H
#define CENI_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/codec.h>
#include <cenote/request.h>

#include "base/list.h"
#include "sync/wheel.h"

/* Bytes with room for more. */
typedef struct ceni_bytes {
    unsigned char *at;
    size_t size, capacity;
} ceni_bytes;

enum { CENI_PLACE_OUT = 0, CENI_PLACE_LINE, CENI_PLACE_FLIGHT };
enum { CENI_KEPT_NOWHERE = 0, CENI_KEPT_IN_WHEEL, CENI_KEPT_IN_ORDER };

/* The moment of one that has the connection's deadline, until ceni_wire_date. */
#define CENI_WIRE_UNDATED INT64_C(-1)

struct ceni_blocked;

/* What is in cen_request.room_. */
typedef struct ceni_sent {
    /* under the owner's lock, while it is in LINE or FLIGHT */
    ceni_list link;         /* in the line; or in a list, or by its `next` in a chain, of those that are over */
    ceni_wheel_timer timer; /* in the wheel; or its link alone, in the list of those with the connection's deadline */
    uint64_t id;
    uint32_t place;
    uint32_t kept;     /* where its deadline is */
    bool is_allocated; /* the reply */
    bool is_answered;  /* by whoever reads; for the reader itself */
    /* fixed before it is sent or waits */
    struct ceni_blocked *blocked; /* the thread that waits for it, or NULL */
    void *copy;                   /* of the payload, while it waits; NULL: none */
    int64_t moment;
} ceni_sent;

static inline ceni_sent *ceni_sent_of(cen_request *request)
{
    return (ceni_sent *)(void *)request->room_;
}

static inline cen_request *ceni_request_of(ceni_sent *asked)
{
    return (cen_request *)(void *)((char *)asked - offsetof(cen_request, room_));
}

/* Where one request in flight is found by its id. */
typedef struct ceni_wire_slot {
    cen_request *request; /* NULL: free */
    uint64_t id;          /* of the request, or of the latest */
    uint32_t next;        /* free slots only: the next one, or CENI_WIRE_NONE */
} ceni_wire_slot;

#define CENI_WIRE_NONE UINT32_MAX
enum { CENI_WIRE_MAX_IN_FLIGHT = 1 << 20 };

typedef struct ceni_wire {
    /* fixed by init */
    cen_codec codec;
    uint32_t max_in_flight, max_waiters;
    size_t max_payload, max_output;
    uint32_t slot_bits, slot_mask; /* so many bits of an id are the slot's number: these */
    ceni_wire_slot *slots;
    /* its owner's */
    uint32_t free, in_flight, waiting;
    uint32_t reserved; /* slots that are neither free nor have a request */
    ceni_list line;    /* of ceni_sent, in the order in which they came */
    ceni_bytes output;
    size_t unsent;      /* of all output, also what was taken to be written */
    ceni_list in_order; /* of ceni_sent, by the timer's link: those that have the connection's deadline */
    cen_error why;      /* room for what the codec says of a payload that it refuses */
    ceni_wheel wheel;   /* the deadlines of those that have their own; last, as it is large */
} ceni_wire;

typedef struct ceni_wire_limits {
    cen_codec codec;
    uint32_t max_in_flight, max_waiters;
    size_t max_payload, max_output;
} ceni_wire_limits;

/* `now` is where its time begins. Errors: NO_MEMORY. */
cen_status ceni_wire_init(ceni_wire *wire, const ceni_wire_limits *limits, int64_t now, const cen_allocator *allocator);
/* Nothing is in flight or waits. */
void ceni_wire_fini(ceni_wire *wire, const cen_allocator *allocator);

/* Whether one more may be sent now. */
bool ceni_wire_has_room(const ceni_wire *wire);

/* What capacity the output is to have for a frame with such a payload: 0: it has it. */
size_t ceni_wire_lacks(const ceni_wire *wire, size_t payload_size);
/* Puts the output into a larger memory and returns the one it had, or, if it is not larger, that. */
ceni_bytes ceni_wire_enlarge(ceni_wire *wire, ceni_bytes larger);

/* The request is in flight, and its frame at the end of the output. There is room, and nothing is lacking. One that
 * waits leaves the line. asked->moment is its deadline, CENI_FOREVER for none that must be kept, or UNDATED.
 * Errors: the codec's, INVALID (it is too large): it is OUT. */
cen_status ceni_wire_send(ceni_wire *wire, cen_request *request, const void *payload, size_t size, cen_error *error);

/* Takes a slot for a request to come: the id that it will have. There is room. */
uint64_t ceni_wire_reserve(ceni_wire *wire);
/* That request is in flight; its frame is written by whoever reserved its id. asked->moment is as above. */
void ceni_wire_enter(ceni_wire *wire, cen_request *request, uint64_t id);
/* Nobody was given that id. */
void ceni_wire_unreserve(ceni_wire *wire, uint64_t id);

/* The request waits for room, at the end of the line. */
void ceni_wire_wait(ceni_wire *wire, cen_request *request);

/* The first that waits, if there is room for it now; else NULL. */
cen_request *ceni_wire_next(const ceni_wire *wire);

/* Whose reply has come: it is OUT. NULL: nobody's, it came too late or was never asked for. */
cen_request *ceni_wire_claim(ceni_wire *wire, uint64_t id);

/* It is given up: OUT. False: it was OUT already. */
bool ceni_wire_drop(ceni_wire *wire, cen_request *request);

/* Whether there are UNDATED ones. */
static inline bool ceni_wire_is_undated(const ceni_wire *wire)
{
    ceni_list *last = wire->in_order.previous;
    return last != &wire->in_order && CENI_LIST_ENTRY(last, ceni_sent, timer.link)->moment == CENI_WIRE_UNDATED;
}

/* This is the deadline of all that are UNDATED: the connection's, which is never earlier than the last time. */
void ceni_wire_date(ceni_wire *wire, int64_t moment);

/* Those whose deadline has come are OUT, and at the end of `over`; how many. */
size_t ceni_wire_expire(ceni_wire *wire, int64_t now, ceni_list *over);

/* When to expire next; CENI_FOREVER: not at all. */
int64_t ceni_wire_next_expiry(const ceni_wire *wire);

/* All are OUT, and at the end of `over`: those in flight, then those that wait. The output is forgotten. */
size_t ceni_wire_fail(ceni_wire *wire, ceni_list *over);

/* Takes the output, to be written, and leaves the memory of `empty` for what comes; false if there is none. */
bool ceni_wire_take_output(ceni_wire *wire, ceni_bytes *empty);

/* So many bytes of what was taken were written. */
static inline void ceni_wire_written(ceni_wire *wire, size_t count)
{
    wire->unsent -= count;
}

#endif
