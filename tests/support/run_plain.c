/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <unistd.h>

#include "support/run.h"

void run_body(void (*body)(void))
{
    body();
}

/* A test on real threads may hang asleep, so its limit is on the clock. It grows by the runnable processes for each processor. */
void run_limit(unsigned seconds)
{
    double load = 0;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (getloadavg(&load, 1) != 1) load = 0;
    alarm((unsigned)(seconds * (1 + load / (double)(cpus > 0 ? cpus : 1))));
}

void run_failed(const char *file, int line, const char *text)
{
    (void)file;
    (void)line;
    (void)text;
}
