/* SPDX-License-Identifier: MIT */
/* What whoever watches is told of lanes, on real crews in virtual time: each lane, its times, and what can be changed. */
#include "unit/lanes/real_lanes.h"

#include "support/description.h"
#include "support/world.h"

static errand errands[6];

static void finish(void)
{
    end_lanes();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(each_lane_shows_where_its_tasks_are_and_what_it_may_have)
{
    description s;
    make_lanes(.name = "store", .high.max_tasks = 2, .low.is_absent = true);
    hand_in(HIGH, &errands[0], block_step);
    hand_in(HIGH, &errands[1], end_step);
    hand_in(NORMAL, &errands[2], wait_step);
    ceni_world_settle();
    prepare(&errands[3], end_step);
    expect_equal(submit(HIGH, &errands[3]), CEN_FULL);
    description_take(&s, "lanes", "store", 10);
    expect_equal(description_count(&s, "lanes"), 2);
    expect_text(description_words(&s, "lanes[0].name"), "high");
    expect_equal(description_number(&s, "lanes[0].workers"), 1);
    expect_equal(description_number(&s, "lanes[0].max"), 2);
    expect_equal(description_number(&s, "lanes[0].admitted"), 2);
    expect_equal(description_number(&s, "lanes[0].running"), 1);
    expect_equal(description_number(&s, "lanes[0].queued"), 1);
    expect_equal(description_number(&s, "lanes[0].refused_full"), 1);
    expect_text(description_words(&s, "lanes[1].name"), "normal");
    expect_equal(description_number(&s, "lanes[1].suspended"), 1);
    expect(!description_truth(&s, "stopped"));
    description_drop(&s);
    description_take(&s, "lanes", "store", 1);
    expect_equal(description_count(&s, "lanes"), 1);
    expect_equal(description_number(&s, "lanes_more"), 1);
    description_drop(&s);
    expect_equal(metric_of("lanes", "store", "high_refused"), 1);
    expect_equal(metric_of("lanes", "store", "high_admitted"), 2);
    expect_equal(metric_and_kind_of("lanes", "store", "normal_submitted").kind, CEN_COUNTER);
    open_gate(&errands[0]);
    open_gate(&errands[2]);
    for (int i = 0; i < 3; i++) await(&errands[i], CEN_OK);
    finish();
}

TEST(the_times_of_each_lane_are_there_by_name)
{
    cen_histogram *times = calloc(1, sizeof *times);
    cen_histogram_header timing;
    make_lanes(.name = "store", .low.is_absent = true);
    for (int i = 0; i < 2; i++) errands[i].takes_ns = 7 * MS;
    hand_in(HIGH, &errands[0], sleep_step);
    hand_in(HIGH, &errands[1], sleep_step);
    for (int i = 0; i < 2; i++) await(&errands[i], CEN_OK);
    expect(histogram_of("lanes", "store", "high_run", &timing, times));
    expect_equal(times->count, 2);
    expect_equal(times->sum, 14 * MS);
    expect_equal(timing.one_in, 1);
    expect(histogram_of("lanes", "store", "high_wait", &timing, times));
    expect_equal(times->largest, 7 * MS);
    expect(histogram_of("lanes", "store", "normal_total", &timing, times));
    expect_equal(times->count, 0);
    expect(!histogram_of("lanes", "store", "low_wait", &timing, times));
    finish();
    make_lanes(.name = "untimed", .without_latency = true);
    expect(!histogram_of("lanes", "untimed", "high_wait", &timing, times));
    finish();
    free(times);
}

TEST(limits_and_workers_are_changed_through_the_lanes_and_not_behind_their_back)
{
    static const cen_crew_options two = CEN_CREW_OPTIONS(.workers = 2, .max = 4);
    cen_error error;
    make_lanes(.name = "store", .high.crew = &two);
    expect_equal(look().lane[HIGH].max, 4000);
    expect_equal(component_tell("lanes", "store", "resize_high", 3, &error), CEN_OK);
    expect_equal(look().lane[HIGH].max, 6000); /* the default goes along */
    expect_equal(metric_of("crew", "store-high", "workers"), 3);
    expect_equal(component_tell("crew", "store-high", "resize", 1, &error), CEN_ABSENT);
    expect_equal(component_tell("lanes", "store", "limit_low", 17, &error), CEN_OK);
    expect_equal(look().lane[LOW].max, 17);
    expect_equal(component_tell("lanes", "store", "limit_total", 99, &error), CEN_OK);
    expect_equal(look().max, 99);
    expect_equal(component_tell("lanes", "store", "resize_high", 5, &error), CEN_INVALID);
    expect_text(error.text, "lanes \"store\": resize_high: no such lane, or value out of range (got 5)");
    expect_equal(component_tell("lanes", "store", "resize_high", 0, &error), CEN_INVALID);
    expect_equal(component_tell("lanes", "store", "limit_normal", -7, &error), CEN_INVALID);
    expect_equal(component_tell("lanes", "store", "resize", 2, &error), CEN_ABSENT);
    finish();
}

TEST(refusals_are_in_the_events_once_a_second_however_many_there_are)
{
    errand extra;
    events_begin();
    make_lanes(.name = "store", .high.max_tasks = 1);
    hand_in(HIGH, &errands[0], block_step);
    ceni_world_settle();
    for (int i = 0; i < 50; i++) {
        prepare(&extra, end_step);
        expect_equal(submit(HIGH, &extra), CEN_FULL);
        ceni_world_advance(MS);
    }
    expect_event("lanes", "refused", CEN_LEVEL_WARNING, "1 tasks of high priority admitted, limit 1 (max_tasks)");
    ceni_world_advance(1000 * MS);
    expect_equal(submit(HIGH, &extra), CEN_FULL);
    expect_equal(events_of("lanes", "refused", NULL), 2);
    open_gate(&errands[0]);
    await(&errands[0], CEN_OK);
    expect_equal(cen_lanes_max_tasks_set(lanes, HIGH, 5, NULL), CEN_OK);
    expect_event("lanes", "limited", CEN_LEVEL_NOTICE, "lanes \"store\": limit of high set to 5 tasks");
    finish();
}
