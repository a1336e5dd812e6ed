/* SPDX-License-Identifier: MIT */
/* What time does to members: max_age with its scatter, and the end of an ejection. */
#include "support/world.h"
#include "unit/router/routers.h"

TEST(a_member_drains_at_its_age_or_up_to_a_tenth_earlier)
{
    make_router(.runtime = make_manual(), .max_lifetime_ns = 10 * second);
    for (int i = 0; i < VALUES; i++) add_up(i);
    expect_equal(cen_runtime_advance(runtime, 9 * second - 1), CEN_OK);
    poll_all();
    expect_equal(look().up, VALUES);
    expect_equal(cen_runtime_advance(runtime, second + 1), CEN_OK);
    poll_all();
    expect(look().up == 0 && look().down == VALUES);
    end_all();
}

enum { OLD = 64 };

/* How many of 64 members are still up when a 20th of their time, half of the scatter, is left. */
static unsigned up_before_the_end(int64_t age)
{
    make_router(.runtime = make_manual(), .max_lifetime_ns = age);
    for (int i = 0; i < OLD; i++) add_up(i % VALUES);
    expect_equal(cen_runtime_advance(runtime, age / 20 * 19), CEN_OK);
    unsigned up = look().up;
    expect_equal(cen_runtime_advance(runtime, age / 20 + 100), CEN_OK);
    expect_equal(look().up, 0);
    end_all();
    return up;
}

TEST(ages_are_scattered_over_the_whole_tenth_however_long_they_are)
{
    const int64_t ages[] = {second, 60 * second, 3600 * second, 30 * 24 * 3600 * second};
    for (int i = 0; i < 4; i++) {
        unsigned up = up_before_the_end(ages[i]);
        /* Half of them, give or take: less than 8 of 64, or more than 56, comes once in 10^9. */
        if (up < 8 || up > 56)
            test_fail(__FILE__, __LINE__, "%u of 64 are up in the middle of the scatter of %lld s", up,
                      (long long)(ages[i] / second));
    }
}

TEST(an_age_counts_from_up_and_anew_from_the_next_up)
{
    make_router(.runtime = make_manual(), .max_lifetime_ns = 10 * second);
    cen_member *one = add(0);
    expect_equal(cen_runtime_advance(runtime, 100 * second), CEN_OK);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_CONNECTING);
    bring_up(one);
    expect_equal(cen_runtime_advance(runtime, 8 * second), CEN_OK);
    cen_member_down(one, NULL);
    bring_up(one);
    expect_equal(cen_runtime_advance(runtime, 8 * second), CEN_OK);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_UP);
    cen_route route = route_now();
    expect_equal(cen_runtime_advance(runtime, 2 * second), CEN_OK);
    poll_all();
    expect_equal(cen_member_state_of(one), CEN_MEMBER_DRAINING);
    expect_equal(done(&route), CEN_OK);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_DOWN);
    end_all();
}

TEST(an_age_that_is_off_for_a_member_does_not_end_it)
{
    make_router(.runtime = make_manual(), .max_lifetime_ns = second);
    add_up(0, .max_lifetime_ns = CEN_OFF);
    add_up(1, .max_lifetime_ns = 5 * second);
    expect_equal(cen_runtime_advance(runtime, 4 * second), CEN_OK);
    expect_equal(look().up, 2);
    expect_equal(cen_runtime_advance(runtime, second), CEN_OK);
    expect_equal(look().up, 1);
    expect_equal(cen_runtime_advance(runtime, 3600 * second), CEN_OK);
    expect_equal(look().up, 1);
    end_all();
}

TEST(the_longest_age_there_is_does_not_overflow)
{
    make_router(.runtime = make_manual(), .max_lifetime_ns = INT64_MAX);
    add_up(0);
    expect_equal(cen_runtime_advance(runtime, 3600 * second), CEN_OK);
    expect_equal(look().up, 1);
    end_all();
}

TEST(an_age_that_passes_while_a_member_is_ejected_ends_it)
{
    make_router(.runtime = make_manual(), .max_lifetime_ns = 10 * second);
    cen_member *one = add_up(0);
    cen_member_eject(one, 3600 * second, NULL);
    expect_equal(cen_runtime_advance(runtime, 10 * second), CEN_OK);
    poll_all();
    expect_equal(cen_member_state_of(one), CEN_MEMBER_DOWN);
    end_all();
}

