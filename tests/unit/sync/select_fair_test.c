/* SPDX-License-Identifier: MIT */
/* Select is fair: each case that can be done is equally likely. */
#include "unit/sync/queues.h"

/* Selects 3000 times among `count` cases of which three pops are always ready;
 * each of these must be chosen between 25 % and 42 % of the times. */
static void expect_fair(cen_case *cases, size_t count)
{
    unsigned chosen[16] = {0};
    for (int i = 0; i < 3000; i++) {
        size_t which = 99;
        expect_equal(cen_select(cases, count, CEN_NEVER, &which), CEN_OK);
        expect(which < count);
        chosen[which]++;
        expect_equal(cen_queue_try_push(cases[which].queue, cases[which].element), CEN_OK); /* ready again */
    }
    unsigned favoured = 0;
    for (size_t i = 0; i < count; i++) {
        if (!chosen[i]) continue;
        favoured++;
        if (chosen[i] < 750 || chosen[i] > 1260)
            test_fail(__FILE__, __LINE__, "case %zu was chosen %u times", i, chosen[i]);
    }
    expect_equal(favoured, 3);
}

typedef struct fair_cases {
    cen_queue *ready[3], *idle;
    int value;
    cen_case cases[16];
    size_t count;
} fair_cases;

/* Three ready pops; before, between and after them `gap` cases that are never ready. */
static void make_fair(fair_cases *all, cen_queue *idle, size_t gap)
{
    *all = (fair_cases){.idle = idle};
    for (int i = 0; i <= 3; i++) {
        for (size_t g = 0; g < gap; g++) all->cases[all->count++] = cen_case_pop(idle, &all->value);
        if (i == 3) break;
        all->ready[i] = make_queue(CEN_QUEUE_BOUNDED, 1);
        push_all(all->ready[i], i, i);
        all->cases[all->count++] = cen_case_pop(all->ready[i], &all->value);
    }
}

static void fair_among(cen_queue *idle, size_t gap)
{
    fair_cases all;
    make_fair(&all, idle, gap);
    expect_fair(all.cases, all.count);
    for (int i = 0; i < 3; i++) cen_queue_free(all.ready[i]);
    cen_queue_free(idle);
}

/* guarantees: select.fair, crossbeam.select */
TEST(three_ready_cases_are_chosen_about_equally_often)
{
    fair_among(NULL, 0);
}

/* guarantees: select.fair */
TEST(null_queues_between_ready_cases_favour_none_of_them)
{
    fair_among(NULL, 3);
}

/* guarantees: select.fair */
TEST(empty_queues_between_ready_cases_favour_none_of_them)
{
    fair_among(make_queue(CEN_QUEUE_BOUNDED, 1), 1);
    fair_among(make_queue(CEN_QUEUE_UNBOUNDED, 0), 3);
}

/* guarantees: select.fair */
TEST(sources_that_are_not_due_between_ready_cases_favour_none_of_them)
{
    cen_queue *source;
    expect_equal(cen_queue_never(&source, NULL), CEN_OK);
    fair_among(source, 2);
}

/* guarantees: select.fair */
TEST(rendezvous_without_a_partner_between_ready_cases_favour_none_of_them)
{
    fair_among(make_queue(CEN_QUEUE_RENDEZVOUS, 0), 3);
}

/* guarantees: select.fair */
TEST(idle_cases_at_one_end_favour_none_of_the_ready_ones)
{
    for (size_t first_idle = 0; first_idle <= 3; first_idle += 3) {
        cen_queue *empty = make_queue(CEN_QUEUE_BOUNDED, 1);
        fair_cases all;
        make_fair(&all, empty, 0);
        for (size_t i = 0; i < 3; i++) {
            all.cases[first_idle + i] = cen_case_pop(empty, &all.value);
            all.cases[3 - first_idle + i] = cen_case_pop(all.ready[i], &all.value);
        }
        expect_fair(all.cases, 6);
        for (int i = 0; i < 3; i++) cen_queue_free(all.ready[i]);
        cen_queue_free(empty);
    }
}
