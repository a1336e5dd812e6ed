/* SPDX-License-Identifier: MIT */
/*
 * What every C and C++ contestant of the queue benchmark shares: arguments,
 * a start on a barrier, time taken by the workers, the check that every
 * element came through exactly once, and the wake-up rounds.
 *
 * A contestant does not use this header directly but transfer.h, which
 * compiles the hot loops into the contestant so that its push and pop can be
 * inlined there. The Rust and Go contestants follow the same rules in their
 * own words.
 *
 * Elements are eight bytes: producer << 48 | sequence, sequences from 1.
 */
#ifndef BENCH_SUPPORT_BENCH_H
#define BENCH_SUPPORT_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* What a contestant brings; filled by transfer.h. */
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

int64_t bench_now(void);

/* Ends the program with a sentence on stderr. */
void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#ifdef __cplusplus
}
#endif
#endif
