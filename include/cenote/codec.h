/* SPDX-License-Identifier: MIT */
/*
 * A codec: encodes a request id and a payload as a frame on a connection, and decodes frames. libcenote-net.
 *
 * The library contains two codecs:
 *
 *     cen_codec_binary()   length (32 bits), id (64 bits), payload; the length counts
 *                          what follows it, and both numbers are big endian
 *     cen_codec_lines()    "17 hello\n": the id in decimal, a space, the payload, a newline
 *
 * A program makes its own codec with a cen_codec_calls:
 *
 *     static const cen_codec_calls mine = {.size = sizeof mine, .name = "mine", .bound = bound, .encode = encode,
 *                                          .decode = decode};
 *     cen_codec codec = {&mine, NULL};
 *
 * A codec value consists of two pointers. Functions that are passed a codec copy it. The functions and the argument
 * must outlive the connections that use the codec.
 *
 * Threads: the functions of a codec are called from any thread, and concurrently. A codec that has state must protect
 * it itself. `bound` and `encode` are called with a lock of the connection held, so they must be quick and must not
 * call the library.
 * Fork: a codec also works in a forked child.
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

/* The result of an attempt to decode. */
typedef enum cen_decoded {
    CEN_DECODED_FRAME = 0, /* a complete frame */
    CEN_DECODED_MORE,      /* the beginning of a frame: more bytes are needed */
    CEN_DECODED_BROKEN,    /* not a frame of this codec: the connection cannot continue */
} cen_decoded;

/* The inputs and outputs of an attempt to decode. */
typedef struct cen_decoding {
    /* inputs */
    size_t max_payload; /* a frame with a larger payload is BROKEN, as soon as that can be known */
    /* how many of the bytes were present at an earlier attempt that returned MORE; they need not be searched again */
    size_t seen;
    /* outputs if the result is FRAME */
    uint64_t id;
    const void *payload; /* within the bytes */
    size_t size;         /* of the payload */
    size_t consumed;     /* the length of the frame, more than 0 */
    /* output if the result is MORE */
    size_t wanted; /* the minimum length of the whole frame, if it is known; else 0 */
} cen_decoding;

/* The functions of a codec. All fields are required. Fields are only ever appended. Fields that a program does not
 * know, because its `size` is smaller, count as zero. */
typedef struct cen_codec_calls {
    size_t size;      /* sizeof(cen_codec_calls) */
    const char *name; /* for error texts: "binary" */

    /* Returns the maximum length of a frame with a payload of `payload_size` bytes. */
    size_t (*bound)(void *argument, size_t payload_size);

    /* Writes one frame to `out`, which has room for as many bytes as `bound` returned, and the frame's length to
     * *written. With any status other than OK, the payload cannot be encoded: nothing is sent, and the request fails
     * with the status and the error. `error` is never NULL. */
    cen_status (*encode)(void *argument, uint64_t id, const void *payload, size_t size, void *out, size_t *written,
                         cen_error *error);

    /* Decodes the frame at the beginning of `bytes`. `size` is more than 0. If the result is BROKEN, this writes the
     * reason to `error`, which is never NULL. */
    cen_decoded (*decode)(void *argument, const void *bytes, size_t size, cen_decoding *decoding, cen_error *error);
} cen_codec_calls;

/* A codec, passed by value: its functions, and the argument that they are called with. */
typedef struct cen_codec {
    const cen_codec_calls *calls;
    void *argument;
} cen_codec;

/* Return the binary codec. A payload may be any bytes: as many as the connection allows, and at most 2^32 - 9. */
CEN_API cen_codec cen_codec_binary(void);

/* Return the codec of text lines. Encoding a payload that contains a newline fails with INVALID. A carriage return
 * before the newline is part of the payload. The id has 1 to 20 digits and fits into 64 bits. */
CEN_API cen_codec cen_codec_lines(void);

#ifdef __cplusplus
}
#endif
#endif
