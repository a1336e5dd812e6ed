/* SPDX-License-Identifier: MIT */
/* What counts: operations at the edges of the measured time, on times that are made up. */
#include "tool/load_internal.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

enum { FROM = 1000, UNTIL = 2000 };

static load_course course(void)
{
    load_course made = {.start = 0, .from = FROM, .planned = UNTIL, .window_ns = 100, .windows = 10};
    atomic_store(&made.until, UNTIL);
    return made;
}

static tally *counted(load_course *load, const load_turn *turn, const char *text)
{
    tally *made = tally_new(load);
    cen_error error = {.status = turn->status};
    snprintf(error.text, sizeof error.text, "%s", text);
    expect(made);
    tally_add(made, load, turn, &error);
    return made;
}

TEST(an_operation_counts_in_the_window_in_which_it_ended)
{
    load_course load = course();
    load_turn turn = {.due = 1200, .began = 1210, .got = 1250, .end = 1399};
    tally *got = counted(&load, &turn, "");
    expect(got->operations == 1 && got->window[3] == 1 && got->held_ns == 149 && got->waiting_ns == 40);
    expect(got->wait.sum == 40 && got->use.sum == 149 && got->whole.sum == 199);
    tally_free(got);
}

TEST(what_ended_in_the_warm_up_does_not_count)
{
    load_course load = course();
    load_turn turn = {.due = 800, .began = 800, .got = 850, .end = 999};
    tally *got = counted(&load, &turn, "");
    expect(got->operations == 0 && got->whole.count == 0 && got->held_ns == 0 && got->waiting_ns == 0);
    expect(atomic_load(&got->shown) == 1);
    tally_free(got);
}

TEST(what_began_in_the_warm_up_counts_whole_but_holds_only_from_then)
{
    load_course load = course();
    load_turn turn = {.due = 800, .began = 900, .got = 950, .end = 1100};
    tally *got = counted(&load, &turn, "");
    expect(got->operations == 1 && got->held_ns == 100 && got->waiting_ns == 0 && got->whole.sum == 300);
    tally_free(got);
}

TEST(what_the_end_cuts_off_is_unfinished_with_the_time_that_it_had)
{
    load_course load = course();
    load_turn at_work = {.due = 1700, .began = 1750, .got = 1800, .end = 2500};
    load_turn waiting = {.due = 1700, .began = 1750, .got = 0, .end = 2001, .status = CEN_TIMEOUT};
    load_turn served_late = {.due = 1700, .began = 1750, .got = 2100, .end = 2500};
    tally *got = counted(&load, &at_work, "");
    expect(got->unfinished == 1 && got->operations == 0 && got->wait.sum == 50 && got->whole.sum == 300 &&
           got->held_ns == 200);
    expect(got->use.count == 0);
    tally_free(got);
    got = counted(&load, &waiting, "late");
    expect(got->unfinished == 1 && got->timed_out == 0 && got->wait.sum == 250 && got->whole.sum == 300 &&
           got->waiting_ns == 250);
    tally_free(got);
    got = counted(&load, &served_late, "");
    expect(got->unfinished == 1 && got->wait.sum == 250 && got->held_ns == 0);
    tally_free(got);
}

/* The rest of an open loop, one by one. */
static tally *counted_singly(load_course *load, uint64_t number)
{
    tally *made = tally_new(load);
    expect(made);
    for (; load_due(load, number) < UNTIL; number++) tally_add_never_begun(made, load_due(load, number), UNTIL);
    return made;
}

TEST(the_rest_of_an_open_loop_counts_as_if_it_were_counted_one_by_one)
{
    const double intervals[] = {0.01, 0.3, 1, 1.7, 3, 10, 99.9, 333, 1000, 5000};
    for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++)
        for (uint64_t number = 0; number < 12; number += 5) {
            load_course load = course();
            load.interval = intervals[i];
            tally *wanted = counted_singly(&load, number), *got = tally_new(&load);
            expect(got);
            tally_add_rest(got, &load, number);
            expect(got->never_begun == wanted->never_begun && got->unfinished == wanted->unfinished);
            expect_equal(got->whole.count, wanted->whole.count);
            expect(got->whole.smallest == wanted->whole.smallest && got->whole.largest == wanted->whole.largest);
            expect(memcmp(got->whole.buckets, wanted->whole.buckets, sizeof got->whole.buckets) == 0);
            expect(llabs(got->whole.sum - wanted->whole.sum) <= (int64_t)got->whole.count);
            tally_free(wanted);
            tally_free(got);
        }
}

