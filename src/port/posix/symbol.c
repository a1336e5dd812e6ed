/* SPDX-License-Identifier: MIT */
/*
 * What is at an address of the code, by the tables that the dynamic linker has
 * anyway: names of functions that a library exports, or a program that was
 * linked with -rdynamic. Of others it says where in which file they are, which
 * addr2line turns into a line.
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
