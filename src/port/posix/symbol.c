/* SPDX-License-Identifier: MIT */
/*
 * Names for code addresses, from the dynamic linker's tables. These have the functions that a library exports, and
 * those of a program that was linked with -rdynamic. For other addresses the result is the file and the offset, which
 * addr2line turns into a source line.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "port/port.h"

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void ceni_symbol(const void *address, char text[CENI_SYMBOL_ROOM])
{
    Dl_info found;
    uintptr_t at = (uintptr_t)address;
    if (dladdr((void *)at, &found) == 0 || !found.dli_fname) {
        snprintf(text, CENI_SYMBOL_ROOM, "0x%llx", (unsigned long long)at);
        return;
    }
    const char *file = last_part(found.dli_fname);
    if (found.dli_sname && found.dli_saddr)
        snprintf(text, CENI_SYMBOL_ROOM, "%.128s+0x%llx (%.64s)", found.dli_sname,
                 (unsigned long long)(at - (uintptr_t)found.dli_saddr), file);
    else snprintf(text, CENI_SYMBOL_ROOM, "%.128s+0x%llx", file, (unsigned long long)(at - (uintptr_t)found.dli_fbase));
}
