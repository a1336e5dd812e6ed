/* SPDX-License-Identifier: MIT */
/*
 * The ledger: what is known of a connection's state, so that a give can check from memory whether it is as it was
 * opened.
 *
 * hiredis does not track this: neither MULTI and WATCH, nor the database, nor the number of replies to come. So there
 * are two sources. The name of a command that is sent through cenote tells what it will do, and its effect waits in a
 * ring. Every reply, to any command, passes the reader's functions, which are ours and call hiredis' own: a
 * reply takes the next effect from the ring and applies it, unless it is an error. If the ring is empty, the reply
 * belongs to a command that was given to hiredis directly. That is noted as direct use. The reply is also judged by its
 * form: all commands that change a connection are replied to with a status, or with an array that begins with a word of
 * its own. Direct commands whose replies have not arrived are detected by their writes: by seal.c in the blocking form,
 * by channel.c in the asynchronous form.
 *
 * In doubt a connection is dirty.
 */
#include "redis/redis.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    IN_MULTI = 1,
    WATCHES = 2,
    OTHER_DATABASE = 4,
    OTHER_SETTING = 8,
    STREAMS = 16,
    IS_SILENT = 32,
    HAS_ENDED = 64,
    IS_READ_ONLY = 128,     /* the server reported READONLY */
    IS_UNKNOWN_USER = 256,  /* it reported NOAUTH */
    MAY_HAVE_CHANGED = 512, /* by a command given to hiredis directly */
    IS_LOST = 1024,         /* the number of replies to come is unknown */
    USED_DIRECTLY = 2048,   /* the program gave hiredis any command directly */
};

/* ---- Commands ------------------------------------------------------------------------------------------ */

/* Commands without a row do not affect their connection. The first matching row counts; `second` NULL matches all. */
static const struct rule {
    size_t size; /* length of the name */
    const char *name, *second;
    ceni_redis_effect effect;
} rules[] = {
#define RULE(name, second, effect) \
    { \
        sizeof(name) - 1, name, second, effect \
    }
    RULE("MULTI", NULL, CENI_REDIS_MULTI),
    RULE("EXEC", NULL, CENI_REDIS_EXEC),
    RULE("DISCARD", NULL, CENI_REDIS_DISCARD),
    RULE("WATCH", NULL, CENI_REDIS_WATCH),
    RULE("UNWATCH", NULL, CENI_REDIS_UNWATCH),
    RULE("SELECT", NULL, CENI_REDIS_SELECT),
    RULE("AUTH", NULL, CENI_REDIS_SETTING),
    RULE("HELLO", NULL, CENI_REDIS_SETTING),
    RULE("RESET", NULL, CENI_REDIS_SETTING),
    RULE("READONLY", NULL, CENI_REDIS_SETTING),
    RULE("READWRITE", NULL, CENI_REDIS_SETTING),
    RULE("ASKING", NULL, CENI_REDIS_SETTING),
    RULE("SCRIPT", "DEBUG", CENI_REDIS_END), /* RESET does not end it */
    RULE("CLIENT", "LIST", CENI_REDIS_NONE),
    RULE("CLIENT", "INFO", CENI_REDIS_NONE),
    RULE("CLIENT", "ID", CENI_REDIS_NONE),
    RULE("CLIENT", "GETNAME", CENI_REDIS_NONE),
    RULE("CLIENT", "GETREDIR", CENI_REDIS_NONE),
    RULE("CLIENT", "TRACKINGINFO", CENI_REDIS_NONE),
    RULE("CLIENT", "KILL", CENI_REDIS_NONE),
    RULE("CLIENT", "PAUSE", CENI_REDIS_NONE),
    RULE("CLIENT", "UNPAUSE", CENI_REDIS_NONE),
    RULE("CLIENT", "UNBLOCK", CENI_REDIS_NONE),
    RULE("CLIENT", "HELP", CENI_REDIS_NONE),
    RULE("CLIENT", "REPLY", CENI_REDIS_SILENCE),
    RULE("CLIENT", "SETNAME", CENI_REDIS_SETTING),
    RULE("CLIENT", "TRACKING", CENI_REDIS_SETTING),
    RULE("CLIENT", "CACHING", CENI_REDIS_SETTING),
    RULE("CLIENT", "SETINFO", CENI_REDIS_NONE), /* the name of a library */
    RULE("CLIENT", NULL, CENI_REDIS_END),       /* NO-EVICT and the like, which RESET of 7.0 leaves on */
    RULE("SUBSCRIBE", NULL, CENI_REDIS_STREAM),
    RULE("PSUBSCRIBE", NULL, CENI_REDIS_STREAM),
    RULE("SSUBSCRIBE", NULL, CENI_REDIS_STREAM),
    RULE("UNSUBSCRIBE", NULL, CENI_REDIS_STREAM),
    RULE("PUNSUBSCRIBE", NULL, CENI_REDIS_STREAM),
    RULE("SUNSUBSCRIBE", NULL, CENI_REDIS_STREAM),
    RULE("MONITOR", NULL, CENI_REDIS_STREAM),
    RULE("QUIT", NULL, CENI_REDIS_END),
    RULE("SHUTDOWN", NULL, CENI_REDIS_END),
    RULE("SYNC", NULL, CENI_REDIS_END),
    RULE("PSYNC", NULL, CENI_REDIS_END),
    RULE("REPLCONF", NULL, CENI_REDIS_END),
#undef RULE
};

