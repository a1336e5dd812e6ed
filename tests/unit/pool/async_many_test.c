/* SPDX-License-Identifier: MIT */
/*
 * A hundred thousand who ask one pool: nothing is allocated for them, and each
 * costs the same few steps, however many others there are. What is counted is
 * what the wheel of deadlines is asked to do, and the world's allocations.
 */
#include <cenote/pool_async.h>

#include "sync/wheel.h"
#include "unit/pool/pools.h"
#include "unit/runtime/runtimes.h"

enum { MANY = 100000, AT_A_TIME = 64 }; /* as many expire without the lock being dropped */

typedef struct one {
    cen_take_op take;
    uint32_t number;
} one;

static one all[MANY], before_all;
static uint32_t told, told_otherwise;
static cen_status expected;
static cen_pool *pool;

/* ---- Counting ------------------------------------------------------------------------------- */

static size_t inserted, cancelled, searched; /* calls of the wheel */
void __real_ceni_wheel_insert(ceni_wheel *wheel, ceni_wheel_timer *timer, int64_t moment);
bool __real_ceni_wheel_cancel(ceni_wheel *wheel, ceni_wheel_timer *timer);
int64_t __real_ceni_wheel_next(const ceni_wheel *wheel);
void __wrap_ceni_wheel_insert(ceni_wheel *wheel, ceni_wheel_timer *timer, int64_t moment);
bool __wrap_ceni_wheel_cancel(ceni_wheel *wheel, ceni_wheel_timer *timer);
int64_t __wrap_ceni_wheel_next(const ceni_wheel *wheel);

void __wrap_ceni_wheel_insert(ceni_wheel *wheel, ceni_wheel_timer *timer, int64_t moment)
{
    inserted++;
    __real_ceni_wheel_insert(wheel, timer, moment);
}

bool __wrap_ceni_wheel_cancel(ceni_wheel *wheel, ceni_wheel_timer *timer)
{
    cancelled++;
    return __real_ceni_wheel_cancel(wheel, timer);
}

int64_t __wrap_ceni_wheel_next(const ceni_wheel *wheel)
{
    searched++;
    return __real_ceni_wheel_next(wheel);
}

/* ---- Asking --------------------------------------------------------------------------------- */

static void tell(cen_take_op *take)
{
    one *self = (one *)(void *)take;
    told_otherwise += self->number != told || take->future.status != expected;
    told++;
    if (take->future.status == CEN_OK) give_back(&take->lease); /* which serves the next */
}

static uint64_t allocations;
static size_t bytes;
static cen_lease held;

/* The first deadline has the memory for all of them. */
static void ask_all(cen_deadline deadline, cen_status end)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    held = take_now(pool);
    told = told_otherwise = 0;
    expected = end;
    cen_take_op_init(&before_all.take, tell, cen_inline());
    expect_equal(cen_pool_take_async(pool, cen_in_s(1000), &before_all.take), CEN_OK);
    expect(cen_future_cancel(&before_all.take.future));
    ceni_world_settle();
    allocations = ceni_world_allocations();
    bytes = ceni_world_bytes();
    inserted = cancelled = searched = 0;
    deadline = cen_deadline_fix(deadline);
    for (uint32_t i = 0; i < MANY; i++) {
        all[i].number = i;
        cen_take_op_init(&all[i].take, tell, cen_inline());
        expect_equal(cen_pool_take_async(pool, deadline, &all[i].take), CEN_OK);
    }
    expect_equal(expect_sound(pool).waiting, MANY);
}

static void finish(void)
{
    expect_equal(ceni_world_allocations(), allocations);
    expect_equal(ceni_world_bytes(), bytes);
    expect_equal(told_otherwise, 0);
    cen_pool_stats s = expect_sound(pool);
    expect(s.waiting == 0 && s.waited == MANY + 1);
    free_pool(pool);
    ceni_world_settle();
}

/* guarantees: async.hundred-thousand */
TEST(a_hundred_thousand_who_ask_are_served_in_their_order)
{
    ask_all(CEN_NEVER, CEN_OK);
    give_back(&held);
    expect_equal(told, MANY);
    expect_counts(pool, 1, 0);
    expect_equal(inserted, 0);
    finish();
}

/* guarantees: async.hundred-thousand */
TEST(a_hundred_thousand_deadlines_are_taken_out_one_by_one_as_their_asks_are_served)
{
    ask_all(cen_in_ms(1), CEN_OK); /* all in the millisecond that comes next */
    give_back(&held);
    expect_equal(told, MANY);
    expect(inserted <= MANY + 8); /* the runtime has a wheel, too, with the pool's alarm */
    expect(searched <= 8);        /* not once for each */
    pass(10 * 1000000);
    finish();
}

/* guarantees: async.hundred-thousand */
TEST(a_hundred_thousand_who_ask_are_cancelled_from_whichever_end)
{
    ask_all(cen_in_ms(1), CEN_OK);
    size_t before = cancelled;
    for (uint32_t i = 0; i < MANY / 2; i++) expect(cen_future_cancel(&all[i].take.future));
    for (uint32_t i = MANY; i-- > MANY / 2;) expect(cen_future_cancel(&all[i].take.future));
    expect_equal(cancelled - before, MANY);
    expect(searched <= 8);
    pass(10 * 1000000);
    expect_equal(told, 0);
    give_back(&held);
    expect_counts(pool, 1, 0);
    finish();
}

/* guarantees: async.hundred-thousand */
TEST(a_hundred_thousand_deadlines_pass_at_one_moment)
{
    ask_all(cen_in_s(1), CEN_TIMEOUT);
    int64_t now = cen_clock();
    pass(SECOND);
    expect_equal(told, MANY);
    expect_equal(cen_clock(), now + SECOND);
    expect(inserted <= MANY + MANY / AT_A_TIME + 16); /* none was put back */
    expect(searched <= 4 * MANY / AT_A_TIME + 16);
    expect_equal(expect_sound(pool).timed_out, MANY);
    give_back(&held);
    finish();
}
