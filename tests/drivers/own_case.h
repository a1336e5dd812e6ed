/* SPDX-License-Identifier: MIT */
/* The driver of examples/own_driver.h as a case of the suite, and its server. */
#ifndef TESTS_DRIVERS_OWN_CASE_H
#define TESTS_DRIVERS_OWN_CASE_H

#include "drivers/conformance.h"

#include "own_driver.h"

enum { MOST = 6 };

static const cen_driver_calls *calls = &own_calls; /* or worse ones */
static const char *long_work = "sleep 40000";

static pid_t process;
static uint16_t port;

void test_program_begin(void);
void test_program_begin(void)
{
    process = lines_start(MOST, &port);
}

void test_program_end(void);
void test_program_end(void)
{
    lines_stop(process);
}

/* An address here is "PORT USER PASSWORD". */
static const char *address(unsigned at, const char *password)
{
    static char text[60];
    snprintf(text, sizeof text, "%u tester %s", at, password);
    return text;
}

static const char *good(void)
{
    return address(port, "secret");
}

static const char *wrong(void)
{
    return address(port, "secretly-wrong");
}

static const char *at(uint16_t other)
{
    return address(other, "secret");
}

static cen_driver driver(const char *url, int64_t timeout_ns)
{
    static own_server server;
    unsigned number;
    expect_equal(sscanf(url, "%u %19s %19s", &number, server.user, server.password), 3);
    server.port = (uint16_t)number;
    server.timeout_ms = timeout_ns ? (int)(timeout_ns / 1000000) : 2000;
    return (cen_driver){calls, &server};
}

/* ---- Holders -------------------------------------------------------------------------------- */

static bool use(void *object)
{
    char answer[60];
    return line_ask(&((own_object *)object)->line, "add 20 22", answer, sizeof answer) && strcmp(answer, "ok 42") == 0;
}

static uint64_t identity(void *object)
{
    char answer[60];
    return line_ask(&((own_object *)object)->line, "who", answer, sizeof answer) ? strtoull(answer + 3, NULL, 10) : 0;
}

static bool make_dirty(void *object)
{
    char answer[60];
    line *l = &((own_object *)object)->line;
    return line_ask(l, "begin", answer, sizeof answer) && line_ask(l, "set dirt", answer, sizeof answer);
}

static bool is_clean(void *object)
{
    char answer[60];
    own_object *o = object;
    return line_ask(&o->line, "get", answer, sizeof answer) && strcmp(answer, "ok ") == 0 && !o->line.in_transaction;
}

static bool hang(void *object)
{
    char answer[60];
    return !line_ask(&((own_object *)object)->line, long_work, answer, sizeof answer);
}

/* ---- The administrator -------------------------------------------------------------------------- */

static bool admin(const char *question, char *answer, size_t room)
{
    line l;
    char hello[60];
    bool is_ok = line_connect(&l, port, 5000) && line_ask(&l, "hello admin commander", hello, sizeof hello) &&
                 line_ask(&l, question, answer, room);
    close(l.fd);
    return is_ok;
}

static int connections(void)
{
    char answer[60];
    return admin("count", answer, sizeof answer) ? atoi(answer + 3) : -1;
}

static bool cut(uint64_t number)
{
    char question[60], answer[60];
    snprintf(question, sizeof question, "kill %d", (int)number);
    return admin(question, answer, sizeof answer);
}

static bool fill(bool full)
{
    static line many[MOST];
    char answer[60];
    for (int i = 0; i < MOST; i++) {
        if (!full) close(many[i].fd);
        else if (!line_connect(&many[i], port, 5000) ||
                 !line_ask(&many[i], "hello tester secret", answer, sizeof answer))
            return false;
    }
    return true;
}

static const conformance own = {.name = "own",
                                .driver = driver,
                                .good = good,
                                .wrong = wrong,
                                .at = at,
                                .address = "127.0.0.1",
                                .secret = "secret",
                                .wrong_status = CEN_DRIVER,
                                .absent_status = CEN_DOWN,
                                .absent_code = ECONNREFUSED,
                                .full_status = CEN_FULL,
                                .use = use,
                                .identity = identity,
                                .make_dirty = make_dirty,
                                .is_clean = is_clean,
                                .cut = cut,
                                .hang = hang,
                                .connections = connections,
                                .fill = fill};

#endif
