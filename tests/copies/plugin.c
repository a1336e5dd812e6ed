/* SPDX-License-Identifier: MIT */
/* A plugin that has its own copy of the library inside. */
#include "uses.h"

extern const copy_calls *plugin_calls(void);

const copy_calls *plugin_calls(void)
{
    return &copy_of_these;
}
