/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <cenote/mux.h>

extern cen_mux *mux;
extern char buffer[256];
