/* SPDX-License-Identifier: MIT */
/*
 * A map from a PGconn to what this driver knows of it. libpq has a mechanism for that (PQregisterEventProc), but it
 * costs two allocations and three calls per result, more than everything a pool adds to a query. So there is one map
 * for the process.
 *
 * It is a hash table with open addressing. A lookup takes no lock, and is only made for a connection that the caller
 * has: the entry was written before the caller got the connection, and is removed after it was given back. Hence, for
 * the key of a lookup:
 *   B1  The entry stays in its place until it is removed, and no place on the probe path to it is empty: a used place
 *       becomes REMOVED and may be used again, but is never empty again.
 *   B2  A table that would be more than half full is copied under the lock into one of twice the size, and replaced.
 *       The old one is never freed, because another thread may be reading it. All old tables together are smaller than
 *       the newest.
 *   B3  Removals do not lengthen the probe path to an entry: it took the first free place.
 * The fields are sequentially consistent atomics, which cost nothing for a lookup.
 *
 * fork: the lock is taken before it and released after it, so the child's map is consistent.
 */
#include <stdlib.h>

#include "pq/internal.h"

typedef struct place {
    _Atomic(const PGconn *) conn; /* NULL: never used */
    _Atomic(ceni_pq_link *) link;
} place;

typedef struct table {
    size_t mask;
    struct table *older; /* never read; keeps old tables reachable for leak checkers */
    place places[];
} table;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(table *) book;
static size_t entries; /* under the lock */

#define REMOVED ((const PGconn *)(uintptr_t)1)

static size_t start_of(const PGconn *conn)
{
    return (size_t)(((uintptr_t)conn >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 20);
}

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void hold_for_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

static place *place_of(table *self, const PGconn *conn)
{
    size_t start = start_of(conn);
    for (size_t i = 0; i <= self->mask; i++) {
        place *at = &self->places[(start + i) & self->mask];
        const PGconn *found = at->conn;
        if (found == conn) return at;
        if (!found) break;
    }
    return NULL;
}

ceni_pq_link *ceni_pq_book_find(const PGconn *conn)
{
    table *self = book;
    place *at = self && conn ? place_of(self, conn) : NULL;
    return at ? at->link : NULL;
}

static void put(table *self, ceni_pq_link *link)
{
    size_t i = start_of(link->conn);
    while (self->places[i & self->mask].conn && self->places[i & self->mask].conn != REMOVED) i++;
    place *at = &self->places[i & self->mask];
    at->link = link;
    at->conn = link->conn; /* from here on lookups find it */
}

/* Return a table with room for one more entry. */
static table *with_room(table *old)
{
    if (old && (entries + 1) * 2 <= old->mask + 1) return old;
    size_t size = old ? (old->mask + 1) * 2 : 64;
    table *new = calloc(1, sizeof *new + size * sizeof(place));
    if (!new) return NULL;
    new->mask = size - 1;
    new->older = old;
    for (size_t i = 0; old && i <= old->mask; i++)
        if (old->places[i].conn && old->places[i].conn != REMOVED) put(new, old->places[i].link);
    book = new;
    return new;
}

cen_status ceni_pq_book_add(ceni_pq_link *link)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, hold_for_forks);
    pthread_mutex_lock(&lock);
    table *self = with_room(book);
    if (self) {
        put(self, link);
        entries++;
    }
    pthread_mutex_unlock(&lock);
    return self ? CEN_OK : CEN_NO_MEMORY;
}

void ceni_pq_book_remove(const PGconn *conn)
{
    pthread_mutex_lock(&lock);
    table *self = book;
    place *at = self ? place_of(self, conn) : NULL;
    if (at) {
        at->link = NULL;
        at->conn = REMOVED;
        entries--;
    }
    pthread_mutex_unlock(&lock);
}
