/* SPDX-License-Identifier: MIT */
/* A driver that keeps something of its own for each pool: prepare. */
#include <stdlib.h>

#include <cenote/cenote.h>

#include "support/test.h"

/* What the driver has for one pool. */
typedef struct workshop {
    const char *described; /* the driver's argument */
    unsigned opened, closed, checked;
} workshop;

static unsigned prepared, finished, initialised;
static workshop last; /* as it was when it ended */

static cen_status prepare(void *argument, void **state, cen_error *error)
{
    expect(*state == NULL);
    prepared++;
    if (!strcmp(argument, "nonsense")) {
        snprintf(error->text, sizeof error->text, "nonsense is no address");
        error->code = 7;
        return CEN_INVALID;
    }
    workshop *w = calloc(1, sizeof *w);
    expect(w != NULL);
    w->described = argument;
    *state = w;
    return CEN_OK;
}

static cen_status init(void *argument, cen_error *error)
{
    (void)argument, (void)error;
    initialised++;
    return CEN_OK;
}

static void finish(void *state)
{
    finished++;
    last = *(workshop *)state;
    free(state);
}

static cen_status open_thing(void *state, void **out, cen_error *error)
{
    (void)error;
    workshop *w = state;
    *out = (void *)(uintptr_t)++w->opened;
    return CEN_OK;
}

static cen_condition check_thing(void *state, void *object)
{
    (void)object;
    ((workshop *)state)->checked++;
    return CEN_CLEAN;
}

static void close_thing(void *state, void *object)
{
    (void)object;
    ((workshop *)state)->closed++;
}

static const cen_driver_calls calls = {.size = sizeof calls,
                                       .prepare = prepare,
                                       .init = init,
                                       .fini = finish,
                                       .open = open_thing,
                                       .close = close_thing,
                                       .check = check_thing};

static cen_pool *pool_of(const char *described)
{
    cen_pool *pool;
    cen_error error;
    cen_pool_options options =
        CEN_POOL_OPTIONS(.driver = {&calls, (void *)(uintptr_t)described}, .max = 3, .eager = true);
    expect_equal(cen_pool_new(&options, &pool, &error), CEN_OK);
    return pool;
}

/* guarantees: drivers.prepare */
TEST(each_pool_has_what_was_prepared_for_it_as_the_argument_of_every_call)
{
    cen_pool *one = pool_of("one"), *two = pool_of("two");
    expect_equal(prepared, 2);
    expect_equal(initialised, 0);
    cen_lease lease;
    expect_equal(cen_pool_take(one, CEN_NOW, &lease, NULL), CEN_OK);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(cen_pool_free(one), CEN_OK);
    expect_equal(finished, 1);
    expect_text(last.described, "one");
    expect_equal(last.opened, 3);
    expect_equal(last.closed, 3);
    expect_equal(last.checked, 1);
    expect_equal(cen_pool_free(two), CEN_OK);
    expect_text(last.described, "two");
    expect_equal(last.checked, 0);
}

/* guarantees: drivers.prepare */
TEST(a_driver_that_cannot_prepare_makes_no_pool_and_is_not_finished)
{
    cen_pool *pool = NULL;
    cen_error error;
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = {&calls, (void *)(uintptr_t) "nonsense"});
    expect_equal(cen_pool_new(&options, &pool, &error), CEN_INVALID);
    expect(pool == NULL);
    expect_equal(error.code, 7);
    expect(strstr(error.text, "nonsense is no address") != NULL);
    expect_equal(finished, 0);
}

/* guarantees: drivers.prepare */
TEST(options_name_the_driver_as_the_program_gave_it)
{
    cen_pool *pool = pool_of("one");
    cen_pool_options options = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(pool, &options), CEN_OK);
    expect_text(options.driver.argument, "one");
    options.max = 2;
    expect_equal(cen_pool_options_set(pool, &options, NULL), CEN_OK);
    options.driver.argument = (void *)(uintptr_t) "another";
    expect_equal(cen_pool_options_set(pool, &options, NULL), CEN_INVALID);
    expect_equal(cen_pool_free(pool), CEN_OK);
    expect_text(last.described, "one");
}
