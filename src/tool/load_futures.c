/* SPDX-License-Identifier: MIT */
/*
 * Clients as futures. All of them run on one thread, the loop, which takes from the pool asynchronously and gets
 * completions from its inbox. Operations are tasks of a crew with as many workers as the pool has objects, because the
 * client libraries of databases block.
 *
 * A client's states; each step runs on the loop, except the operation itself:
 *     RESTING  a timer runs: the next operation is not due, or the client thinks
 *     ASKING   cen_pool_take_async
 *     WORKING  a task of the crew has the object
 *     HOLDING  a timer runs: the object is held longer than its operation
 *     ENDED    the time is over
 * A step never calls the next one directly: every completion comes through the inbox. Only the loop touches `state`. A
 * task writes turn.status and error, and the loop reads them after its future is done.
 *
 * At the end the loop cancels timers and takes itself, once (sweep). Those that cannot be cancelled any longer complete
 * normally.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/crew.h>
#include <cenote/inbox.h>
#include <cenote/pool_async.h>
#include <cenote/timer.h>

#include "tool/load_internal.h"

enum { WORKERS_MOST = 512 };
#define PAUSE (10 * INT64_C(1000000))

typedef enum state { RESTING = 1, ASKING, WORKING, HOLDING, ENDED } state;

struct loop;

typedef struct client {
    cen_task task; /* first member: a task is its client */
    struct loop *loop;
    state state;
    cen_take_op take;
    cen_timer timer;
    load_turn turn;
    cen_error error;
    uint64_t random, operations;
} client;

typedef struct loop {
    load_course *load;
    cen_inbox *inbox;
    cen_crew *crew;
    tally *counts;
    client *clients;
    uint32_t count, living;
    bool swept;
    pthread_t thread;
} loop;

static void rest_until(client *self, int64_t moment, void (*then)(cen_future *future));
static void begin(client *self);

static void retire(client *self)
{
    self->state = ENDED;
    self->loop->living--;
}

/* ---- One operation --------------------------------------------------------------------------------------- */

static void finish(client *self)
{
    load_course *load = self->loop->load;
    load_turn *turn = &self->turn;
    turn->end = cen_clock();
    if (turn->got) cen_pool_give(&self->take.lease);
    self->operations += tally_add(self->loop->counts, load, turn, &self->error);
    begin(self);
}

static void on_held(cen_future *future)
{
    finish(future->user);
}

static void on_operated(cen_future *future)
{
    client *self = future->user;
    int64_t hold = self->loop->load->plan.hold_ns;
    if (!hold) {
        finish(self);
        return;
    }
    self->state = HOLDING;
    rest_until(self, cen_clock() + hold, on_held);
}

static cen_next operate(cen_task *task)
{
    client *self = (client *)task;
    target *what = self->loop->load->plan.target;
    cen_blocking_begin();
    self->turn.status = what->kind->operate(what, self->take.lease.object, &self->turn.turn, &self->error);
    cen_blocking_end();
    return cen_task_done(task, NULL);
}

static void on_taken(cen_take_op *take)
{
    client *self = take->future.user;
    load_turn *turn = &self->turn;
    turn->status = take->future.status;
    if (turn->status != CEN_OK) {
        finish(self);
        return;
    }
    turn->got = cen_clock();
    self->state = WORKING;
    self->error.text[0] = 0;
    self->error.code = 0;
    cen_task_init(&self->task, operate);
    self->task.name = "operation";
    self->task.future.user = self;
    cen_future_then(&self->task.future, on_operated, cen_inbox_executor(self->loop->inbox));
    /* From here on the task writes turn->status, perhaps before the submit returns. */
    cen_status status = cen_crew_submit(self->loop->crew, &self->task, &self->error);
    if (status == CEN_OK) return;
    turn->status = status;
    finish(self);
}

static void ask(client *self)
{
    load_course *load = self->loop->load;
    load_turn *turn = &self->turn;
    turn->turn = load_draw(load, &self->random);
    turn->began = cen_clock();
    turn->got = 0;
    if (load->interval <= 0) turn->due = turn->began;
    self->state = ASKING;
    self->error.text[0] = 0;
    self->error.code = 0;
    cen_take_op_init(&self->take, on_taken, cen_inbox_executor(self->loop->inbox));
    self->take.future.user = self;
    self->take.future.error = &self->error;
    cen_pool *pool = load_pool_for(load, &turn->turn);
    turn->status = cen_pool_take_async(pool, cen_at(load_deadline(load, turn->began)), &self->take);
    if (turn->status != CEN_OK) retire(self); /* retrying is useless: the pool is closed, or this is a forked child */
}

/* ---- Between two operations ------------------------------------------------------------------------------ */

static void on_rested(cen_future *future)
{
    client *self = future->user;
    if (cen_clock() < load_until(self->loop->load)) {
        ask(self);
        return;
    }
    int64_t until = load_until(self->loop->load);
    if (self->loop->load->interval > 0 && self->turn.due < until)
        tally_add_never_begun(self->loop->counts, self->turn.due, until);
    retire(self);
}

static void rest_until(client *self, int64_t moment, void (*then)(cen_future *future))
{
    cen_timer_init(&self->timer);
    self->timer.future.user = self;
    cen_future_then(&self->timer.future, then, cen_inbox_executor(self->loop->inbox));
    if (cen_timer_start(&self->timer, NULL, cen_at(moment), NULL) == CEN_OK) return;
    /* The timer could not be set: the client ends here, and gives its object back. */
    if (self->state == HOLDING) cen_pool_give(&self->take.lease);
    retire(self);
}

