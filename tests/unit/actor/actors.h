/* SPDX-License-Identifier: MIT */
/* Actors of a manual runtime with virtual time, and messages that remember what became of them. */
#ifndef TESTS_UNIT_ACTOR_ACTORS_H
#define TESTS_UNIT_ACTOR_ACTORS_H

#include <cenote/cenote.h>

#include "port/port.h"
#include "support/test.h"

static const int64_t second = 1000000000;

typedef struct letter {
    cen_message message;
    char mark;
    unsigned handled, dropped;
    int64_t at; /* when it was handled */
    void (*inside)(struct letter *letter);
} letter;

static cen_runtime *runtime;
static cen_actor *actor;
static char order[64]; /* the marks of those handled, and in capitals of those dropped */
static unsigned depth; /* of handlers inside one another */

static inline void note(char mark)
{
    size_t length = strlen(order);
    if (mark && length + 1 < sizeof order) memcpy(order + length, (char[]){mark, '\0'}, 2);
}

static inline void handle_letter(void *argument, cen_message *message)
{
    letter *self = (letter *)(void *)message;
    expect(argument == &order);
    expect_equal(depth++, 0);
    self->handled++;
    self->at = cen_runtime_now(runtime);
    note(self->mark);
    if (self->inside) self->inside(self);
    depth--;
}

static inline void drop_letter(void *argument, cen_message *message)
{
    letter *self = (letter *)(void *)message;
    expect(argument == &order);
    expect_equal(depth, 0);
    self->dropped++;
    note((char)(self->mark - 'a' + 'A'));
}

#define make_actor(...) \
    make_actor_of(CEN_ACTOR_OPTIONS(.handle = handle_letter, .dropped = drop_letter, .argument = &order, __VA_ARGS__))

static inline void make_actor_of(cen_actor_options options)
{
    cen_error error = {.text = ""};
    order[0] = '\0';
    depth = 0;
    if (cen_actor_new(&options, &actor, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "no actor: %s", error.text);
}

/* A runtime without threads for the actor that is made next. */
static inline cen_runtime *make_manual(void)
{
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = true);
    expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
    return runtime;
}

static inline void init_letter(letter *self, char mark)
{
    *self = (letter){.mark = mark};
    cen_message_init(&self->message, "letter");
}

static inline void init_letters(letter *first, unsigned count)
{
    for (unsigned i = 0; i < count; i++) init_letter(&first[i], (char)('a' + i));
}

static inline void tell(letter *self)
{
    expect_equal(cen_actor_tell(actor, &self->message, NULL), CEN_OK);
}

static inline void poll(void)
{
    while (cen_runtime_poll(runtime) == 0) continue;
}

static inline cen_actor_stats look(void)
{
    cen_actor_stats stats = CEN_SIZED(cen_actor_stats);
    expect_equal(cen_actor_stats_get(actor, &stats), CEN_OK);
    return stats;
}

/* Stops the actor, which must have nothing left to do, and frees it and its runtime. */
static inline void finish(void)
{
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, NULL, NULL), CEN_OK);
    poll();
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

#endif
