/* SPDX-License-Identifier: MIT */
/*
 * A pool in a program that is one poll() loop and has no threads.
 *
 * Its runtime is manual. Everything that a pool does because of time, such as closing objects after the idle timeout,
 * opening missing ones and health checks, happens inside cen_runtime_poll. That returns when it has to be called again,
 * and its descriptor becomes readable when that time has moved forward. Takes never wait here: a request without a free
 * connection stays in the program until there is one.
 *
 *     a request every 2 ms ▶ this loop ▶ up to 3 connections ▶ an echo process, 5 ms per reply
 *
 * When there are no more requests, two of the three connections are closed, and one stays (min_idle). When the echo
 * process is killed, the health check detects it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cenote/cenote.h>

enum { CONNECTIONS = 3, REQUESTS = 100 };
#define MS INT64_C(1000000)

static struct sockaddr_in address;
static pthread_t this_thread;
static int64_t start;
static int elsewhere; /* driver's calls on another thread: never */

static double seconds(void)
{
    return (double)(cen_clock() - start) / 1e9;
}

/* ---- The echo process ---------------------------------------------------------------------- */

static void echo(int listener)
{
    struct pollfd fds[16] = {{.fd = listener, .events = POLLIN}};
    nfds_t count = 1;
    while (poll(fds, count, -1) > 0) {
        for (nfds_t i = count - 1; i > 0; i--) {
            char byte;
            if (!fds[i].revents) continue;
            poll(NULL, 0, 5); /* the work of a request */
            if (recv(fds[i].fd, &byte, 1, 0) == 1 && send(fds[i].fd, &byte, 1, MSG_NOSIGNAL) == 1) continue;
            close(fds[i].fd);
            fds[i] = fds[--count];
        }
        if (fds[0].revents && count < 16)
            fds[count++] = (struct pollfd){.fd = accept(listener, NULL, NULL), .events = POLLIN};
    }
}

static pid_t start_echo(void)
{
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 16) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        echo(listener);
        _exit(0);
    }
    close(listener);
    return pid;
}

/* ---- The driver: descriptors, and nothing that blocks ---------------------------------------- */

static int as_fd(void *object)
{
    return (int)(intptr_t)object;
}

static cen_status open_connection(void *argument, void **out, cen_error *error)
{
    (void)argument;
    elsewhere += !pthread_equal(pthread_self(), this_thread);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0) { /* completes at once on loopback */
        fcntl(fd, F_SETFL, O_NONBLOCK);
        *out = (void *)(intptr_t)fd;
        printf("  %.3f s  connection %d is opened\n", seconds(), fd);
        return CEN_OK;
    }
    error->code = errno;
    snprintf(error->text, sizeof error->text, "connect: %s", strerror(errno));
    printf("  %.3f s  %s\n", seconds(), error->text);
    if (fd >= 0) close(fd);
    return CEN_DRIVER;
}

static void close_connection(void *argument, void *object)
{
    (void)argument;
    elsewhere += !pthread_equal(pthread_self(), this_thread);
    printf("  %.3f s  connection %d is closed\n", seconds(), as_fd(object));
    close(as_fd(object));
}

