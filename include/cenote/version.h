/* SPDX-License-Identifier: MIT */
/* The version of these headers, and of the library in use. */
#ifndef CENOTE_VERSION_H
#define CENOTE_VERSION_H

#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers. The build reads the numbers from here. */
#define CEN_VERSION_MAJOR 0
#define CEN_VERSION_MINOR 1
#define CEN_VERSION_PATCH 0

/* Return the version of the library in use: major * 1,000,000 + minor * 1,000 + patch. */
CEN_API unsigned cen_version(void);

#ifdef __cplusplus
}
#endif
#endif
