/* SPDX-License-Identifier: MIT */
/*
 * Connections to a service with rate limits, and a pool that respects them.
 *
 *     the service                                  the pool
 *     3 connections; the fourth gets 503           .max = 3
 *     1 request per 10 ms on each, else 429        a connection is dirty when it is given back,
 *                                                  and its reset waits until the next request is allowed
 *     40 requests on each, then 429                .max_uses = 40
 *
 * Twelve threads send requests all the time. Six of them may wait (.max_waiters = 6). The pool refuses any other take
 * at once, before it reaches the service, and the thread does something else.
 *
 * The service is real: a thread that listens on loopback. It is first used without a pool, to show that it does refuse.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cenote/cenote.h>

enum { CONNECTIONS = 3, PAUSE_MS = 10, USES = 40, THREADS = 12, TRIES = 40, WAITERS = 6 };

static void sleep_until(int64_t moment)
{
    struct timespec t = {.tv_sec = moment / 1000000000, .tv_nsec = moment % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) continue;
}

/* ---- The service ------------------------------------------------------------------------- */

static struct sockaddr_in address;
static atomic_int answered, too_many, too_soon, too_often; /* counts of its responses: 200, 503, and two kinds of 429 */

struct client {
    int fd, requests;
    int64_t last;
};

static void say(int fd, const char *text)
{
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0) return; /* the client has gone */
}

/* Respond to one request. Returns false if the client has gone. */
static bool serve(struct client *client)
{
    char request[64];
    if (recv(client->fd, request, sizeof request, 0) <= 0) return false;
    int64_t now = cen_clock();
    bool soon = client->requests > 0 && now - client->last < CEN_MS(PAUSE_MS);
    bool often = ++client->requests > USES;
    client->last = now;
    if (often) too_often++;
    else if (soon) too_soon++;
    else answered++;
    say(client->fd, often ? "429 too often\n" : soon ? "429 too soon\n" : "200 ok\n");
    return true;
}

static void admit(int listener, struct client *clients)
{
    int fd = accept(listener, NULL, NULL), i = 0;
    if (fd < 0) return;
    while (i < CONNECTIONS && clients[i].fd >= 0) i++;
    if (i < CONNECTIONS) {
        clients[i] = (struct client){.fd = fd};
        say(fd, "220 welcome\n");
        return;
    }
    too_many++;
    say(fd, "503 too many connections\n");
    close(fd);
}

static void *serve_all(void *argument)
{
    int listener = *(int *)argument;
    struct client clients[CONNECTIONS];
    for (int i = 0; i < CONNECTIONS; i++) clients[i] = (struct client){.fd = -1};
    for (;;) {
        struct pollfd fds[1 + CONNECTIONS] = {{.fd = listener, .events = POLLIN}};
        for (int i = 0; i < CONNECTIONS; i++) fds[1 + i] = (struct pollfd){.fd = clients[i].fd, .events = POLLIN};
        poll(fds, 1 + CONNECTIONS, -1);
        for (int i = 0; i < CONNECTIONS; i++) { /* clients that leave, before new ones */
            if (!fds[1 + i].revents || serve(&clients[i])) continue;
            close(clients[i].fd);
            clients[i].fd = -1;
        }
        if (fds[0].revents & POLLIN) admit(listener, clients);
    }
    return NULL;
}

static bool start_service(void)
{
    static int listener;
    socklen_t length = sizeof address;
    pthread_t thread;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return listener >= 0 && bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 64) == 0 &&
           getsockname(listener, (struct sockaddr *)&address, &length) == 0 &&
           pthread_create(&thread, NULL, serve_all, &listener) == 0 && pthread_detach(thread) == 0;
}

/* ---- The driver ---------------------------------------------------------------------------- */

struct connection {
    int fd;
    bool asked;
    int64_t last; /* the time of the last request */
};

static int ask(struct connection *connection, char *answer, size_t room)
{
    if (send(connection->fd, "hello\n", 6, MSG_NOSIGNAL) != 6) return -1;
    ssize_t length = recv(connection->fd, answer, room - 1, 0);
    connection->last = cen_clock();
    connection->asked = true;
    answer[length > 0 ? length : 0] = 0;
    return length > 0 ? atoi(answer) : -1;
}

static cen_status open_connection(void *argument, void **out, cen_error *error)
{
    (void)argument;
    char greeting[64] = "";
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection) return CEN_NO_MEMORY;
    connection->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connection->fd >= 0 && connect(connection->fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        recv(connection->fd, greeting, sizeof greeting - 1, 0) > 0 && atoi(greeting) == 220) {
        *out = connection;
        return CEN_OK;
    }
    error->code = errno;
    snprintf(error->text, sizeof error->text, "response of the service: %s", greeting[0] ? greeting : strerror(errno));
    close(connection->fd);
    free(connection);
    return CEN_DRIVER;
}

