/* SPDX-License-Identifier: MIT */
#include "faultproxy/listener.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "faultproxy/proxy.h"

enum { LONG_LINE = 511, SHORT_LINE = 1, MOST_ACCEPTS = 64, PAUSE_MS = 50 };

static void on_poll(uv_poll_t *poll, int status, int events);

static bool cannot(const fp_listener *listener, char *why)
{
    int error = errno;
    char text[FP_ADDRESS_TEXT];
    fp_address_text(&listener->at, text);
    snprintf(why, FP_SENTENCE, "Cannot listen on %s: %s.", text, uv_strerror(uv_translate_sys_error(error)));
    return false;
}

/* Return a socket bound to the address; -1 with errno on failure. */
static int bound_socket(fp_address *at)
{
    int yes = 1, fd = socket(at->at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    socklen_t size = sizeof at->at;
    if (bind(fd, (struct sockaddr *)&at->at, at->size) == 0 &&
        (fp_address_path(at) || getsockname(fd, (struct sockaddr *)&at->at, &size) == 0))
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* ---- Accepting ------------------------------------------------------------------------------ */

static void watch(fp_listener *listener)
{
    uv_timer_stop(&listener->timer);
    if (listener->poll) uv_poll_start(listener->poll, UV_READABLE, on_poll);
}

static void on_timer(uv_timer_t *timer)
{
    watch(timer->data);
}

static void pause_for(fp_listener *listener, uint64_t milliseconds)
{
    uv_poll_stop(listener->poll);
    uv_update_time(&listener->proxy->loop); /* count from now, not from when the loop woke */
    uv_timer_start(&listener->timer, on_timer, milliseconds, 0);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    fp_listener *listener = poll->data;
    (void)status;
    (void)events;
    for (unsigned n = 0; n < MOST_ACCEPTS; n++) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) fp_link_begin(listener->proxy, fd);
        else if (errno == EINTR || errno == ECONNABORTED) continue;
        else if (errno == EAGAIN || errno == EWOULDBLOCK) return;
        if (fd >= 0 && !listener->every) continue;
        pause_for(listener, fd >= 0 ? listener->every : PAUSE_MS); /* on error: probably no descriptors left */
        return;
    }
}

/* ---- Listening ------------------------------------------------------------------------------ */

static void on_poll_closed(uv_handle_t *poll)
{
    free(poll);
}

static bool open_socket(fp_listener *listener)
{
    listener->fd = bound_socket(&listener->at);
    if (listener->fd < 0) return false;
    uv_poll_t *poll = malloc(sizeof *poll);
    if (!poll) errno = ENOMEM;
    if (poll && listen(listener->fd, listener->every ? SHORT_LINE : LONG_LINE) == 0 &&
        uv_poll_init(&listener->proxy->loop, poll, listener->fd) == 0) {
        poll->data = listener;
        listener->poll = poll;
        watch(listener);
        return true;
    }
    int error = errno;
    free(poll);
    close(listener->fd);
    listener->fd = -1;
    errno = error;
    return false;
}

bool fp_listener_start(fp_listener *listener, fp_proxy *proxy, const fp_address *at, char why[FP_SENTENCE])
{
    listener->proxy = proxy;
    listener->at = *at;
    listener->fd = listener->holder = -1;
    if (!fp_address_path(at) && (listener->holder = bound_socket(&listener->at)) < 0) return cannot(listener, why);
    uv_timer_init(&proxy->loop, &listener->timer);
    listener->timer.data = listener;
    listener->on = true;
    if (open_socket(listener)) return true;
    cannot(listener, why);
    uv_close((uv_handle_t *)&listener->timer, NULL);
    listener->on = false;
    if (listener->holder >= 0) close(listener->holder);
    return false;
}

void fp_listener_refuse(fp_listener *listener)
{
    if (listener->fd < 0) return;
    uv_timer_stop(&listener->timer);
    uv_close((uv_handle_t *)listener->poll, on_poll_closed);
    listener->poll = NULL;
    close(listener->fd);
    listener->fd = -1;
}

bool fp_listener_reopen(fp_listener *listener, char why[FP_SENTENCE])
{
    if (listener->fd >= 0) return true;
    /* The existing file is ours, and bind needs a new one. */
    if (fp_address_path(&listener->at)) unlink(fp_address_path(&listener->at));
    return open_socket(listener) || cannot(listener, why);
}

void fp_listener_pace(fp_listener *listener, uint64_t every)
{
    listener->every = every;
    if (listener->fd < 0) return;
    listen(listener->fd, every ? SHORT_LINE : LONG_LINE);
    watch(listener);
}

void fp_listener_stop(fp_listener *listener)
{
    if (!listener->on) return;
    listener->on = false;
    fp_listener_refuse(listener);
    uv_close((uv_handle_t *)&listener->timer, NULL);
    if (listener->holder >= 0) close(listener->holder);
    if (fp_address_path(&listener->at)) unlink(fp_address_path(&listener->at));
}
