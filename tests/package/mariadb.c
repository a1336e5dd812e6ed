/* SPDX-License-Identifier: MIT */
/* A program outside the tree that uses libcenote-mariadb: nobody listens, and it is told so. */
#include <cenote/mariadb.h>

#include "take_one.h"

int main(void)
{
    return take_one(cen_mariadb("mariadb://127.0.0.1:1/none"), CEN_DOWN);
}
