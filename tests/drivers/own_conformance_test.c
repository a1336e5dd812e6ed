/* SPDX-License-Identifier: MIT */
/* The driver of examples/own_driver.h, which people begin their own with, does what every driver must. */
#include "drivers/own_case.h"

CONFORMANCE(own)
