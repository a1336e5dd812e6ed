/* SPDX-License-Identifier: MIT */
/*
 * A take that sleeps until a helper has tested its object, under every schedule: it is told, its deadline passes, the pool
 * is closed. The helpers are threads of the process' own runtime.
 */
#include "explore/lives.h"

static const cen_driver_calls blocking_calls = {.size = sizeof blocking_calls,
                                                .open = open_thing,
                                                .close = close_thing,
                                                .interrupt = interrupt_thing,
                                                .test = test_thing,
                                                .blocks = true};

/* A pool whose only object is out as far as this thread goes; a take has found it and it is stale. */
static ceni_grant find_stale(void)
{
    make_living(&blocking_calls, (cen_pool_options){.max = 1, NO_LIMITS});
    adopt_thing(0);
    ceni_add_relaxed(&alive, 1);
    ceni_grant grant;
    expect(ceni_idle_take(pool, CENI_NO_INDEX, &grant));
    return grant;
}

typedef struct checked {
    ceni_grant grant;
    int64_t moment;
    cen_stop_token *stop;
    cen_status status, given;
} checked;

/* What a take does with it. */
static void check_and_give(void *into)
{
    checked *self = into;
    ceni_checks checks = {.failed = 0};
    ceni_wait_terms terms = {.moment = self->moment, .stop = self->stop};
    self->status = ceni_checkup_make(pool, &self->grant, &terms, &checks);
    if (self->status == CEN_CLOSED) return;
    expect_equal(checks.failed, self->status == CEN_DRIVER);
    expect(checks.goes_on == (self->status == CEN_TIMEOUT || self->status == CEN_INTERRUPTED));
    /* BUSY: closed before it began, and held as before */
    if (self->status != CEN_OK && self->status != CEN_BUSY) return;
    ceni_held_counts(ceni_pool_own_get());
    ceni_slot_note(pool, self->grant.slot, self->grant.generation, ceni_holder_number(), "here");
    cen_lease lease = {.object = ceni_load_relaxed(&self->grant.slot->object),
                       .pool = pool,
                       .generation = self->grant.generation,
                       .slot = self->grant.slot};
    use(&lease);
    self->given = cen_pool_give(&lease);
}

static checked check_beside(int64_t moment, void (*what)(void *), void *argument)
{
    checked self = {.grant = find_stale(), .moment = moment};
    if (what) {
        ceni_thread other = start("other", what, argument);
        check_and_give(&self);
        join(other);
    } else {
        check_and_give(&self);
    }
    ceni_world_settle();
    return self;
}

static void expect_over(uint32_t idle)
{
    expect_calm(idle);
    expect(pool->awaited_tests == 0 && ceni_list_empty(&pool->checkups) && pool->busy[CENI_CHORE_TEST] == 0);
    end_helped();
}

/* guarantees: life-api.helper-test */
EXPLORE(L3_a_take_that_sleeps_until_its_object_is_tested_is_woken, 2)
{
    checked self = check_beside(CENI_FOREVER, NULL, NULL);
    expect(self.status == CEN_OK && self.given == CEN_OK);
    expect_over(1);
}

/* guarantees: life.L7 */
EXPLORE(L7_a_take_gets_the_tested_object_or_its_deadline_passes_and_the_object_is_idle, 2)
{
    checked self = check_beside(cen_clock(), NULL, NULL);
    expect(self.status == CEN_OK || self.status == CEN_TIMEOUT);
    expect_over(1);
}

/* guarantees: life-api.helper-test */
EXPLORE(L3_who_waits_gets_the_object_that_passes_after_its_take_has_left, 2)
{
    taker next = {.deadline = CEN_NEVER};
    checked self = check_beside(cen_clock(), take_and_give, &next);
    expect(self.status == CEN_OK || self.status == CEN_TIMEOUT);
    expect(next.status == CEN_OK && next.given == CEN_OK);
    expect_over(1);
}

static void close_it(void *unused)
{
    (void)unused;
    expect_equal(cen_pool_close(pool, CEN_NEVER, NULL, NULL), CEN_OK);
}

/* guarantees: life-api.helper-test */
EXPLORE(L15_close_tells_a_take_that_sleeps_until_its_object_is_tested_or_awaits_it, 2)
{
    checked self = check_beside(CENI_FOREVER, close_it, NULL);
    expect(self.status == CEN_CLOSED || ((self.status == CEN_OK || self.status == CEN_BUSY) && self.given == CEN_OK));
    end_helped();
}

static void set_token(void *token)
{
    cen_stop_token_set(token);
}

/* guarantees: life-api.stop-test */
EXPLORE(L5_a_take_that_is_stopped_while_its_object_is_tested_leaves_and_the_object_is_idle, 2)
{
    cen_stop_token stop = CEN_STOP_TOKEN_INIT;
    checked self = {.grant = find_stale(), .moment = CENI_FOREVER, .stop = &stop};
    ceni_thread other = start("other", set_token, &stop);
    check_and_give(&self);
    join(other);
    ceni_world_settle();
    expect(self.status == CEN_INTERRUPTED || (self.status == CEN_OK && self.given == CEN_OK));
    expect_over(1);
}

static void interrupt_main(void *holder)
{
    cen_pool_interrupt(pool, *(const uint64_t *)holder);
}

/* guarantees: life-api.stop-test */
EXPLORE(L5_a_take_that_is_interrupted_while_its_object_is_tested_leaves_and_the_object_is_idle, 2)
{
    uint64_t holder = cen_holder_number();
    checked self = check_beside(CENI_FOREVER, interrupt_main, &holder);
    expect(self.status == CEN_INTERRUPTED || (self.status == CEN_OK && self.given == CEN_OK));
    expect_over(1);
}

/* guarantees: life-api.stop-test */
EXPLORE(L5_a_take_that_is_cancelled_while_its_object_is_tested_keeps_nothing, 2)
{
    checked self = {.grant = find_stale(), .moment = CENI_FOREVER, .status = CEN_MISUSE};
    ceni_thread other = start("other", check_and_give, &self);
    ceni_world_cancel(other);
    join(other);
    ceni_world_settle();
    expect(self.status == CEN_MISUSE || (self.status == CEN_OK && self.given == CEN_OK)); /* or it never returned */
    expect_over(1);
}
