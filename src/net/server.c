/* SPDX-License-Identifier: MIT */
/*
 * The server: it listens, accepts clients, and stops.
 *
 *     start ──▶ listens ──stop──▶ stopping: listener, timer and clients are closed ──the last handle──▶ over ──▶ gone
 *
 * Invariants
 *  S1 libuv handles and the list of clients are touched on the loop's thread only.
 *  S2 `handles` counts the handles that are open or being closed. When a stopping server has none left, the loop has
 *     finished with it, and the server stops being a user of the loop. The thread that waits in stop does that; if stop
 *     was called on the loop's thread, it happens right there.
 *  S3 The memory is freed with the last reference: the program's or a client's. A client may outlive the server's stop
 *     by its calls without a reply.
 *
 * Order table
 * tag  site    | operation     | order   | pairs with | carries             | breaks if weakened
 * [S1] ceni_server_drop | subtract of hands | seq_cst | itself | all that was done with the server | it is freed under another thread's last write
 * [S2] handle_closed | store of over | release | [S3] | the last handle's end | stop goes on while the loop still writes
 * [S3] stop | load of over | acquire | [S2] | the same | the same
 *
 * Tested by tests/unit/net/server_test.c.
 */
#include "net/server.h"

#include <errno.h>
#include <stdio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "record/events.h"
#include "wire/exchange.h"

static const int64_t second_ns = INT64_C(1000000000);
enum { BACKLOG = 1024, ACCEPTS_AT_A_TIME = 64, PAUSE_MS = 50 };
enum { DEFAULT_CLIENTS = 1000, DEFAULT_CALLS = 10000, DEFAULT_SIZE = 1 << 20 };

/* ---- Accepting clients --------------------------------------------------------------------------- */

static void take_in(uv_poll_t *listener, int status, int events);

static void resume(uv_timer_t *pause)
{
    cen_mux_server *server = pause->data;
    uv_poll_start(&server->listener, UV_READABLE, take_in);
}

/* Pause the listener. Without descriptors or memory it would be ready all the time, and the loop would do nothing
 * else. */
static void rest_a_little(cen_mux_server *server)
{
    uv_poll_stop(&server->listener);
    uv_timer_start(&server->pause, resume, PAUSE_MS, 0);
}

/* Write an event for the first refused client, and then at most one per second. */
static void tell_refusal(cen_mux_server *server)
{
    char text[128];
    int64_t now = ceni_clock_now();
    if (server->refusal_told && now - server->refusal_told < second_ns) return;
    server->refusal_told = now;
    snprintf(text, sizeof text, "server \"%s\": client limit reached (%u clients)", server->name,
             (unsigned)server->max_clients);
    ceni_event_tell(CEN_LEVEL_WARNING, CEN_EVENT_REFUSED, &server->entry, (int64_t)server->max_clients, text);
}

static void take_one(cen_mux_server *server, int fd)
{
    ceni_served(server, CENI_SERVED_ACCEPTED, 1);
    if (ceni_load_relaxed(&server->client_count) < server->max_clients) { /* only this thread adds; carries nothing */
        ceni_socket_keep_alive(fd, server->keepalive_ns);
        ceni_client_begin(server, fd);
        return;
    }
    ceni_served(server, CENI_SERVED_REFUSED, 1);
    ceni_socket_close(fd);
    tell_refusal(server);
}

/* Return true if the error belongs to the one connection that accept would have returned, so the next accept may
 * succeed. Linux reports such errors. Any other error, known here or not, might repeat for ever. */
static bool is_one_clients(int code)
{
    return code == EINTR || code == ECONNABORTED || code == EPROTO || code == ENOPROTOOPT || code == ENETDOWN ||
           code == ENETUNREACH || code == EHOSTUNREACH;
}

/* Errors of single clients may also repeat without end, or on a system other than Linux for another reason. If a whole
 * batch of accepts fails, the listener pauses, too. */
static void take_in(uv_poll_t *listener, int status, int events)
{
    cen_mux_server *server = listener->data;
    unsigned failed = 0;
    (void)events;
    if (status < 0) return rest_a_little(server); /* libuv has stopped the handle */
    for (unsigned i = 0; i < ACCEPTS_AT_A_TIME && !server->stopping; i++) {
        int fd = ceni_socket_accept(server->fd);
        if (fd >= 0) take_one(server, fd);
        else if (errno == EAGAIN || errno == EWOULDBLOCK) return;
        else if (!is_one_clients(errno) || ++failed == ACCEPTS_AT_A_TIME) return rest_a_little(server);
    }
}