static void close_connection(void *argument, void *object)
{
    struct connection *connection = object;
    (void)argument;
    close(connection->fd);
    free(connection);
}

static cen_condition check_connection(void *argument, void *object)
{
    struct connection *connection = object;
    (void)argument;
    return connection->asked ? CEN_DIRTY : CEN_CLEAN;
}

/* On a helper thread, so no holder spends its time on the pause. */
static cen_status wait_until_it_may_ask(void *argument, void *object, cen_error *error)
{
    struct connection *connection = object;
    (void)argument, (void)error;
    sleep_until(connection->last + CEN_MS(PAUSE_MS));
    connection->asked = false;
    return CEN_OK;
}

static const cen_driver_calls calls = {
    .size = sizeof calls,
    .blocks = true,
    .open = open_connection,
    .close = close_connection,
    .check = check_connection,
    .reset = wait_until_it_may_ask,
};

/* ---- Without a pool, and with one ------------------------------------------------------------ */

static void ask_without_a_pool(void)
{
    char answer[64];
    void *all[CONNECTIONS + 1];
    cen_error error;
    int opened = 0;
    while (opened <= CONNECTIONS && open_connection(NULL, &all[opened], &error) == CEN_OK) opened++;
    for (int i = 0; i < 3 && opened > 0; i++) ask(all[0], answer, sizeof answer);
    printf("Without a pool %d connections were accepted, and then: %s", opened, error.text);
    printf("Three requests at once on one of them: %d times \"200 ok\", %d times \"429 too soon\".\n\n", (int)answered,
           (int)too_soon);
    while (opened > 0) close_connection(NULL, all[--opened]);
}

static cen_pool *pool;
static atomic_int refused, mistakes;
static atomic_bool told;

static void *ask_all_the_time(void *argument)
{
    (void)argument;
    for (int i = 0; i < TRIES; i++) {
        cen_lease lease;
        cen_error error;
        char answer[64];
        cen_status status = cen_pool_take(pool, cen_in_s(20), &lease, &error);
        if (status == CEN_OK) {
            if (ask(lease.object, answer, sizeof answer) != 200) mistakes++;
            cen_pool_give(&lease);
            continue;
        }
        bool expected = status == CEN_FULL;
        if (!expected) mistakes++;
        if (!expected || !atomic_exchange(&told, true))
            printf("Refused with %s: %s\n", cen_status_name(status), error.text);
        refused++;
        sleep_until(cen_clock() + CEN_MS(20)); /* something else */
    }
    return NULL;
}

static void report(double seconds)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    cen_pool_stats_get(pool, &s);
    printf("%d threads tried %d times in %.2f s: %d requests succeeded, %.0f per second; %d were refused by the "
           "pool.\n",
           THREADS, THREADS * TRIES, seconds, (int)answered, answered / seconds, (int)refused);
    printf(
        "The service returned \"503 too many connections\" %d times, \"429 too soon\" %d times, \"429 too often\" %d "
        "times.\n",
        (int)too_many, (int)too_soon, (int)too_often);
    printf("The pool opened %" PRIu64 " connections and closed %" PRIu64 " after their %d requests; %" PRIu64
           " pauses for the rate limit.\n",
           s.opened, s.closed, USES, s.reset);
    bool kept = too_many + too_soon + too_often == 0 && mistakes == 0;
    bool counted = answered + refused == THREADS * TRIES && s.refused == (uint64_t)refused && s.closed > 0;
    if (!kept || !counted) mistakes++;
    puts(mistakes ? "Some checks failed." : "No limit of the service was exceeded.");
}

int main(void)
{
    if (!start_service()) return perror("the service"), 1;
    ask_without_a_pool();
    sleep_until(cen_clock() + CEN_MS(50)); /* until the service has noticed that they have gone */
    if (too_many != 1 || too_soon != 2) return puts("The service does not keep its own limits."), 1;
    answered = too_many = too_soon = 0;

    cen_error error;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "service", .driver = {&calls, NULL}, .max = CONNECTIONS,
                                                .max_uses = USES, .max_waiters = WAITERS);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) return puts(error.text), 1;
    pthread_t threads[THREADS];
    int64_t begin = cen_clock();
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, ask_all_the_time, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    report((double)(cen_clock() - begin) / 1e9);
    cen_pool_close(pool, cen_in_s(10), NULL, NULL);
    cen_pool_free(pool);
    return mistakes ? 1 : 0;
}
