/* SPDX-License-Identifier: MIT */
/*
 * A body that dereferences a wild pointer fails like any other: with the story of its schedule.
 *
 * Plain memory is not watched, so a pointer that is read from freed memory is the pattern left there. Its use is an
 * access that the processor refuses. Without a handler the kernel ends the process, writes a line about it into its log, and
 * nobody learns the schedule. Sanitizers install handlers of their own, and keep them.
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
    static char stack[1 << 16]; /* a fiber's own may be the one that overflowed */
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
