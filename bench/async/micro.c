/* SPDX-License-Identifier: MIT */
/*
 * What an ask costs, beside its floor in the same process and in turns.
 *
 *     async-micro same ROUNDS SECONDS
 *     async-micro cross ROUNDS PAUSE-US
 *
 * "same": ask, cen_inbox_poll, give, all on one thread and the descriptor never
 * armed, beside a blocking take and give that finds an idle object.
 * "cross": a thread asks and sleeps in epoll_wait on an armed inbox; another
 * gives. From before the give to the completion, beside the same with a bare
 * eventfd: from before the write to epoll_wait's return. Both are pinned, to a
 * processor each, and the giver spins for a while first, so that the other sleeps.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cenote/inbox.h>
#include <cenote/pool_async.h>

#include "../pool/features.h"

#define ROUNDS_MAX 100000
#define WARM_UP 32
#define TURNS 1000 /* between two looks at the clock */
#define OBJECTS 10

static cen_pool *pool;
static cen_inbox *inbox;

static cen_pool *pool_new(uint32_t size)
{
    static int objects[OBJECTS];
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "bench", .max = size);
    cen_pool *made;
    cen_error error;
    if (cen_pool_new(&options, &made, &error) != CEN_OK) bench_fail("%s", error.text);
    for (uint32_t i = 0; i < size; i++)
        if (cen_pool_adopt(made, &objects[i], &error) != CEN_OK) bench_fail("%s", error.text);
    return made;
}

static void must(cen_status status)
{
    if (status != CEN_OK) bench_fail("%s", cen_status_text(status));
}

static void ask(cen_take_op *take, void (*done)(cen_take_op *take))
{
    cen_take_op_init(take, done, cen_inbox_executor(inbox));
    must(cen_pool_take_async(pool, cen_in_s(30), take));
}

/* ---- On one thread ------------------------------------------------------- */

static void give_at_once(cen_take_op *take)
{
    must(take->future.status);
    must(cen_pool_give(&take->lease));
}

static void asked_pair(void)
{
    static cen_take_op take;
    ask(&take, give_at_once);
    if (cen_inbox_poll(inbox, 0) != 1) bench_fail("an ask was not completed");
}

static void blocking_pair(void)
{
    cen_lease lease;
    must(cen_pool_take(pool, cen_in_s(30), &lease, NULL));
    must(cen_pool_give(&lease));
}

/* Picoseconds of processor time a pair. */
static inline __attribute__((always_inline)) int64_t time_of(void (*pair)(void), double seconds)
{
    int64_t start = bench_cpu(), until = start + (int64_t)(seconds * 1e9), now;
    uint64_t count = 0;
    do {
        for (int i = 0; i < TURNS; i++) pair();
        count += TURNS;
    } while ((now = bench_cpu()) < until);
    return (now - start) * 1000 / (int64_t)count;
}

static int same(unsigned rounds, double seconds)
{
    static int64_t asked[ROUNDS_MAX], blocking[ROUNDS_MAX], ratio[ROUNDS_MAX];
    pool = pool_new(OBJECTS);
    for (unsigned i = 0; i < rounds; i++) {
        blocking[i] = time_of(blocking_pair, seconds);
        asked[i] = time_of(asked_pair, seconds);
        ratio[i] = 1000 * asked[i] / blocking[i];
    }
    printf("ask_ns=%.2f blocking_ns=%.2f", (double)bench_median(asked, rounds) / 1000,
           (double)bench_median(blocking, rounds) / 1000);
    double middle = (double)bench_median(ratio, rounds) / 1000;
    printf(" ratio=%.3f ratio_min=%.3f ratio_max=%.3f\n", middle, (double)ratio[0] / 1000,
           (double)ratio[rounds - 1] / 1000);
    return 0;
}

/* ---- Across threads ------------------------------------------------------ */

/* Rounds take turns: one by an eventfd, one by an ask. */
static struct {
    unsigned rounds; /* of each */
    int bell, poller;
    atomic_uint held, ready, over; /* rounds: the giver has the object, the loop is about to sleep, it is awake */
    _Atomic int64_t given_ns;
    int64_t done_ns;                       /* the loop's */
    int64_t took[2][ROUNDS_MAX + WARM_UP]; /* by eventfd, by ask */
} cross;