/* Read the next argument of a command in RESP, "$3\r\nGET\r\n", and move *at to the one after it. Returns false if
 * there is none. */
static bool next_argument(const char **at, const char *end, const char **out, size_t *size)
{
    const char *digit = *at;
    size_t length = 0;
    if (digit == end || *digit++ != '$') return false;
    for (; digit < end && *digit >= '0' && *digit <= '9'; digit++) {
        length = length * 10 + (size_t)(*digit - '0');
        if (length > (size_t)(end - digit)) return false;
    }
    if ((size_t)(end - digit) < length + 4) return false;
    *out = digit + 2;
    *size = length;
    *at = digit + 2 + length + 2;
    return true;
}

static bool is_word(const char *text, size_t size, const char *word)
{
    return strlen(word) == size && strncasecmp(text, word, size) == 0; /* text may contain zeros */
}

static bool is_number(const char *text, size_t size, int number)
{
    int64_t value = 0;
    if (size == 0 || size > 10) return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        value = value * 10 + (text[i] - '0');
    }
    return value == number;
}

static ceni_redis_effect with_arguments(ceni_redis_effect effect, const char *at, const char *end, int own_database)
{
    const char *word;
    size_t size;
    if (!next_argument(&at, end, &word, &size)) return effect;
    if (effect == CENI_REDIS_SELECT && is_number(word, size, own_database)) return CENI_REDIS_SELECT_OWN;
    /* CLIENT REPLY ON is the one of the three that has a reply. */
    if (effect != CENI_REDIS_SILENCE || !next_argument(&at, end, &word, &size)) return effect;
    return is_word(word, size, "ON") ? CENI_REDIS_SETTING : effect;
}

ceni_redis_effect ceni_redis_effect_of(const char *command, size_t size, int own_database)
{
    const char *end = command + size, *at = memchr(command, '\n', size), *name, *second = NULL;
    size_t length, second_length = 0;
    if (!at || !next_argument((at++, &at), end, &name, &length)) return CENI_REDIS_NONE;
    const char *arguments = at;
    if (!next_argument(&at, end, &second, &second_length)) second = NULL;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        /* Most commands have no row, which their lengths and first letters show. */
        if (length != rules[i].size || (name[0] & ~0x20) != rules[i].name[0]) continue;
        if (strncasecmp(name, rules[i].name, length) != 0) continue;
        if (rules[i].second && !(second && is_word(second, second_length, rules[i].second))) continue;
        return with_arguments(rules[i].effect, arguments, end, own_database);
    }
    return CENI_REDIS_NONE;
}

/* ---- The ring ------------------------------------------------------------------------------------------ */

static bool grow(ceni_redis_ledger *ledger)
{
    unsigned char *ring = malloc(ledger->room * 2);
    if (!ring) return false;
    for (size_t i = 0; i < ledger->count; i++) ring[i] = ledger->ring[(ledger->first + i) & (ledger->room - 1)];
    if (ledger->ring != ledger->few) free(ledger->ring);
    ledger->ring = ring;
    ledger->first = 0;
    ledger->room *= 2;
    return true;
}

