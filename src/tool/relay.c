/* SPDX-License-Identifier: MIT */
/*
 * States of a tie, a connection between a browser and the process:
 * FREE -> ASKING     accepted; the request is arriving
 * ASKING -> PASSING  complete and allowed: the process is connected; the request is forwarded, and the response comes
 * back
 * ASKING -> PASSING  refused, or the process does not accept: the response is an error
 * any -> FREE        the response is sent, one side has closed, or it took too long
 */
#include "tool/relay.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "tool/address.h"

enum { TIES = 32, DOWN_ROOM = 65536, PATIENCE_MS = 10000, IDLE_MS = 500 };

typedef enum tie_state { TIE_FREE = 0, TIE_ASKING, TIE_PASSING } tie_state;

typedef struct tie {
    tie_state state;
    int browser, process; /* process -1: none, or at its end */
    int64_t since_ms;     /* the time of the last byte in either direction */
    size_t asked;         /* bytes of the request in `ask` */
    char ask[RELAY_HEAD_MOST + RELAY_BODY_MOST + 4];
    relay_request up; /* the request for the process */
    size_t up_at;
    char down[DOWN_ROOM]; /* the response for the browser, from `down_at` to `down_end` */
    size_t down_at, down_end;
} tie;

struct relay {
    relay_options options;
    char socket[108];
    int listener;
    uint16_t port;
    tie *ties[TIES]; /* allocated at first use */
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- Open and close ------------------------------------------------------------------------- */

static cen_status refused(cen_error *error, uint16_t port, int code)
{
    if (code == EADDRINUSE)
        return address_fail(error, CEN_EXISTS, "--port: port %u of 127.0.0.1 is already in use.", port);
    return address_fail(error, CEN_SYSTEM, "Cannot listen on 127.0.0.1: %s.", strerrordesc_np(code));
}

static int listen_at(uint16_t port, uint16_t *out)
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    if (listener < 0) return -1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    bool done = bind(listener, (struct sockaddr *)&at, length) == 0 && listen(listener, TIES) == 0 &&
                getsockname(listener, (struct sockaddr *)&at, &length) == 0;
    if (done) {
        *out = ntohs(at.sin_port);
        return listener;
    }
    int code = errno;
    close(listener);
    errno = code;
    return -1;
}

cen_status relay_open(const relay_options *options, relay **out, cen_error *error)
{
    relay *self = calloc(1, sizeof *self);
    if (!self) return address_fail(error, CEN_NO_MEMORY, "Out of memory.");
    self->options = *options;
    int length = snprintf(self->socket, sizeof self->socket, "%s", options->socket);
    self->listener = length < (int)sizeof self->socket ? listen_at(options->port, &self->port) : -1;
    if (self->listener < 0) {
        int code = errno;
        free(self);
        return refused(error, options->port, code);
    }
    *out = self;
    return CEN_OK;
}

uint16_t relay_port(const relay *self)
{
    return self->port;
}

static void drop(tie *t)
{
    if (t->state == TIE_FREE) return;
    close(t->browser);
    if (t->process >= 0) close(t->process);
    t->state = TIE_FREE;
}

void relay_close(relay *self)
{
    if (!self) return;
    for (size_t i = 0; i < TIES; i++) {
        if (self->ties[i]) drop(self->ties[i]);
        free(self->ties[i]);
    }
    close(self->listener);
    free(self);
}

/* ---- A request ------------------------------------------------------------------------------ */

static void answer_error(tie *t, unsigned code, const char *status, const char *text)
{
    char body[300];
    int size = snprintf(body, sizeof body, "{\"error\":{\"status\":\"%s\",\"text\":\"%s\"}}", status, text);
    t->down_at = 0;
    t->down_end =
        (size_t)snprintf(t->down, sizeof t->down,
                         "HTTP/1.1 %u %s\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"
                         "X-Content-Type-Options: nosniff\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
                         code, status, size, body);
    t->state = TIE_PASSING;
    t->process = -1;
    t->up_at = t->up.length;
}

/* A Unix socket connects at once, or its queue is full, or no process listens. */
static void connect_process(const relay *self, tie *t)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    memcpy(at.sun_path, self->socket, sizeof at.sun_path);
    t->process = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (t->process >= 0 && connect(t->process, (struct sockaddr *)&at, sizeof at) == 0) {
        t->state = TIE_PASSING;
        t->up_at = t->down_at = t->down_end = 0;
        return;
    }
    bool is_busy = t->process < 0 || errno == EAGAIN;
    if (t->process >= 0) close(t->process);
    if (is_busy) answer_error(t, 503, "FULL", "the process accepts no more connections at the moment");
    else answer_error(t, 502, "DOWN", "the process does not respond: it has ended or has turned inspection off");
}

