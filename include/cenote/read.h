/* SPDX-License-Identifier: MIT */
/*
 * Read sections: anything that a registry or a router returns in a section stays valid until the section ends.
 * libcenote-route.
 *
 *     cen_read_begin();
 *     if (cen_registry_lookup(registry, key, &entry) == CEN_OK) use(cen_entry_value(entry));
 *     cen_read_end();
 *
 * Apart from a thread's first call, neither call waits, and neither can fail. Sections may nest. Keep them short:
 * entries and members that are removed during a section are kept in memory until it ends. In a section, a thread must
 * not free a registry, a router or a routing pool (MISUSE), poll or advance a manual runtime, or wait for a thread that
 * does any of these things.
 *
 * Threads: a section belongs to its thread. A task of a crew must end a section in the step that began it.
 */
#ifndef CENOTE_READ_H
#define CENOTE_READ_H

#include <stdbool.h>

#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Begin and end a read section. */
CEN_API CEN_DIRECT_ void cen_read_begin(void);
CEN_API CEN_DIRECT_ void cen_read_end(void);

/* Return true if the calling thread is in a read section. A function that would have to wait can check this first. */
CEN_API bool cen_read_is_open(void);

/* Keep the library from installing liburcu's fork hooks. The library uses liburcu for read sections, and installs
 * liburcu's hooks for fork (pthread_atfork) when the first registry or router is created. A program that installs the
 * hooks of the bp flavour itself must call this function before that, because hooks that are installed twice deadlock
 * at the first fork. */
CEN_API void cen_rcu_skip_fork_hooks(void);

#ifdef __cplusplus
}
#endif
#endif
