/* SPDX-License-Identifier: MIT */
/*
 * A server fails and comes back, and how a pool reacts.
 *
 *     0.0 s  the server runs; eight threads send requests all the time
 *     0.8 s  it is killed: requests fail, and connections cannot be opened. The
 *            pool tries one open at a time, at random intervals. After five
 *            failures the breaker opens: for 0.25 s takes wait for the next
 *            try, and from then on they fail at once, with the reason
 *     2.4 s  it runs again: the next try succeeds, and two are opened at a
 *            time, then the rest, so that a server that has just started is
 *            not flooded
 *     4.0 s  the end
 *
 * The server is this program in another process, on loopback. It takes 30 ms to greet a connection. The output comes
 * from the pool's own events.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cenote/cenote.h>

enum { CONNECTIONS = 8, THREADS = 8 };
#define MS INT64_C(1000000)

static struct sockaddr_in address = {.sin_family = AF_INET};
static int64_t start;

static void sleep_ms(int ms)
{
    poll(NULL, 0, ms);
}

static void tell(const char *text)
{
    printf("  %.3f s  %s\n", (double)(cen_clock() - start) / 1e9, text);
}

/* ---- The server: another process ------------------------------------------------------------ */

static void *answer(void *argument)
{
    int fd = (int)(intptr_t)argument;
    char byte;
    sleep_ms(30);
    bool open = send(fd, "!", 1, MSG_NOSIGNAL) == 1;
    while (open && recv(fd, &byte, 1, 0) == 1) open = send(fd, &byte, 1, MSG_NOSIGNAL) == 1;
    close(fd);
    return NULL;
}

/* The program keeps the server's port: it is bound to it and does not listen. */
static int bound_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
    return fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : -1;
}

static int serve(const char *port)
{
    address.sin_port = (in_port_t)atoi(port);
    int listener = bound_socket();
    if (listener < 0 || listen(listener, 64) != 0) return perror("the server"), 1;
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        pthread_t thread;
        if (fd >= 0 && pthread_create(&thread, NULL, answer, (void *)(intptr_t)fd) == 0) pthread_detach(thread);
    }
}

static pid_t start_server(void)
{
    extern char **environ;
    char port[12], *arguments[] = {"pool_outage", "serve", port, NULL};
    pid_t pid;
    snprintf(port, sizeof port, "%d", (int)address.sin_port);
    return posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ) == 0 ? pid : -1;
}

static bool server_answers(void)
{
    bool answers = false;
    for (int i = 0; i < 500 && !answers; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        answers = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
        close(fd);
        if (!answers) sleep_ms(10);
    }
    return answers;
}

static void stop_server(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* ---- The driver ------------------------------------------------------------------------------ */

static cen_status failed(int fd, cen_error *error, const char *what)
{
    error->code = errno;
    snprintf(error->text, sizeof error->text, "%s: %s", what, errno ? strerror(errno) : "the server has gone");
    if (fd >= 0) close(fd);
    return CEN_DRIVER;
}

static cen_status open_connection(void *argument, void **out, cen_error *error)
{
    char byte;
    (void)argument;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    errno = 0;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) return failed(fd, error, "connect");
    if (recv(fd, &byte, 1, 0) != 1) return failed(fd, error, "the welcome");
    *out = (void *)(intptr_t)fd;
    return CEN_OK;
}

static void close_connection(void *argument, void *object)
{
    (void)argument;
    close((int)(intptr_t)object);
}

static const cen_driver_calls calls = {
    .size = sizeof calls, .blocks = true, .open = open_connection, .close = close_connection};

/* ---- The pool's events -------------------------------------------------------------------------- */

static cen_pool *pool;
static atomic_int breaker_opened, breaker_closed, probes;

static void tell_failure(const cen_event *event)
{
    char text[256];
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    const char *why = strrchr(event->text, ':');
    if (cen_pool_stats_get(pool, &s) != CEN_OK) return;
    snprintf(text, sizeof text, "opening failed%s, %u in a row; the next try in %.0f ms", why ? why : "",
             s.open_failures, (double)s.next_open_ns / 1e6);
    tell(text);
}

/* Called for one event at a time, on a thread of the pool's runtime. */
static void listener(void *argument, const cen_event *event, uint64_t missed)
{
    (void)argument;
    (void)missed;
    if (event->kind == CEN_EVENT_OPEN_FAILED) tell_failure(event);
    breaker_opened += event->kind == CEN_EVENT_BREAKER_OPENED;
    breaker_closed += event->kind == CEN_EVENT_BREAKER_CLOSED;
    probes += event->kind == CEN_EVENT_BREAKER_HALF_OPEN;
    bool about_breaker = event->kind == CEN_EVENT_BREAKER_OPENED || event->kind == CEN_EVENT_BREAKER_CLOSED;
    if (about_breaker || event->kind == CEN_EVENT_OPENED) tell(event->text);
}

