/* SPDX-License-Identifier: MIT */
/* Targets: the kind that a URL selects, and what all kinds share. */
#include "tool/target.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cenote/deadline.h>

#include "tool/stop.h"
#include "tool/target_kinds.h"
#include "tool/terminal.h"

enum { USUAL_KEYS = 20000 };
static const double SHOWN_AFTER = 0.5; /* seconds before progress is shown */
static const char ended_early[] = "Stopped before anything was measured.";

static const target_kind *const kinds[] = {&target_sqlite, &target_pq,   &target_mariadb,
                                           &target_redis,  &target_http, NULL};

cen_status target_say(cen_error *error, cen_status status, int code, const char *format, ...)
{
    va_list arguments;
    if (!error) return status;
    memset(error, 0, sizeof *error);
    error->status = status;
    error->code = code;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}

/* ---- URLs ------------------------------------------------------------------------------------------------ */

static bool has_word(const char *words, const char *word, size_t length)
{
    for (const char *at = words; *at;) {
        size_t size = strcspn(at, " ");
        if (size == length && memcmp(at, word, length) == 0) return true;
        at += size + strspn(at + size, " ");
    }
    return false;
}

static const target_kind *kind_of(const char *url)
{
    const char *colon = strchr(url, ':');
    if (!colon) return NULL;
    for (const target_kind *const *at = kinds; *at; at++)
        if (has_word((*at)->schemes, url, (size_t)(colon - url))) return *at;
    return NULL;
}

/* Copy the URL without passwords: the one before the @, and those in parameters. The search for the @ goes beyond ? and
 * #, which libpq allows in passwords: it is better to hide too much than too little. */
static void show(char *out, size_t room, const char *url)
{
    const char *authority = strstr(url, "://"), *at = NULL, *colon = NULL;
    size_t to = 0;
    if (authority) {
        const char *end = authority + 3 + strcspn(authority + 3, "/");
        for (const char *c = authority + 3; c < end; c++)
            if (*c == '@') at = c;
        if (at) colon = memchr(authority + 3, ':', (size_t)(at - authority - 3));
    }
    for (const char *c = url; *c && to + 5 < room; c++) {
        out[to++] = *c;
        if (c == colon) {
            to += (size_t)snprintf(out + to, room - to, "***");
            c = at - 1;
        } else if (*c == '=' && c - url >= 8 && memcmp(c - 8, "password", 8) == 0) {
            to += (size_t)snprintf(out + to, room - to, "***");
            c += strcspn(c + 1, "& ");
        }
    }
    out[to] = 0;
}

/* ---- Open and close -------------------------------------------------------------------------------------- */

static bool is_blank(const char *text)
{
    return text && text[strspn(text, " \t\r\n")] == 0;
}

static cen_status check_settings(const target *self, cen_error *error)
{
    if (is_blank(self->settings.query) || is_blank(self->settings.write))
        return target_say(error, CEN_INVALID, 0, "--%s is empty; say what an operation does.",
                          is_blank(self->settings.query) ? "query" : "write");
    if ((self->settings.ca || self->settings.insecure) && strncmp(self->settings.url, "https:", 6) != 0)
        return target_say(error, CEN_INVALID, 0, "--%s requires an https URL.", self->settings.ca ? "ca" : "insecure");
    if (self->settings.write && self->settings.write_share <= 0)
        return target_say(error, CEN_INVALID, 0,
                          "--write needs --write-share: the share of the operations that write.");
    if (self->settings.write_share > 0 && !self->settings.write && !self->kind->usual_write)
        return target_say(error, CEN_INVALID, 0, "--write-share needs --write for a %s target: say what a write does.",
                          self->kind->system);
    return CEN_OK;
}

