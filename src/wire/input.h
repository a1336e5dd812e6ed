/* SPDX-License-Identifier: MIT */
/*
 * The input buffer: bytes that arrive in any pieces, and the frames in them.
 *
 *     ceni_input_room(&input, &into, &size);              where the next bytes may go
 *     ceni_input_added(&input, read(fd, into, size));
 *     while (ceni_input_next(&input, &frame, &error) == CEN_DECODED_FRAME) use(frame.payload);
 *
 * How the bytes were cut into pieces never matters to the result. Work and memory are bounded: every byte is moved a
 * bounded number of times on average, the codec need not search a byte twice, and the buffer is never larger than one
 * frame of the largest allowed size, or its initial size.
 *
 * Threads: one at a time. Only the allocator and the codec are called.
 */
#ifndef CENI_WIRE_INPUT_H
#define CENI_WIRE_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/codec.h>

enum { CENI_INPUT_FIRST = 1 << 15 }; /* the initial size of the buffer, and the size of one read */

typedef struct ceni_input {
    /* fixed by init */
    const cen_allocator *allocator;
    cen_codec codec;
    size_t max_payload;
    size_t max_frame; /* the codec's bound for such a payload */
    /* the user's */
    unsigned char *bytes;
    size_t capacity;
    size_t begin, end; /* bytes not yet taken as frames */
    size_t seen;       /* bytes from `begin` that the codec has seen */
    size_t wanted;     /* bytes from `begin` that the codec needs; 0: unknown */
} ceni_input;

/* One frame that was taken out of the buffer. */
typedef struct ceni_frame {
    uint64_t id;
    const void *payload; /* in the buffer */
    size_t size;
} ceni_frame;

/* Initialise the buffer without allocating memory. */
void ceni_input_init(ceni_input *input, cen_codec codec, size_t max_payload, const cen_allocator *allocator);
void ceni_input_fini(ceni_input *input);

/* Return where to put the next bytes, room for at least one. Frames decoded before are invalid from now on. Errors:
 * NO_MEMORY, nothing has changed. */
cen_status ceni_input_room(ceni_input *input, void **into, size_t *size);

/* Report how many bytes were put there. */
void ceni_input_added(ceni_input *input, size_t count);

/* Take the next frame. It points into the buffer until the next ceni_input_room. BROKEN is final. */
cen_decoded ceni_input_next(ceni_input *input, cen_decoding *frame, cen_error *error);

/* Take up to `most` frames; *count: how many. Returns FRAME if `most` were taken, so there may be more. Otherwise the
 * result describes what follows them, as ceni_input_next would. */
cen_decoded ceni_input_take(ceni_input *input, ceni_frame *frames, unsigned most, unsigned *count, cen_error *error);

/* Return the number of bytes that are in no frame yet. */
static inline size_t ceni_input_left(const ceni_input *input)
{
    return input->end - input->begin;
}

#endif
