/* SPDX-License-Identifier: MIT */
/* The model engine finds planted failures of toy systems and shrinks them. */
#include "support/model.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

/* The toy: a number that is added to, cleared and looked at. */
typedef struct toy {
    int system, expected;
    bool cleared;
} toy;

static void *toy_setup(void)
{
    static toy state;
    state = (toy){0, 0, false};
    return &state;
}

static const char *add(void *state, int a, int b)
{
    toy *t = state;
    (void)b;
    t->expected += a;
    t->system += a;
    return NULL;
}

/* The bug: after a clear, numbers from 5 on are added wrongly. */
static const char *add_wrongly(void *state, int a, int b)
{
    toy *t = state;
    add(state, a, b);
    if (t->cleared && a >= 5) t->system++;
    return NULL;
}

static const char *add_and_crash(void *state, int a, int b)
{
    toy *t = state;
    if (t->cleared && b >= 3) abort();
    return add(state, a, b);
}

static const char *clear(void *state, int a, int b)
{
    toy *t = state;
    (void)a;
    (void)b;
    *t = (toy){0, 0, true};
    return NULL;
}

static const char *look(void *state, int a, int b)
{
    const toy *t = state;
    (void)a;
    (void)b;
    return t->system == t->expected ? NULL : "the sum is wrong";
}

static const char *look_at_the_end(void *state)
{
    return look(state, 0, 0);
}

static const char *nothing(void *state)
{
    (void)state;
    return NULL;
}

enum { ADD, CLEAR, LOOK, OPS };

static const model_op sound[OPS] = {
    {"add", 5, 10, 10, add, NULL}, {"clear", 1, 3, 3, clear, NULL}, {"look", 2, 0, 0, look, NULL}};
static const model_op broken[OPS] = {
    {"add", 5, 10, 10, add_wrongly, NULL}, {"clear", 1, 3, 3, clear, NULL}, {"look", 2, 0, 0, look, NULL}};
static const model_op crashing[OPS] = {
    {"add", 5, 10, 10, add_and_crash, NULL}, {"clear", 1, 3, 3, clear, NULL}, {"look", 2, 0, 0, look, NULL}};

static model model_of(const model_op *ops)
{
    return (model){
        .name = "toy", .ops = ops, .op_count = OPS, .setup = toy_setup, .teardown = nothing, .steps = 60, .runs = 50};
}

static model_failure found;

static void expect_step(unsigned number, unsigned op, int a, int b)
{
    expect_equal(found.steps[number].op, op);
    expect_equal(found.steps[number].a, a);
    expect_equal(found.steps[number].b, b);
}

PLAIN_TEST(a_sound_system_passes)
{
    model m = model_of(sound);
    expect(!model_search(&m, test_seed(), &found));
}

PLAIN_TEST(the_engine_shrinks_a_failure_to_its_core)
{
    model m = model_of(broken);
    expect(model_search(&m, test_seed(), &found));
    expect_text(found.text, "the sum is wrong");
    expect_equal(found.count, 3);
    expect_equal(found.at, 2);
    expect_step(0, CLEAR, 0, 0);
    expect_step(1, ADD, 5, 0);
    expect_step(2, LOOK, 0, 0);
}

PLAIN_TEST(a_failure_at_the_end_of_a_run_is_shrunk_too)
{
    model_op ops[OPS];
    memcpy(ops, broken, sizeof ops);
    ops[LOOK].run = add; /* nobody looks before the end */
    model m = model_of(ops);
    m.teardown = look_at_the_end;
    expect(model_search(&m, test_seed(), &found));
    expect_equal(found.count, 2);
    expect_equal(found.at, 2);
    expect_step(0, CLEAR, 0, 0);
    expect_step(1, ADD, 5, 0);
}

PLAIN_TEST(a_crash_is_contained_and_shrunk)
{
    model m = model_of(crashing);
    expect(model_search(&m, test_seed(), &found));
    /* the latter from a sanitizer */
    expect(strstr(found.text, "it crashes") || strstr(found.text, "it ends the process"));
    expect_equal(found.count, 2);
    expect_step(0, CLEAR, 0, 0);
    expect_step(1, ADD, 0, 3);
}

PLAIN_TEST(the_same_seed_finds_the_same_failure)
{
    static model_failure again;
    uint64_t seed = test_seed();
    model m = model_of(broken);
    expect(model_search(&m, seed, &found));
    expect(model_search(&m, seed, &again));
    expect_equal(again.run, found.run);
    expect_equal(again.tries, found.tries);
    expect(memcmp(again.steps, found.steps, found.count * sizeof *found.steps) == 0);
}

PLAIN_TEST(a_step_is_shown_by_its_name_and_arguments)
{
    char text[40];
    model m = model_of(sound);
    model_show(&m, &(model_step){ADD, 7, 2}, text, sizeof text);
    expect_text(text, "add(7, 2)");
}

/* What model_check prints and says of a broken system is checked from outside,
 * because it ends the process. */
PLAIN_TEST(a_failed_check_prints_the_shrunk_case_and_the_seed)
{
    FILE *capture = tmpfile();
    expect(capture != NULL);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(fileno(capture), STDOUT_FILENO);
        model m = model_of(broken);
        model_check(&m);
        _exit(0);
    }
    expect(child > 0);
    int status = 0;
    expect(waitpid(child, &status, 0) == child);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    char text[4000];
    rewind(capture);
    text[fread(text, 1, sizeof text - 1, capture)] = '\0';
    fclose(capture);
    expect(strstr(text, "1  clear(0, 0)\n"));
    expect(strstr(text, "2  add(5, 0)\n"));
    expect(strstr(text, "3  look(0, 0)     <- here\n"));
    expect(strstr(text, "run it again with CENOTE_SEED="));
}
