/* SPDX-License-Identifier: MIT */
/* What the directory asks a supervisor for. */
#ifndef CENI_SUPERVISOR_LOOK_H
#define CENI_SUPERVISOR_LOOK_H

#include <stddef.h>

#include "record/directory.h"

size_t ceni_supervisor_snapshot(const void *object, cen_reading *readings, size_t room);
extern const ceni_thing_calls ceni_supervisor_calls;

#endif