static void note_and_give(cen_take_op *take)
{
    cross.done_ns = bench_now();
    give_at_once(take);
}

static void sleep_once(unsigned round)
{
    struct epoll_event event;
    atomic_store(&cross.ready, round + 1);
    if (epoll_wait(cross.poller, &event, 1, -1) != 1) bench_fail("epoll_wait was interrupted");
}

static void *loop_main(void *argument)
{
    uint64_t count;
    cen_take_op take;
    bench_pin(1);
    for (unsigned i = 0; i < 2 * cross.rounds; i++) {
        while (atomic_load(&cross.held) <= i)
            ;
        if (i % 2 == 0) {
            sleep_once(i);
            cross.done_ns = bench_now();
            if (read(cross.bell, &count, sizeof count) < 0) bench_fail("cannot read");
        } else {
            ask(&take, note_and_give);
            if (cen_inbox_run_ready(inbox) != 0) bench_fail("an ask was completed before anybody gave");
            sleep_once(i);
            if (cen_inbox_run_ready(inbox) != 1) bench_fail("the descriptor was readable for nothing");
        }
        cross.took[i % 2][i / 2] = cross.done_ns - atomic_load(&cross.given_ns);
        atomic_store(&cross.over, i + 1);
    }
    return argument;
}

static void give_once(unsigned round, int64_t pause_ns)
{
    uint64_t one = 1;
    cen_lease lease;
    if (round % 2 == 1) must(cen_pool_take(pool, cen_in_s(30), &lease, NULL));
    atomic_store(&cross.held, round + 1);
    while (atomic_load(&cross.ready) <= round)
        ;
    int64_t now, until = bench_now() + pause_ns;
    while ((now = bench_now()) < until)
        ;
    atomic_store(&cross.given_ns, now);
    if (round % 2 == 1) must(cen_pool_give(&lease));
    else if (write(cross.bell, &one, sizeof one) < 0) bench_fail("cannot write");
    while (atomic_load(&cross.over) <= round)
        ;
}

static void watch(int fd)
{
    struct epoll_event readable = {.events = EPOLLIN};
    if (epoll_ctl(cross.poller, EPOLL_CTL_ADD, fd, &readable) != 0) bench_fail("epoll cannot watch a descriptor");
}

static int across(unsigned rounds, int64_t pause_ns)
{
    pthread_t thread;
    pool = pool_new(1);
    cross.rounds = rounds + WARM_UP;
    cross.bell = eventfd(0, EFD_NONBLOCK);
    cross.poller = epoll_create1(0);
    watch(cross.bell);
    watch(cen_inbox_fd(inbox));
    if (pthread_create(&thread, NULL, loop_main, NULL) != 0) bench_fail("cannot start a thread");
    bench_pin(0);
    for (unsigned i = 0; i < 2 * cross.rounds; i++) give_once(i, pause_ns);
    pthread_join(thread, NULL);
    int64_t *floor = cross.took[0] + WARM_UP, *asked = cross.took[1] + WARM_UP;
    double floor_ns = (double)bench_median(floor, rounds), ask_ns = (double)bench_median(asked, rounds);
    printf("ask_ns=%.0f floor_ns=%.0f ratio=%.3f ask_p99_ns=%lld floor_p99_ns=%lld\n", ask_ns, floor_ns,
           ask_ns / floor_ns, (long long)asked[rounds * 99 / 100], (long long)floor[rounds * 99 / 100]);
    return 0;
}

int main(int argc, char **argv)
{
    bool is_same = argc == 4 && strcmp(argv[1], "same") == 0;
    if (!is_same && !(argc == 4 && strcmp(argv[1], "cross") == 0))
        bench_fail("usage: %s same ROUNDS SECONDS | cross ROUNDS PAUSE-US", argv[0]);
    unsigned rounds = (unsigned)bench_number(argv[2], 1, ROUNDS_MAX);
    pool = pool_new(1);
    assert_features(pool);
    must(cen_pool_free(pool));
    must(cen_inbox_new(NULL, &inbox, NULL));
    return is_same ? same(rounds, atof(argv[3])) : across(rounds, (int64_t)bench_number(argv[3], 0, 1000000) * 1000);
}
