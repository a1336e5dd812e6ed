/* SPDX-License-Identifier: MIT */
/*
 * The client side of one connection's protocol: ids, requests in flight, requests that wait for room, output bytes,
 * deadlines. It does no I/O, has no clock and no lock, and calls only the codec.
 *
 * A request is in one of these places:
 *
 *     OUT ──send──▶ FLIGHT ──claim (its reply)──────▶ OUT
 *     OUT ──wait──▶ LINE ──send──▶ FLIGHT
 *                   LINE, FLIGHT ──drop, expire, fail──▶ OUT
 *
 * An id combines a slot's number with the number of uses of that slot. The id of a finished request is never used
 * again, so a late reply matches no request.
 *
 * Threads: only the thread that holds the owner's lock.
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

/* The moment of a request with the connection's deadline, until ceni_wire_date. */
#define CENI_WIRE_UNDATED INT64_C(-1)

struct ceni_blocked;

/* The contents of cen_request.room_. */
typedef struct ceni_sent {
    /* under the owner's lock while the request is in LINE or FLIGHT */
    /* in the wait queue; or in a list, or by its `next` in a chain, of completed requests */
    ceni_list link;
    ceni_wheel_timer timer; /* in the wheel; or only its link, in the list of those with the connection's deadline */
    uint64_t id;
    uint32_t place;
    uint32_t kept;     /* which structure holds its deadline */
    bool is_allocated; /* the reply was allocated by cenote */
    bool is_answered;  /* written and read by the reader only */
    /* fixed before it is sent or queued */
    struct ceni_blocked *blocked; /* the thread that waits for its reply, or NULL */
    void *copy;                   /* of the payload while the request waits; NULL: none */
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

/* The table entry of one request in flight, found by its id. */
typedef struct ceni_wire_slot {
    cen_request *request; /* NULL: free */
    uint64_t id;          /* of the request, or of the previous one */
    uint32_t next;        /* free slots only: the next one, or CENI_WIRE_NONE */
} ceni_wire_slot;

#define CENI_WIRE_NONE UINT32_MAX
enum { CENI_WIRE_MAX_IN_FLIGHT = 1 << 20 };

typedef struct ceni_wire {
    /* fixed by init */
    cen_codec codec;
    uint32_t max_in_flight, max_waiters;
    size_t max_payload, max_output;
    uint32_t slot_bits, slot_mask; /* the number of bits of an id that are the slot's number, and their mask */
    ceni_wire_slot *slots;
    /* its owner's */
    uint32_t free, in_flight, waiting;
    uint32_t reserved; /* slots that are not free and have no request */
    ceni_list line;    /* of ceni_sent, the wait queue (FIFO) */
    ceni_bytes output;
    size_t unsent;      /* bytes of all output, including what was taken to be written */
    ceni_list in_order; /* of ceni_sent, by the timer's link: requests with the connection's deadline */
    cen_error why;      /* for the codec's reason to refuse a payload */
    ceni_wheel wheel;   /* the deadlines of requests with their own; last, because it is large */
} ceni_wire;

typedef struct ceni_wire_limits {
    cen_codec codec;
    uint32_t max_in_flight, max_waiters;
    size_t max_payload, max_output;
} ceni_wire_limits;

/* Create a wire. `now`: the current time. Errors: NO_MEMORY. */
cen_status ceni_wire_init(ceni_wire *wire, const ceni_wire_limits *limits, int64_t now, const cen_allocator *allocator);
/* Free the memory. No request is in flight or waiting. */
void ceni_wire_fini(ceni_wire *wire, const cen_allocator *allocator);

/* Return true if one more request may be sent now. */
bool ceni_wire_has_room(const ceni_wire *wire);

/* Return the capacity that the output needs for a frame with such a payload; 0: it has it. */
size_t ceni_wire_lacks(const ceni_wire *wire, size_t payload_size);
/* Move the output into larger memory and return the old memory. If it is not larger, return it instead. */
ceni_bytes ceni_wire_enlarge(ceni_wire *wire, ceni_bytes larger);

/* Put a request in flight and its frame at the end of the output. There is room, and no memory is lacking. A waiting
 * request leaves the queue. asked->moment is its deadline, CENI_FOREVER for none that must be kept, or UNDATED. Errors:
 * the codec's, INVALID (too large): the request is OUT. */
cen_status ceni_wire_send(ceni_wire *wire, cen_request *request, const void *payload, size_t size, cen_error *error);

/* Reserve a slot for a later request and return its id. There is room. */
uint64_t ceni_wire_reserve(ceni_wire *wire);
/* Put a request in flight under a reserved id. The owner of the id writes its frame. asked->moment is as above. */
void ceni_wire_enter(ceni_wire *wire, cen_request *request, uint64_t id);
/* Give back a reserved id that was not used. */
void ceni_wire_unreserve(ceni_wire *wire, uint64_t id);

/* Put the request at the end of the wait queue. */
void ceni_wire_wait(ceni_wire *wire, cen_request *request);

/* Return the first waiting request if there is room for it now; else NULL. */
cen_request *ceni_wire_next(const ceni_wire *wire);

/* Take the request with this id OUT because its reply has come. NULL: the reply is late or was never asked for. */
cen_request *ceni_wire_claim(ceni_wire *wire, uint64_t id);

/* Take a request OUT. Returns false if it was OUT already. */
bool ceni_wire_drop(ceni_wire *wire, cen_request *request);

/* Return true if a request is UNDATED. */
static inline bool ceni_wire_is_undated(const ceni_wire *wire)
{
    ceni_list *last = wire->in_order.previous;
    return last != &wire->in_order && CENI_LIST_ENTRY(last, ceni_sent, timer.link)->moment == CENI_WIRE_UNDATED;
}

/* Set the deadline of all UNDATED requests. It is never earlier than the one set before. */
void ceni_wire_date(ceni_wire *wire, int64_t moment);

/* Take expired requests OUT and append them to `over`. Returns how many. */
size_t ceni_wire_expire(ceni_wire *wire, int64_t now, ceni_list *over);

/* Return when to call ceni_wire_expire next; CENI_FOREVER: not at all. */
int64_t ceni_wire_next_expiry(const ceni_wire *wire);

/* Take all requests OUT and append them to `over`: those in flight, then those that wait. Drops the output. */
size_t ceni_wire_fail(ceni_wire *wire, ceni_list *over);

/* Take the output to write it, and leave the memory of `empty` for further frames. Returns false if there is none. */
bool ceni_wire_take_output(ceni_wire *wire, ceni_bytes *empty);

/* Report how many bytes of what was taken were written. */
static inline void ceni_wire_written(ceni_wire *wire, size_t count)
{
    wire->unsent -= count;
}

#endif
