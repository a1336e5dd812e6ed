/* SPDX-License-Identifier: MIT */
#include "drivers/redis_place.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static server *redis;

void test_program_begin(void)
{
    redis = server_start(SERVER_REDIS, NULL);
}

void test_program_end(void)
{
    server_stop(redis);
}

server *place_server(void)
{
    return redis;
}

void place_pause_ms(int ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

/* ---- The administrator ------------------------------------------------------------------------ */

static redisContext *admin(void)
{
    static redisContext *context;
    static pid_t process;
    if (context && process == getpid() && !context->err) return context;
    context = redisConnect("127.0.0.1", server_port(redis)); /* a former one may be the parent's */
    process = getpid();
    if (!context || context->err) test_fail(__FILE__, __LINE__, "the administrator cannot connect");
    freeReplyObject(redisCommand(context, "AUTH secret"));
    return context;
}

const char *place_admin(const char *format, ...)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static _Thread_local char text[32768];
    va_list list;
    va_start(list, format);
    pthread_mutex_lock(&lock);
    redisContext *context = admin();
    redisReply *reply = redisvCommand(context, format, list);
    va_end(list);
    if (!reply) test_fail(__FILE__, __LINE__, "%s: %s", format, context->errstr);
    if (reply->type == REDIS_REPLY_INTEGER) snprintf(text, sizeof text, "%lld", reply->integer);
    else snprintf(text, sizeof text, "%s", reply->str ? reply->str : "");
    freeReplyObject(reply);
    pthread_mutex_unlock(&lock);
    return text;
}

const char *place_row(int fd)
{
    static _Thread_local char row[2048];
    struct sockaddr_in own;
    socklen_t size = sizeof own;
    char address[40];
    if (getsockname(fd, (struct sockaddr *)&own, &size) != 0) return "";
    snprintf(address, sizeof address, " addr=127.0.0.1:%u ", ntohs(own.sin_port));
    const char *list = place_admin("CLIENT LIST");
    for (const char *line = list; *line; line += strcspn(line, "\n") + 1) {
        snprintf(row, sizeof row, " %.*s ", (int)strcspn(line, "\n"), line);
        if (strstr(row, address)) return row;
        if (!strchr(line, '\n')) break;
    }
    return "";
}

long long place_number(const char *row, const char *name)
{
    char field[40];
    snprintf(field, sizeof field, " %s=", name);
    const char *at = strstr(row, field);
    return at ? strtoll(at + strlen(field), NULL, 10) : -1;
}

/* ---- The case ----------------------------------------------------------------------------------- */

cen_driver place_driver(const char *url, int64_t timeout_ns)
{
    static cen_redis_options options;
    options = CEN_REDIS_OPTIONS(.url = url, .name = PLACE_NAME, .connect_timeout_ns = timeout_ns);
    return cen_redis_with(&options);
}

const char *place_good(void)
{
    return server_url(redis);
}

const char *place_wrong(void)
{
    static char url[80];
    snprintf(url, sizeof url, "redis://:wrong-secret@127.0.0.1:%u/0", server_port(redis));
    return url;
}

const char *place_at(uint16_t port)
{
    static char url[80];
    snprintf(url, sizeof url, "redis://:secret@127.0.0.1:%u/0", port);
    return url;
}

static bool reply_is(redisReply *reply, int type, const char *text)
{
    bool is_right = reply && reply->type == type && (!text || (reply->str && strcmp(reply->str, text) == 0));
    if (reply) freeReplyObject(reply);
    return is_right;
}

bool place_use(void *context)
{
    return reply_is(cen_redis_command(context, "ECHO %s", "hello"), REDIS_REPLY_STRING, "hello");
}

static uint64_t identity_of(int fd)
{
    long long id = place_number(place_row(fd), "id");
    return id > 0 ? (uint64_t)id : 0;
}

static bool is_clean(int fd)
{
    char row[2048];
    snprintf(row, sizeof row, "%s", place_row(fd));
    return strstr(row, " name=" PLACE_NAME " ") && place_number(row, "multi") == -1 && place_number(row, "db") == 0 &&
           place_number(row, "sub") == 0 && place_number(row, "psub") == 0;
}

