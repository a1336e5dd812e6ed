/* SPDX-License-Identifier: MIT */
/* Five minutes of history, on times that are made up: what is kept, of whom, and for how long. */
#include "inspect/history.h"

#include <stdlib.h>

#include <jansson.h>

#include <cenote/cenote.h>

#include "support/test.h"

#define PERIOD INT64_C(2500)

static int64_t now_ms;
static ceni_history *history;

static void sample_once(void)
{
    now_ms += PERIOD;
    ceni_history_sample(history, now_ms);
}

static json_t *shown(void)
{
    json_error_t error;
    ceni_json json = {0};
    ceni_json_open(&json, NULL, '{');
    ceni_history_show(history, now_ms, now_ms * 1000000, &json);
    ceni_json_close(&json, '}');
    expect(!json.text.spoiled);
    json_t *value = json_loadb(json.text.bytes, json.text.length, JSON_REJECT_DUPLICATES, &error);
    if (!value) test_fail(__FILE__, __LINE__, "%s: %s", error.text, json.text.bytes);
    ceni_text_fini(&json.text);
    return value;
}

static json_t *past_of(json_t *all, uint64_t number)
{
    size_t i;
    json_t *component;
    json_array_foreach(json_object_get(all, "components"), i,
                       component) if ((uint64_t)json_integer_value(json_object_get(component, "number")) ==
                                      number) return component;
    return NULL;
}

/* The place of a reading, or of a mark, in a sample. */
static size_t place_of(json_t *component, const char *metric)
{
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(component, "metrics"), i,
                       name) if (strcmp(json_string_value(name), metric) == 0) return i +
        1;
    test_fail(__FILE__, __LINE__, "no reading %s is kept", metric);
}

static json_int_t value_at(json_t *component, size_t sample, const char *metric)
{
    return json_integer_value(
        json_array_get(json_array_get(json_object_get(component, "samples"), sample), place_of(component, metric)));
}

static void find_number(void *argument, cen_component *component)
{
    uint64_t *last = argument;
    if (strcmp(cen_component_kind(component), "pool") == 0) *last = cen_component_number(component);
}

static cen_status open_nothing(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    *out = NULL;
    return CEN_OK;
}

static const cen_driver_calls calls = {.size = sizeof calls, .open = open_nothing, .closes_nothing = true};

static cen_pool *make_pool(const char *name, uint64_t *number)
{
    cen_pool *pool;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = name, .driver = {&calls, NULL}, .max = 2);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    cen_components_each(find_number, number);
    return pool;
}

static void free_pool(cen_pool *pool)
{
    cen_pool_close(pool, CEN_NEVER, NULL, NULL);
    cen_pool_free(pool);
}

TEST(metrics_are_kept_for_five_minutes_and_counters_are_told_whole)
{
    uint64_t number = 0;
    cen_lease lease;
    cen_pool *pool = make_pool("orders", &number);
    history = ceni_history_new();
    for (int i = 0; i < 200; i++) {
        expect_equal(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_OK);
        if (i == 150) sample_once(); /* one is out */
        cen_pool_give(&lease);
        if (i != 150) sample_once();
    }
    json_t *all = shown(), *component = past_of(all, number), *samples = json_object_get(component, "samples");
    expect_equal(json_integer_value(json_object_get(all, "period_ns")), PERIOD * 1000000);
    expect_equal(json_array_size(samples), 120);
    for (size_t s = 0; s < 120; s++) {
        expect_equal(json_integer_value(json_array_get(json_array_get(samples, s), 0)),
                     (now_ms - (119 - (int64_t)s) * PERIOD) * 1000000);
        expect_equal(value_at(component, s, "taken"), 81 + (json_int_t)s);
        expect_equal(value_at(component, s, "held"), s == 70);
    }
    json_decref(all);
    ceni_history_free(history);
    free_pool(pool);
}

TEST(percentiles_are_of_the_time_between_two_samples)
{
    uint64_t number = 0;
    cen_lease lease;
    cen_pool *pool = make_pool("orders", &number);
    history = ceni_history_new();
    for (int i = 0; i < 3; i++) { /* nothing, then takes at once, then nothing */
        for (int k = 0; i == 1 && k < 10; k++) {
            expect_equal(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_OK);
            cen_pool_give(&lease);
        }
        sample_once();
    }
    json_t *all = shown(), *component = past_of(all, number), *samples = json_object_get(component, "samples");
    size_t wait = 1 + json_array_size(json_object_get(component, "metrics"));
    expect_text(json_string_value(json_array_get(json_object_get(component, "timings"), 0)), "wait");
    for (size_t mark = wait; mark < wait + 4; mark++) {
        expect(json_is_null(json_array_get(json_array_get(samples, 0), mark)));
        json_t *value = json_array_get(json_array_get(samples, 1), mark);
        expect(json_is_integer(value) && json_integer_value(value) == 0); /* they waited for nothing */
        expect(json_is_null(json_array_get(json_array_get(samples, 2), mark)));
    }
    json_decref(all);
    ceni_history_free(history);
    free_pool(pool);
}

TEST(of_more_than_64_those_with_trouble_are_kept_and_what_is_gone_is_forgotten)
{
    enum { POOLS = 300 };
    uint64_t numbers[POOLS];
    cen_pool *pools[POOLS];
    cen_lease leases[2];
    for (size_t i = 0; i < POOLS; i++) pools[i] = make_pool("many", &numbers[i]);
    history = ceni_history_new();
    sample_once();
    json_t *all = shown();
    expect_equal(json_array_size(json_object_get(all, "components")), 64);
    expect(past_of(all, numbers[POOLS - 1]) == NULL);
    json_decref(all);
    /* An asynchronous take waits in the last one. */
    cen_take_op waits;
    for (int i = 0; i < 2; i++) expect_equal(cen_pool_take(pools[POOLS - 1], CEN_NOW, &leases[i], NULL), CEN_OK);
    cen_take_op_init(&waits, NULL, NULL);
    expect_equal(cen_pool_take_async(pools[POOLS - 1], CEN_NEVER, &waits), CEN_OK);
    for (int i = 0; i < (POOLS + 63) / 64 + 1; i++) sample_once(); /* 64 strangers a round */
    all = shown();
    json_t *component = past_of(all, numbers[POOLS - 1]);
    expect_equal(json_array_size(json_object_get(all, "components")), 64);
    expect(component != NULL);
    expect_equal(value_at(component, 0, "waiting"), 1);
    json_decref(all);
    expect(cen_future_cancel(&waits.future));
    for (int i = 0; i < 2; i++) cen_pool_give(&leases[i]);
    for (size_t i = 0; i < POOLS; i++) free_pool(pools[i]);
    sample_once();
    all = shown();
    for (size_t i = 0; i < POOLS; i++) expect(past_of(all, numbers[i]) == NULL);
    json_decref(all);
    ceni_history_free(history);
}
