/* SPDX-License-Identifier: MIT */
/* Backtraces where the compiler's unwinder cannot be linked, for example because libgcc was built for another libc:
 * only the one address that the caller passes. */
#include "port/port.h"

unsigned ceni_backtrace(void **frames, unsigned most, const void *from)
{
    if (!from || most == 0) return 0;
    frames[0] = (void *)(uintptr_t)from;
    return 1;
}
