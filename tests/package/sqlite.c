/* SPDX-License-Identifier: MIT */
/* A program outside the tree that uses libcenote-sqlite: a database is made. */
#include <cenote/sqlite.h>

#include "take_one.h"

int main(void)
{
    return take_one(cen_sqlite("outside.db"), CEN_OK);
}
