/* SPDX-License-Identifier: MIT */
/* What contestants that use hiredis share: a connection that has given the password, and the question. */
#ifndef BENCH_RULES_ENDS_REDIS_H
#define BENCH_RULES_ENDS_REDIS_H

#include <hiredis/hiredis.h>
#include <stdio.h>

#include "ends.h"

static inline const char *ends_redis_read(redisContext *connection, redisReply *reply, int type,
                                          char answer[ENDS_ANSWER])
{
    if (!reply) return ends_why(connection->errstr);
    const char *why = reply->type == type ? NULL : ends_why(reply->str ? reply->str : "the reply is of another kind");
    if (!why) snprintf(answer, ENDS_ANSWER, "%s", reply->str);
    freeReplyObject(reply);
    return why;
}

static inline const char *ends_redis_ask(redisContext *connection, char answer[ENDS_ANSWER])
{
    return ends_redis_read(connection, redisCommand(connection, "GET cenote-bench"), REDIS_REPLY_STRING, answer);
}

static inline redisContext *ends_redis_connect(const ends_plan *plan, const char **why)
{
    struct timeval connecting = {.tv_sec = ENDS_CONNECT_S}, answering = {.tv_sec = ENDS_ANSWER_S};
    char answer[ENDS_ANSWER];
    bool limited = plan->mode == ENDS_ADVISED;
    redisContext *connection = limited ? redisConnectWithTimeout(plan->host, (int)plan->port, connecting)
                                       : redisConnect(plan->host, (int)plan->port);
    if (!connection) *why = "no memory";
    else if (connection->err) *why = ends_why(connection->errstr);
    else {
        if (limited) redisSetTimeout(connection, answering);
        *why = ends_redis_read(connection, redisCommand(connection, "AUTH secret"), REDIS_REPLY_STATUS, answer);
    }
    if (!*why) return connection;
    if (connection) redisFree(connection);
    return NULL;
}

#endif
