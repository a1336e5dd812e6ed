/* SPDX-License-Identifier: MIT */
#include "stress/pool_load.h"

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

enum { PATIENCE = 40 }; /* seconds that a worker may take to notice the end */

static worker workers[LOAD_WORKERS];
static ceni_thread threads[LOAD_WORKERS];
static unsigned started;
static void (*worker_run)(worker *self);
static _Atomic unsigned ended;
static uint64_t seed;

/* ---- Noise ----------------------------------------------------------------------- */

unsigned draw_below(worker *self, unsigned below)
{
    return (unsigned)(test_random(&self->dice) % below);
}

void load_sleep(double seconds)
{
    ceni_sleep_until(ceni_clock_now() + (int64_t)(seconds * 1e9));
}

void make_noise(worker *self)
{
    unsigned roll = draw_below(self, 2048);
    if (roll == 0) load_sleep(50e-6);
    else if (roll < 64) ceni_thread_yield();
    else if (roll < 256)
        for (unsigned i = 0; i < roll; i++) ceni_pause();
}

void is_doing(worker *self, const char *what)
{
    ceni_store_relaxed(&self->doing, what); /* carries nothing */
}

/* ---- Workers ------------------------------------------------------------------------ */

double load_begin(unsigned tests)
{
    const char *text = getenv("CENOTE_STRESS_SECONDS");
    double all = text ? strtod(text, NULL) : usual_seconds;
    double mine = (all > 0 ? all : usual_seconds) / tests;
    seed = test_seed();
    printf("     %.2f s; oracle: taken = given + discarded + held, one user per object, never more than max, each "
           "closed once\n",
           mine);
    alarm((unsigned)mine + 3 * PATIENCE);
    memset(workers, 0, sizeof workers);
    for (unsigned i = 0; i < LOAD_WORKERS; i++) {
        workers[i].number = (int)i;
        workers[i].dice = seed + i;
        seed = test_random(&workers[i].dice);
    }
    return mine;
}

static void run_worker(void *argument)
{
    worker *self = argument;
    worker_run(self);
    is_doing(self, NULL);
    ceni_add_acq_rel(&ended, 1);
}

