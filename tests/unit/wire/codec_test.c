/* SPDX-License-Identifier: MIT */
/* The two codecs: what they write, what they read, what they refuse. */
#include <cenote/codec.h>

#include "support/test.h"

enum { MOST = 64 };

static cen_codec codecs[2];

__attribute__((constructor)) static void fill_codecs(void)
{
    codecs[0] = cen_codec_binary();
    codecs[1] = cen_codec_lines();
}

static size_t encode(cen_codec codec, uint64_t id, const char *payload, size_t size, unsigned char *out)
{
    size_t written = 0;
    cen_error error;
    expect_equal(codec.calls->encode(codec.argument, id, payload, size, out, &written, &error), CEN_OK);
    expect(written <= codec.calls->bound(codec.argument, size));
    return written;
}

static cen_decoded decode(cen_codec codec, const void *bytes, size_t size, cen_decoding *decoding, cen_error *error)
{
    *decoding = (cen_decoding){.max_payload = MOST};
    return codec.calls->decode(codec.argument, bytes, size, decoding, error);
}

/* Lines are given as text, binary frames with their length. */
static cen_decoded decode_line(const char *text, cen_decoding *decoding, cen_error *error)
{
    return decode(cen_codec_lines(), text, strlen(text), decoding, error);
}

TEST(binary_is_a_length_an_id_and_the_payload_all_big_endian)
{
    unsigned char out[32];
    static const unsigned char expected[] = {0, 0, 0, 10, 1, 2, 3, 4, 5, 6, 7, 8, 'h', 'i'};
    expect_equal(encode(cen_codec_binary(), 0x0102030405060708, "hi", 2, out), sizeof expected);
    expect(memcmp(out, expected, sizeof expected) == 0);
}

TEST(lines_are_an_id_a_space_the_payload_and_a_newline)
{
    unsigned char out[64];
    expect_equal(encode(cen_codec_lines(), 17, "hello", 5, out), 9);
    expect(memcmp(out, "17 hello\n", 9) == 0);
    expect_equal(encode(cen_codec_lines(), UINT64_MAX, "", 0, out), 22);
    expect(memcmp(out, "18446744073709551615 \n", 22) == 0);
    expect_equal(encode(cen_codec_lines(), 0, "", 0, out), 3);
    expect(memcmp(out, "0 \n", 3) == 0);
}

TEST(what_a_codec_wrote_it_reads_and_every_shorter_beginning_needs_more)
{
    static const uint64_t ids[] = {0, 1, 9, 10, 255, 65536, UINT64_MAX};
    static const char payload[] = "0123456789 abc";
    unsigned char out[128];
    cen_decoding decoding;
    cen_error error;
    for (int c = 0; c < 2; c++)
        for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
            for (size_t size = 0; size < sizeof payload; size++) {
                size_t length = encode(codecs[c], ids[i], payload, size, out);
                out[length] = '!'; /* what follows is none of its business */
                expect_equal(decode(codecs[c], out, length + 1, &decoding, &error), CEN_DECODED_FRAME);
                expect(decoding.id == ids[i]);
                expect_equal(decoding.consumed, length);
                expect_equal(decoding.size, size);
                expect(size == 0 || memcmp(decoding.payload, payload, size) == 0);
                for (size_t part = 1; part < length; part++) {
                    expect_equal(decode(codecs[c], out, part, &decoding, &error), CEN_DECODED_MORE);
                    expect(decoding.wanted == 0 || (decoding.wanted > part && decoding.wanted <= length));
                }
            }
}

TEST(binary_says_how_many_bytes_a_frame_has_as_soon_as_it_can)
{
    unsigned char out[64];
    cen_decoding decoding;
    cen_error error;
    size_t length = encode(cen_codec_binary(), 1, "hello", 5, out);
    decode(cen_codec_binary(), out, 3, &decoding, &error);
    expect_equal(decoding.wanted, 4);
    decode(cen_codec_binary(), out, 4, &decoding, &error);
    expect_equal(decoding.wanted, length);
}

