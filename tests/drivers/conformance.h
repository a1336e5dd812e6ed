/* SPDX-License-Identifier: MIT */
/*
 * What every driver for a server must do, as one suite. A driver describes itself in a case, and its test program has
 * one line for it:
 *
 *     static const conformance blocking = {.name = "pq", .driver = blocking_driver, .good = good_url, ...};
 *     CONFORMANCE(blocking)
 *
 * which makes a test of each sentence below, named after the case: "blocking_opens_an_object_that_works_...". A form of the
 * driver that works over a poller is a second case with the same functions and another `driver`.
 *
 * What a kind of server does not have is NULL in the case (SQLite knows no passwords): those tests say so in a line, and pass.
 * Each test runs in a child process of its own; the server is started by test_program_begin and serves all of them. So
 * `connections` counts those of the pool's user only, and each test begins with none.
 */
#ifndef TESTS_DRIVERS_CONFORMANCE_H
#define TESTS_DRIVERS_CONFORMANCE_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/cenote.h>

#include "support/test.h"

typedef struct conformance {
    const char *name;

    /* The driver for that address. `timeout_ns` is its limit for opening; 0: its own default. Called once for each pool; what
     * it needs until cen_pool_new returned may be static. */
    cen_driver (*driver)(const char *url, int64_t timeout_ns);

    /* Addresses. `at`: an address like the good one but at that port of 127.0.0.1, for servers that are no servers. */
    const char *(*good)(void);
    const char *(*wrong)(void); /* the same server, with a wrong password */
    const char *(*at)(uint16_t port);
    const char *address; /* if not NULL, the text of a failed opening contains this: "127.0.0.1" */
    const char *secret;  /* ... and the password, as it is in the addresses, never */

    /* What the pool's take answers, and error->code where it is not 0 here, ... */
    cen_status wrong_status, absent_status, full_status;
    int wrong_code, absent_code, full_code;

    /* One question to the server and its right answer. */
    bool (*use)(void *object);

    /* By what number the server knows this connection; never 0, and no two that are open have the same. */
    uint64_t (*identity)(void *object);

    /* Leaves something behind that the next user must not find (an open transaction), and: that is not there. */
    bool (*make_dirty)(void *object);
    bool (*is_clean)(void *object);

    /* Kills the connection with that identity on the server's side, by another connection, and waits until it is gone. */
    bool (*cut)(uint64_t identity);

    /* A question whose answer takes 30 seconds or more. True if it failed. */
    bool (*hang)(void *object);

    /* How many connections of the pool's user the server has now; -1: it cannot be asked. */
    int (*connections)(void);

    /* The driver cannot open anything in the child of a fork: its poller is the parent's. */
    bool cannot_renew;

    /* True: uses up all connections that the server has for the pool's user; false: gives them back. */
    bool (*fill)(bool full);
} conformance;

/* Waits until the threads of the process' own runtime are gone, which end after the last pool is freed: libraries that tidy up at
 * exit, as libcrypto does, do not bear threads that end just then. */
void conformance_settle(void);

/* How long something that must happen is waited for. */
extern int conformance_patience_ms;

/* One for each sentence, in the order of the macro. */
void conformance_open(const conformance *self);
void conformance_reuse(const conformance *self);
void conformance_validate(const conformance *self);
void conformance_test(const conformance *self);
void conformance_reset(const conformance *self);
void conformance_broken_idle(const conformance *self);
void conformance_broken_round(const conformance *self);
void conformance_broken_held(const conformance *self);
void conformance_open_timeout(const conformance *self);
void conformance_interrupt_hold(const conformance *self);
void conformance_interrupt_close(const conformance *self);
void conformance_orphan(const conformance *self);
void conformance_fork(const conformance *self);
void conformance_renew(const conformance *self);
void conformance_close(const conformance *self);
void conformance_wrong(const conformance *self);
void conformance_absent(const conformance *self);
void conformance_full(const conformance *self);
void conformance_threads(const conformance *self);
void conformance_storm(const conformance *self);

#define CONFORMANCE_TEST_(prefix, sentence, function) \
    TEST(prefix##_##sentence) \
    { \
        function(&prefix); \
    }

#define CONFORMANCE(prefix) \
    CONFORMANCE_TEST_(prefix, opens_an_object_that_works_and_the_server_sees_one, conformance_open) \
    CONFORMANCE_TEST_(prefix, lends_the_same_object_again, conformance_reuse) \
    CONFORMANCE_TEST_(prefix, keeps_what_comes_back_clean_without_asking_the_server, conformance_validate) \
    CONFORMANCE_TEST_(prefix, tests_one_that_was_idle_for_long, conformance_test) \
    CONFORMANCE_TEST_(prefix, resets_what_comes_back_dirty, conformance_reset) \
    CONFORMANCE_TEST_(prefix, replaces_one_that_broke_while_idle_before_it_is_lent, conformance_broken_idle) \
    CONFORMANCE_TEST_(prefix, finds_one_that_broke_while_idle_in_a_round, conformance_broken_round) \
    CONFORMANCE_TEST_(prefix, replaces_one_that_broke_while_held, conformance_broken_held) \
    CONFORMANCE_TEST_(prefix, gives_up_opening_at_a_server_that_is_silent, conformance_open_timeout) \
    CONFORMANCE_TEST_(prefix, interrupts_who_holds_for_too_long, conformance_interrupt_hold) \
    CONFORMANCE_TEST_(prefix, interrupts_who_holds_when_the_pool_is_closed, conformance_interrupt_close) \
    CONFORMANCE_TEST_(prefix, bears_a_close_after_an_abandon_when_the_taker_has_ended, conformance_orphan) \
    CONFORMANCE_TEST_(prefix, a_child_says_nothing_to_the_parents_server, conformance_fork) \
    CONFORMANCE_TEST_(prefix, a_child_that_renews_has_connections_of_its_own, conformance_renew) \
    CONFORMANCE_TEST_(prefix, closes_so_that_the_server_has_none, conformance_close) \
    CONFORMANCE_TEST_(prefix, says_that_the_credentials_are_wrong_and_not_what_they_are, conformance_wrong) \
    CONFORMANCE_TEST_(prefix, says_that_there_is_no_server, conformance_absent) \
    CONFORMANCE_TEST_(prefix, says_that_the_server_is_full, conformance_full) \
    CONFORMANCE_TEST_(prefix, serves_eight_threads_with_three_and_no_two_have_one, conformance_threads) \
    CONFORMANCE_TEST_(prefix, survives_cuts_while_threads_use_it_and_the_counts_add_up, conformance_storm)

#endif
