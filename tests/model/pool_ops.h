/* SPDX-License-Identifier: MIT */
/*
 * The operations of the checkout pool beside a model that says what they must
 * answer: two pools of any shape, used by main, by three fibers that wait,
 * hold and give back while main goes on, and by three who ask. In virtual time only.
 */
#ifndef TESTS_MODEL_POOL_OPS_H
#define TESTS_MODEL_POOL_OPS_H

#include "support/model.h"

enum { POOL_OPS = 22 };
extern const model_op pool_ops[POOL_OPS];

void *pool_ops_setup(void);
const char *pool_ops_teardown(void *state);

#endif
