/* SPDX-License-Identifier: MIT */
/* A program outside the tree that uses libcenote-redis: nobody listens, and it is told so. */
#include <cenote/redis.h>

#include "take_one.h"

int main(void)
{
    return take_one(cen_redis("redis://127.0.0.1:1"), CEN_DOWN);
}
