/* SPDX-License-Identifier: MIT */
/*
 * An HTTP server whose workers wait: GET /?wait=0.2 occupies one of its T workers for 0.2 s and returns
 *
 *     {"uri":"/?wait=0.2","pid":4711,"thread":2,"port":40112,"connections":3}
 *
 * `thread` is the worker, `port` the client's, `connections` their number. It speaks HTTP/1.1 with persistent
 * connections, and HTTP/2 with prior knowledge if it was built with nghttp2. HEAD and OPTIONS use no worker, as health
 * checks should not. /?drop=PORT closes the connection of that client, to show its reaction.
 *
 *     wait_server [--threads T] [--port P] [--connections N] [--authorization VALUE]
 *
 * P is any free port by default, on loopback only. Beyond N connections it returns 503. With --authorization it returns
 * 401 unless the request has the header "Authorization: VALUE". It prints "listening on 127.0.0.1:PORT", and ends on
 * SIGTERM or SIGINT.
 *
 * One thread has all the sockets, in a loop. The workers are a crew: a request is a task, and its end comes back to the
 * loop through an inbox.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wait_server.h"

enum { OUT_MOST = 1 << 20, HEAD_SECONDS = 10, IDLE_SECONDS = 120, WAIT_MOST = 3600 };

static struct {
    int epoll, listener, signals;
    long threads, port, most;
    const char *authorization;
    cen_crew *crew;
    cen_inbox *inbox;
    struct connection *connections;
    int count; /* connections that were not refused */
    int64_t swept;
    pthread_mutex_t mutex; /* for `unwanted` in each exchange */
    pthread_cond_t changed;
} server = {.threads = 4, .most = 1024};

/* ---- Bytes out ------------------------------------------------------------------------------------ */

static void end_connection(struct connection *connection);

bool connection_write(struct connection *connection, const void *bytes, size_t size)
{
    if (connection->out_size + size > connection->out_room) {
        size_t room = connection->out_room ? connection->out_room * 2 : 4096;
        while (room < connection->out_size + size) room *= 2;
        char *out = room > OUT_MOST ? NULL : realloc(connection->out, room);
        if (!out) return false;
        connection->out = out, connection->out_room = room;
    }
    memcpy(connection->out + connection->out_size, bytes, size);
    connection->out_size += size;
    return true;
}

static void watch(struct connection *connection, uint32_t events, int how)
{
    struct epoll_event event = {.events = events, .data.ptr = connection};
    epoll_ctl(server.epoll, how, connection->fd, &event);
}

/* Send as much as the socket takes. Closes the connection when it should end. */
static void send_some(struct connection *connection)
{
    while (connection->out_sent < connection->out_size) {
        ssize_t sent = send(connection->fd, connection->out + connection->out_sent,
                            connection->out_size - connection->out_sent, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) return watch(connection, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
        if (sent < 0) return end_connection(connection);
        connection->out_sent += (size_t)sent;
    }
    if (connection->out_size) watch(connection, EPOLLIN, EPOLL_CTL_MOD);
    connection->out_size = connection->out_sent = 0;
    if (connection->is_ending) end_connection(connection);
}

/* ---- Exchanges ------------------------------------------------------------------------------------- */

struct exchange *exchange_new(struct connection *connection)
{
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange) return NULL;
    exchange->connection = connection;
    exchange->next = connection->exchanges;
    connection->exchanges = exchange;
    return exchange;
}

void exchange_leave(struct exchange *exchange)
{
    struct exchange **link = &exchange->connection->exchanges;
    while (*link != exchange) link = &(*link)->next;
    *link = exchange->next;
    if (!exchange->working) return free(exchange);
    pthread_mutex_lock(&server.mutex);
    exchange->unwanted = true;
    pthread_cond_broadcast(&server.changed);
    pthread_mutex_unlock(&server.mutex);
}

static void write_text(struct exchange *exchange, int thread)
{
    char uri[2048];
    size_t n = 0;
    for (const char *c = exchange->uri; *c && n < sizeof uri - 8; c++) {
        if (*c == '"' || *c == '\\') uri[n++] = '\\';
        uri[n++] = (unsigned char)*c < ' ' ? '?' : *c;
    }
    uri[n] = '\0';
    int size = snprintf(exchange->body, sizeof exchange->body,
                        "{\"uri\":\"%s\",\"pid\":%d,\"thread\":%d,\"port\":%u,\"connections\":%d}\n", uri,
                        (int)getpid(), thread, exchange->connection->port, server.count);
    exchange->size = (size_t)size;
}

