/* SPDX-License-Identifier: MIT */
#include "stress/load.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/atomic.h"
#include "port/port.h"
#include "support/test.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define WITH_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define WITH_SANITIZER 1
#endif
#endif
#ifdef WITH_SANITIZER
static const double usual_seconds = 2.5;
#else
static const double usual_seconds = 4;
#endif

enum { TESTS = 10, PATIENCE = 40 }; /* seconds that a worker may take to notice the end */

static worker workers[LOAD_WORKERS];
static ceni_thread threads[LOAD_WORKERS];
static unsigned started;
static void (*worker_run)(worker *self);
static _Atomic unsigned ended;
static uint64_t seed;

/* ---- Parcels ------------------------------------------------------------------------- */

static uint64_t seal_of(const parcel *one)
{
    uint64_t state = one->salt ^ ((uint64_t)one->producer << 48 | (uint64_t)one->queue << 32 | one->number);
    return test_random(&state);
}

static void enter(ledger *l, const parcel *one)
{
    l->count++;
    l->sum += one->seal;
}

parcel parcel_next(worker *self, unsigned queue)
{
    parcel one = {(uint16_t)self->number, (uint16_t)queue, self->sent[queue] + 1, test_random(&self->dice), 0};
    one.seal = seal_of(&one);
    return one;
}

void parcel_was_pushed(worker *self, const parcel *one)
{
    self->sent[one->queue] = one->number;
    enter(&self->pushed, one);
}

void parcel_was_taken(worker *self, const parcel *one)
{
    if (one->seal != seal_of(one) || one->producer >= LOAD_WORKERS || one->queue >= LOAD_QUEUES)
        test_fail(__FILE__, __LINE__, "worker %d took a torn parcel", self->number);
    uint32_t *seen = &self->seen[one->producer][one->queue];
    if (one->number <= *seen)
        test_fail(__FILE__, __LINE__, "worker %d took number %u of producer %u after number %u", self->number,
                  one->number, one->producer, *seen);
    *seen = one->number;
    enter(&self->taken, one);
}

/* ---- Noise ------------------------------------------------------------------------------ */

unsigned draw_below(worker *self, unsigned below)
{
    return (unsigned)(test_random(&self->dice) % below);
}

void make_noise(worker *self)
{
    unsigned roll = draw_below(self, 2048);
    if (roll == 0) load_sleep(50e-6);
    else if (roll < 64) ceni_thread_yield();
    else if (roll < 256)
        for (unsigned i = 0; i < roll; i++) ceni_pause();
}

void load_sleep(double seconds)
{
    ceni_sleep_until(ceni_clock_now() + (int64_t)(seconds * 1e9));
}

/* ---- Workers ------------------------------------------------------------------------------- */

double load_begin(void)
{
    const char *text = getenv("CENOTE_STRESS_SECONDS");
    double all = text ? strtod(text, NULL) : usual_seconds;
    double mine = (all > 0 ? all : usual_seconds) / TESTS;
    seed = test_seed();
    printf("     %.2f s; oracle: pushed = taken + left, each parcel once, whole, in the order of its producer\n", mine);
    alarm((unsigned)mine + 3 * PATIENCE);
    memset(workers, 0, sizeof workers);
    return mine;
}

static void run_worker(void *argument)
{
    worker *self = argument;
    worker_run(self);
    ceni_store_relaxed(&self->doing, NULL); /* carries nothing */
    ceni_add_acq_rel(&ended, 1);
}

void load_start(unsigned count, void (*run)(worker *self))
{
    expect(count < LOAD_WORKERS); /* the last is main */
    worker_run = run;
    started = count;
    ceni_store_relaxed(&ended, 0); /* nobody looks yet */
    for (unsigned i = 0; i < LOAD_WORKERS; i++) {
        workers[i].number = (int)i;
        workers[i].dice = seed + i;
        seed = test_random(&workers[i].dice);
        ceni_store_relaxed(&workers[i].doing, "starting"); /* the same */
    }
    for (unsigned i = 0; i < count; i++)
        expect_equal(ceni_thread_start(&threads[i], "worker", run_worker, &workers[i], NULL), CEN_OK);
}

static void name_the_hung(void)
{
    for (unsigned i = 0; i < started; i++) {
        const char *doing = ceni_load_relaxed(&workers[i].doing); /* carries nothing */
        if (doing) printf("     worker %u hangs in %s\n", i, doing);
    }
    test_fail(__FILE__, __LINE__, "some workers have not ended after %d s", PATIENCE);
}

void load_join(void)
{
    int64_t until = ceni_clock_now() + (int64_t)PATIENCE * 1000000000;
    while (ceni_load_acquire(&ended) < started) {
        if (ceni_clock_now() > until) name_the_hung();
        load_sleep(200e-6);
    }
    for (unsigned i = 0; i < started; i++) ceni_thread_join(&threads[i]);
}

worker *load_main(void)
{
    return &workers[LOAD_WORKERS - 1];
}

void load_check(void)
{
    ledger pushed = {0, 0}, taken = {0, 0};
    for (unsigned i = 0; i < LOAD_WORKERS; i++) {
        pushed.count += workers[i].pushed.count;
        pushed.sum += workers[i].pushed.sum;
        taken.count += workers[i].taken.count;
        taken.sum += workers[i].taken.sum;
    }
    printf("     %" PRIu64 " parcels, %" PRIu64 " of them left over\n", pushed.count, load_main()->taken.count);
    expect(pushed.count > 0);
    expect_equal(taken.count, pushed.count);
    expect(taken.sum == pushed.sum);
}
