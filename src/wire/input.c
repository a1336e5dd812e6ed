/* SPDX-License-Identifier: MIT */
/*
 * The input buffer.
 *
 *     0        begin            end        capacity
 *     |  taken  |  left          |   room   |
 *
 * The work is linear. After all complete frames were taken, the rest is the beginning of one frame. It is moved to the
 * front at most once, because `begin` then stays 0 until that frame is taken. It is copied into larger memory each time
 * the size doubles. So each byte is moved a bounded number of times on average. The memory grows with the bytes that
 * have arrived, not with the length that a frame's head announces: a peer that sends 4 bytes cannot make a megabyte be
 * reserved.
 */
#include "wire/input.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "wire/binary.h"

void ceni_input_init(ceni_input *input, cen_codec codec, size_t max_payload, const cen_allocator *allocator)
{
    *input = (ceni_input){.allocator = allocator, .codec = codec, .max_payload = max_payload};
    input->max_frame = codec.calls->bound(codec.argument, max_payload);
}

void ceni_input_fini(ceni_input *input)
{
    ceni_free(input->allocator, input->bytes, input->capacity, 1);
    input->bytes = NULL;
    input->capacity = input->begin = input->end = 0;
}

/* Move the remaining bytes to the beginning of `memory`, which may be the current buffer. */
static void move_to(ceni_input *input, unsigned char *memory)
{
    size_t left = ceni_input_left(input);
    if (left) memmove(memory, input->bytes + input->begin, left);
    input->begin = 0;
    input->end = left;
}

static cen_status enlarge(ceni_input *input)
{
    size_t capacity = input->capacity ? input->capacity * 2 : CENI_INPUT_FIRST;
    size_t most = input->max_frame > CENI_INPUT_FIRST ? input->max_frame : CENI_INPUT_FIRST;
    if (capacity > most || capacity < input->capacity) capacity = most;
    unsigned char *larger = ceni_alloc(input->allocator, capacity, 1);
    if (!larger) return CEN_NO_MEMORY;
    move_to(input, larger);
    ceni_free(input->allocator, input->bytes, input->capacity, 1);
    input->bytes = larger;
    input->capacity = capacity;
    return CEN_OK;
}

cen_status ceni_input_room(ceni_input *input, void **into, size_t *size)
{
    if (input->begin == input->end) input->begin = input->end = 0;
    /* No room left, or little room and more bytes behind than ahead: move to the front. */
    size_t room = input->capacity - input->end;
    if (input->begin && (room == 0 || (input->begin >= ceni_input_left(input) && room < input->capacity / 2)))
        move_to(input, input->bytes);
    if (input->end == input->capacity && enlarge(input) != CEN_OK) return CEN_NO_MEMORY;
    *into = input->bytes + input->end;
    *size = input->capacity - input->end;
    return CEN_OK;
}

void ceni_input_added(ceni_input *input, size_t count)
{
    input->end += count;
}

/* Return true if the codec's description of a frame is consistent. */
static bool is_sound(const ceni_input *input, const cen_decoding *frame)
{
    const unsigned char *from = input->bytes + input->begin, *payload = frame->payload;
    size_t left = ceni_input_left(input);
    if (frame->consumed == 0 || frame->consumed > left || frame->size > input->max_payload) return false;
    if (frame->size == 0) return true;
    return payload >= from && (size_t)(payload - from) <= left && frame->size <= left - (size_t)(payload - from);
}

static cen_decoded take_frame(ceni_input *input, const cen_decoding *frame, cen_error *error)
{
    if (!is_sound(input, frame)) {
        ceni_error_set(error, CEN_DRIVER, 0, "codec \"%s\" decoded an invalid frame", input->codec.calls->name);
        return CEN_DECODED_BROKEN;
    }
    input->begin += frame->consumed;
    input->seen = input->wanted = 0;
    if (ceni_planted(input_keeps_seen)) input->seen = frame->consumed;
    return CEN_DECODED_FRAME;
}

cen_decoded ceni_input_next(ceni_input *input, cen_decoding *frame, cen_error *error)
{
    size_t left = ceni_input_left(input);
    if (left == 0 || left < input->wanted) return CEN_DECODED_MORE;
    *frame = (cen_decoding){.max_payload = input->max_payload, .seen = input->seen};
    const cen_codec *codec = &input->codec;
    cen_decoded found = codec->calls->decode(codec->argument, input->bytes + input->begin, left, frame, error);
    if (found == CEN_DECODED_FRAME) return take_frame(input, frame, error);
    if (found == CEN_DECODED_BROKEN) return found;
    if (left >= input->max_frame || frame->wanted > input->max_frame) {
        ceni_error_set(error, CEN_INVALID, 0, "frame too long (limit %zu bytes)", input->max_frame);
        return CEN_DECODED_BROKEN;
    }
    input->seen = left;
    input->wanted = frame->wanted;
    return CEN_DECODED_MORE;
}

/* Take consecutive whole frames of the binary codec. Everything else is left to the codec's decode. */
static unsigned take_binary(ceni_input *input, ceni_frame *frames, unsigned most)
{
    const unsigned char *at = input->bytes + input->begin;
    size_t left = ceni_input_left(input), before = left, max_payload = input->max_payload;
    unsigned count = 0;
    while (count < most && left >= CENI_BINARY_HEAD) {
        uint64_t size = ceni_binary_length(at) - CENI_BINARY_ID; /* wraps to a huge size if the frame is too short */
        if ((size > max_payload && !ceni_planted(binary_takes_any_size)) || size > left - CENI_BINARY_HEAD) break;
        frames[count++] =
            (ceni_frame){.id = ceni_binary_id(at), .payload = at + CENI_BINARY_HEAD, .size = (size_t)size};
        at += CENI_BINARY_HEAD + size;
        left -= CENI_BINARY_HEAD + (size_t)size;
    }
    if (count) input->seen = input->wanted = 0;
    input->begin += before - left;
    return count;
}

cen_decoded ceni_input_take(ceni_input *input, ceni_frame *frames, unsigned most, unsigned *count, cen_error *error)
{
    cen_decoding next;
    cen_decoded found = CEN_DECODED_FRAME;
    unsigned taken = ceni_binary_is(&input->codec) ? take_binary(input, frames, most) : 0;
    while (taken < most && (found = ceni_input_next(input, &next, error)) == CEN_DECODED_FRAME)
        frames[taken++] = (ceni_frame){.id = next.id, .payload = next.payload, .size = next.size};
    *count = taken;
    return found;
}
