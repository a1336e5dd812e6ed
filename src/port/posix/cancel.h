/* SPDX-License-Identifier: MIT */
/* Several libc calls are cancellation points, but only ceni_futex_wait_cancellable may be one. So cancellation is
 * switched off around these calls. A request stays pending. */
#ifndef CENI_PORT_POSIX_CANCEL_H
#define CENI_PORT_POSIX_CANCEL_H

#include <pthread.h>

static inline int ceni_cancel_off(void)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void ceni_cancel_restore(int before)
{
    int ignored;
    pthread_setcancelstate(before, &ignored);
}

#endif
