/* SPDX-License-Identifier: MIT */
/* Options macros are expressions: they initialise, are assigned, and are passed where they are written. */
#include <cenote/cenote.h>

#include "support/test.h"

static const cen_queue_options of_the_file = CEN_QUEUE_OPTIONS(.element_size = 4, .capacity = 8);

TEST(options_may_be_written_in_the_call)
{
    cen_pool *pool;
    cen_error error;
    expect_equal(cen_pool_new(&CEN_POOL_OPTIONS(.name = "inline", .max = 3), &pool, &error), CEN_OK);
    cen_pool_options now = CEN_POOL_OPTIONS();
    expect_equal(cen_pool_options_get(pool, &now), CEN_OK);
    expect_equal(now.max, 3);
    expect_equal(cen_pool_free(pool), CEN_OK);
}

TEST(options_may_be_assigned_and_those_that_are_not_named_are_their_defaults)
{
    cen_pool_options options = CEN_POOL_OPTIONS(.max = 7, .backtraces = true);
    options = CEN_POOL_OPTIONS(.name = "again");
    expect_equal(options.size, sizeof options);
    expect(options.max == 0 && !options.backtraces);
    expect_text(options.name, "again");
}

TEST(options_may_be_those_of_a_file)
{
    cen_queue *queue;
    expect_equal(of_the_file.size, sizeof of_the_file);
    expect_equal(cen_queue_new(&of_the_file, &queue, NULL), CEN_OK);
    cen_queue_free(queue);
}

TEST(a_take_in_one_expression_says_where_it_was_written)
{
    const cen_take_options *options = &CEN_TAKE_OPTIONS(.priority = CEN_PRIORITY_HIGH);
    expect(options->where && strstr(options->where, "options_test.c:"));
}