cen_status target_open(const target_settings *settings, target **out, cen_error *error)
{
    const char *url = settings->url ? settings->url : "sqlite:";
    const target_kind *kind = kind_of(url);
    target *self;
    if (!kind) {
        char shown[128];
        show(shown, sizeof shown, url);
        return target_say(error, CEN_INVALID, 0,
                          "\"%s\" is not a supported URL; use sqlite:PATH, postgresql://, mariadb://, mysql://, "
                          "redis://, unix:// (Redis), http:// or https://.",
                          shown);
    }
    self = calloc(1, sizeof *self);
    if (!self) return target_say(error, CEN_NO_MEMORY, 0, "Out of memory.");
    self->kind = kind;
    self->settings = *settings;
    self->settings.url = url;
    if (!self->settings.keys) self->settings.keys = USUAL_KEYS;
    show(self->shown, sizeof self->shown, url);
    cen_runtime_options threads = CEN_RUNTIME_OPTIONS(.name = "cenote");
    cen_status status = check_settings(self, error);
    if (status == CEN_OK) status = cen_runtime_new(&threads, &self->runtime, error);
    if (status == CEN_OK) status = kind->open(self, error);
    if (status != CEN_OK) {
        cen_runtime_free(self->runtime);
        free(self);
        return status;
    }
    if (!self->settings.query) self->settings.query = kind->usual;
    if (!self->settings.write) self->settings.write = kind->usual_write;
    *out = self;
    return CEN_OK;
}

void target_close(target *self)
{
    if (!self) return;
    self->kind->close(self);
    /* A thread that has used OpenSSL must end before the process does, because both free OpenSSL's state. */
    cen_runtime_free(self->runtime);
    free(self);
}

uint64_t target_draw(const target *self, const target_turn *turn, unsigned index)
{
    uint64_t x = turn->draw + UINT64_C(0x9e3779b97f4a7c15) * (index + 1);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 31) % (uint64_t)self->settings.keys + 1;
}

/* ---- Pools ----------------------------------------------------------------------------------------------- */

cen_status target_pools_new(target *self, const cen_pool_options *options, target_pools *out, cen_error *error)
{
    cen_pool_options all = *options;
    memset(out, 0, sizeof *out);
    all.driver = self->driver;
    all.runtime = self->runtime;
    if (!all.name) all.name = self->kind->system;
    if (self->kind->pools_new && self->settings.write_share > 0) return self->kind->pools_new(self, &all, out, error);
    return cen_pool_new(&all, &out->pool, error);
}

void target_pools_free(target *self, target_pools *pools)
{
    if (pools->own) {
        self->kind->pools_free(self, pools);
    } else if (pools->pool) {
        cen_pool_close(pools->pool, cen_in_s(5), NULL, NULL);
        cen_pool_free(pools->pool);
    }
    memset(pools, 0, sizeof *pools);
}

/* ---- The server's limit ---------------------------------------------------------------------------------- */

static void word(target_limit *self)
{
    char reserved[48] = "";
    if (self->reserved) snprintf(reserved, sizeof reserved, ", %u of them reserved", self->reserved);
    if (self->most)
        snprintf(self->words, sizeof self->words, "allows %u connections%s; %u in use before", self->most, reserved,
                 self->in_use - 1);
}

/* ---- Probe ----------------------------------------------------------------------------------------------- */

/* Remove the name of the probe's pool from the text. It would tell the user nothing. */
static cen_status reword(cen_error *error)
{
    static const char *const heads[] = {"pool \"probe\": cannot open an object: ",
                                        "pool \"probe\": the driver failed to initialise: "};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        size_t length = strlen(heads[i]);
        if (strncmp(error->text, heads[i], length) == 0)
            memmove(error->text, error->text + length, strlen(error->text + length) + 1);
    }
    return error->status;
}

static int status_of_opening(cen_status status)
{
    if (status == CEN_INVALID) return EXIT_USAGE;
    return status == CEN_NO_MEMORY || status == CEN_SYSTEM ? EXIT_SYSTEM : EXIT_UNREACHABLE;
}

