/* SPDX-License-Identifier: MIT */
/*
 * SQLite: the user's file or, without one, a sample that is created here.
 *
 * The sample has ORDERS orders of CUSTOMERS customers with the same number each, so results can be checked: every row
 * belongs to the customer asked for, and all of them are returned. A write adds to the total of one order.
 *
 * The user's file is opened read-only unless there are writes: measuring changes no file, not even its journal mode.
 * With writes there are one writer and several readers, as in libcenote-sqlite.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cenote/sqlite.h>

#include "tool/stop.h"
#include "tool/target_kinds.h"

enum { ORDERS = 20000, CUSTOMERS = 2000, EACH = ORDERS / CUSTOMERS };

static const char usual_read[] =
    "select id, customer, status, total, note from orders where customer = ?1 % 2000 order by id";
static const char usual_write[] = "update orders set status = 'paid', total = total + 1 where id = ?1";
static const char usual_elsewhere[] = "select count(*) from sqlite_schema";

typedef struct lite {
    cen_sqlite_options options;
    char path[480];
    int mark; /* stop_mark before the sample's files were registered */
    bool is_sample, checks_read, checks_write;
} lite;

/* ---- The sample ------------------------------------------------------------------------------------------ */

/* Register everything that SQLite may create there, so that nothing is left behind. Signals are blocked meanwhile: a
 * directory that is created but not yet registered would stay if a second signal came in between. */
