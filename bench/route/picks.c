/* SPDX-License-Identifier: MIT */
/* All contestants in C, in one program: rules/picks.h. */
#include "contestants.h"

const struct pick_contestant *const pick_tables[] = {floor_contestants,  circle_contestants, quick_contestants,
                                                     cenote_contestants, mutex_contestants,  NULL};
