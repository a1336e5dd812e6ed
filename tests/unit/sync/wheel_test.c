/* SPDX-License-Identifier: MIT */
#include "sync/wheel.h"

#include "port/port.h"
#include "support/test.h"

#define TICK (INT64_C(1) << CENI_WHEEL_TICK_BITS)

static ceni_wheel wheel;
static ceni_list expired;

static void begin(int64_t now)
{
    ceni_wheel_init(&wheel, now);
    ceni_list_init(&expired);
}

static void insert_new(ceni_wheel_timer *timer, int64_t moment)
{
    ceni_wheel_timer_init(timer);
    ceni_wheel_insert(&wheel, timer, moment);
}

/* guarantees: wheel.exact */
TEST(a_timer_expires_at_its_moment_and_not_a_nanosecond_earlier)
{
    begin(1000);
    ceni_wheel_timer timer;
    insert_new(&timer, 5 * TICK + 123);
    expect_equal(ceni_wheel_advance(&wheel, 5 * TICK + 122, &expired), 0);
    expect(ceni_timer_take(&expired) == NULL);
    expect_equal(ceni_wheel_advance(&wheel, 5 * TICK + 123, &expired), 1);
    expect(ceni_timer_take(&expired) == &timer);
    expect_equal(wheel.count, 0);
    expect(!ceni_wheel_cancel(&wheel, &timer));
}

/* guarantees: wheel.exact */
TEST(a_moment_in_the_past_expires_in_the_next_advance)
{
    begin(1000 * TICK);
    ceni_wheel_timer timers[3];
    insert_new(&timers[0], 999 * TICK);
    insert_new(&timers[1], 0);
    insert_new(&timers[2], INT64_MIN);
    expect_equal(ceni_wheel_next(&wheel), INT64_MIN);
    expect_equal(ceni_wheel_advance(&wheel, 1000 * TICK, &expired), 3);
    expect(ceni_timer_take(&expired) == &timers[2]);
    expect(ceni_timer_take(&expired) == &timers[1]);
    expect(ceni_timer_take(&expired) == &timers[0]);
}

/* guarantees: wheel.exact */
TEST(forever_never_comes_but_can_be_cancelled)
{
    begin(0);
    ceni_wheel_timer never, last;
    insert_new(&never, CENI_FOREVER);
    expect_equal(ceni_wheel_next(&wheel), CENI_FOREVER);
    insert_new(&last, CENI_FOREVER - 1);
    expect_equal(ceni_wheel_advance(&wheel, CENI_FOREVER - 2, &expired), 0);
    expect_equal(ceni_wheel_next(&wheel), CENI_FOREVER - 1);
    expect_equal(ceni_wheel_advance(&wheel, CENI_FOREVER, &expired), 1);
    expect(ceni_timer_take(&expired) == &last);
    expect_equal(wheel.count, 1);
    expect(ceni_wheel_cancel(&wheel, &never));
    expect(!ceni_wheel_cancel(&wheel, &never));
    expect_equal(wheel.count, 0);
}

/* guarantees: wheel.exact */
TEST(a_clock_that_steps_back_changes_nothing)
{
    begin(100 * TICK);
    ceni_wheel_timer timer;
    insert_new(&timer, 200 * TICK);
    expect_equal(ceni_wheel_advance(&wheel, 150 * TICK, &expired), 0);
    expect_equal(ceni_wheel_advance(&wheel, 3, &expired), 0);
    expect_equal(wheel.now, 150 * TICK);
    expect_equal(ceni_wheel_advance(&wheel, 200 * TICK, &expired), 1);
}

/* guarantees: wheel.exact */
TEST(every_level_boundary_is_kept_to_the_nanosecond)
{
    for (int level = 0; level < 8; level++) {
        int64_t edge = TICK << (6 * level > 42 ? 42 : 6 * level);
        for (int64_t off = -2; off <= 2; off++) {
            for (int64_t now = 0; now < edge + off; now = now * 3 + 1) {
                begin(now);
                ceni_wheel_timer timer;
                insert_new(&timer, edge + off);
                expect_equal(ceni_wheel_advance(&wheel, edge + off - 1, &expired), 0);
                expect(ceni_wheel_next(&wheel) == edge + off);
                expect_equal(ceni_wheel_advance(&wheel, edge + off, &expired), 1);
            }
        }
    }
}

