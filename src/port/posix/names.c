/* SPDX-License-Identifier: MIT */
/* Names of threads where the system cannot report them: every thread is UNKNOWN. */
#include "port/port.h"

void ceni_thread_remember(uint64_t id)
{
    (void)id;
}

void ceni_thread_forget(uint64_t id)
{
    (void)id;
}

ceni_thread_life ceni_thread_look(uint64_t id, char name[CENI_THREAD_NAME_ROOM], uint32_t *tid)
{
    (void)id;
    name[0] = '\0';
    *tid = 0;
    return CENI_THREAD_UNKNOWN;
}
