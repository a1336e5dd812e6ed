/* SPDX-License-Identifier: MIT */
/*
 * Random load on futures by threads of the system. Some make futures and wait
 * for them, give them up, have them told to an inbox or inline, or put them into
 * groups; others keep or fail their promises. Each future, promise and value lies
 * in memory of its own and is given back at the first moment at which it may be,
 * so that whoever touches it afterwards is caught by a sanitizer.
 *
 * The oracle: each value arrived once, or was still its promiser's; each future
 * ended once, done or given up; and for each that was given up its promiser was
 * told that nobody wants it.
 *
 *     CENOTE_STRESS_SECONDS=n   for all tests of the program together
 *     CENOTE_SEED=n             the same choices, though not the same schedule
 */
#include <cenote/future.h>
#include <cenote/inbox.h>
#include <cenote/queue.h>

#include <stdlib.h>
#include <unistd.h>

#include "base/atomic.h"
#include "port/port.h"
#include "support/test.h"

enum { CONSUMERS = 3, PROMISERS = 2, BATCH = 6 };

static cen_queue *promised;
static _Atomic uint64_t made, arrived, failed, given_up, kept, broken, refused, unwanted;
static int64_t until;

static void count(_Atomic uint64_t *which)
{
    ceni_add_seq_cst(which, 1);
}

static void *room_for(size_t size)
{
    void *memory = malloc(size);
    expect(memory != NULL);
    return memory;
}

/* ---- Those who promise ----------------------------------------------------------------------- */

static void settle_one(cen_promise *promise, uint64_t *dice)
{
    for (uint64_t i = test_random(dice) % 4; i > 0; i--) ceni_thread_yield();
    uint64_t choice = test_random(dice) % 8;
    if (choice == 0 && !cen_promise_is_wanted(promise)) {
        count(&unwanted);
    } else if (choice == 1) {
        count(cen_promise_fail(promise, &(cen_error){.status = CEN_CLOSED, .code = 1}) ? &broken : &refused);
    } else {
        uint64_t *value = room_for(sizeof *value);
        *value = ~(uint64_t)(uintptr_t)value;
        bool told = cen_promise_complete(promise, value);
        count(told ? &kept : &refused);
        if (!told) free(value); /* still ours */
    }
    free(promise);
}

static void promise_all(void *seed)
{
    uint64_t dice = *(uint64_t *)seed;
    for (cen_promise *promise; cen_queue_pop(promised, &promise) == CEN_OK;) settle_one(promise, &dice);
}

/* ---- Those who consume ------------------------------------------------------------------------- */

typedef struct consumer {
    cen_future *futures[BATCH];
    size_t count, told;
    cen_inbox *inbox;
    uint64_t dice;
} consumer;

static void promise_future(cen_future *future)
{
    cen_promise *promise = room_for(sizeof *promise);
    expect_equal(cen_promise_init(promise, future), CEN_OK);
    expect_equal(cen_queue_push(promised, &promise), CEN_OK);
    count(&made);
}

static void end_done(cen_future *future)
{
    if (future->status == CEN_OK) {
        uint64_t *value = future->value;
        expect(*value == ~(uint64_t)(uintptr_t)value);
        free(value);
        count(&arrived);
    } else {
        expect(future->status == CEN_CLOSED && future->code == 1 && !future->value);
        count(&failed);
    }
    free(future);
}

static void end_given_up(cen_future *future)
{
    free(future);
    count(&given_up);
}

static void wait_or_give_up(consumer *self, cen_future *future)
{
    uint64_t choice = test_random(&self->dice) % 4;
    cen_deadline patience = choice == 0 ? CEN_NEVER : choice == 1 ? CEN_NOW : cen_in_us(20);
    if (choice < 3 && cen_future_wait(future, patience) == CEN_OK) {
        end_done(future);
    } else if (cen_future_cancel(future)) {
        end_given_up(future);
    } else {
        expect_equal(cen_future_wait(future, CEN_NEVER), CEN_OK);
        end_done(future);
    }
}

static void told_to_inbox(cen_future *future)
{
    consumer *self = future->user;
    end_done(future);
    self->told++;
}

static void use_inbox(consumer *self)
{
    self->told = 0;
    for (size_t i = 0; i < self->count; i++) {
        self->futures[i]->user = self;
        expect_equal(cen_future_then(self->futures[i], told_to_inbox, cen_inbox_executor(self->inbox)), CEN_OK);
    }
    size_t expected = self->count;
    for (size_t i = 0; i < self->count; i++) {
        /* `done` runs here, and has not yet */
        if (test_random(&self->dice) % 3 || !cen_future_cancel(self->futures[i])) continue;
        end_given_up(self->futures[i]);
        expected--;
    }
    while (self->told < expected) cen_inbox_wait(self->inbox, CEN_NEVER);
}

