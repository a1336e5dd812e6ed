/* SPDX-License-Identifier: MIT */
/*
 * Bytes that come in, in whatever pieces, and the frames in them.
 *
 *     ceni_input_room(&input, &into, &size);              where the next bytes may go
 *     ceni_input_added(&input, read(fd, into, size));
 *     while (ceni_input_next(&input, &frame, &error) == CEN_DECODED_FRAME) use(frame.payload);
 *
 * How the bytes were cut into pieces never matters to what comes out. Work and memory are bounded: every byte is
 * moved a bounded number of times on average, the codec need not search a byte twice, and the buffer is never larger
 * than one frame of the largest size allowed, or the size it begins with.
 *
 * Threads: whoever has it. Nothing but the allocator is called, and the codec.
 */
#ifndef CENI_WIRE_INPUT_H
#define CENI_WIRE_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/codec.h>

enum { CENI_INPUT_FIRST = 1 << 15 }; /* what the buffer begins with; as much is asked of the transport at a time */

typedef struct ceni_input {
    /* fixed by init */
    const cen_allocator *allocator;
    cen_codec codec;
    size_t max_payload;
    size_t max_frame; /* what the codec says that such a payload makes */
    /* its user's */
    unsigned char *bytes;
    size_t capacity;
    size_t begin, end; /* what has come and was not taken as a frame */
    size_t seen;       /* so many from `begin` on were shown to the codec */
    size_t wanted;     /* so many it has asked for, from `begin` on; 0: it did not say */
} ceni_input;

/* One frame that was taken out. */
typedef struct ceni_frame {
    uint64_t id;
    const void *payload; /* in the buffer */
    size_t size;
} ceni_frame;

/* Allocates nothing yet. */
void ceni_input_init(ceni_input *input, cen_codec codec, size_t max_payload, const cen_allocator *allocator);
void ceni_input_fini(ceni_input *input);

/* Where the next bytes may be put, at least one. What was decoded before points nowhere from now on.
 * Errors: NO_MEMORY: nothing changed. */
cen_status ceni_input_room(ceni_input *input, void **into, size_t *size);

/* So many bytes were put there. */
void ceni_input_added(ceni_input *input, size_t count);

/* The next frame, taken out; it points into the buffer until the next ceni_input_room. BROKEN stays BROKEN. */
cen_decoded ceni_input_next(ceni_input *input, cen_decoding *frame, cen_error *error);

/* The same for several, `most` of them at most; *count says how many. FRAME: these are `most`, and there may be more; else what
 * there is after them, which a further call answers, too. */
cen_decoded ceni_input_take(ceni_input *input, ceni_frame *frames, unsigned most, unsigned *count, cen_error *error);

/* Bytes that are there and in no frame yet. */
static inline size_t ceni_input_left(const ceni_input *input)
{
    return input->end - input->begin;
}

#endif
