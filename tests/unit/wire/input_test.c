/* SPDX-License-Identifier: MIT */
/* Bytes in whatever pieces, the same frames; bounded work and memory. */
#include "base/alloc.h"
#include "support/world.h"
#include "wire/input.h"

enum { MOST = 200000, STREAM = 1 << 20, AT_A_TIME = 3 };

static ceni_input input;
static unsigned char stream[STREAM];
static size_t stream_size;

static void add_frame(cen_codec codec, uint64_t id, size_t size)
{
    static char payload[MOST];
    cen_error error;
    size_t written = 0;
    for (size_t i = 0; i < size; i++) payload[i] = (char)('a' + (id + i) % 26);
    expect_equal(codec.calls->encode(codec.argument, id, payload, size, stream + stream_size, &written, &error),
                 CEN_OK);
    stream_size += written;
}

static void expect_frame(const ceni_frame *frame, uint64_t id, size_t size)
{
    expect_equal(frame->id, id);
    expect_equal(frame->size, size);
    const char *payload = frame->payload;
    for (size_t i = 0; i < size; i++) expect(payload[i] == (char)('a' + (id + i) % 26));
}

static void put(const void *bytes, size_t count)
{
    void *into;
    size_t room;
    expect_equal(ceni_input_room(&input, &into, &room), CEN_OK);
    expect(room >= count);
    memcpy(into, bytes, count);
    ceni_input_added(&input, count);
}

/* Takes the frames that are there, so many at a time, or one by one if that is 0. */
static cen_decoded take_all(unsigned at_a_time, const size_t *sizes, uint64_t *frames)
{
    ceni_frame taken[AT_A_TIME];
    cen_error error;
    cen_decoded found;
    do {
        unsigned count;
        if (at_a_time) {
            found = ceni_input_take(&input, taken, at_a_time, &count, &error);
        } else {
            cen_decoding one;
            found = ceni_input_next(&input, &one, &error);
            taken[0] = (ceni_frame){.id = one.id, .payload = one.payload, .size = one.size};
            count = found == CEN_DECODED_FRAME;
        }
        expect(found != CEN_DECODED_FRAME || count == (at_a_time ? at_a_time : 1));
        for (unsigned i = 0; i < count; i++, (*frames)++) expect_frame(&taken[i], *frames, sizes[*frames]);
    } while (found == CEN_DECODED_FRAME);
    return found;
}

/* Gives it the stream, at most `piece` bytes at a time, and takes the frames; returns how many. */
static uint64_t feed(size_t piece, unsigned at_a_time, const size_t *sizes)
{
    uint64_t frames = 0;
    for (size_t from = 0; from < stream_size;) {
        void *into;
        size_t room;
        expect_equal(ceni_input_room(&input, &into, &room), CEN_OK);
        expect(room > 0);
        size_t count = stream_size - from < piece ? stream_size - from : piece;
        if (count > room) count = room;
        put(stream + from, count);
        from += count;
        expect_equal(take_all(at_a_time, sizes, &frames), CEN_DECODED_MORE);
    }
    return frames;
}

static void feed_in_pieces(cen_codec codec)
{
    static const size_t sizes[] = {0, 1, 5, 4000, 100, 0, 70000, 3, MOST, 17};
    static const size_t pieces[] = {1, 2, 3, 7, 11, 12, 13, 1000, 4096, 32768, STREAM};
    size_t count = sizeof sizes / sizeof sizes[0];
    stream_size = 0;
    for (size_t i = 0; i < count; i++) add_frame(codec, i, sizes[i]);
    for (size_t p = 0; p < (AT_A_TIME + 1) * (sizeof pieces / sizeof pieces[0]); p++) {
        ceni_input_init(&input, codec, MOST, NULL);
        expect_equal(feed(pieces[p / (AT_A_TIME + 1)], p % (AT_A_TIME + 1), sizes), count);
        expect_equal(ceni_input_left(&input), 0);
        expect(input.capacity <= input.max_frame);
        ceni_input_fini(&input);
    }
    expect_equal(ceni_world_bytes(), 0);
}

TEST(binary_frames_come_out_the_same_in_pieces_of_any_size)
{
    feed_in_pieces(cen_codec_binary());
}

TEST(lines_come_out_the_same_in_pieces_of_any_size)
{
    feed_in_pieces(cen_codec_lines());
}

TEST(a_stream_of_small_frames_needs_no_more_than_the_first_memory)
{
    static size_t sizes[STREAM / 12];
    stream_size = 0;
    size_t count = 0;
    while (stream_size < STREAM - 100) {
        sizes[count] = count % 40;
        add_frame(cen_codec_binary(), count, sizes[count]);
        count++;
    }
    ceni_input_init(&input, cen_codec_binary(), MOST, NULL);
    expect_equal(feed(STREAM, AT_A_TIME, sizes), count);
    expect_equal(input.capacity, CENI_INPUT_FIRST);
    ceni_input_fini(&input);
}

/* Two frames, and behind them one with this head. */
static void expect_broken_behind(cen_codec codec, const void *head, size_t size)
{
    static const size_t sizes[] = {5, 0};
    uint64_t frames = 0;
    stream_size = 0;
    ceni_input_init(&input, codec, 10, NULL);
    for (uint64_t i = 0; i < 2; i++) add_frame(codec, i, sizes[i]);
    put(stream, stream_size);
    put(head, size);
    expect_equal(take_all(AT_A_TIME, sizes, &frames), CEN_DECODED_BROKEN);
    expect_equal(frames, 2);
    expect_equal(take_all(AT_A_TIME, sizes, &frames), CEN_DECODED_BROKEN); /* and stays so */
    expect_equal(frames, 2);
    ceni_input_fini(&input);
}

