/* SPDX-License-Identifier: MIT */
/*
 * The driver's own commands to a server for open, test and reset. They are sent at once, in one round trip, with rules
 * for their replies.
 *
 *     open    [AUTH] [SELECT] [CLIENT SETNAME] [ROLE] [INFO, CONFIG GET] PING mark
 *     test    [ROLE] PING mark
 *     reset   PING, RESET, then as open; the server supports RESET since 6.2
 *             DISCARD, UNWATCH, PING mark, then as open with SELECT always, if it does not
 *
 * The last PING must return a text that no unread reply can contain, so that a connection whose replies do not match
 * its commands is never lent. In a reset, unread replies come first. They are let pass until RESET's own reply or the
 * first mark's. An unread one that looks like it is detected by the last mark.
 */
#include "redis/redis.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PASSWORD_ROOM = 4096 };

static bool say(ceni_redis_talk *talk, ceni_redis_step step, int count, const char **words)
{
    char *bytes = NULL;
    ceni_redis_size size = redisFormatCommandArgv(&bytes, count, words, NULL);
    if (size < 0) return false;
    talk->says[talk->count].step = step;
    talk->says[talk->count].bytes = bytes;
    talk->says[talk->count++].size = (size_t)size;
    return true;
}

#define SAY(talk, step, ...) \
    say((talk), (step), (int)(sizeof(const char *[]){__VA_ARGS__} / sizeof(const char *)), \
        (const char *[]){__VA_ARGS__})

/* Each talk on a connection is later than the ones before, so the time makes its mark unique. */
static void make_mark(ceni_redis_talk *talk)
{
    uint64_t moment = (uint64_t)cen_clock(), place = (uint64_t)(uintptr_t)talk;
    snprintf(talk->mark, sizeof talk->mark, "%016llx", (unsigned long long)(moment ^ place << 40));
}

/* Add AUTH if there is a password. The password is in `secret` for a moment, and in the bytes to send. */
static cen_status say_auth(ceni_redis_server *pool, ceni_redis_talk *talk, cen_error *error)
{
    char secret[PASSWORD_ROOM] = "";
    const char *password = pool->url.password ? pool->url.password : "";
    cen_status status = CEN_OK;
    if (pool->password) {
        error->text[0] = '\0';
        status = pool->password(pool->argument, secret, sizeof secret, error);
        secret[sizeof secret - 1] = '\0';
        password = secret;
        if (status != CEN_OK && !error->text[0])
            ceni_redis_wrong(pool, status, error->code, "cen_redis_options.password failed", error);
    }
    bool is_said = true;
    const char *user = pool->url.user;
    if (status == CEN_OK && password[0] && user) is_said = SAY(talk, CENI_REDIS_STEP_AUTH, "AUTH", user, password);
    else if (status == CEN_OK && password[0]) is_said = SAY(talk, CENI_REDIS_STEP_AUTH, "AUTH", password);
    explicit_bzero(secret, sizeof secret);
    return is_said ? status : ceni_redis_no_memory(pool, error);
}

/* Add the commands from AUTH to the last mark. */
static cen_status say_all(ceni_redis_server *pool, ceni_redis_talk *talk, bool selects, cen_error *error)
{
    char database[16];
    bool is_said = true;
    snprintf(database, sizeof database, "%d", pool->url.database);
    cen_status status = say_auth(pool, talk, error);
    if (status != CEN_OK) return status;
    if (pool->url.database != 0 || selects) is_said = SAY(talk, CENI_REDIS_STEP_SELECT, "SELECT", database);
    if (pool->name) is_said = is_said && SAY(talk, CENI_REDIS_STEP_NAME, "CLIENT", "SETNAME", pool->name);
    if (pool->role != CEN_REDIS_ANY) is_said = is_said && SAY(talk, CENI_REDIS_STEP_ROLE, "ROLE");
    if (talk->has_capacity) {
        is_said = is_said && SAY(talk, CENI_REDIS_STEP_INFO, "INFO", "clients");
        is_said = is_said && SAY(talk, CENI_REDIS_STEP_MOST, "CONFIG", "GET", "maxclients");
    }
    is_said = is_said && SAY(talk, CENI_REDIS_STEP_PING, "PING", talk->mark);
    return is_said ? CEN_OK : ceni_redis_no_memory(pool, error);
}

static cen_status begun(ceni_redis_talk *talk, cen_status status)
{
    if (status != CEN_OK) ceni_redis_talk_fini(talk);
    return status;
}

cen_status ceni_redis_talk_open(ceni_redis_server *pool, ceni_redis_talk *talk, cen_error *error)
{
    *talk = (ceni_redis_talk){.most = -1, .present = -1};
    talk->has_capacity = ceni_redis_capacity_is_wanted(pool);
    make_mark(talk);
    return begun(talk, say_all(pool, talk, false, error));
}

cen_status ceni_redis_talk_test(ceni_redis_server *pool, ceni_redis_talk *talk, cen_error *error)
{
    *talk = (ceni_redis_talk){.count = 0};
    make_mark(talk);
    bool is_said = pool->role == CEN_REDIS_ANY || SAY(talk, CENI_REDIS_STEP_ROLE, "ROLE");
    is_said = is_said && SAY(talk, CENI_REDIS_STEP_PING, "PING", talk->mark);
    return begun(talk, is_said ? CEN_OK : ceni_redis_no_memory(pool, error));
}

