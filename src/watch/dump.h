/* SPDX-License-Identifier: MIT */
/* Finding events in bytes that nobody vouches for: a file of rings, or a core file. */
#ifndef CENI_WATCH_DUMP_H
#define CENI_WATCH_DUMP_H

#include <stddef.h>
#include <stdint.h>

#include <cenote/events.h>

/* Where the bytes come from. Reads up to `size` bytes from `at` on; *read is less only at the end. Errors end the search. */
typedef struct ceni_dump {
    void *argument;
    cen_status (*read)(void *argument, uint64_t at, void *bytes, size_t size, size_t *read);
} ceni_dump;

/* Calls show for all events in there, oldest first. Errors: ABSENT (there is no ring), NO_MEMORY, what read answers; nothing was
 * shown then. */
cen_status ceni_dump_show(const ceni_dump *dump, void (*show)(void *argument, const cen_event *event), void *argument);

#endif
