/* SPDX-License-Identifier: MIT */
/*
 * A driver whose calls are done later, when the test says so.
 *
 *     static clerk c;
 *     cen_pool *pool = begin_clerk(&c, TESTS_TOO, .max = 2);
 *     ...                           c.begun[0] is what was begun first
 *     finish(&c, 0, CEN_OK);
 *     end_clerk(&c, pool);
 *
 * Objects are the numbers 1, 2, ... in the order in which they were opened. In
 * every call it expects that no lock is held, that the object is open, and that
 * no other call goes on for it; at the end, that each was closed once.
 */
#ifndef TESTS_UNIT_POOL_CLERKS_H
#define TESTS_UNIT_POOL_CLERKS_H

#include "pool/internal.h"
#include "port/rank.h"
#include "unit/pool/scripted.h"

enum { MOST_BEGUN = 64 };

typedef struct begun_call {
    call_kind kind;
    void *object;
    cen_ticket ticket;
    bool done;
    unsigned cancels;
    uint64_t thread; /* that began it */
} begun_call;

typedef struct clerk {
    cen_driver_calls calls;
    unsigned at_once;              /* a bit for each kind: done before its function returns */
    bool ends_when_cancelled;      /* says so from within cancel, with TIMEOUT */
    cen_status answer[CALL_KINDS]; /* of those */
    cen_condition condition;       /* what a check says */
    begun_call begun[MOST_BEGUN];
    unsigned count;
    unsigned started[CALL_KINDS];
    int opened;
    bool open[MOST_BEGUN], busy[MOST_BEGUN];
    unsigned closes[MOST_BEGUN];
    unsigned finis;
    cen_runtime *runtime;
} clerk;

enum { AT_ONCE_OPEN = 1 << CALL_OPEN, AT_ONCE_CLOSE = 1 << CALL_CLOSE, AT_ONCE_TEST = 1 << CALL_TEST };
enum { TESTS_TOO = 1, RESETS_TOO = 2, CLOSES_TOO = 4, NO_CANCEL = 8 };

/* ---- Done --------------------------------------------------------------------------------- */

/* What the driver itself knows of the end of a call; the object, if one was opened. */
static inline void *clerk_notes_end(clerk *c, begun_call *call, cen_status status)
{
    intptr_t number = (intptr_t)call->object;
    expect(!call->done);
    call->done = true;
    if (call->kind == CALL_OPEN && status == CEN_OK) {
        number = ++c->opened;
        expect(number < MOST_BEGUN);
        c->open[number] = true;
    } else if (call->kind == CALL_CLOSE) {
        c->open[number] = false;
        c->closes[number]++;
    }
    if (call->kind != CALL_OPEN) c->busy[number] = false;
    return object_of((int)number);
}

static inline cen_status finish_with(clerk *c, unsigned which, cen_status status, const cen_error *error)
{
    expect(which < c->count);
    begun_call *call = &c->begun[which];
    void *object = clerk_notes_end(c, call, status);
    return cen_driver_done(call->ticket, status, object, error);
}

static inline void finish(clerk *c, unsigned which, cen_status status)
{
    expect_equal(finish_with(c, which, status, NULL), CEN_OK);
    ceni_world_settle();
}

/* All that was begun, and all that this begins, is done. */
static inline void finish_all(clerk *c)
{
    for (unsigned i = 0; i < c->count; i++)
        if (!c->begun[i].done) finish(c, i, CEN_OK);
}

/* The call of that kind that was begun last. */
static inline unsigned last_of(const clerk *c, call_kind kind)
{
    for (unsigned i = c->count; i-- > 0;)
        if (c->begun[i].kind == kind) return i;
    test_fail(__FILE__, __LINE__, "no such call was begun");
}

/* ---- The driver ------------------------------------------------------------------------------ */

static inline void clerk_begins(clerk *c, call_kind kind, void *object, cen_ticket ticket)
{
    ceni_rank_expect_none("a call of the clerk");
    expect(c->count < MOST_BEGUN);
    unsigned which = c->count++;
    c->begun[which] = (begun_call){.kind = kind, .object = object, .ticket = ticket, .thread = cen_thread_number()};
    c->started[kind]++;
    if (kind != CALL_OPEN) {
        expect(c->open[(intptr_t)object] && !c->busy[(intptr_t)object]);
        c->busy[(intptr_t)object] = true;
    }
    if (c->at_once & 1u << kind) expect_equal(finish_with(c, which, c->answer[kind], NULL), CEN_OK);
}

static inline void clerk_open(void *argument, cen_ticket ticket)
{
    clerk_begins(argument, CALL_OPEN, NULL, ticket);
}

static inline void clerk_reset(void *argument, void *object, cen_ticket ticket)
{
    clerk_begins(argument, CALL_RESET, object, ticket);
}

