/* SPDX-License-Identifier: MIT */
/*
 * Random load on queues by threads of the system. A test is a plan: which
 * queues, how many producers and consumers, and in which manners they push and
 * pop. A round ends when main closes the queues; what is left goes to main.
 *
 *     CENOTE_STRESS_SECONDS=n   for all tests of the program together
 *     CENOTE_SEED=n             the same choices, though not the same schedule
 */
#include <cenote/queue.h>

#include "base/atomic.h"
#include "port/port.h"
#include "stress/load.h"
#include "support/test.h"

enum { TRY = 1, TIMED = 2, BLOCKING = 4, SELECT = 8, FORCE = 16, MANNERS = 5 };

typedef struct plan {
    unsigned queues;
    cen_queue_kind kinds[LOAD_QUEUES];
    size_t capacities[LOAD_QUEUES];
    unsigned producers, consumers;
    unsigned push_by, pop_by; /* manners */
    bool leave_early;         /* consumers stop before the queue is closed */
} plan;

static plan now;
static cen_queue *queues[LOAD_QUEUES];
static _Atomic uint32_t enough;

/* An unbounded queue is not filled faster than it is emptied for ever. */
enum { TOO_MANY = 5000 };

static cen_deadline soon(worker *self)
{
    return cen_in_us(20 + draw_below(self, 180));
}

static unsigned manner_of(worker *self, unsigned among)
{
    for (;;) {
        unsigned manner = 1u << draw_below(self, MANNERS);
        if (manner & among) return manner;
    }
}

static void is_doing(worker *self, const char *what)
{
    ceni_store_relaxed(&self->doing, what); /* carries nothing */
}

/* ---- Producers --------------------------------------------------------------------------- */

static cen_status force(worker *self, unsigned queue, const parcel *one)
{
    parcel evicted;
    bool out = false;
    is_doing(self, "force_push");
    cen_status status = cen_queue_force_push(queues[queue], one, &evicted, &out);
    if (out) parcel_was_taken(self, &evicted);
    return status;
}

/* Offers a parcel to each queue; exactly one of them is pushed. */
static cen_status select_push(worker *self, parcel *done)
{
    parcel offers[LOAD_QUEUES];
    cen_case cases[LOAD_QUEUES];
    size_t which = LOAD_QUEUES;
    for (unsigned q = 0; q < now.queues; q++) {
        offers[q] = parcel_next(self, q);
        cases[q] = cen_case_push(queues[q], &offers[q]);
    }
    is_doing(self, "select of pushes");
    cen_status status = cen_select(cases, now.queues, draw_below(self, 2) ? soon(self) : CEN_NEVER, &which);
    if (status == CEN_OK) *done = offers[which];
    return status;
}

static cen_status push_in_some_manner(worker *self, parcel *one)
{
    unsigned manner = manner_of(self, now.push_by), queue = draw_below(self, now.queues);
    if (manner == SELECT) return select_push(self, one);
    *one = parcel_next(self, queue);
    if (manner == FORCE && now.kinds[queue] != CEN_QUEUE_RENDEZVOUS) return force(self, queue, one);
    is_doing(self, manner == TRY ? "try_push" : manner == TIMED ? "push_until" : "push");
    if (manner == TRY) return cen_queue_try_push(queues[queue], one);
    if (manner == TIMED) return cen_queue_push_until(queues[queue], one, soon(self));
    return cen_queue_push(queues[queue], one);
}

static void produce(worker *self)
{
    for (;;) {
        parcel one;
        cen_status status = push_in_some_manner(self, &one);
        if (status == CEN_CLOSED) return;
        if (status == CEN_OK) parcel_was_pushed(self, &one);
        else expect(status == CEN_FULL || status == CEN_TIMEOUT);
        make_noise(self);
        for (unsigned q = 0; q < now.queues; q++)
            if (cen_queue_length(queues[q]) > TOO_MANY) load_sleep(100e-6);
    }
}

/* ---- Consumers ------------------------------------------------------------------------------ */

static cen_status select_pop(worker *self, cen_queue *const *open, parcel *one, unsigned *queue)
{
    parcel offers[LOAD_QUEUES];
    cen_case cases[LOAD_QUEUES];
    size_t which = LOAD_QUEUES;
    for (unsigned q = 0; q < now.queues; q++) cases[q] = cen_case_pop(open[q], &offers[q]);
    is_doing(self, "select of pops");
    cen_status status = draw_below(self, 2) ? cen_select(cases, now.queues, soon(self), &which)
                                            : cen_select_biased(cases, now.queues, CEN_NEVER, &which);
    if (which < now.queues) *queue = (unsigned)which;
    if (status == CEN_OK) *one = offers[which];
    return status;
}

