/* SPDX-License-Identifier: MIT */
/*
 * One writer and several readers: two pools over one database.
 */
#include <unistd.h>

#include "sqlite/internal.h"

struct cen_sqlite_pool {
    cen_pool *writer, *readers;
    sqlite3 *anchor; /* keeps a database in memory alive; both pools use its URI */
    pid_t process;   /* the process that the anchor belongs to */
};

enum { READERS = 4 };

/* Copy the caller's options; fields that it does not know are 0. */
static cen_status read_options(const cen_sqlite_pool_options *given, cen_sqlite_pool_options *o,
                               cen_sqlite_options *database, cen_pool_options *pool, cen_error *error)
{
    *database = CEN_SIZED(cen_sqlite_options);
    *pool = CEN_SIZED(cen_pool_options);
    cen_status status = cen_sized_read(o, sizeof *o, given, "cen_sqlite_pool_new: options", error);
    if (status == CEN_OK && o->database)
        status =
            cen_sized_read(database, sizeof *database, o->database, "cen_sqlite_pool_new: options.database", error);
    if (status == CEN_OK && o->pool)
        status = cen_sized_read(pool, sizeof *pool, o->pool, "cen_sqlite_pool_new: options.pool", error);
    if (status != CEN_OK) return status;
    if (o->path) database->path = o->path;
    if (database->read_only)
        return ceni_sqlite_say(error, CEN_INVALID, "cen_sqlite_pool_new: options.database->read_only must be false");
    if (o->readers == 0) o->readers = READERS;
    return CEN_OK;
}

/* Create a database in memory shared by the two pools: two drivers alone would have two databases. */
static cen_status anchor(cen_sqlite_pool *self, cen_sqlite_options *database, char *name, size_t room, cen_error *error)
{
    if (!database->path || strcmp(database->path, ":memory:") != 0) return CEN_OK;
    snprintf(name, room, "file:/cenote-pool-%p?vfs=memdb", (void *)self);
    database->path = name;
    int code = sqlite3_open_v2(name, &self->anchor, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL);
    return ceni_sqlite_failed(":memory:", self->anchor, code, error);
}

static cen_status make(const cen_pool_options *common, const char *name, const char *part,
                       const cen_sqlite_options *database, uint32_t max, cen_pool **out, cen_error *error)
{
    cen_pool_options options = *common;
    char whole[64];
    snprintf(whole, sizeof whole, "%.20s-%s", name ? name : "sqlite", part);
    options.name = whole;
    options.driver = cen_sqlite_with(database);
    options.max = max;
    options.eager = !database->read_only;
    return cen_pool_new(&options, out, error);
}

cen_status cen_sqlite_pool_new(const cen_sqlite_pool_options *given, cen_sqlite_pool **out, cen_error *error)
{
    cen_sqlite_pool_options o = {0};
    cen_sqlite_options database = {0};
    cen_pool_options common = {0};
    char name[100];
    if (!out) return ceni_sqlite_say(error, CEN_INVALID, "cen_sqlite_pool_new: out is NULL");
    cen_status status = read_options(given, &o, &database, &common, error);
    if (status != CEN_OK) return status;
    cen_sqlite_pool *self = calloc(1, sizeof *self);
    if (!self) return ceni_sqlite_say(error, CEN_NO_MEMORY, "cen_sqlite_pool_new: out of memory");
    self->process = getpid();

    status = anchor(self, &database, name, sizeof name, error);
    if (status != CEN_OK) goto undo_self;
    /* The writer creates the file and its log: readers cannot. */
    status = make(&common, o.name, "writer", &database, 1, &self->writer, error);
    if (status != CEN_OK) goto undo_self;
    database.read_only = true;
    status = make(&common, o.name, "readers", &database, o.readers, &self->readers, error);
    if (status != CEN_OK) goto undo_writer;
    *out = self;
    return CEN_OK;

undo_writer:
    cen_pool_free(self->writer);
undo_self:
    sqlite3_close(self->anchor);
    free(self);
    return status;
}

cen_pool *cen_sqlite_pool_writer(const cen_sqlite_pool *pool)
{
    return pool ? pool->writer : NULL;
}

cen_pool *cen_sqlite_pool_readers(const cen_sqlite_pool *pool)
{
    return pool ? pool->readers : NULL;
}

cen_status cen_sqlite_pool_stats_get(const cen_sqlite_pool *pool, cen_pool_stats *writer, cen_pool_stats *readers)
{
    if (!pool) return CEN_INVALID;
    cen_status status = writer ? cen_pool_stats_get(pool->writer, writer) : CEN_OK;
    return status == CEN_OK && readers ? cen_pool_stats_get(pool->readers, readers) : status;
}

cen_status cen_sqlite_pool_close(cen_sqlite_pool *pool, cen_deadline deadline, cen_error *error)
{
    cen_error second;
    if (!pool) return ceni_sqlite_say(error, CEN_INVALID, "cen_sqlite_pool_close: pool is NULL");
    deadline = cen_deadline_fix(deadline);
    cen_status readers = cen_pool_close(pool->readers, deadline, NULL, error);
    cen_status writer = cen_pool_close(pool->writer, deadline, NULL, &second);
    if (readers != CEN_OK) return readers;
    if (writer != CEN_OK && error) *error = second;
    return writer;
}

cen_status cen_sqlite_pool_free(cen_sqlite_pool *pool)
{
    if (!pool) return CEN_OK;
    cen_status status = cen_pool_free(pool->readers);
    if (status != CEN_OK) return status;
    pool->readers = NULL;
    status = cen_pool_free(pool->writer);
    if (status != CEN_OK) return status;
    if (pool->process == getpid()) sqlite3_close(pool->anchor);
    free(pool);
    return CEN_OK;
}
