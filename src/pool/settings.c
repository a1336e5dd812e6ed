/* SPDX-License-Identifier: MIT */
/*
 * Options: checking them, filling in defaults, reading and changing them while the pool is in use.
 *
 * pool->options has the current options, under the lock. A setting that is read without the lock has an atomic copy,
 * which apply updates: the ranges of the quick paths, the bound of barging, the default deadline, exact times, and so
 * on.
 *
 * A fork may happen while another thread changes pool->options. The child cannot wait for that thread, and
 * pool->options may have fields of both sets. So each change is also written to one of two copies, the one that the
 * index does not name, and then the index changes [G1]. The child reads the copy that the index names: the old set or
 * the new one, never a mix.
 *
 * Order table
 * [G1] keep | store of kept_at | release | G2 | the copy that it names | a forked child reads a copy that is half written
 * [G2] kept | load of kept_at  | acquire | G1 | the same | the same
 */
#include "base/error.h"
#include "base/plant.h"
#include "pool/internal.h"
#include "port/deadline.h"
#include "port/port.h"
#include "sync/future.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define MINUTE (60 * SECOND)

enum {
    MOST_AT_A_TIME = 64,
};

/* ---- Checking --------------------------------------------------------------------------- */

typedef struct report {
    const char *call;
    cen_error *error;
    cen_status status;
} report;

/* Only the first error is kept. */
static void complain(report *r, const char *field, long long value, const char *what)
{
    if (r->status != CEN_OK) return;
    r->status = ceni_error_set(r->error, CEN_INVALID, 0, "%s: options.%s %s (got %lld)", r->call, field, what, value);
}

/* A time or number with a default, which may be CEN_OFF. */
static void time_or(report *r, const char *field, int64_t *value, int64_t normal)
{
    if (*value == 0) *value = normal;
    else if (*value == CEN_NONE) complain(r, field, *value, "must not be CEN_NONE; CEN_OFF means no limit");
    else if (*value < CEN_OFF) complain(r, field, *value, "must be positive, 0 for the default, or CEN_OFF");
}

/* A time of seconds or more: a tiny value was probably meant in another unit. */
static void long_or(report *r, const char *field, int64_t *value, int64_t normal)
{
    if (!cen_time_is_tiny(*value)) time_or(r, field, value, normal);
    else if (r->status == CEN_OK)
        r->status = ceni_error_set(r->error, CEN_INVALID, 0, "%s: options.%s " CEN_TIME_IS_TINY, r->call, field,
                                   (long long)*value);
}

/* The bound of barging: without one a waiter could starve. */
static void overtaking_or(report *r, int64_t *value, int64_t normal)
{
    if (*value == 0) *value = normal;
    else if (*value == CEN_OFF) complain(r, "max_barging_ns", *value, "must not be CEN_OFF; CEN_NONE disables barging");
    else if (*value < CEN_NONE)
        complain(r, "max_barging_ns", *value, "must be positive, 0 for the default, or CEN_NONE");
}

static void count_or(report *r, const char *field, uint32_t *value, uint32_t normal, uint32_t least, uint32_t most)
{
    char range[40];
    snprintf(range, sizeof range, "must be %u to %u", least, most);
    if (*value == 0) *value = normal;
    else if (*value < least || *value > most) complain(r, field, *value, range);
}

static void limit_or(report *r, const char *field, int32_t *value, int32_t normal)
{
    if (*value == 0) *value = normal;
    else if (*value == CEN_NONE) complain(r, field, *value, "must not be CEN_NONE; CEN_OFF means never");
    else if (*value < CEN_OFF) complain(r, field, *value, "must be positive, 0 for the default, or CEN_OFF");
}

/* A number that may also be CEN_OFF or CEN_NONE. */
static void number_or(report *r, const char *field, int32_t *value, int32_t normal)
{
    if (*value == 0) *value = normal;
    else if (*value < CEN_NONE) complain(r, field, *value, "must be positive, 0 for the default, CEN_OFF or CEN_NONE");
}

static void choice(report *r, const char *field, int value, int most)
{
    if (value < 0 || value > most) complain(r, field, value, "must be a value of its enum");
}