uint64_t place_identity(void *context)
{
    return identity_of(((redisContext *)context)->fd);
}

bool place_make_dirty(void *context)
{
    return reply_is(cen_redis_command(context, "MULTI"), REDIS_REPLY_STATUS, "OK") &&
           reply_is(cen_redis_command(context, "SET never 1"), REDIS_REPLY_STATUS, "QUEUED");
}

bool place_is_clean(void *context)
{
    return is_clean(((redisContext *)context)->fd) && strcmp(place_admin("EXISTS never"), "0") == 0;
}

bool place_cut(uint64_t identity)
{
    return strcmp(place_admin("CLIENT KILL ID %llu", (unsigned long long)identity), "1") == 0;
}

bool place_hang(void *context)
{
    return !reply_is(cen_redis_command(context, "BLPOP no-such-list 40"), REDIS_REPLY_ARRAY, NULL);
}

int place_connections(void)
{
    const char *list = place_admin("CLIENT LIST");
    int count = 0;
    for (const char *at = list; (at = strstr(at, " name=" PLACE_NAME " ")); at++) count++;
    return count;
}

bool place_fill(bool full)
{
    /* One is the administrator's. */
    return strcmp(place_admin("CONFIG SET maxclients %d", full ? 1 : 1000), "OK") == 0;
}

/* ---- The same for asynchronous connections, over a poller with a thread ------------------------------- */

cen_poller *place_poller(void)
{
    static cen_poller *poller;
    static pid_t process;
    if (poller && process == getpid()) return poller;
    cen_poller_options options = CEN_POLLER_OPTIONS(.name = "redis");
    cen_error error = {.text = ""};
    if (cen_poller_new(&options, &poller, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    process = getpid();
    return poller;
}

cen_driver place_later_driver(const char *url, int64_t timeout_ns)
{
    static cen_redis_options options;
    options =
        CEN_REDIS_OPTIONS(.url = url, .name = PLACE_NAME, .connect_timeout_ns = timeout_ns, .poller = place_poller());
    return cen_redis_with(&options);
}

struct asked {
    pthread_mutex_t lock;
    pthread_cond_t told;
    bool is_told;
    int type;
    char text[200];
};

static void on_reply(redisAsyncContext *context, void *answer, void *argument)
{
    struct asked *asked = argument;
    redisReply *reply = answer;
    (void)context;
    pthread_mutex_lock(&asked->lock);
    asked->is_told = true;
    asked->type = reply ? reply->type : 0;
    snprintf(asked->text, sizeof asked->text, "%s", reply && reply->str ? reply->str : "");
    pthread_cond_signal(&asked->told);
    pthread_mutex_unlock(&asked->lock);
}

int place_later_ask(redisAsyncContext *context, char *text, size_t room, const char *format, ...)
{
    struct asked asked = {.lock = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER};
    char command[200], *words[8];
    const char *arguments[8];
    int count = 0;
    va_list list;
    va_start(list, format);
    vsnprintf(command, sizeof command, format, list);
    va_end(list);
    for (char *rest = command; count < 8 && (words[count] = strsep(&rest, " ")); count++)
        arguments[count] = words[count];
    if (cen_redis_command_argv_async(context, on_reply, &asked, count, arguments, NULL) != REDIS_OK) return -1;
    pthread_mutex_lock(&asked.lock);
    while (!asked.is_told) pthread_cond_wait(&asked.told, &asked.lock);
    pthread_mutex_unlock(&asked.lock);
    if (text) snprintf(text, room, "%s", asked.text);
    return asked.type;
}

bool place_later_use(void *context)
{
    char text[40];
    return place_later_ask(context, text, sizeof text, "ECHO hello") == REDIS_REPLY_STRING &&
           strcmp(text, "hello") == 0;
}

uint64_t place_later_identity(void *context)
{
    return identity_of(((redisAsyncContext *)context)->c.fd);
}

bool place_later_make_dirty(void *context)
{
    return place_later_ask(context, NULL, 0, "MULTI") == REDIS_REPLY_STATUS &&
           place_later_ask(context, NULL, 0, "SET never 1") == REDIS_REPLY_STATUS;
}

bool place_later_is_clean(void *context)
{
    return is_clean(((redisAsyncContext *)context)->c.fd) && strcmp(place_admin("EXISTS never"), "0") == 0;
}

bool place_later_hang(void *context)
{
    return place_later_ask(context, NULL, 0, "BLPOP no-such-list 40") == 0;
}

/* ---- Pools --------------------------------------------------------------------------------------------- */

cen_pool *place_pool(cen_pool_options options)
{
    cen_pool *pool = NULL;
    cen_error error = {.text = ""};
    cen_status status = cen_pool_new(&options, &pool, &error);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "cen_pool_new: %s: %s", cen_status_name(status), error.text);
    return pool;
}

cen_lease place_take(cen_pool *pool)
{
    cen_lease lease = {0};
    cen_error error = {.text = ""};
    cen_status status = cen_pool_take(pool, cen_in_s(10), &lease, &error);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "take: %s: %s", cen_status_name(status), error.text);
    return lease;
}

