/* SPDX-License-Identifier: MIT */
#include "given.h"

struct job {
    int number;
};
extern struct job job;
void work(const struct job *job);