void ceni_redis_ledger_sent(ceni_redis_ledger *ledger, ceni_redis_effect effect)
{
    if (effect == CENI_REDIS_END) ledger->marks |= HAS_ENDED;
    if (effect == CENI_REDIS_STREAM) ledger->marks |= STREAMS;
    if (effect == CENI_REDIS_SILENCE) ledger->marks |= IS_SILENT;
    /* From now on replies cannot be counted: the connection is dirty until it was reset. */
    if (ledger->marks & (STREAMS | IS_SILENT)) return;
    if (ledger->count == ledger->room && !grow(ledger)) {
        ledger->marks |= IS_LOST;
        return;
    }
    ledger->ring[(ledger->first + ledger->count++) & (ledger->room - 1)] = (unsigned char)effect;
}

/* ---- Replies ------------------------------------------------------------------------------------------- */

static bool is_text(const char *text, size_t size, const char *expected)
{
    return strlen(expected) == size && memcmp(text, expected, size) == 0;
}

static bool begins(const char *text, size_t size, const char *expected)
{
    return strlen(expected) <= size && memcmp(text, expected, strlen(expected)) == 0;
}

static void apply(ceni_redis_ledger *ledger, ceni_redis_effect effect, int type, const char *text, size_t size)
{
    bool is_ok = type == REDIS_REPLY_STATUS && is_text(text, size, "OK");
    if (type == REDIS_REPLY_ERROR) {
        /* A refused EXEC has ended the transaction all the same. */
        if (effect == CENI_REDIS_EXEC && begins(text, size, "EXECABORT"))
            ledger->marks &= ~(unsigned)(IN_MULTI | WATCHES);
        return;
    }
    switch (effect) {
    case CENI_REDIS_MULTI: ledger->marks |= IN_MULTI; break;
    case CENI_REDIS_EXEC: ledger->marks &= ~(unsigned)(IN_MULTI | WATCHES); break;
    case CENI_REDIS_DISCARD:
        if (is_ok) ledger->marks &= ~(unsigned)(IN_MULTI | WATCHES);
        break;
    case CENI_REDIS_WATCH: ledger->marks |= WATCHES; break;
    case CENI_REDIS_UNWATCH:
        if (is_ok) ledger->marks &= ~(unsigned)WATCHES;
        break;
    case CENI_REDIS_SELECT: ledger->marks |= OTHER_DATABASE; break; /* also if it is QUEUED */
    case CENI_REDIS_SELECT_OWN:
        if (is_ok) ledger->marks &= ~(unsigned)OTHER_DATABASE;
        break;
    case CENI_REDIS_SETTING: ledger->marks |= OTHER_SETTING; break;
    case CENI_REDIS_NONE:
    case CENI_REDIS_STREAM:
    case CENI_REDIS_SILENCE:
    case CENI_REDIS_END: break;
    }
}

/* Note a reply of that type, or the header of one that is an array. */
static void note(ceni_redis_ledger *ledger, int type, const char *text, size_t size)
{
    if (ledger->is_quiet) return;
    ceni_redis_seal_at_reply(ledger);
    ledger->is_direct = ledger->count == 0;
    if (ledger->is_direct) ledger->marks |= USED_DIRECTLY;
    if (!ledger->is_direct) {
        ceni_redis_effect effect = (ceni_redis_effect)ledger->ring[ledger->first];
        ledger->first = (ledger->first + 1) & (ledger->room - 1);
        ledger->count--;
        apply(ledger, effect, type, text, size);
    } else if (type == REDIS_REPLY_STATUS && !is_text(text, size, "PONG")) {
        ledger->marks |= MAY_HAVE_CHANGED;
    }
}

/* Note the first element of an array that replies to a direct command: SUBSCRIBE and its kin, their messages, or
 * HELLO. */
static void note_first(ceni_redis_ledger *ledger, const char *text, size_t size)
{
    static const char *const streams[] = {"subscribe",    "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe",
                                          "sunsubscribe", "message",    "pmessage",   "smessage"};
    if (is_text(text, size, "server")) ledger->marks |= OTHER_SETTING;
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++)
        if (is_text(text, size, streams[i])) ledger->marks |= STREAMS;
}

static void *create_string(const redisReadTask *task, char *text, size_t size)
{
    ceni_redis_ledger *ledger = task->privdata;
    if (task->type == REDIS_REPLY_ERROR && !ledger->is_quiet) {
        if (begins(text, size, "READONLY")) ledger->marks |= IS_READ_ONLY;
        if (begins(text, size, "NOAUTH")) ledger->marks |= IS_UNKNOWN_USER;
    }
    if (!task->parent) note(ledger, task->type, text, size);
    else if (ledger->is_direct && !ledger->is_quiet && task->idx == 0 && !task->parent->parent)
        note_first(ledger, text, size);
    return ledger->beneath->createString(task, text, size);
}