/* On a worker: wait, unless the reply is not wanted any longer. */
static cen_next work(cen_task *task)
{
    struct exchange *exchange = (struct exchange *)task;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    int64_t ns = end.tv_nsec + (int64_t)(exchange->wait * 1e9);
    end.tv_sec += ns / 1000000000, end.tv_nsec = ns % 1000000000;
    pthread_mutex_lock(&server.mutex);
    while (!exchange->unwanted && exchange->wait > 0 &&
           pthread_cond_timedwait(&server.changed, &server.mutex, &end) == 0)
        continue;
    pthread_mutex_unlock(&server.mutex);
    return cen_task_done(task, (void *)(uintptr_t)cen_worker_current());
}

static void reply(struct exchange *exchange);
static bool parse(struct connection *connection);

/* In the loop: the worker has finished. */
static void worked(cen_future *future)
{
    struct exchange *exchange = (struct exchange *)future;
    struct connection *connection = exchange->connection;
    exchange->working = false;
    connection->working--;
    if (exchange->unwanted) {
        free(exchange);
        if (connection->is_dead && connection->working == 0) free(connection);
        return;
    }
    exchange->status = 200;
    write_text(exchange, (int)(intptr_t)future->value);
    reply(exchange);
    bool fine = connection->is_http2 ? http2_flush(connection) : parse(connection);
    if (!fine) connection->is_ending = true;
    send_some(connection);
}

static double number_after(const char *uri, const char *name)
{
    const char *found = strstr(uri, name);
    double number = found && (found[-1] == '?' || found[-1] == '&') ? strtod(found + strlen(name), NULL) : 0;
    return number > 0 && number <= 65535 ? number : 0;
}

static void drop(uint16_t port)
{
    for (struct connection *c = server.connections; c; c = c->next)
        if (c->port == port && !c->is_dead) shutdown(c->fd, SHUT_RDWR); /* the loop finds it at its end */
}

void exchange_begin(struct exchange *exchange)
{
    bool is_known = !server.authorization || strcmp(exchange->authorization, server.authorization) == 0;
    exchange->status = exchange->connection->is_refused ? 503 : is_known ? 200 : 401;
    exchange->wait = number_after(exchange->uri, "wait=");
    if (exchange->wait > WAIT_MOST) exchange->wait = WAIT_MOST;
    uint16_t port = exchange->status == 200 ? (uint16_t)number_after(exchange->uri, "drop=") : 0;
    if (port) drop(port);
    if (exchange->status == 200 && !exchange->is_head && !exchange->is_options && !port) {
        cen_task_init(&exchange->task, work);
        cen_future_then(&exchange->task.future, worked, cen_inbox_executor(server.inbox));
        exchange->working = true;
        exchange->connection->working++;
        if (cen_crew_submit(server.crew, &exchange->task, NULL) == CEN_OK) return;
        exchange->working = false;
        exchange->connection->working--;
        exchange->status = 503;
    }
    write_text(exchange, -1);
    reply(exchange);
}

/* ---- HTTP/1.1 ------------------------------------------------------------------------------------------- */

static void reply(struct exchange *exchange)
{
    struct connection *connection = exchange->connection;
    if (connection->is_http2) {
        if (!http2_reply(exchange)) connection->is_ending = true;
        return;
    }
    char head[256];
    int size = snprintf(
        head, sizeof head, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n%s%s\r\n",
        exchange->status, exchange->status == 200 ? "OK" : "Refused", exchange->size,
        exchange->status == 401 ? "WWW-Authenticate: Basic\r\n" : "", exchange->keeps ? "" : "Connection: close\r\n");
    bool fine = connection_write(connection, head, (size_t)size) &&
                (exchange->is_head || connection_write(connection, exchange->body, exchange->size));
    if (!fine || !exchange->keeps) connection->is_ending = true;
    exchange_leave(exchange);
}

