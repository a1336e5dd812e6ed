/* SPDX-License-Identifier: MIT */
/*
 * The rules of the asynchronous benchmark, for its C contestants.
 *
 * LOOPS threads, each with an event loop, serve CLIENTS logical clients between
 * them: state machines, not threads. A client asks for an object, holds it for a
 * while without occupying its loop, gives it back and asks again. What it asked
 * for comes to its own loop's thread, and never from within ask or give.
 *
 * Nobody may share: an object is marked with its holder by an atomic exchange
 * when it comes to a client, who must find it unmarked, and is still marked so
 * when it goes. Afterwards
 *   - whoever still waits must be served;
 *   - SIZE clients ask and keep what they get: all must be served, and one more
 *     must not. So none was lost, and none doubled;
 *   - never more than SIZE objects were open.
 *
 * Whoever waits when the run ends is counted with its wait until then, so that a
 * pool that lets some wait for ever does not look better for it.
 *
 * A contestant fills a struct serve_contestant. Openings and tests that take
 * their time are done by a server of the benchmark's own, one thread that calls
 * back when the time has passed: serve_later.
 */
#ifndef BENCH_RULES_SERVE_H
#define BENCH_RULES_SERVE_H

#include "bench.h"

#define SERVE_PATIENCE_S 5
#define SERVE_PATIENCE_PENDING_S 60 /* very many are to be served one after the other */
#define SERVE_LOOPS_MAX 64
#define SERVE_TURNS 64 /* a busy loop looks at its descriptors at least so often */

struct serve_plan {
    unsigned clients, size, loops;
    int64_t hold_ns, think_ns; /* 0: given back, and asked for again, at once */
    int64_t time_ns;           /* of the run */
    int64_t open_ns;           /* an opening takes so long; 0: the pool is full at the start */
    int64_t test_ns;           /* a test of an idle object takes so long; 0: there are none */
    int64_t every_ns;          /* from one round of tests to the next */
    uint64_t uses;             /* a client discards an object that was lent so often; 0: never */
    bool stuck;                /* client 0 keeps what it gets first until the end */
    bool pending;              /* no run: how much memory and time the clients that wait take */
    const char *flavour;       /* the contestant's own word, or "" */
};

/* What is lent: two cache lines of its own. */
struct serve_object {
    uint64_t holder; /* a client's number and 1, or 0 */
    uint64_t uses;
    uint64_t lent;             /* since it was opened */
    struct serve_object *next; /* the contestant's while it is open */
} __attribute__((aligned(128)));

struct serve_loop;

struct serve_client {
    struct serve_loop *loop;
    unsigned number;
    struct serve_object *object;
    void *request; /* request_size zeroed bytes, the contestant's */
    int64_t asked_ns, due_ns;
    uint64_t pairs;
    struct serve_client *next;
};

struct serve_row {
    struct serve_client *first, **last;
};

struct serve_loop {
    unsigned number;
    const struct serve_plan *plan;
    void *own; /* the contestant's */
    int fd;    /* the contestant's, if serve_run is to watch one: readable when something has come */
    int timer; /* readable when something is due; read by serve_turn */
    int bell;  /* readable when the phase has changed; read by serve_turn */
    struct serve_client *clients;
    struct serve_row holding, thinking;
    int phase, rings; /* what it is at; rings that were read */
    int64_t armed_ns, start_ns, end_ns, longest_ns;
    uint64_t pairs, kept;
    unsigned busy;   /* clients that wait or hold; main reads it */
    uint64_t *waits; /* counts by length */
} __attribute__((aligned(128)));

struct serve_contestant {
    size_t request_size;
    const char *flavours;                        /* words allowed, between spaces */
    void (*make)(const struct serve_plan *plan); /* opens all objects, unless plan->open_ns */
    void (*enter)(struct serve_loop *loop);      /* on the loop's thread, before the start */
    void (*ask)(struct serve_client *client);
    void (*give)(struct serve_client *client, struct serve_object *object, bool discard);
    size_t (*poll)(struct serve_loop *loop); /* delivers what has come, by serve_granted; how many */
    bool (*arm)(struct serve_loop *loop);    /* the loop is about to sleep; false: something has come */
    void (*run)(struct serve_loop *loop);    /* an event loop of its own; NULL: serve_run */
};

/* On the client's own loop's thread: what it asked for has come. */
void serve_granted(struct serve_client *client, struct serve_object *object);

/* One object more, or one less. Any thread; at once. */
struct serve_object *serve_open(void);
void serve_close(struct serve_object *object);

/* The server: calls run(errand), on its thread, when `ns` have passed. */
struct serve_errand {
    void (*run)(struct serve_errand *errand);
    struct serve_errand *next;
    int64_t due_ns;
};
void serve_later(struct serve_errand *errand, int64_t ns);

/* For serve.c alone: an object that can be opened; the server's start. */
void serve_shelve(struct serve_object *object);
void serve_start_server(void);

/* For event loops of the contestant's own: whenever a descriptor is readable,
 * and before it sleeps. Does what is due, and sets the timer for what is next. */
void serve_turn(struct serve_loop *loop);

/* The event loop of those that bring none: epoll over the three descriptors. */
void serve_run(struct serve_loop *loop);

/* Parses, runs, checks, prints one line of key=value and ends the program.
 *     CLIENTS SIZE HOLD-NS SECONDS [loops=N] [think=NS] [open=NS] [test=NS] [every=NS] [uses=N] [stuck] [FLAVOUR]
 *     pending CLIENTS [loops=N] [FLAVOUR] */
int serve_main(int argc, char **argv, const struct serve_contestant *contestant);

#endif
