/* SPDX-License-Identifier: MIT */
/*
 * The two built-in codecs.
 *
 * Both return BROKEN as early as the bytes allow. The result depends only on the bytes from the frame's beginning, not
 * on how they were cut into pieces. `seen` avoids a second search of the same line.
 */
#include <cenote/codec.h>

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/plant.h"
#include "wire/binary.h"

/* ---- binary: length, id, payload ------------------------------------------------------ */

enum { LENGTH_SIZE = CENI_BINARY_LENGTH, ID_SIZE = CENI_BINARY_ID, HEAD = CENI_BINARY_HEAD };

static size_t binary_bound(void *argument, size_t payload_size)
{
    (void)argument;
    return payload_size > SIZE_MAX - HEAD ? SIZE_MAX : HEAD + payload_size;
}

static cen_status binary_encode(void *argument, uint64_t id, const void *payload, size_t size, void *out,
                                size_t *written, cen_error *error)
{
    (void)argument;
    if (size > CENI_BINARY_MOST)
        return ceni_error_set(error, CEN_INVALID, 0, "payload too large for the binary codec (%zu bytes, limit %zu)",
                              size, CENI_BINARY_MOST);
    *written = ceni_binary_put(out, id, payload, size);
    return CEN_OK;
}

static cen_decoded binary_decode(void *argument, const void *bytes, size_t size, cen_decoding *decoding,
                                 cen_error *error)
{
    (void)argument;
    const unsigned char *at = bytes;
    decoding->wanted = LENGTH_SIZE;
    if (size < LENGTH_SIZE) return CEN_DECODED_MORE;
    uint64_t length = ceni_binary_length(at);
    if (length < ID_SIZE) {
        ceni_error_set(error, CEN_INVALID, 0, "invalid frame: %" PRIu64 " bytes, too short for an id", length);
        return CEN_DECODED_BROKEN;
    }
    if (length - ID_SIZE > decoding->max_payload) {
        ceni_error_set(error, CEN_INVALID, 0, "payload too large (%" PRIu64 " bytes, limit %zu)", length - ID_SIZE,
                       decoding->max_payload);
        return CEN_DECODED_BROKEN;
    }
    decoding->wanted = LENGTH_SIZE + (size_t)length;
    if (size < decoding->wanted) return CEN_DECODED_MORE;
    decoding->id = ceni_binary_id(at);
    decoding->payload = at + HEAD;
    decoding->size = (size_t)length - ID_SIZE;
    decoding->consumed = decoding->wanted;
    return CEN_DECODED_FRAME;
}

const cen_codec_calls ceni_binary_calls = {.size = sizeof ceni_binary_calls,
                                           .name = "binary",
                                           .bound = binary_bound,
                                           .encode = binary_encode,
                                           .decode = binary_decode};

cen_codec cen_codec_binary(void)
{
    return (cen_codec){&ceni_binary_calls, NULL};
}

/* ---- lines: "<id> <payload>\n" --------------------------------------------------------- */

enum { MOST_DIGITS = 20 };

static size_t lines_bound(void *argument, size_t payload_size)
{
    (void)argument;
    return payload_size > SIZE_MAX - MOST_DIGITS - 2 ? SIZE_MAX : MOST_DIGITS + 1 + payload_size + 1;
}

static size_t put_decimal(unsigned char *out, uint64_t number)
{
    unsigned char digits[MOST_DIGITS];
    size_t count = 0;
    do digits[count++] = (unsigned char)('0' + number % 10);
    while ((number /= 10));
    for (size_t i = 0; i < count; i++) out[i] = digits[count - 1 - i];
    return count;
}

static cen_status lines_encode(void *argument, uint64_t id, const void *payload, size_t size, void *out,
                               size_t *written, cen_error *error)
{
    (void)argument;
    if (size && memchr(payload, '\n', size) && !ceni_planted(lines_write_newlines))
        return ceni_error_set(error, CEN_INVALID, 0, "payload contains a newline, the end of a line");
    unsigned char *at = out;
    at += put_decimal(at, id);
    *at++ = ' ';
    if (size) memcpy(at, payload, size);
    at += size;
    *at++ = '\n';
    *written = (size_t)(at - (unsigned char *)out);
    return CEN_OK;
}

static cen_decoded lines_broken(cen_error *error, const char *why)
{
    ceni_error_set(error, CEN_INVALID, 0, "%s", why);
    return CEN_DECODED_BROKEN;
}

static cen_decoded lines_decode(void *argument, const void *bytes, size_t size, cen_decoding *decoding,
                                cen_error *error)
{
    (void)argument;
    const unsigned char *at = bytes;
    uint64_t id = 0;
    size_t digits = 0;
    for (; digits < size && at[digits] >= '0' && at[digits] <= '9'; digits++) {
        uint64_t digit = (uint64_t)(at[digits] - '0');
        if (digits == MOST_DIGITS || id > (UINT64_MAX - digit) / 10)
            return lines_broken(error, "invalid line: id too large");
        id = id * 10 + digit;
    }
    decoding->wanted = 0;
    if (digits == size) return CEN_DECODED_MORE;
    if (digits == 0 || at[digits] != ' ') return lines_broken(error, "invalid line: no id and space at its beginning");
    const unsigned char *payload = at + digits + 1;
    size_t left = size - digits - 1;
    size_t known = decoding->seen > digits + 1 ? decoding->seen - digits - 1 : 0; /* searched before, without result */
    if (ceni_planted(lines_forget_a_byte) && known) known++;
    const unsigned char *end = known < left ? memchr(payload + known, '\n', left - known) : NULL;
    if ((end ? (size_t)(end - payload) : left) > decoding->max_payload) return lines_broken(error, "line too long");
    if (!end) return CEN_DECODED_MORE;
    decoding->id = id;
    decoding->payload = payload;
    decoding->size = (size_t)(end - payload);
    decoding->consumed = (size_t)(end - at) + 1;
    return CEN_DECODED_FRAME;
}

cen_codec cen_codec_lines(void)
{
    static const cen_codec_calls calls = {
        .size = sizeof calls, .name = "lines", .bound = lines_bound, .encode = lines_encode, .decode = lines_decode};
    return (cen_codec){&calls, NULL};
}