static void *create_array(const redisReadTask *task, ceni_redis_elements size)
{
    ceni_redis_ledger *ledger = task->privdata;
    if (!task->parent) note(ledger, task->type, "", 0);
    return ledger->beneath->createArray(task, size);
}

static void *create_integer(const redisReadTask *task, long long number)
{
    ceni_redis_ledger *ledger = task->privdata;
    if (!task->parent) note(ledger, task->type, "", 0);
    return ledger->beneath->createInteger(task, number);
}

static void *create_nil(const redisReadTask *task)
{
    ceni_redis_ledger *ledger = task->privdata;
    if (!task->parent) note(ledger, task->type, "", 0);
    return ledger->beneath->createNil(task);
}

/* ---- The ledger ---------------------------------------------------------------------------------------- */

void ceni_redis_ledger_attach(ceni_redis_ledger *ledger, ceni_redis_server *pool, redisContext *context)
{
    redisReader *reader = context->reader;
    ledger->pool = pool;
    ledger->context = context;
    ledger->ring = ledger->few;
    ledger->room = CENI_REDIS_FEW;
    ledger->fd = context->fd;
    ledger->database = pool->url.database;
    ledger->beneath = reader->fn;
    ledger->above = *reader->fn;
    ledger->above.createString = create_string;
    ledger->above.createArray = create_array;
    ledger->above.createInteger = create_integer;
    ledger->above.createNil = create_nil;
    reader->fn = &ledger->above;
    reader->privdata = ledger;
}

void ceni_redis_ledger_fini(ceni_redis_ledger *ledger)
{
    if (ledger->ring != ledger->few) free(ledger->ring);
}

void ceni_redis_ledger_clear(ceni_redis_ledger *ledger)
{
    ledger->marks = 0;
    ledger->first = ledger->count = 0;
    ledger->is_direct = false;
    ledger->appended = 0;
}

void ceni_redis_ledger_lose(ceni_redis_ledger *ledger)
{
    ledger->marks |= IS_LOST;
}

void ceni_redis_ledger_used_directly(ceni_redis_ledger *ledger)
{
    ledger->marks |= USED_DIRECTLY;
}

ceni_redis_ledger *ceni_redis_ledger_of(const redisContext *context)
{
    const redisReader *reader = context->reader;
    return reader && reader->fn && reader->fn->createString == create_string ? reader->privdata : NULL;
}

bool ceni_redis_ledger_needs_reset(const ceni_redis_ledger *ledger)
{
    return ledger->marks & (OTHER_SETTING | STREAMS | IS_SILENT | IS_LOST);
}

cen_condition ceni_redis_ledger_condition(const ceni_redis_ledger *ledger, const redisContext *context)
{
    const redisReader *reader = context->reader;
    unsigned marks = ledger->marks;
    if (context->err || reader->err || marks & (HAS_ENDED | IS_UNKNOWN_USER)) return CEN_BROKEN;
    if (marks & IS_READ_ONLY && ledger->pool->role == CEN_REDIS_PRIMARY) return CEN_BROKEN;
    /* A reply is read in part (an idle reader has a task without a type), unread, or still to come. */
    bool is_amid = reader->ridx > 0 || (reader->ridx == 0 && ceni_redis_first_task(reader)->type != -1);
    if (is_amid || reader->len > reader->pos || ledger->count > 0) return CEN_DIRTY;
    if (!ceni_redis_seal_is_intact(ledger)) marks |= USED_DIRECTLY; /* not by our commands: the ring is empty */
    switch (ledger->pool->reset) {
    case CEN_REDIS_RESET_DIRECT: break;
    case CEN_REDIS_RESET_CHANGES: marks &= ~(unsigned)USED_DIRECTLY; break;
    case CEN_REDIS_RESET_NOTHING: marks &= ~(unsigned)(USED_DIRECTLY | MAY_HAVE_CHANGED); break;
    case CEN_REDIS_RESET_ALL: return CEN_DIRTY;
    }
    return marks & ~(unsigned)IS_READ_ONLY ? CEN_DIRTY : CEN_CLEAN;
}