TEST(what_is_no_frame_is_found_behind_those_that_are)
{
    static const unsigned char too_large[4 + 8 + 11] = {0, 0, 0, 8 + 11}, too_short[12] = {0, 0, 0, 7};
    expect_broken_behind(cen_codec_binary(), too_large, sizeof too_large);
    expect_broken_behind(cen_codec_binary(), too_large, 4); /* its length is enough to know */
    expect_broken_behind(cen_codec_binary(), too_short, sizeof too_short);
    expect_broken_behind(cen_codec_lines(), "17 elevenbytes\n", 15);
    expect_broken_behind(cen_codec_lines(), "x\n", 2);
}

static size_t shown; /* bytes that the codec had to search */

static cen_decoded search(void *argument, const void *bytes, size_t size, cen_decoding *decoding, cen_error *error)
{
    (void)argument;
    shown += size - decoding->seen;
    return cen_codec_lines().calls->decode(NULL, bytes, size, decoding, error);
}

TEST(a_long_line_that_comes_byte_by_byte_is_searched_once)
{
    cen_codec_calls calls = *cen_codec_lines().calls;
    calls.decode = search;
    static const size_t sizes[] = {MOST, 10};
    stream_size = 0;
    add_frame(cen_codec_lines(), 0, MOST);
    add_frame(cen_codec_lines(), 1, 10);
    shown = 0;
    ceni_input_init(&input, (cen_codec){&calls, NULL}, MOST, NULL);
    expect_equal(feed(1, 0, sizes), 2);
    expect(shown <= stream_size + 1);
    ceni_input_fini(&input);
}

static void give(const char *bytes, size_t size)
{
    void *into;
    size_t room;
    expect_equal(ceni_input_room(&input, &into, &room), CEN_OK);
    memcpy(into, bytes, size);
    ceni_input_added(&input, size);
}

TEST(who_announces_a_large_frame_and_sends_little_gets_little_memory)
{
    cen_decoding frame;
    cen_error error;
    ceni_input_init(&input, cen_codec_binary(), 1 << 30, NULL);
    give("\0\377\377\377", 4);
    expect_equal(ceni_input_next(&input, &frame, &error), CEN_DECODED_MORE);
    void *into;
    size_t room;
    expect_equal(ceni_input_room(&input, &into, &room), CEN_OK);
    expect_equal(input.capacity, CENI_INPUT_FIRST);
    ceni_input_fini(&input);
}

TEST(what_is_broken_stays_broken)
{
    cen_decoding frame;
    cen_error error;
    ceni_input_init(&input, cen_codec_lines(), MOST, NULL);
    give("1 a\nboo\n2 b\n", 12);
    expect_equal(ceni_input_next(&input, &frame, &error), CEN_DECODED_FRAME);
    expect_equal(ceni_input_next(&input, &frame, &error), CEN_DECODED_BROKEN);
    expect_equal(ceni_input_next(&input, &frame, &error), CEN_DECODED_BROKEN);
    give("3 c\n", 4);
    expect_equal(ceni_input_next(&input, &frame, &error), CEN_DECODED_BROKEN);
    ceni_input_fini(&input);
}

/* Codecs that a program got wrong. */
static cen_decoded always_more(void *argument, const void *bytes, size_t size, cen_decoding *decoding, cen_error *error)
{
    (void)argument, (void)bytes, (void)size, (void)decoding, (void)error;
    return CEN_DECODED_MORE;
}

static cen_decoded too_much(void *argument, const void *bytes, size_t size, cen_decoding *decoding, cen_error *error)
{
    (void)argument, (void)error;
    decoding->payload = bytes;
    decoding->size = 1;
    decoding->consumed = size + 1;
    return CEN_DECODED_FRAME;
}

static cen_decoded nothing_at_all(void *argument, const void *bytes, size_t size, cen_decoding *decoding,
                                  cen_error *error)
{
    (void)argument, (void)bytes, (void)size, (void)decoding, (void)error;
    return CEN_DECODED_FRAME;
}

static cen_decoded elsewhere(void *argument, const void *bytes, size_t size, cen_decoding *decoding, cen_error *error)
{
    (void)argument, (void)error;
    decoding->payload = (const char *)bytes + size;
    decoding->size = 1;
    decoding->consumed = 1;
    return CEN_DECODED_FRAME;
}

static cen_decoded decode_with(cen_decoded (*decode)(void *, const void *, size_t, cen_decoding *, cen_error *))
{
    cen_codec_calls calls = *cen_codec_binary().calls;
    cen_decoding frame;
    cen_error error;
    calls.decode = decode;
    ceni_input_init(&input, (cen_codec){&calls, NULL}, 8, NULL);
    give("01234567890123456789", 20);
    cen_decoded found = ceni_input_next(&input, &frame, &error);
    ceni_input_fini(&input);
    return found;
}

TEST(a_codec_that_never_has_enough_or_says_what_cannot_be_ends_the_connection)
{
    expect_equal(decode_with(always_more), CEN_DECODED_BROKEN);
    expect_equal(decode_with(too_much), CEN_DECODED_BROKEN);
    expect_equal(decode_with(nothing_at_all), CEN_DECODED_BROKEN);
    expect_equal(decode_with(elsewhere), CEN_DECODED_BROKEN);
}
