/* SPDX-License-Identifier: MIT */
/* Finds events in untrusted bytes: a file of rings, or a core file. */
#ifndef CENI_WATCH_DUMP_H
#define CENI_WATCH_DUMP_H

#include <stddef.h>
#include <stdint.h>

#include <cenote/events.h>

/* The source of the bytes. `read` reads up to `size` bytes from offset `at`; *read is less than `size` only at the
 * end. An error ends the search. */
typedef struct ceni_dump {
    void *argument;
    cen_status (*read)(void *argument, uint64_t at, void *bytes, size_t size, size_t *read);
} ceni_dump;

/* Call show for all events found, oldest first. Returns ABSENT if there is no ring, NO_MEMORY, or the error of
 * `read`; then nothing was shown. */
cen_status ceni_dump_show(const ceni_dump *dump, void (*show)(void *argument, const cen_event *event), void *argument);

#endif