TEST(a_rest_of_a_million_millions_is_counted_at_once)
{
    load_course load = course();
    load.interval = 1e-9;
    tally *got = tally_new(&load);
    expect(got);
    tally_add_rest(got, &load, 0);
    expect(got->never_begun == got->whole.count && got->never_begun / 1000000 == 2000000);
    expect(got->whole.largest == UNTIL && got->whole.smallest == 1);
    int64_t median = cen_histogram_percentile(&got->whole, 500000); /* the middle of its bucket */
    expect(median > 980 && median < 1020);
    tally_free(got);
}

TEST(what_was_due_but_not_begun_before_the_end_was_never_begun)
{
    load_course load = course();
    load_turn turn = {.due = 1900, .began = 2000, .got = 2010, .end = 2020};
    tally *got = counted(&load, &turn, "");
    expect(got->never_begun == 1 && got->unfinished == 1 && got->whole.sum == 100 && got->wait.count == 0);
    tally_free(got);
    turn.due = turn.began; /* a closed loop: it was nobody's wish before */
    got = counted(&load, &turn, "");
    expect(got->never_begun == 0 && got->unfinished == 0 && got->whole.count == 0);
    tally_free(got);
}

TEST(failures_are_told_apart_by_where_what_and_the_drivers_number)
{
    load_course load = course();
    tally *all = tally_new(&load);
    static const struct {
        load_turn turn;
        int code;
        const char *text;
    } rows[] = {
        {{.due = 1100, .began = 1100, .end = 1300, .status = CEN_TIMEOUT}, 0, "second"},
        {{.due = 1100, .began = 1100, .end = 1200, .status = CEN_TIMEOUT}, 0, "first"},
        {{.due = 1100, .began = 1100, .got = 1150, .end = 1200, .status = CEN_TIMEOUT}, 0, "in the operation"},
        {{.due = 1100, .began = 1100, .end = 1200, .status = CEN_FULL}, 7, "full"},
        {{.due = 1100, .began = 1100, .end = 1200, .status = CEN_FULL}, 8, "full otherwise"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tally *one = tally_new(&load);
        cen_error error = {.status = rows[i].turn.status, .code = rows[i].code};
        snprintf(error.text, sizeof error.text, "%s", rows[i].text);
        expect(!tally_add(one, &load, &rows[i].turn, &error));
        tally_merge(all, one, load.windows);
        tally_free(one);
    }
    expect(all->timed_out == 2 && all->refused == 2 && all->failed == 1 && all->operations == 0 && all->use.count == 1);
    expect(all->causes[0].count == 2 && strcmp(all->causes[0].text, "first") == 0 && all->causes[0].in_take);
    expect(all->causes[1].count == 1 && !all->causes[1].in_take && all->causes[3].code == 8 &&
           all->causes[4].count == 0);
    tally_free(all);
}

TEST(causes_beyond_the_room_are_counted_together)
{
    load_course load = course();
    tally *all = tally_new(&load);
    for (int i = 0; i < LOAD_CAUSES + 5; i++) {
        load_turn turn = {.due = 1100, .began = 1100, .got = 1101, .end = 1200, .status = CEN_DRIVER};
        cen_error error = {.status = CEN_DRIVER, .code = i};
        tally_add(all, &load, &turn, &error);
    }
    expect(all->failed == LOAD_CAUSES + 5 && all->other_causes == 5 && all->causes[LOAD_CAUSES - 1].count == 1);
    expect(strcmp(all->causes[0].text, cen_status_text(CEN_DRIVER)) == 0);
    tally_free(all);
}

TEST(no_two_clients_draw_the_same_and_a_seed_draws_the_same_again)
{
    enum { CLIENTS = 64, EACH = 50, ALL = CLIENTS * EACH };
    static uint64_t drawn[ALL];
    target quarter = {.settings = {.write_share = 0.25}};
    unsigned writes = 0;
    for (int round = 0; round < 2; round++)
        for (uint32_t client = 0; client < CLIENTS; client++) {
            load_course load = {.plan = {.target = &quarter, .seed = 7}};
            uint64_t state = load_seed(&load, client);
            for (int i = 0; i < EACH; i++) {
                target_turn turn = load_draw(&load, &state);
                uint64_t *at = &drawn[(int)client * EACH + i];
                if (round == 0) *at = turn.draw;
                else expect(*at == turn.draw);
                writes += turn.writes;
            }
        }
    expect(writes > 2 * ALL / 5 && writes < 2 * ALL * 3 / 10);
    for (int i = 0; i < ALL; i++)
        for (int j = i + 1; j < ALL; j++) expect(drawn[i] != drawn[j]);
}
