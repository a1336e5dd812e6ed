/* SPDX-License-Identifier: MIT */
/*
 * Names of threads, looked up by the library's thread numbers.
 *
 * The kernel knows a thread's name by its own number for the thread. The table maps the library's numbers to the
 * kernel's. An entry is written once, when a thread first gets its number from the library. The table has 1024
 * places: a thread replaces the entry of the thread whose number is 1024 less.
 *
 *     entry = has ended (1 bit) | our number / PLACES | the kernel's number (22 bits); 0: none
 *
 * The kernel reuses a number after its thread has ended. So the exit hooks mark the entry; a thread that the kernel
 * does not know has ended, too. The name may be another thread's only if the thread had no exit hooks, and such a
 * thread has never held a lease. All operations are relaxed: an entry is one word.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "port/port.h"

enum { PLACES = 1024, KERNEL_BITS = 22 };
#define ENDED (UINT64_C(1) << 63)

static _Atomic uint64_t table[PLACES];

void ceni_thread_remember(uint64_t id)
{
    long kernel = syscall(SYS_gettid);
    if (kernel <= 0 || kernel >> KERNEL_BITS) return;
    ceni_store_relaxed(&table[id % PLACES], id / PLACES << KERNEL_BITS | (uint64_t)kernel); /* carries nothing */
}

void ceni_thread_forget(uint64_t id)
{
    uint64_t entry = ceni_load_relaxed(&table[id % PLACES]); /* carries nothing */
    if (entry == 0 || entry >> KERNEL_BITS != id / PLACES) return;
    /* unless a newer thread has the place; carries nothing */
    ceni_cas_relaxed(&table[id % PLACES], &entry, entry | ENDED);
}

ceni_thread_life ceni_thread_look(uint64_t id, char name[CENI_THREAD_NAME_ROOM], uint32_t *tid)
{
    uint64_t entry = ceni_load_relaxed(&table[id % PLACES]); /* carries nothing */
    *tid = (uint32_t)(entry & ((1u << KERNEL_BITS) - 1));
    name[0] = '\0';
    if (entry == 0 || (entry & ~ENDED) >> KERNEL_BITS != id / PLACES) return CENI_THREAD_UNKNOWN;
    if (entry & ENDED) return CENI_THREAD_ENDED;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%u/comm", *tid);
    int cancel = ceni_cancel_hold();
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool is_gone = file < 0 && errno == ENOENT && access("/proc/self/task", F_OK) == 0;
    ssize_t length = file < 0 ? 0 : read(file, name, CENI_THREAD_NAME_ROOM - 1);
    if (file >= 0) close(file);
    ceni_cancel_release(cancel);
    name[length > 0 ? length : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    return is_gone ? CENI_THREAD_ENDED : length > 0 ? CENI_THREAD_LIVES : CENI_THREAD_UNKNOWN;
}
