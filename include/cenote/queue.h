/* SPDX-License-Identifier: MIT */
/*
 * A FIFO queue between threads, with any number of producers and consumers.
 *
 * There are three kinds: bounded (a ring of fixed capacity), unbounded (linked blocks) and rendezvous (no buffer: a
 * push succeeds when a pop takes its element). There are also three kinds of source, which can only be popped: after,
 * tick and never. cen_select waits for any mix of pushes and pops and performs exactly one of them.
 *
 * Life: create the queue, push and pop from any thread, close it, pop what is left, and free it.
 *
 *     cen_queue *queue;
 *     cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(struct job), .capacity = 100);
 *     if (cen_queue_new(&options, &queue, &error) != CEN_OK) die(error.text);
 *
 *     cen_queue_push(queue, &job);                                 // a producer
 *     cen_queue_close(queue);
 *     while (cen_queue_pop(queue, &job) == CEN_OK) work(&job);     // a consumer
 *
 * Threads: every function may be called from any thread at any time, except cen_queue_free, which must be the last
 * call. Everything that a thread wrote before a push is visible to the thread that popped the element, so it is safe to
 * pass pointers through a queue. No function is a cancellation point, and a signal does not end a wait. The library
 * calls no function of the program, except `drop` during cen_queue_free, and the allocator if options.allocator is set.
 *
 * Progress: see the comment of each function. "Never waits" means that the call does not sleep, and that no other
 * thread can keep it from returning, no matter where that thread has stopped. The call retries only when another
 * operation succeeded, or, for a push to an unbounded queue, when a pop has waited for the push for too long. The
 * comments name the exceptions. Two more exceptions apply everywhere:
 *   - An operation that succeeds while others wait on the other side takes the lock of their wait list to wake the
 *     first waiter. The lock is held for a few steps at a time.
 *   - A rendezvous queue has one lock, which is held while an element is copied.
 */
#ifndef CENOTE_QUEUE_H
#define CENOTE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include <cenote/allocator.h>
#include <cenote/deadline.h>
#include <cenote/sized.h>
#include <cenote/status.h>
#include <cenote/stop.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_queue cen_queue;

/* ---- Creating a queue ------------------------------------------------------ */

/* Kind of a queue. */
typedef enum cen_queue_kind {
    CEN_QUEUE_BOUNDED = 0, /* the default: its memory is limited even if nothing pops */
    CEN_QUEUE_UNBOUNDED,
    CEN_QUEUE_RENDEZVOUS,
} cen_queue_kind;

/* In every field, zero means the default. Fields are only ever appended. */
typedef struct cen_queue_options {
    size_t size;         /* sizeof(cen_queue_options), set by the macro */
    const char *name;    /* copied, cut after 31 bytes; default "queue" */
    size_t element_size; /* bytes per element, 1 to 1 MiB; required */
    cen_queue_kind kind;
    size_t capacity;               /* bounded queues only: elements, 1 to 2^24; default 1024 */
    cen_deadline default_deadline; /* the deadline that CEN_DEFAULT stands for; default CEN_NEVER */
    /* called by cen_queue_free with a copy of each remaining element, aligned to 16 bytes; default: none */
    void (*drop)(void *argument, void *element);
    void *drop_argument;
    const cen_allocator *allocator; /* default malloc */
} cen_queue_options;

/* Options with the given fields: CEN_QUEUE_OPTIONS(.element_size = 8, .capacity = 100). All others are zero. In C++
 * versions without designated initialisers, start from `cen_queue_options options = CEN_SIZED(cen_queue_options);` and
 * set the fields. */
#define CEN_QUEUE_OPTIONS(...) CEN_OPTIONS_(cen_queue_options, __VA_ARGS__)

/* Create a queue.
 * Returns:
 *   OK
 *   INVALID    out is NULL, or an option is invalid; the text names it
 *   NO_MEMORY
 */
CEN_API cen_status cen_queue_new(const cen_queue_options *options, cen_queue **out, cen_error *error);

/* A source is a queue that provides an int64_t element at a certain time: the element is then due and can be popped.
 * The value of the element is the time at which it fell due, as measured by cen_clock. Sources need no thread.
 * cen_queue_close ends them early. */

/* Create a source with one element, which becomes due at `deadline`. CEN_NOW and CEN_DEFAULT mean that it is due
 * immediately. With CEN_NEVER, the element never becomes due.
 * Returns:
 *   OK
 *   INVALID    out is NULL
 *   NO_MEMORY
 */
CEN_API cen_status cen_queue_after(cen_deadline deadline, cen_queue **out, cen_error *error);

/* Create a source that provides an element every `period_ns` nanoseconds, starting one period from now. Ticks that are
 * not popped do not accumulate: at most one is waiting, and later ticks keep to the original schedule.
 * Returns:
 *   OK
 *   INVALID    out is NULL, or period_ns is not positive
 *   NO_MEMORY
 */