/* Copy the value of a header field up to the end of its line, cut to the room. */
static bool field(const char *head, const char *name, char *value, size_t room)
{
    const char *found = strcasestr(head, name);
    if (!found) return false;
    found += strlen(name);
    while (*found == ' ') found++;
    size_t size = strcspn(found, "\r\n");
    if (size >= room) size = room - 1;
    memcpy(value, found, size);
    value[size] = '\0';
    return true;
}

static bool parse_head(struct exchange *exchange, char *head)
{
    char method[16], version[16], text[64];
    if (sscanf(head, "%15s %1023s %15s", method, exchange->uri, version) != 3) return false;
    if (strncmp(version, "HTTP/1.", 7) != 0 || exchange->uri[0] != '/' ||
        field(head, "\r\ntransfer-encoding:", text, sizeof text))
        return false;
    exchange->is_head = strcmp(method, "HEAD") == 0;
    exchange->is_options = strcmp(method, "OPTIONS") == 0;
    bool closes = field(head, "\r\nconnection:", text, sizeof text) && strcasecmp(text, "close") == 0;
    exchange->keeps = version[7] == '1' && !closes && !exchange->connection->is_refused;
    if (!field(head, "\r\nauthorization:", exchange->authorization, sizeof exchange->authorization))
        exchange->authorization[0] = '\0';
    long length = field(head, "\r\ncontent-length:", text, sizeof text) ? strtol(text, NULL, 10) : 0;
    exchange->connection->skip = (size_t)length;
    return length >= 0 && length <= OUT_MOST;
}

static void used(struct connection *connection, size_t size)
{
    connection->in_size -= size;
    memmove(connection->in, connection->in + size, connection->in_size);
}

