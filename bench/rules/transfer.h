/* SPDX-License-Identifier: MIT */
/*
 * The rules of the queue benchmark, for its C and C++ contestants: a transfer
 * with the check that every element came through exactly once, and the wake-up
 * rounds.
 *
 * A contestant does not call this directly but includes transfer_loop.h, which
 * compiles the hot loops into the contestant so that its push and pop can be
 * inlined there.
 *
 * Elements are eight bytes: producer << 48 | sequence, sequences from 1.
 */
#ifndef BENCH_RULES_TRANSFER_H
#define BENCH_RULES_TRANSFER_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_PRODUCERS_MAX 64
#define BENCH_SEQUENCE_BITS 48

struct bench_plan {
    bool wake; /* wake-up rounds instead of a transfer */
    bool bounded;
    size_t capacity;
    unsigned producers, consumers;
    uint64_t elements; /* per producer */
    unsigned rounds, pause_us;
};

/* One thread of a transfer. */
struct bench_worker {
    /* Fixed before the start. */
    unsigned number; /* among the producers, or among the consumers */
    bool producing;
    uint64_t quota; /* elements to push or pop */
    /* Written by the worker when its loop has ended. */
    uint64_t sum;
    uint64_t disorder; /* elements that came no later than one pushed after them */
    int64_t start_ns, end_ns;
};

/* What a contestant brings; filled by transfer_loop.h. */
struct bench_contestant {
    void (*make)(const struct bench_plan *plan);
    void (*enter)(bool producing); /* in each worker before the start */
    void (*produce)(struct bench_worker *worker);
    void (*consume)(struct bench_worker *worker);
    void (*push)(uint64_t element);
    uint64_t (*pop)(void);
};

/* Runs what the command line asks for and prints one line of key=value; the
 * result is main's. Arguments:
 *     transfer bounded|unbounded CAPACITY PRODUCERS CONSUMERS ELEMENTS-PER-PRODUCER
 *     wake     bounded|unbounded CAPACITY ROUNDS PAUSE-US */
int bench_main(int argc, char **argv, const struct bench_contestant *contestant);

#ifdef __cplusplus
}
#endif
#endif