CEN_API cen_status cen_queue_tick(int64_t period_ns, cen_queue **out, cen_error *error);

/* Create a source that never has an element.
 * Returns:
 *   OK
 *   INVALID    out is NULL
 *   NO_MEMORY
 */
CEN_API cen_status cen_queue_never(cen_queue **out, cen_error *error);

/* Free a queue and its memory. Any elements that are left are passed to `drop`. No other call may be in progress. NULL
 * is allowed. */
CEN_API void cen_queue_free(cen_queue *queue);

/* ---- Push ---------------------------------------------------------------- */

/* A push copies the element from `element`. With any status other than OK, nothing was pushed, and the caller's bytes
 * are unchanged. */

/* Push an element if there is room.
 *
 * Blocking: never waits. The exception is an unbounded queue: one push in 255 links a new block (more often for
 * elements of more than 248 bytes, but at most one push in 3). Any other push made at that moment waits for the thread
 * that links the block.
 * Returns:
 *   OK
 *   FULL       bounded: there is no room, or the slot to be filled is still being emptied; rendezvous: no pop is
 *              waiting
 *   CLOSED     the queue is closed
 *   NO_MEMORY  unbounded: out of memory for a block
 *   INVALID    queue or element is NULL, or the queue is a source
 */
CEN_API cen_status cen_queue_try_push(cen_queue *queue, const void *element);

/* Push an element. Waits for room.
 *
 * Blocking: until the queue's default_deadline.
 * Returns:
 *   OK
 *   CLOSED     the queue is closed, or was closed during the wait
 *   TIMEOUT    the deadline passed first
 *   NO_MEMORY  unbounded: out of memory for a block
 *   INVALID    queue or element is NULL, or the queue is a source
 */
CEN_API cen_status cen_queue_push(cen_queue *queue, const void *element);

/* Push an element. Waits for room.
 *
 * Blocking: until `deadline` (CEN_DEFAULT: options.default_deadline).
 * Returns:
 *   OK
 *   others  as cen_queue_push
 */
CEN_API cen_status cen_queue_push_until(cen_queue *queue, const void *element, cen_deadline deadline);

/* Push an element even if a bounded queue is full. If the queue is full, its oldest element is moved to `evicted`
 * (element_size bytes). *out says whether an element was evicted. One call evicts at most one element. An unbounded
 * queue is never full.
 *
 * Blocking: may wait for a pop or a push that is in progress on the same slot.
 * Returns:
 *   OK
 *   CLOSED     the queue is closed; if it was closed between eviction and push, *out is true and the oldest element is
 *              in `evicted`
 *   NO_MEMORY  unbounded: out of memory for a block
 *   INVALID    an argument is NULL, or the queue is a rendezvous or a source; *out is unchanged
 */
CEN_API cen_status cen_queue_force_push(cen_queue *queue, const void *element, void *evicted, bool *out);

/* ---- Pop ----------------------------------------------------------------- */

/* A pop copies the oldest element to `element`, which is written only if the pop returns OK. A closed queue can still
 * be popped until it is empty; after that, pops fail with CLOSED. */

/* Pop the oldest element if there is one.
 *
 * Blocking: never waits.
 * Returns:
 *   OK
 *   EMPTY    there is no element; or the oldest element is still being written by a push that has not returned; or, for
 *            an unbounded queue, another pop was preempted during the three steps in which it moves on to the next
 *            block
 *   CLOSED   the queue is closed and empty
 *   INVALID  queue or element is NULL
 */
CEN_API cen_status cen_queue_try_pop(cen_queue *queue, void *element);

/* Pop the oldest element. Waits for an element.
 *
 * Blocking: until the queue's default_deadline.
 * Returns:
 *   OK
 *   CLOSED   the queue is closed and empty
 *   TIMEOUT  the deadline passed first
 *   INVALID  queue or element is NULL
 */
CEN_API cen_status cen_queue_pop(cen_queue *queue, void *element);

/* Pop the oldest element. Waits for an element.
 *
 * Blocking: until `deadline` (CEN_DEFAULT: options.default_deadline).
 * Returns:
 *   OK
 *   others  as cen_queue_pop
 */
CEN_API cen_status cen_queue_pop_until(cen_queue *queue, cen_deadline deadline, void *element);

/* ---- Close and state -------------------------------------------------------- */

/* Close a queue. Later pushes fail, and all waiters are woken. Buffered elements can still be popped.
 * Returns:
 *   OK
 *   CLOSED   the queue is already closed
 *   INVALID  queue is NULL
 */
CEN_API cen_status cen_queue_close(cen_queue *queue);

/* The functions below never fail: if the queue is NULL, they treat it as closed, empty and without a name. */

