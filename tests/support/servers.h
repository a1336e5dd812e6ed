/* SPDX-License-Identifier: MIT */
/*
 * Real servers for tests: PostgreSQL, MariaDB, Redis and nginx, each on loopback in a temporary directory of
 * its own, with its passwords checked, and gone when the program that started it is.
 *
 *     static server *postgresql;
 *     void test_program_begin(void) { postgresql = server_start(SERVER_POSTGRESQL, NULL); }
 *     void test_program_end(void) { server_stop(postgresql); }
 *     TEST(a_killed_server_is_reported_as_lost)
 *     {
 *         ... connect to server_url(postgresql) ...
 *         server_kill(postgresql);
 *         ...
 *         server_restart(postgresql);
 *     }
 *
 * A server belongs to the process that started it. Between the two stands a guardian, a process without
 * threads in a session of its own, which starts the server, obeys the functions below, and holds one end of a
 * pipe whose other end, the lifeline, only the owner has: it is closed at exec, and by a handler in each child
 * that the owner forks. When the owner ends, in whatever way, the guardian kills the server with all its
 * processes, waits for them and removes the directory. Children of the owner, as the harness makes one for each
 * test, use the server by the same handle, and a change that one makes (a kill, new settings) holds for all; a
 * child that outlives the owner finds the server gone.
 *
 * Processes: the guardian is the reaper of all that the server forks, so that it ends its own children only, by
 * their ids, before anybody could have taken such an id again. As root, the servers run as "nobody".
 *
 * Threads: server_start and server_stop belong to one thread at a time, and the first comes before the program
 * has threads, because the guardian is a fork of it. The rest may be called by any thread of any process; the
 * guardian does one thing after the other. A call ends when its effect is there: after server_kill nobody
 * listens, after server_restart the server answers. All of them fail the test when they cannot do it, with the
 * end of the server's log.
 *
 * Settings are words of the server's own, "max_connections=20", one by one, ended by NULL; NULL means none.
 * PostgreSQL, MariaDB and Redis know them as lines of their configuration; in nginx they are directives of the
 * block "http", except worker_processes and worker_rlimit_nofile (outermost) and worker_connections ("events").
 */
#ifndef TESTS_SUPPORT_SERVERS_H
#define TESTS_SUPPORT_SERVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef enum server_kind { SERVER_POSTGRESQL, SERVER_MARIADB, SERVER_REDIS, SERVER_NGINX } server_kind;
enum { SERVER_KINDS = 4 };

typedef struct server server;

/* "postgresql", "mariadb", "redis" or "nginx". */
const char *server_name(server_kind kind);

/* ---- Start and end ---------------------------------------------------------------------------------------- */

/* Starts one and waits until it answers. */
server *server_start(server_kind kind, const char *const *settings);

/* The same, but returns NULL and says why, in lines, when it could not be started. */
server *server_try_start(server_kind kind, const char *const *settings, char *why, size_t room);

/* Ends it and removes its directory; frees the handle. NULL is nothing. Servers that are left when the owner
 * exits are stopped then. */
void server_stop(server *self);

/* ---- Where it is ------------------------------------------------------------------------------------------ */

/* postgresql://tester:secret@127.0.0.1:PORT/test    mariadb://tester:secret@127.0.0.1:PORT/test
 * redis://:secret@127.0.0.1:PORT/0                  http://127.0.0.1:PORT/ (HTTP/2 only, by prior knowledge) */
const char *server_url(const server *self);

/* The same database as the superuser "admin" with the password "commander"; Redis: the same as server_url;
 * nginx: its counts of connections and requests ("stub_status"), by HTTP/1.1. */
const char *server_admin_url(const server *self);

uint16_t server_port(const server *self);

/* nginx: the same files by HTTP/1.1, "http://127.0.0.1:PORT/"; "" for the others. The files are "index.html"
 * ("cenote\n"), "1k", "64k" and "1m", whose byte i is 'a' + i % 26. */
const char *server_http1_url(const server *self);

/* The directory: "data" with the server's files, "log" with what it said, and its Unix socket:
 * ".s.PGSQL.PORT", "mariadb.sock", "redis.sock". */
const char *server_directory(const server *self);

/* The process id of the server's first process; 0 while there is none. */
pid_t server_pid(const server *self);

/* It takes a connection and answers within a second, be it with a refusal such as "too many clients". False
 * while it is down, paused or still reading its files. */
bool server_answers(const server *self);

/* ---- What may happen to it -------------------------------------------------------------------------------- */

/* SIGKILL for all its processes; the data stay. */
void server_kill(server *self);

/* Its own orderly way down, in which it may still speak to its clients. */
void server_shutdown(server *self);

/* Starts it again at the same port with the same data: after a kill, after a shutdown, or, by both, while it
 * runs or is paused. */
void server_restart(server *self);

/* SIGSTOP and SIGCONT for all its processes: connections stay, nobody answers. */
void server_pause(server *self);
void server_resume(server *self);

/* Other settings in place of those it had: they hold from the next restart on; in PostgreSQL and nginx, those
 * that can, from the next reload on. */
void server_configure(server *self, const char *const *settings);

/* SIGHUP: PostgreSQL and nginx read their settings again. The server does so soon, but not at once. */
void server_reload(server *self);

#endif
