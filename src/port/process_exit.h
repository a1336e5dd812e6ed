/* SPDX-License-Identifier: MIT */
/*
 * The end of the process: exit waits for the library's threads that run code of a driver or of the program.
 *
 * exit runs the handlers of atexit while all other threads go on. A client library that frees its tables in its
 * handler, as OpenSSL does, crashes a thread that is inside that library. So each thread of cenote marks its calls of
 * a driver or of the program:
 *
 *     uint64_t call = ceni_exit_call_begin();
 *     if (!call) ... the process exits: do not call ...
 *     ... the call ...
 *     ceni_exit_call_end(call);
 *
 * At exit a handler of cenote lets no call begin, and waits for the running ones. Threads of the program are not
 * counted: the program decides whether they use a client library during exit.
 *
 * Threads: any thread may call any function.
 * Fork: the child starts with no calls. Calls that ran at the fork belong to the parent.
 */
#ifndef CENI_PORT_PROCESS_EXIT_H
#define CENI_PORT_PROCESS_EXIT_H

#include <stdbool.h>
#include <stdint.h>

/* Begin a call on this thread. Calls do not nest. Returns 0 if the process exits; then no call begins. */
uint64_t ceni_exit_call_begin(void);

/* End a call. A child that was forked during the call may also end it. */
void ceni_exit_call_end(uint64_t call);

/* This thread ends: from now on it runs only its thread-specific destructors, which may run code of client libraries.
 * It is counted until they have run. Returns false if the process exits; a thread that will not be joined must then
 * call ceni_exit_sleep instead of ending. */
bool ceni_exit_leaving_begin(void);

/* Sleep until the process has ended. */
_Noreturn void ceni_exit_sleep(void);

/* The destructors have run. Called only by the implementation of ceni_thread_mark_leaving. */
void ceni_exit_left(void);

/* Return true if the process exits. */
bool ceni_exiting(void);

/* Register the handler with atexit. Handlers run last in, first out, so it must be registered after those of a client
 * library: call this after that library was initialised. `key` is any address that identifies the driver that
 * initialised it; a second call with the same key does nothing. NULL: register the handler unless it is registered
 * already. If `cancel` is not NULL, the handler calls it once, to make running calls return soon. */
void ceni_exit_register(const void *key, void (*cancel)(void));

/* The handler: let no call begin from now on, cancel the running ones, and wait for them, at most for the timeout. It
 * does not wait for a call of the calling thread. A second run does nothing. */
void ceni_exit_run(void);

/* Set the handler's timeout. 0: the default, 2 s. CEN_NONE: do not wait. CEN_OFF: no limit. */
void ceni_exit_set_timeout(int64_t ns);

/* Wait, until `moment` at most, until no call runs except the caller's own, no thread is leaving, and `quiet`, if it
 * is not NULL, returns true. `quiet` is called again whenever a call has ended. Returns false if the moment came
 * first. */
bool ceni_exit_await(int64_t moment, bool (*quiet)(void *argument), void *argument);

/* The same, but wait only until `quiet` returns true. */
bool ceni_exit_await_only(int64_t moment, bool (*quiet)(void *argument), void *argument);

/* Wake the waiters: the result of `quiet` may have changed. */
void ceni_exit_nudge(void);

#endif
