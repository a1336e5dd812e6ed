/* SPDX-License-Identifier: MIT */
#include "given.h"

extern cen_queue *queue;
extern int element;