/* guarantees: wheel.next */
TEST(following_next_reaches_a_far_timer_in_few_advances)
{
    begin(12345);
    ceni_wheel_timer timer;
    int64_t moment = INT64_C(0x2AAAAAAAAAAAAAAA);
    insert_new(&timer, moment);
    int advances = 0;
    for (int64_t now; (now = ceni_wheel_next(&wheel)) != CENI_FOREVER; advances++) {
        expect(now <= moment && now > wheel.now);
        expect_equal(ceni_wheel_advance(&wheel, now, &expired), now == moment);
    }
    expect(ceni_timer_take(&expired) == &timer);
    expect(advances <= CENI_WHEEL_LEVELS + 1);
}

/* guarantees: wheel.order */
TEST(one_huge_jump_delivers_everything_in_order)
{
    begin(7);
    enum { COUNT = 62 };
    ceni_wheel_timer timers[COUNT];
    for (int i = COUNT - 1; i >= 0; i--) insert_new(&timers[i], INT64_C(3) << i);
    ceni_wheel_timer twins[2];
    insert_new(&twins[0], INT64_C(3) << 40);
    insert_new(&twins[1], INT64_C(3) << 40);
    expect_equal(ceni_wheel_advance(&wheel, CENI_FOREVER, &expired), COUNT + 2);
    for (int i = 0; i < COUNT; i++) {
        expect(ceni_timer_take(&expired) == &timers[i]);
        if (i != 40) continue;
        expect(ceni_timer_take(&expired) == &twins[0]);
        expect(ceni_timer_take(&expired) == &twins[1]);
    }
}

/* guarantees: wheel.order */
TEST(equal_moments_expire_in_the_order_of_insertion_whatever_the_level)
{
    begin(0);
    int64_t moment = 5000 * TICK + 9;
    ceni_wheel_timer timers[4];
    insert_new(&timers[0], moment); /* level 2 */
    ceni_wheel_advance(&wheel, 4097 * TICK, &expired);
    insert_new(&timers[1], moment); /* level 1 */
    ceni_wheel_advance(&wheel, 4999 * TICK, &expired);
    insert_new(&timers[2], moment); /* level 0 */
    ceni_wheel_advance(&wheel, 5000 * TICK, &expired);
    insert_new(&timers[3], moment); /* the current slot */
    expect_equal(ceni_wheel_advance(&wheel, moment, &expired), 4);
    for (int i = 0; i < 4; i++) expect(ceni_timer_take(&expired) == &timers[i]);
}

/* guarantees: wheel.move */
TEST(inserting_again_moves_a_timer)
{
    begin(0);
    ceni_wheel_timer timer;
    insert_new(&timer, 10 * TICK);
    ceni_wheel_insert(&wheel, &timer, 700 * TICK);
    expect_equal(wheel.count, 1);
    expect_equal(ceni_wheel_advance(&wheel, 699 * TICK, &expired), 0);
    expect_equal(ceni_wheel_advance(&wheel, 700 * TICK, &expired), 1);
    ceni_wheel_insert(&wheel, &timer, 800 * TICK); /* out of the list of expired ones */
    expect(ceni_timer_take(&expired) == NULL);
    expect_equal(ceni_wheel_advance(&wheel, 800 * TICK, &expired), 1);
}

/* guarantees: wheel.move */
TEST(an_expired_timer_may_cancel_and_insert_others_while_they_are_handed_out)
{
    begin(0);
    ceni_wheel_timer a, b, c;
    insert_new(&a, 1 * TICK);
    insert_new(&b, 2 * TICK);
    insert_new(&c, 3 * TICK);
    expect_equal(ceni_wheel_advance(&wheel, 5 * TICK, &expired), 3);
    expect(ceni_timer_take(&expired) == &a);
    expect(ceni_wheel_cancel(&wheel, &b)); /* it was due, and will not be handed out */
    ceni_wheel_insert(&wheel, &a, 6 * TICK);
    expect(ceni_timer_take(&expired) == &c);
    expect(ceni_timer_take(&expired) == NULL);
    expect_equal(wheel.count, 1);
    expect_equal(ceni_wheel_advance(&wheel, 6 * TICK, &expired), 1);
    expect(ceni_timer_take(&expired) == &a);
}

