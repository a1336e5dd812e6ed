/* SPDX-License-Identifier: MIT */
/*
 * A codec: how a number and some bytes become a frame on a connection, and back.
 * libcenote-net.
 *
 * Two are shipped:
 *
 *     cen_codec_binary()   length (32 bits), id (64 bits), payload; the length counts
 *                          what follows it, and both numbers are big endian
 *     cen_codec_lines()    "17 hello\n": the id in decimal, a space, the payload, a newline
 *
 * A program writes its own by filling in a cen_codec_calls:
 *
 *     static const cen_codec_calls mine = {.size = sizeof mine, .name = "mine", .bound = bound, .encode = encode,
 *                                          .decode = decode};
 *     cen_codec codec = {&mine, NULL};
 *
 * A codec value is two pointers, copied by whoever receives it; what they point
 * to must outlive the connections that use it.
 *
 * Threads: a codec has no state of its own, or sees to that itself: its functions
 * are called from any thread, several at a time. `bound` and `encode` are called
 * with a lock of the connection held: they are quick and call nothing of cenote.
 * Fork: nothing here knows of processes.
 */
#ifndef CENOTE_CODEC_H
#define CENOTE_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include <cenote/sized.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is at the beginning of some bytes. */
typedef enum cen_decoded {
    CEN_DECODED_FRAME = 0, /* a whole frame */
    CEN_DECODED_MORE,      /* the beginning of one: more bytes are needed */
    CEN_DECODED_BROKEN,    /* nothing that this codec wrote: the connection cannot go on */
} cen_decoded;

/* One attempt to decode. */
typedef struct cen_decoding {
    /* told */
    size_t max_payload; /* a frame with a larger payload is BROKEN, as soon as that can be known */
    /* so many of the first bytes were there before, and the answer was MORE: no need to search them again */
    size_t seen;
    /* answered with FRAME */
    uint64_t id;
    const void *payload; /* within the bytes */
    size_t size;         /* of the payload */
    size_t consumed;     /* how long the frame is; more than 0 */
    /* answered with MORE */
    size_t wanted; /* how many bytes the frame has at least, from its beginning, if that is known; else 0 */
} cen_decoding;

/* Fields are only ever appended; those that a program does not know, because `size` is smaller, are zero. */
typedef struct cen_codec_calls {
    size_t size;      /* sizeof(cen_codec_calls) */
    const char *name; /* for texts: "binary" */

    /* How many bytes a frame with a payload of so many has at most. */
    size_t (*bound)(void *argument, size_t payload_size);

    /* Writes one frame to `out`, which has as much room as `bound` said, and tells how long it is.
     * Whatever but OK: the payload cannot be written, nothing is sent, and the asker gets
     * status and error (never NULL here). */
    cen_status (*encode)(void *argument, uint64_t id, const void *payload, size_t size, void *out, size_t *written,
                         cen_error *error);

    /* Looks at the beginning of `size` bytes, more than 0. With BROKEN, `error` (never NULL here) gets a sentence that says why. */
    cen_decoded (*decode)(void *argument, const void *bytes, size_t size, cen_decoding *decoding, cen_error *error);
} cen_codec_calls;

typedef struct cen_codec {
    const cen_codec_calls *calls;
    void *argument;
} cen_codec;

/* Any bytes. A payload may be as long as the connection allows, and at most 2^32 - 9 bytes. */
CEN_API cen_codec cen_codec_binary(void);

/* Text. A payload with a newline in it is INVALID. A carriage return before the newline is
 * part of the payload. The id is 1 to 20 digits and fits into 64 bits. */
CEN_API cen_codec cen_codec_lines(void);

#ifdef __cplusplus
}
#endif
#endif
