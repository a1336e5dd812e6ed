/* SPDX-License-Identifier: MIT */
/*
 * The search over schedules.
 *
 * Exhaustive: depth first over the choices; each schedule is run from the start. A schedule is a path of choices. The
 * next schedule takes the deepest choice that has an untried option within the preemption bound. States that have
 * been seen are pruned: at each new point the hash of all threads' pasts (see memory.c) is looked up. If the same
 * state was reached before with no more preemptions spent, all its continuations have been run or will be run from
 * there. Unlike sleep sets this stays exhaustive under a bound, because the preemptions spent are part of the
 * comparison.
 *
 * Random: priorities (PCT). Each thread gets a random priority, and the thread of the highest priority that can go on
 * runs. At a few random steps the running thread falls to the lowest priority. In a schedule of k steps of n threads,
 * a bug that needs d ordering constraints is found with probability at least 1/(n k^(d-1)).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "port/fake/internal.h"

/* ---- States seen --------------------------------------------------------------- */

typedef struct seen_table {
    uint64_t *slots; /* keys, with the preemptions spent in the low four bits; 0 is empty */
    uint64_t size, used;
} seen_table;

static seen_table seen;

static uint64_t *seen_slot(seen_table *table, uint64_t key)
{
    uint64_t i = key >> 4;
    while (table->slots[i & (table->size - 1)] && (table->slots[i & (table->size - 1)] ^ key) >> 4) i++;
    return &table->slots[i & (table->size - 1)];
}

static void seen_grow(void)
{
    seen_table larger = {NULL, seen.size ? seen.size * 2 : 1 << 16, seen.used};
    larger.slots = calloc(larger.size, sizeof *larger.slots);
    if (!larger.slots) ceni_world_fail("out of memory for the states seen");
    for (uint64_t i = 0; i < seen.size; i++)
        if (seen.slots[i]) *seen_slot(&larger, seen.slots[i]) = seen.slots[i];
    free(seen.slots);
    seen = larger;
}

/* Returns true if this state was reached before with no more preemptions spent. */
static bool seen_before(uint64_t key, unsigned spent)
{
    if (seen.used * 2 >= seen.size) seen_grow();
    key = key & ~(uint64_t)15 ? key & ~(uint64_t)15 : 16;
    uint64_t *slot = seen_slot(&seen, key);
    if (*slot && (*slot & 15) <= spent) return true;
    if (!*slot) seen.used++;
    *slot = key | spent;
    return false;
}

static void seen_forget(void)
{
    free(seen.slots);
    seen = (seen_table){NULL, 0, 0};
}

/* ---- Exhaustive ------------------------------------------------------------------ */

typedef struct branch {
    uint8_t choice, options, spent;
} branch;

enum { PATH = 1 << 16 };
static branch path[PATH];
static unsigned path_length, path_at;
static unsigned spent, bound;
static bool unpruned;

static unsigned affordable(const world_step *options, unsigned count, unsigned *which)
{
    unsigned fits = 0;
    for (unsigned i = 0; i < count; i++)
        if (spent + options[i].cost <= bound) which[fits++] = i;
    return fits;
}

static void give_up(void)
{
    the_world.given_up = true;
    ceni_fiber_switch(&the_world.current->fiber, &the_world.home, true);
}

static unsigned next_on_path(const world_step *options, unsigned count)
{
    unsigned which[WORLD_OPTIONS];
    unsigned fits = affordable(options, count, which);
    if (path_at == PATH) ceni_world_fail("no progress: more choices than a schedule may have");
    if (path_at == path_length) {
        if (!unpruned &&
            seen_before(memory_mix(world_key(), (uint64_t)options[0].kind << 8 | options[0].thread), spent))
            give_up();
        path[path_length++] = (branch){0, (uint8_t)fits, (uint8_t)spent};
    }
    const branch *here = &path[path_at++];
    if (here->options != fits) ceni_world_fail("the body is not deterministic: a second run differs");
    spent += options[which[here->choice]].cost;
    return which[here->choice];
}

static bool advance_path(void)
{
    while (path_length > 0) {
        branch *last = &path[path_length - 1];
        if (++last->choice < last->options) return true;
        path_length--;
    }
    return false;
}

static ceni_explored explore_all(const ceni_exploration *plan)
{
    ceni_explored result = {0, 0, 0, 0};
    bound = plan->preemptions;
    unpruned = plan->unpruned;
    if (bound > 15) ceni_world_fail("a search allows at most 15 preemptions");
    path_length = 0;
    seen_forget();
    do {
        path_at = 0;
        spent = 0;
        world_once(plan->body, next_on_path, WORLD_STEPS);
        result.steps += the_world.steps;
        if (the_world.given_up) result.pruned++;
        else result.run++;
    } while (advance_path());
    seen_forget();
    return result;
}

