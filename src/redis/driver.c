/* SPDX-License-Identifier: MIT */
/* Driver values, and the options as each pool keeps them. */
#include "redis/redis.h"

#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- Options ------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static cen_status refused(cen_error *error, const char *format, ...)
{
    va_list values;
    *error = (cen_error){.status = CEN_INVALID};
    va_start(values, format);
    vsnprintf(error->text, sizeof error->text, format, values);
    va_end(values);
    return CEN_INVALID;
}

static cen_status set_time(const char *name, int64_t option, int64_t ns, int64_t *out, cen_error *error)
{
    *out = option == 0 ? ns : option == CEN_OFF ? INT64_MAX : option;
    if (cen_time_is_tiny(option))
        return refused(error, "cen_redis_options.%s " CEN_TIME_IS_TINY, name, (long long)option);
    if (option < CEN_OFF)
        return refused(error, "cen_redis_options.%s must not be below CEN_OFF (got %lld)", name, (long long)option);
    return CEN_OK;
}

/* Return true for a name that the server accepts: printable characters without blanks. */
static bool is_name(const char *name)
{
    for (; *name; name++)
        if (*name < '!' || *name > '~') return false;
    return true;
}

static cen_status read_options(const cen_redis_options *options, ceni_redis_server *pool, cen_error *error)
{
    if ((unsigned)options->role > CEN_REDIS_REPLICA)
        return refused(error, "cen_redis_options.role is not a cen_redis_role (got %d)", (int)options->role);
    if ((unsigned)options->reset > CEN_REDIS_RESET_CHANGES)
        return refused(error, "cen_redis_options.reset is not a cen_redis_reset_policy (got %d)", (int)options->reset);
    if (set_time("connect_timeout_ns", options->connect_timeout_ns, CEN_SECONDS(5), &pool->connect_ns, error) !=
            CEN_OK ||
        set_time("command_timeout_ns", options->command_timeout_ns, CEN_SECONDS(30), &pool->command_ns, error) !=
            CEN_OK ||
        set_time("test_timeout_ns", options->test_timeout_ns, CEN_SECONDS(2), &pool->test_ns, error) != CEN_OK ||
        set_time("reset_timeout_ns", options->reset_timeout_ns, CEN_SECONDS(2), &pool->reset_ns, error) != CEN_OK)
        return CEN_INVALID;
    if (options->name && !is_name(options->name))
        return refused(error, "cen_redis_options.name must be printable ASCII without blanks (got \"%.40s\")",
                       options->name);
    pool->role = options->role;
    pool->reset = options->reset;
    pool->password = options->password;
    pool->on_capacity = options->on_capacity;
    pool->argument = options->argument;
    pool->capacity_max = options->capacity_max;
    pool->poller = options->poller;
    if (options->name && options->name[0] && !(pool->name = strdup(options->name))) {
        refused(error, "cen_redis_options: out of memory");
        return error->status = CEN_NO_MEMORY;
    }
    return ceni_redis_url_parse(options->url ? options->url : "redis://127.0.0.1:6379/0", &pool->url, error);
}

static void describe(ceni_redis_server *pool)
{
    const ceni_redis_url *url = &pool->url;
    char address[120];
    if (url->path) snprintf(address, sizeof address, "%s", url->path);
    else snprintf(address, sizeof address, strchr(url->host, ':') ? "[%s]:%d" : "%s:%d", url->host, url->port);
    snprintf(pool->where, sizeof pool->where, "Redis at %s, database %d, user \"%.40s\"", address, url->database,
             url->user ? url->user : "default");
}

cen_status ceni_redis_prepare(const cen_redis_options *options, ceni_redis_server **out, cen_error *error)
{
    cen_redis_options known;
    cen_status status = cen_sized_read(&known, sizeof known, options, "cen_redis_with: options", error);
    if (status != CEN_OK) return status;
    ceni_redis_server *pool = calloc(1, sizeof *pool);
    if (!pool) {
        refused(error, "cen_redis_options: out of memory");
        return error->status = CEN_NO_MEMORY;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pool->process = getpid();
    pool->exits = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    status = read_options(&known, pool, error);
    if (status == CEN_OK) {
        describe(pool);
        *out = pool;
    } else {
        ceni_redis_fini(pool);
    }
    return status;
}

void ceni_redis_fini(void *state)
{
    ceni_redis_server *pool = state;
    ceni_redis_url_fini(&pool->url);
    pthread_mutex_destroy(&pool->lock);
    if (pool->exits >= 0) close(pool->exits);
    free(pool->name);
    free(pool);
}

/* ---- Driver values ------------------------------------------------------------------------------------- */

static cen_status prepare_with(void *argument, void **state, cen_error *error)
{
    ceni_redis_server *pool = NULL;
    cen_status status = ceni_redis_prepare(argument, &pool, error);
    *state = pool;
    return status;
}

static cen_status prepare_url(void *argument, void **state, cen_error *error)
{
    cen_redis_options options = CEN_REDIS_OPTIONS(.url = argument);
    return prepare_with(&options, state, error);
}

/* Our local port, as CLIENT LIST shows it; a Unix socket has none. */
static uint64_t port_of(int fd)
{
    struct sockaddr_storage at = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof at;
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&at, &size) != 0) return 0;
    if (at.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)(void *)&at)->sin_port);
    return at.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)(void *)&at)->sin6_port) : 0;
}

static uint64_t identify(void *unused, void *object)
{
    (void)unused;
    return port_of(((redisContext *)object)->fd);
}

static uint64_t identify_later(void *unused, void *object)
{
    (void)unused;
    return port_of(((redisAsyncContext *)object)->c.fd);
}

#define BLOCKING_CALLS(prepares) \
    { \
        .size = sizeof(cen_driver_calls), .blocks = true, .prepare = (prepares), .fini = ceni_redis_fini, \
        .open = ceni_redis_open, .close = ceni_redis_close, .interrupt = ceni_redis_interrupt, \
        .check = ceni_redis_check, .check_only_reads = true, .reset = ceni_redis_reset, .test = ceni_redis_test, \
        .abandon = ceni_redis_abandon, .cancel_all = ceni_redis_cancel_all, .system = "redis", .identify = identify, \
        .identity_prefix = ":", \
    }

static const cen_driver_calls blocking_url = BLOCKING_CALLS(prepare_url), blocking_with = BLOCKING_CALLS(prepare_with);

static const cen_driver_calls later_with = {
    .size = sizeof later_with,
    .system = "redis",
    .identify = identify_later,
    .identity_prefix = ":",
    .prepare = prepare_with,
    .fini = ceni_redis_fini,
    .open_async = ceni_redis_later_open,
    .test_async = ceni_redis_later_test,
    .reset_async = ceni_redis_later_reset,
    .close_async = ceni_redis_later_close,
    .cancel = ceni_redis_later_cancel,
    .interrupt = ceni_redis_later_interrupt,
    .check = ceni_redis_later_check,
    .abandon = ceni_redis_later_abandon,
};

cen_driver cen_redis(const char *url)
{
    return (cen_driver){&blocking_url, (void *)(uintptr_t)url};
}

cen_driver cen_redis_with(const cen_redis_options *options)
{
    /* Only options of a sufficient size have a poller. */
    bool is_later =
        options && options->size >= offsetof(cen_redis_options, poller) + sizeof options->poller && options->poller;
    static const cen_redis_options none; /* size 0: refused by prepare */
    return (cen_driver){is_later ? &later_with : &blocking_with, (void *)(uintptr_t)(options ? options : &none)};
}
