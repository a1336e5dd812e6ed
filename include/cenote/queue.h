/* SPDX-License-Identifier: MIT */
/*
 * A queue between threads: many producers, many consumers, first in first out.
 *
 * Three kinds: bounded (a ring of fixed capacity), unbounded (linked blocks),
 * and rendezvous (no room at all: a push is done when a pop takes it). Beside
 * them three sources that only pop: after, tick and never. cen_select waits
 * for any mix of pushes and pops and does exactly one of them.
 *
 * Life: new, push and pop from any thread, close, pop what is left, free.
 *
 *     cen_queue *queue;
 *     cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(struct job), .capacity = 100);
 *     if (cen_queue_new(&options, &queue, &error) != CEN_OK) die(error.text);
 *
 *     cen_queue_push(queue, &job);                                 // a producer
 *     cen_queue_close(queue);
 *     while (cen_queue_pop(queue, &job) == CEN_OK) work(&job);     // a consumer
 *
 * Threads: every function may be called from any thread at any time, except
 * cen_queue_free, which must be the last call. What a thread wrote before a
 * push is visible to the thread that popped that element, so that pointers may
 * be passed. Nothing here is a cancellation point, a signal does not end a
 * wait, and nothing calls back into the program, except `drop` inside free and
 * the allocator, if the queue was given one.
 *
 * Progress: see the note at each function. "Never waits" means that it does
 * not sleep and that no other thread, wherever it was stopped, keeps it from
 * returning; it starts again only when another operation went through, or,
 * pushing to an unbounded queue, when a pop has waited for it for too long.
 * Exceptions are noted. Two more hold everywhere: an operation that went
 * through while others wait on the other side takes the lock of their wait
 * list, which is held for a few steps at a time, to call the first of them;
 * and a rendezvous queue has one lock, held while an element is copied.
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

/* ---- Making one ---------------------------------------------------------- */

typedef enum cen_queue_kind {
    CEN_QUEUE_BOUNDED = 0, /* the default: what grows without a reader is a fault waiting */
    CEN_QUEUE_UNBOUNDED,
    CEN_QUEUE_RENDEZVOUS,
} cen_queue_kind;

/* Zero means default in every field. Fields are only ever appended. */
typedef struct cen_queue_options {
    size_t size;         /* sizeof(cen_queue_options), set by the macro */
    const char *name;    /* copied, at most 31 bytes kept; default "queue" */
    size_t element_size; /* bytes per element, 1 to 1 MiB; required */
    cen_queue_kind kind;
    size_t capacity;               /* bounded only: elements, 1 to 2^24; default 1024 */
    cen_deadline default_deadline; /* what CEN_DEFAULT means as a deadline of this queue; default CEN_NEVER */
    void (*drop)(void *argument, void *element); /* sees a copy of each element that free finds, aligned to 16 */
    void *drop_argument;
    const cen_allocator *allocator; /* default malloc */
} cen_queue_options;

/* In C++, where a designated initialiser is not for everybody: start from
 * `cen_queue_options options = CEN_SIZED(cen_queue_options);` and set what is needed. */
#define CEN_QUEUE_OPTIONS(...) CEN_OPTIONS_(cen_queue_options, __VA_ARGS__)

/* Makes a queue. Errors: INVALID (the text names the field), NO_MEMORY. */
CEN_API cen_status cen_queue_new(const cen_queue_options *options, cen_queue **out, cen_error *error);

/* Sources: a queue from which an int64_t, the moment on cen_clock, can be
 * popped when its time has come. They need no thread. Close ends them early. */

/* One element at `deadline`, then no more. CEN_NOW and CEN_DEFAULT are the present
 * moment; CEN_NEVER gives a source that never delivers. Errors: NO_MEMORY,
 * INVALID (out is NULL), as for the other two. */
CEN_API cen_status cen_queue_after(cen_deadline deadline, cen_queue **out, cen_error *error);

/* An element every `period_ns`, the first one period from now. Ticks that
 * nobody popped do not pile up: at most one is waiting, and the next keeps the
 * rhythm of the first. Errors: also INVALID for a period that is not positive. */
CEN_API cen_status cen_queue_tick(int64_t period_ns, cen_queue **out, cen_error *error);

/* Never delivers. */
CEN_API cen_status cen_queue_never(cen_queue **out, cen_error *error);

/* Gives back all memory; elements still buffered go to `drop`. Nobody may be
 * using the queue or waiting on it. NULL is allowed. */
CEN_API void cen_queue_free(cen_queue *queue);

/* ---- Push ---------------------------------------------------------------- */

/* An element is copied from `element`; on any status but OK nothing was
 * pushed and the caller's bytes are untouched. */

/* Never waits. Errors: FULL (bounded: no room, or the slot to be filled is
 * still being emptied; rendezvous: nobody is waiting to pop), CLOSED,
 * NO_MEMORY (unbounded), INVALID (NULL, or a source).
 * Unbounded: once in 255 pushes (more often for elements of more than 240
 * bytes, at most once in 3) a block is linked; a push that meets this moment
 * waits for the thread doing it. */
CEN_API cen_status cen_queue_try_push(cen_queue *queue, const void *element);

/* Waits for room until the queue's default_deadline. Errors: CLOSED, TIMEOUT, NO_MEMORY, INVALID. */
CEN_API cen_status cen_queue_push(cen_queue *queue, const void *element);

/* Waits for room until `deadline` (CEN_DEFAULT: options.default_deadline). Errors: CLOSED, TIMEOUT, NO_MEMORY, INVALID. */
CEN_API cen_status cen_queue_push_until(cen_queue *queue, const void *element, cen_deadline deadline);

