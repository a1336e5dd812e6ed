/* SPDX-License-Identifier: MIT */
/*
 * A wait that is a cancellation point.
 *
 * pthread_cancel only reaches a thread that passes a cancellation point, and a plain system call is none.
 * So the cancel type is asynchronous around the call, and deferred again after it. In between the thread
 * does nothing but sleep: it holds no lock and owns nothing that `leave` does not know of. If the request
 * comes before or after the sleep itself, `leave` finds what the waiter has been told, as after a sleep.
 * With cancellation disabled the type has no effect.
 *
 * pthread_cancel notes its request and signals the thread a moment later. If the sleep ends in between, the signal finds the
 * thread in whatever cancellation point of glibc it has come to by then, and its handler ends it there, even where the program
 * has disabled cancellation. Leaving a cancellation point of its own, glibc waits for such a signal; changing the type it does
 * not. So one of these follows the sleep, an msync of nothing, and then the request is acted upon. A hundred nanoseconds, beside a
 * sleep. Not a poll, which would do as well: ThreadSanitizer watches that, and for a thread that ends within it, it takes
 * no notice of atomics any more.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "port/port.h"

typedef struct cancellable {
    _Atomic uint32_t *word;
    uint32_t expected;
    int64_t moment;
    ceni_woken result;
    void (*leave)(void *);
    void *argument;
} cancellable;

static void wait_asynchronously(void *argument)
{
    cancellable *self = argument;
    int type, ignored;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    self->result = ceni_futex_wait(self->word, self->expected, self->moment);
    pthread_setcanceltype(type, &ignored);
    (void)msync(NULL, 0, MS_ASYNC);
    pthread_testcancel();
}

static void leave_cancelled(void *argument)
{
    cancellable *self = argument;
    self->leave(self->argument);
}

ceni_woken ceni_futex_wait_cancellable(_Atomic uint32_t *word, uint32_t expected, int64_t moment, void (*leave)(void *),
                                       void *argument)
{
    cancellable self = {.word = word, .expected = expected, .moment = moment, .leave = leave, .argument = argument};
    ceni_thread_run_guarded(wait_asynchronously, leave_cancelled, &self);
    return self.result;
}