/* ---- Clients -------------------------------------------------------------------------------------- */

static atomic_bool is_over, first_told;
static atomic_int answered, broken, refused, timed_out, without_cause;
static atomic_int_fast64_t refusals_ns;

static bool ask(int fd)
{
    char byte;
    return send(fd, "?", 1, MSG_NOSIGNAL) == 1 && recv(fd, &byte, 1, 0) == 1;
}

static void note_failure(cen_status status, bool was_open, int64_t ns, const cen_error *error)
{
    if (status == CEN_TIMEOUT) {
        timed_out++;
        return;
    }
    refused++;
    refusals_ns += ns;
    if (status != CEN_DRIVER) without_cause++; /* it should be the driver's error */
    if (was_open && !atomic_exchange(&first_told, true)) {
        char text[CEN_ERROR_TEXT_SIZE + 64];
        snprintf(text, sizeof text, "a take fails after %.3f ms: %s", (double)ns / 1e6, error->text);
        tell(text);
    }
}

static void *ask_all_the_time(void *argument)
{
    (void)argument;
    while (!is_over) {
        cen_lease lease;
        cen_error error;
        bool was_open = breaker_opened > breaker_closed;
        int64_t begin = cen_clock();
        cen_status status = cen_pool_take(pool, cen_in_ms(500), &lease, &error);
        if (status != CEN_OK) {
            note_failure(status, was_open, cen_clock() - begin, &error);
            sleep_ms(20);
            continue;
        }
        bool good = ask((int)(intptr_t)lease.object);
        if (good) answered++;
        else broken++;
        sleep_ms(5); /* keeps the connection, so that eight threads need eight */
        if (good) cen_pool_give(&lease);
        else cen_pool_discard(&lease);
    }
    return NULL;
}

/* ---- The three acts ----------------------------------------------------------------------------------- */

static int act(const char *title, int until_ms)
{
    tell(title);
    int before = answered;
    int64_t left = start + CEN_MS(until_ms) - cen_clock();
    if (left > 0) sleep_ms((int)(left / MS));
    return answered - before;
}

static bool play(void)
{
    pthread_t threads[THREADS];
    pid_t server = start_server();
    if (server < 0 || !server_answers()) return false;
    start = cen_clock();
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, ask_all_the_time, NULL);
    int at_first = act("the server runs", 800);
    stop_server(server);
    int meanwhile = act("THE SERVER IS KILLED", 2400);
    server = start_server();
    int at_last = act("THE SERVER IS STARTED AGAIN", 4000);
    is_over = true;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    stop_server(server);
    printf("Replies: %d before, %d during, %d after the outage. %d requests failed on a connection that was cut.\n",
           at_first, meanwhile, at_last, (int)broken);
    printf("%d takes were refused, after %.2f ms on average; %d timed out after 500 ms.\n", (int)refused,
           refused ? (double)refusals_ns / refused / 1e6 : 0, (int)timed_out);
    return at_first > 0 && at_last > 0 && broken > 0 && refused > 0 && without_cause == 0;
}

int main(int count, char **arguments)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (count == 3 && strcmp(arguments[1], "serve") == 0) return serve(arguments[2]);
    socklen_t length = sizeof address;
    int port = bound_socket();
    if (port < 0 || getsockname(port, (struct sockaddr *)&address, &length) != 0) return perror("a port"), 1;

    cen_error error;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "server", .driver = {&calls, NULL}, .max = CONNECTIONS,
                                                .max_concurrent_opens = CONNECTIONS, .backoff_initial_ns = CEN_MS(150),
                                                .backoff_max_ns = CEN_MS(400), .breaker_wait_ns = CEN_MS(250));
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) return puts(error.text), 1;
    if (cen_pool_listen(pool, listener, NULL, &error) != CEN_OK) return puts(error.text), 1;
    bool right = play();
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    cen_pool_stats_get(pool, &s);
    printf("%" PRIu64 " opens failed and %" PRIu64
           " succeeded; %d probes; the breaker opened %d times and closed %d times.\n",
           s.open_failed, s.opened, (int)probes, (int)breaker_opened, (int)breaker_closed);
    right = right && s.open_failed >= 5 && probes > 0 && breaker_opened == 1 && breaker_closed == 1;
    cen_pool_close(pool, cen_in_s(5), NULL, NULL);
    cen_pool_free(pool);
    close(port);
    puts(right ? "The pool did not flood the server while it was down, and noticed by itself that it was up again."
               : "Some checks failed.");
    return right ? 0 : 1;
}