static cen_status try_one(target *self, void *object, bool writes, int *status, cen_error *error)
{
    target_turn turn = {.writes = writes, .draw = 1};
    cen_error inner = {0};
    cen_status got = self->kind->operate(self, object, &turn, &inner);
    if (got == CEN_OK) return CEN_OK;
    *status = got == CEN_DOWN || got == CEN_LOST ? EXIT_UNREACHABLE : EXIT_FAILED;
    return target_say(error, got, inner.code, "The first %s failed: %.400s", writes ? "write" : "operation",
                      inner.text);
}

/* Beside the first connection and the first operation, which may take any time, this thread reacts to signals and shows
 * what the program waits for. */
typedef struct guard {
    pthread_t thread;
    progress *line;           /* the guard's until it has ended */
    _Atomic(cen_pool *) pool; /* NULL while the first connection is opened */
    atomic_bool done;
    bool started;
} guard;

/* An open cannot be interrupted, but leaving it loses nothing. */
static void leave(guard *self)
{
    progress_clear(self->line);
    stop_leave(command_fail(NULL, stop_status(EXIT_DONE), "%s", ended_early));
}

static void *watch_for_stop(void *argument)
{
    guard *self = argument;
    const struct timespec pause = {.tv_nsec = 20000000};
    int64_t began = cen_clock();
    while (!atomic_load(&self->done) && !stop_asked()) {
        double waited = (double)(cen_clock() - began) / 1e9;
        if (waited >= SHOWN_AFTER)
            progress_show(self->line, "waiting for the first %s, %.0f s",
                          atomic_load(&self->pool) ? "operation" : "connection", waited);
        nanosleep(&pause, NULL);
    }
    cen_pool *pool = atomic_load(&self->pool);
    if (!atomic_load(&self->done) && !pool) leave(self);
    if (!atomic_load(&self->done)) cen_pool_close(pool, CEN_NOW, NULL, NULL); /* interrupts the running operation */
    progress_clear(self->line);
    return NULL;
}

static void guard_begin(guard *self, progress *line)
{
    self->line = line;
    atomic_init(&self->pool, NULL);
    atomic_init(&self->done, false);
    self->started = pthread_create(&self->thread, NULL, watch_for_stop, self) == 0;
}

static void guard_end(guard *self)
{
    atomic_store(&self->done, true);
    if (self->started) pthread_join(self->thread, NULL);
}

cen_status target_probe(target *self, progress *line, target_limit *limit, int *status, cen_error *error)
{
    cen_pool_options options =
        CEN_POOL_OPTIONS(.name = "probe", .driver = self->driver, .max = 1, .eager = true, .runtime = self->runtime);
    cen_pool *pool;
    cen_lease lease;
    guard watch;
    guard_begin(&watch, line);
    cen_status got = cen_pool_new(&options, &pool, error);
    *status = status_of_opening(got);
    if (got != CEN_OK) {
        guard_end(&watch);
        return reword(error);
    }
    atomic_store(&watch.pool, pool);
    got = cen_pool_take(pool, cen_in_s(10), &lease, error);
    if (got == CEN_OK) {
        got = try_one(self, lease.object, false, status, error);
        if (got == CEN_OK && self->settings.write_share > 0) got = try_one(self, lease.object, true, status, error);
        /* A server that does not reveal its limit is not a failure. */
        if (limit) memset(limit, 0, sizeof *limit);
        if (got == CEN_OK && limit && self->kind->limit && self->kind->limit(self, lease.object, limit, NULL) == CEN_OK)
            word(limit);
        cen_pool_give(&lease);
    } else {
        *status = EXIT_UNREACHABLE;
    }
    guard_end(&watch);
    cen_pool_close(pool, cen_in_s(5), NULL, NULL);
    cen_pool_free(pool);
    if (!stop_asked()) return got;
    *status = stop_status(EXIT_DONE);
    return target_say(error, CEN_INTERRUPTED, 0, "%s", ended_early);
}