/* guarantees: wheel.move */
TEST(a_cancelled_timer_leaves_no_trace_in_next)
{
    begin(0);
    ceni_wheel_timer a, b;
    insert_new(&a, 3 * TICK);
    insert_new(&b, 100000 * TICK);
    expect_equal(ceni_wheel_next(&wheel), 3 * TICK);
    expect(ceni_wheel_cancel(&wheel, &a));
    expect(ceni_wheel_next(&wheel) > 3 * TICK);
    expect(ceni_wheel_cancel(&wheel, &b));
    expect_equal(ceni_wheel_next(&wheel), CENI_FOREVER);
    for (int level = 0; level < CENI_WHEEL_LEVELS; level++) expect_equal(wheel.taken[level], 0);
}

enum { CROWD = 1000 };

static ceni_wheel_timer crowd[CROWD];

TEST(next_looks_at_no_timer_but_once_after_the_earliest_of_a_tick_was_cancelled)
{
    begin(0);
    for (int i = 0; i < CROWD; i++) {
        insert_new(&crowd[i], 3 * TICK + 500 - i % 100);
        expect_equal(ceni_wheel_next(&wheel), 3 * TICK + 500 - (i < 100 ? i : 99));
    }
    expect_equal(wheel.looks, 0);
    expect(ceni_wheel_cancel(&wheel, &crowd[7]));
    expect_equal(ceni_wheel_next(&wheel), 3 * TICK + 401);
    expect_equal(wheel.looks, 0);
    for (int i = 99; i < CROWD; i += 100) expect(ceni_wheel_cancel(&wheel, &crowd[i]));
    for (int i = 0; i < 10; i++) expect_equal(ceni_wheel_next(&wheel), 3 * TICK + 402);
    expect_equal(wheel.looks, CROWD - 11);
    insert_new(&crowd[7], 3 * TICK + 400);
    expect_equal(ceni_wheel_next(&wheel), 3 * TICK + 400);
    expect_equal(ceni_wheel_advance(&wheel, 3 * TICK + 400, &expired), 1);
    expect_equal(ceni_wheel_next(&wheel), 3 * TICK + 402);
    expect_equal(wheel.looks, CROWD - 11);
}

/* How many pieces it takes until nothing is left to do until `now`. */
static unsigned advance_in_pieces(int64_t now, size_t most, size_t *count)
{
    unsigned pieces = 0;
    *count = 0;
    do {
        size_t moved = ceni_wheel_advance_some(&wheel, now, &expired, most);
        expect(moved <= most);
        *count += moved;
        pieces++;
    } while (ceni_wheel_next(&wheel) <= now);
    return pieces;
}

TEST(timers_of_one_moment_expire_in_pieces_in_the_order_of_insertion)
{
    begin(0);
    size_t count;
    int64_t moment = 5000 * TICK + 9;
    for (int i = 0; i < CROWD; i++) insert_new(&crowd[i], moment);
    expect_equal(advance_in_pieces(moment - 1, 64, &count), 2 * CROWD / 64 + 1); /* each comes nearer twice */
    expect_equal(count, 0);
    expect_equal(ceni_wheel_next(&wheel), moment);
    unsigned pieces = advance_in_pieces(moment, 64, &count);
    expect(pieces >= CROWD / 64 && pieces <= 2 * CROWD / 64 + 2);
    expect_equal(count, CROWD);
    for (int i = 0; i < CROWD; i++) expect(ceni_timer_take(&expired) == &crowd[i]);
    expect_equal(wheel.count, 0);
    expect_equal(ceni_wheel_next(&wheel), CENI_FOREVER);
}

TEST(a_timer_that_is_cancelled_or_inserted_between_two_pieces_is_cancelled_or_expires)
{
    begin(0);
    size_t count;
    int64_t moment = 70 * TICK + 9;
    for (int i = 0; i < 10; i++) insert_new(&crowd[i], moment + i / 5);
    expect_equal(ceni_wheel_advance_some(&wheel, moment, &expired, 3), 0);
    expect(ceni_wheel_next(&wheel) <= moment);
    for (int i = 4; i < 10; i++) expect(ceni_wheel_cancel(&wheel, &crowd[i])); /* the slot that is being entered */
    insert_new(&crowd[4], moment);
    insert_new(&crowd[5], moment + 1);
    advance_in_pieces(moment, 3, &count);
    expect_equal(count, 5);
    expect_equal(ceni_wheel_next(&wheel), moment + 1);
    expect(ceni_wheel_cancel(&wheel, &crowd[5])); /* it was passed by */
    advance_in_pieces(moment + 1, 3, &count);
    expect_equal(count, 0);
    expect_equal(ceni_wheel_next(&wheel), CENI_FOREVER);
    expect_equal(wheel.count, 0);
}

