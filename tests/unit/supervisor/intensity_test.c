/* SPDX-License-Identifier: MIT */
/* The arithmetic of restarts: windows to the nanosecond, back-off and its bounds. */
#include <stdlib.h>

#include "supervisor/intensity.h"
#include "support/world.h"
#include "unit/supervisor/kids.h"

/* guarantees: supervisor.intensity */
TEST(restarts_that_are_just_a_window_apart_are_both_in_it)
{
    int64_t moments[3];
    for (int apart = -1; apart <= 1; apart++) {
        ceni_intensity intensity = {.moments = moments, .max = 3, .window_ns = 1000};
        expect(ceni_intensity_add(&intensity, 5));
        expect(ceni_intensity_add(&intensity, 6));
        expect(ceni_intensity_add(&intensity, 6));
        expect_equal(ceni_intensity_add(&intensity, 5 + 1000 + apart), apart > 0);
    }
}

/* The rule itself, by counting. */
static bool is_allowed(const int64_t *counted, unsigned count, int64_t now, unsigned max, int64_t window)
{
    unsigned within = 1;
    for (unsigned i = 0; i < count; i++) within += now - counted[i] <= window;
    return within <= max;
}

TEST(the_ring_says_what_counting_all_restarts_says)
{
    uint64_t random = test_seed();
    for (unsigned max = 1; max <= 4; max++)
        for (int round = 0; round < 500; round++) {
            int64_t moments[4], counted[40], now = 0;
            unsigned count = 0;
            ceni_intensity intensity = {.moments = moments, .max = max, .window_ns = 10};
            for (int i = 0; i < 40; i++) {
                now += (int64_t)(test_random(&random) % 6);
                bool allowed = is_allowed(counted, count, now, max, 10);
                expect_equal(ceni_intensity_add(&intensity, now), allowed);
                if (!allowed) break; /* a supervisor has ended with it */
                counted[count++] = now;
            }
        }
}

TEST(no_limit_and_no_restarts_are_what_they_say)
{
    ceni_intensity never = {.max = 0, .window_ns = 10}, always = {.max = UINT32_MAX, .window_ns = 10};
    expect(!ceni_intensity_add(&never, 1));
    for (int i = 0; i < 1000; i++) expect(ceni_intensity_add(&always, 1));
}

TEST(the_longest_wait_is_none_at_first_and_then_doubles_up_to_its_end)
{
    ceni_backoff_rule rule = {.first_ns = 100, .max_ns = 1000};
    static const int64_t most[] = {0, 0, 100, 200, 400, 800, 1000, 1000};
    for (uint32_t n = 0; n < 8; n++) expect_equal(ceni_backoff_most(&rule, n), most[n]);
    expect_equal(ceni_backoff_most(&rule, UINT32_MAX), 1000);
    expect_equal(ceni_backoff_most(&(ceni_backoff_rule){.first_ns = 5000, .max_ns = 1000}, 2), 1000);
    expect_equal(ceni_backoff_most(&(ceni_backoff_rule){.first_ns = INT64_MAX / 2 + 1, .max_ns = INT64_MAX}, 9),
                 INT64_MAX);
    expect_equal(ceni_backoff_most(&(ceni_backoff_rule){.first_ns = 0, .max_ns = 1000}, 9), 0);
}

TEST(a_wait_is_drawn_from_nothing_to_the_longest_both_included_and_evenly)
{
    ceni_backoff_rule rule = {.first_ns = 9, .max_ns = 1000};
    uint64_t random = test_seed();
    unsigned counts[10] = {0};
    enum { DRAWS = 20000 };
    for (int i = 0; i < DRAWS; i++) {
        int64_t wait = ceni_backoff_draw(&rule, 2, test_random(&random));
        expect(wait >= 0 && wait <= 9);
        counts[wait]++;
    }
    /* 2000 are expected of each, with a deviation of 42: seven of these is one run in more than 10^10. */
    for (int i = 0; i < 10; i++) expect(abs((int)counts[i] - DRAWS / 10) < 300);
}

/* ---- In a supervisor ---------------------------------------------------------------------- */

static void make_one(int32_t max_restarts, int64_t window_ns)
{
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = "family", .max_restarts = max_restarts, .window_ns = window_ns);
}

/* guarantees: supervisor.intensity */
TEST(the_fourth_restart_within_five_seconds_is_one_too_many)
{
    static const int64_t at[] = {5 * 1000000000LL, 5 * 1000000000LL + 1};
    for (int i = 0; i < 2; i++) {
        make_one(0, 0);
        for (int n = 0; n < 3; n++) die(0, false); /* all at the moment 0 */
        expect_equal(look().restarts, 3);
        advance(at[i]);
        die(0, false);
        expect_equal(look().is_over, i == 0);
        if (i == 0) free_all();
        else end_supervisor();
    }
}

/* guarantees: supervisor.intensity */
TEST(a_supervisor_that_gives_up_stops_all_and_says_why)
{
    cen_future over;
    cen_error error = {.status = CEN_OK};
    init_kids();
    cen_child_options children[] = {kid_options(0), kid_options(1), kid_options(2)};
    make_supervisor(children, 3, .name = "family", .max_restarts = 1);
    cen_future_init(&over);
    over.error = &error;
    expect_equal(cen_supervisor_watch(supervisor, &over), CEN_OK);
    die(1, false);
    expect_history("abcb");
    events[0] = '\0';
    die(1, false);
    expect_history("CA");
    expect_events("b ended badly;family gave_up badly;c ended;a ended;family over badly;");
    expect_equal(over.status, CEN_LOST);
    expect_text(error.text,
                "supervisor \"family\": gave up: more than 1 restarts within 5000 ms; last restart: child \"b\": "
                "the line was cut");
    free_all();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(without_restarts_the_first_death_is_one_too_many)
{
    make_one(CEN_NONE, 0);
    die(0, true);
    expect(look().is_over);
    free_all();
}

TEST(without_a_limit_it_never_gives_up)
{
    make_one(CEN_OFF, 0);
    for (int n = 0; n < 200; n++) die(0, false);
    expect_equal(look().restarts, 200);
    expect(look().is_running);
    end_supervisor();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(the_restart_of_a_group_counts_once)
{
    init_kids();
    cen_child_options children[] = {kid_options(0), kid_options(1), kid_options(2)};
    make_supervisor(children, 3, .max_restarts = 2, .supervision = CEN_ONE_FOR_ALL);
    die(0, false);
    die(1, false);
    expect_equal(look().restarts, 2);
    expect(look().is_running);
    die(2, false);
    expect(look().is_over);
    free_all();
}

TEST(a_restart_that_fails_counts_as_another)
{
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = NULL);
    kids[0].fails = 10;
    die(0, false);
    expect_equal(kids[0].starts, 4); /* and the three restarts that are allowed */
    expect(look().is_over);
    free_all();
}