cen_status ceni_redis_talk_reset(const ceni_redis_ledger *ledger, ceni_redis_talk *talk, cen_error *error)
{
    ceni_redis_server *pool = ledger->pool;
    static const char sentence[] = "reset failed: the server does not support RESET";
    *talk = (ceni_redis_talk){.count = 0};
    make_mark(talk);
    bool has_reset = !ledger->has_no_reset;
    if (!has_reset && ceni_redis_ledger_needs_reset(ledger))
        return ceni_redis_wrong(pool, CEN_DRIVER, CEN_REDIS_ERROR, sentence, error);
    /* After CLIENT REPLY SKIP the next command has no reply. Better the PING than the RESET. */
    bool is_said = has_reset
                       ? SAY(talk, CENI_REDIS_STEP_PASS, "PING") && SAY(talk, CENI_REDIS_STEP_RESET, "RESET")
                       : SAY(talk, CENI_REDIS_STEP_PASS, "DISCARD") && SAY(talk, CENI_REDIS_STEP_PASS, "UNWATCH") &&
                             SAY(talk, CENI_REDIS_STEP_MARK, "PING", talk->mark);
    return begun(talk, is_said ? say_all(pool, talk, !has_reset, error) : ceni_redis_no_memory(pool, error));
}

void ceni_redis_talk_fini(ceni_redis_talk *talk)
{
    for (unsigned i = 0; i < talk->count; i++) {
        explicit_bzero(talk->says[i].bytes, talk->says[i].size);
        redisFreeCommand(talk->says[i].bytes);
    }
    talk->count = 0;
}

/* ---- Replies ------------------------------------------------------------------------------------------- */

static bool is_mark(const ceni_redis_talk *talk, const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING && strcmp(reply->str, talk->mark) == 0;
}

static ceni_redis_told failed(ceni_redis_talk *talk, cen_status status)
{
    talk->status = status;
    return CENI_REDIS_FAILED;
}

/* RESET's own reply; that it is not supported; or an unread reply of another command. */
static ceni_redis_told hear_reset(ceni_redis_ledger *ledger, const redisReply *reply, bool *is_own)
{
    *is_own = reply->type == REDIS_REPLY_STATUS && strcmp(reply->str, "RESET") == 0;
    if (reply->type != REDIS_REPLY_ERROR) return CENI_REDIS_MORE;
    bool is_refusal = strncmp(reply->str, "ERR unknown command", 19) == 0 || strncmp(reply->str, "NOPERM", 6) == 0;
    if (!is_refusal || !(strstr(reply->str, "RESET") || strstr(reply->str, "reset"))) return CENI_REDIS_MORE;
    ledger->has_no_reset = true;
    return CENI_REDIS_AGAIN;
}

static ceni_redis_told hear_role(ceni_redis_server *pool, ceni_redis_talk *talk, const redisReply *reply)
{
    const char *role =
        reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 && reply->element[0]->type == REDIS_REPLY_STRING
            ? reply->element[0]->str
            : "unknown";
    const char *wanted = pool->role == CEN_REDIS_PRIMARY ? "master" : "slave";
    char sentence[120];
    if (strcmp(role, wanted) == 0) return CENI_REDIS_MORE;
    snprintf(sentence, sizeof sentence, "server is not a %s (role \"%.20s\")",
             pool->role == CEN_REDIS_PRIMARY ? "primary" : "replica", role);
    return failed(talk, ceni_redis_wrong(pool, CEN_DRIVER, CEN_REDIS_WRONG_ROLE, sentence, &talk->error));
}

static const char *name_of(ceni_redis_step step)
{
    switch (step) {
    case CENI_REDIS_STEP_AUTH: return "AUTH";
    case CENI_REDIS_STEP_SELECT: return "SELECT";
    case CENI_REDIS_STEP_NAME: return "CLIENT SETNAME";
    case CENI_REDIS_STEP_ROLE: return "ROLE";
    default: return "PING";
    }
}

ceni_redis_told ceni_redis_talk_hear(ceni_redis_ledger *ledger, ceni_redis_talk *talk, const redisReply *reply)
{
    ceni_redis_server *pool = ledger->pool;
    /* replies to these pass before the mark */
    while (talk->says[talk->at].step == CENI_REDIS_STEP_PASS) talk->at++;
    ceni_redis_step step = talk->says[talk->at].step;
    if (step == CENI_REDIS_STEP_RESET) {
        bool is_own;
        ceni_redis_told told = hear_reset(ledger, reply, &is_own);
        if (is_own) talk->at++;
        return told;
    }
    if (step == CENI_REDIS_STEP_MARK) {
        if (is_mark(talk, reply)) talk->at++;
        return CENI_REDIS_MORE;
    }
    if (step == CENI_REDIS_STEP_INFO || step == CENI_REDIS_STEP_MOST) {
        ceni_redis_capacity_hear(reply, &talk->most, &talk->present);
        talk->at++;
        return CENI_REDIS_MORE;
    }
    if (reply->type == REDIS_REPLY_ERROR) {
        cen_status status =
            ceni_redis_answered(pool, name_of(step), reply->str, step == CENI_REDIS_STEP_AUTH, &talk->error);
        if (talk->error.code == CEN_REDIS_NO_AUTH || talk->error.code == CEN_REDIS_WRONG_PASSWORD)
            talk->error.cause = CEN_CAUSE_LOGIN_REFUSED;
        return failed(talk, status);
    }
    talk->at++;
    if (step == CENI_REDIS_STEP_ROLE) return hear_role(pool, talk, reply);
    bool is_ok = reply->type == REDIS_REPLY_STATUS && strcmp(reply->str, "OK") == 0;
    if (step == CENI_REDIS_STEP_PING ? !is_mark(talk, reply) : !is_ok) {
        static const char sentence[] = "replies do not match the commands";
        return failed(talk, ceni_redis_wrong(pool, CEN_DRIVER, CEN_REDIS_NONSENSE, sentence, &talk->error));
    }
    return talk->at == talk->count ? CENI_REDIS_DONE : CENI_REDIS_MORE;
}
