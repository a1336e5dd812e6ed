/* SPDX-License-Identifier: MIT */
/* Read sections: the public functions. */
#include <cenote/read.h>

#include "rcu/rcu.h"

void cen_read_begin(void)
{
    ceni_read_begin();
}

void cen_read_end(void)
{
    ceni_read_end();
}

bool cen_read_is_open(void)
{
    return ceni_read_is_open();
}
