/* SPDX-License-Identifier: MIT */
#include "given.h"

#if SAMPLE == 2
struct order {
    cen_task task;
};
cen_next begin(cen_task *task);
#endif
extern struct order *order;
extern cen_crew_report report;
