/* SPDX-License-Identifier: MIT */
/*
 * The frames of the binary codec: length, id, payload.
 *
 * Most connections use this codec. Code that reads or writes many frames compares the codec's calls with these, and
 * then uses the functions below instead of three calls through a pointer per frame. The codec's own functions are built
 * from them, so the results are the same.
 */
#ifndef CENI_WIRE_BINARY_H
#define CENI_WIRE_BINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cenote/codec.h>

enum { CENI_BINARY_LENGTH = 4, CENI_BINARY_ID = 8, CENI_BINARY_HEAD = CENI_BINARY_LENGTH + CENI_BINARY_ID };

/* The largest payload whose length fits the frame. */
#define CENI_BINARY_MOST ((size_t)(UINT32_MAX - CENI_BINARY_ID))

extern const cen_codec_calls ceni_binary_calls;

static inline bool ceni_binary_is(const cen_codec *codec)
{
    return __builtin_expect(codec->calls == &ceni_binary_calls, 1);
}

/* Convert a number between memory order and big endian. */
static inline uint64_t ceni_binary_swapped_64(uint64_t number)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(number) : number;
}

static inline uint32_t ceni_binary_swapped_32(uint32_t number)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32(number) : number;
}

/* Write a frame and return its size. `out` has room for it, and the payload is at most CENI_BINARY_MOST bytes. */
static inline size_t ceni_binary_put(unsigned char *out, uint64_t id, const void *payload, size_t size)
{
    uint32_t length = ceni_binary_swapped_32((uint32_t)(size + CENI_BINARY_ID));
    id = ceni_binary_swapped_64(id);
    memcpy(out, &length, CENI_BINARY_LENGTH);
    memcpy(out + CENI_BINARY_LENGTH, &id, CENI_BINARY_ID);
    if (size) memcpy(out + CENI_BINARY_HEAD, payload, size);
    return CENI_BINARY_HEAD + size;
}

/* Return the length field of a frame: the bytes after it, id and payload. */
static inline uint64_t ceni_binary_length(const unsigned char *in)
{
    uint32_t length;
    memcpy(&length, in, CENI_BINARY_LENGTH);
    return ceni_binary_swapped_32(length);
}

/* Return the id of a frame that is long enough to have one. */
static inline uint64_t ceni_binary_id(const unsigned char *in)
{
    uint64_t id;
    memcpy(&id, in + CENI_BINARY_LENGTH, CENI_BINARY_ID);
    return ceni_binary_swapped_64(id);
}

#endif
