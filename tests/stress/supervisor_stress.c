/* SPDX-License-Identifier: MIT */
/*
 * Random load on supervisors by threads of the system: threads end children, add, terminate,
 * remove and restart them, walk through them and dump them, while some start later, some
 * are threads, some fail to start, and a group is restarted again and again; then all is stopped.
 *
 * The oracle: of one child no two starts are alive at a time; every start that said OK ends
 * once; when the supervisor is over, none is alive and its numbers say the same.
 *
 *     CENOTE_STRESS_SECONDS=n   for all tests of the program together
 *     CENOTE_SEED=n             the same choices, though not the same schedule
 */
#include <stdlib.h>

#include <cenote/supervisor.h>

#include "port/port.h"
#include "support/test.h"

enum { TESTS = 3, THREADS = 3, PLACES = 6, ACTS = 150 };

typedef struct place {
    _Atomic uint32_t alive;
    _Atomic uint64_t supervisor, number; /* of its last start: a guess for those who end it */
    _Atomic uint32_t dice;
} place;

static cen_supervisor *supervisor;
static place places[PLACES];
static _Atomic uint64_t started, ended;

static uint64_t roll(place *self)
{
    uint64_t state = ceni_add_seq_cst(&self->dice, 1) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    return test_random(&state);
}

static void come_alive(place *self, cen_child child)
{
    expect_equal(ceni_add_seq_cst(&self->alive, 1), 0);
    ceni_add_seq_cst(&started, 1);
    ceni_store_relaxed(&self->supervisor, child.supervisor_); /* a guess; carries nothing */
    ceni_store_relaxed(&self->number, child.number_);         /* likewise; carries nothing */
}

static void die(place *self)
{
    expect_equal(ceni_sub_seq_cst(&self->alive, 1), 1);
    ceni_add_seq_cst(&ended, 1);
}

static cen_status start(void *argument, cen_child child, cen_error *error)
{
    place *self = argument;
    (void)error;
    if (roll(self) % 8 == 0) return CEN_LOST;
    come_alive(self, child);
    cen_child_report_started(child);
    return CEN_OK;
}

static void stop(void *argument, cen_child child)
{
    (void)argument;
    cen_child_report_ended(child, NULL);
}

/* A start that failed may have been alive: it was ended before it had said that it was. */
static void listen(void *argument, const cen_supervisor_event *event)
{
    (void)argument;
    if (event->kind != CEN_EVENT_CHILD_ENDED && event->kind != CEN_EVENT_CHILD_FAILED) return;
    place *self = &places[event->name[0] - 'a'];
    if (ceni_load_seq_cst(&self->alive)) die(self);
}

static cen_status run(void *argument, cen_child child, cen_error *error)
{
    place *self = argument;
    (void)error;
    come_alive(self, child);
    for (uint64_t i = roll(self) % 64; i > 0 && !cen_child_is_stopping(child); i--) ceni_thread_yield();
    return roll(self) % 2 ? CEN_OK : CEN_LOST;
}

static cen_child_options options_of(int i)
{
    static const char *const names[PLACES] = {"a", "b", "c", "d", "e", "f"};
    return CEN_CHILD_OPTIONS(.name = names[i], .argument = &places[i], .start = i % 3 == 2 ? NULL : start,
                             .run = i % 3 == 2 ? run : NULL, .stop = i % 3 == 2 ? NULL : stop,
                             .reports_start = i % 3 == 1, .shutdown_ns = CEN_OFF,
                             .restart = i == 4 ? CEN_RESTART_TRANSIENT : CEN_RESTART_PERMANENT);
}

static void count_child(void *argument, const cen_child_stats *child)
{
    (*(unsigned *)argument)++;
    expect(child->state <= CEN_CHILD_STOPPING);
}

