/* SPDX-License-Identifier: MIT */
/* A program outside the tree that uses libcenote-pq: nobody listens, and it is told so. */
#include <cenote/pq.h>

#include "take_one.h"

int main(void)
{
    return take_one(cen_pq("postgresql://127.0.0.1:1/none"), CEN_DOWN);
}
