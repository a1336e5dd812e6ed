/* SPDX-License-Identifier: MIT */
/*
 * The bytes on one way of a connection: what has been read and not passed on yet, and when the next may go.
 *
 * A ring of bytes and a short list of marks: the bytes up to a mark are due at its moment. Both are bounded, and a full
 * one is full for the reader: it stops reading, and the sender's window fills. There is no I/O here and no clock.
 */
#ifndef FAULTPROXY_FLOW_H
#define FAULTPROXY_FLOW_H

#include "faultproxy/faults.h"

enum { FP_RING = 128 * 1024, FP_MARKS = 128 };

typedef enum fp_end { FP_NO_END, FP_CLOSED, FP_BROKEN } fp_end;

typedef struct fp_mark {
    uint64_t upto;  /* bytes that were ever read, up to here */
    uint64_t due;   /* of the last of them */
    uint64_t first; /* when the mark's first byte was due */
} fp_mark;

typedef struct fp_flow {
    unsigned char *ring; /* NULL until the first byte */
    uint64_t in, out;    /* bytes that were ever read and passed on */
    fp_mark marks[FP_MARKS];
    unsigned mark, marks_used; /* the first, and how many */
    uint64_t next_at;          /* no byte goes before that: slices and the rate */
    uint64_t end_at;
    fp_end end; /* how the side that sends has ended */
    bool over;  /* nothing is passed on any more, the end was */
    bool lost;  /* bytes were swallowed: what follows does not fit to what went before */
    bool stuck; /* there is something to pass on as soon as the socket takes it */
} fp_flow;

void fp_flow_fini(fp_flow *flow);

/* Where to read to, and how much: 0 if there is no room, SIZE_MAX if there is no memory. */
size_t fp_flow_room(fp_flow *flow, unsigned char **into);

/* So many bytes were read there. */
void fp_flow_added(fp_flow *flow, const fp_way *way, size_t size, uint64_t now, uint64_t *random);

/* The side that sends has ended. */
void fp_flow_ended(fp_flow *flow, const fp_way *way, fp_end how, uint64_t now);

/* What may go now: its size, 0 if nothing may. Then *wake is brought forward to when it is worth asking again. */
size_t fp_flow_next(const fp_flow *flow, const fp_way *way, uint64_t now, const unsigned char **from, uint64_t *wake);

/* So many of them went. */
void fp_flow_passed(fp_flow *flow, const fp_way *way, size_t size, uint64_t now);

/* Whether all has gone and the end is due; brings *wake forward if it will be. */
bool fp_flow_ends(const fp_flow *flow, uint64_t now, uint64_t *wake);

/* The faults are others now: what would come later than with these comes sooner. */
void fp_flow_refit(fp_flow *flow, const fp_way *way, uint64_t now);

#endif
