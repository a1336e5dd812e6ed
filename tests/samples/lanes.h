/* SPDX-License-Identifier: MIT */
#include "given.h"

extern struct {
    cen_task task;
} * read_;
#define read read_
cen_next begin(cen_task *task);
void try_elsewhere(const char *text, cen_cause cause, int64_t retry_after_ns);
extern cen_lanes_report report;