static cen_status pop_in_some_manner(worker *self, cen_queue *const *open, parcel *one, unsigned *queue)
{
    unsigned manner = manner_of(self, now.pop_by);
    if (manner == SELECT) return select_pop(self, open, one, queue);
    do *queue = draw_below(self, now.queues);
    while (!open[*queue]);
    is_doing(self, manner == TRY ? "try_pop" : manner == TIMED ? "pop_until" : "pop");
    if (manner == TRY) return cen_queue_try_pop(open[*queue], one);
    if (manner == TIMED) return cen_queue_pop_until(open[*queue], soon(self), one);
    return cen_queue_pop(open[*queue], one);
}

static void consume(worker *self)
{
    cen_queue *open[LOAD_QUEUES] = {queues[0], queues[1], queues[2]};
    unsigned left = now.queues, queue = 0;
    while (left > 0 && !(now.leave_early && ceni_load_relaxed(&enough))) { /* carries nothing */
        parcel one;
        cen_status status = pop_in_some_manner(self, open, &one, &queue);
        if (status == CEN_CLOSED) {
            open[queue] = NULL;
            left--;
            continue;
        }
        if (status == CEN_OK) parcel_was_taken(self, &one);
        else expect(status == CEN_EMPTY || status == CEN_TIMEOUT);
        if (status == CEN_OK) expect_equal(one.queue, queue);
        make_noise(self);
    }
}

/* ---- A round ----------------------------------------------------------------------------------- */

static void produce_or_consume(worker *self)
{
    if ((unsigned)self->number < now.producers) produce(self);
    else consume(self);
}

static cen_queue *make(cen_queue_kind kind, size_t capacity)
{
    cen_queue *made = NULL;
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(parcel), .kind = kind, .capacity = capacity);
    expect_equal(cen_queue_new(&options, &made, NULL), CEN_OK);
    return made;
}

static void take_the_rest(void)
{
    for (unsigned q = 0; q < now.queues; q++) {
        parcel one;
        while (cen_queue_try_pop(queues[q], &one) == CEN_OK) parcel_was_taken(load_main(), &one);
        expect_equal(cen_queue_try_pop(queues[q], &one), CEN_CLOSED);
        expect_equal(cen_queue_length(queues[q]), 0);
        cen_queue_free(queues[q]);
    }
}

/* Producers leave when a queue is closed, consumers when all are, and empty. */
static void one_round(double seconds)
{
    ceni_store_relaxed(&enough, 0); /* nobody looks yet */
    for (unsigned q = 0; q < now.queues; q++) queues[q] = make(now.kinds[q], now.capacities[q]);
    load_start(now.producers + now.consumers, produce_or_consume);
    load_sleep(seconds);
    ceni_store_relaxed(&enough, 1); /* carries nothing */
    for (unsigned q = 0; q < now.queues; q++) expect_equal(cen_queue_close(queues[q]), CEN_OK);
    load_join();
    take_the_rest();
}

static void run_plan(plan p)
{
    double seconds = load_begin();
    now = p;
    one_round(seconds);
    load_check();
}

/* ---- One queue ------------------------------------------------------------------------------------- */

TEST(blocking_pushes_and_pops_of_a_tiny_bounded_queue_lose_nothing)
{
    run_plan((plan){.queues = 1,
                    .kinds = {CEN_QUEUE_BOUNDED},
                    .capacities = {1},
                    .producers = 2,
                    .consumers = 2,
                    .push_by = BLOCKING,
                    .pop_by = BLOCKING});
}

/* Nobody ever sleeps here, so that nothing but the slots' stamps orders the
 * bytes: the test for ThreadSanitizer. */
TEST(the_bytes_of_an_element_are_there_when_it_is_popped)
{
    run_plan((plan){.queues = 1,
                    .kinds = {CEN_QUEUE_BOUNDED},
                    .capacities = {8},
                    .producers = 1,
                    .consumers = 2,
                    .push_by = TRY,
                    .pop_by = TRY});
}

TEST(every_manner_of_push_and_pop_keeps_a_bounded_queue_whole)
{
    run_plan((plan){.queues = 1,
                    .kinds = {CEN_QUEUE_BOUNDED},
                    .capacities = {3},
                    .producers = 3,
                    .consumers = 3,
                    .push_by = TRY | TIMED | BLOCKING,
                    .pop_by = TRY | TIMED | BLOCKING});
}

TEST(every_manner_of_push_and_pop_keeps_an_unbounded_queue_whole)
{
    run_plan((plan){.queues = 1,
                    .kinds = {CEN_QUEUE_UNBOUNDED},
                    .producers = 3,
                    .consumers = 3,
                    .push_by = TRY | TIMED | BLOCKING | FORCE,
                    .pop_by = TRY | TIMED | BLOCKING});
}