static void fill_opening(report *r, cen_pool_options *o, bool blocks)
{
    count_or(r, "max_concurrent_opens", &o->max_concurrent_opens, 2, 1, MOST_AT_A_TIME);
    long_or(r, "open_timeout_ns", &o->open_timeout_ns, 10 * SECOND);
    bool asked = o->backoff_max_ns != 0;
    time_or(r, "backoff_max_ns", &o->backoff_max_ns, 2 * SECOND);
    int64_t initial = o->backoff_max_ns > 0 && o->backoff_max_ns < 50 * MS ? o->backoff_max_ns : 50 * MS;
    time_or(r, "backoff_initial_ns", &o->backoff_initial_ns, blocks || asked ? initial : CEN_OFF);
    if (o->backoff_max_ns == CEN_OFF)
        complain(r, "backoff_max_ns", o->backoff_max_ns, "must not be CEN_OFF; only backoff_initial_ns may be off");
    if (asked && o->backoff_initial_ns > o->backoff_max_ns)
        complain(r, "backoff_initial_ns", o->backoff_initial_ns, "must not exceed backoff_max_ns");
    if (o->backoff_initial_ns > o->backoff_max_ns) o->backoff_max_ns = o->backoff_initial_ns;
    limit_or(r, "breaker_failures", &o->breaker_failures, 5);
    time_or(r, "breaker_wait_ns", &o->breaker_wait_ns, 5 * SECOND);
}

static void fill_life(report *r, cen_pool_options *o, bool blocks)
{
    if (o->min_idle > o->max) complain(r, "min_idle", o->min_idle, "must not exceed max");
    number_or(r, "max_idle", &o->max_idle, CEN_OFF);
    if (o->min_idle > ceni_settings_number(o->max_idle))
        complain(r, "min_idle", o->min_idle, "must not exceed max_idle");
    long_or(r, "idle_timeout_ns", &o->idle_timeout_ns, blocks ? 10 * MINUTE : CEN_OFF);
    long_or(r, "max_lifetime_ns", &o->max_lifetime_ns, blocks ? 30 * MINUTE : CEN_OFF);
    count_or(r, "lifetime_jitter", &o->lifetime_jitter, 10, 1, CEN_NO_JITTER);
    time_or(r, "max_uses", &o->max_uses, CEN_OFF);
    long_or(r, "test_after_idle_ns", &o->test_after_idle_ns, SECOND);
    long_or(r, "test_interval_ns", &o->test_interval_ns, 30 * SECOND);
    long_or(r, "test_timeout_ns", &o->test_timeout_ns, 5 * SECOND);
    count_or(r, "max_concurrent_tests", &o->max_concurrent_tests, 2, 1, MOST_AT_A_TIME);
}

static void fill_holders(report *r, cen_pool_options *o)
{
    long_or(r, "leak_after_ns", &o->leak_after_ns, CEN_OFF);
    choice(r, "on_leak", (int)o->on_leak, CEN_LEAK_RECLAIM);
    long_or(r, "max_hold_ns", &o->max_hold_ns, CEN_OFF);
    choice(r, "on_max_hold", (int)o->on_max_hold, CEN_HOLD_RECLAIM);
    choice(r, "on_holder_end", (int)o->on_holder_end, CEN_HOLDER_END_REUSE);
    number_or(r, "max_waiters", &o->max_waiters, CEN_OFF);
    choice(r, "on_self_wait", (int)o->on_self_wait, CEN_SELF_WAIT_FAIL);
    choice(r, "on_fork", (int)o->on_fork, CEN_FORK_RENEW);
}

/* A time that is added to moments, and cannot be CEN_OFF. */
static void term_or(report *r, const char *field, int64_t *value, int64_t normal)
{
    if (*value == 0) *value = normal;
    else if (*value < 0 || *value > CENI_FOREVER / 4)
        complain(r, field, *value, "must be a positive time and cannot be off");
}

static void fill_overload(report *r, cen_pool_options *o)
{
    term_or(r, "aging_ns", &o->aging_ns, 100 * MS);
    time_or(r, "shed_target_ns", &o->shed_target_ns, CEN_OFF);
    term_or(r, "shed_interval_ns", &o->shed_interval_ns, 100 * MS);
}

static void fill(report *r, cen_pool_options *o, const cen_driver_calls *calls)
{
    count_or(r, "max", &o->max, 10, 1, CEN_POOL_MAX);
    if ((unsigned)o->order > CEN_ORDER_FIFO) complain(r, "order", (long long)o->order, "must be a cen_order");
    o->default_deadline = ceni_deadline_or(o->default_deadline, cen_in_s(30));
    overtaking_or(r, &o->max_barging_ns, MS);
    bool helped = ceni_calls_are_helped(calls);
    fill_opening(r, o, helped);
    fill_life(r, o, helped);
    fill_holders(r, o);
    fill_overload(r, o);
    if (!o->name) o->name = "pool";
    o->exact_times = o->exact_times || o->trace_takes;
}

static cen_status refuse(const char *call, cen_error *error, const char *what)
{
    return ceni_error_set(error, CEN_INVALID, 0, "%s: %s", call, what);
}

