/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <cenote/registry.h>

extern cen_registry *registry;
extern void *connection;