static void read_request(const relay *self, tie *t)
{
    ssize_t got = recv(t->browser, t->ask + t->asked, sizeof t->ask - t->asked, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
        drop(t);
        return;
    }
    t->asked += (size_t)got;
    t->since_ms = t->asked == (size_t)got ? now_ms() : t->since_ms; /* the time limit runs from the first byte */
    switch (relay_read(t->ask, t->asked, &self->options.tokens, &t->up)) {
    case RELAY_MORE:
        if (t->asked == sizeof t->ask) answer_error(t, 413, "INVALID", "the request is too long");
        break;
    case RELAY_GOES: connect_process(self, t); break;
    case RELAY_REFUSED: answer_error(t, t->up.code, t->up.status, t->up.text); break;
    }
}

/* ---- Forwarding ----------------------------------------------------------------------------- */

static bool is_for_later(void)
{
    return errno == EAGAIN || errno == EINTR;
}

static void send_up(tie *t)
{
    ssize_t sent = send(t->process, t->up.bytes + t->up_at, t->up.length - t->up_at, MSG_NOSIGNAL);
    if (sent < 0 && is_for_later()) return;
    if (sent < 0) t->up_at = t->up.length; /* the process refuses before it has read all: its response has the reason */
    else t->up_at += (size_t)sent;
    t->since_ms = now_ms();
}

static void read_down(tie *t)
{
    ssize_t got = recv(t->process, t->down, sizeof t->down, 0);
    if (got < 0 && is_for_later()) return;
    t->since_ms = now_ms();
    t->down_at = 0;
    t->down_end = got > 0 ? (size_t)got : 0;
    if (got > 0) return;
    close(t->process);
    t->process = -1;
}

static void send_down(tie *t)
{
    ssize_t sent = send(t->browser, t->down + t->down_at, t->down_end - t->down_at, MSG_NOSIGNAL);
    if (sent < 0 && is_for_later()) return;
    if (sent < 0) {
        drop(t);
        return;
    }
    t->down_at += (size_t)sent;
    t->since_ms = now_ms();
}

static bool has_up(const tie *t)
{
    return t->state == TIE_PASSING && t->process >= 0 && t->up_at < t->up.length;
}

static bool has_down(const tie *t)
{
    return t->state == TIE_PASSING && t->down_at < t->down_end;
}

/* ---- All connections --------------------------------------------------------------------------- */

/* Return a free tie, or the one whose connection has been idle longest without a request. NULL: all are in use. */
static tie *free_tie(relay *self)
{
    tie *oldest = NULL;
    for (size_t i = 0; i < TIES; i++) {
        if (!self->ties[i]) self->ties[i] = calloc(1, sizeof *self->ties[i]);
        tie *t = self->ties[i];
        if (!t) break;
        if (t->state == TIE_FREE) return t;
        bool silent = t->state == TIE_ASKING && t->asked == 0 && now_ms() - t->since_ms >= IDLE_MS;
        if (silent && (!oldest || t->since_ms < oldest->since_ms)) oldest = t;
    }
    if (oldest) drop(oldest);
    return oldest;
}

static void welcome(relay *self)
{
    tie *t = free_tie(self);
    int browser = t ? accept4(self->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
    if (browser < 0) return;
    t->state = TIE_ASKING;
    t->browser = browser;
    t->process = -1;
    t->asked = 0;
    t->since_ms = now_ms();
}

static void serve(const relay *self, tie *t, short from_browser, short from_process)
{
    if (t->state == TIE_ASKING && from_browser) read_request(self, t);
    else if (t->state == TIE_PASSING && from_browser & (POLLERR | POLLHUP)) drop(t);
    else if (t->state == TIE_PASSING && from_process && !has_down(t)) read_down(t);
    if (has_up(t)) send_up(t);
    if (has_down(t)) send_down(t);
    bool is_over = t->state == TIE_PASSING && t->process < 0 && !has_down(t);
    if (is_over) shutdown(t->browser, SHUT_WR);
    if (is_over || (t->state != TIE_FREE && now_ms() - t->since_ms > PATIENCE_MS)) drop(t);
}

/* Set what a tie waits for. The process is read only when its earlier output was sent. */
static void wait_for(const tie *t, struct pollfd *browser, struct pollfd *process)
{
    *browser = (struct pollfd){.fd = -1};
    *process = (struct pollfd){.fd = -1};
    if (!t || t->state == TIE_FREE) return;
    browser->fd = t->browser;
    browser->events = (short)((t->state == TIE_ASKING ? POLLIN : 0) | (has_down(t) ? POLLOUT : 0));
    if (t->state != TIE_PASSING || t->process < 0 || has_down(t)) return;
    process->fd = t->process;
    process->events = (short)(POLLIN | (has_up(t) ? POLLOUT : 0));
}

void relay_run(relay *self, int ms)
{
    struct pollfd fds[1 + 2 * TIES] = {{.fd = self->listener, .events = POLLIN}};
    for (size_t i = 0; i < TIES; i++) wait_for(self->ties[i], &fds[1 + 2 * i], &fds[2 + 2 * i]);
    if (poll(fds, 1 + 2 * TIES, ms) < 0) return;
    for (size_t i = 0; i < TIES; i++) {
        tie *t = self->ties[i];
        if (t && t->state != TIE_FREE) serve(self, t, fds[1 + 2 * i].revents, fds[2 + 2 * i].revents);
    }
    if (fds[0].revents) welcome(self);
}