/* ---- Start and end, on the loop's thread ------------------------------------------------------------ */

static void begin(void *argument)
{
    cen_mux_server *server = argument;
    uv_loop_t *uv = ceni_loop_uv(server->loop);
    server->listener.data = server->pause.data = server;
    server->uv_error = uv_poll_init(uv, &server->listener, server->fd);
    if (server->uv_error != 0) return;
    uv_timer_init(uv, &server->pause);
    server->handles = 2;
    uv_poll_start(&server->listener, UV_READABLE, take_in); /* cannot fail: the handle was just created */
}

static void own_handle_closed(uv_handle_t *handle)
{
    cen_mux_server *server = handle->data;
    if (handle == (uv_handle_t *)&server->listener) {
        ceni_socket_close(server->fd);
        server->fd = -1;
    }
    ceni_server_handle_closed(server);
}

static void end(void *argument)
{
    cen_mux_server *server = argument;
    server->stopping = true;
    uv_close((uv_handle_t *)&server->listener, own_handle_closed);
    uv_close((uv_handle_t *)&server->pause, own_handle_closed);
    ceni_clients_cut(server, 0, "server stopped");
}

void ceni_server_handle_closed(cen_mux_server *server)
{
    if (--server->handles > 0 || !server->stopping) return;
    if (server->awaited) {
        ceni_store_release(&server->over, 1u); /* [S2] */
        ceni_futex_wake(&server->over, 1);
        return;
    }
    ceni_loop_leave(server->loop);
    ceni_server_drop(server);
}

void ceni_server_drop(cen_mux_server *server)
{
    if (ceni_sub_seq_cst(&server->hands, 1) != 1) return; /* [S1] */
    ceni_free(server->allocator, server, sizeof *server, _Alignof(cen_mux_server));
}

/* ---- Stats ------------------------------------------------------------------------------------------- */

static uint64_t count_of(const cen_mux_server *server, unsigned what)
{
    return ceni_load_relaxed(&((cen_mux_server *)(uintptr_t)server)->counts[what]); /* a number; carries nothing */
}

cen_status cen_mux_server_stats_get(const cen_mux_server *server, cen_mux_server_stats *out)
{
    if (!server) return CEN_INVALID;
    if (!ceni_fork_is(server->epoch)) return CEN_FORKED;
    cen_status status = cen_sized_check(out, sizeof *out, "cen_mux_server_stats_get: out", NULL);
    if (status != CEN_OK) return status;
    const cen_mux_server_stats now = {
        /* a number; carries nothing */
        .clients = ceni_load_relaxed(&((cen_mux_server *)(uintptr_t)server)->client_count),
        .accepted = count_of(server, CENI_SERVED_ACCEPTED),
        .refused = count_of(server, CENI_SERVED_REFUSED),
        .calls = count_of(server, CENI_SERVED_CALLS),
        .replies = count_of(server, CENI_SERVED_REPLIES),
        .broken = count_of(server, CENI_SERVED_BROKEN),
        .received_bytes = count_of(server, CENI_SERVED_BYTES_IN),
        .sent_bytes = count_of(server, CENI_SERVED_BYTES_OUT),
    };
    cen_sized_write(out, &now, sizeof now);
    return CEN_OK;
}

static size_t snapshot(const void *object, cen_metric *metrics, size_t room)
{
    cen_mux_server_stats now = CEN_SIZED(cen_mux_server_stats);
    if (cen_mux_server_stats_get(object, &now) != CEN_OK) return 0;
    const cen_metric all[] = {
        {"clients", (int64_t)now.clients, CEN_GAUGE},
        {"accepted", (int64_t)now.accepted, CEN_COUNTER},
        {"refused", (int64_t)now.refused, CEN_COUNTER},
        {"calls", (int64_t)now.calls, CEN_COUNTER},
        {"replies", (int64_t)now.replies, CEN_COUNTER},
        {"broken", (int64_t)now.broken, CEN_COUNTER},
        {"received_bytes", (int64_t)now.received_bytes, CEN_COUNTER},
        {"sent_bytes", (int64_t)now.sent_bytes, CEN_COUNTER},
    };
    size_t count = sizeof all / sizeof *all;
    for (size_t i = 0; i < count && i < room; i++) metrics[i] = all[i];
    return count;
}

