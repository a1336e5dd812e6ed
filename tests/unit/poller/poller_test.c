/* SPDX-License-Identifier: MIT */
/* Descriptors of the system: pipes and sockets, in a loop of the test's own and on the poller's thread. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cenote/cenote.h>
#include <cenote/poller.h>

#include "base/atomic.h"
#include "port/rank.h"
#include "support/description.h"
#include "support/test.h"

#define MS INT64_C(1000000)

typedef struct ear {
    cen_watch watch; /* first */
    unsigned told, last;
    int64_t at;
    cen_poller *poller;
    int again; /* watches that descriptor again, so often */
    int fd;
} ear;

static void hear(cen_watch *watch, unsigned events)
{
    ear *e = (ear *)watch;
    e->told++;
    e->last = events;
    e->at = cen_clock();
    if (e->again-- > 0) expect_equal(cen_poller_watch(e->poller, watch, e->fd, CEN_READABLE, CEN_NEVER, NULL), CEN_OK);
}

static cen_poller *make(bool manual)
{
    cen_poller *poller;
    cen_error error;
    cen_poller_options options = CEN_POLLER_OPTIONS(.manual = manual);
    if (cen_poller_new(&options, &poller, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    return poller;
}

static ear listening(cen_poller *poller, int fd)
{
    return (ear){.watch = {.ready = hear}, .poller = poller, .fd = fd};
}

static uint32_t polled(cen_poller *poller, cen_deadline deadline)
{
    uint32_t told;
    cen_status status = cen_poller_poll(poller, deadline, &told, NULL);
    expect_equal(status, told ? CEN_OK : CEN_TIMEOUT);
    return told;
}

static bool is_readable(int fd)
{
    struct pollfd one = {fd, POLLIN, 0};
    return poll(&one, 1, 0) == 1;
}

/* guarantees: poller.once */
TEST(a_descriptor_is_told_once_when_it_is_ready_and_again_when_it_is_watched_again)
{
    int pair[2];
    expect_equal(pipe(pair), 0);
    cen_poller *poller = make(true);
    ear e = listening(poller, pair[0]);
    expect_equal(cen_poller_watch(poller, &e.watch, pair[0], CEN_READABLE, CEN_NEVER, NULL), CEN_OK);
    expect_equal(polled(poller, CEN_NOW), 0);
    expect_equal(write(pair[1], "ab", 2), 2);
    expect(is_readable(cen_poller_fd(poller)));
    expect_equal(polled(poller, CEN_NOW), 1);
    expect_equal(e.last, CEN_READABLE);
    expect_equal(polled(poller, CEN_NOW), 0); /* still readable, but nobody asks */
    expect(!is_readable(cen_poller_fd(poller)));
    expect_equal(cen_poller_watch(poller, &e.watch, pair[0], CEN_READABLE, CEN_NEVER, NULL), CEN_OK);
    expect_equal(polled(poller, CEN_NEVER), 1);
    expect_equal(e.told, 2);
    expect_equal(cen_poller_free(poller), CEN_OK);
}

/* guarantees: poller.once */
TEST(the_other_end_that_goes_is_told_without_being_asked_for)
{
    int pair[2];
    expect_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    cen_poller *poller = make(true);
    ear e = listening(poller, pair[0]);
    expect_equal(cen_poller_watch(poller, &e.watch, pair[0], CEN_READABLE | CEN_WRITABLE, CEN_NEVER, NULL), CEN_OK);
    expect_equal(polled(poller, CEN_NEVER), 1);
    expect_equal(e.last, CEN_WRITABLE);
    expect_equal(cen_poller_watch(poller, &e.watch, pair[0], CEN_READABLE, CEN_NEVER, NULL), CEN_OK);
    close(pair[1]);
    expect_equal(polled(poller, CEN_NEVER), 1);
    expect_equal(e.last, CEN_READABLE | CEN_HUNG_UP);
    expect_equal(cen_poller_free(poller), CEN_OK);
}

TEST(what_was_asked_for_is_told_with_the_end_of_a_pipe)
{
    cen_poller *poller = make(true);
    int ends[2];
    expect(pipe(ends) == 0);
    ear reader = listening(poller, ends[0]);
    expect_equal(cen_poller_watch(poller, &reader.watch, ends[0], CEN_READABLE, CEN_NEVER, NULL), CEN_OK);
    close(ends[1]);
    expect_equal(polled(poller, cen_in_s(1)), 1);
    expect_equal(reader.last, CEN_READABLE | CEN_HUNG_UP);
    close(ends[0]);
    expect_equal(cen_poller_free(poller), CEN_OK);
}

/* guarantees: poller.deadlines */
TEST(deadlines_come_in_their_order_and_make_the_descriptor_readable)
{
    int pair[2];
    expect_equal(pipe(pair), 0);
    cen_poller *poller = make(true);
    ear on_fd = listening(poller, pair[0]), alone = listening(poller, -1), earlier = listening(poller, -1);
    int64_t begun = cen_clock();
    expect_equal(cen_poller_watch(poller, &on_fd.watch, pair[0], CEN_READABLE, cen_at(begun + 30 * MS), NULL), CEN_OK);
    expect_equal(cen_poller_watch(poller, &alone.watch, -1, 0, cen_at(begun + 50 * MS), NULL), CEN_OK);
    expect_equal(cen_poller_watch(poller, &earlier.watch, -1, 0, cen_at(begun + 10 * MS), NULL), CEN_OK);
    while (!alone.told) {
        struct pollfd one = {cen_poller_fd(poller), POLLIN, 0};
        expect_equal(poll(&one, 1, 10000), 1);
        polled(poller, CEN_NOW);
    }
    expect_equal(earlier.told + on_fd.told + alone.told, 3);
    expect_equal(earlier.last + on_fd.last + alone.last, 0);
    expect(earlier.at >= begun + 10 * MS && on_fd.at >= begun + 30 * MS && alone.at >= begun + 50 * MS);
    expect(earlier.at <= on_fd.at && on_fd.at <= alone.at);
    expect_equal(write(pair[1], "a", 1), 1);
    expect_equal(polled(poller, CEN_NOW), 0); /* its deadline has ended that watch */
    expect_equal(cen_poller_free(poller), CEN_OK);
}

/* guarantees: poller.exact */
TEST(what_is_unwatched_is_not_told_even_if_it_was_ready)
{
    int pair[2];
    expect_equal(pipe(pair), 0);
    cen_poller *poller = make(true);
    ear e = listening(poller, pair[0]), other = listening(poller, pair[0]);
    expect(!cen_poller_unwatch(poller, &e.watch));
    expect_equal(cen_poller_watch(poller, &e.watch, pair[0], CEN_READABLE, cen_in_ms(1), NULL), CEN_OK);
    expect_equal(write(pair[1], "a", 1), 1);
    expect(cen_poller_unwatch(poller, &e.watch));
    expect(!cen_poller_unwatch(poller, &e.watch));
    expect_equal(polled(poller, cen_in_ms(20)), 0);
    expect_equal(cen_poller_watch(poller, &other.watch, pair[0], CEN_READABLE, CEN_NEVER, NULL), CEN_OK);
    expect_equal(polled(poller, CEN_NOW), 1);
    expect_equal(e.told, 0);
    expect_equal(other.told, 1);
    expect_equal(cen_poller_free(poller), CEN_OK);
}

static ear *victims[2];

static void unwatch_the_other(cen_watch *watch, unsigned events)
{
    hear(watch, events);
    ear *e = (ear *)watch, *other = victims[0] == e ? victims[1] : victims[0];
    expect(cen_poller_unwatch(e->poller, &other->watch));
    expect(!cen_poller_unwatch(e->poller, watch)); /* itself: it is not watched, and this does not wait */
    close(other->fd);
    /* The same number for another file that is ready too, watched by the same watch: what epoll had fetched is of before. */
    int pair[2];
    expect_equal(pipe(pair), 0);
    expect_equal(dup2(pair[0], other->fd), other->fd);
    other->watch.ready = hear;
    expect_equal(cen_poller_watch(e->poller, &other->watch, other->fd, CEN_READABLE, CEN_NEVER, NULL), CEN_OK);
}

/* guarantees: poller.exact */
TEST(an_event_that_was_fetched_before_an_unwatch_does_not_reach_the_next_watch_of_that_descriptor)
{
    int one[2], two[2];
    expect_equal(pipe(one), 0);
    expect_equal(pipe(two), 0);
    cen_poller *poller = make(true);
    ear a = listening(poller, one[0]), b = listening(poller, two[0]);
    a.watch.ready = b.watch.ready = unwatch_the_other;
    victims[0] = &a;
    victims[1] = &b;
    expect_equal(cen_poller_watch(poller, &a.watch, one[0], CEN_READABLE, CEN_NEVER, NULL), CEN_OK);
    expect_equal(cen_poller_watch(poller, &b.watch, two[0], CEN_READABLE, CEN_NEVER, NULL), CEN_OK);
    expect_equal(write(one[1], "a", 1), 1);
    expect_equal(write(two[1], "b", 1), 1);
    expect_equal(polled(poller, CEN_NOW), 1);
    expect_equal(a.told + b.told, 1);
    expect_equal(polled(poller, CEN_NOW), 0);
    ear *left = a.told ? &b : &a;
    expect(cen_poller_unwatch(poller, &left->watch));
    expect_equal(cen_poller_free(poller), CEN_OK);
}

static void free_itself(cen_watch *watch, unsigned events)
{
    (void)events;
    *(unsigned *)watch->argument += 1;
    free(watch);
}

/* guarantees: poller.once */
TEST(a_watch_may_free_itself_or_watch_again_in_its_ready)
{
    int pair[2];
    unsigned told = 0;
    expect_equal(pipe(pair), 0);
    expect_equal(write(pair[1], "a", 1), 1);
    cen_poller *poller = make(true);
    cen_watch *fleeting = calloc(1, sizeof *fleeting);
    fleeting->ready = free_itself;
    fleeting->argument = &told;
    expect_equal(cen_poller_watch(poller, fleeting, pair[0], CEN_READABLE, CEN_NEVER, NULL), CEN_OK);
    expect_equal(polled(poller, CEN_NOW), 1);
    expect_equal(told, 1);
    ear e = listening(poller, pair[0]);
    e.again = 2;
    expect_equal(cen_poller_watch(poller, &e.watch, pair[0], CEN_READABLE, CEN_NEVER, NULL), CEN_OK);
    for (int i = 0; i < 3; i++) expect_equal(polled(poller, CEN_NOW), 1);
    expect_equal(polled(poller, CEN_NOW), 0);
    expect_equal(e.told, 3);
    expect_equal(cen_poller_free(poller), CEN_OK);
}

/* guarantees: poller.misuse */
TEST(misuse_is_told_and_changes_nothing)
{
    int pair[2], file = open("/dev/null", O_RDONLY);
    expect_equal(pipe(pair), 0);
    cen_poller *poller = make(true);
    ear e = listening(poller, pair[0]), other = listening(poller, pair[0]);
    expect_equal(cen_poller_watch(NULL, &e.watch, pair[0], CEN_READABLE, CEN_NEVER, NULL), CEN_INVALID);
    expect_equal(cen_poller_watch(poller, NULL, pair[0], CEN_READABLE, CEN_NEVER, NULL), CEN_INVALID);
    expect_equal(cen_poller_watch(poller, &e.watch, pair[0], 0, CEN_NEVER, NULL), CEN_INVALID);
    expect_equal(cen_poller_watch(poller, &e.watch, -1, CEN_READABLE, CEN_NEVER, NULL), CEN_INVALID);
    expect_equal(cen_poller_watch(poller, &e.watch, 1000000, CEN_READABLE, CEN_NEVER, NULL), CEN_INVALID);
    expect_equal(cen_poller_watch(poller, &e.watch, file, CEN_READABLE, CEN_NEVER, NULL), CEN_INVALID);
    expect_equal(cen_poller_watch(poller, &e.watch, pair[0], CEN_READABLE, CEN_NEVER, NULL), CEN_OK);
    expect_equal(cen_poller_watch(poller, &e.watch, pair[0], CEN_READABLE, CEN_NEVER, NULL), CEN_MISUSE);
    expect_equal(cen_poller_watch(poller, &other.watch, pair[0], CEN_READABLE, CEN_NEVER, NULL), CEN_EXISTS);
    expect_equal(cen_poller_free(poller), CEN_BUSY);
    expect(cen_poller_unwatch(poller, &e.watch));
    expect_equal(cen_poller_free(poller), CEN_OK);
    cen_poller_options wrong = {.size = 3};
    cen_error error;
    expect_equal(cen_poller_new(&wrong, &poller, &error), CEN_INVALID);
    expect(strstr(error.text, "options.size") != NULL);
}

static void misbehave(cen_watch *watch, unsigned events)
{
    hear(watch, events);
    expect_equal(cen_poller_poll(((ear *)watch)->poller, CEN_NOW, NULL, NULL), CEN_MISUSE);
    expect_equal(cen_poller_free(((ear *)watch)->poller), CEN_MISUSE);
}

TEST(a_watch_that_is_refused_says_why)
{
    cen_poller *poller = make(true), *threaded = make(false);
    cen_error error;
    int fd = eventfd(0, EFD_CLOEXEC);
    ear one = listening(poller, fd), other = listening(poller, fd);
    expect_equal(cen_poller_watch(poller, &one.watch, fd, 0, CEN_NEVER, &error), CEN_INVALID);
    expect(strstr(error.text, "events must include CEN_READABLE or CEN_WRITABLE"));
    expect_equal(cen_poller_watch(poller, &one.watch, fd, CEN_READABLE, CEN_NEVER, &error), CEN_OK);
    expect_equal(cen_poller_watch(poller, &one.watch, fd, CEN_READABLE, CEN_NEVER, &error), CEN_MISUSE);
    expect(strstr(error.text, "the watch is in use"));
    expect_equal(cen_poller_watch(poller, &other.watch, fd, CEN_READABLE, CEN_NEVER, &error), CEN_EXISTS);
    expect(strstr(error.text, "another watch already watches it"));
    expect_equal(error.status, CEN_EXISTS);
    expect_equal(cen_poller_poll(poller, CEN_NOW, NULL, &error), CEN_TIMEOUT);
    expect(strstr(error.text, "no watch became ready before the deadline"));
    expect_equal(cen_poller_poll(threaded, CEN_NOW, NULL, &error), CEN_MISUSE);
    expect(strstr(error.text, "options.manual"));
    expect(cen_poller_unwatch(poller, &one.watch));
    expect_equal(cen_poller_free(poller), CEN_OK);
    expect_equal(cen_poller_free(threaded), CEN_OK);
    close(fd);
}

/* guarantees: poller.misuse */
TEST(a_ready_can_neither_poll_nor_free)
{
    cen_poller *poller = make(true), *threaded = make(false);
    ear e = listening(poller, -1);
    e.watch.ready = misbehave;
    expect_equal(cen_poller_watch(poller, &e.watch, -1, 0, cen_in_ms(1), NULL), CEN_OK);
    expect_equal(polled(poller, CEN_NEVER), 1);
    expect_equal(cen_poller_poll(threaded, CEN_NOW, NULL, NULL), CEN_MISUSE);
    expect_equal(cen_poller_fd(threaded), -1);
    expect_equal(cen_poller_free(poller), CEN_OK);
    expect_equal(cen_poller_free(threaded), CEN_OK);
}

/* guarantees: poller.misuse */
TEST(a_forked_child_is_told_so_and_the_parent_notices_nothing)
{
    int pair[2], status;
    expect_equal(pipe(pair), 0);
    cen_poller *poller = make(false);
    ear e = listening(poller, pair[0]);
    expect_equal(cen_poller_watch(poller, &e.watch, pair[0], CEN_READABLE, CEN_NEVER, NULL), CEN_OK);
    pid_t child = fork();
    if (child == 0) {
        cen_watch watch = {.ready = hear};
        bool right = cen_poller_watch(poller, &watch, pair[0], CEN_READABLE, CEN_NEVER, NULL) == CEN_FORKED &&
                     !cen_poller_unwatch(poller, &e.watch) &&
                     cen_poller_poll(poller, CEN_NOW, NULL, NULL) == CEN_FORKED && cen_poller_fd(poller) == -1 &&
                     cen_poller_free(poller) == CEN_OK;
        _exit(right ? 0 : 1);
    }
    expect_equal(waitpid(child, &status, 0), child);
    expect_equal(status, 0);
    expect(cen_poller_unwatch(poller, &e.watch));
    expect_equal(cen_poller_free(poller), CEN_OK);
}

/* ---- Threads ---------------------------------------------------------------------------------------- */

enum { PAIRS = 8, ROUNDS = 3000 };

typedef struct racer {
    cen_watch watch; /* first */
    int pair[2];
    _Atomic uint32_t told;
    uint32_t unwatched;
    bool inside, writes;
    cen_poller *poller;
} racer;

static void count_it(cen_watch *watch, unsigned events)
{
    (void)events;
    racer *r = (racer *)watch;
    r->inside = true;
    ceni_add_seq_cst(&r->told, 1u);
    r->inside = false;
}

/* Each watch ends in exactly one of two ways; when unwatch has returned, ready is not running: `inside` is then this
 * thread's to write, which ThreadSanitizer looks at too. */
static void *race(void *argument)
{
    racer *r = argument;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        char byte = 'a';
        uint32_t before = ceni_load_seq_cst(&r->told);
        cen_deadline deadline = i % 3 == 0 ? cen_in_ns(1) : CEN_NEVER;
        expect_equal(cen_poller_watch(r->poller, &r->watch, r->pair[0], CEN_READABLE, deadline, NULL), CEN_OK);
        if (i % 2) expect_equal(write(r->pair[1], &byte, 1), 1);
        if (i % 5 == 0) sched_yield();
        bool was = cen_poller_unwatch(r->poller, &r->watch);
        r->inside = false;
        r->unwatched += was;
        expect_equal(ceni_load_seq_cst(&r->told) - before, !was);
        if (i % 2) expect_equal(read(r->pair[0], &byte, 1), 1);
    }
    return NULL;
}

/* guarantees: poller.exact */
TEST(ready_deadline_and_unwatch_race_and_exactly_one_has_it)
{
    static racer racers[PAIRS];
    pthread_t threads[PAIRS];
    cen_poller *poller = make(false);
    for (int i = 0; i < PAIRS; i++) {
        racers[i] = (racer){.watch = {.ready = count_it}, .poller = poller};
        expect_equal(pipe(racers[i].pair), 0);
        expect_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    uint64_t told = 0, unwatched = 0;
    for (int i = 0; i < PAIRS; i++) {
        pthread_join(threads[i], NULL);
        told += racers[i].told;
        unwatched += racers[i].unwatched;
    }
    expect_equal(told + unwatched, PAIRS * ROUNDS);
    expect(told > 0 && unwatched > 0);
    expect_equal(cen_poller_free(poller), CEN_OK);
}

/* ---- For whoever watches ---------------------------------------------------------------------------- */

typedef struct chain {
    cen_watch watch;
    cen_poller *poller;
    _Atomic uint32_t calls;
    _Atomic bool over;
} chain;

static void go_on(cen_watch *watch, unsigned events)
{
    chain *self = (chain *)watch;
    (void)events;
    ceni_add_seq_cst(&self->calls, 1u);
    if (ceni_load_seq_cst(&self->over)) return;
    sched_yield(); /* it is watched by nobody meanwhile */
    expect_equal(cen_poller_watch(self->poller, watch, -1, 0, cen_in_ns(1), NULL), CEN_OK);
}

/* guarantees: poller.busy */
TEST(a_poller_is_busy_while_a_ready_runs_that_watches_again)
{
    cen_poller *poller = make(false);
    chain links = {.watch = {.ready = go_on}, .poller = poller};
    cen_status status = CEN_BUSY;
    expect_equal(cen_poller_watch(poller, &links.watch, -1, 0, cen_in_ns(1), NULL), CEN_OK);
    while (ceni_load_seq_cst(&links.calls) < 2000) expect_equal(cen_poller_free(poller), CEN_BUSY);
    ceni_store_seq_cst(&links.over, true);
    while (status == CEN_BUSY) status = cen_poller_free(poller);
    expect_equal(status, CEN_OK);
}

TEST(a_poller_shows_what_it_watches_for_what_and_until_when)
{
    int pair[2], sockets[2];
    description s;
    expect_equal(pipe(pair), 0);
    expect_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    cen_poller *poller;
    cen_poller_options options = CEN_POLLER_OPTIONS(.manual = true, .name = "ears");
    expect_equal(cen_poller_new(&options, &poller, NULL), CEN_OK);
    ear readable = listening(poller, pair[0]), both = listening(poller, sockets[0]), timer = listening(poller, -1);
    expect_equal(cen_poller_watch(poller, &readable.watch, pair[0], CEN_READABLE, CEN_NEVER, NULL), CEN_OK);
    expect_equal(cen_poller_watch(poller, &both.watch, sockets[0], CEN_READABLE | CEN_WRITABLE, cen_in_s(1000), NULL),
                 CEN_OK);
    expect_equal(cen_poller_watch(poller, &timer.watch, -1, 0, cen_in_s(1000), NULL), CEN_OK);
    description_take(&s, "poller", "ears", 10);
    expect(description_truth(&s, "manual"));
    expect_equal(description_number(&s, "timers"), 1);
    expect_equal(description_count(&s, "watches"), 2);
    expect_equal(description_number(&s, "watches[0].fd"), pair[0]);
    expect_text(description_words(&s, "watches[0].for"), "readable");
    expect(!description_has(&s, "watches[0].deadline_in_ns"));
    expect_text(description_words(&s, "watches[1].for"), "readable or writable");
    int64_t left = description_number(&s, "watches[1].deadline_in_ns");
    expect(left > 900 * 1000 * MS && left <= 1000 * 1000 * MS);
    description_drop(&s);
    description_take(&s, "poller", "ears", 1);
    expect_equal(description_count(&s, "watches"), 1);
    expect_equal(description_number(&s, "watches_more"), 1);
    description_drop(&s);
    expect_equal(metric_of("poller", "ears", "watched"), 3);
    expect(cen_poller_unwatch(poller, &readable.watch) && cen_poller_unwatch(poller, &both.watch));
    expect(cen_poller_unwatch(poller, &timer.watch));
    expect_equal(cen_poller_free(poller), CEN_OK);
    for (int i = 0; i < 2; i++) close(pair[i]), close(sockets[i]);
}

/* ---- Memory ---------------------------------------------------------------------------------------------- */

static unsigned allocations;

static void *alloc_unlocked(void *unused, size_t size, size_t align)
{
    (void)unused;
    ceni_rank_expect_none("the allocator of a poller"); /* aborts if a lock is held */
    allocations++;
    return aligned_alloc(align, (size + align - 1) / align * align);
}

static void free_unlocked(void *unused, void *memory, size_t size, size_t align)
{
    (void)unused, (void)size, (void)align;
    ceni_rank_expect_none("the allocator of a poller");
    free(memory);
}

/* guarantees: pool.allocator-unlocked */
TEST(the_allocator_is_called_with_no_lock_held)
{
    enum { MANY = 200 };
    static const cen_allocator unlocked = {alloc_unlocked, free_unlocked, NULL};
    static ear ears[MANY];
    cen_poller *poller;
    cen_poller_options options = CEN_POLLER_OPTIONS(.manual = true, .allocator = &unlocked);
    expect_equal(cen_poller_new(&options, &poller, NULL), CEN_OK);
    unsigned before = allocations;
    int fds[MANY];
    /* high descriptors and many deadlines: the table and the heap grow several times */
    for (int i = 0; i < MANY; i++) {
        fds[i] = eventfd(0, EFD_CLOEXEC);
        expect(fds[i] >= 0);
        ears[i] = listening(poller, fds[i]);
        expect_equal(cen_poller_watch(poller, &ears[i].watch, fds[i], CEN_READABLE, cen_in_s(1000 + i), NULL), CEN_OK);
        expect_equal(cen_poller_watch(poller, &ears[i].watch, fds[i], CEN_READABLE, CEN_NEVER, NULL), CEN_MISUSE);
    }
    expect(allocations >= before + 4);
    for (int i = 0; i < MANY; i++) {
        expect(cen_poller_unwatch(poller, &ears[i].watch));
        close(fds[i]);
    }
    expect_equal(cen_poller_free(poller), CEN_OK);
}
