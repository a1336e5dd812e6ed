/* SPDX-License-Identifier: MIT */
/* One way of a connection in memory: what may go when. Time is a number here. */
#include <stdlib.h>

#include "faultproxy/flow.h"
#include "support/test.h"

typedef struct bench {
    fp_flow flow;
    fp_way way;
    uint64_t now, random, wake;
    unsigned char next_in, next_out; /* bytes count up, so that a wrong one is seen */
} bench;

static bench *bench_new(void)
{
    bench *b = calloc(1, sizeof *b);
    expect(b != NULL);
    b->now = 1000 * (uint64_t)1000 * FP_MS;
    b->random = 1;
    return b;
}

static void bench_free(bench *b)
{
    fp_flow_fini(&b->flow);
    free(b);
}

/* Up to so many bytes come; how many there was room for. */
static size_t come(bench *b, size_t size)
{
    unsigned char *into;
    size_t room = fp_flow_room(&b->flow, &into);
    expect(room != SIZE_MAX);
    if (size > room) size = room;
    for (size_t i = 0; i < size; i++) into[i] = b->next_in++;
    if (size) fp_flow_added(&b->flow, &b->way, size, b->now, &b->random);
    return size;
}

/* One piece goes, if one may; at most so much of it. */
static size_t go(bench *b, size_t most)
{
    const unsigned char *from;
    b->wake = FP_NEVER;
    size_t size = fp_flow_next(&b->flow, &b->way, b->now, &from, &b->wake);
    if (size > most) size = most;
    for (size_t i = 0; i < size; i++) expect_equal(from[i], b->next_out++);
    if (size) fp_flow_passed(&b->flow, &b->way, size, b->now);
    return size;
}

TEST(without_faults_bytes_go_at_once)
{
    bench *b = bench_new();
    expect_equal(go(b, 100), 0);
    expect(b->wake == FP_NEVER);
    expect_equal(come(b, 100), 100);
    expect_equal(go(b, 60), 60);
    expect_equal(go(b, 60), 40);
    bench_free(b);
}

TEST(a_delay_holds_each_byte_for_its_time_and_says_when_it_is_over)
{
    bench *b = bench_new();
    uint64_t begin = b->now;
    b->way.delay = 50 * FP_MS;
    come(b, 10);
    b->now = begin + 20 * FP_MS;
    come(b, 10);
    expect_equal(go(b, 100), 0);
    expect_equal(b->wake, begin + 50 * FP_MS);
    b->now = begin + 50 * FP_MS;
    expect_equal(go(b, 100), 10);
    expect_equal(go(b, 100), 0);
    expect_equal(b->wake, begin + 70 * FP_MS);
    b->now = b->wake;
    expect_equal(go(b, 100), 10);
    bench_free(b);
}

TEST(with_jitter_no_byte_comes_too_soon_or_overtakes_another)
{
    bench *b = bench_new();
    b->way.delay = 10 * FP_MS;
    b->way.jitter = 90 * FP_MS;
    for (int i = 0; i < 200; i++) {
        uint64_t came = b->now;
        come(b, 3);
        for (size_t got = 0; got < 3;) {
            size_t count = go(b, 1);
            if (!count) b->now = b->wake;
            got += count;
        }
        expect(b->now - came >= b->way.delay && b->now - came <= b->way.delay + b->way.jitter);
    }
    bench_free(b);
}

TEST(a_flood_under_a_delay_keeps_to_its_marks_and_is_at_most_a_little_late)
{
    bench *b = bench_new();
    uint64_t begin = b->now;
    b->way.delay = 1000 * FP_MS;
    for (int i = 0; i < 1000; i++, b->now += FP_MS) expect_equal(come(b, 1), 1);
    for (int i = 0; i < 1000; i++) {
        while (!go(b, 1)) b->now = b->wake;
        uint64_t due = begin + (uint64_t)i * FP_MS + b->way.delay;
        expect(b->now >= due && b->now <= due + b->way.delay / (FP_MARKS / 2));
    }
    bench_free(b);
}

