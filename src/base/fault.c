/* SPDX-License-Identifier: MIT */
#include "base/fault.h"

#ifdef CENI_PLANTS

#include <stdatomic.h>

/* Plain stdatomic on purpose: a fault point must not be a scheduling point. */
static atomic_uint armed_mask;
static atomic_uint questions_left;
static atomic_bool fired;

bool ceni_fault_asked(ceni_fault_kind kind)
{
    if (!(atomic_load(&armed_mask) & (unsigned)kind)) return false;
    if (atomic_fetch_sub(&questions_left, 1) != 1) return false;
    atomic_store(&armed_mask, 0);
    atomic_store(&fired, true);
    return true;
}

void ceni_fault_arm(unsigned mask, unsigned nth)
{
    atomic_store(&fired, false);
    atomic_store(&questions_left, nth);
    atomic_store(&armed_mask, mask);
}

bool ceni_fault_disarm(void)
{
    atomic_store(&armed_mask, 0);
    return atomic_load(&fired);
}

#else
/* ISO C forbids an empty translation unit. */
typedef int ceni_fault_is_empty_here;
#endif