static inline void clerk_test(void *argument, void *object, cen_ticket ticket)
{
    clerk_begins(argument, CALL_TEST, object, ticket);
}

static inline void clerk_close_later(void *argument, void *object, cen_ticket ticket)
{
    clerk_begins(argument, CALL_CLOSE, object, ticket);
}

static inline void clerk_close(void *argument, void *object)
{
    clerk *c = argument;
    intptr_t number = (intptr_t)object;
    ceni_rank_expect_none("a close of the clerk");
    expect(c->open[number] && !c->busy[number]);
    c->open[number] = false;
    c->closes[number]++;
}

static inline cen_condition clerk_check(void *argument, void *object)
{
    (void)object;
    return ((clerk *)argument)->condition;
}

static inline void clerk_cancel(void *argument, cen_ticket ticket)
{
    clerk *c = argument;
    ceni_rank_expect_none("a cancel of the clerk");
    for (unsigned i = 0; i < c->count; i++) {
        if (c->begun[i].ticket.number != ticket.number) continue;
        c->begun[i].cancels++;
        if (c->ends_when_cancelled) expect_equal(finish_with(c, i, CEN_TIMEOUT, NULL), CEN_OK);
        return;
    }
    test_fail(__FILE__, __LINE__, "what is cancelled was never begun");
}

static inline void clerk_fini(void *argument)
{
    ((clerk *)argument)->finis++;
}

static inline cen_driver clerk_driver(clerk *c, unsigned kind)
{
    c->calls = (cen_driver_calls){.size = sizeof(cen_driver_calls),
                                  .open_async = clerk_open,
                                  .close = clerk_close,
                                  .cancel = clerk_cancel,
                                  .fini = clerk_fini,
                                  .check = clerk_check};
    if (kind & TESTS_TOO) c->calls.test_async = clerk_test;
    if (kind & RESETS_TOO) c->calls.reset_async = clerk_reset;
    if (kind & CLOSES_TOO) c->calls.close_async = clerk_close_later;
    if (kind & NO_CANCEL) c->calls.cancel = NULL;
    return (cen_driver){&c->calls, c};
}

/* ---- Pools -------------------------------------------------------------------------------------- */

static inline cen_pool *begin_clerk_of(clerk *c, unsigned kind, cen_pool_options o)
{
    o.driver = clerk_driver(c, kind);
    if (!o.runtime) o.runtime = make_runtime(.name = "clerk", .idle_timeout_ns = CEN_OFF);
    c->runtime = o.runtime;
    return make_from(o);
}

#define begin_clerk(c, kind, ...) begin_clerk_of(c, kind, CEN_POOL_OPTIONS(__VA_ARGS__))

/* The same in a runtime without threads, whose time the test moves. */
#define begin_alone(c, kind, ...) \
    begin_clerk(c, kind, .runtime = make_runtime(.manual = true, .virtual_time = true), __VA_ARGS__)

static inline void expect_all_ended(clerk *c)
{
    expect_equal(c->finis, 1);
    for (int i = 1; i <= c->opened; i++) expect_equal(c->closes[i], 1);
    for (unsigned i = 0; i < c->count; i++) expect(c->begun[i].done && c->begun[i].cancels <= 1);
    free_runtime(c->runtime);
}

/* Nothing goes on, and nothing is counted as if it did. */
static inline void expect_nothing_counted(cen_pool *pool)
{
    ceni_waiters_lock(pool->waiters);
    for (int kind = 0; kind < CENI_CHORES; kind++) expect_equal(pool->busy[kind] + pool->waiting[kind], 0);
    expect_equal(pool->live + pool->opening + pool->overdue + pool->leaving, 0);
    expect_equal(pool->opening_for_minimum, 0);
    expect_equal(pool->testing_for_waiters, 0);
    ceni_waiters_unlock(pool->waiters);
}

/* Closes the pool; whatever is begun on the way is done, and then nothing is left. */
static inline void end_clerk(clerk *c, cen_pool *pool)
{
    c->at_once = ~0u;
    memset(c->answer, 0, sizeof c->answer);
    if (!cen_pool_is_closed(pool)) cen_pool_close(pool, CEN_NOW, NULL, NULL);
    cen_runtime_poll(c->runtime);
    ceni_world_settle();
    finish_all(c);
    cen_runtime_poll(c->runtime);
    ceni_world_settle();
    cen_pool_stats n = look(pool);
    expect_equal(n.vacant, n.places);
    expect_equal(n.opened, n.closed);
    expect_nothing_counted(pool);
    free_pool(pool);
    ceni_world_settle();
    expect_all_ended(c);
}

/* Has an object opened, and gives it back. */
static inline void warm_clerk(clerk *c, cen_pool *pool)
{
    unsigned at_once = c->at_once;
    c->at_once |= AT_ONCE_OPEN;
    warm_up(pool, 1);
    c->at_once = at_once;
}

#endif
