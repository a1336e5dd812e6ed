/* SPDX-License-Identifier: MIT */
/* The life of a link: start, connect to the server, end. Its bytes are in bytes.c. */
#include "faultproxy/link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faultproxy/proxy.h"

/* A connect to a Unix socket with a full queue fails at once. TCP would retry by itself; here the proxy retries. */
static const uint64_t retry_after = 10 * FP_MS;

/* ---- The end -------------------------------------------------------------------------------- */

static void close_fd(int fd, bool reset)
{
    struct linger hard = {.l_onoff = 1, .l_linger = 0};
    if (reset) setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(fd);
}

static void on_handle_closed(uv_handle_t *handle)
{
    fp_link *link = handle->data;
    if (--link->handles) return;
    for (unsigned i = 0; i < FP_SIDES; i++) fp_flow_fini(&link->flow[i]);
    free(link);
}

static void close_side(fp_side *side, bool reset)
{
    if (side->fd < 0) return;
    uv_close((uv_handle_t *)&side->poll, on_handle_closed);
    close_fd(side->fd, reset);
    side->fd = -1;
}

static void leave_list(fp_link *link)
{
    fp_proxy *proxy = link->proxy;
    *(link->older ? &link->older->newer : &proxy->oldest) = link->newer;
    *(link->newer ? &link->newer->older : &proxy->newest) = link->older;
}

static void end(fp_link *link, bool reset)
{
    if (link->state == FP_LINK_CLOSED) return;
    link->state = FP_LINK_CLOSED;
    leave_list(link);
    fp_stats_left(&link->proxy->stats);
    for (unsigned i = 0; i < FP_SIDES; i++) close_side(&link->side[i], reset);
    uv_close((uv_handle_t *)&link->timer, on_handle_closed);
}

void fp_link_close(fp_link *link)
{
    end(link, false);
}

void fp_link_reset(fp_link *link)
{
    if (link->state != FP_LINK_CLOSED) link->proxy->stats.resets++;
    end(link, true);
}

void fp_link_end_to_client(fp_link *link)
{
    fp_flow_ended(&link->flow[FP_SERVER], &link->faults.way[FP_SERVER], FP_CLOSED, uv_hrtime());
    if (link->state == FP_WAITING) fp_link_close(link); /* it has no server connection yet */
    else fp_link_step(link);
}

/* ---- Sides ---------------------------------------------------------------------------------- */

static void on_poll(uv_poll_t *poll, int status, int events);

/* Give the side its socket. Returns false, with the socket closed, if libuv cannot watch it. */
static bool take_fd(fp_link *link, unsigned i, int fd)
{
    fp_side *side = &link->side[i];
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); /* fails harmlessly on a Unix socket */
    if (uv_poll_init(&link->proxy->loop, &side->poll, fd) != 0) {
        close(fd);
        return false;
    }
    side->poll.data = link;
    side->fd = fd;
    side->watched = 0;
    link->handles++;
    return true;
}

/* A side that has ended its direction may still reset the connection. libuv reports errors with any watched event, so
 * an event that never occurs is watched: urgent data. */
static int only_errors(const fp_link *link, unsigned i)
{
    return link->flow[i].end == FP_CLOSED && !link->flow[1 - i].over && !link->side[i].deaf ? UV_PRIORITIZED : 0;
}

static void watch_side(fp_link *link, unsigned i)
{
    fp_side *side = &link->side[i];
    bool connects = i == FP_SERVER && link->state == FP_CONNECTING;
    int events = fp_bytes_wanted(link, i) && !connects ? UV_READABLE : 0;
    if (connects || link->flow[1 - i].stuck) events |= UV_WRITABLE;
    if (!events) events = only_errors(link, i);
    if (side->fd < 0 || side->broken || events == side->watched) return;
    side->watched = events;
    if (events) uv_poll_start(&side->poll, events, on_poll);
    else uv_poll_stop(&side->poll);
}

