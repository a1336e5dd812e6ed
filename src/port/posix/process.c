/* SPDX-License-Identifier: MIT */
/* Registers handlers for the end of the process. */
#include <stdlib.h>

#include "port/port.h"

/* ThreadSanitizer wraps every handler, and its wrapper crashes on a thread that has ended: exit runs on such a thread
 * if the last thread of a forked child ends. So builds with ThreadSanitizer register no handler, and do not run the
 * tests of exit. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define REGISTERS_HANDLERS 0
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define REGISTERS_HANDLERS 0
#endif
#ifndef REGISTERS_HANDLERS
#define REGISTERS_HANDLERS 1
#endif

bool ceni_process_at_exit(void (*handler)(void))
{
    return REGISTERS_HANDLERS ? atexit(handler) == 0 : true;
}
