/* SPDX-License-Identifier: MIT */
/*
 * The library's mutex: one word; it needs no destruction, and no call fails.
 *
 *     static ceni_mutex lock;
 *     ceni_mutex_lock(&lock, CENI_RANK_DIRECTORY);
 *     ...
 *     ceni_mutex_unlock(&lock, CENI_RANK_DIRECTORY);
 *
 * A zeroed mutex is free. All calls for one mutex pass the same rank; rank.h describes the checks. The mutex is not
 * recursive and not fair: a running thread may take it before a thread that is being woken.
 *
 * Unlock does not touch the word after the step that frees it, so the next holder may free the mutex's memory at once.
 */
#ifndef CENI_PORT_MUTEX_H
#define CENI_PORT_MUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/spi.h"
#include "port/rank.h"

CENI_SPI_BEGIN

typedef struct ceni_mutex {
    _Atomic uint32_t word; /* any thread, atomically */
} ceni_mutex;

/* Take the mutex: spin briefly, then sleep until it is free. */
void ceni_mutex_lock(ceni_mutex *m, ceni_rank rank);

/* Take the mutex if it is free. Never waits. */
bool ceni_mutex_try_lock(ceni_mutex *m, ceni_rank rank);

/* Free the mutex and wake one sleeper if there may be one. Only the holder may call it. */
void ceni_mutex_unlock(ceni_mutex *m, ceni_rank rank);

CENI_SPI_END

#endif
