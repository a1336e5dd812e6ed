/* SPDX-License-Identifier: MIT */
/*
 * The bytes in one direction of a connection: what has been read and not forwarded yet, and when the next bytes may go.
 *
 * A ring of bytes and a short list of marks: the bytes up to a mark are due at its time. Both are bounded. When one is
 * full the reader stops, and the sender's window fills. There is no I/O here and no clock.
 */
#ifndef FAULTPROXY_FLOW_H
#define FAULTPROXY_FLOW_H

#include "faultproxy/faults.h"

enum { FP_RING = 128 * 1024, FP_MARKS = 128 };

typedef enum fp_end { FP_NO_END, FP_CLOSED, FP_BROKEN } fp_end;

typedef struct fp_mark {
    uint64_t upto;  /* position in the stream, counted from the first byte ever read */
    uint64_t due;   /* the time of the last of them */
    uint64_t first; /* when the mark's first byte is due */
} fp_mark;

typedef struct fp_flow {
    unsigned char *ring; /* NULL until the first byte */
    uint64_t in, out;    /* bytes ever read, and ever forwarded */
    fp_mark marks[FP_MARKS];
    unsigned mark, marks_used; /* index of the first, and their number */
    uint64_t next_at;          /* no byte goes before this time: slices and the rate */
    uint64_t end_at;
    fp_end end; /* how the sending side has ended */
    bool over;  /* the end was forwarded, and nothing follows */
    bool lost;  /* bytes were dropped, so the stream has a gap */
    bool stuck; /* bytes wait until the socket takes them */
} fp_flow;

void fp_flow_fini(fp_flow *flow);

/* Return where to read to, and the room there: 0 if full, SIZE_MAX if out of memory. */
size_t fp_flow_room(fp_flow *flow, unsigned char **into);

/* Report the number of bytes read there. */
void fp_flow_added(fp_flow *flow, const fp_way *way, size_t size, uint64_t now, uint64_t *random);

/* Report that the sending side has ended. */
void fp_flow_ended(fp_flow *flow, const fp_way *way, fp_end how, uint64_t now);

/* Return the number of bytes that may go now. If 0, *wake is moved forward to the time of the next check. */
size_t fp_flow_next(const fp_flow *flow, const fp_way *way, uint64_t now, const unsigned char **from, uint64_t *wake);

/* Report how many of them were sent. */
void fp_flow_passed(fp_flow *flow, const fp_way *way, size_t size, uint64_t now);

/* Return true if everything was sent and the end is due. Moves *wake forward if it will be due later. */
bool fp_flow_ends(const fp_flow *flow, uint64_t now, uint64_t *wake);

/* The faults have changed: bytes that would now be due earlier are moved forward. */
void fp_flow_refit(fp_flow *flow, const fp_way *way, uint64_t now);

#endif
