/* SPDX-License-Identifier: MIT */
#include "support/faultproxy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/test.h"

#ifndef CENOTE_FAULTPROXY
#error "tests/faultproxy.cmake says where the program is"
#endif

enum { PATIENCE_MS = 10000, MOST_ARGUMENTS = 32 };

struct fault_proxy {
    pid_t process;
    int in, out; /* to its standard input, from its standard output */
    char address[128], url[512], answer[4096];
    pthread_mutex_t mutex; /* of one question and its answer */
};

static const char listening[] = "listening on ";

/* ---- The process ---------------------------------------------------------------------------- */

/* In the child of a fork, perhaps of many threads: system calls only. */
__attribute__((noreturn)) static void become_proxy(const char **arguments, pid_t parent, int in, int out)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127); /* it was too late for the signal */
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0) _exit(127);
    /* The test's sockets: a copy here would keep them open. */
    close_range(STDERR_FILENO + 1, ~0u, 0);
    signal(SIGALRM, SIG_DFL);
    execv(arguments[0], (char *const *)arguments);
    _exit(127);
}

/* One line without its end; false if there is none. */
static bool read_line(fault_proxy *proxy)
{
    size_t used = 0;
    for (;;) {
        struct pollfd wait = {.fd = proxy->out, .events = POLLIN};
        if (poll(&wait, 1, PATIENCE_MS) != 1) return false;
        if (read(proxy->out, proxy->answer + used, 1) != 1) return false;
        if (proxy->answer[used] == '\n') break;
        if (++used == sizeof proxy->answer) return false;
    }
    proxy->answer[used] = 0;
    return true;
}

static void fork_proxy(fault_proxy *proxy, const char **arguments)
{
    int in[2], out[2];
    pid_t parent = getpid();
    expect(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    proxy->process = fork();
    if (proxy->process == 0) become_proxy(arguments, parent, in[0], out[1]);
    expect(proxy->process > 0);
    close(in[0]);
    close(out[1]);
    proxy->in = in[1];
    proxy->out = out[0];
}

fault_proxy *proxy_start_with(const char *const *arguments)
{
    const char *all[MOST_ARGUMENTS + 3] = {CENOTE_FAULTPROXY, "--follow-stdin"};
    unsigned count = 2;
    while (*arguments && count < MOST_ARGUMENTS) all[count++] = *arguments++;
    fault_proxy *proxy = calloc(1, sizeof *proxy);
    expect(proxy != NULL);
    pthread_mutex_init(&proxy->mutex, NULL);
    fork_proxy(proxy, all);
    if (!read_line(proxy)) test_fail(__FILE__, __LINE__, "the fault proxy %s did not start", CENOTE_FAULTPROXY);
    expect(strncmp(proxy->answer, listening, sizeof listening - 1) == 0);
    snprintf(proxy->address, sizeof proxy->address, "%s", proxy->answer + sizeof listening - 1);
    return proxy;
}

fault_proxy *proxy_start(const char *host, unsigned port)
{
    char to[128];
    const char *arguments[] = {"--listen", "127.0.0.1:0", "--to", to, "--seed", "1", NULL};
    snprintf(to, sizeof to, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
    return proxy_start_with(arguments);
}

/* A process that does not end is ended, so that the test fails and does not hang. */
static int await_end(pid_t process)
{
    int status = 0;
    for (int waited = 0; waited < PATIENCE_MS; waited++) {
        pid_t ended = waitpid(process, &status, WNOHANG);
        if (ended == process) return status;
        if (ended < 0 && errno != EINTR) break;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    kill(process, SIGKILL);
    waitpid(process, &status, 0);
    return -1;
}

void proxy_stop(fault_proxy *proxy)
{
    close(proxy->in);
    expect_equal(await_end(proxy->process), 0);
    close(proxy->out);
    pthread_mutex_destroy(&proxy->mutex);
    free(proxy);
}

/* ---- Where it is ---------------------------------------------------------------------------- */

const char *proxy_address(const fault_proxy *proxy)
{
    return proxy->address;
}

unsigned proxy_port(const fault_proxy *proxy)
{
    const char *colon = strrchr(proxy->address, ':');
    return colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
}

pid_t proxy_process(const fault_proxy *proxy)
{
    return proxy->process;
}

const char *proxy_url(fault_proxy *proxy, const char *url)
{
    const char *host = strstr(url, "://");
    if (!host) test_fail(__FILE__, __LINE__, "\"%s\" is no URL", url);
    host += 3;
    const char *end = host + strcspn(host, "/?#");
    for (const char *at = host; at < end; at++)
        if (*at == '@') host = at + 1;
    int size = snprintf(proxy->url, sizeof proxy->url, "%.*s%s%s", (int)(host - url), url, proxy->address, end);
    expect(size > 0 && (size_t)size < sizeof proxy->url);
    return proxy->url;
}

/* ---- Talking to it -------------------------------------------------------------------------- */

static void exchange_line(fault_proxy *proxy, const char *command)
{
    char line[1024];
    int size = snprintf(line, sizeof line, "%s\n", command);
    expect(size > 0 && (size_t)size < sizeof line);
    if (write(proxy->in, line, (size_t)size) != size || !read_line(proxy))
        test_fail(__FILE__, __LINE__, "the fault proxy does not answer to \"%s\"", command);
}

const char *proxy_answer(fault_proxy *proxy, const char *command)
{
    pthread_mutex_lock(&proxy->mutex);
    exchange_line(proxy, command);
    pthread_mutex_unlock(&proxy->mutex);
    return proxy->answer;
}

void proxy_say(fault_proxy *proxy, const char *command)
{
    pthread_mutex_lock(&proxy->mutex);
    exchange_line(proxy, command);
    bool good = strcmp(proxy->answer, "ok") == 0 || strncmp(proxy->answer, "ok ", 3) == 0;
    if (!good) test_fail(__FILE__, __LINE__, "the fault proxy answers to \"%s\": %s", command, proxy->answer);
    pthread_mutex_unlock(&proxy->mutex);
}

/* The number behind " name=" in the answer. */
static bool find_count(const char *answer, const char *name, uint64_t *out)
{
    size_t size = strlen(name);
    for (const char *at = strchr(answer, ' '); at; at = strchr(at + 1, ' ')) {
        if (strncmp(at + 1, name, size) != 0 || at[1 + size] != '=') continue;
        char *end;
        *out = strtoull(at + 2 + size, &end, 10);
        return end != at + 2 + size;
    }
    return false;
}

uint64_t proxy_stat(fault_proxy *proxy, const char *name)
{
    uint64_t count = 0;
    pthread_mutex_lock(&proxy->mutex);
    exchange_line(proxy, "stats");
    if (!find_count(proxy->answer, name, &count))
        test_fail(__FILE__, __LINE__, "the fault proxy does not count %s", name);
    pthread_mutex_unlock(&proxy->mutex);
    return count;
}

void proxy_await(fault_proxy *proxy, const char *name, uint64_t value)
{
    uint64_t count = 0;
    for (int waited = 0; waited < PATIENCE_MS; waited++) {
        if ((count = proxy_stat(proxy, name)) == value) return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    test_fail(__FILE__, __LINE__, "%s of the fault proxy is %" PRIu64 ", expected %" PRIu64, name, count, value);
}
