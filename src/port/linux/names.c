/* SPDX-License-Identifier: MIT */
/*
 * Names of threads, by the numbers that the library gives them.
 *
 * The kernel knows a thread's name by its own number for it, which is noted when
 * a thread first asks for ours: once in its life, and never again. The table has
 * room for some; a newer thread takes the place of one that is 1024 numbers older.
 *
 *     entry = our number / PLACES | the kernel's number (22 bits); 0: none
 *
 * The kernel uses a number again when its thread has ended. Then the name is
 * another's: one who asks for the name of a thread that has ended is told
 * nothing, or that. All operations are relaxed: an entry is one word.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "port/port.h"

enum { PLACES = 1024, KERNEL_BITS = 22 };

static _Atomic uint64_t table[PLACES];

void ceni_thread_remember(uint64_t id)
{
    long kernel = syscall(SYS_gettid);
    if (kernel <= 0 || kernel >> KERNEL_BITS) return;
    ceni_store_relaxed(&table[id % PLACES], id / PLACES << KERNEL_BITS | (uint64_t)kernel); /* carries nothing */
}

bool ceni_thread_name(uint64_t id, char name[CENI_THREAD_NAME_ROOM])
{
    uint64_t entry = ceni_load_relaxed(&table[id % PLACES]); /* carries nothing */
    if (entry == 0 || entry >> KERNEL_BITS != id / PLACES) return false;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%u/comm", (unsigned)(entry & ((1u << KERNEL_BITS) - 1)));
    int cancel = ceni_cancel_hold();
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, name, CENI_THREAD_NAME_ROOM - 1);
    if (file >= 0) close(file);
    ceni_cancel_release(cancel);
    if (length <= 0) return false;
    name[length] = '\0';
    name[strcspn(name, "\n")] = '\0';
    return true;
}
