/* SPDX-License-Identifier: MIT */
/* What the directory asks a supervisor for. */
#ifndef CENI_SUPERVISOR_LOOK_H
#define CENI_SUPERVISOR_LOOK_H

#include <stddef.h>

#include "record/directory.h"

size_t ceni_supervisor_snapshot(const void *object, ceni_reading *readings, size_t room);

#endif
