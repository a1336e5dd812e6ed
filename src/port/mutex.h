/* SPDX-License-Identifier: MIT */
/*
 * The library's own mutex: one word, no destruction, nothing to fail.
 *
 *     static ceni_mutex lock;
 *     ceni_mutex_lock(&lock, CENI_RANK_DIRECTORY);
 *     ...
 *     ceni_mutex_unlock(&lock, CENI_RANK_DIRECTORY);
 *
 * A zeroed mutex is free. The rank is the same in every call for one mutex;
 * rank.h says what is checked. Not recursive, not fair: a running thread may
 * take it before one that is being woken.
 *
 * Unlocking never touches the word after the step that frees it, so the next
 * holder may give the mutex's memory back at once.
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

/* Spins a little, then sleeps until the mutex is free, and takes it. */
void ceni_mutex_lock(ceni_mutex *m, ceni_rank rank);

/* Takes it if it is free. Never waits. */
bool ceni_mutex_try_lock(ceni_mutex *m, ceni_rank rank);

/* Frees it and wakes one sleeper if there may be one. Only by the holder. */
void ceni_mutex_unlock(ceni_mutex *m, ceni_rank rank);

CENI_SPI_END

#endif