cen_pool_stats place_stats(cen_pool *pool)
{
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(pool, &stats), CEN_OK);
    return stats;
}

void place_close(cen_pool *pool)
{
    cen_error error = {.text = ""};
    cen_status status = cen_pool_close(pool, cen_in_s(10), NULL, &error);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "close: %s: %s", cen_status_name(status), error.text);
    expect_equal(cen_pool_free(pool), CEN_OK);
}

/* ---- Both forms ------------------------------------------------------------------------------------------ */

cen_pool *place_form_pool(cen_redis_options options, bool is_later, cen_pool_options given)
{
    options.size = sizeof options;
    if (!options.url) options.url = place_good();
    if (!options.name) options.name = PLACE_NAME;
    if (is_later) options.poller = place_poller();
    given.size = sizeof given;
    given.driver = cen_redis_with(&options);
    if (!given.max) given.max = 1;
    return place_pool(given);
}

int place_form_fd(void *object, bool is_later)
{
    return is_later ? ((redisAsyncContext *)object)->c.fd : ((redisContext *)object)->fd;
}

int place_form_ask(void *object, bool is_later, char *text, size_t room, const char *command)
{
    if (is_later) return place_later_ask(object, text, room, "%s", command);
    char copy[200], *rest = copy;
    const char *words[8];
    int count = 0;
    snprintf(copy, sizeof copy, "%s", command);
    for (char *word; count < 8 && (word = strsep(&rest, " "));) words[count++] = word;
    redisReply *reply = cen_redis_command_argv(object, count, words, NULL);
    int type = reply ? reply->type : 0;
    if (text) snprintf(text, room, "%s", reply && reply->str ? reply->str : "");
    if (reply) freeReplyObject(reply);
    return type;
}

bool place_form_use(void *object, bool is_later)
{
    return is_later ? place_later_use(object) : place_use(object);
}

void place_refused(cen_redis_options options, bool is_later, cen_status status, int code, const char *says)
{
    cen_pool *pool =
        place_form_pool(options, is_later, (cen_pool_options){.breaker_failures = 1, .breaker_wait_ns = CEN_OFF});
    cen_lease lease;
    cen_error error = {.text = ""};
    cen_status actual = cen_pool_take(pool, cen_in_s(10), &lease, &error);
    if (actual != status || error.code != code)
        test_fail(__FILE__, __LINE__, "%s %d, expected %s %d: %s", cen_status_name(actual), error.code,
                  cen_status_name(status), code, error.text);
    if (!strstr(error.text, says)) test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error.text, says);
    if (strstr(error.text, "secret")) test_fail(__FILE__, __LINE__, "\"%s\" tells the password", error.text);
    place_close(pool);
}

cen_redis_options place_at_server(server *self, char url[80])
{
    snprintf(url, 80, "%s", server_url(self));
    return (cen_redis_options){.url = url};
}
