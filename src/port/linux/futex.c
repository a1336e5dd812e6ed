/* SPDX-License-Identifier: MIT */
/* The futex by system call: the kernel has the list of sleepers, and compares the word and puts the thread to sleep
 * in one step. */
#include <errno.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fault.h"
#include "port/port.h"
#include "port/posix/moment.h"

/* The kernel's numbers. <linux/futex.h> has them too, but is not on the include path of every libc. PRIVATE: no other
 * process sleeps on these words, so the address alone identifies a word, and a wake does not read the memory. */
enum {
    FUTEX_PRIVATE = 128,
    FUTEX_WAKE = 1 | FUTEX_PRIVATE,
    FUTEX_WAIT_BITSET = 9 | FUTEX_PRIVATE, /* the wait with an absolute timeout, on CLOCK_MONOTONIC */
};
#define MATCH_ANY UINT32_MAX

_Static_assert(sizeof(long) == 8, "the plain system call takes 64-bit times only here; use the portable seam");

ceni_woken ceni_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t moment)
{
    if (ceni_fault(CENI_FAULT_WAIT)) return CENI_WOKEN;
    struct timespec until = ceni_moment_timespec(moment);
    const struct timespec *limit = moment == CENI_FOREVER ? NULL : &until;
    long result = syscall(SYS_futex, word, FUTEX_WAIT_BITSET, expected, limit, NULL, MATCH_ANY);
    return result < 0 && errno == ETIMEDOUT ? CENI_TIMED_OUT : CENI_WOKEN;
}

void ceni_futex_wake(_Atomic uint32_t *word, uint32_t count)
{
    if (!count) return;                                 /* the kernel wakes at least one */
    uint32_t limit = count > INT_MAX ? INT_MAX : count; /* the kernel's count is signed */
    syscall(SYS_futex, word, FUTEX_WAKE, limit, NULL, NULL, 0);
}
