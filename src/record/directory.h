/* SPDX-License-Identifier: MIT */
/*
 * The directory: every live component of the process, and how to ask it for its
 * numbers.
 *
 * An owner joins an entry when its component is ready and leaves before the component
 * ends. Whoever wants to show them all walks through the directory, and needs
 * to know none of the kinds.
 *
 *     pool->entry = (ceni_directory_entry){"pool", pool->name, pool_snapshot, pool};
 *     ceni_directory_join(ceni_directory_process(), &pool->entry);
 *     ...
 *     ceni_directory_leave(ceni_directory_process(), &pool->entry);
 *
 * An entry cannot vanish while it is being visited: leave waits for the visits
 * that are going on. A visitor may leave the entry that it is visiting, and
 * does not wait for itself. Two visitors that each leave what the other is
 * visiting wait for each other forever; a visitor that leaves anything else
 * than its own entry must rule that out.
 *
 * Threads: everything from any thread. No lock is held while a visitor or a
 * snapshot function runs, so both may use the directory and all else.
 * Fork: the child's process directory is empty, and leaving an entry that was
 * joined before the fork does nothing.
 */
#ifndef CENI_RECORD_DIRECTORY_H
#define CENI_RECORD_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>

#include <cenote/component.h>

#include "base/list.h"
#include "base/spi.h"
#include "port/mutex.h"

CENI_SPI_BEGIN

/* What a component may tell of itself beyond its numbers, as include/cenote/component.h says; each may be NULL. A table of
 * the room's, constant. Called while the entry is visited, with no lock held, by several threads at a time. */
typedef struct ceni_component_calls {
    bool (*histogram)(const void *object, size_t index, cen_histogram_header *timing, cen_histogram *out);
    void (*description)(const void *object, const cen_description_writer *description, size_t most);
    const char *const *actions; /* up to a NULL */
    cen_status (*tell)(void *object, const char *action, int64_t value,
                       cen_error *error); /* only actions of the list */
    const char *(*system)(const void *object);
} ceni_component_calls;

typedef struct ceni_directory_entry {
    /* set by the owner before it joins, and unchanged until it has left */
    const char *kind; /* "queue", "pool" */
    const char *name;
    /* Writes up to `room` metrics and returns how many the object has. */
    size_t (*snapshot)(const void *object, cen_metric *metrics, size_t room);
    const void *object;
    const ceni_component_calls *calls; /* NULL: it has nothing but metrics */
    /* set by join */
    _Atomic uint64_t number; /* no two entries of a process have or had the same; 0 in events that is told before */
    uint64_t epoch;          /* of the process that joined it */
    /* under the directory's lock */
    ceni_list link;
} ceni_directory_entry;

typedef struct ceni_directory {
    ceni_mutex lock;
    /* under the lock */
    ceni_list entries; /* of ceni_directory_entry, in the order of joining */
    ceni_list visits;  /* going on now */
    uint64_t joined;   /* entries ever */
    size_t count;
    size_t leavers; /* threads that wait in leave */
    /* written under the lock; a futex */
    _Atomic uint32_t turns; /* visits that ended while somebody was leaving */
} ceni_directory;

/* Makes an empty directory; for tests, mostly. It needs no end. */
void ceni_directory_init(ceni_directory *directory);

/* The one directory of this process. */
ceni_directory *ceni_directory_process(void);

/* And one of what the program has freed, but whose memory stays until the last
 * that is out has come back: not to be shown, only for those who bring it. */
ceni_directory *ceni_directory_freed(void);

void ceni_directory_join(ceni_directory *directory, ceni_directory_entry *entry);

/* Takes the entry out; when it returns nobody is visiting it, except the
 * caller. An entry that is in no directory (zeroed, or left before) is left alone. */
void ceni_directory_leave(ceni_directory *directory, ceni_directory_entry *entry);

/* Calls `visit` for every entry, oldest first. An entry that is there from the
 * beginning to the end of the call is visited once; one that joins or leaves
 * meanwhile is visited once or not at all. */
void ceni_directory_each(ceni_directory *directory, void (*visit)(void *argument, ceni_directory_entry *entry),
                         void *argument);

size_t ceni_directory_count(ceni_directory *directory);

CENI_SPI_END

#endif