/* Read the caller's structs: a caller that was compiled with an older header has fewer fields. */
static cen_status copy_known(const cen_pool_options *given, cen_pool_options *filled, cen_driver_calls *calls,
                             const char *call, cen_error *error)
{
    char what[64];
    snprintf(what, sizeof what, "%s: options", call);
    cen_status status = cen_sized_read(filled, sizeof *filled, given, what, error);
    if (status != CEN_OK) return status;
    *calls = CEN_SIZED(cen_driver_calls);
    if (!filled->driver.calls) return CEN_OK;
    size_t size;
    memcpy(&size, filled->driver.calls, sizeof size);
    if (size == 0)
        return refuse(call, error,
                      "options.driver.calls.size is 0; write .size = sizeof(cen_driver_calls) in the table");
    snprintf(what, sizeof what, "%s: options.driver.calls", call);
    return cen_sized_read(calls, sizeof *calls, filled->driver.calls, what, error);
}

/* Check for a missing open or close: left out by mistake, takes find no objects, or objects leak. A program of a
 * version that could not declare that it is on purpose is accepted. */
static const char *lacks(const cen_driver_calls *given, const cen_driver_calls *calls)
{
    size_t whole = given->size - given->size % sizeof(void *); /* without a field that the size cuts */
    if (whole < offsetof(cen_driver_calls, closes_nothing) + sizeof calls->closes_nothing) return NULL;
    if (!calls->open && !calls->open_async && !calls->opens_nothing)
        return "options.driver has no open; set .open, or .opens_nothing if all objects are adopted";
    if (!calls->close && !calls->close_async && !calls->closes_nothing)
        return "options.driver has no close; set .close, or .closes_nothing if objects need no close";
    return NULL;
}

cen_status ceni_settings_check(const cen_pool_options *given, cen_pool_options *filled, cen_driver_calls *calls,
                               const char *call, cen_error *error)
{
    cen_status status = copy_known(given, filled, calls, call, error);
    if (status != CEN_OK) return status;
    const char *lacking = filled->driver.calls ? lacks(filled->driver.calls, calls) : NULL;
    if (lacking) return refuse(call, error, lacking);
    if (filled->eager && calls->open_async)
        return refuse(call, error,
                      "options.eager needs a driver with open; options.driver has open_async; use min_idle");
    if (filled->eager && !calls->open) return refuse(call, error, "options.eager needs options.driver with an open");
    if (filled->min_idle > 0 && !calls->open && !calls->open_async)
        return refuse(call, error, "options.min_idle needs options.driver with an open");
    if (filled->allocator && (!filled->allocator->alloc || !filled->allocator->free))
        return refuse(call, error, "options.allocator lacks alloc or free");
    if (calls->blocks && filled->runtime && ceni_runtime_is_manual(filled->runtime))
        return refuse(call, error, "options.driver may block; a manual runtime has no threads for it");
    report r = {.call = call, .error = error, .status = CEN_OK};
    fill(&r, filled, calls);
    return r.status;
}

/* ---- Applying ------------------------------------------------------------------------------ */

void ceni_settings_apply_locked(cen_pool *pool)
{
    const cen_pool_options *o = &pool->options;
    bool exact = o->order != CEN_ORDER_WARM;
    bool gives = !exact && !o->exact_times && o->max_uses == CEN_OFF, checks = pool->calls.check;
    bool takes = !exact && !o->exact_times && !o->backtraces;
    ceni_setting_put(&pool->exact_order, exact);
    ceni_setting_put(&pool->quick_give, gives && !checks ? pool->base_count : 0);
    ceni_setting_put(&pool->quick_check, gives && checks && pool->calls.check_only_reads ? pool->base_count : 0);
    ceni_setting_put(&pool->quick_take, takes ? pool->base_count << CENI_SLOT_SHIFT : 0);
    ceni_setting_put(&pool->exact_times, o->exact_times);
    ceni_setting_put(&pool->trace_takes, o->trace_takes);
    bool strict = o->max_barging_ns == CEN_NONE;
    int64_t max_barging_ns = strict ? 0 : o->max_barging_ns;
    ceni_setting_put(&pool->strict, strict);
    ceni_setting_put(&pool->by_line, pool->paused || strict);
    ceni_setting_put(&pool->max_barging_ns, max_barging_ns);
    ceni_setting_put(&pool->default_deadline, o->default_deadline.ns_);
    ceni_setting_put(&pool->max_uses, o->max_uses);
    ceni_setting_put(&pool->fails_self_wait, o->on_self_wait == CEN_SELF_WAIT_FAIL);
    ceni_waiters_pace(pool->waiters, max_barging_ns, o->max);
}

void ceni_settings_keep_locked(cen_pool *pool)
{
    uint32_t whole = ceni_load_relaxed(&pool->kept_at); /* written under this lock; carries nothing */
    uint32_t other = ceni_planted(options_kept_in_place) ? whole : 1 - whole;
    pool->kept[other] = pool->options;
    ceni_store_release(&pool->kept_at, other); /* [G1] */
}

