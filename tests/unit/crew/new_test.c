/* SPDX-License-Identifier: MIT */
/* Making a crew: what it has by default, and what is refused. */
#include "unit/crew/crews.h"
#include "unit/pool/ledger.h"

static void expect_refused(cen_crew_options options, const char *words)
{
    cen_error error = {.status = CEN_OK};
    cen_crew *out = NULL;
    expect_equal(cen_crew_new(&options, &out, &error), CEN_INVALID);
    expect(out == NULL);
    expect_equal(error.status, CEN_INVALID);
    if (!strstr(error.text, words)) test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error.text, words);
    expect_equal(ceni_world_bytes(), 0);
}

#define refused(words, ...) expect_refused(CEN_CREW_OPTIONS(__VA_ARGS__), words)

static void tick(void *argument, void *data)
{
    (void)argument, (void)data;
}

static void slow(void *argument, const char *text, const char *task, const char *thread, int64_t ns)
{
    (void)argument, (void)text, (void)task, (void)thread, (void)ns;
}

/* guarantees: crew.options */
TEST(what_cannot_be_is_refused_and_the_text_names_the_field)
{
    uint32_t cpu = 0;
    cen_allocator none = {NULL, NULL, NULL};
    cen_crew_options empty = {.size = 3};
    cen_error error;
    cen_crew *out;
    expect_refused(empty, "options.size");
    expect_equal(cen_crew_new(NULL, &out, &error), CEN_INVALID);
    expect_equal(cen_crew_new(&empty, NULL, &error), CEN_INVALID);
    expect_equal(cen_crew_new(NULL, NULL, NULL), CEN_INVALID);
    refused("options.workers", .workers = CEN_CREW_MAX + 1);
    refused("options.max", .max = CEN_CREW_MAX + 1);
    refused("options.max", .workers = 4, .max = 3);
    refused("options.min", .workers = 4, .min = 5);
    refused("options.idle_timeout_ns", .idle_timeout_ns = -3);
    refused("options.tick_ns", .tick_ns = -1, .context = {.on_tick = tick});
    refused("options.tick_ns", .tick_ns = CEN_MS(1));
    refused("options.slow_ns", .slow_ns = -1);
    refused("options.idle_timeout_ns must be at least 100,000 ns (got 30 ns)", .idle_timeout_ns = 30);
    refused("options.tick_ns must be at least 100,000 ns (got 99999 ns)", .tick_ns = 99999,
            .context = {.on_tick = tick});
    refused("options.slow_ns must be at least 100,000 ns (got 5 ns)", .slow_ns = 5);
    refused("options.slow", .slow = slow);
    refused("options.cpus", .cpus = &cpu);
    refused("options.cpus", .cpu_count = 1);
    refused("options.on_fork", .on_fork = (cen_fork_policy)9);
    refused("options.allocator", .allocator = &none);
}

/* guarantees: crew.options */
TEST(a_manual_runtime_keeps_no_time_for_a_crew)
{
    cen_runtime *runtime;
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.manual = true);
    expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
    cen_crew_options wrong = CEN_CREW_OPTIONS(.runtime = runtime);
    cen_error error;
    expect_equal(cen_crew_new(&wrong, &crew, &error), CEN_INVALID);
    expect(strstr(error.text, "options.runtime") != NULL);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: crew.options */
TEST(a_crew_uses_an_explicit_runtime_and_lets_go_of_it)
{
    cen_runtime *runtime;
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.manual = false);
    work one;
    expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
    make_crew(.workers = 1, .runtime = runtime);
    keep_busy(5 * SECOND);
    init_works(&one, 1);
    one.task.deadline = cen_in_s(1);
    submit(&one);
    expect_end(&one, CEN_TIMEOUT);
    expect_equal(cen_runtime_free(runtime), CEN_BUSY);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_crew_free(crew), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: crew.options */
TEST(by_default_there_are_as_many_workers_as_processors_and_all_are_started)
{
    ceni_world_set_cpus(3);
    make_crew(.name = NULL);
    cen_crew_stats s = sound_look();
    expect_equal(s.workers, 3);
    expect_equal(s.threads, 3);
    finish();
}

/* guarantees: crew.options */
TEST(min_are_started_and_the_others_come_with_the_work)
{
    work four[4];
    init_works(four, 4);
    for (int i = 0; i < 4; i++) {
        four[i].inside = take_long;
        four[i].ns = SECOND;
    }
    make_crew(.workers = 4, .min = 1, .idle_timeout_ns = 5 * SECOND);
    expect_equal(look().threads, 1);
    submit_works(four, 4);
    settle();
    cen_crew_stats s = sound_look();
    expect_equal(s.threads, 4);
    expect_equal(s.running, 4);
    for (int i = 0; i < 4; i++) expect_end(&four[i], CEN_OK);
    nap(4 * SECOND);
    expect_equal(look().threads, 4);
    nap(2 * SECOND);
    settle();
    expect_equal(look().threads, 1); /* after they have lingered */
    finish();
}

/* guarantees: crew.options */
TEST(all_memory_is_the_allocator_s_and_comes_back_to_it)
{
    ledger book = {.bytes = 0};
    cen_allocator allocator = allocator_of(&book);
    work one;
    init_works(&one, 1);
    make_crew(.workers = 2, .allocator = &allocator);
    expect(book.bytes > 0);
    submit(&one);
    expect_end(&one, CEN_OK);
    expect_equal(cen_crew_submit_function(crew, NULL, NULL, NULL, NULL, NULL), CEN_INVALID);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_crew_free(crew), CEN_OK);
    expect_equal(book.bytes, 0);
}
