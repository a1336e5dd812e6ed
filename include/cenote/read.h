/* SPDX-License-Identifier: MIT */
/*
 * Read sections: between begin and end, what a registry or a router answered
 * stays there, whatever others do meanwhile. libcenote-route.
 *
 *     cen_read_begin();
 *     if (cen_registry_lookup(registry, key, &entry) == CEN_OK) use(cen_entry_value(entry));
 *     cen_read_end();
 *
 * Neither ever waits, after the first time in a thread, and neither can fail.
 * Sections nest. Keep them short: what others have let go of is kept until they end. In a
 * section a thread must not free a registry, a router or a routing pool (MISUSE), poll or advance a
 * manual runtime, or wait for a thread that does one of these.
 *
 * Threads: a section is its thread's own; a crew's task ends one in the step that began it.
 */
#ifndef CENOTE_READ_H
#define CENOTE_READ_H

#include <stdbool.h>

#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

CEN_API CEN_DIRECT_ void cen_read_begin(void);
CEN_API CEN_DIRECT_ void cen_read_end(void);

/* Whether the calling thread is in one: for functions that would have to wait there. */
CEN_API bool cen_read_is_open(void);

/* The library is liburcu's reader, and installs that library's hooks for fork
 * (pthread_atfork) when the first registry or router is made. A program that
 * installs them itself for the bp flavour calls this before: two installers would
 * stop at the first fork. */
CEN_API void cen_rcu_skip_fork_hooks(void);

#ifdef __cplusplus
}
#endif
#endif
