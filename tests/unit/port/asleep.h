/* SPDX-License-Identifier: MIT */
/* Knowing that another thread sleeps, without sleeping oneself: the kernel
 * shows each thread's state. */
#ifndef TESTS_UNIT_PORT_ASLEEP_H
#define TESTS_UNIT_PORT_ASLEEP_H

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "port/port.h"

/* Where a thread writes its number just before the call it will sleep in. */
typedef _Atomic int bedside;

static inline void bedside_sign(bedside *sign)
{
    ceni_store_release(sign, (int)syscall(SYS_gettid));
}

/* The state's letter: R running, S asleep; 0 if there is no such thread. */
static inline char thread_state(int number)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", number);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    size_t got = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[got] = 0;
    const char *name_end = strrchr(line, ')');
    return name_end ? name_end[2] : 0;
}

static inline bool is_asleep(bedside *sign)
{
    int number = ceni_load_acquire(sign);
    return number && thread_state(number) == 'S';
}

static inline void await_asleep(bedside *sign)
{
    while (!is_asleep(sign)) ceni_thread_yield();
}

#endif
