/* SPDX-License-Identifier: MIT */
/* Back-off between restarts, its end, and what is waited for by a group. */
#include "support/world.h"
#include "unit/supervisor/kids.h"

static void make_patient(unsigned count, cen_supervision supervision)
{
    init_kids();
    cen_child_options children[] = {kid_options(0), kid_options(1), kid_options(2)};
    make_supervisor(children, count, .max_restarts = CEN_OFF, .backoff_initial_ns = 100 * milli,
                    .backoff_max_ns = 1600 * milli, .backoff_reset_ns = 10 * second, .supervision = supervision);
    history[0] = events[0] = '\0';
}

/* How long it is to wait; 0 if it was started at once. */
static int64_t wait_of(int i)
{
    cen_child_stats stats = child_at(i);
    if (stats.state == CEN_CHILD_RUNNING) return 0;
    expect_equal(stats.state, CEN_CHILD_WAITING);
    return stats.until - stats.since;
}

/* guarantees: supervisor.backoff */
TEST(the_first_restart_comes_at_once_and_the_next_wait_at_random_up_to_a_time_that_doubles)
{
    static const int64_t most[] = {0, 100, 200, 400, 800, 1600, 1600};
    int64_t longest[7] = {0};
    for (int round = 0; round < 30; round++) {
        make_patient(1, CEN_ONE_FOR_ONE);
        for (int n = 0; n < 7; n++) {
            die(0, false);
            int64_t wait = wait_of(0);
            expect(wait <= most[n] * milli);
            if (wait > longest[n]) longest[n] = wait;
            if (wait > 0) {
                advance(wait - 1);
                expect_equal(child_at(0).state, CEN_CHILD_WAITING);
                advance(1);
            }
            expect_equal(child_at(0).state, CEN_CHILD_RUNNING);
        }
        end_supervisor();
    }
    /* Of thirty draws none is in the upper half once in 10^9 times. */
    for (int n = 1; n < 7; n++) expect(longest[n] > most[n] * milli / 2);
    expect_equal(ceni_world_bytes(), 0);
}

static void die_until_it_waits(int i)
{
    do die(i, false);
    while (child_at(i).state == CEN_CHILD_RUNNING);
}

TEST(a_child_that_has_run_well_for_long_begins_anew)
{
    make_patient(1, CEN_ONE_FOR_ONE);
    die_until_it_waits(0);
    advance(2 * second);
    advance(10 * second);
    die(0, false);
    expect_equal(wait_of(0), 0);
    end_supervisor();
}

TEST(a_child_that_has_run_almost_long_enough_waits_on)
{
    unsigned waited = 0;
    make_patient(1, CEN_ONE_FOR_ONE);
    for (int n = 0; n < 8; n++) {
        die(0, false);
        waited += wait_of(0) > 0;
        advance(wait_of(0));
        expect_equal(child_at(0).state, CEN_CHILD_RUNNING);
        advance(10 * second - 1);
    }
    expect(waited >= 6); /* all but the first; a wait of just nothing is one in 10^8 */
    end_supervisor();
}

/* guarantees: supervisor.backoff */
TEST(one_that_waits_holds_up_nobody_in_a_one_for_one_supervisor)
{
    make_patient(3, CEN_ONE_FOR_ONE);
    die_until_it_waits(0);
    history[0] = '\0';
    die(1, false);
    expect_history("b");
    expect_equal(look().running, 2);
    end_supervisor();
}

TEST(a_group_is_stopped_at_once_and_started_when_the_wait_is_over)
{
    make_patient(3, CEN_ONE_FOR_ALL);
    die_until_it_waits(1);
    history[0] = '\0';
    expect_equal(look().running, 0);
    expect_equal(look().waiting, 1);
    advance(child_at(1).until - cen_runtime_now(runtime) - 1);
    expect_history("");
    advance(1);
    expect_history("abc");
    end_supervisor();
}

TEST(a_second_death_during_the_wait_of_a_group_does_not_shorten_it)
{
    make_patient(3, CEN_REST_FOR_ONE);
    die_until_it_waits(1);
    int64_t until = child_at(1).until;
    history[0] = '\0';
    die(0, false); /* for the first time, so that it would not wait itself */
    expect_history("");
    expect_equal(look().waiting, 1);
    expect_equal(child_at(0).until, until);
    advance(until - cen_runtime_now(runtime));
    expect_history("abc");
    end_supervisor();
}

TEST(one_that_is_terminated_while_its_group_waits_for_it_ends_the_wait)
{
    make_patient(3, CEN_REST_FOR_ONE);
    die_until_it_waits(1);
    history[0] = '\0';
    expect_equal(cen_supervisor_terminate(supervisor, "b", CEN_NEVER, NULL), CEN_OK);
    poll();
    expect_history("c");
    expect_equal(child_at(1).state, CEN_CHILD_DOWN);
    end_supervisor();
}

TEST(a_stop_does_not_wait_for_one_that_waits)
{
    make_patient(2, CEN_ONE_FOR_ONE);
    die_until_it_waits(0);
    history[0] = events[0] = '\0';
    int64_t now = cen_runtime_now(runtime);
    end_supervisor();
    expect_history("B");
    (void)now;
    expect_events("b ended;supervisor over;");
    expect_equal(ceni_world_bytes(), 0);
}

TEST(an_event_says_for_how_long_a_child_waits)
{
    make_patient(1, CEN_ONE_FOR_ONE);
    die_until_it_waits(0);
    size_t length = strlen(events), word = strlen("a waiting;");
    expect(length > word);
    expect_text(events + length - word, "a waiting;");
    end_supervisor();
}
