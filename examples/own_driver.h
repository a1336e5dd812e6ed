/* SPDX-License-Identifier: MIT */
/*
 * A complete driver to start from: copy it, and replace lines.h by your client library. It passes the same conformance
 * suite as cenote's drivers, tests/drivers/conformance.c. docs/drivers.md explains each function.
 */
#include <cenote/cenote.h>

#include "lines.h"

typedef struct own_server { /* the driver's argument; prepare copies it for the other calls */
    uint16_t port;
    int timeout_ms; /* of the driver's own commands: a holder's may take any time */
    char user[20], password[20];
} own_server;

typedef struct own_object { /* what a taker gets */
    line line;
    pid_t process;
} own_object;

/* Any response except "ok" is a failure with a code and a text, which names the server and never contains the
 * password. */
static cen_status own_question(const own_server *server, own_object *object, const char *question, cen_error *error)
{
    char answer[120];
    line_limit(&object->line, server->timeout_ms);
    bool is_ok = line_ask(&object->line, question, answer, sizeof answer);
    error->code = errno;
    line_limit(&object->line, 0);
    if (is_ok) return CEN_OK;
    bool is_late = !*answer && error->code == EAGAIN;
    snprintf(error->text, sizeof error->text, "the server at 127.0.0.1:%u, user %s, %s%s", server->port, server->user,
             is_late   ? "no response in time"
             : *answer ? "says: "
                       : "connection closed",
             answer);
    return is_late ? CEN_TIMEOUT : !*answer ? CEN_LOST : strcmp(answer, "no room") == 0 ? CEN_FULL : CEN_DRIVER;
}

static void own_close(void *server, void *object)
{
    (void)server;
    close(((own_object *)object)->line.fd);
    free(object);
}

static cen_status own_open(void *argument, void **out, cen_error *error)
{
    const own_server *server = argument;
    own_object *object = calloc(1, sizeof *object);
    char hello[60];
    if (!object) return CEN_NO_MEMORY;
    cen_status status = line_connect(&object->line, server->port, server->timeout_ms) ? CEN_OK : CEN_DOWN;
    error->code = errno;
    snprintf(error->text, sizeof error->text, "cannot connect to 127.0.0.1:%u",
             server->port); /* if that is the reason */
    object->process = getpid();
    snprintf(hello, sizeof hello, "hello %s %s", server->user, server->password);
    if (status == CEN_OK) status = own_question(server, object, hello, error);
    if (status == CEN_DRIVER) error->cause = CEN_CAUSE_LOGIN_REFUSED; /* the pool tries again less often */
    if (status == CEN_OK) *out = object;
    else own_close(argument, object);
    return status;
}

static cen_condition own_check(void *server, void *object) /* at every give: only reads memory */
{
    const own_object *o = object;
    (void)server;
    return o->line.is_broken ? CEN_BROKEN : o->line.in_transaction ? CEN_DIRTY : CEN_CLEAN;
}

static cen_status own_reset(void *server, void *object, cen_error *error)
{
    return own_question(server, object, "rollback", error);
}

static cen_status own_test(void *server, void *object, cen_error *error)
{
    return own_question(server, object, "ping", error);
}

static void own_interrupt(void *server, void *object) /* its holder may be using it: do not close */
{
    (void)server;
    shutdown(((own_object *)object)->line.fd, SHUT_RDWR);
}

static void own_abandon(void *server, void *object)
{
    if (((own_object *)object)->process == getpid()) own_interrupt(server, object); /* a lost holder may come back */
    else own_close(server, object); /* after a fork: close our copy without a message to the server */
}

static cen_status own_prepare(void *argument, void **state, cen_error *error)
{
    (void)error;
    *state = malloc(sizeof(own_server));
    if (*state) memcpy(*state, argument, sizeof(own_server));
    return *state ? CEN_OK : CEN_NO_MEMORY;
}

static const cen_driver_calls own_calls = {.size = sizeof own_calls,
                                           .blocks = true,
                                           .prepare = own_prepare,
                                           .fini = free,
                                           .open = own_open,
                                           .close = own_close,
                                           .check = own_check,
                                           .reset = own_reset,
                                           .test = own_test,
                                           .interrupt = own_interrupt,
                                           .abandon = own_abandon};
