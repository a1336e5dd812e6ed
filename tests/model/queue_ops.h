/* SPDX-License-Identifier: MIT */
/*
 * The operations of the queue beside a plain array that says what they must
 * answer: for the model test, in virtual time, and for the fuzzer, on the
 * library as users get it.
 */
#ifndef TESTS_MODEL_QUEUE_OPS_H
#define TESTS_MODEL_QUEUE_OPS_H

#include "support/model.h"

enum { QUEUE_OPS = 10 };
extern const model_op queue_ops[QUEUE_OPS];

/* A queue of each kind, and a source of each; one thread uses them. */
void *queue_ops_setup(void);
const char *queue_ops_teardown(void *state);

#endif
