/* SPDX-License-Identifier: MIT */
/*
 * The steps of the model test, one for each operation. A step does something
 * to the system, lets everybody else go on until all of them wait, takes the
 * model the same way, and compares.
 */
#ifndef TESTS_MODEL_POOL_STEPS_H
#define TESTS_MODEL_POOL_STEPS_H

#include "model/pool_twin.h"

/* What all steps end in: the clock, the numbers of both pools, the equations,
 * and that nobody was told anything that the model did not ask for. */
const char *compare_all(rig *r);

/* How long a step waits: at once, a while, or as long as the pool's patience. */
enum { PATIENCES = 5 };
cen_deadline deadline_of(const rig *r, const twin *t, int choice, int who, int64_t *until);
taking taking_until(const rig *r, int64_t until);

/* Main's take: what is noted before and after the system's call, the model's
 * side of it, the error's text, and where the lease is kept. */
void main_takes(rig *r, const char *where);
void main_has_taken(rig *r, cen_status status);
const char *model_take_by_main(rig *r, twin *t, taking how, int64_t until);
const char *check_error(const rig *r, twin *t, const cen_error *error);
void keep_in_hand(rig *r, twin *t);

/* Ends a lease on both sides. A hand without a twin is a lease of nobody's. */
hand take_from_hand(rig *r, int pick);
const char *end_lease(hand *h, bool discards);
const char *end_and_model(rig *r, hand h, bool discards);

/* Frees a pool, and makes one. */
const char *end_one(rig *r, twin *t);
const char *make(rig *r, twin *t, shape s);

/* pool_lend_steps.c */
enum { HOLDS = 4, WRONGS = 7 };
const char *step_try_take(void *state, int a, int b);
const char *step_take(void *state, int a, int b);
const char *step_send(void *state, int a, int b);
const char *step_give(void *state, int a, int b);
const char *step_discard(void *state, int a, int b);
const char *step_give_all(void *state, int a, int b);
const char *step_give_and_take(void *state, int a, int b);
const char *step_give_wrong(void *state, int a, int b);

/* pool_async_steps.c */
const char *step_ask(void *state, int a, int b);
const char *step_cancel(void *state, int a, int b);
const char *step_poll(void *state, int a, int b);

/* pool_life_steps.c */
enum { SIZES = 8, WAITS = 4, FAILURES = 12 };
const char *step_adopt(void *state, int a, int b);
const char *step_enter(void *state, int a, int b);
const char *step_leave(void *state, int a, int b);
const char *step_end_entered(void *state, int a, int b);
const char *step_resize(void *state, int a, int b);
const char *step_close(void *state, int a, int b);
const char *step_renew(void *state, int a, int b);
const char *step_fail_opens(void *state, int a, int b);

#endif
