/* SPDX-License-Identifier: MIT */
/* A listener that remembers what it was told, and can be made to stay inside the call. */
#ifndef TESTS_UNIT_POOL_LISTENERS_H
#define TESTS_UNIT_POOL_LISTENERS_H

#include "pool/internal.h"
#include "unit/pool/takers.h"

enum { EAR_MOST = 700 };

typedef struct ear {
    int count, inside; /* calls; of these now */
    uint64_t thread;   /* the last was on this one */
    cen_event events[EAR_MOST];
    uint64_t missed[EAR_MOST]; /* what each call was told */
    bool stays;                /* until it is let go */
    _Atomic uint32_t let_go;
    void (*then)(struct ear *self, const cen_event *event); /* called at the end of each; may be NULL */
    cen_pool *pool;                                         /* for it */
} ear;

static inline void hear(void *argument, const cen_event *event, uint64_t missed)
{
    ear *self = argument;
    expect(self->inside == 0 && self->count < EAR_MOST);
    self->inside++;
    expect(memchr(event->text, '\0', sizeof event->text) != NULL);
    self->events[self->count] = *event;
    self->missed[self->count] = missed;
    self->thread = ceni_thread_id();
    self->count++;
    while (self->stays && ceni_load_seq_cst(&self->let_go) == 0) ceni_futex_wait(&self->let_go, 0, CENI_FOREVER);
    if (self->then) self->then(self, event);
    self->inside--;
}

static inline void listen_with(cen_pool *pool, ear *self)
{
    cen_error error;
    self->pool = pool;
    if (cen_pool_listen(pool, hear, self, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
}

static inline void let_go(ear *self)
{
    self->stays = false;
    ceni_store_seq_cst(&self->let_go, 1);
    ceni_futex_wake(&self->let_go, 1);
    ceni_world_settle();
}

/* Tells an event whose status is its number. */
static inline void tell(cen_pool *pool, int number)
{
    ceni_pool_event_tell(pool, (ceni_occurrence){.kind = CEN_EVENT_RELOADED, .code = number}, "number %d", number);
}

/* The names of all it was told, each followed by a blank; forgets them. */
static inline void expect_heard(ear *self, const char *names)
{
    char all[2000] = "";
    ceni_world_settle();
    for (int i = 0; i < self->count; i++) {
        strcat(all, cen_event_kind_name(self->events[i].kind));
        strcat(all, " ");
    }
    expect_text(all, names);
    self->count = 0;
}

#endif