/* An idle connection has no input. If it is readable, the peer has closed it. */
static cen_status test_connection(void *argument, void *object, cen_error *error)
{
    char byte;
    (void)argument;
    elsewhere += !pthread_equal(pthread_self(), this_thread);
    if (recv(as_fd(object), &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN) return CEN_OK;
    snprintf(error->text, sizeof error->text, "closed by the peer");
    return CEN_DRIVER;
}

static const cen_driver_calls calls = {
    .size = sizeof calls, .open = open_connection, .close = close_connection, .test = test_connection};

/* ---- The loop ----------------------------------------------------------------------------------- */

static struct work {
    cen_runtime *runtime;
    cen_pool *pool;
    cen_lease leases[CONNECTIONS]; /* pool is NULL: no lease */
    int came, waiting, answered, had_to_wait, mistakes;
} work;

/* Begin requests while there are connections. */
static void begin_requests(void)
{
    for (int i = 0; i < CONNECTIONS && work.waiting > 0; i++) {
        cen_lease *lease = &work.leases[i];
        if (lease->pool) continue;
        if (cen_pool_try_take(work.pool, lease, NULL) != CEN_OK) return;
        work.waiting--;
        if (send(as_fd(lease->object), "?", 1, MSG_NOSIGNAL) != 1) work.mistakes++;
    }
}

static void end_request(cen_lease *lease)
{
    char byte;
    if (recv(as_fd(lease->object), &byte, 1, 0) == 1) work.answered++;
    else work.mistakes++;
    cen_pool_give(lease);
}

/* One turn: run what is due in the pool, then wait for the first event. */
static void turn(int64_t next_request)
{
    struct pollfd fds[1 + CONNECTIONS] = {{.fd = cen_runtime_fd(work.runtime), .events = POLLIN}};
    for (int i = 0; i < CONNECTIONS; i++) {
        int fd = work.leases[i].pool ? as_fd(work.leases[i].object) : -1;
        fds[1 + i] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    int64_t ns = cen_runtime_poll(work.runtime), until_request = next_request - cen_clock();
    if (next_request > 0 && (ns < 0 || until_request < ns)) ns = until_request > 0 ? until_request : 0;
    poll(fds, 1 + CONNECTIONS, ns < 0 ? -1 : (int)((ns + MS - 1) / MS));
    for (int i = 0; i < CONNECTIONS; i++)
        if (fds[1 + i].revents) end_request(&work.leases[i]);
}

static void serve_requests(void)
{
    int64_t next = cen_clock();
    while (work.answered + work.mistakes < REQUESTS) {
        turn(work.came < REQUESTS ? next : 0);
        if (work.came < REQUESTS && cen_clock() >= next) {
            work.came++;
            work.waiting++;
            next += CEN_MS(2);
        }
        int before = work.waiting;
        begin_requests();
        if (before > 0 && work.waiting == before) work.had_to_wait++;
    }
}

static cen_pool_stats look(void)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    if (cen_pool_stats_get(work.pool, &s) != CEN_OK) work.mistakes++;
    return s;
}

/* Turn until the pool is as expected (true) or 5 s have passed. */
static bool wait_until(bool (*is_so)(const cen_pool_stats *))
{
    for (int64_t end = cen_clock() + CEN_SECONDS(5); cen_clock() < end;) {
        cen_pool_stats s = look();
        if (is_so(&s)) return true;
        turn(end);
    }
    return false;
}

static bool one_is_left(const cen_pool_stats *s)
{
    return s->idle == 1 && s->closed == 2;
}

static bool test_failed(const cen_pool_stats *s)
{
    return s->test_failed > 0 && s->closed == 3;
}

int main(void)
{
    cen_error error;
    setvbuf(stdout, NULL, _IOLBF, 0);
    pid_t echo_process = start_echo();
    if (echo_process < 0) return perror("the echo process"), 1;
    start = cen_clock();
    this_thread = pthread_self();
    cen_runtime_options manual = CEN_RUNTIME_OPTIONS(.name = "loop", .manual = true);
    if (cen_runtime_new(&manual, &work.runtime, &error) != CEN_OK) return puts(error.text), 1;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "echo", .driver = {&calls, NULL}, .max = CONNECTIONS,
                                                .runtime = work.runtime, .min_idle = 1, .idle_timeout_ns = CEN_MS(200),
                                                .test_interval_ns = CEN_MS(100), .test_after_idle_ns = CEN_OFF);
    if (cen_pool_new(&options, &work.pool, &error) != CEN_OK) return puts(error.text), 1;

    serve_requests();
    printf("  %.3f s  %d requests served; %d times a request had to wait for a connection\n", seconds(), work.answered,
           work.had_to_wait);
    bool shrank = wait_until(one_is_left);
    printf("  %.3f s  one connection is left\n", seconds());
    kill(echo_process, SIGKILL);
    waitpid(echo_process, NULL, 0);
    printf("  %.3f s  the echo process is killed\n", seconds());
    bool noticed = wait_until(test_failed);

    cen_runtime_stats threads = CEN_SIZED(cen_runtime_stats);
    cen_runtime_stats_get(work.runtime, &threads);
    cen_pool_stats s = look();
    printf("%" PRIu64 " tests of idle connections, %" PRIu64
           " failed; %u helper threads, %d driver's calls on another thread.\n",
           s.tested, s.test_failed, threads.helpers, elsewhere);
    cen_pool_close(work.pool, CEN_NOW, NULL, NULL);
    cen_pool_free(work.pool);
    bool ended = cen_runtime_free(work.runtime) == CEN_OK;
    bool right = shrank && noticed && ended && work.mistakes == 0 && elsewhere == 0 && threads.helpers == 0 &&
                 !threads.has_keeper;
    puts(right ? "Everything ran inside one loop." : "Some checks failed.");
    return right ? 0 : 1;
}