static void act(uint64_t *dice)
{
    int i = (int)(test_random(dice) % PLACES);
    cen_child_options options = options_of(i);
    /* Guesses; carries nothing. */
    cen_child child = {ceni_load_relaxed(&places[i].supervisor), ceni_load_relaxed(&places[i].number)};
    char text[200];
    unsigned count = 0;
    switch (test_random(dice) % 10) {
    case 0: cen_supervisor_terminate(supervisor, options.name, cen_in_ms(5), NULL); break;
    case 1: cen_supervisor_remove(supervisor, options.name, CEN_NOW, NULL); break;
    case 2: cen_supervisor_add(supervisor, &options, cen_in_ms(5), NULL, NULL); break;
    case 3: cen_supervisor_restart(supervisor, options.name, cen_in_ms(5), NULL); break;
    case 4: cen_supervisor_each(supervisor, count_child, &count); break;
    case 5: cen_supervisor_dump(supervisor, text, sizeof text); break;
    default: cen_child_report_ended(child, NULL); break;
    }
}

static void disturb(void *argument)
{
    uint64_t dice = *(uint64_t *)argument;
    for (int i = 0; i < ACTS; i++) act(&dice);
}

static void play(cen_supervision supervision, uint64_t *dice)
{
    cen_child_options children[PLACES];
    ceni_thread threads[THREADS];
    uint64_t seeds[THREADS];
    int code;
    for (int i = 0; i < PLACES; i++) {
        children[i] = options_of(i);
        places[i] = (place){.dice = (uint32_t)test_random(dice)};
    }
    ceni_store_seq_cst(&started, 0);
    ceni_store_seq_cst(&ended, 0);
    cen_supervisor_options options =
        CEN_SUPERVISOR_OPTIONS(.children = children, .child_count = PLACES, .supervision = supervision,
                               .retry_start = true, .listener = listen, .max_restarts = CEN_OFF,
                               .backoff_initial_ns = 20000, .backoff_max_ns = 200000);
    expect_equal(cen_supervisor_new(&options, &supervisor, NULL), CEN_OK);
    for (int i = 0; i < THREADS; i++) {
        seeds[i] = test_random(dice);
        expect_equal(ceni_thread_start(&threads[i], "disturber", disturb, &seeds[i], &code), CEN_OK);
    }
    for (int i = 0; i < THREADS; i++) ceni_thread_join(&threads[i]);
    cen_supervisor_report report = CEN_SIZED(cen_supervisor_report);
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, &report, NULL), CEN_OK);
    expect_equal(report.abandoned, 0);
    cen_supervisor_stats stats = CEN_SIZED(cen_supervisor_stats);
    expect_equal(cen_supervisor_stats_get(supervisor, &stats), CEN_OK);
    expect(stats.is_over);
    expect_equal(stats.running + stats.starting + stats.stopping + stats.waiting, 0);
    expect_equal(stats.abandoned, 0);
    for (int i = 0; i < PLACES; i++) expect_equal(ceni_load_seq_cst(&places[i].alive), 0);
    expect_equal(ceni_load_seq_cst(&started), ceni_load_seq_cst(&ended));
    expect(stats.starts <= ceni_load_seq_cst(&started));
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
}

static void play_for_a_while(cen_supervision supervision)
{
    const char *text = getenv("CENOTE_STRESS_SECONDS");
    int64_t seconds = text ? strtoll(text, NULL, 10) : 3, until = ceni_clock_now() + seconds * 1000000000 / TESTS;
    uint64_t dice = test_seed();
    unsigned rounds = 0;
    do play(supervision, &dice), rounds++;
    while (ceni_clock_now() < until);
    printf("     %u rounds\n", rounds);
}

TEST(one_for_one_under_load)
{
    play_for_a_while(CEN_ONE_FOR_ONE);
}

TEST(one_for_all_under_load)
{
    play_for_a_while(CEN_ONE_FOR_ALL);
}

TEST(rest_for_one_under_load)
{
    play_for_a_while(CEN_REST_FOR_ONE);
}
