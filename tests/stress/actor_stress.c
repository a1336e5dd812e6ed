/* SPDX-License-Identifier: MIT */
/*
 * Random load on actors by threads of the system: threads tell, ask, cancel and
 * send for later while the actor is stopped under them. Every message but those
 * that an asker waits for is freed by whoever has it at its end, so that whoever touches one
 * afterwards is caught by a sanitizer. The handler works on plain variables.
 *
 * The oracle: what was let in was handled, dropped or taken back, once, and the
 * actor counts the same; nobody was inside at the same time; messages of
 * one sender came in their order.
 *
 *     CENOTE_STRESS_SECONDS=n   for all tests of the program together
 *     CENOTE_SEED=n             the same choices, though not the same schedule
 */
#include <stdlib.h>
#include <unistd.h>

#include <cenote/cenote.h>

#include "port/port.h"
#include "support/test.h"

enum { TESTS = 2, SENDERS = 3, SENDS = 200 };

typedef enum kind { TOLD, ASKED, LATER } kind;

typedef struct letter {
    cen_message message;
    kind kind;
    unsigned sender, number;
    _Atomic uint32_t over; /* of one for later, which its sender frees */
} letter;

static cen_actor *actor;
static cen_inbox *inbox; /* NULL: the actor is on its runtime's threads */
static _Atomic uint32_t let_in, taken_back, reports;
static uint64_t totals[2];
/* the handler's, one at a time */
static unsigned last_of[SENDERS];
static uint64_t handled, dropped;

static void end_letter(letter *self)
{
    if (self->kind == LATER) ceni_store_seq_cst(&self->over, 1);
    else if (self->kind == TOLD || !cen_message_reply(&self->message, self)) free(self);
}

static void handle(void *argument, cen_message *message)
{
    (void)argument;
    letter *self = (letter *)(void *)message;
    handled++;
    if (self->kind != LATER) {
        expect(last_of[self->sender] < self->number);
        last_of[self->sender] = self->number;
    }
    end_letter(self);
}

static void drop(void *argument, cen_message *message)
{
    (void)argument;
    letter *self = (letter *)(void *)message;
    dropped++;
    if (self->kind == LATER) ceni_store_seq_cst(&self->over, 1);
    else free(self);
}

static void note_slow(void *argument, const char *text, const char *message, int64_t ns)
{
    (void)argument, (void)text, (void)message, (void)ns;
    ceni_add_seq_cst(&reports, 1);
}

static void send_later(letter *self, uint64_t *dice)
{
    if (cen_actor_tell_after(actor, &self->message, (int64_t)(test_random(dice) % 30000), NULL) == CEN_OK) {
        ceni_add_seq_cst(&let_in, 1);
        for (uint64_t i = test_random(dice) % 4; i > 0; i--) ceni_thread_yield();
        if (cen_message_cancel(&self->message)) ceni_add_seq_cst(&taken_back, 1);
        else
            while (!ceni_load_seq_cst(&self->over)) ceni_thread_yield();
    }
    free(self);
}

/* Once it was cancelled, the question is whoever's who finds that nobody waits. */
static void ask(letter *self, uint64_t *dice)
{
    cen_future future;
    cen_future_init(&future);
    if (cen_actor_ask(actor, &self->message, &future, NULL) == CEN_OK) {
        ceni_add_seq_cst(&let_in, 1);
        if (test_random(dice) % 2 && cen_future_cancel(&future)) return;
        expect_equal(cen_future_wait(&future, CEN_NEVER), CEN_OK);
        expect(future.status == CEN_OK ? future.value == self : future.status == CEN_CLOSED);
    }
    free(self);
}

static void send_all(void *argument)
{
    uint64_t dice = *(uint64_t *)argument;
    unsigned sender = (unsigned)(dice % SENDERS);
    for (unsigned number = 1; number <= SENDS; number++) {
        letter *self = calloc(1, sizeof *self);
        expect(self != NULL);
        cen_message_init(&self->message, "letter");
        self->sender = sender;
        self->number = number;
        self->kind = (kind)(test_random(&dice) % 8 == 0 ? LATER : test_random(&dice) % 4 == 0 ? ASKED : TOLD);
        if (self->kind == LATER) send_later(self, &dice);
        else if (self->kind == ASKED) ask(self, &dice);
        else if (cen_actor_tell(actor, &self->message, NULL) == CEN_OK) ceni_add_seq_cst(&let_in, 1);
        else free(self);
    }
}

