/* SPDX-License-Identifier: MIT */
#include "given.h"

struct my_loop;
void keep(struct my_loop *loop, cen_job *job);
