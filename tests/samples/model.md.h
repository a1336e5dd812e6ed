/* SPDX-License-Identifier: MIT */
#include "given.h"
#include "support/model.h"
#include "support/test.h"

#define ROOM 4

struct stack;
bool stack_push(struct stack *stack, int value);
struct pair {
    struct stack *system;
    int model[ROOM], count;
};
const char *pop(void *state, int a, int b);
void *setup(void);
const char *teardown(void *state);
