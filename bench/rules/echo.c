/* SPDX-License-Identifier: MIT */
/* See echo.h. */
#include "echo.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lengths.h"

struct slot {
    _Alignas(64) uint64_t payload[ECHO_PAYLOAD / 8];
    uint64_t sequence;
    int64_t begun;
    bool in_flight;
};

/* What was used up to some moment. */
struct usage {
    int64_t client_ns, server_ns;
    long waits, preemptions;
};

static struct slot slots[ECHO_SLOTS_MAX];
static unsigned slot_count;
static int64_t start_ns, end_ns;        /* what is answered between them counts */
static uint64_t all, counted, used_for; /* replies: all, those within the time, and those between the two usages */
static unsigned ended_slots;
static uint64_t counts[LENGTHS];
static int64_t longest;
static struct usage before, after;
static bool is_used, is_over;
static pid_t server;
static int server_input;

/* ---- Slots ---------------------------------------------------------------------- */

static struct usage usage_now(void)
{
    struct rusage own;
    struct timespec ours, theirs;
    clockid_t clock;
    getrusage(RUSAGE_SELF, &own);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ours);
    if (clock_getcpuclockid(server, &clock) != 0 || clock_gettime(clock, &theirs) != 0)
        bench_fail("the server has ended");
    return (struct usage){ours.tv_sec * INT64_C(1000000000) + ours.tv_nsec,
                          theirs.tv_sec * INT64_C(1000000000) + theirs.tv_nsec, own.ru_nvcsw, own.ru_nivcsw};
}

const void *echo_begin(unsigned slot)
{
    struct slot *own = &slots[slot];
    if (own->in_flight) bench_fail("slot %u began twice", slot);
    own->sequence++;
    for (unsigned i = 0; i < ECHO_PAYLOAD / 8; i++) own->payload[i] = (own->sequence << 16 | slot) * (2 * i + 1);
    own->in_flight = true;
    own->begun = bench_now();
    return own->payload;
}

static void note_usage(int64_t now)
{
    if (!is_used && now >= start_ns) {
        before = usage_now();
        used_for = all;
        is_used = true;
    }
    if (!is_over && now >= end_ns) {
        after = usage_now();
        used_for = all - used_for;
        is_over = true;
    }
}

bool echo_end(unsigned slot, const void *payload, size_t size)
{
    static _Thread_local char me;
    static const char *one;
    if (slot >= slot_count) bench_fail("a reply to a request that was never sent");
    struct slot *own = &slots[slot];
    int64_t now = bench_now(), took = now - own->begun;
    if (!own->in_flight) bench_fail("a request was answered twice");
    if (size != ECHO_PAYLOAD || memcmp(payload, own->payload, size) != 0)
        bench_fail("a reply that is not what was sent");
    if (one == NULL) one = &me;
    else if (one != &me) bench_fail("replies came in two threads: the counts would be wrong");
    own->in_flight = false;
    all++;
    if (now >= start_ns && now < end_ns) {
        counted++;
        counts[length_of(took)]++;
        longest = took > longest ? took : longest;
    }
    note_usage(now);
    ended_slots += is_over;
    return !is_over;
}

unsigned echo_left(void)
{
    return slot_count - ended_slots;
}

/* ---- The server ------------------------------------------------------------------- */

static uint16_t start_server(char *program)
{
    int input[2], output[2];
    if (pipe(input) != 0 || pipe(output) != 0) bench_fail("no pipes");
    server = fork();
    if (server < 0) bench_fail("cannot fork");
    if (server == 0) {
        bench_pin(1);
        dup2(input[0], 0);
        dup2(output[1], 1);
        close(input[0]), close(input[1]), close(output[0]), close(output[1]);
        execl(program, program, (char *)NULL);
        bench_fail("cannot run %s", program);
    }
    close(input[0]), close(output[1]);
    server_input = input[1];
    FILE *said = fdopen(output[0], "r");
    unsigned port = 0;
    if (said == NULL || fscanf(said, "%u", &port) != 1 || port == 0 || port > UINT16_MAX)
        bench_fail("%s does not say its port", program);
    fclose(said);
    return (uint16_t)port;
}

static struct rusage end_server(void)
{
    struct rusage used;
    int status;
    close(server_input);
    if (wait4(server, &status, 0, &used) != server || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        bench_fail("the server failed");
    return used;
}

int echo_connect(uint16_t port)
{
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0)
        bench_fail("cannot connect");
    return fd;
}

/* ---- A run ------------------------------------------------------------------------- */

static double percentile(double part)
{
    uint64_t seen = 0;
    unsigned length = 0;
    for (; length < LENGTHS - 1; length++) {
        seen += counts[length];
        if ((double)seen >= part * (double)counted) break;
    }
    double ns = length_end(length);
    return ns < (double)longest ? ns : (double)longest;
}

static void print(const struct rusage *life)
{
    double requests = (double)used_for;
    double length = (double)(end_ns - start_ns);
    printf("ns=%.1f per_s=%.0f p50_ns=%.0f p99_ns=%.0f max_ns=%.0f elapsed_ms=%.1f\n", length / (double)counted,
           (double)counted * 1e9 / length, percentile(0.5), percentile(0.99), (double)longest, length / 1e6);
    printf("cpu_ns=%.1f waits=%.4f preemptions=%.4f server_cpu_ns=%.1f\n",
           (double)(after.client_ns - before.client_ns) / requests, (double)(after.waits - before.waits) / requests,
           (double)(after.preemptions - before.preemptions) / requests,
           (double)(after.server_ns - before.server_ns) / requests);
    printf("server_waits=%.4f server_preemptions=%.4f\n", (double)life->ru_nvcsw / (double)all,
           (double)life->ru_nivcsw / (double)all);
}

static void give_up(int signal)
{
    static const char text[] = "a request was never answered\n";
    (void)signal;
    ssize_t written = write(2, text, sizeof text - 1);
    _exit(written > 0 ? 1 : 2); /* the server ends with its input */
}

int main(int argc, char **argv)
{
    bool is_many = argc == 6 && strcmp(argv[1], "many") == 0;
    if (!is_many && (argc != 4 || strcmp(argv[1], "one") != 0))
        bench_fail("usage: %s many SERVER CONNECTIONS IN-FLIGHT SECONDS, or one SERVER SECONDS", argv[0]);
    unsigned connections = is_many ? (unsigned)bench_number(argv[3], 1, ECHO_CONNECTIONS_MAX) : 1;
    slot_count = is_many ? (unsigned)bench_number(argv[4], connections, ECHO_SLOTS_MAX) : 1;
    int64_t length = (int64_t)(strtod(argv[argc - 1], NULL) * 1e9);
    const char *patience = getenv("BENCH_PATIENCE");
    signal(SIGPIPE, SIG_IGN);
    uint16_t port = start_server(argv[2]);
    bench_pin(0);
    signal(SIGALRM, give_up);
    alarm((unsigned)(length * 5 / 4 / 1000000000) + (patience != NULL ? (unsigned)bench_number(patience, 1, 100) : 10));
    start_ns = bench_now() + length / 4;
    end_ns = start_ns + length;
    if (is_many) echo_many(port, connections, slot_count);
    else echo_one(port);
    if (counted == 0) bench_fail("nothing was answered within the time");
    if (!is_over || ended_slots != slot_count) bench_fail("the client returned with requests in flight");
    struct rusage life = end_server();
    print(&life);
    return 0;
}
