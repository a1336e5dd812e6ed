/* SPDX-License-Identifier: MIT */
/* Handlers for the end of the process. */
#include <stdlib.h>

#include "port/port.h"

bool ceni_process_at_exit(void (*handler)(void))
{
    return atexit(handler) == 0;
}
