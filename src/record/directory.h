/* SPDX-License-Identifier: MIT */
/*
 * The directory: the list of all live components of the process, with functions to read their metrics and descriptions.
 *
 * An owner joins an entry when its component is ready, and leaves before the component ends. Code that shows all
 * components walks through the directory and does not need to know their kinds.
 *
 *     pool->entry = (ceni_directory_entry){"pool", pool->name, pool_snapshot, pool};
 *     ceni_directory_join(ceni_directory_process(), &pool->entry);
 *     ...
 *     ceni_directory_leave(ceni_directory_process(), &pool->entry);
 *
 * An entry cannot be removed while it is visited: leave waits for running visits. A visitor may leave the entry that
 * it is visiting, and does not wait for itself. Two visitors that each leave the entry which the other is visiting
 * wait for each other forever. A visitor that leaves any entry except its own must rule that out.
 *
 * Threads: any thread may call any function. No lock is held while a visitor or a snapshot function runs, so both may
 * use the directory and everything else.
 * Fork: the child's process directory is empty. Leaving an entry that was joined before the fork does nothing.
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

/* The functions of a component beyond its metrics, as include/cenote/component.h describes them; each may be NULL. A
 * constant table, one per kind. They are called while the entry is visited, with no lock held, by several threads at
 * a time. */
typedef struct ceni_component_calls {
    bool (*histogram)(const void *object, size_t index, cen_histogram_header *timing, cen_histogram *out);
    void (*description)(const void *object, const cen_description_writer *description, size_t most);
    const char *const *actions; /* up to a NULL */
    cen_status (*tell)(void *object, const char *action, int64_t value,
                       cen_error *error); /* only actions of the list */
    const char *(*system)(const void *object);
} ceni_component_calls;

typedef struct ceni_directory_entry {
    /* set by the owner before join, and unchanged until leave has returned */
    const char *kind; /* "queue", "pool" */
    const char *name;
    /* Writes up to `room` metrics; returns the number of metrics of the object. */
    size_t (*snapshot)(const void *object, cen_metric *metrics, size_t room);
    const void *object;
    const ceni_component_calls *calls; /* NULL: only metrics */
    /* set by join */
    _Atomic uint64_t number; /* never used twice in a process; 0 in events that are written before join */
    uint64_t epoch;          /* of the process that joined it */
    /* under the directory's lock */
    ceni_list link;
} ceni_directory_entry;

typedef struct ceni_directory {
    ceni_mutex lock;
    /* under the lock */
    ceni_list entries; /* of ceni_directory_entry, in the order of joining */
    ceni_list visits;  /* running walks */
    uint64_t joined;   /* all entries ever joined */
    size_t count;
    size_t leavers; /* threads that wait in leave */
    /* written under the lock; a futex */
    _Atomic uint32_t turns; /* visits that ended while a thread waited in leave */
} ceni_directory;

/* Make an empty directory; mostly for tests. It needs no destruction. */
void ceni_directory_init(ceni_directory *directory);

/* The directory of this process. */
ceni_directory *ceni_directory_process(void);

/* A second directory, of components that the program has freed but whose memory stays until the last lent object has
 * been given back. These are not shown; the functions that give back look there. */
ceni_directory *ceni_directory_freed(void);

void ceni_directory_join(ceni_directory *directory, ceni_directory_entry *entry);

/* Remove the entry. When it returns no thread is visiting the entry, except the caller. Does nothing for an entry
 * that is in no directory (zeroed, or already removed). */
void ceni_directory_leave(ceni_directory *directory, ceni_directory_entry *entry);

/* Call `visit` for every entry, oldest first. An entry that is in the directory during the whole call is visited
 * once. One that joins or leaves meanwhile is visited once or not at all. */
void ceni_directory_each(ceni_directory *directory, void (*visit)(void *argument, ceni_directory_entry *entry),
                         void *argument);

size_t ceni_directory_count(ceni_directory *directory);

CENI_SPI_END

#endif