/* Pushes even if a bounded queue is full, by evicting its oldest element into
 * `evicted` (element_size bytes). *out tells whether one was evicted. Never
 * more than one element is evicted by one call. May wait for a pop or push
 * that has begun on the same slot. Errors: CLOSED (if the close came between
 * eviction and push, *out is true and the oldest element is in `evicted`),
 * NO_MEMORY, INVALID (NULL, a rendezvous queue or a source; *out untouched). */
CEN_API cen_status cen_queue_force_push(cen_queue *queue, const void *element, void *evicted, bool *out);

/* ---- Pop ----------------------------------------------------------------- */

/* The oldest element is copied to `element`, which is written only on OK. A
 * closed queue still pops what it holds and then answers CLOSED. */

/* Never waits. Errors: EMPTY (nothing there, or the oldest element is still
 * being written by a push that has not returned, or, unbounded, another pop
 * was stopped in the three steps in which it moves on to the next block),
 * CLOSED, INVALID. */
CEN_API cen_status cen_queue_try_pop(cen_queue *queue, void *element);

/* Waits for an element until the queue's default_deadline. Errors: CLOSED, TIMEOUT, INVALID. */
CEN_API cen_status cen_queue_pop(cen_queue *queue, void *element);

/* Waits for an element until `deadline` (CEN_DEFAULT: options.default_deadline). Errors: CLOSED, TIMEOUT, INVALID. */
CEN_API cen_status cen_queue_pop_until(cen_queue *queue, cen_deadline deadline, void *element);

/* ---- Close and look ------------------------------------------------------ */

/* Refuses pushes from now on and wakes everybody who waits. What is buffered
 * can still be popped. Errors: CLOSED if it was closed before, INVALID (NULL). */
CEN_API cen_status cen_queue_close(cen_queue *queue);

/* A queue that is NULL is closed, holds nothing and has no name: these never fail. */

CEN_API bool cen_queue_is_closed(const cen_queue *queue);

/* Elements buffered, one for each push in progress included: true at some
 * moment during the call. A source counts 1 when it is due. */
CEN_API size_t cen_queue_length(const cen_queue *queue);

/* 0 for a rendezvous queue, SIZE_MAX for an unbounded one, 1 for a source. */
CEN_API size_t cen_queue_capacity(const cen_queue *queue);

CEN_API size_t cen_queue_element_size(const cen_queue *queue);

CEN_API const char *cen_queue_name(const cen_queue *queue);

/* ---- Select -------------------------------------------------------------- */

typedef enum cen_direction {
    CEN_PUSH = 0,
    CEN_POP,
} cen_direction;

/* One thing a select may do. Caller-owned; fill it with cen_case_push or
 * cen_case_pop. A NULL queue makes the case one that is never ready. */
typedef struct cen_case {
    cen_queue *queue;
    void *element; /* pushed from here, or popped to here */
    cen_direction direction;
    void *reserved[9]; /* cenote's while a select runs */
} cen_case;

static inline cen_case cen_case_push(cen_queue *queue, const void *element)
{
    cen_case result = {queue, (void *)(uintptr_t)element, CEN_PUSH, {0}};
    return result;
}

static inline cen_case cen_case_pop(cen_queue *queue, void *element)
{
    cen_case result = {queue, element, CEN_POP, {0}};
    return result;
}

/* Waits until one of the cases can be done, does exactly that one, and writes
 * its number to *out. If several could, each is equally likely. A case whose
 * queue is closed (and, for a pop, empty) counts as one that can be done: the
 * answer is then CLOSED, with its number in *out. CEN_DEFAULT: CEN_NEVER.
 * Errors: TIMEOUT (nothing was done, *out is untouched), CLOSED, NO_MEMORY
 * (an unbounded push, whose number is in *out; nothing was done), INVALID (nothing was done; also when every queue is
 * NULL and the deadline is CEN_NEVER, which could not end). */
CEN_API cen_status cen_select(cen_case *cases, size_t count, cen_deadline deadline, size_t *out);

/* Select as cen_select does (CEN_DEFAULT: CEN_NEVER), until the token is set (cenote/stop.h). With one case it is a push or a
 * pop that can be stopped. `stop` NULL: no token.
 * Returns: as cen_select, and
 *   INTERRUPTED  the token is set; nothing was done, and *out is untouched
 *   FORKED       the token belongs to the parent process */
CEN_API cen_status cen_select_stoppable(cen_case *cases, size_t count, cen_deadline deadline, cen_stop_token *stop,
                                        size_t *out);

/* The same (CEN_DEFAULT: CEN_NEVER), but of several that could be done the first in the array is. */
CEN_API cen_status cen_select_biased(cen_case *cases, size_t count, cen_deadline deadline, size_t *out);

/* Never waits: does one that can be done now. Errors: as cen_select; TIMEOUT if there is none. */
CEN_API cen_status cen_try_select(cen_case *cases, size_t count, size_t *out);

/* ---- Caveats --------------------------------------------------------------
 * Bounded queue: while a push that took its place has not finished (its thread
 * was descheduled midway), elements pushed behind it by others cannot be
 * popped yet, and try_pop says EMPTY. Blocking forms wait for it.
 * Unbounded queue: a pop passes over such a place instead, and the slow push
 * goes to the end of the queue; its order among finished pushes is unaffected.
 * Those who wait are called in the order they came; a running thread may take
 * an element or a place first, and the one that was called waits again, at
 * the end. They are called one after another: one that was called and does
 * not get to run holds up those behind it, until it runs or other pushes and
 * pops, which need not be called, take what there is.
 * fork: a child must not use a queue of its parent's other than to free it.
 */

#ifdef __cplusplus
}
#endif
#endif
