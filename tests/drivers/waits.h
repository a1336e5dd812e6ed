/* SPDX-License-Identifier: MIT */
/*
 * The HTTP server of examples/wait_server.c for tests: a process of its own, which is killed when the one that started it ends,
 * and questions to it by a client that shares nothing with what is tested.
 */
#ifndef TESTS_DRIVERS_WAITS_H
#define TESTS_DRIVERS_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct waits {
    pid_t pid;
    uint16_t port;
} waits;

/* Starts it, at that port or, for 0, at a free one; `words` are more of its options, ended by NULL, or NULL. By a thread that
 * lives as long as the server should. Fails the test if it cannot. */
waits waits_start(uint16_t port, const char *const *words);

/* Asks it to end, and expects that it does so in order. */
void waits_stop(waits *server);

/* It is gone at once. */
void waits_kill(waits *server);

/* GETs the path by HTTP/1.1 on a connection of its own, with the server's user and password if `user` is not NULL ("a:b"). The
 * status, or 0 if there was no answer; the body, cut to the room and ended by a zero. */
long waits_ask(uint16_t port, const char *user, const char *path, char *body, size_t room);

/* The number after "name": in a reply; -1 if there is none. */
long waits_number(const char *reply, const char *name);

#endif