static int error_of(int fd)
{
    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

/* ---- The server ----------------------------------------------------------------------------- */

static void connect_failed(fp_link *link)
{
    link->proxy->stats.failed_connects++;
    fp_link_close(link);
}

/* If no server listens on a local port of the ephemeral range, a socket may get that very port and connect to
 * itself. */
static bool is_itself(int fd)
{
    struct sockaddr_storage here, there;
    socklen_t here_size = sizeof here, there_size = sizeof there;
    memset(&here, 0, sizeof here);
    memset(&there, 0, sizeof there);
    if (getsockname(fd, (struct sockaddr *)&here, &here_size) ||
        getpeername(fd, (struct sockaddr *)&there, &there_size))
        return false;
    return here.ss_family != AF_UNIX && here_size == there_size && memcmp(&here, &there, here_size) == 0;
}

static void connected(fp_link *link)
{
    int fd = link->side[FP_SERVER].fd;
    if (error_of(fd) || is_itself(fd)) {
        connect_failed(link);
        return;
    }
    link->proxy->stats.connected++;
    link->state = FP_OPEN;
}

static void connect_to_server(fp_link *link)
{
    const fp_address *target = &link->proxy->target;
    int fd = socket(target->at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    link->state = FP_CONNECTING;
    link->retry_at = FP_NEVER;
    if (fd < 0) {
        connect_failed(link);
        return;
    }
    int result = connect(fd, (const struct sockaddr *)&target->at, target->size), error = errno;
    if (result && error == EAGAIN) {
        close(fd);
        link->retry_at = uv_hrtime() + retry_after;
        return;
    }
    if (result && error != EINPROGRESS) {
        close(fd);
        connect_failed(link);
    } else if (!take_fd(link, FP_SERVER, fd)) {
        connect_failed(link);
    } else if (!result) {
        connected(link);
    }
}

/* ---- Steps ---------------------------------------------------------------------------------- */

static void on_timer(uv_timer_t *timer)
{
    fp_link *link = timer->data;
    if (link->state == FP_CONNECTING && link->retry_at <= uv_hrtime()) connect_to_server(link);
    fp_link_step(link);
}

static void arm(fp_link *link, uint64_t wake, uint64_t now)
{
    if (wake == FP_NEVER) uv_timer_stop(&link->timer);
    else uv_timer_start(&link->timer, on_timer, wake > now ? (wake - now + FP_MS - 1) / FP_MS : 1, 0);
}

/* End the link if it has reached its end. Returns true if it is closed. */
static bool settle(fp_link *link, uint64_t now)
{
    bool client_left = link->flow[FP_CLIENT].end != FP_NO_END;
    if (!link->reset_left) fp_link_reset(link);
    else if (link->state == FP_WAITING && client_left) fp_link_close(link);
    else if (link->close_at <= now) fp_link_close(link);
    else if (link->close_at == FP_NEVER && link->flow[FP_CLIENT].over && link->flow[FP_SERVER].over)
        end(link, link->reset_passes_on);
    return link->state == FP_LINK_CLOSED;
}

void fp_link_step(fp_link *link)
{
    uint64_t now = uv_hrtime();
    if (link->state == FP_LINK_CLOSED) return;
    uint64_t wake = link->close_at < link->retry_at ? link->close_at : link->retry_at;
    for (unsigned i = 0; i < FP_SIDES && link->reset_left; i++) fp_bytes_pass_on(link, i, now, &wake);
    if (link->close_at < wake) wake = link->close_at;
    if (settle(link, now)) return;
    for (unsigned i = 0; i < FP_SIDES; i++) watch_side(link, i);
    arm(link, wake, now);
}

/* An event on a side that is watched for errors only: an error, or the end of a Unix socket. */
static void heard_something(fp_link *link, unsigned i)
{
    if (error_of(link->side[i].fd)) fp_bytes_side_broke(link, i);
    else link->side[i].deaf = true;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    fp_link *link = poll->data;
    unsigned i = poll == &link->side[FP_SERVER].poll ? FP_SERVER : FP_CLIENT;
    if (status < 0) link->side[i].watched = 0; /* libuv has stopped watching a descriptor with an error */
    if (i == FP_SERVER && link->state == FP_CONNECTING) {
        connected(link);
    } else {
        if (status < 0 || (events & UV_READABLE)) fp_bytes_read(link, i);
        if (status < 0) fp_bytes_side_broke(link, i);
        else if (events & UV_PRIORITIZED) heard_something(link, i);
    }
    fp_link_step(link);
}

void fp_link_changed(fp_link *link)
{
    uint64_t now = uv_hrtime();
    for (unsigned i = 0; i < FP_SIDES; i++) {
        fp_flow_refit(&link->flow[i], &link->faults.way[i], now);
        if (link->faults.way[i].hole == FP_NO_HOLE && link->flow[i].lost) link->reset_left = 0;
    }
    if (!link->faults.close_slowly) link->close_at = FP_NEVER;
    if (link->state == FP_WAITING && link->faults.way[FP_CLIENT].hole == FP_NO_HOLE && link->reset_left)
        connect_to_server(link);
    fp_link_step(link);
}

/* ---- Start ---------------------------------------------------------------------------------- */

static void join_list(fp_link *link)
{
    fp_proxy *proxy = link->proxy;
    link->older = proxy->newest;
    *(link->older ? &link->older->newer : &proxy->oldest) = link;
    proxy->newest = link;
}

static bool is_to_be_reset(fp_proxy *proxy)
{
    return proxy->faults.reset_share && fp_random(&proxy->random) % 100 < proxy->faults.reset_share;
}

void fp_link_begin(fp_proxy *proxy, int fd)
{
    fp_link *link = calloc(1, sizeof *link);
    if (!link) {
        close_fd(fd, true);
        return;
    }
    link->proxy = proxy;
    link->faults = proxy->faults;
    link->side[FP_CLIENT].fd = link->side[FP_SERVER].fd = -1;
    link->reset_left = is_to_be_reset(proxy) ? proxy->faults.reset_after : FP_NEVER;
    link->close_at = link->retry_at = FP_NEVER;
    link->timer.data = link;
    uv_timer_init(&proxy->loop, &link->timer);
    link->handles = 1;
    join_list(link);
    fp_stats_accepted(&proxy->stats, uv_hrtime());
    if (!take_fd(link, FP_CLIENT, fd)) fp_link_close(link);
    else if (link->reset_left && link->faults.way[FP_CLIENT].hole == FP_NO_HOLE) connect_to_server(link);
    fp_link_step(link);
}
