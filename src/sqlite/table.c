/* SPDX-License-Identifier: MIT */
/*
 * The table from an sqlite3 to its connection.
 *
 * SQLite cannot store a pointer for its user in a connection, so there is one table per process: 16 parts by the bits
 * of the address, each with a lock that is held for a few instructions and never during a call. Lookups of two holders
 * contend in 1 of 16 cases, for some nanoseconds.
 *
 * Fork. The handlers hold all parts during the fork, so that the child's copies are consistent. In the child the
 * entries become the list of what the parent had. It is only used to recognise these connections, and their memory and
 * descriptors stay.
 *     Why nothing is closed: SQLite's close might roll back, or write the log into the file and delete it, on behalf of
 *     the parent, which is still at work. Its mutexes may be held by threads that do not exist in the child.
 *     Why that is harmless: SQLite's locks are fcntl locks, which belong to a process. The child has none of them, so
 *     the copied descriptors block no process, and closing them at the child's end releases none of the parent's locks.
 *     They are closed on exec.
 *     Why the same file must not be opened again: SQLite notes for each file which locks the process has, and the notes
 *     were copied. A connection of the child would rely on the parent's lock and not take its own. Then the parent's
 *     last connection, which sees no other lock, deletes the log with everything that the child has committed.
 */
#include <sys/stat.h>

#include "sqlite/internal.h"

enum { PARTS = 16 };

static struct part {
    pthread_mutex_t lock;
    ceni_sqlite_connection *first;
} parts[PARTS];

/* Connections taken from holders that may still use them, until they are closed. They are listed so that a child
 * recognises them. Under the lock of the first part. */
static ceni_sqlite_connection *lost;

/* Written by the child's fork handler, before the child has threads, and only read after that. */
static ceni_sqlite_connection *inherited;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int refused;

static struct part *part_of(sqlite3 *db)
{
    return &parts[((uintptr_t)db >> 6 ^ (uintptr_t)db >> 12) % PARTS];
}

static void before_fork(void)
{
    for (int i = 0; i < PARTS; i++) pthread_mutex_lock(&parts[i].lock);
}

static void after_fork(void)
{
    for (int i = PARTS; i-- > 0;) pthread_mutex_unlock(&parts[i].lock);
}

static void inherit(ceni_sqlite_connection **list)
{
    while (*list) {
        ceni_sqlite_connection *connection = *list;
        *list = connection->next;
        connection->next = inherited;
        inherited = connection;
    }
}

static void in_child(void)
{
    for (int i = 0; i < PARTS; i++) inherit(&parts[i].first);
    inherit(&lost);
    after_fork();
}

static void begin(void)
{
    for (int i = 0; i < PARTS; i++) pthread_mutex_init(&parts[i].lock, NULL);
    refused = pthread_atfork(before_fork, after_fork, in_child);
}

cen_status ceni_sqlite_table_begin(void)
{
    pthread_once(&once, begin);
    return refused ? CEN_NO_MEMORY : CEN_OK;
}

void ceni_sqlite_table_put(ceni_sqlite_connection *connection)
{
    struct part *part = part_of(connection->db);
    pthread_mutex_lock(&part->lock);
    connection->next = part->first;
    part->first = connection;
    pthread_mutex_unlock(&part->lock);
}

void ceni_sqlite_table_remove(ceni_sqlite_connection *connection)
{
    struct part *part = part_of(connection->db);
    pthread_mutex_lock(&part->lock);
    ceni_sqlite_connection **link = &part->first;
    while (*link && *link != connection) link = &(*link)->next;
    if (*link) *link = connection->next;
    pthread_mutex_unlock(&part->lock);
}

void ceni_sqlite_table_lose(ceni_sqlite_connection *connection)
{
    ceni_sqlite_table_remove(connection);
    pthread_mutex_lock(&parts[0].lock);
    connection->next = lost;
    lost = connection;
    pthread_mutex_unlock(&parts[0].lock);
}

/* Under the lock of the first part. */
static void forget_lost(ceni_sqlite_connection *connection)
{
    ceni_sqlite_connection **link = &lost;
    while (*link && *link != connection) link = &(*link)->next;
    if (*link) *link = connection->next;
}

bool ceni_sqlite_table_disarmed(ceni_sqlite_connection *connection)
{
    pthread_mutex_lock(&parts[0].lock);
    connection->is_disarming = false;
    bool closes = connection->closes;
    if (closes) forget_lost(connection);
    pthread_mutex_unlock(&parts[0].lock);
    return closes;
}

static ceni_sqlite_connection *find_in(ceni_sqlite_connection *first, const sqlite3 *db)
{
    while (first && first->db != db) first = first->next;
    return first;
}

ceni_sqlite_connection *ceni_sqlite_table_find(sqlite3 *db)
{
    if (ceni_sqlite_table_begin() != CEN_OK) return NULL;
    struct part *part = part_of(db);
    pthread_mutex_lock(&part->lock);
    ceni_sqlite_connection *connection = find_in(part->first, db);
    pthread_mutex_unlock(&part->lock);
    return connection;
}

ceni_sqlite_connection *ceni_sqlite_table_regain(sqlite3 *db, bool *is_left)
{
    pthread_mutex_lock(&parts[0].lock);
    ceni_sqlite_connection *connection = find_in(lost, db);
    *is_left = connection && connection->is_disarming;
    if (*is_left) connection->closes = true;
    else if (connection) forget_lost(connection);
    pthread_mutex_unlock(&parts[0].lock);
    return *is_left ? NULL : connection;
}

bool ceni_sqlite_is_inherited(sqlite3 *db)
{
    return find_in(inherited, db) != NULL;
}

bool ceni_sqlite_was_open(const ceni_sqlite_base *base)
{
    if (!inherited) return false;
    struct stat now;
    bool there = *base->file && stat(base->file, &now) == 0;
    for (const ceni_sqlite_connection *connection = inherited; connection; connection = connection->next) {
        if (connection->inode == 0 ? connection->base_number == base->number
                                   : there && connection->device == now.st_dev && connection->inode == now.st_ino)
            return true;
    }
    return false;
}
