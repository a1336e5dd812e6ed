/* SPDX-License-Identifier: MIT */
/* The supervisor's functions for the directory of components. */
#ifndef CENI_SUPERVISOR_LOOK_H
#define CENI_SUPERVISOR_LOOK_H

#include <stddef.h>

#include "record/directory.h"

size_t ceni_supervisor_snapshot(const void *object, cen_metric *metrics, size_t room);
extern const ceni_component_calls ceni_supervisor_calls;

#endif
