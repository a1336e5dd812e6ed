/* SPDX-License-Identifier: MIT */
/* A program outside the tree that uses libcenote-curl: nobody listens, and it is told so. */
#include <cenote/curl.h>

#include "take_one.h"

int main(void)
{
    return take_one(cen_curl("http://127.0.0.1:1"), CEN_DOWN);
}
