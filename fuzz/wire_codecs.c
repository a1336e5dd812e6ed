/* SPDX-License-Identifier: MIT */
/*
 * Bytes as what comes in from a connection. Fed at once and fed in pieces they must bring the same frames and the same
 * end; and what was read as a frame is read the same when it is written again.
 *
 * The first byte says which codec, the second how large pieces are, the third how large a payload may be.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plant.h"
#include "wire/input.h"

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { HEAD = 3, MOST_FRAMES = 4096 };

typedef struct seen {
    uint64_t id[MOST_FRAMES];
    size_t size[MOST_FRAMES];
    uint64_t sum[MOST_FRAMES]; /* of the payload */
    unsigned frames;
    cen_decoded end;
} seen;

static seen whole, parts;

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    const char *plant = getenv("CENOTE_PLANT");
    (void)count;
    (void)arguments;
    if (!plant || ceni_plant_choose(plant)) return 0;
    fprintf(stderr, "there is no planted bug named %s\n", plant);
    exit(2);
}

static void complain(const char *text)
{
    fprintf(stderr, "%s\n", text);
    abort();
}

static uint64_t sum_of(const void *payload, size_t size)
{
    const unsigned char *at = payload;
    uint64_t sum = 14695981039346656037u;
    for (size_t i = 0; i < size; i++) sum = (sum ^ at[i]) * 1099511628211u;
    return sum;
}

static void write_again(cen_codec codec, const cen_decoding *frame)
{
    size_t room = codec.calls->bound(codec.argument, frame->size), written = 0;
    unsigned char *copy = malloc(room); /* of just that size: a byte too many is found by the sanitizer */
    cen_error error;
    cen_decoding again = {.max_payload = frame->size};
    if (!copy) return;
    if (codec.calls->encode(codec.argument, frame->id, frame->payload, frame->size, copy, &written, &error) != CEN_OK)
        complain("what was read cannot be written");
    if (written > room) complain("a frame is longer than its bound");
    if (codec.calls->decode(codec.argument, copy, written, &again, &error) != CEN_DECODED_FRAME)
        complain("what was written cannot be read");
    if (again.id != frame->id || again.size != frame->size || again.consumed != written)
        complain("what was written is another frame");
    if (frame->size && memcmp(again.payload, frame->payload, frame->size))
        complain("what was written has another payload");
    free(copy);
}

static void take_frames(ceni_input *input, seen *out)
{
    cen_decoding frame;
    cen_error error;
    while ((out->end = ceni_input_next(input, &frame, &error)) == CEN_DECODED_FRAME) {
        if (out->frames == MOST_FRAMES) exit(0); /* more than an input can have */
        if (out == &whole) write_again(input->codec, &frame);
        out->id[out->frames] = frame.id;
        out->size[out->frames] = frame.size;
        out->sum[out->frames++] = sum_of(frame.payload, frame.size);
    }
}

static void feed(const uint8_t *bytes, size_t size, size_t piece, cen_codec codec, size_t max_payload, seen *out)
{
    ceni_input input;
    ceni_input_init(&input, codec, max_payload, NULL);
    out->frames = 0;
    out->end = CEN_DECODED_MORE;
    while (size && out->end != CEN_DECODED_BROKEN) {
        void *into;
        size_t room;
        if (ceni_input_room(&input, &into, &room) != CEN_OK) break;
        size_t count = size < piece ? size : piece;
        if (count > room) count = room;
        memcpy(into, bytes, count);
        bytes += count;
        size -= count;
        ceni_input_added(&input, count);
        take_frames(&input, out);
        if (input.capacity > CENI_INPUT_FIRST && input.capacity > input.max_frame)
            complain("the input takes too much memory");
    }
    ceni_input_fini(&input);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < HEAD || size > MOST_FRAMES * 3) return 0;
    cen_codec codec = bytes[0] % 2 ? cen_codec_lines() : cen_codec_binary();
    size_t piece = (size_t)bytes[1] + 1, max_payload = (size_t)bytes[2] * 4;
    feed(bytes + HEAD, size - HEAD, SIZE_MAX, codec, max_payload, &whole);
    feed(bytes + HEAD, size - HEAD, piece, codec, max_payload, &parts);
    if (whole.frames != parts.frames || whole.end != parts.end)
        complain("pieces bring another number of frames, or another end");
    for (unsigned i = 0; i < whole.frames; i++)
        if (whole.id[i] != parts.id[i] || whole.size[i] != parts.size[i] || whole.sum[i] != parts.sum[i])
            complain("pieces bring another frame");
    return 0;
}