/* ---- Random with priorities --------------------------------------------------------- */

static uint64_t dice;
static uint64_t priorities[WORLD_THREADS + 1]; /* the last one is the clock's */
static uint64_t change_at[16], lowest;
static unsigned changes_left;

static uint64_t roll(void)
{
    return dice = memory_mix(dice, 1);
}

/* A thread that polls rarely goes on polling: two such threads would starve a third. */
static uint64_t priority_of(const world_step *step)
{
    if (step->kind == STEP_RUN && the_world.threads[step->thread].stepped_aside)
        return roll() % 64 == 0 ? UINT64_MAX : 0;
    if (step->kind == STEP_EXPIRE) return priorities[WORLD_THREADS];
    if (step->kind == STEP_DRAIN) return roll() % 4 == 0 ? UINT64_MAX : 0;
    return priorities[step->thread];
}

static unsigned by_priority(const world_step *options, unsigned count)
{
    if (options[0].kind == STEP_PARK) return roll() % 16 == 0;
    if (options[0].kind == STEP_NEWEST) return roll() % 8 == 0 ? (unsigned)(roll() % count) : 0;
    if (options[0].kind == STEP_COMMIT || options[0].kind == STEP_GO) return roll() % 4 == 0;
    for (unsigned i = 0; i < changes_left; i++) {
        if (change_at[i] != the_world.steps) continue;
        priorities[world_index(the_world.current)] = lowest--;
        change_at[i] = UINT64_MAX;
        if (roll() % 4 == 0) priorities[WORLD_THREADS] = roll(); /* time may jump, once */
    }
    unsigned best = 0;
    for (unsigned i = 1; i < count; i++)
        if (priority_of(&options[i]) > priority_of(&options[best])) best = i;
    if (options[best].kind == STEP_EXPIRE) priorities[WORLD_THREADS] = 0;
    return best;
}

static ceni_explored explore_random(const ceni_exploration *plan)
{
    ceni_explored result = {0, 0, 0, 0};
    uint64_t steps = 100; /* of the previous schedule; changes are placed within as many */
    for (unsigned n = 0; n < plan->random_runs; n++) {
        dice = memory_mix(plan->seed, n);
        lowest = 1000;
        for (unsigned i = 0; i <= WORLD_THREADS; i++) priorities[i] = 1000 + roll() / 2;
        priorities[WORLD_THREADS] = 0;
        changes_left = plan->changes < 16 ? plan->changes : 16;
        for (unsigned i = 0; i < changes_left; i++) change_at[i] = roll() % (steps + 1);
        world_once(plan->body, by_priority, WORLD_STEPS);
        steps = the_world.steps;
        result.steps += steps;
        result.run++;
    }
    return result;
}

ceni_explored ceni_world_explore(const ceni_exploration *plan)
{
    the_world.tso = plan->memory == CENI_MEMORY_TSO;
    the_world.weak = plan->memory == CENI_MEMORY_WEAK;
    the_world.most = 0;
    ceni_explored result = plan->random_runs ? explore_random(plan) : explore_all(plan);
    result.threads = the_world.most;
    return result;
}

/* ---- Replay ------------------------------------------------------------------------------ */

/* A trace lists the choices that were not the default: "17:r2,31:x1". */
static const char *rest_of_trace;
static unsigned choices_made;

static unsigned from_trace(const world_step *options, unsigned count)
{
    unsigned at, thread;
    char kind;
    unsigned number = choices_made++;
    if (sscanf(rest_of_trace, "%u:%c%u", &at, &kind, &thread) != 3 || at != number) return 0;
    const char *comma = strchr(rest_of_trace, ',');
    rest_of_trace = comma ? comma + 1 : "";
    for (unsigned i = 0; i < count; i++)
        if (step_letter(options[i]) == kind && options[i].thread == thread) return i;
    ceni_world_fail("the trace does not fit: choice %u has no step %c%u", at, kind, thread);
}

bool ceni_world_replay(const ceni_exploration *plan, const char *trace)
{
    if (trace[strspn(trace, "0123456789:,rdxhcgpsno")] != '\0') return false;
    the_world.tso = plan->memory == CENI_MEMORY_TSO;
    the_world.weak = plan->memory == CENI_MEMORY_WEAK;
    rest_of_trace = trace;
    choices_made = 0;
    world_once(plan->body, from_trace, WORLD_STEPS);
    story_print();
    return true;
}
