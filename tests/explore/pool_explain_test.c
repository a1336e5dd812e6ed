/* SPDX-License-Identifier: MIT */
/* Texts made while others take and give: the counts in one agree with one another. */
#include "explore/pools.h"

static taker other;

static void take_and_give_twice(void *unused)
{
    (void)unused;
    take_and_give(&other);
    take_and_give(&other);
}

static unsigned count_before(const char *text, const char *words)
{
    const char *at = strstr(text, words);
    if (!at) return 0;
    while (at > text && at[-1] >= '0' && at[-1] <= '9') at--;
    unsigned count = 0;
    expect(sscanf(at, "%u", &count) == 1);
    return count;
}

/* The longest idle is lent, so the thread has one slot and then the other, and never both. */
EXPLORE(L19_the_counts_of_a_text_agree_while_another_takes_and_gives, 3)
{
    char text[1000];
    ceni_world_set_cpus(1);
    other = (taker){.deadline = CEN_NEVER};
    make_filled((cen_pool_options){.max = 2, .order = CEN_ORDER_FIFO});
    ceni_thread thread = start("take", take_and_give_twice, NULL);
    cen_pool_explain(pool, text, sizeof text);
    join(thread);
    unsigned held = count_before(text, " held,"), idle = count_before(text, " idle,"),
             moving = count_before(text, " changing");
    expect(held <= 1);
    expect_equal(held + idle + moving, 2);
    end();
}

static taker first;

static void take_once(void *unused)
{
    (void)unused;
    take_and_give(&first);
}

/* What is given lies there until the one who waits has run, or somebody has overtaken it. */
EXPLORE(no_text_says_that_all_is_well_while_somebody_waits, 2)
{
    char text[1000];
    ceni_world_set_cpus(1);
    other = first = (taker){.deadline = CEN_NEVER};
    make_filled((cen_pool_options){.max = 1});
    ceni_thread one = start("first", take_once, NULL), two = start("other", take_and_give_twice, NULL);
    cen_cause cause = ceni_pool_explain_briefly(pool, text, sizeof text);
    join(one);
    join(two);
    if (cause == CEN_CAUSE_NONE) expect_equal(count_before(text, " waiting."), 0);
    end();
}
