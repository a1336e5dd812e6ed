/* SPDX-License-Identifier: MIT */
/*
 * A futex wait that is a cancellation point.
 *
 * pthread_cancel only reaches a thread at a cancellation point, and a plain system call is none. So the cancel type
 * is asynchronous during the call, and deferred again after it. In between the thread only sleeps: it holds no lock,
 * and owns nothing that `leave` does not know of. If the request comes shortly before or after the sleep, `leave`
 * finds the verdict that the waiter has got, as after a normal sleep. While the program has disabled cancellation the
 * type has no effect.
 *
 * pthread_cancel notes its request first and signals the thread a moment later. If the sleep ends in between, the
 * signal reaches the thread in a later cancellation point of glibc, and its handler ends the thread there, even where
 * the program has disabled cancellation. glibc waits for such a signal when it leaves one of its own cancellation
 * points, but not when the type is changed. So the sleep is followed by a cancellation point of glibc that does
 * nothing, an msync of no bytes, and then the request is acted upon. It costs about a hundred nanoseconds, which is
 * little beside a sleep. poll would work too, but ThreadSanitizer intercepts poll, and ignores atomics of a thread
 * that ends within it.
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
