/* SPDX-License-Identifier: MIT */
/*
 * Persisting events: the rings move into a mapped file.
 *
 * The file is created under a temporary name, gets two empty rings and then its final name. Only then do the rings
 * move into it. A failure in any step before that leaves nothing behind, and after it nothing can fail. The file is
 * never unmapped, because writers of events hold no reference to it.
 */
#include <errno.h>

#include <cenote/events.h>

#include "base/error.h"
#include "base/statics.h"
#include "port/mutex.h"
#include "port/port.h"
#include "record/events.h"
#include "record/owned.h"

static CENI_STATIC struct {
    ceni_owned owned;
    ceni_mutex lock; /* rank EVENTS */
    /* under the lock */
    bool kept;
} keeping;

static void fresh_keeping(void)
{
    if (!ceni_owned_begin(&keeping.owned)) return;
    keeping.lock = (ceni_mutex){0};
    keeping.kept = false;
    ceni_owned_ready(&keeping.owned);
}

static cen_status keep_locked(const char *path, const char *old, int *code)
{
    ceni_shared_file file;
    cen_status status = ceni_shared_file_make(&file, path, ceni_events_size(), code);
    if (status != CEN_OK) return status;
    ceni_events_lay(file.memory);
    status = ceni_shared_file_name(&file, path, old, code);
    if (status != CEN_OK) {
        ceni_shared_file_discard(&file);
        return status;
    }
    ceni_events_move(file.memory);
    keeping.kept = true;
    return CEN_OK;
}

cen_status cen_events_persist(const char *path, cen_error *error)
{
    char old[3968]; /* shorter than the longest path: the file's temporary name is longer */
    if (!path || !path[0]) return ceni_error_set(error, CEN_INVALID, 0, "cen_events_persist: path is NULL or empty");
    int length = snprintf(old, sizeof old, "%s.old", path);
    if (length < 0 || (size_t)length >= sizeof old)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_events_persist: path is too long (%d bytes)", length - 4);
    if (ceni_file_is_special(path))
        return ceni_error_set(error, CEN_INVALID, 0, "cen_events_persist: %s exists and is not a regular file", path);
    fresh_keeping();
    int code = 0;
    ceni_mutex_lock(&keeping.lock, CENI_RANK_EVENTS);
    cen_status status = keeping.kept ? CEN_EXISTS : keep_locked(path, old, &code);
    ceni_mutex_unlock(&keeping.lock, CENI_RANK_EVENTS);
    if (status == CEN_OK) return CEN_OK;
    if (status == CEN_EXISTS)
        return ceni_error_set(error, status, 0, "cen_events_persist: this process already has an event file");
    errno = code;
    return ceni_error_set(error, status, code, "cen_events_persist: cannot create %s: %m", path);
}
