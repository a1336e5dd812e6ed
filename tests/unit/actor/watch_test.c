/* SPDX-License-Identifier: MIT */
/* The watchdog, in virtual time: on threads, where it reports what goes on, and in a loop, where it comes late. */
#include <unistd.h>

#include "support/world.h"
#include "unit/actor/actors.h"

static _Atomic uint32_t reports;
static char last_text[256], last_name[32];
static int64_t last_ns, last_at;

static void note_slow(void *argument, const char *text, const char *message, int64_t ns)
{
    expect(argument == &order);
    snprintf(last_text, sizeof last_text, "%s", text);
    snprintf(last_name, sizeof last_name, "%s", message);
    last_ns = ns;
    last_at = ceni_clock_now();
    ceni_add_seq_cst(&reports, 1);
}

static void sleep_for(letter *self)
{
    ceni_sleep_until(ceni_clock_now() + (self->mark - '0') * second);
}

/* Takes as many seconds as its mark says. */
static void init_sleeper(letter *self, char seconds)
{
    init_letter(self, seconds);
    self->inside = sleep_for;
}

static void end_threaded(void)
{
    cen_future stopped;
    cen_future_init(&stopped);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, &stopped, NULL), CEN_OK);
    expect_equal(cen_future_wait(&stopped, CEN_NEVER), CEN_OK);
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: actor.slow */
TEST(a_message_that_takes_too_long_is_reported_once_while_it_is_handled)
{
    letter one;
    init_sleeper(&one, '5');
    one.message.name = "siesta";
    runtime = NULL;
    make_actor(.name = "sleeper", .slow_ns = 2 * second, .slow = note_slow);
    int64_t now = ceni_clock_now();
    tell(&one);
    ceni_world_settle();
    ceni_sleep_until(now + 4 * second);
    expect_equal(ceni_load_seq_cst(&reports), 1);
    expect_equal(last_at, now + 2 * second);
    expect_equal(last_ns, 2 * second);
    expect_text(last_name, "siesta");
    expect_text(last_text, "actor \"sleeper\": handling siesta has taken 2.000 s (slow_ns = 2.000 s)");
    expect(look().is_running);
    end_threaded();
    expect_equal(ceni_load_seq_cst(&reports), 1);
}

/* guarantees: actor.slow */
TEST(of_many_messages_those_that_take_too_long_are_reported)
{
    letter six[6];
    const char *seconds = "131911";
    for (int i = 0; i < 6; i++) init_sleeper(&six[i], seconds[i]);
    runtime = NULL;
    make_actor(.slow_ns = 2 * second, .slow = note_slow);
    for (int i = 0; i < 6; i++) tell(&six[i]);
    ceni_world_settle();
    ceni_sleep_until(ceni_clock_now() + 30 * second);
    expect_equal(ceni_load_seq_cst(&reports), 2);
    expect_equal(look().slow, 2);
    expect_equal(last_ns, 2 * second);
    end_threaded();
}

TEST(a_quick_actor_is_never_reported_and_its_watchdog_lies_down)
{
    letter one;
    cen_runtime_stats stats = CEN_SIZED(cen_runtime_stats);
    init_letter(&one, 'a');
    runtime = NULL;
    make_actor(.slow_ns = second, .slow = note_slow);
    for (int i = 0; i < 20; i++) {
        tell(&one);
        ceni_sleep_until(ceni_clock_now() + second / 4);
    }
    ceni_sleep_until(ceni_clock_now() + 3 * second);
    expect_equal(ceni_load_seq_cst(&reports), 0);
    expect_equal(one.handled, 20);
    expect_equal(cen_runtime_stats_get(NULL, &stats), CEN_OK);
    expect_equal(stats.timers, 0);
    end_threaded();
}

static void nap(cen_job *job)
{
    (void)job;
    ceni_sleep_until(ceni_clock_now() + 3 * second);
}

TEST(a_job_that_takes_too_long_is_reported_too)
{
    cen_job job = {.run = nap};
    runtime = NULL;
    make_actor(.slow_ns = second, .slow = note_slow);
    cen_executor *executor = cen_actor_executor(actor);
    executor->post(executor, &job);
    ceni_world_settle();
    ceni_sleep_until(ceni_clock_now() + 2 * second);
    expect_equal(ceni_load_seq_cst(&reports), 1);
    expect_text(last_name, "a job");
    end_threaded();
}

/* The thread that would ring is the one that handles. */
/* guarantees: actor.slow */
TEST(in_a_loop_a_slow_message_is_reported_when_it_has_been_handled)
{
    letter one;
    init_sleeper(&one, '3');
    cen_message_init(&one.message, NULL);
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.manual = true);
    expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
    make_actor(.runtime = runtime, .slow_ns = second, .slow = note_slow);
    tell(&one);
    cen_runtime_poll(runtime);
    expect_equal(ceni_load_seq_cst(&reports), 1);
    expect_text(last_text, "actor \"actor\": handling a message took 3.000 s (slow_ns = 1.000 s)");
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, NULL, NULL), CEN_OK);
    while (cen_runtime_poll(runtime) == 0) continue;
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

/* guarantees: actor.slow */
TEST(without_a_function_the_report_is_one_line_on_stderr)
{
    letter one;
    char text[256] = "";
    init_sleeper(&one, '2');
    FILE *file = tmpfile();
    expect(file != NULL);
    int before = dup(STDERR_FILENO);
    expect(dup2(fileno(file), STDERR_FILENO) == STDERR_FILENO);
    runtime = NULL;
    make_actor(.name = "loud", .slow_ns = second);
    tell(&one);
    end_threaded();
    fflush(stderr);
    expect(dup2(before, STDERR_FILENO) == STDERR_FILENO);
    rewind(file);
    expect(fgets(text, sizeof text, file) != NULL);
    expect_text(text, "cenote: actor \"loud\": handling letter has taken 1.000 s (slow_ns = 1.000 s)\n");
    expect(fgets(text, sizeof text, file) == NULL);
    fclose(file);
}

static void free_inside(void *argument, const char *text, const char *message, int64_t ns)
{
    (void)argument, (void)text, (void)message, (void)ns;
    expect_equal(cen_actor_free(actor), CEN_BUSY);
    ceni_add_seq_cst(&reports, 1);
}

TEST(an_actor_cannot_be_freed_from_within_its_report)
{
    letter one;
    init_sleeper(&one, '3');
    runtime = NULL;
    make_actor(.slow_ns = second, .slow = free_inside);
    tell(&one);
    end_threaded();
    expect_equal(ceni_load_seq_cst(&reports), 1);
}