static cen_status make_place(lite *self, cen_error *error)
{
    static const char *const files[] = {"orders.db", "orders.db-journal", "orders.db-shm", "orders.db-wal"};
    const char *parent = getenv("TMPDIR");
    char directory[256], file[480];
    sigset_t all, before;
    if (!parent || !*parent) parent = "/tmp";
    if ((size_t)snprintf(directory, sizeof directory, "%s/cenote-XXXXXX", parent) >= sizeof directory)
        return target_say(error, CEN_SYSTEM, ENAMETOOLONG, "TMPDIR is too long: %.60s...", parent);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    bool made = mkdtemp(directory) != NULL, named = made && stop_remove_later(directory);
    int code = errno;
    for (size_t i = 0; named && i < sizeof files / sizeof *files; i++) {
        snprintf(file, sizeof file, "%s/%s", directory, files[i]);
        named = stop_remove_later(file);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    snprintf(self->path, sizeof self->path, "%s/orders.db", directory);
    if (named) return CEN_OK;
    if (made) rmdir(directory);
    return target_say(error, CEN_SYSTEM, code,
                      "The sample file could not be created in %.200s: %s. Set TMPDIR to use another directory.",
                      parent, made ? "too many files" : strerrordesc_np(code));
}

static int insert_orders(sqlite3 *db)
{
    static const char *const states[] = {"placed", "paid", "sent", "returned"};
    sqlite3_stmt *insert = NULL;
    int code = sqlite3_prepare_v2(db, "insert into orders values (?1, ?2, ?3, ?4, ?5, ?6)", -1, &insert, NULL);
    for (int i = 1; code == SQLITE_OK && i <= ORDERS; i++) {
        sqlite3_bind_int(insert, 1, i);
        sqlite3_bind_int(insert, 2, i % CUSTOMERS);
        sqlite3_bind_text(insert, 3, states[i % 4], -1, SQLITE_STATIC);
        sqlite3_bind_int(insert, 4, i * 37 % 10000);
        sqlite3_bind_int64(insert, 5, 1700000000 + (sqlite3_int64)i * 60);
        sqlite3_bind_text(insert, 6, "Please leave the parcel with the neighbours if no one is home.", -1,
                          SQLITE_STATIC);
        code = sqlite3_step(insert) == SQLITE_DONE ? sqlite3_reset(insert) : sqlite3_errcode(db);
    }
    sqlite3_finalize(insert);
    return code;
}

static cen_status fill(lite *self, cen_error *error)
{
    sqlite3 *db = NULL;
    int code = sqlite3_open_v2(self->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (code == SQLITE_OK)
        code =
            sqlite3_exec(db,
                         "pragma journal_mode = wal; pragma synchronous = off; begin;"
                         "create table orders (id integer primary key, customer integer not null, status text not null,"
                         " total integer not null, placed integer not null, note text not null);",
                         NULL, NULL, NULL);
    if (code == SQLITE_OK) code = insert_orders(db);
    if (code == SQLITE_OK)
        code =
            sqlite3_exec(db, "create index orders_by_customer on orders (customer); commit; analyze", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        target_say(error, CEN_SYSTEM, code, "The sample file %.200s could not be written: %s.", self->path,
                   sqlite3_errmsg(db));
    sqlite3_close(db);
    return code == SQLITE_OK ? CEN_OK : CEN_SYSTEM;
}

/* ---- Open ------------------------------------------------------------------------------------------------ */

static cen_status open_lite(target *self, cen_error *error)
{
    const char *path = strchr(self->settings.url, ':') + 1;
    lite *own = calloc(1, sizeof *own);
    cen_status status = CEN_OK;
    if (!own) return target_say(error, CEN_NO_MEMORY, 0, "Out of memory.");
    if (strncmp(path, "//", 2) == 0) path += 2;
    own->is_sample = *path == 0;
    own->mark = stop_mark();
    if (own->is_sample) {
        snprintf(self->shown, sizeof self->shown, "sqlite: (a sample of %d orders)", ORDERS);
        status = make_place(own, error);
        if (status == CEN_OK) status = fill(own, error);
    } else if ((size_t)snprintf(own->path, sizeof own->path, "%s", path) >= sizeof own->path) {
        status = target_say(error, CEN_INVALID, 0, "The path of the file is too long: %.60s...", path);
    } else if (self->settings.write_share > 0 && !self->settings.write) {
        status = target_say(error, CEN_INVALID, 0,
                            "--write-share needs --write for a file of your own: say what a write does.");
    }
    if (status != CEN_OK) {
        stop_remove_since(own->mark);
        free(own);
        return status;
    }
    own->checks_read = own->is_sample && !self->settings.query;
    own->checks_write = own->is_sample && !self->settings.write;
    if (!self->settings.query) self->settings.query = own->is_sample ? usual_read : usual_elsewhere;
    own->options = CEN_SQLITE_OPTIONS(.path = own->path, .must_exist = true,
                                      .read_only = !own->is_sample && self->settings.write_share <= 0);
    self->driver = cen_sqlite_with(&own->options);
    self->own = own;
    return CEN_OK;
}

static void close_lite(target *self)
{
    lite *own = self->own;
    if (own->is_sample) stop_remove_since(own->mark);
    free(own);
}

/* ---- Operate --------------------------------------------------------------------------------------------- */

static void bind(const target *self, const target_turn *turn, sqlite3_stmt *statement)
{
    int count = sqlite3_bind_parameter_count(statement);
    for (int i = 1; i <= count; i++)
        sqlite3_bind_int64(statement, i, (sqlite3_int64)target_draw(self, turn, (unsigned)i - 1));
}

/* Step through all rows. Returns SQLITE_DONE or an error code; *rows: their number; *strange: a row of another
 * customer. */
static int read_rows(sqlite3_stmt *statement, int64_t customer, int *rows, bool *strange)
{
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        ++*rows;
        for (int i = 0; i < sqlite3_column_count(statement); i++)
            if (sqlite3_column_type(statement, i) == SQLITE_TEXT) sqlite3_column_text(statement, i);
        if (customer >= 0 && sqlite3_column_int64(statement, 1) != customer) *strange = true;
    }
    return code;
}

static cen_status operate_lite(target *self, void *object, const target_turn *turn, cen_error *error)
{
    lite *own = self->own;
    sqlite3 *db = object;
    sqlite3_stmt *statement;
    bool checks = turn->writes ? own->checks_write : own->checks_read, strange = false;
    int rows = 0;
    int64_t customer = checks && !turn->writes ? (int64_t)target_draw(self, turn, 0) % CUSTOMERS : -1;
    const char *text = turn->writes ? self->settings.write : self->settings.query;
    cen_status status = cen_sqlite_prepare(db, text, &statement, error);
    if (status != CEN_OK) return status;
    bind(self, turn, statement);
    int code = read_rows(statement, customer, &rows, &strange);
    status = code == SQLITE_DONE ? CEN_OK : cen_sqlite_error_get(db, code, error);
    sqlite3_reset(statement);
    if (status != CEN_OK || !checks) return status;
    /* With keys beyond the sample a result may be empty, so nothing can be checked. */
    if (self->settings.keys > ORDERS) return CEN_OK;
    if (turn->writes ? sqlite3_changes(db) != 1 : rows != EACH || strange)
        return target_say(error, CEN_DRIVER, 0, "The result does not match the sample file: %d rows.", rows);
    return CEN_OK;
}

/* ---- One writer and its readers -------------------------------------------------------------------------- */

static cen_status new_pools(target *self, const cen_pool_options *options, target_pools *out, cen_error *error)
{
    lite *own = self->own;
    cen_sqlite_pool *pools;
    cen_sqlite_pool_options all =
        CEN_SQLITE_POOL_OPTIONS(.name = options->name, .path = own->path, .readers = options->max,
                                .database = &own->options, .pool = options);
    cen_status status = cen_sqlite_pool_new(&all, &pools, error);
    if (status != CEN_OK) return status;
    out->own = pools;
    out->pool = cen_sqlite_pool_readers(pools);
    out->writer = cen_sqlite_pool_writer(pools);
    return CEN_OK;
}

static void free_pools(target *self, target_pools *pools)
{
    (void)self;
    cen_sqlite_pool_close(pools->own, cen_in_s(5), NULL);
    cen_sqlite_pool_free(pools->own);
}

const target_kind target_sqlite = {
    .system = "sqlite",
    .schemes = "sqlite",
    .usual = usual_read,
    .usual_write = usual_write,
    .open = open_lite,
    .close = close_lite,
    .operate = operate_lite,
    .pools_new = new_pools,
    .pools_free = free_pools,
};