TEST(a_rate_is_kept_however_late_the_timers_are)
{
    bench *b = bench_new();
    uint64_t begin = b->now, sent = 0, seed = 3;
    b->way.rate = 10000;
    come(b, FP_RING);
    while (b->now - begin < (uint64_t)2000 * FP_MS) {
        size_t count = go(b, FP_RING);
        sent += count;
        if (!count) b->now = b->wake + test_random(&seed) % (2 * FP_MS);
        uint64_t fair = (b->now - begin) / FP_MS * 10;
        expect(sent <= fair + 10000 / 10); /* at no moment ahead by more than a tenth of a second */
    }
    expect(sent >= 18000 && sent <= 20400);
    bench_free(b);
}

TEST(a_slow_rate_still_moves_a_byte_at_a_time)
{
    bench *b = bench_new();
    b->way.rate = 1;
    come(b, 3);
    expect_equal(go(b, 100), 1);
    expect_equal(go(b, 100), 0);
    expect(b->wake > b->now && b->wake <= b->now + (uint64_t)1000 * FP_MS);
    bench_free(b);
}

TEST(slices_are_of_their_size_with_their_pause_between)
{
    bench *b = bench_new();
    b->way.slice = 4;
    b->way.pause = 5 * FP_MS;
    come(b, 10);
    expect_equal(go(b, 100), 4);
    expect_equal(go(b, 100), 0);
    expect_equal(b->wake, b->now + 5 * FP_MS);
    b->now = b->wake;
    expect_equal(go(b, 100), 4);
    b->now += 5 * FP_MS;
    expect_equal(go(b, 100), 2);
    b->way.pause = 0;
    b->now += 5 * FP_MS;
    come(b, 10);
    expect_equal(go(b, 100), 4);
    expect_equal(go(b, 100), 4);
    bench_free(b);
}

TEST(the_end_comes_after_the_last_byte_and_is_delayed_like_one)
{
    bench *b = bench_new();
    uint64_t begin = b->now;
    b->way.delay = 30 * FP_MS;
    come(b, 1);
    b->now = begin + 10 * FP_MS;
    fp_flow_ended(&b->flow, &b->way, FP_CLOSED, b->now);
    b->now = begin + 35 * FP_MS;
    b->wake = FP_NEVER;
    expect(!fp_flow_ends(&b->flow, b->now, &b->wake)); /* a byte is there */
    expect_equal(go(b, 1), 1);
    expect(!fp_flow_ends(&b->flow, b->now, &b->wake));
    expect_equal(b->wake, begin + 40 * FP_MS);
    expect(fp_flow_ends(&b->flow, b->wake, &b->wake));
    bench_free(b);
}

TEST(when_a_fault_is_lifted_nothing_waits_for_it_any_more)
{
    bench *b = bench_new();
    b->way = (fp_way){.rate = 1};
    come(b, 100);
    expect_equal(go(b, 100), 1);
    b->way = (fp_way){.delay = (uint64_t)60000 * FP_MS, .rate = 1};
    come(b, 100);
    expect_equal(go(b, 100), 0);
    b->way = (fp_way){0};
    fp_flow_refit(&b->flow, &b->way, b->now);
    expect_equal(go(b, 200), 199);
    bench_free(b);
}

TEST(a_full_ring_takes_nothing_and_no_byte_is_lost_around_its_end)
{
    bench *b = bench_new();
    uint64_t seed = test_seed(), in = 0, out = 0;
    expect_equal(come(b, 2 * FP_RING), FP_RING);
    expect_equal(come(b, 1), 0);
    in = FP_RING;
    for (int i = 0; i < 20000; i++) {
        size_t size = test_random(&seed) % 5000;
        b->way.delay = test_random(&seed) % 4 * FP_MS;
        b->now += test_random(&seed) % (2 * FP_MS);
        if (test_random(&seed) % 2) in += come(b, size);
        else out += go(b, size);
        expect(in - out <= FP_RING);
    }
    b->now += 10 * FP_MS;
    for (size_t count; (count = go(b, FP_RING));) out += count;
    expect_equal(in, out);
    bench_free(b);
}