static void use_group(consumer *self)
{
    cen_group *group = room_for(sizeof *group);
    bool any = test_random(&self->dice) % 2;
    expect_equal((any ? cen_any_of : cen_all_of)(group, self->futures, self->count), CEN_OK);
    cen_deadline patience = test_random(&self->dice) % 2 ? CEN_NEVER : cen_in_us(20);
    if (cen_future_wait(&group->future, patience) == CEN_OK) {
        cen_future *one = group->future.value;
        expect(any ? one && cen_future_is_done(one) : !one || one->status == CEN_CLOSED);
    } else {
        cen_future_cancel(&group->future);
    }
    cen_group_leave(group);
    free(group);
    for (size_t i = 0; i < self->count; i++) wait_or_give_up(self, self->futures[i]);
}

static void use_inline(consumer *self)
{
    for (size_t i = 0; i < self->count; i++)
        expect_equal(cen_future_then(self->futures[i], end_done, cen_inline()), CEN_OK);
}

/* Long enough, and every way to end has been gone: on a machine that is busy otherwise, time alone says little. */
static bool is_enough(void)
{
    bool all = ceni_load_seq_cst(&kept) && ceni_load_seq_cst(&broken) && ceni_load_seq_cst(&refused);
    return all && ceni_clock_now() >= until;
}

static void consume(void *seed)
{
    consumer self = {.dice = *(uint64_t *)seed};
    expect_equal(cen_inbox_new(NULL, &self.inbox, NULL), CEN_OK);
    while (!is_enough()) {
        self.count = 1 + test_random(&self.dice) % BATCH;
        for (size_t i = 0; i < self.count; i++) {
            cen_future_init(self.futures[i] = room_for(sizeof(cen_future)));
            promise_future(self.futures[i]);
        }
        uint64_t choice = test_random(&self.dice) % 4;
        if (choice == 0) use_inbox(&self);
        else if (choice == 1) use_group(&self);
        else if (choice == 2) use_inline(&self);
        else
            for (size_t i = 0; i < self.count; i++) wait_or_give_up(&self, self.futures[i]);
    }
    expect_equal(cen_inbox_free(self.inbox), CEN_OK);
}

/* guarantees: future.once, future.memory */
TEST(every_value_arrives_once_or_stays_its_promisers)
{
    const char *text = getenv("CENOTE_STRESS_SECONDS");
    double seconds = text ? strtod(text, NULL) : 1.0;
    uint64_t seed = test_seed(), seeds[CONSUMERS + PROMISERS];
    ceni_thread threads[CONSUMERS + PROMISERS];
    int code;
    alarm((unsigned)seconds + 60);
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(cen_promise *), .kind = CEN_QUEUE_UNBOUNDED);
    expect_equal(cen_queue_new(&options, &promised, NULL), CEN_OK);
    until = ceni_clock_now() + (int64_t)(seconds * 1e9);
    for (int i = 0; i < CONSUMERS + PROMISERS; i++) {
        seeds[i] = test_random(&seed);
        expect_equal(ceni_thread_start(&threads[i], NULL, i < CONSUMERS ? consume : promise_all, &seeds[i], &code),
                     CEN_OK);
    }
    for (int i = 0; i < CONSUMERS; i++) ceni_thread_join(&threads[i]);
    cen_queue_close(promised); /* what is in it is still popped */
    for (int i = CONSUMERS; i < CONSUMERS + PROMISERS; i++) ceni_thread_join(&threads[i]);
    cen_queue_free(promised);
    expect_equal(ceni_load_seq_cst(&arrived), ceni_load_seq_cst(&kept));
    expect_equal(ceni_load_seq_cst(&failed), ceni_load_seq_cst(&broken));
    expect_equal(ceni_load_seq_cst(&given_up), ceni_load_seq_cst(&refused) + ceni_load_seq_cst(&unwanted));
    expect_equal(ceni_load_seq_cst(&made),
                 ceni_load_seq_cst(&arrived) + ceni_load_seq_cst(&failed) + ceni_load_seq_cst(&given_up));
    printf("     %" PRIu64 " arrived, %" PRIu64 " failed, %" PRIu64 " given up\n", ceni_load_seq_cst(&arrived),
           ceni_load_seq_cst(&failed), ceni_load_seq_cst(&given_up));
}
