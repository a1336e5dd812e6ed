/* SPDX-License-Identifier: MIT */
/*
 * Actors for explored programs. Their executor runs a turn on the thread that
 * posts it, or keeps it until the test runs it: so the threads are the test's
 * own, and few.
 */
#ifndef TESTS_EXPLORE_ACTORS_H
#define TESTS_EXPLORE_ACTORS_H

#include <cenote/actor.h>

#include "runtime/runtime.h"
#include "support/world.h"

static inline void run_at_once(cen_executor *executor, cen_job *job)
{
    (void)executor;
    job->run(job);
}

static cen_executor at_once = {run_at_once};

/* Keeps what is posted until it is run. */
typedef struct shelf {
    cen_executor executor;
    _Atomic uintptr_t job;
} shelf;

static inline void keep_on_shelf(cen_executor *executor, cen_job *job)
{
    shelf *self = (shelf *)(void *)executor;
    expect_equal(ceni_exchange_acq_rel(&self->job, (uintptr_t)job), 0); /* one turn at a time */
}

/* True if there was a turn. */
static inline bool run_shelf(shelf *self)
{
    cen_job *job = (cen_job *)ceni_exchange_acq_rel(&self->job, (uintptr_t)0);
    if (job) job->run(job);
    return job != NULL;
}

enum { LETTERS = 4 };

typedef struct letter {
    cen_message message;
    char sender;
    unsigned number;
    _Atomic uint32_t handled, dropped;
} letter;

static cen_actor *actor;
static letter letters[LETTERS];
static _Atomic uint32_t inside, handled_in_all;
static unsigned seen[2]; /* of each sender, the last number; the handler's, one at a time */
static void (*in_handler)(letter *letter);

static inline void handle_letter(void *argument, cen_message *message)
{
    (void)argument;
    letter *self = (letter *)(void *)message;
    expect_equal(ceni_add_seq_cst(&inside, 1), 0);
    if (self->number) {
        expect(seen[self->sender == 'b'] < self->number);
        seen[self->sender == 'b'] = self->number;
    }
    ceni_add_seq_cst(&self->handled, 1);
    if (in_handler) in_handler(self);
    expect_equal(ceni_sub_seq_cst(&inside, 1), 1);
    ceni_add_seq_cst(&handled_in_all, 1);
    ceni_futex_wake(&handled_in_all, UINT32_MAX);
}

static inline void drop_letter(void *argument, cen_message *message)
{
    (void)argument;
    expect_equal(ceni_add_seq_cst(&((letter *)(void *)message)->dropped, 1), 0);
}

/* Without an executor of its own it takes its turns on the thread that sends. */
#define make_actor(...) make_actor_of(CEN_ACTOR_OPTIONS(.handle = handle_letter, .dropped = drop_letter, __VA_ARGS__))

static inline void make_actor_of(cen_actor_options options)
{
    if (!options.executor) options.executor = &at_once;
    expect_equal(cen_actor_new(&options, &actor, NULL), CEN_OK);
    in_handler = NULL;
    ceni_store_relaxed(&inside, 0);         /* nobody else is there yet; carries nothing */
    ceni_store_relaxed(&handled_in_all, 0); /* likewise; carries nothing */
    memset(seen, 0, sizeof seen);
    memset(letters, 0, sizeof letters);
    for (int i = 0; i < LETTERS; i++) cen_message_init(&letters[i].message, "letter");
}

static inline uint32_t handled(int i)
{
    return ceni_load_seq_cst(&letters[i].handled);
}

static inline uint32_t dropped(int i)
{
    return ceni_load_seq_cst(&letters[i].dropped);
}

static inline void await_handled(uint32_t count)
{
    for (uint32_t now; (now = ceni_load_seq_cst(&handled_in_all)) < count;)
        ceni_futex_wait(&handled_in_all, now, CENI_FOREVER);
}

static inline void tell(int i)
{
    expect_equal(cen_actor_tell(actor, &letters[i].message, NULL), CEN_OK);
}

/* Stops an actor that sleeps, or whose turns all are run by threads that have been joined. */
static inline void end_actor(void)
{
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, NULL, NULL), CEN_OK);
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

#endif