/* ---- Against a model: an array that is searched ------------------------- */

enum { TIMERS = 200 };

static ceni_wheel_timer timers[TIMERS];
static bool in[TIMERS];        /* the model: which are in */
static uint64_t since[TIMERS]; /* and the order of their insertion */

static int model_first(void)
{
    int first = -1;
    for (int i = 0; i < TIMERS; i++) {
        if (!in[i] || timers[i].moment == CENI_FOREVER) continue;
        if (first < 0 || timers[i].moment < timers[first].moment ||
            (timers[i].moment == timers[first].moment && since[i] < since[first]))
            first = i;
    }
    return first;
}

/* Distances of all sizes, mostly small, some negative. */
static int64_t some_moment(uint64_t *state, int64_t now)
{
    if (test_random(state) % 50 == 0) return CENI_FOREVER;
    int64_t distance = (int64_t)(test_random(state) >> (1 + test_random(state) % 63));
    if (test_random(state) % 8 == 0) return now - (distance < now ? distance : now);
    if (test_random(state) % 8 == 0) distance &= -TICK; /* equal moments */
    return distance > CENI_FOREVER - now ? CENI_FOREVER : now + distance;
}

static void advance_and_compare(int64_t now)
{
    size_t count = ceni_wheel_advance(&wheel, now, &expired);
    for (size_t n = 0; n < count; n++) {
        ceni_wheel_timer *timer = ceni_timer_take(&expired);
        int first = model_first();
        expect(timer == &timers[first]);
        expect(timer->moment <= now);
        in[first] = false;
    }
    expect(ceni_timer_take(&expired) == NULL);
    int first = model_first();
    expect(first < 0 || timers[first].moment > now);
}

/* In pieces no more is promised than that all that is due is delivered, and each piece in its order. */
static void advance_some_and_compare(uint64_t *state, int64_t now)
{
    size_t most = 1 + test_random(state) % 20;
    do {
        int64_t last = INT64_MIN;
        size_t count = ceni_wheel_advance_some(&wheel, now, &expired, most);
        for (ceni_wheel_timer *timer; (timer = ceni_timer_take(&expired)); count--) {
            expect(timer->moment <= now && timer->moment >= last && in[timer - timers]);
            last = timer->moment;
            in[timer - timers] = false;
        }
        expect_equal(count, 0);
    } while (ceni_wheel_next(&wheel) <= now);
    int first = model_first();
    expect(first < 0 || timers[first].moment > now);
}

static void expect_next_is_no_later(void)
{
    int first = model_first();
    int64_t next = ceni_wheel_next(&wheel);
    if (first < 0) expect_equal(next, CENI_FOREVER);
    else expect(next <= timers[first].moment);
}

static void model_run(uint64_t *state, bool pieces)
{
    int64_t now = (int64_t)(test_random(state) >> (1 + test_random(state) % 60));
    begin(now);
    for (int i = 0; i < TIMERS; i++) {
        ceni_wheel_timer_init(&timers[i]);
        in[i] = false;
    }
    for (uint64_t step = 0; step < 2000; step++) {
        uint64_t i = test_random(state) % TIMERS, choice = test_random(state) % 10;
        if (choice < 6) {
            ceni_wheel_insert(&wheel, &timers[i], some_moment(state, now));
            in[i] = true;
            since[i] = step;
        } else if (choice < 8) {
            expect_equal(ceni_wheel_cancel(&wheel, &timers[i]), in[i]);
            in[i] = false;
        } else {
            int64_t next = ceni_wheel_next(&wheel), moment = some_moment(state, now);
            if (choice == 8 && next != CENI_FOREVER) moment = next;
            if (moment > now && moment < CENI_FOREVER / 2) now = moment;
            if (pieces) advance_some_and_compare(state, now);
            else advance_and_compare(now);
        }
        expect_next_is_no_later();
    }
}

/* guarantees: wheel.order */
TEST(random_inserts_cancels_and_advances_agree_with_a_searched_array)
{
    uint64_t state = test_seed();
    for (int run = 0; run < 30; run++) model_run(&state, false);
}

TEST(random_inserts_cancels_and_advances_in_pieces_agree_with_a_searched_array)
{
    uint64_t state = test_seed();
    for (int run = 0; run < 30; run++) model_run(&state, true);
}
