/* SPDX-License-Identifier: MIT */
#include "given.h"

extern cen_queue *queue;
extern cen_queue_options options;