/* Return whether the queue is closed. */
CEN_API bool cen_queue_is_closed(const cen_queue *queue);

/* Return the number of buffered elements, counting each push in progress as one. The number was correct at some moment
 * during the call. For a source, it is 1 if an element is due, and 0 otherwise. */
CEN_API size_t cen_queue_length(const cen_queue *queue);

/* Return the capacity: 0 for a rendezvous queue, SIZE_MAX for an unbounded queue, 1 for a source. */
CEN_API size_t cen_queue_capacity(const cen_queue *queue);

/* Return the size of an element, in bytes. */
CEN_API size_t cen_queue_element_size(const cen_queue *queue);

/* Return the name, which is valid as long as the queue exists. */
CEN_API const char *cen_queue_name(const cen_queue *queue);

/* ---- Select -------------------------------------------------------------- */

/* The operation of a case. */
typedef enum cen_direction {
    CEN_PUSH = 0,
    CEN_POP,
} cen_direction;

/* One of the operations that a select may perform. Caller-owned; filled in by cen_case_push or cen_case_pop. A case
 * whose queue is NULL is never ready. */
typedef struct cen_case {
    cen_queue *queue;
    void *element; /* pushed from here, or popped to here */
    cen_direction direction;
    void *reserved[9]; /* private while a select runs */
} cen_case;

/* Return a case that pushes *element. */
static inline cen_case cen_case_push(cen_queue *queue, const void *element)
{
    cen_case result = {queue, (void *)(uintptr_t)element, CEN_PUSH, {0}};
    return result;
}

/* Return a case that pops to *element. */
static inline cen_case cen_case_pop(cen_queue *queue, void *element)
{
    cen_case result = {queue, element, CEN_POP, {0}};
    return result;
}

/* Wait until one of the cases is ready, perform exactly that operation, and write its index to *out. If several are
 * ready, each is equally likely to be chosen. A case is also ready if its queue is closed (and, for a pop, empty): the
 * select then returns CLOSED.
 *
 * Blocking: until the deadline (CEN_DEFAULT: CEN_NEVER).
 * Returns:
 *   OK         one operation was performed; its index is in *out
 *   CLOSED     the queue of a case is closed; the index of that case is in *out, and nothing was done
 *   TIMEOUT    the deadline passed first; nothing was done, and *out is unchanged
 *   NO_MEMORY  out of memory for a push to an unbounded queue; the index of that case is in *out, and nothing was done
 *   INVALID    cases or out is NULL, a case has no element, a case pushes to a source, or the select could never end
 *              because every queue is NULL and the deadline is CEN_NEVER; nothing was done
 */
CEN_API cen_status cen_select(cen_case *cases, size_t count, cen_deadline deadline, size_t *out);

/* Select as cen_select does, but stop waiting when the token is set (cenote/stop.h). If there is only one case, this is
 * a push or a pop that can be stopped. `stop` NULL: no token.
 *
 * Blocking: until the deadline (CEN_DEFAULT: CEN_NEVER), or until the token is set.
 * Returns:
 *   INTERRUPTED  the token is set; nothing was done, and *out is unchanged
 *   FORKED       the token belongs to the parent process
 *   others       as cen_select
 */
CEN_API cen_status cen_select_stoppable(cen_case *cases, size_t count, cen_deadline deadline, cen_stop_token *stop,
                                        size_t *out);

/* Select as cen_select does, but if several cases are ready, choose the one that comes first in the array.
 *
 * Blocking: until the deadline (CEN_DEFAULT: CEN_NEVER).
 * Returns:
 *   OK
 *   others  as cen_select
 */
CEN_API cen_status cen_select_biased(cen_case *cases, size_t count, cen_deadline deadline, size_t *out);

/* Select as cen_select does, but only if a case is ready now.
 *
 * Blocking: never waits.
 * Returns:
 *   OK
 *   TIMEOUT  no case is ready
 *   others   as cen_select
 */
CEN_API cen_status cen_try_select(cen_case *cases, size_t count, size_t *out);

/* ---- Caveats -------------------------------------------------------------- */

/* Bounded queue: a push that has taken its slot but has not finished, because its thread was preempted midway, keeps
 * the elements behind it from being popped. try_pop then returns EMPTY. Blocking functions wait for the push.
 *
 * Unbounded queue: a pop skips such a slot instead, and the slow push goes to the end of the queue. The order of pushes
 * that have finished does not change.
 *
 * Waiters are woken in FIFO order. A running thread may take an element or a slot before a woken waiter does (barging).
 * The woken waiter then waits again, at the end of the line. Waiters are woken one after another: a woken waiter that
 * does not get to run holds up those behind it until it runs, or until the pushes and pops of running threads have used
 * up everything that is available.
 *
 * Fork: the only call that a child may make for a queue of its parent is cen_queue_free. */

#ifdef __cplusplus
}
#endif
#endif
