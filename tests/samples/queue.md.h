/* SPDX-License-Identifier: MIT */
#include "given.h"

#if SAMPLE == 1
struct job;
#else
struct job {
    int number;
};
extern cen_queue *jobs, *ticks;
#endif
void work(const struct job *job);
void report(int64_t moment);
