/* SPDX-License-Identifier: MIT */
/*
 * Random sequences of operations against a system and its model, from a seed;
 * a sequence that fails is shrunk to a short one and printed.
 *
 *     static const char *push(void *state, int a, int b) { ... return NULL; }
 *     static const model_op ops[] = {{"push", 3, 10, 0, push, NULL}, ...};
 *
 *     PLAIN_TEST(the_stack_matches_its_model)
 *     {
 *         model_check(&(model){.name = "stack", .ops = ops, .op_count = 2, .setup = setup,
 *                              .teardown = teardown, .steps = 100, .runs = 2000});
 *     }
 *
 * An operation does its step on the system and on the model and returns NULL,
 * or a text that says how the two differ; it does not end the process. Each
 * run is in a world of its own if the program has worlds, so that it can be
 * repeated exactly. All runs are in a child process, and so is every attempt
 * to shrink: a crash, a hang or a failed expect() in the system under test is
 * a failure like any other and is shrunk like any other.
 *
 *     CENOTE_SEED=n   the same runs again, and so the same failure
 */
#ifndef TESTS_SUPPORT_MODEL_H
#define TESTS_SUPPORT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct model_op {
    const char *name;
    unsigned weight;                                     /* how often, beside the others */
    int a_range, b_range;                                /* arguments are 0 to range - 1; a range of 0 means always 0 */
    const char *(*run)(void *state, int a, int b);       /* NULL, or what is wrong */
    void (*show)(char *text, size_t room, int a, int b); /* the step in words; NULL: name(a, b) */
} model_op;

typedef struct model {
    const char *name;
    const model_op *ops;
    size_t op_count;
    void *(*setup)(void);                 /* the state of one run */
    const char *(*teardown)(void *state); /* NULL, or what is wrong; not called after a failed step */
    unsigned steps, runs;                 /* steps per run, at most MODEL_STEPS */
} model;

enum { MODEL_STEPS = 1000, MODEL_TEXT = 400 };

typedef struct model_step {
    unsigned op;
    int a, b;
} model_step;

typedef struct model_failure {
    model_step steps[MODEL_STEPS];
    unsigned count; /* of the steps, after shrinking */
    unsigned at;    /* the step that failed; count if teardown did */
    unsigned run, tries;
    char text[MODEL_TEXT];
} model_failure;

/* Runs all; prints and reports the shortest case found if one fails. */
void model_check(const model *m);

/* The same without a verdict: true if a run failed, shrunk into *out. */
bool model_search(const model *m, uint64_t seed, model_failure *out);

/* One step in words. */
void model_show(const model *m, const model_step *step, char *text, size_t room);

#endif
