/* SPDX-License-Identifier: MIT */
/* The watchdog under every schedule: it looks, lies down and ends while messages begin and end. */
#include "explore/actors.h"

static _Atomic uint32_t reports; /* of the second, which alone is meant to be slow */

static void note_slow(void *argument, const char *text, const char *message, int64_t ns)
{
    (void)argument;
    expect(ns >= CEN_US(200));
    expect(strstr(text, "actor \"watched\"") && strstr(text, message));
    if (strcmp(message, "second") != 0) return; /* time passes where a schedule lets it */
    ceni_add_seq_cst(&reports, 1);
    ceni_futex_wake(&reports, UINT32_MAX);
}

static void begin(void (*in)(letter *))
{
    ceni_store_relaxed(&reports, 0); /* nobody else is there yet; carries nothing */
    make_actor(.name = "watched", .slow_ns = CEN_US(200), .slow = note_slow);
    letters[1].message.name = "second";
    in_handler = in;
}

static void await_report(letter *self)
{
    if (self != &letters[1]) return;
    while (ceni_load_seq_cst(&reports) == 0) ceni_futex_wait(&reports, 0, CENI_FOREVER);
}

/* If nobody watched the second it would wait for ever. */
/* guarantees: actor.slow */
EXPLORE(a_message_that_begins_while_the_watchdog_lies_down_is_watched, 3)
{
    begin(await_report);
    tell(0);
    tell(1);
    end_actor();
    expect_equal(ceni_load_seq_cst(&reports), 1);
}

static void take_long(letter *self)
{
    (void)self;
    ceni_sleep_until(ceni_clock_now() + CEN_US(500));
}

/* guarantees: actor.slow */
EXPLORE(a_slow_message_is_reported_once, 3)
{
    begin(take_long);
    tell(1);
    end_actor(); /* which waits for a report that is being made */
    expect_equal(ceni_load_seq_cst(&reports), 1);
}

/* As long as it may: whether the alarm or the end comes first, at most one reports it. */
static void take_as_long_as_allowed(letter *self)
{
    (void)self;
    ceni_sleep_until(ceni_clock_now() + CEN_US(200));
}

EXPLORE(an_actor_that_ends_while_its_watchdog_rings_is_not_touched_afterwards, 3)
{
    begin(take_as_long_as_allowed);
    tell(1);
    end_actor();
    expect(ceni_load_seq_cst(&reports) <= 1);
}
