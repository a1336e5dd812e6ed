/* SPDX-License-Identifier: MIT */
#include "port/deadline.h"

#include "port/port.h"

int64_t ceni_deadline_moment(cen_deadline deadline, int64_t now)
{
    int64_t value = deadline.ns_;
    if (value == INT64_MAX) return CENI_FOREVER;
    if (value == INT64_MIN || value == 0) return 0;
    if (value > 0) return value;
    int64_t duration = -value;
    return now > CENI_FOREVER - duration ? CENI_FOREVER : now + duration;
}

int64_t cen_clock(void)
{
    return ceni_clock_now();
}

cen_deadline cen_deadline_fix(cen_deadline deadline)
{
    bool relative = deadline.ns_ < 0 && deadline.ns_ != INT64_MIN;
    return relative ? cen_at(ceni_deadline_moment(deadline, ceni_clock_now())) : deadline;
}
