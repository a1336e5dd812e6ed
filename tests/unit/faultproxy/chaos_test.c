/* SPDX-License-Identifier: MIT */
/*
 * Faults that come and go under load. Whatever happens to a connection, the bytes that arrive on it are the ones that were
 * sent, from the first on and in their order; and when all faults are over nothing is left of them.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "unit/faultproxy/ends.h"

enum { CLIENTS = 6, MOST_SERVED = 200, MESSAGE = 3000, SECONDS = 3 };

typedef struct chaos {
    test_rig rig;
    atomic_bool stops;
    atomic_uint rounds, broken; /* messages that came back, connections that did not live that long */
    uint64_t seed;
} chaos;

static chaos scene;

/* ---- A server that echoes ------------------------------------------------------------------- */

/* False if the connection is over. What is under way on one is little, so that a send never waits. */
static bool echo_some(int fd)
{
    char bytes[MESSAGE];
    ssize_t count = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    return count > 0 && send(fd, bytes, (size_t)count, MSG_NOSIGNAL | MSG_DONTWAIT) == count;
}

static void *serve(void *unused)
{
    static struct pollfd all[MOST_SERVED + 1];
    nfds_t used = 1;
    (void)unused;
    all[0] = (struct pollfd){.fd = scene.rig.listener, .events = POLLIN};
    while (!atomic_load(&scene.stops)) {
        if (poll(all, used, 20) <= 0) continue;
        for (nfds_t i = used - 1; i > 0; i--) {
            if (!all[i].revents || echo_some(all[i].fd)) continue;
            close(all[i].fd);
            all[i] = all[--used];
        }
        if (!all[0].revents) continue;
        expect(used <= MOST_SERVED);
        all[used++] = (struct pollfd){.fd = accept_one(scene.rig.listener), .events = POLLIN};
    }
    while (used > 1) close(all[--used].fd);
    return NULL;
}

/* ---- Clients -------------------------------------------------------------------------------- */

/* One message there and back. False if the connection is of no use any more. */
static bool one_round(int fd, uint64_t *sent, uint64_t *came, uint64_t *random)
{
    char message[MESSAGE], back[MESSAGE];
    size_t size = 1 + test_random(random) % MESSAGE, got = 0;
    uint64_t ahead = *sent, behind = *came;
    for (size_t i = 0; i < size; i++) message[i] = (char)test_random(&ahead);
    if (send(fd, message, size, MSG_NOSIGNAL) != (ssize_t)size) return false;
    *sent = ahead;
    while (got < size) {
        ssize_t count = readable(fd, 200) ? recv(fd, back + got, size - got, MSG_DONTWAIT) : -1;
        if (count <= 0) return false;
        for (ssize_t i = 0; i < count; i++) expect(back[got + (size_t)i] == (char)test_random(&behind));
        got += (size_t)count;
    }
    *came = behind;
    return true;
}

static void *use(void *argument)
{
    uint64_t random = scene.seed + (uint64_t)(uintptr_t)argument;
    while (!atomic_load(&scene.stops)) {
        int fd = -1;
        uint64_t sent = test_random(&random), came = sent;
        if (try_connect(proxy_port(scene.rig.proxy), &fd) != 0) {
            sleep_ms(2);
            continue;
        }
        for (unsigned i = 0; i < 20 && !atomic_load(&scene.stops); i++) {
            if (!one_round(fd, &sent, &came, &random)) {
                atomic_fetch_add(&scene.broken, 1);
                break;
            }
            atomic_fetch_add(&scene.rounds, 1);
        }
        close(fd);
    }
    return NULL;
}

/* ---- The faults ----------------------------------------------------------------------------- */

static void run_chaos(const char *const *commands, unsigned count, bool harmless)
{
    pthread_t server, clients[CLIENTS];
    uint64_t random = scene.seed = test_seed();
    scene.rig = rig_start();
    expect(pthread_create(&server, NULL, serve, NULL) == 0);
    for (uintptr_t i = 0; i < CLIENTS; i++) expect(pthread_create(&clients[i], NULL, use, (void *)i) == 0);
    for (int64_t end = now_ms() + SECONDS * 1000; now_ms() < end;) {
        proxy_say(scene.rig.proxy, commands[test_random(&random) % count]);
        sleep_ms((int64_t)(test_random(&random) % 20));
    }
    proxy_say(scene.rig.proxy, "clear");
    unsigned before = atomic_load(&scene.rounds);
    for (int i = 0; i < 60000 && atomic_load(&scene.rounds) < before + 50; i++) sleep_ms(1);
    expect(atomic_load(&scene.rounds) >= before + 50); /* all is well again */
    atomic_store(&scene.stops, true);
    for (int i = 0; i < CLIENTS; i++) pthread_join(clients[i], NULL);
    pthread_join(server, NULL);
    close(scene.rig.listener); /* and with it those that nobody has accepted */
    proxy_await(scene.rig.proxy, "open", 0);
    if (harmless) expect_equal(proxy_stat(scene.rig.proxy, "swallowed") + proxy_stat(scene.rig.proxy, "resets"), 0);
    proxy_stop(scene.rig.proxy);
}

#define COUNT(list) (unsigned)(sizeof(list) / sizeof *(list))

TEST(faults_that_only_slow_things_down_lose_and_mix_up_nothing)
{
    static const char *const commands[] = {"delay 3 jitter 5",
                                           "delay 2 to-client",
                                           "throttle 200000",
                                           "slice 100 to-server",
                                           "slice 700 1",
                                           "blackhole hold",
                                           "blackhole hold to-client new",
                                           "clear",
                                           "clear",
                                           "clear new",
                                           "stats"};
    run_chaos(commands, COUNT(commands), true);
}

TEST(faults_that_end_connections_mix_up_nothing_and_leave_nothing)
{
    static const char *const commands[] = {"delay 3 jitter 5",
                                           "slice 50",
                                           "blackhole",
                                           "blackhole to-server",
                                           "blackhole to-client new",
                                           "blackhole hold",
                                           "reset",
                                           "reset 50% after 500",
                                           "reset 30%",
                                           "kill 1",
                                           "refuse",
                                           "accept-every 5",
                                           "close-slowly 5",
                                           "close-slowly 3 now",
                                           "clear",
                                           "clear",
                                           "clear",
                                           "clear new"};
    run_chaos(commands, COUNT(commands), false);
    expect(atomic_load(&scene.broken) > 0);
}
