/* SPDX-License-Identifier: MIT */
/*
 * The end of the process: which threads of the library are in a call, and how exit waits for them.
 *
 * exit runs the handlers of atexit while all other threads go on. A client library that frees its tables there (OpenSSL does)
 * crashes a thread that is inside it. So each thread of the library says when it calls code of a driver or of the program:
 *
 *     uint64_t call = ceni_exit_call_begin();
 *     if (!call) ... the process exits: do not call ...
 *     ... the call ...
 *     ceni_exit_call_end(call);
 *
 * and exit, in a handler of its own, lets no call begin and waits for those that run. Program threads are not counted: whether
 * they use a library at exit is the program's affair.
 *
 * Threads: everything from any thread.
 * Fork: the child begins with no calls; those that ran at the fork are the parent's.
 */
#ifndef CENI_PORT_PROCESS_EXIT_H
#define CENI_PORT_PROCESS_EXIT_H

#include <stdbool.h>
#include <stdint.h>

/* A call begins on this thread. Calls do not nest. Returns 0 if the process exits; then there is no call. */
uint64_t ceni_exit_call_begin(void);

/* The call has returned. A child that was forked within it may say so, too. */
void ceni_exit_call_end(uint64_t call);

/* This thread ends: it runs nothing but its destructors, which belong to libraries and run code of theirs. It counts until they
 * have run. False: the process exits; a thread that nobody joins must not go on: ceni_exit_sleep. */
bool ceni_exit_leaving_begin(void);

/* Sleeps until the process is gone. */
_Noreturn void ceni_exit_sleep(void);

/* The destructors have run. Only for the seam: ceni_thread_mark_leaving. */
void ceni_exit_left(void);

/* Whether the process exits. */
bool ceni_exiting(void);

/* Registers the handler with atexit. Handlers run last in, first out, so it must be registered after those of a client library:
 * call this when the library was initialised. `key` names the driver that initialised it, by any address; the second call with the
 * same key changes nothing. NULL: the handler is registered if it is not yet. `cancel`, if not NULL, is called by the handler,
 * once, to make running calls return soon. */
void ceni_exit_register(const void *key, void (*cancel)(void));

/* What the handler does: no call begins from now on, running ones are cancelled and awaited for the timeout at most. The
 * calling thread's own call is not awaited. The second time it does nothing. */
void ceni_exit_run(void);

/* How long the handler waits at most. */
void ceni_exit_set_timeout(int64_t ns);

/* Waits, until `moment` at most, for all calls but the caller's own and for all threads that leave, and until `quiet`, if it is
 * not NULL, says true. It is asked again whenever a call has ended. False: the moment came first. */
bool ceni_exit_await(int64_t moment, bool (*quiet)(void *argument), void *argument);

/* The same without the calls of others: until `quiet` says true. */
bool ceni_exit_await_only(int64_t moment, bool (*quiet)(void *argument), void *argument);

/* What `quiet` says may have changed. */
void ceni_exit_nudge(void);

#endif
