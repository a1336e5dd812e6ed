/* SPDX-License-Identifier: MIT */
/* Redis: a command as it is typed: words, with quotes around those that contain spaces, and a number for each {}. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/redis.h>

#include "tool/target_kinds.h"

enum { WORDS = 64, LINE = 4096 };

static const char usual[] = "PING";

typedef struct line {
    char text[LINE]; /* the words, each ended by a zero */
    int count;
    char *words[WORDS];
} line;

typedef struct dis {
    cen_redis_options options;
    line read, write;
    bool checks;
} dis;

/* Split the text into words. */
static cen_status split(line *self, const char *text, cen_error *error)
{
    size_t to = 0;
    for (const char *at = text; *at;) {
        at += strspn(at, " \t");
        if (!*at) break;
        if (self->count == WORDS || to + strlen(at) + 2 > LINE)
            return target_say(error, CEN_INVALID, 0, "The command has more than %d words, or is too long.", WORDS);
        self->words[self->count++] = self->text + to;
        for (char quote = 0; *at && (quote || !strchr(" \t", *at)); at++) {
            if (quote ? *at == quote : *at == '"' || *at == '\'') quote = quote ? 0 : *at;
            else self->text[to++] = *at;
            if (quote && !at[1])
                return target_say(error, CEN_INVALID, 0, "The command \"%.60s\" has an unclosed quote.", text);
        }
        self->text[to++] = 0;
    }
    return self->count ? CEN_OK : target_say(error, CEN_INVALID, 0, "The command is empty.");
}

static cen_status open_dis(target *self, cen_error *error)
{
    dis *own = calloc(1, sizeof *own);
    if (!own) return target_say(error, CEN_NO_MEMORY, 0, "Out of memory.");
    own->checks = !self->settings.query;
    cen_status status = split(&own->read, self->settings.query ? self->settings.query : usual, error);
    if (status == CEN_OK && self->settings.write) status = split(&own->write, self->settings.write, error);
    if (status != CEN_OK) {
        free(own);
        return status;
    }
    own->options = CEN_REDIS_OPTIONS(.url = self->settings.url, .name = "cenote");
    self->driver = cen_redis_with(&own->options);
    self->own = own;
    return CEN_OK;
}

static void close_dis(target *self)
{
    free(self->own);
}

/* Return an error in a reply. It may be inside an array, as in the reply to EXEC. */
static const redisReply *error_in(const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR) return reply;
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++) {
        const redisReply *inner = error_in(reply->element[i]);
        if (inner) return inner;
    }
    return NULL;
}

/* Write the words with their numbers into `room`, which is large enough. */
static void put_numbers(const target *self, const line *from, const target_turn *turn, const char **words,
                        size_t *lengths, char *room)
{
    unsigned index = 0;
    for (int i = 0; i < from->count; i++) {
        const char *at = from->words[i];
        words[i] = room;
        while (*at) {
            if (at[0] == '{' && at[1] == '}') {
                room += snprintf(room, 24, "%" PRIu64, target_draw(self, turn, index++));
                at += 2;
            } else {
                *room++ = *at++;
            }
        }
        lengths[i] = (size_t)(room - words[i]);
    }
}

static cen_status operate_dis(target *self, void *object, const target_turn *turn, cen_error *error)
{
    const dis *own = self->own;
    const line *from = turn->writes ? &own->write : &own->read;
    const char *words[WORDS];
    size_t lengths[WORDS];
    char room[LINE * 11]; /* a number of at most 20 digits replaces 2 characters */
    redisContext *redis = object;
    put_numbers(self, from, turn, words, lengths, room);
    redisReply *reply = cen_redis_command_argv(redis, from->count, words, lengths);
    if (!reply)
        return target_say(error, CEN_LOST, redis->err, "The connection to %.150s broke: %s.", self->shown,
                          redis->errstr);
    const redisReply *bad = error_in(reply);
    cen_status status = CEN_OK;
    if (bad) status = target_say(error, CEN_DRIVER, CEN_REDIS_ERROR, "Redis returned an error: %.300s", bad->str);
    else if (own->checks && !turn->writes && (reply->type != REDIS_REPLY_STATUS || strcmp(reply->str, "PONG") != 0))
        status = target_say(error, CEN_DRIVER, CEN_REDIS_NONSENSE, "Redis did not reply PONG to PING.");
    freeReplyObject(reply);
    return status;
}

static cen_status limit_dis(target *self, void *object, target_limit *out, cen_error *error)
{
    cen_redis_capacity_report report = CEN_SIZED(cen_redis_capacity_report);
    cen_status status = cen_redis_capacity(object, 0, &report, error);
    (void)self;
    if (status != CEN_OK) return status;
    out->most = report.max_clients;
    out->in_use = report.in_use;
    return CEN_OK;
}

const target_kind target_redis = {
    .system = "redis",
    .schemes = "redis rediss unix",
    .usual = usual,
    .open = open_dis,
    .close = close_dis,
    .operate = operate_dis,
    .limit = limit_dis,
};