/* Begin the next request if it is complete and the last one is over. */
static bool parse(struct connection *connection)
{
    static const char bad[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    while (!connection->exchanges && !connection->is_ending) {
        size_t skipped = connection->skip < connection->in_size ? connection->skip : connection->in_size;
        connection->skip -= skipped;
        used(connection, skipped);
        connection->in[connection->in_size] = '\0';
        char *end = strstr(connection->in, "\r\n\r\n");
        if (!end && connection->in_size < sizeof connection->in - 1) return true; /* incomplete */
        if (!end) return connection_write(connection, bad, sizeof bad - 1) && false;
        end[2] = '\0';
        struct exchange *exchange = exchange_new(connection);
        if (!exchange) return false;
        bool fine = parse_head(exchange, connection->in);
        used(connection, (size_t)(end + 4 - connection->in));
        if (!fine) return connection_write(connection, bad, sizeof bad - 1) && false;
        exchange_begin(exchange);
    }
    return true;
}

/* ---- Connections ---------------------------------------------------------------------------------------- */

static void end_connection(struct connection *connection)
{
    if (connection->is_dead) return;
    connection->is_dead = true;
    struct connection **link = &server.connections;
    while (*link != connection) link = &(*link)->next;
    *link = connection->next;
    if (!connection->is_refused) server.count--;
    close(connection->fd);
    while (connection->exchanges) exchange_leave(connection->exchanges);
    if (connection->session) http2_end(connection);
    free(connection->out);
    connection->out = NULL;
    if (connection->working == 0) free(connection);
}

/* Input is HTTP/2 if it begins with that preface. */
static bool receive(struct connection *connection)
{
    if (!connection->is_http2 && connection->in_size >= 4 && memcmp(connection->in, "PRI ", 4) == 0)
        connection->is_http2 = true;
    if (!connection->is_http2) return parse(connection);
    if (!connection->session && !http2_begin(connection)) return false;
    size_t size = connection->in_size;
    connection->in_size = 0;
    return http2_receive(connection, connection->in, size);
}

static void on_connection(struct connection *connection, uint32_t events)
{
    if (events & EPOLLOUT) return send_some(connection);
    size_t room = sizeof connection->in - 1 - connection->in_size;
    ssize_t got = room ? recv(connection->fd, connection->in + connection->in_size, room, 0) : 0;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return end_connection(connection);
    connection->in_size += (size_t)got;
    connection->seen = cen_clock();
    if (!receive(connection)) connection->is_ending = true;
    send_some(connection);
}

static void on_accept(void)
{
    struct sockaddr_in peer = {.sin_port = 0};
    socklen_t size = sizeof peer;
    int fd = accept4(server.listener, (struct sockaddr *)&peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct connection *connection = fd < 0 ? NULL : calloc(1, sizeof *connection);
    if (!connection) {
        if (fd >= 0) close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    *connection =
        (struct connection){.fd = fd, .port = ntohs(peer.sin_port), .seen = cen_clock(), .next = server.connections};
    connection->is_refused = server.count >= server.most;
    if (!connection->is_refused) server.count++;
    server.connections = connection;
    watch(connection, EPOLLIN, EPOLL_CTL_ADD);
}

/* Close connections that have been silent for too long. */
static void end_silent(void)
{
    int64_t now = server.swept = cen_clock();
    for (struct connection *c = server.connections, *next; c; c = next) {
        next = c->next;
        int64_t most = c->in_size > 0 && !c->exchanges ? HEAD_SECONDS : IDLE_SECONDS;
        if (!c->exchanges && now - c->seen > most * 1000000000) end_connection(c);
    }
}

/* ---- The server -------------------------------------------------------------------------------------------- */

static void options(int count, char **words)
{
    for (int i = 1; i < count; i += 2) {
        const char *value = i + 1 < count ? words[i + 1] : NULL;
        long number = value ? strtol(value, NULL, 10) : -1;
        if (strcmp(words[i], "--threads") == 0 && number > 0 && number <= 1024) server.threads = number;
        else if (strcmp(words[i], "--port") == 0 && number >= 0 && number < 65536) server.port = number;
        else if (strcmp(words[i], "--connections") == 0 && number > 0) server.most = number;
        else if (strcmp(words[i], "--authorization") == 0 && value) server.authorization = value;
        else {
            fputs("wait_server [--threads T] [--port P] [--connections N] [--authorization VALUE]\n", stderr);
            exit(2);
        }
    }
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void add(int fd, void *mark)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = mark};
    if (fd < 0 || epoll_ctl(server.epoll, EPOLL_CTL_ADD, fd, &event)) fail("epoll");
}

static void begin(void)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&server.mutex, NULL);
    pthread_cond_init(&server.changed, &monotonic);
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM), sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)server.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    server.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(server.listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(server.listener, (struct sockaddr *)&address, size) || listen(server.listener, 1024)) fail("listen");
    getsockname(server.listener, (struct sockaddr *)&address, &size);
    cen_error error;
    cen_crew_options crew =
        CEN_CREW_OPTIONS(.name = "wait", .workers = (uint32_t)server.threads, .max = (uint32_t)server.threads);
    if (cen_crew_new(&crew, &server.crew, &error) != CEN_OK || cen_inbox_new(NULL, &server.inbox, &error) != CEN_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    server.epoll = epoll_create1(EPOLL_CLOEXEC);
    add(server.listener, &server.listener);
    server.signals = signalfd(-1, &ends, SFD_CLOEXEC);
    add(server.signals, &server.signals);
    add(cen_inbox_fd(server.inbox), &server.inbox);
    printf("listening on 127.0.0.1:%u\n", ntohs(address.sin_port));
    fflush(stdout);
}

/* Returns false when it was asked to end. */
static bool turn(void)
{
    struct epoll_event events[64];
    cen_inbox_run_ready(server.inbox);
    int count = epoll_wait(server.epoll, events, 64, 1000);
    for (int i = 0; i < count; i++) {
        void *mark = events[i].data.ptr;
        if (mark == &server.signals) return false;
        if (mark == &server.listener) on_accept();
        else if (mark != &server.inbox) on_connection(mark, events[i].events); /* closes no connection but its own */
    }
    if (cen_clock() - server.swept > 1000000000) end_silent();
    return true;
}

int main(int count, char **words)
{
    options(count, words);
    begin();
    while (turn()) continue;
    while (server.connections) end_connection(server.connections);
    cen_crew_stop(server.crew, CEN_STOP_DROP, cen_in_s(5), NULL, NULL);
    cen_inbox_run_ready(server.inbox); /* the workers' exchanges are back and freed */
    cen_crew_free(server.crew);
    cen_inbox_free(server.inbox);
    return 0;
}