static void describe_server(const void *object, const cen_description_writer *description, size_t most)
{
    const cen_mux_server *server = object;
    void *to = description->argument;
    (void)most; /* no lists: the clients belong to the loop's thread */
    description->text(to, "address", server->address);
    description->text(to, "codec", server->codec.calls->name);
    description->number(to, "max_clients", (int64_t)server->max_clients);
    description->number(to, "max_payload", (int64_t)server->max_payload);
    description->number(to, "max_output", (int64_t)server->max_output);
    description->number(to, "max_calls", (int64_t)server->max_calls);
    if (server->keepalive_ns > 0) description->number(to, "keepalive_ns", server->keepalive_ns);
}

static const ceni_component_calls calls = {.description = describe_server};

/* ---- Start and stop ------------------------------------------------------------------------------------ */

static cen_status refuse(cen_error *error, const char *what)
{
    return ceni_error_set(error, CEN_INVALID, 0, "cen_mux_server_start: %s", what);
}

static cen_status check_options(const cen_mux_server_options *given, cen_mux_server_options *o, cen_error *error)
{
    cen_status status = cen_sized_read(o, sizeof *o, given, "cen_mux_server_start: options", error);
    if (status != CEN_OK) return status;
    if (!o->handle) return refuse(error, "options.handle is NULL");
    if (cen_time_is_tiny(o->keepalive_ns))
        return ceni_error_set(error, CEN_INVALID, 0, "cen_mux_server_start: options.keepalive_ns " CEN_TIME_IS_TINY,
                              (long long)o->keepalive_ns);
    if (o->keepalive_ns < CEN_OFF)
        return ceni_error_set(error, CEN_INVALID, 0,
                              "cen_mux_server_start: options.keepalive_ns must not be below CEN_OFF (got %lld)",
                              (long long)o->keepalive_ns);
    status = o->codec.calls ? ceni_codec_check(o->codec, "cen_mux_server_start", error) : CEN_OK;
    if (status != CEN_OK) return status;
    if (o->allocator && (!o->allocator->alloc || !o->allocator->free))
        return refuse(error, "options.allocator lacks alloc or free");
    return CEN_OK;
}

static void fill(cen_mux_server *server, const cen_mux_server_options *o)
{
    server->epoch = ceni_fork_epoch();
    server->allocator = o->allocator;
    server->codec = o->codec.calls ? o->codec : cen_codec_binary();
    server->handle = o->handle;
    server->client = o->client;
    server->argument = o->argument;
    server->max_clients = o->max_clients ? o->max_clients : DEFAULT_CLIENTS;
    server->max_payload = o->max_payload ? o->max_payload : DEFAULT_SIZE;
    server->max_output = o->max_output ? o->max_output : DEFAULT_SIZE;
    server->max_calls = o->max_calls ? o->max_calls : DEFAULT_CALLS;
    server->keepalive_ns = o->keepalive_ns == CEN_OFF ? 0
                           : o->keepalive_ns          ? o->keepalive_ns
                                                      : CENI_KEEP_ALIVE_S * second_ns;
    snprintf(server->name, sizeof server->name, "%s", o->name ? o->name : "server");
    server->entry = (ceni_directory_entry){
        .kind = "mux_server", .name = server->name, .snapshot = snapshot, .object = server, .calls = &calls};
    ceni_list_init(&server->clients);
    ceni_store_relaxed(&server->hands, 1u); /* not yet shared; carries nothing */
}

/* Listen at the first endpoint where that works, and store its address. */
static cen_status listen_at(cen_mux_server *server, const char *text, cen_error *error)
{
    ceni_address address;
    ceni_endpoints found;
    char cause[CENI_CAUSE_SIZE];
    int code = 0;
    cen_status status = ceni_address_parse(&address, text, true, "cen_mux_server_start", error);
    if (status == CEN_OK) status = ceni_address_resolve(&address, false, &found, error);
    if (status != CEN_OK) return status;
    server->fd = -1;
    for (unsigned i = 0; i < found.count && server->fd < 0; i++) {
        server->endpoint = found.each[i];
        server->fd = ceni_socket_listen(&server->endpoint, BACKLOG);
        if (server->fd < 0) code = errno;
    }
    if (server->fd < 0)
        return ceni_error_set(error, CEN_SYSTEM, code, "cen_mux_server_start: cannot listen at %s: %s", address.text,
                              ceni_errno_text(code, cause));
    server->endpoint.size = sizeof server->endpoint.at;
    getsockname(server->fd, (struct sockaddr *)&server->endpoint.at, &server->endpoint.size);
    ceni_endpoint_show(&server->endpoint, server->address);
    return CEN_OK;
}

