/* SPDX-License-Identifier: MIT */
/* Names of threads where no system tells them. */
#include "port/port.h"

void ceni_thread_remember(uint64_t id)
{
    (void)id;
}

bool ceni_thread_name(uint64_t id, char name[CENI_THREAD_NAME_ROOM])
{
    (void)id;
    name[0] = '\0';
    return false;
}
