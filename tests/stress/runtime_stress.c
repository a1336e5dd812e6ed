/* SPDX-License-Identifier: MIT */
/*
 * Random load on runtimes by threads of the system: users come and go, set,
 * move and unset alarms, and post errands, each of which frees its own record
 * when it is called, so that whoever touches one afterwards is caught by a
 * sanitizer.
 *
 * The oracle: each alarm was called or unset, once; each errand was run; and at
 * the end there are no users, and no threads but those that were there before.
 *
 *     CENOTE_STRESS_SECONDS=n   for all tests of the program together
 *     CENOTE_SEED=n             the same choices, though not the same schedule
 */
#include <stdlib.h>
#include <unistd.h>

#include "unit/port/tasks.h"
#include "unit/runtime/runtimes.h"

enum { TESTS = 2, WORKERS = 4, ROUND = 12 };

/* A user of a runtime: it stays until its last hand lets go, wherever that is. */
typedef struct user {
    cen_runtime *runtime;
    _Atomic uint32_t hands;
} user;

typedef struct call {
    ceni_alarm alarm;
    ceni_errand errand;
    user *user;
} call;

static cen_runtime *explicit_one; /* NULL: the process' own */
static _Atomic uint32_t set, called, unset, posted, run;
static int64_t until;

static void let_go(user *self)
{
    if (ceni_sub_seq_cst(&self->hands, 1) != 1) return;
    cen_runtime *runtime = self->runtime;
    free(self);
    ceni_runtime_leave(runtime);
}

static void ends(call *one, _Atomic uint32_t *how)
{
    user *self = one->user;
    free(one);
    ceni_add_seq_cst(how, 1);
    let_go(self);
}

static void is_due(ceni_alarm *alarm)
{
    ends(CENI_LIST_ENTRY(alarm, call, alarm), &called);
}

static void runs(ceni_errand *errand)
{
    ceni_thread_yield();
    ends(CENI_LIST_ENTRY(errand, call, errand), &run);
}

static call *new_call(user *self)
{
    call *one = malloc(sizeof *one);
    expect(one != NULL);
    one->user = self;
    ceni_alarm_init(&one->alarm, is_due);
    ceni_errand_init(&one->errand, runs);
    ceni_add_seq_cst(&self->hands, 1);
    return one;
}

/* Far enough away that it is still set when it is moved or unset, which only its owner does. */
static void use_alarm(user *self, uint64_t *dice)
{
    cen_runtime *runtime = self->runtime;
    call *one = new_call(self);
    bool keep = test_random(dice) % 2;
    int64_t far = INT64_C(3600000000000), near = (int64_t)(test_random(dice) % 200000);
    ceni_add_seq_cst(&set, 1);
    ceni_alarm_set(runtime, &one->alarm, ceni_clock_now() + far, NULL);
    if (keep) {
        expect(ceni_alarm_set(runtime, &one->alarm, ceni_clock_now() + near, NULL)); /* and is gone soon */
        return;
    }
    expect(ceni_alarm_unset(runtime, &one->alarm));
    ends(one, &unset);
}

static void use_errand(user *self)
{
    call *one = new_call(self);
    ceni_add_seq_cst(&posted, 1);
    expect_equal(ceni_errand_post(self->runtime, &one->errand), CEN_OK);
}

static void work(void *argument)
{
    uint64_t dice = *(uint64_t *)argument;
    while (ceni_clock_now() < until) {
        user *self = malloc(sizeof *self);
        expect(self != NULL);
        ceni_store_seq_cst(&self->hands, 1);
        expect_equal(ceni_runtime_join(explicit_one, &self->runtime), CEN_OK);
        for (uint64_t i = test_random(&dice) % ROUND; i > 0; i--) {
            if (test_random(&dice) % 2) use_alarm(self, &dice);
            else use_errand(self);
            if (test_random(&dice) % 8 == 0) look_at(NULL);
        }
        let_go(self);
    }
}

static void load(void)
{
    const char *text = getenv("CENOTE_STRESS_SECONDS");
    double seconds = (text ? strtod(text, NULL) : 2.0) / TESTS;
    uint64_t seed = test_seed(), seeds[WORKERS];
    alarm((unsigned)seconds + 60);
    unsigned at_rest = threads_at_rest();
    ceni_thread threads[WORKERS];
    int code;
    until = ceni_clock_now() + (int64_t)(seconds * 1e9);
    for (int i = 0; i < WORKERS; i++) {
        seeds[i] = test_random(&seed);
        expect_equal(ceni_thread_start(&threads[i], NULL, work, &seeds[i], &code), CEN_OK);
    }
    for (int i = 0; i < WORKERS; i++) ceni_thread_join(&threads[i]);
    while (look_at(explicit_one).users > 0) ceni_thread_yield(); /* until the last call has let go */
    if (explicit_one) free_runtime(explicit_one);
    await_threads(at_rest);
    expect_equal(ceni_load_seq_cst(&set), ceni_load_seq_cst(&called) + ceni_load_seq_cst(&unset));
    expect_equal(ceni_load_seq_cst(&posted), ceni_load_seq_cst(&run));
    expect(ceni_load_seq_cst(&called) > 0 && ceni_load_seq_cst(&unset) > 0 && ceni_load_seq_cst(&run) > 0);
    printf("     %u alarms called, %u unset, %u errands\n", ceni_load_seq_cst(&called), ceni_load_seq_cst(&unset),
           ceni_load_seq_cst(&run));
}

/* guarantees: runtime.default */
TEST(the_process_own_runtime_comes_and_goes_under_load_and_loses_no_call)
{
    load();
}

/* guarantees: runtime.calls */
TEST(a_runtime_whose_helpers_hardly_linger_loses_no_call)
{
    explicit_one = make_runtime(.idle_timeout_ns = CEN_US(100));
    load();
}