static void unlink_path(const cen_mux_server *server)
{
    const struct sockaddr_un *path = (const struct sockaddr_un *)(const void *)&server->endpoint.at;
    if (path->sun_family == AF_UNIX) unlink(path->sun_path);
}

static void tell_life(const cen_mux_server *server, cen_event_kind kind, const char *is)
{
    char text[CENI_SERVER_NAME + CENI_ADDRESS_TEXT + 40];
    snprintf(text, sizeof text, "server \"%s\": %s %s", server->name, is, server->address);
    ceni_event_tell(CEN_LEVEL_NOTICE, kind, &server->entry, 0, text);
}

cen_status cen_mux_server_start(const cen_mux_server_options *options, cen_mux_server **out, cen_error *error)
{
    cen_mux_server_options known;
    const cen_mux_server_options *o = &known;
    if (!out) return refuse(error, "out is NULL");
    cen_status status = check_options(options, &known, error);
    if (status != CEN_OK) return status;
    cen_mux_server *server = ceni_alloc(o->allocator, sizeof *server, _Alignof(cen_mux_server));
    if (!server) return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_mux_server_start: out of memory");
    fill(server, o);
    if ((status = listen_at(server, o->address, error)) != CEN_OK) goto undo_memory;
    if ((status = ceni_loop_join(o->loop, &server->loop, error)) != CEN_OK) goto undo_listen;
    ceni_loop_do(server->loop, begin, server);
    if (server->uv_error != 0) goto undo_loop;
    ceni_directory_join(ceni_directory_process(), &server->entry);
    tell_life(server, CEN_EVENT_LISTENING, "listening at");
    *out = server;
    return CEN_OK;

undo_loop:
    status = ceni_error_set(error, CEN_SYSTEM, -server->uv_error, "cen_mux_server_start: cannot watch %s: %s",
                            server->address, uv_err_name(server->uv_error));
    ceni_loop_leave(server->loop);
undo_listen:
    unlink_path(server);
    ceni_socket_close(server->fd);
undo_memory:
    ceni_server_drop(server);
    return status;
}

const char *cen_mux_server_address(const cen_mux_server *server)
{
    return server ? server->address : "";
}

static void end_awaited(void *argument)
{
    ((cen_mux_server *)argument)->awaited = true;
    end(argument);
}

void cen_mux_server_stop(cen_mux_server *server)
{
    if (!server) return;
    if (!ceni_fork_is(server->epoch)) {
        if (server->fd >= 0) ceni_socket_close(server->fd);
        return;
    }
    tell_life(server, CEN_EVENT_STOPPED, "stopped listening at");
    ceni_directory_leave(ceni_directory_process(), &server->entry);
    unlink_path(server);
    if (ceni_loop_is_inside(server->loop)) {
        end(server);
        return;
    }
    ceni_loop_do(server->loop, end_awaited, server);
    while (!ceni_load_acquire(&server->over)) ceni_futex_wait(&server->over, 0, CENI_FOREVER); /* [S3] */
    ceni_loop_leave(server->loop);
    ceni_server_drop(server);
}

typedef struct kill_order {
    cen_mux_server *server;
    uint64_t client;
    size_t found;
} kill_order;

static void kill_here(void *argument)
{
    kill_order *order = argument;
    order->found = ceni_clients_cut(order->server, order->client, "killed");
}

cen_status cen_mux_server_kill(cen_mux_server *server, uint64_t client)
{
    if (!server) return CEN_INVALID;
    if (!ceni_fork_is(server->epoch)) return CEN_FORKED;
    kill_order order = {.server = server, .client = client};
    ceni_loop_do(server->loop, kill_here, &order);
    return order.found ? CEN_OK : CEN_ABSENT;
}
