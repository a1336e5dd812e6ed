/* SPDX-License-Identifier: MIT */
/*
 * Backtraces by the compiler's unwinder. Every program that gcc or clang has linked contains it, with any libc. It
 * reads tables that are mapped with the code, and allocates nothing.
 */
#include <unwind.h>

#include "port/port.h"

typedef struct walk {
    void **frames;
    unsigned most, count;
    const void *from; /* NULL: every frame counts */
} walk;

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *argument)
{
    walk *w = argument;
    void *address = (void *)_Unwind_GetIP(context); // NOLINT(performance-no-int-to-ptr)
    if (!address || w->count == w->most) return _URC_END_OF_STACK;
    if (address == w->from) w->from = NULL;
    if (!w->from) w->frames[w->count++] = address;
    return _URC_NO_REASON;
}

unsigned ceni_backtrace(void **frames, unsigned most, const void *from)
{
    walk w = {.frames = frames, .most = most, .from = from};
    _Unwind_Backtrace(step, &w);
    if (w.count > 0 || !from) return w.count;
    w.from = NULL; /* `from` was not found: all frames are better than none */
    _Unwind_Backtrace(step, &w);
    return w.count;
}
