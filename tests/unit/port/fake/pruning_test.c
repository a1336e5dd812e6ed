/* SPDX-License-Identifier: MIT */
/*
 * Pruning must lose no outcome within the bound. Small random programs of
 * three threads are searched with and without it, and the sets of all they can
 * come to are compared.
 */
#include "base/atomic.h"
#include "support/world.h"

enum { THREADS = 3, OPERATIONS = 3, OUTCOMES = 1 << 14 };

typedef struct program {
    uint8_t operations[THREADS][OPERATIONS]; /* low bits: what; then: on which object */
} program;

static program tried;
static _Atomic uint32_t objects[2], word;
static uint64_t seen_by[THREADS];

static uint64_t outcomes[2][OUTCOMES]; /* with and without pruning, sorted at the end */
static size_t found[2];
static int searching;

static uint64_t step(uint8_t operation, unsigned thread)
{
    _Atomic uint32_t *object = &objects[operation >> 3 & 1];
    uint32_t expected = 0;
    switch (operation & 7) {
    case 0: return ceni_load_relaxed(object);
    case 1: return ceni_load_acquire(object);
    case 2: return ceni_store_relaxed(object, thread + 1), 0;
    case 3: return ceni_store_release(object, thread + 3), 0;
    case 4: return ceni_add_seq_cst(object, 10);
    case 5: return ceni_cas_acq_rel(object, &expected, 5) ? 1 : expected;
    case 6: return ceni_pause(), 0;
    default: return ceni_futex_wait(&word, 0, ceni_clock_now() + 1000);
    }
}

static void run_thread(void *number)
{
    unsigned thread = (unsigned)(uintptr_t)number;
    for (int i = 0; i < OPERATIONS; i++)
        seen_by[thread] = seen_by[thread] * 31 + step(tried.operations[thread][i], thread) + 1;
}

static void note_outcome(uint64_t outcome)
{
    for (size_t i = 0; i < found[searching]; i++)
        if (outcomes[searching][i] == outcome) return;
    expect(found[searching] < OUTCOMES);
    outcomes[searching][found[searching]++] = outcome;
}

static void body(void)
{
    objects[0] = objects[1] = word = 0;
    memset(seen_by, 0, sizeof seen_by);
    ceni_thread one = start("one", run_thread, (void *)1), two = start("two", run_thread, (void *)2);
    run_thread((void *)0);
    join(one);
    join(two);
    uint64_t last = (uint64_t)ceni_load_relaxed(&objects[0]) << 32 | ceni_load_relaxed(&objects[1]);
    note_outcome(((seen_by[0] * 1000003 ^ seen_by[1]) * 1000003 ^ seen_by[2]) * 1000003 ^ last);
}

static bool was_found(uint64_t outcome)
{
    for (size_t i = 0; i < found[0]; i++)
        if (outcomes[0][i] == outcome) return true;
    return false;
}

static void compare(unsigned preemptions, ceni_memory memory)
{
    found[0] = found[1] = 0;
    for (searching = 0; searching <= 1; searching++) {
        ceni_exploration plan = {.body = body, .preemptions = preemptions, .memory = memory, .unpruned = searching};
        ceni_world_explore(&plan);
    }
    expect_equal(found[0], found[1]);
    for (size_t i = 0; i < found[1]; i++) expect(was_found(outcomes[1][i]));
}

PLAIN_TEST(pruning_loses_no_outcome_of_random_programs)
{
    uint64_t dice = test_seed();
    for (int n = 0; n < 60; n++) {
        for (int i = 0; i < THREADS * OPERATIONS; i++)
            tried.operations[i / OPERATIONS][i % OPERATIONS] = (uint8_t)test_random(&dice);
        for (unsigned preemptions = 0; preemptions <= 2; preemptions++)
            for (int memory = CENI_MEMORY_STRONG; memory <= CENI_MEMORY_WEAK; memory++)
                compare(preemptions, (ceni_memory)memory);
    }
}
