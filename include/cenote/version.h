/* SPDX-License-Identifier: MIT */
/* The version of these headers, and of the library that was linked. */
#ifndef CENOTE_VERSION_H
#define CENOTE_VERSION_H

#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The build reads the numbers from here: this is their only home. */
#define CEN_VERSION_MAJOR 0
#define CEN_VERSION_MINOR 1
#define CEN_VERSION_PATCH 0

/* major * 1,000,000 + minor * 1,000 + patch of the library in use. */
CEN_API unsigned cen_version(void);

#ifdef __cplusplus
}
#endif
#endif
