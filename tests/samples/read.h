/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <cenote/registry.h>

extern cen_registry *registry;
extern cen_key key;
extern const cen_entry *entry;