void load_start(unsigned count, void (*run)(worker *self))
{
    expect(count < LOAD_WORKERS); /* the last is main */
    worker_run = run;
    started = count;
    ceni_store_relaxed(&ended, 0); /* nobody looks yet */
    for (unsigned i = 0; i < count; i++) {
        is_doing(&workers[i], "starting");
        expect_equal(ceni_thread_start(&threads[i], "worker", run_worker, &workers[i], NULL), CEN_OK);
    }
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

worker load_sum(void)
{
    worker sum = {.number = -1};
    for (unsigned i = 0; i < LOAD_WORKERS; i++) {
        sum.taken += workers[i].taken;
        sum.given += workers[i].given;
        sum.discarded += workers[i].discarded;
        sum.timed_out += workers[i].timed_out;
        sum.refused += workers[i].refused;
    }
    return sum;
}

/* ---- Objects ---------------------------------------------------------------------------- */

enum { PLACE_FREE, OBJECT_OPEN };

void stock_begin(stock *s, uint32_t max)
{
    memset((void *)s, 0, sizeof *s);
    ceni_store_relaxed(&s->allowed, max); /* nobody looks yet */
}

/* Places are used in turn, so that one that was closed stays closed for a while. */
static object *fill_place(stock *s)
{
    for (unsigned tries = 0; tries < 2 * STOCK; tries++) {
        object *o = &s->objects[ceni_add_relaxed(&s->next, 1) % STOCK]; /* a number; carries nothing */
        uint32_t found = PLACE_FREE;
        if (!ceni_cas_acquire(&o->state, &found, OBJECT_OPEN)) continue;
        o->left = o->right = 0;
        return o;
    }
    test_fail(__FILE__, __LINE__, "the driver has no place for another object");
}

static void empty_place(object *o)
{
    if (ceni_load_acquire(&o->user)) test_fail(__FILE__, __LINE__, "an object was closed while it was used");
    if (o->left != o->right) test_fail(__FILE__, __LINE__, "an object was closed half written");
    if (ceni_exchange_release(&o->state, PLACE_FREE) != OBJECT_OPEN)
        test_fail(__FILE__, __LINE__, "an object was closed twice");
}

static cen_status open_one(void *argument, void **out, cen_error *error)
{
    stock *s = argument;
    (void)error;
    uint32_t one_in = ceni_load_relaxed(&s->fail_one_in); /* a setting; carries nothing */
    if (one_in && (uint64_t)ceni_random() % one_in == 0) {
        ceni_add_relaxed(&s->failed, 1); /* read when all is over; carries nothing */
        return CEN_DRIVER;
    }
    uint32_t live = ceni_add_acq_rel(&s->live, 1) + 1;
    uint32_t allowed = ceni_load_acquire(&s->allowed);
    if (live > allowed) test_fail(__FILE__, __LINE__, "%u objects are open, %u may be", live, allowed);
    ceni_add_relaxed(&s->opened, 1); /* the same */
    *out = fill_place(s);
    return CEN_OK;
}

static bool is_adopted(const object *o)
{
    return o->left & 1;
}

static void close_one(void *argument, void *closed)
{
    stock *s = argument;
    object *o = closed;
    bool adopted = is_adopted(o);
    empty_place(o);
    if (!adopted) ceni_sub_relaxed(&s->live, 1); /* a number; carries nothing */
    ceni_add_relaxed(&s->closed, 1);             /* read when all is over; carries nothing */
}

/* The holder may be using it right now. */
static void interrupt_one(void *argument, void *interrupted)
{
    stock *s = argument;
    object *o = interrupted;
    if (ceni_load_acquire(&o->state) != OBJECT_OPEN)
        test_fail(__FILE__, __LINE__, "an object was interrupted that is not open");
    ceni_add_relaxed(&s->interrupts, 1); /* the same */
}

cen_driver stock_driver(stock *s)
{
    static const cen_driver_calls calls = {
        .size = sizeof calls, .open = open_one, .close = close_one, .interrupt = interrupt_one};
    return (cen_driver){&calls, s};
}

/* Uses add 2 to both halves; an adopted object is odd. */
object *stock_make(stock *s)
{
    object *o = fill_place(s);
    o->left = o->right = 1;
    ceni_add_relaxed(&s->adopted, 1); /* read when all is over; carries nothing */
    return o;
}

void stock_unmake(stock *s, object *o)
{
    ceni_sub_relaxed(&s->adopted, 1); /* the same */
    empty_place(o);
}

void use_begin(worker *self, object *o)
{
    uint32_t other = ceni_exchange_acquire(&o->user, (uint32_t)self->number + 1);
    if (other) test_fail(__FILE__, __LINE__, "worker %d has an object that worker %u uses", self->number, other - 1);
    if (ceni_load_relaxed(&o->state) != OBJECT_OPEN)
        test_fail(__FILE__, __LINE__, "worker %d has a closed object", self->number);
    if (o->left != o->right)
        test_fail(__FILE__, __LINE__, "worker %d has an object that is half written", self->number);
    o->left += 2;
}

void use_end(worker *self, object *o)
{
    o->right += 2;
    uint32_t me = ceni_exchange_release(&o->user, 0);
    if (me != (uint32_t)self->number + 1)
        test_fail(__FILE__, __LINE__, "worker %d was not the only user", self->number);
}

void stock_check(const stock *s)
{
    uint64_t opened = s->opened, adopted = s->adopted, closed = s->closed;
    expect_equal(closed, opened + adopted);
    expect_equal(s->live, 0);
    for (unsigned i = 0; i < STOCK; i++) expect_equal(s->objects[i].state, PLACE_FREE);
}

/* ---- Numbers -------------------------------------------------------------------------------- */

void check_equations(const cen_pool_stats *s)
{
    uint64_t out = (uint64_t)s->held + s->revoked, there = s->places - s->vacant;
    expect_equal(s->idle + s->held + s->moving + s->revoked + s->opening + s->resetting + s->testing + s->closing +
                     s->vacant,
                 s->places);
    expect(s->places >= s->max);
    expect(s->taken - s->ended >= out && s->taken - s->ended <= out + s->moving);
    if (s->moving + s->opening + s->closing == 0) expect_equal(s->opened + s->adopted - s->closed, there);
    expect_equal(s->waited, s->served + s->timed_out + s->sent_away + s->failed + s->shed + s->cancelled + s->waiting);
    expect(s->wait_p50_ns <= s->wait_p99_ns && s->wait_p99_ns <= s->wait_longest_ns);
}