TEST(an_ejection_ends_at_its_time_and_not_before)
{
    make_router(.runtime = make_manual());
    cen_member *one = add_up(0);
    expect_equal(cen_member_eject(one, second, NULL), CEN_OK);
    expect_equal(cen_runtime_advance(runtime, second - 1), CEN_OK);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_EJECTED);
    expect_equal(cen_runtime_advance(runtime, 1), CEN_OK);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_UP);
    cen_route route = route_now();
    done(&route);
    end_all();
}

TEST(an_ejection_can_be_made_longer_or_shorter)
{
    make_router(.runtime = make_manual());
    cen_member *one = add_up(0), *two = add_up(1);
    cen_member_eject(one, second, NULL);
    cen_member_eject(one, 3 * second, NULL);
    cen_member_eject(two, 0, NULL);
    cen_member_eject(two, second, NULL);
    expect_equal(cen_runtime_advance(runtime, second), CEN_OK);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_EJECTED);
    expect_equal(cen_member_state_of(two), CEN_MEMBER_UP);
    expect_equal(cen_runtime_advance(runtime, 2 * second), CEN_OK);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_UP);
    end_all();
}

TEST(a_member_that_was_restored_early_is_not_restored_again_by_its_time)
{
    make_router(.runtime = make_manual());
    cen_member *one = add_up(0);
    cen_member_eject(one, second, NULL);
    cen_member_restore(one, NULL);
    uint64_t changes = look().changes;
    cen_member_eject(one, 0, NULL);
    expect_equal(cen_runtime_advance(runtime, 2 * second), CEN_OK);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_EJECTED);
    expect_equal(look().changes, changes + 1);
    end_all();
}

TEST(the_longest_ejection_there_is_does_not_overflow)
{
    make_router(.runtime = make_manual());
    expect_equal(cen_runtime_advance(runtime, second), CEN_OK);
    cen_member *one = add_up(0);
    expect_equal(cen_member_eject(one, INT64_MAX, NULL), CEN_OK);
    expect_equal(cen_runtime_advance(runtime, 3600 * second), CEN_OK);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_EJECTED);
    end_all();
}

TEST(an_ejection_that_ends_after_the_close_brings_nothing_back)
{
    make_router(.runtime = make_manual());
    cen_member *one = add_up(0), *two = add_up(1), *picked;
    cen_route route = {0};
    cen_member_eject(one, second, NULL);
    cen_member_eject(two, 0, NULL);
    expect_equal(cen_router_close(router, CEN_NOW, NULL, NULL), CEN_OK);
    expect_equal(cen_runtime_advance(runtime, 2 * second), CEN_OK);
    expect_equal(try_route(&route), CEN_CLOSED);
    expect_equal(cen_member_restore(two, NULL), CEN_CLOSED);
    cen_read_begin();
    expect_equal(cen_router_peek(router, NULL, &picked), CEN_CLOSED);
    cen_read_end();
    expect_equal(try_route(&route), CEN_CLOSED);
    expect_equal(look().in_flight, 0);
    end_all();
}

static int64_t closed_at;
static cen_status closed_with;

static void close_and_note(void *deadline)
{
    closed_with = cen_router_close(router, *(cen_deadline *)deadline, NULL, NULL);
    closed_at = cen_runtime_now(runtime);
}

/* guarantees: router.clock */
TEST(the_deadline_of_a_close_is_a_moment_of_the_routers_clock)
{
    for (int i = 0; i < 2; i++) {
        ceni_thread thread;
        make_router(.runtime = make_manual());
        cen_runtime_advance(runtime, 3600 * second);
        int64_t then = cen_runtime_now(runtime) + 10 * second;
        cen_deadline deadline = i == 0 ? cen_in_s(10) : cen_at(then);
        add_up(0);
        cen_route route = route_now();
        closed_at = -1;
        expect_equal(ceni_thread_start(&thread, NULL, close_and_note, &deadline, NULL), CEN_OK);
        ceni_world_settle();
        expect_equal(cen_runtime_advance(runtime, 10 * second - 1), CEN_OK);
        ceni_sleep_until(ceni_clock_now() + 60 * second);
        expect_equal(closed_at, -1);
        expect_equal(cen_runtime_advance(runtime, 1), CEN_OK);
        ceni_thread_join(&thread);
        expect_equal(closed_with, CEN_TIMEOUT);
        expect_equal(closed_at, then);
        done(&route);
        end_all();
    }
}