TEST(every_manner_of_push_and_pop_meets_in_a_rendezvous)
{
    run_plan((plan){.queues = 1,
                    .kinds = {CEN_QUEUE_RENDEZVOUS},
                    .producers = 3,
                    .consumers = 3,
                    .push_by = TRY | TIMED | BLOCKING,
                    .pop_by = TRY | TIMED | BLOCKING});
}

TEST(forced_pushes_account_for_what_they_evict)
{
    run_plan((plan){.queues = 1,
                    .kinds = {CEN_QUEUE_BOUNDED},
                    .capacities = {2},
                    .producers = 4,
                    .consumers = 2,
                    .push_by = FORCE | TRY | TIMED,
                    .pop_by = TRY | TIMED | BLOCKING});
}

TEST(more_threads_than_processors_share_a_queue)
{
    run_plan((plan){.queues = 1,
                    .kinds = {CEN_QUEUE_BOUNDED},
                    .capacities = {2},
                    .producers = 7,
                    .consumers = 7,
                    .push_by = BLOCKING | TIMED,
                    .pop_by = BLOCKING | TIMED});
}

/* ---- Several queues ----------------------------------------------------------------------------------- */

TEST(select_over_queues_of_every_kind_does_exactly_one_thing)
{
    run_plan((plan){.queues = 3,
                    .kinds = {CEN_QUEUE_BOUNDED, CEN_QUEUE_UNBOUNDED, CEN_QUEUE_RENDEZVOUS},
                    .capacities = {2, 0, 0},
                    .producers = 3,
                    .consumers = 3,
                    .push_by = SELECT | TRY | TIMED,
                    .pop_by = SELECT | TIMED});
}

/* ---- Ends and beginnings -------------------------------------------------------------------------------- */

TEST(a_close_in_the_middle_of_everything_loses_nothing)
{
    static const cen_queue_kind kinds[] = {CEN_QUEUE_BOUNDED, CEN_QUEUE_UNBOUNDED, CEN_QUEUE_RENDEZVOUS};
    int64_t until = ceni_clock_now() + (int64_t)(load_begin() * 1e9);
    unsigned rounds = 0;
    do {
        uint64_t dice = rounds;
        cen_queue_kind kind = kinds[rounds % 3];
        now = (plan){.queues = 1,
                     .kinds = {kind},
                     .capacities = {kind == CEN_QUEUE_BOUNDED ? 1 + rounds % 4 : 0},
                     .producers = 2,
                     .consumers = 2,
                     .push_by = TRY | TIMED | BLOCKING,
                     .pop_by = rounds % 2 ? TRY | TIMED : TRY | TIMED | BLOCKING,
                     .leave_early = rounds % 2};
        if (kind != CEN_QUEUE_RENDEZVOUS) now.push_by |= FORCE;
        one_round((double)(test_random(&dice) % 2000) * 1e-6);
        rounds++;
    } while (ceni_clock_now() < until);
    printf("     %u rounds\n", rounds);
    load_check();
}

/* A queue is made, filled and closed by one thread, travels through another
 * queue, and is emptied and freed by the thread that gets it. */
static cen_queue *mail;

static void send_queues(worker *self)
{
    while (!ceni_load_relaxed(&enough)) { /* carries nothing */
        cen_queue *queue = draw_below(self, 2) ? make(CEN_QUEUE_BOUNDED, 40) : make(CEN_QUEUE_UNBOUNDED, 0);
        is_doing(self, "filling a queue of its own");
        for (unsigned i = draw_below(self, 40); i > 0; i--) {
            parcel one = parcel_next(self, 0);
            expect_equal(cen_queue_push(queue, &one), CEN_OK);
            parcel_was_pushed(self, &one);
        }
        expect_equal(cen_queue_close(queue), CEN_OK);
        is_doing(self, "sending a queue");
        expect_equal(cen_queue_push(mail, &queue), CEN_OK);
    }
}

static void receive_queues(worker *self)
{
    cen_queue *queue;
    is_doing(self, "receiving queues");
    while (cen_queue_pop(mail, &queue) == CEN_OK) {
        parcel one;
        while (cen_queue_pop(queue, &one) == CEN_OK) parcel_was_taken(self, &one);
        cen_queue_free(queue);
    }
}

static void send_or_receive(worker *self)
{
    if (self->number < 2) send_queues(self);
    else receive_queues(self);
    if (self->number < 2 && ceni_add_acq_rel(&enough, 1) == 2) cen_queue_close(mail); /* the last sender */
}

TEST(queues_that_are_made_passed_on_and_freed_lose_nothing)
{
    double seconds = load_begin();
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(cen_queue *), .capacity = 4);
    expect_equal(cen_queue_new(&options, &mail, NULL), CEN_OK);
    ceni_store_relaxed(&enough, 0); /* nobody looks yet */
    load_start(4, send_or_receive);
    load_sleep(seconds);
    ceni_add_acq_rel(&enough, 1);
    load_join();
    cen_queue_free(mail);
    load_check();
}