/* Start the next operation: now, when it is due, or after a pause. */
static void begin(client *self)
{
    load_course *load = self->loop->load;
    const load_turn *last = &self->turn;
    int64_t now = cen_clock(), when = 0;
    if (now >= load_until(load)) {
        retire(self);
        return;
    }
    if (load->interval > 0) {
        when = self->turn.due = load_due(load, atomic_fetch_add(&load->next, 1));
    } else if (last->began) {
        if (last->status != CEN_OK && !last->got) when = last->began + PAUSE;
        if (load->plan.think_ns && last->end + load->plan.think_ns > when) when = last->end + load->plan.think_ns;
    } else {
        when = load->start;
    }
    self->state = RESTING;
    if (when > now) rest_until(self, when, on_rested);
    else ask(self);
}

/* ---- The loop -------------------------------------------------------------------------------------------- */

/* The time is over: cancel whatever only waits. */
static void sweep(loop *self)
{
    int64_t until = load_until(self->load);
    self->swept = true;
    for (uint32_t i = 0; i < self->count; i++) {
        client *at = &self->clients[i];
        if (at->state == ASKING && cen_future_cancel(&at->take.future)) {
            at->turn.status = CEN_INTERRUPTED;
            at->turn.end = cen_clock();
            tally_add(self->counts, self->load, &at->turn, &at->error);
            retire(at);
        } else if (at->state == RESTING && cen_future_cancel(&at->timer.future)) {
            if (self->load->interval > 0 && at->turn.due < until)
                tally_add_never_begun(self->counts, at->turn.due, until);
            retire(at);
        } else if (at->state == HOLDING && cen_future_cancel(&at->timer.future)) {
            finish(at);
        }
    }
}

static void *run_loop(void *argument)
{
    loop *self = argument;
    for (uint32_t i = 0; i < self->count; i++) begin(&self->clients[i]);
    while (self->living > 0) {
        if (!self->swept && cen_clock() >= load_until(self->load)) sweep(self);
        cen_inbox_wait(self->inbox, cen_in_ms(10));
    }
    /* All clients together count as one. */
    atomic_fetch_sub(&self->load->running, 1);
    return NULL;
}

/* ---- Start and end --------------------------------------------------------------------------------------- */

static void free_loop(loop *self)
{
    if (self->crew) {
        cen_crew_stop(self->crew, CEN_STOP_DROP, cen_in_s(5), NULL, NULL);
        cen_crew_free(self->crew);
    }
    cen_inbox_free(self->inbox);
    tally_free(self->counts);
    free(self->clients);
    free(self);
}

static cen_status new_loop(load_course *load, loop **out, cen_error *error)
{
    uint32_t workers = cen_pool_max(load->plan.pool) + (load->plan.writer ? 1 : 0);
    if (workers > WORKERS_MOST) workers = WORKERS_MOST;
    cen_crew_options crew = CEN_CREW_OPTIONS(.name = "operations", .workers = workers, .max = workers + 64);
    cen_status status = CEN_NO_MEMORY;
    loop *self = calloc(1, sizeof *self);
    *out = self;
    if (error) *error = (cen_error){.status = CEN_NO_MEMORY, .text = "Out of memory for the clients."};
    if (!self) return CEN_NO_MEMORY;
    self->load = load;
    self->count = self->living = load->plan.clients;
    self->clients = calloc(self->count, sizeof *self->clients);
    self->counts = tally_new(load);
    if (self->clients && self->counts) status = cen_inbox_new(NULL, &self->inbox, error);
    if (status == CEN_OK) status = cen_crew_new(&crew, &self->crew, error);
    for (uint32_t i = 0; status == CEN_OK && i < self->count; i++) {
        self->clients[i].loop = self;
        self->clients[i].random = load_seed(load, i);
    }
    if (status != CEN_OK) free_loop(self);
    return status;
}

static cen_status start(load_course *load, void **own, cen_error *error)
{
    loop *self;
    cen_status status = new_loop(load, &self, error);
    if (status != CEN_OK) return status;
    *own = self;
    atomic_store(&load->running, 1);
    int code = pthread_create(&self->thread, NULL, run_loop, self);
    if (!code) return CEN_OK;
    if (error) {
        *error = (cen_error){.status = CEN_SYSTEM, .code = code};
        snprintf(error->text, sizeof error->text, "The event loop thread could not be started: %s.",
                 strerrordesc_np(code));
    }
    free_loop(self);
    return CEN_SYSTEM;
}

static void look(void *own, uint64_t *operations, uint64_t *failed)
{
    const loop *self = own;
    *operations = atomic_load(&self->counts->shown);
    *failed = atomic_load(&self->counts->shown_failed);
}

/* The loop checks the clock itself. */
static void hurry(void *own)
{
    (void)own;
}

static void end(void *own, tally *all, uint64_t *each)
{
    loop *self = own;
    pthread_join(self->thread, NULL);
    tally_merge(all, self->counts, self->load->windows);
    for (uint32_t i = 0; i < self->count; i++) each[i] = self->clients[i].operations;
    free_loop(self);
}

const load_way load_futures = {start, look, hurry, end};
