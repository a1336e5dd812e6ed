/* SPDX-License-Identifier: MIT */
/*
 * The options of a driver, checked and copied for one pool; and the kind of database that a path names.
 */
#include <inttypes.h>
#include <unistd.h>

#include "sqlite/internal.h"

/* Return true if the URI has that parameter with that value. This check ignores percent encoding; SQLite parses the URI
 * again. */
static bool has_parameter(const char *uri, const char *pair)
{
    size_t length = strlen(pair);
    for (const char *at = strchr(uri, '?'); at; at = strchr(at + 1, '&')) {
        if (strncmp(at + 1, pair, length) == 0 && strchr("&#", at[1 + length]) != NULL) return true;
    }
    return false;
}

static ceni_sqlite_place place_of(const char *path)
{
    if (strcmp(path, ":memory:") == 0) return CENI_SQLITE_SHARED_MEMORY;
    if (strncmp(path, "file:", 5) != 0) return CENI_SQLITE_FILE;
    if (has_parameter(path, "vfs=memdb"))
        return path[5] == '/' ? CENI_SQLITE_SHARED_MEMORY : CENI_SQLITE_PRIVATE_MEMORY;
    size_t length = strcspn(path + 5, "?#");
    bool is_memory = has_parameter(path, "mode=memory") || (length == 8 && memcmp(path + 5, ":memory:", 8) == 0);
    if (!is_memory) return CENI_SQLITE_FILE;
    return has_parameter(path, "cache=shared") ? CENI_SQLITE_SHARED_MEMORY : CENI_SQLITE_PRIVATE_MEMORY;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Return the file name of a path or a URI; NULL: out of memory. */
static char *file_of(const char *path, ceni_sqlite_place place)
{
    if (place != CENI_SQLITE_FILE) return strdup("");
    if (strncmp(path, "file:", 5) != 0) return strdup(path);
    const char *from = path + 5;
    if (strncmp(from, "//", 2) == 0) from += 2 + strcspn(from + 2, "/?#"); /* an authority: empty or localhost */
    char *file = strndup(from, strcspn(from, "?#")), *to = file;
    for (const char *at = file; file && *at; at++) {
        int high = *at == '%' ? digit_of(at[1]) : -1, low = high >= 0 ? digit_of(at[2]) : -1;
        *to++ = low >= 0 ? (char)(high * 16 + low) : *at;
        if (low >= 0) at += 2;
    }
    if (file) *to = 0;
    return file;
}

/* Write a name that no other pool of this process has. Other processes have databases of their own anyway. */
static void name_memory(char *name, size_t room, uint64_t number)
{
    snprintf(name, room, "file:/cenote-%ld-%" PRIu64 "?vfs=memdb", (long)getpid(), number);
}

static cen_status check(const cen_sqlite_options *o, cen_error *error)
{
    if (!o->path || !*o->path) return ceni_sqlite_say(error, CEN_INVALID, "cen_sqlite_options.path is NULL or empty");
    if (cen_time_is_tiny(o->busy_timeout_ns))
        return ceni_sqlite_say(error, CEN_INVALID, "cen_sqlite_options.busy_timeout_ns " CEN_TIME_IS_TINY,
                               (long long)o->busy_timeout_ns);
    if (o->busy_timeout_ns < CEN_NONE)
        return ceni_sqlite_say(error, CEN_INVALID,
                               "cen_sqlite_options.busy_timeout_ns must not be below CEN_NONE (got %" PRId64 ")",
                               o->busy_timeout_ns);
    if (o->statements == CEN_OFF)
        return ceni_sqlite_say(
            error, CEN_INVALID,
            "cen_sqlite_options.statements must not be CEN_OFF (unlimited); use CEN_NONE to keep none");
    if (o->statements < CEN_NONE)
        return ceni_sqlite_say(error, CEN_INVALID,
                               "cen_sqlite_options.statements must not be below CEN_NONE (got %" PRId32 ")",
                               o->statements);
    if (o->max_pages < 0)
        return ceni_sqlite_say(error, CEN_INVALID,
                               "cen_sqlite_options.max_pages must not be negative (got %" PRId64 ")", o->max_pages);
    if ((unsigned)o->journal > CEN_SQLITE_ROLLBACK)
        return ceni_sqlite_say(error, CEN_INVALID, "cen_sqlite_options.journal is not a cen_sqlite_journal (got %d)",
                               (int)o->journal);
    if ((unsigned)o->synchronous > CEN_SQLITE_NO_SYNC)
        return ceni_sqlite_say(error, CEN_INVALID,
                               "cen_sqlite_options.synchronous is not a cen_sqlite_synchronous (got %d)",
                               (int)o->synchronous);
    if (!sqlite3_threadsafe())
        return ceni_sqlite_say(error, CEN_INVALID, "SQLite library built without thread support");
    return CEN_OK;
}

static bool copy(ceni_sqlite_base *base)
{
    cen_sqlite_options *o = &base->options;
    char name[100];
    name_memory(name, sizeof name, base->number);
    base->path = strdup(o->path);
    base->name = strdup(strcmp(o->path, ":memory:") == 0 ? name : o->path);
    base->file = file_of(o->path, base->place);
    bool whole = base->path && base->name && base->file;
    const char *setup = o->setup, *vfs = o->vfs;
    o->path = base->path;
    o->setup = setup ? strdup(setup) : NULL;
    o->vfs = vfs ? strdup(vfs) : NULL;
    return whole && !o->setup == !setup && !o->vfs == !vfs;
}

cen_status ceni_sqlite_base_new(const cen_sqlite_options *options, ceni_sqlite_base **out, cen_error *error)
{
    cen_sqlite_options o;
    cen_status status = cen_sized_read(&o, sizeof o, options, "cen_sqlite_with: options", error);
    if (status == CEN_OK) status = check(&o, error);
    if (status != CEN_OK) return status;
    if (ceni_sqlite_table_begin() != CEN_OK)
        return ceni_sqlite_say(error, CEN_NO_MEMORY, "cen_sqlite_options: out of memory");
    if (o.busy_timeout_ns == 0) o.busy_timeout_ns = 5 * INT64_C(1000000000);
    if (o.busy_timeout_ns == CEN_OFF) o.busy_timeout_ns = INT64_MAX;
    if (o.statements == 0) o.statements = 64;

    ceni_sqlite_base *base = calloc(1, sizeof *base);
    if (!base) return ceni_sqlite_say(error, CEN_NO_MEMORY, "SQLite at \"%s\": out of memory", o.path);
    static atomic_uint_least64_t numbers;
    base->number = atomic_fetch_add(&numbers, 1) + 1;
    base->process = getpid();
    base->options = o;
    base->place = place_of(o.path);
    bool is_ours = strcmp(o.path, ":memory:") == 0;
    if (!copy(base)) {
        ceni_sqlite_base_free(base);
        return ceni_sqlite_say(error, CEN_NO_MEMORY, "cen_sqlite_options: out of memory");
    }
    int code = is_ours ? sqlite3_open_v2(base->name, &base->anchor,
                                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL)
                       : SQLITE_OK;
    if (code != SQLITE_OK) {
        status = ceni_sqlite_failed(base->path, base->anchor, code, error);
        ceni_sqlite_base_free(base);
        return status;
    }
    *out = base;
    return CEN_OK;
}

void ceni_sqlite_base_free(ceni_sqlite_base *base)
{
    if (base->process == getpid()) sqlite3_close(base->anchor);
    free((void *)(uintptr_t)base->options.setup);
    free((void *)(uintptr_t)base->options.vfs);
    free(base->path);
    free(base->name);
    free(base->file);
    free(base);
}