TEST(a_binary_frame_that_cannot_hold_an_id_is_broken)
{
    cen_decoding decoding;
    cen_error error;
    expect_equal(decode(cen_codec_binary(), "\0\0\0\7", 4, &decoding, &error), CEN_DECODED_BROKEN);
    expect_text(error.text, "invalid frame: 7 bytes, too short for an id");
    expect_equal(decode(cen_codec_binary(), "\0\0\0\0", 4, &decoding, &error), CEN_DECODED_BROKEN);
}

TEST(a_binary_payload_of_the_largest_size_is_read_and_one_byte_more_is_broken)
{
    cen_decoding decoding;
    cen_error error;
    unsigned char head[4] = {0, 0, 0, MOST + 8};
    expect_equal(decode(cen_codec_binary(), head, 4, &decoding, &error), CEN_DECODED_MORE);
    head[3]++;
    expect_equal(decode(cen_codec_binary(), head, 4, &decoding, &error), CEN_DECODED_BROKEN);
    expect_text(error.text, "payload too large (65 bytes, limit 64)");
    expect_equal(decode(cen_codec_binary(), "\377\377\377\377", 4, &decoding, &error), CEN_DECODED_BROKEN);
}

TEST(a_payload_that_four_bytes_cannot_measure_is_refused)
{
    size_t written = 0;
    cen_error error;
    cen_codec codec = cen_codec_binary();
    expect_equal(codec.calls->encode(codec.argument, 1, "x", (size_t)UINT32_MAX - 7, NULL, &written, &error),
                 CEN_INVALID);
    expect_equal(codec.calls->bound(codec.argument, SIZE_MAX), SIZE_MAX);
    expect_equal(cen_codec_lines().calls->bound(NULL, SIZE_MAX - 3), SIZE_MAX);
}

TEST(a_payload_with_a_newline_is_no_line)
{
    unsigned char out[64];
    size_t written = 0;
    cen_error error;
    cen_codec codec = cen_codec_lines();
    expect_equal(codec.calls->encode(codec.argument, 1, "a\nb", 3, out, &written, &error), CEN_INVALID);
    expect_text(error.text, "payload contains a newline, the end of a line");
}

TEST(garbage_is_no_line)
{
    static const char *const garbage[] = {"x",
                                          " 1 a\n",
                                          "-1 a\n",
                                          "1\n",
                                          "12:a\n",
                                          "1\ta\n",
                                          "\n",
                                          "0x1 a\n",
                                          "18446744073709551616 a\n",
                                          "99999999999999999999 a\n",
                                          "000000000000000000001 a\n"};
    cen_decoding decoding;
    cen_error error;
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        error.text[0] = 0;
        expect_equal(decode_line(garbage[i], &decoding, &error), CEN_DECODED_BROKEN);
        expect(error.text[0]);
    }
}

TEST(a_line_may_have_spaces_digits_and_a_carriage_return)
{
    cen_decoding decoding;
    cen_error error;
    expect_equal(decode_line("00000000000000000001  2 3\r\n", &decoding, &error), CEN_DECODED_FRAME);
    expect_equal(decoding.id, 1);
    expect_equal(decoding.size, 5);
    expect(memcmp(decoding.payload, " 2 3\r", 5) == 0);
}

TEST(a_line_of_the_largest_size_is_read_and_one_byte_more_is_broken_even_before_its_end)
{
    char line[MOST + 8];
    cen_decoding decoding;
    cen_error error;
    memset(line, 'a', sizeof line);
    memcpy(line, "1 ", 2);
    line[2 + MOST] = '\n';
    expect_equal(decode(cen_codec_lines(), line, 2 + MOST, &decoding, &error), CEN_DECODED_MORE);
    expect_equal(decode(cen_codec_lines(), line, 3 + MOST, &decoding, &error), CEN_DECODED_FRAME);
    line[2 + MOST] = 'a';
    expect_equal(decode(cen_codec_lines(), line, 3 + MOST, &decoding, &error), CEN_DECODED_BROKEN);
    line[3 + MOST] = '\n';
    expect_equal(decode(cen_codec_lines(), line, 4 + MOST, &decoding, &error), CEN_DECODED_BROKEN);
}
