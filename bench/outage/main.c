/* SPDX-License-Identifier: MIT */
/*
 *     outage WAY URL CONTROL BEGIN END     CONTROL: the control socket of a cenote-faultproxy; BEGIN and END: what it is told
 *
 * Two seconds of health, four of an outage that begins with BEGIN and ends with END, eight more. For each quarter of a second, how
 * many calls were answered (aN) and failed (fN); at the end how many threads are stuck in a call that began before END.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <pthread.h>

#include "../support/bench.h"
#include "outage.h"

enum { THREADS = 16, QUARTERS = 56 };
#define QUARTER INT64_C(250000000)
#define HEALTHY (2000 * INT64_C(1000000))
#define DARK (4000 * INT64_C(1000000))

static const outage_way *way;
static int64_t begun;
static _Atomic unsigned answered[QUARTERS], failed[QUARTERS];
static _Atomic int64_t in_call_since[THREADS], longest;

bool outage_ask(PGconn *connection)
{
    PGresult *result = PQexec(connection, "select 1");
    bool right = PQresultStatus(result) == PGRES_TUPLES_OK && strcmp(PQgetvalue(result, 0, 0), "1") == 0;
    PQclear(result);
    return right;
}

static void *work(void *argument)
{
    size_t number = (size_t)argument;
    for (;;) {
        int64_t before = bench_now();
        in_call_since[number] = before;
        bool right = way->call();
        int64_t after = bench_now(), at = (after - begun) / QUARTER, most = longest;
        in_call_since[number] = 0;
        while (after - before > most && !atomic_compare_exchange_weak(&longest, &most, after - before)) continue;
        if (at >= 0 && at < QUARTERS) atomic_fetch_add(right ? &answered[at] : &failed[at], 1);
        bench_sleep(INT64_C(2000000));
    }
    return NULL;
}

static void tell(const char *path, const char *command)
{
    char answer[256];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) bench_fail("the proxy's control socket is not there");
    if (dprintf(fd, "%s\n", command) < 0 || read(fd, answer, sizeof answer) < 2 || strncmp(answer, "ok", 2) != 0)
        bench_fail("the proxy does not do: %s", command);
    close(fd);
}

/* Several commands may be in one word, with "; " between them. */
static void tell_all(const char *path, const char *commands)
{
    char each[128];
    for (const char *at = commands; *at;) {
        size_t length = strcspn(at, ";");
        snprintf(each, sizeof each, "%.*s", (int)length, at);
        tell(path, each);
        at += length;
        at += strspn(at, "; ");
    }
}

static void sleep_until(int64_t moment)
{
    int64_t left = moment - bench_now();
    if (left > 0) bench_sleep(left);
}

static unsigned stuck_since(int64_t moment)
{
    unsigned stuck = 0;
    for (int i = 0; i < THREADS; i++) stuck += in_call_since[i] != 0 && in_call_since[i] < moment;
    return stuck;
}

int main(int count, char **words)
{
    static const outage_way *const ways[] = {&mutex_way, &apr_way, &cenote_way, &cenote_held_way};
    if (count != 6) bench_fail("usage: %s WAY URL CONTROL BEGIN END", words[0]);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(ways[i]->name, words[1]) == 0) way = ways[i];
    if (!way) bench_fail("there is no way %s", words[1]);
    way->begin(words[2]);
    begun = bench_now();
    for (size_t i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, (void *)i) != 0) bench_fail("no thread");
    }
    sleep_until(begun + HEALTHY);
    tell_all(words[3], words[4]);
    sleep_until(begun + HEALTHY + DARK);
    tell_all(words[3], words[5]);
    sleep_until(begun + QUARTERS * QUARTER);
    unsigned stuck = stuck_since(begun + HEALTHY + DARK);
    for (int i = 0; i < QUARTERS; i++) printf("a%d=%u f%d=%u ", i, answered[i], i, failed[i]);
    printf("longest_ms=%.1f stuck=%u\n", (double)longest / 1e6, stuck);
    fflush(stdout);
    _exit(0); /* threads may be stuck */
}
