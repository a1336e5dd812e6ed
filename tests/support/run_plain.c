/* SPDX-License-Identifier: MIT */
#include "support/run.h"

void run_body(void (*body)(void))
{
    body();
}

void run_failed(const char *file, int line, const char *text)
{
    (void)file;
    (void)line;
    (void)text;
}
