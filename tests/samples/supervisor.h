/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <cenote/supervisor.h>

cen_status open_table(void *argument, cen_child child, cen_error *error);
void close_table(void *argument, cen_child child);
cen_status tick(void *argument, cen_child child, cen_error *error);
#define link link_ /* not that of unistd.h, nor the clock of time.h */
#define clock clock_
extern int table, link, clock;
extern cen_supervisor_report report;
