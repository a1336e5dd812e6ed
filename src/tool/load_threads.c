/* SPDX-License-Identifier: MIT */
/*
 * Clients as threads, one each, like a server with one thread per request.
 *
 * A client sleeps for due and think times in slices, so that it notices an early end. A client that waits in a take is
 * woken by cen_pool_interrupt. This is repeated, because the client may not have begun to wait yet.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "tool/load_internal.h"

enum { STACK = 512 << 10, LINE = 64 };
#define SLICE (50 * INT64_C(1000000))
#define PAUSE (10 * INT64_C(1000000))

typedef struct client {
    _Alignas(LINE) load_course *load;
    pthread_t thread;
    tally *counts;
    uint64_t random, operations;
    atomic_uint_fast64_t holder; /* its holder number, for the interrupt; 0: not begun, or ended */
    cen_error error;
} client;

typedef struct crowd {
    load_course *load;
    client *clients;
    uint32_t count;
} crowd;

/* ---- One client ------------------------------------------------------------------------------------------ */

/* Sleep until `moment`, or until the load has ended. */
static void sleep_until(load_course *load, int64_t moment)
{
    for (;;) {
        int64_t now = cen_clock(), until = load_until(load);
        int64_t end = moment < until ? moment : until;
        if (now >= end) return;
        if (end > now + SLICE) end = now + SLICE;
        struct timespec at = {(time_t)(end / SECOND_NS), (long)(end % SECOND_NS)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    }
}

static void use(client *self, load_turn *turn, cen_lease *lease)
{
    load_course *load = self->load;
    turn->got = cen_clock();
    turn->status = load->plan.target->kind->operate(load->plan.target, lease->object, &turn->turn, &self->error);
    if (load->plan.hold_ns) sleep_until(load, cen_clock() + load->plan.hold_ns);
    turn->end = cen_clock();
    cen_pool_give(lease);
}

static void operate(client *self, load_turn *turn)
{
    load_course *load = self->load;
    cen_lease lease;
    self->error.text[0] = 0;
    self->error.code = 0;
    turn->turn = load_draw(load, &self->random);
    turn->began = cen_clock();
    if (turn->due == 0) turn->due = turn->began;
    cen_pool *pool = load_pool_for(load, &turn->turn);
    turn->status = cen_pool_take(pool, cen_at(load_deadline(load, turn->began)), &lease, &self->error);
    if (turn->status == CEN_OK) use(self, turn, &lease);
    else turn->end = cen_clock();
    self->operations += tally_add(self->counts, load, turn, &self->error);
}

/* Wait for the next due operation of an open loop. Returns false if none is due before the end. */
static bool await_due(client *self, load_turn *turn)
{
    load_course *load = self->load;
    turn->due = load_due(load, atomic_fetch_add(&load->next, 1));
    sleep_until(load, turn->due);
    int64_t until = load_until(load);
    if (turn->due >= until) return false;
    if (cen_clock() < until) return true;
    tally_add_never_begun(self->counts, turn->due, until);
    return false;
}

static void *live(void *argument)
{
    client *self = argument;
    load_course *load = self->load;
    atomic_store(&self->holder, cen_holder_number());
    prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0); /* due times are kept to the microsecond, as far as the system allows */
    sleep_until(load, load->start);
    while (cen_clock() < load_until(load)) {
        load_turn turn = {0};
        if (load->interval > 0 && !await_due(self, &turn)) break;
        operate(self, &turn);
        if (load->interval > 0) continue;
        if (turn.status != CEN_OK && !turn.got) sleep_until(load, turn.began + PAUSE);
        if (load->plan.think_ns) sleep_until(load, turn.end + load->plan.think_ns);
    }
    atomic_store(&self->holder, 0);
    atomic_fetch_sub(&load->running, 1);
    return NULL;
}

/* ---- All clients ----------------------------------------------------------------------------------------- */

static void free_crowd(crowd *self)
{
    for (uint32_t i = 0; i < self->count; i++) tally_free(self->clients[i].counts);
    free(self->clients);
    free(self);
}

static crowd *new_crowd(load_course *load)
{
    crowd *self = calloc(1, sizeof *self);
    uint32_t count = load->plan.clients;
    if (!self) return NULL;
    self->load = load;
    self->clients = aligned_alloc(LINE, count * sizeof *self->clients);
    if (!self->clients) {
        free(self);
        return NULL;
    }
    memset(self->clients, 0, count * sizeof *self->clients);
    self->count = count;
    for (uint32_t i = 0; i < count; i++) {
        client *at = &self->clients[i];
        at->load = load;
        at->random = load_seed(load, i);
        at->counts = tally_new(load);
        if (at->counts) continue;
        free_crowd(self);
        return NULL;
    }
    return self;
}

static cen_status start(load_course *load, void **own, cen_error *error)
{
    pthread_attr_t attributes;
    uint32_t started = 0;
    int code = 0;
    crowd *self = new_crowd(load);
    *own = self;
    if (!self) {
        if (error) *error = (cen_error){.status = CEN_NO_MEMORY, .text = "Out of memory for the clients."};
        return CEN_NO_MEMORY;
    }
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    for (; started < self->count; started++) {
        atomic_fetch_add(&load->running, 1);
        code = pthread_create(&self->clients[started].thread, &attributes, live, &self->clients[started]);
        if (code) break;
    }
    pthread_attr_destroy(&attributes);
    if (!code) return CEN_OK;
    atomic_store(&load->until, 0);
    for (uint32_t i = 0; i < started; i++) pthread_join(self->clients[i].thread, NULL);
    if (error) {
        *error = (cen_error){.status = CEN_SYSTEM, .code = code};
        snprintf(error->text, sizeof error->text, "Of %u client threads, only %u could be started: %s.", self->count,
                 started, strerrordesc_np(code));
    }
    free_crowd(self);
    return CEN_SYSTEM;
}

static void look(void *own, uint64_t *operations, uint64_t *failed)
{
    crowd *self = own;
    *operations = *failed = 0;
    for (uint32_t i = 0; i < self->count; i++) {
        *operations += atomic_load(&self->clients[i].counts->shown);
        *failed += atomic_load(&self->clients[i].counts->shown_failed);
    }
}

static void hurry(void *own)
{
    crowd *self = own;
    for (uint32_t i = 0; i < self->count; i++) {
        uint64_t holder = atomic_load(&self->clients[i].holder);
        if (!holder) continue;
        cen_pool_interrupt(self->load->plan.pool, holder);
        if (self->load->plan.writer) cen_pool_interrupt(self->load->plan.writer, holder);
    }
}

static void end(void *own, tally *all, uint64_t *each)
{
    crowd *self = own;
    for (uint32_t i = 0; i < self->count; i++) {
        pthread_join(self->clients[i].thread, NULL);
        tally_merge(all, self->clients[i].counts, self->load->windows);
        each[i] = self->clients[i].operations;
    }
    free_crowd(self);
}

const load_way load_threads = {start, look, hurry, end};
