/* SPDX-License-Identifier: MIT */
/*
 * The frames of the binary codec: length, id, payload.
 *
 * Most connections have this codec. Whoever writes or reads many frames of theirs knows it by its calls, and does
 * here without three calls through a pointer for each; what is written and what is taken for a frame is the same, for the codec's
 * own functions are made of these.
 */
#ifndef CENI_WIRE_BINARY_H
#define CENI_WIRE_BINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cenote/codec.h>

enum { CENI_BINARY_LENGTH = 4, CENI_BINARY_ID = 8, CENI_BINARY_HEAD = CENI_BINARY_LENGTH + CENI_BINARY_ID };

/* The longest payload whose length can be written. */
#define CENI_BINARY_MOST ((size_t)(UINT32_MAX - CENI_BINARY_ID))

extern const cen_codec_calls ceni_binary_calls;

static inline bool ceni_binary_is(const cen_codec *codec)
{
    return __builtin_expect(codec->calls == &ceni_binary_calls, 1);
}

/* A number as it stands in memory, in big endian, and back. */
static inline uint64_t ceni_binary_swapped_64(uint64_t number)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(number) : number;
}

static inline uint32_t ceni_binary_swapped_32(uint32_t number)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32(number) : number;
}

/* Writes a frame; `out` has the room, and the payload is not longer than MOST. Returns how long it is. */
static inline size_t ceni_binary_put(unsigned char *out, uint64_t id, const void *payload, size_t size)
{
    uint32_t length = ceni_binary_swapped_32((uint32_t)(size + CENI_BINARY_ID));
    id = ceni_binary_swapped_64(id);
    memcpy(out, &length, CENI_BINARY_LENGTH);
    memcpy(out + CENI_BINARY_LENGTH, &id, CENI_BINARY_ID);
    if (size) memcpy(out + CENI_BINARY_HEAD, payload, size);
    return CENI_BINARY_HEAD + size;
}

/* The length that stands at the beginning of a frame: what follows it, id and payload. */
static inline uint64_t ceni_binary_length(const unsigned char *in)
{
    uint32_t length;
    memcpy(&length, in, CENI_BINARY_LENGTH);
    return ceni_binary_swapped_32(length);
}

/* The id of a frame that is long enough to have one. */
static inline uint64_t ceni_binary_id(const unsigned char *in)
{
    uint64_t id;
    memcpy(&id, in + CENI_BINARY_LENGTH, CENI_BINARY_ID);
    return ceni_binary_swapped_64(id);
}

#endif