static void await_end(cen_future *stopped)
{
    while (inbox && !cen_future_is_done(stopped)) cen_inbox_wait(inbox, cen_in_ms(1));
    if (!inbox) expect_equal(cen_future_wait(stopped, CEN_NEVER), CEN_OK);
}

static void stop_somewhere(uint64_t *dice, cen_future *stopped)
{
    int64_t when = ceni_clock_now() + (int64_t)(test_random(dice) % 2000000);
    while (ceni_clock_now() < when) {
        if (inbox) cen_inbox_poll(inbox, 0);
        else ceni_thread_yield();
    }
    cen_future_init(stopped);
    expect_equal(cen_actor_stop(actor, test_random(dice) % 2 ? CEN_STOP_DRAIN : CEN_STOP_DROP, stopped, NULL), CEN_OK);
}

static void one_round(uint64_t *dice)
{
    cen_actor_options options =
        CEN_ACTOR_OPTIONS(.handle = handle, .dropped = drop, .executor = cen_inbox_executor(inbox));
    options.capacity = test_random(dice) % 2 ? 4 : 0;
    options.batch = test_random(dice) % 2 ? 1 : 0;
    options.slow_ns = test_random(dice) % 2 ? CEN_US(100) : 0;
    options.slow = options.slow_ns ? note_slow : NULL;
    handled = dropped = 0;
    memset(last_of, 0, sizeof last_of);
    ceni_store_seq_cst(&let_in, 0);
    ceni_store_seq_cst(&taken_back, 0);
    ceni_store_seq_cst(&reports, 0);
    expect_equal(cen_actor_new(&options, &actor, NULL), CEN_OK);
    uint64_t seeds[SENDERS];
    ceni_thread threads[SENDERS];
    cen_future stopped;
    int code;
    for (unsigned i = 0; i < SENDERS; i++) {
        seeds[i] = test_random(dice) / SENDERS * SENDERS + i;
        expect_equal(ceni_thread_start(&threads[i], NULL, send_all, &seeds[i], &code), CEN_OK);
    }
    stop_somewhere(dice, &stopped);
    await_end(&stopped);
    for (unsigned i = 0; i < SENDERS; i++) ceni_thread_join(&threads[i]);
    cen_actor_stats stats = CEN_SIZED(cen_actor_stats);
    expect_equal(cen_actor_stats_get(actor, &stats), CEN_OK);
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(stats.queued, 0);
    expect_equal(stats.handled, handled);
    expect_equal(stats.handled + stats.dropped, ceni_load_seq_cst(&let_in) - ceni_load_seq_cst(&taken_back));
    expect(stats.dropped >= dropped);
    totals[0] += stats.handled;
    totals[1] += stats.dropped;
}

static void load(void)
{
    const char *text = getenv("CENOTE_STRESS_SECONDS");
    double seconds = (text ? strtod(text, NULL) : 2.0) / TESTS;
    uint64_t seed = test_seed(), rounds = 0;
    alarm((unsigned)seconds + 60);
    int64_t until = ceni_clock_now() + (int64_t)(seconds * 1e9);
    for (; rounds == 0 || ceni_clock_now() < until; rounds++) one_round(&seed);
    expect(totals[0] > 0);
    printf("     %" PRIu64 " actors, %" PRIu64 " messages handled, %" PRIu64 " dropped\n", rounds, totals[0],
           totals[1]);
}

/* guarantees: actor.one-at-a-time */
TEST(actors_on_helper_threads_end_every_message_once)
{
    load();
}

/* guarantees: actor.one-at-a-time */
TEST(actors_on_an_inbox_end_every_message_once)
{
    expect_equal(cen_inbox_new(NULL, &inbox, NULL), CEN_OK);
    load();
    expect_equal(cen_inbox_free(inbox), CEN_OK);
}
