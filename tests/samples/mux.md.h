/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <cenote/mux_server.h>

int report(const char *text);
bool is_quick(const cen_mux_call *call);
void hand_to_a_worker(cen_mux_call *call);
extern cen_mux_server *server;