const cen_pool_options *ceni_settings_kept(cen_pool *pool)
{
    return &pool->kept[ceni_load_acquire(&pool->kept_at)]; /* [G2] */
}

cen_status cen_pool_options_get(cen_pool *pool, cen_pool_options *out)
{
    cen_status status = ceni_pool_check(pool, "cen_pool_options_get", NULL);
    if (status == CEN_OK) status = cen_sized_check(out, sizeof *out, "cen_pool_options_get: out", NULL);
    if (status != CEN_OK) return status;
    ceni_waiters_lock(pool->waiters);
    cen_pool_options now = pool->options;
    ceni_waiters_unlock(pool->waiters);
    cen_sized_write(out, &now, sizeof now);
    return CEN_OK;
}

/* The name of a fixed option that differs, or NULL. Reads only fields that never change, not pool->options. */
static const char *fixed_that_differs(const cen_pool *pool, const cen_pool_options *o)
{
    if (o->driver.calls != pool->driver.calls || o->driver.argument != pool->described) return "driver";
    if (o->runtime != pool->asked) return "runtime";
    if (o->allocator != pool->allocator) return "allocator";
    if (o->on_fork != pool->on_fork) return "on_fork";
    if (o->backtraces != pool->extras.traces) return "backtraces";
    return strncmp(o->name, pool->name, CENI_POOL_NAME - 1) != 0 ? "name" : NULL;
}

void ceni_settings_take_locked(cen_pool *pool, const cen_pool_options *o)
{
    ceni_waiters *waiters = pool->waiters;
    uint32_t max = pool->options.max;
    bool eager = pool->options.eager, reorders = pool->options.order != o->order;
    if (pool->options.exact_times != o->exact_times) ceni_use_begins_anew(pool);
    pool->options = *o;
    pool->options.name = pool->name;
    pool->options.max = max;
    pool->options.eager = eager;
    ceni_settings_apply_locked(pool);
    if (o->shed_target_ns == CEN_OFF) ceni_shedding_stop_locked(pool);
    if (reorders) ceni_idle_reorder_locked(pool);
    bool waited_for = ceni_load_relaxed(&waiters->ctl) >= CENI_CTL_ONE; /* written under this lock; carries nothing */
    bool first = pool->paused || (ceni_pool_has(&pool->strict) && waited_for);
    ceni_waiters_mark_locked(waiters, CENI_CTL_FIRST, first ? CENI_CTL_FIRST : 0);
    if (o->backoff_initial_ns == CEN_OFF) ceni_opening_pass_time_locked(pool, CENI_FOREVER);
    ceni_places_counted_locked(pool);
    pool->next_round = 0; /* so that tighter limits take effect */
}

/* The caller's options, completed with the current values of fields that the caller does not know: a program of an
 * older version that gets, changes and sets options leaves those unchanged. */
static cen_status complete(cen_pool *pool, const cen_pool_options *given, cen_pool_options *whole, cen_error *error)
{
    cen_pool_options known;
    cen_status status = cen_sized_read(&known, sizeof known, given, "cen_pool_options_set: options", error);
    if (status != CEN_OK) return status;
    size_t size = given->size < sizeof known ? given->size - given->size % sizeof(void *) : sizeof known;
    ceni_waiters_lock(pool->waiters);
    *whole = pool->options;
    ceni_waiters_unlock(pool->waiters);
    memcpy(whole, &known, size);
    return CEN_OK;
}

cen_status cen_pool_options_set(cen_pool *pool, const cen_pool_options *options, cen_error *error)
{
    CENI_INLINE_AT_END;
    cen_status status = ceni_pool_check(pool, "cen_pool_options_set", error);
    if (status != CEN_OK) return status;
    cen_pool_options whole, filled;
    cen_driver_calls calls;
    status = complete(pool, options, &whole, error);
    if (status == CEN_OK) status = ceni_settings_check(&whole, &filled, &calls, "cen_pool_options_set", error);
    if (status != CEN_OK) return status;
    if (ceni_callout_inside(pool)) return ceni_pool_misuse(pool, "a change of options", error);
    ceni_waiters_lock(pool->waiters);
    const char *differs = fixed_that_differs(pool, &filled);
    ceni_waiters_unlock(pool->waiters);
    if (differs)
        return ceni_error_set(error, CEN_INVALID, 0, "pool \"%s\": cen_pool_options_set: options.%s cannot be changed",
                              pool->name, differs);
    if (ceni_keeper_is_needed(pool, &filled)) status = ceni_pool_need_runtime(pool);
    if (status != CEN_OK) return ceni_error_set(error, status, 0, "pool \"%s\": cannot use the runtime", pool->name);
    return ceni_pool_resize(pool, filled.max, &filled, error);
}
