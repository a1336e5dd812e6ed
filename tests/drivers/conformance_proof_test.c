/* SPDX-License-Identifier: MIT */
/*
 * The suite of all drivers can fail: each test here takes the driver of examples/own_driver.h, breaks one thing, and expects
 * the sentence that speaks of it to be false, in a process of its own.
 */
#include <sys/wait.h>

#include "drivers/own_case.h"

static bool fails(void (*sentence)(const conformance *self), const conformance *self, const cen_driver_calls *worse)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(120);
        if (!freopen("/dev/null", "w", stdout)) _exit(0);
        calls = worse;
        conformance_patience_ms = 3000; /* what never happens is not waited for as long as what must */
        sentence(self);
        _exit(0);
    }
    int status = 0;
    expect(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

/* The calls of the driver, with one of them replaced or left out. */
#define worse(...) \
    (&(cen_driver_calls){.size = sizeof own_calls, \
                         .blocks = true, \
                         .prepare = own_prepare, \
                         .fini = free, \
                         .closes_nothing = true, \
                         __VA_ARGS__})
#define OPEN .open = own_open
#define CLOSE .close = own_close
#define CHECK .check = own_check
#define RESET .reset = own_reset
#define ASK .test = own_test
#define STOP .interrupt = own_interrupt
#define LEAVE .abandon = own_abandon

/* ---- Worse calls ------------------------------------------------------------------------------------- */

static cen_condition blind(void *server, void *object)
{
    (void)server;
    (void)object;
    return CEN_CLEAN;
}

static cen_condition suspicious(void *server, void *object)
{
    (void)server;
    (void)object;
    return CEN_DIRTY;
}

static cen_status believe(void *server, void *object, cen_error *error)
{
    (void)server;
    (void)object;
    (void)error;
    return CEN_OK;
}

static cen_status doubt(void *server, void *object, cen_error *error)
{
    (void)server;
    (void)object;
    (void)error;
    return CEN_DRIVER;
}

static void leak(void *server, void *object)
{
    (void)server;
    (void)object;
}

static void speak(void *server, void *object) /* to the parent's server */
{
    own_interrupt(server, object);
    own_close(server, object);
}

static cen_status dawdle(void *server, void **out, cen_error *error)
{
    usleep(1700000);
    return own_open(server, out, error);
}

static cen_status share(void *server, void **out, cen_error *error)
{
    static void *only;
    cen_status status = only ? CEN_OK : own_open(server, &only, error);
    *out = only;
    return status;
}

static cen_status say_little(void *server, void **out, cen_error *error)
{
    cen_status status = own_open(server, out, error);
    error->text[0] = 0;
    return status;
}

static cen_status tell_all(void *server, void **out, cen_error *error)
{
    cen_status status = own_open(server, out, error);
    snprintf(error->text, sizeof error->text, "127.0.0.1 does not like the password %s of this user",
             ((own_server *)server)->password);
    return status;
}

static cen_status confuse(void *server, void **out, cen_error *error)
{
    return own_open(server, out, error) == CEN_OK ? CEN_OK : CEN_SYSTEM;
}

/* ---- What is found ---------------------------------------------------------------------------------------- */

TEST(the_driver_as_it_is_passes)
{
    expect(!fails(conformance_open, &own, &own_calls));
    expect(!fails(conformance_reset, &own, &own_calls));
    expect(!fails(conformance_broken_held, &own, &own_calls));
    expect(!fails(conformance_renew, &own, &own_calls));
}

TEST(connections_that_stay_open_are_found)
{
    expect(fails(conformance_open, &own, worse(OPEN, .close = leak, CHECK, RESET, ASK, STOP, LEAVE)));
    expect(fails(conformance_close, &own, worse(OPEN, .close = leak, CHECK, RESET, ASK, STOP, LEAVE)));
}

TEST(one_connection_for_all_is_found)
{
    expect(fails(conformance_reuse, &own, worse(.open = share, .close = leak, CHECK, RESET, ASK, STOP, LEAVE)));
    expect(fails(conformance_threads, &own, worse(.open = share, .close = leak, CHECK, RESET, ASK, STOP, LEAVE)));
    expect(fails(conformance_storm, &own, worse(.open = share, .close = leak, CHECK, RESET, ASK, STOP, LEAVE)));
}

TEST(a_reset_for_nothing_is_found)
{
    expect(fails(conformance_validate, &own, worse(OPEN, CLOSE, .check = suspicious, RESET, ASK, STOP, LEAVE)));
}

TEST(dirt_that_stays_is_found)
{
    expect(fails(conformance_reset, &own, worse(OPEN, CLOSE, .check = blind, RESET, ASK, STOP, LEAVE)));
    expect(fails(conformance_reset, &own, worse(OPEN, CLOSE, CHECK, .reset = believe, ASK, STOP, LEAVE)));
    expect(fails(conformance_reset, &own, worse(OPEN, CLOSE, CHECK, ASK, STOP, LEAVE)));
}

TEST(a_test_that_says_nothing_is_found)
{
    expect(fails(conformance_test, &own, worse(OPEN, CLOSE, CHECK, RESET, STOP, LEAVE)));
    expect(fails(conformance_test, &own, worse(OPEN, CLOSE, CHECK, RESET, .test = doubt, STOP, LEAVE)));
    expect(fails(conformance_broken_idle, &own, worse(OPEN, CLOSE, CHECK, RESET, .test = believe, STOP, LEAVE)));
    expect(fails(conformance_broken_round, &own, worse(OPEN, CLOSE, CHECK, RESET, .test = believe, STOP, LEAVE)));
}

TEST(a_check_that_does_not_see_what_broke_is_found)
{
    expect(fails(conformance_broken_held, &own, worse(OPEN, CLOSE, .check = blind, RESET, ASK, STOP, LEAVE)));
}

TEST(an_opening_without_a_limit_is_found)
{
    expect(fails(conformance_open_timeout, &own, worse(.open = dawdle, CLOSE, CHECK, RESET, ASK, STOP, LEAVE)));
}

TEST(a_holder_that_nobody_interrupts_is_found)
{
    long_work = "sleep 1000";
    expect(fails(conformance_interrupt_hold, &own, worse(OPEN, CLOSE, CHECK, RESET, ASK, LEAVE)));
    expect(fails(conformance_interrupt_close, &own, worse(OPEN, CLOSE, CHECK, RESET, ASK, LEAVE)));
}

TEST(a_child_that_speaks_to_the_parents_server_is_found)
{
    expect(fails(conformance_renew, &own, worse(OPEN, CLOSE, CHECK, RESET, ASK, STOP, .abandon = speak)));
}

TEST(errors_that_say_too_little_or_too_much_are_found)
{
    expect(fails(conformance_wrong, &own, worse(.open = tell_all, CLOSE, CHECK, RESET, ASK, STOP, LEAVE)));
    expect(fails(conformance_absent, &own, worse(.open = confuse, CLOSE, CHECK, RESET, ASK, STOP, LEAVE)));
    expect(fails(conformance_full, &own, worse(.open = confuse, CLOSE, CHECK, RESET, ASK, STOP, LEAVE)));
    expect(fails(conformance_full, &own, worse(.open = say_little, CLOSE, CHECK, RESET, ASK, STOP, LEAVE)));
}
