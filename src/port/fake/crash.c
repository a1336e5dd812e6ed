/* SPDX-License-Identifier: MIT */
/*
 * Crash reports: a body that dereferences a wild pointer fails with the story of its schedule, as with any other fault.
 *
 * Plain memory is not watched. A pointer that is read from freed memory has the pattern that the free left there, and
 * its use is an invalid access. Without a handler the kernel would end the process, and the schedule would be
 * unknown. Sanitizers install handlers of their own, which are kept.
 */
#include <signal.h>
#include <string.h>

#include "port/fake/internal.h"

static void report(int number, siginfo_t *info, void *unused)
{
    (void)unused;
    signal(number, SIG_DFL); /* a second fault, in the report, ends the process */
    if (!the_world.running) return;
    ceni_world_fail("crash: %s at address %p; a null or wild pointer, or one that was read from freed memory",
                    strsignal(number), info->si_addr);
}

void crash_report(void)
{
    static bool installed;
    static char stack[1 << 16]; /* the fiber's stack may be the one that overflowed */
    static const int numbers[] = {SIGSEGV, SIGBUS};
    if (installed) return;
    installed = true;
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    struct sigaction action = {.sa_sigaction = report, .sa_flags = SA_SIGINFO | SA_ONSTACK}, old;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        sigaction(numbers[i], NULL, &old);
        if (old.sa_handler == SIG_DFL) sigaction(numbers[i], &action, NULL);
    }
}
