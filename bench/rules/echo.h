/* SPDX-License-Identifier: MIT */
/*
 * The rules for clients of an echo server, over TCP within the machine.
 *
 *     PROGRAM many SERVER CONNECTIONS IN-FLIGHT SECONDS     so many requests at a time, over all connections together
 *     PROGRAM one SERVER SECONDS                            one caller, who waits for each reply
 *
 * SERVER is a program that says its port on a line of its own, and ends when
 * its standard input does. It runs on the second processor, all threads of the
 * client on the first.
 *
 * A frame is a length of 32 bits, which counts what follows it, an id of 64
 * bits, both big endian, and a payload, here always of 64 bytes. What comes back must be
 * what was sent, once, to the request that sent it; all must be answered in the end.
 *
 * A request belongs to one of IN-FLIGHT slots. For a quarter of the time nothing is
 * counted; then replies are, with the time from echo_begin to echo_end.
 */
#ifndef BENCH_RULES_ECHO_H
#define BENCH_RULES_ECHO_H

#include <string.h>

#include "bench.h"

#define ECHO_PAYLOAD 64
#define ECHO_HEAD 12
#define ECHO_FRAME (ECHO_HEAD + ECHO_PAYLOAD)
#define ECHO_SLOTS_MAX 4096
#define ECHO_CONNECTIONS_MAX 64

/* Each client has these two. They return when every slot that began has ended. */
void echo_many(uint16_t port, unsigned connections, unsigned in_flight);
void echo_one(uint16_t port);

/* A request of this slot begins: its payload, to be sent as it is. Any thread. */
const void *echo_begin(unsigned slot);

/* It was answered: true if the slot is to begin anew. Always from one and the same thread. */
bool echo_end(unsigned slot, const void *payload, size_t size);

/* Requests that have begun and not ended, as echo_end's thread sees it. */
unsigned echo_left(void);

/* A connected socket with Nagle's algorithm off. */
int echo_connect(uint16_t port);

static inline void echo_put32(unsigned char *at, uint32_t value)
{
    value = __builtin_bswap32(value);
    memcpy(at, &value, sizeof value);
}

static inline void echo_put64(unsigned char *at, uint64_t value)
{
    value = __builtin_bswap64(value);
    memcpy(at, &value, sizeof value);
}

static inline uint32_t echo_get32(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return __builtin_bswap32(value);
}

static inline uint64_t echo_get64(const unsigned char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return __builtin_bswap64(value);
}

/* A whole frame with this slot as its id. */
static inline void echo_frame(unsigned char *at, unsigned slot)
{
    echo_put32(at, ECHO_FRAME - 4);
    echo_put64(at + 4, slot);
    memcpy(at + ECHO_HEAD, echo_begin(slot), ECHO_PAYLOAD);
}

/* The length of the whole frame at the beginning of so many bytes; 0: there is none yet. */
static inline size_t echo_whole(const unsigned char *at, size_t size)
{
    if (size < ECHO_HEAD) return 0;
    uint32_t length = echo_get32(at);
    if (length < 8 || length > 8 + 65536) bench_fail("a frame of %u bytes", (unsigned)length);
    return size < 4 + (size_t)length ? 0 : 4 + (size_t)length;
}

#endif
