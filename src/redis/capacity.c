/* SPDX-License-Identifier: MIT */
/* The server's connection limit and its clients, compared with what a pool may need. */
#include "redis/redis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Return the number after "name:" in the lines of INFO; -1: none. */
static int64_t number_of(const char *text, const char *name)
{
    size_t size = strlen(name);
    while (text) {
        if (strncmp(text, name, size) == 0 && text[size] == ':') return strtoll(text + size + 1, NULL, 10);
        text = strchr(text, '\n');
        if (text) text++;
    }
    return -1;
}

/* Read a reply of INFO, which has both since 7.0, or of CONFIG GET, which not every user may run. */
void ceni_redis_capacity_hear(const redisReply *reply, int64_t *most, int64_t *present)
{
    if (reply->type == REDIS_REPLY_STRING) {
        *present = number_of(reply->str, "connected_clients");
        if (*most < 0) *most = number_of(reply->str, "maxclients");
    } else if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
               reply->element[1]->type == REDIS_REPLY_STRING) {
        *most = strtoll(reply->element[1]->str, NULL, 10);
    }
}

bool ceni_redis_capacity_fill(const char *where, uint32_t max, int64_t most, int64_t present,
                              cen_redis_capacity_report *out)
{
    if (most < 0 || present < 0 || most > UINT32_MAX || present > UINT32_MAX) return false;
    *out = (cen_redis_capacity_report){
        .size = sizeof *out, .pool_max = max, .max_clients = (uint32_t)most, .in_use = (uint32_t)present};
    out->free = present < most ? (uint32_t)(most - present) : 0;
    out->fits = max <= 1 + (uint64_t)out->free;
    char judgement[60] = "";
    if (max) snprintf(judgement, sizeof judgement, "; a pool of %u %s", max, out->fits ? "fits" : "does not fit");
    snprintf(out->text, sizeof out->text, "%s: limit of %u clients (%u in use, %u free)%s", where, out->max_clients,
             out->in_use, out->free, judgement);
    return true;
}

bool ceni_redis_capacity_is_wanted(ceni_redis_server *pool)
{
    if (!pool->on_capacity || pool->process != getpid()) return false; /* the lock may be held forever in a child */
    pthread_mutex_lock(&pool->lock);
    bool is_wanted = !pool->has_told;
    pthread_mutex_unlock(&pool->lock);
    return is_wanted;
}

void ceni_redis_capacity_tell(ceni_redis_server *pool, const ceni_redis_talk *talk)
{
    cen_redis_capacity_report report = CEN_SIZED(cen_redis_capacity_report);
    if (!talk->has_capacity ||
        !ceni_redis_capacity_fill(pool->where, pool->capacity_max, talk->most, talk->present, &report))
        return;
    pthread_mutex_lock(&pool->lock);
    bool has_told = pool->has_told; /* two concurrent opens may both have asked */
    pool->has_told = true;
    pthread_mutex_unlock(&pool->lock);
    if (!has_told) pool->on_capacity(pool->argument, &report);
}

/* ---- Public call --------------------------------------------------------------------------------------- */

static cen_status refused(cen_error *error, cen_status status, const char *where, const char *sentence)
{
    if (error) {
        *error = (cen_error){.status = status};
        snprintf(error->text, sizeof error->text, "%s: %s", where, sentence);
    }
    return status;
}

static bool ask(redisContext *context, const char *command, int64_t *most, int64_t *present)
{
    redisReply *reply = cen_redis_command(context, command);
    if (!reply) return false;
    ceni_redis_capacity_hear(reply, most, present);
    freeReplyObject(reply);
    return true;
}

cen_status cen_redis_capacity(redisContext *context, uint32_t max, cen_redis_capacity_report *out, cen_error *error)
{
    int64_t most = -1, present = -1;
    cen_redis_capacity_report report = CEN_SIZED(cen_redis_capacity_report);
    if (!context || !out) return refused(error, CEN_INVALID, "cen_redis_capacity", "context and out must not be NULL");
    cen_status status = cen_sized_check(out, sizeof report, "cen_redis_capacity: out", error);
    if (status != CEN_OK) return status;
    const ceni_redis_ledger *ledger = ceni_redis_ledger_of(context);
    const char *where = ledger ? ledger->pool->where : "Redis";
    if (!ask(context, "INFO clients", &most, &present) ||
        (most < 0 && !ask(context, "CONFIG GET maxclients", &most, &present)))
        return refused(error, CEN_LOST, where, "cannot read the client limit: connection lost");
    if (!ceni_redis_capacity_fill(where, max, most, present, &report))
        return refused(error, CEN_DRIVER, where, "client limit or client count not reported");
    cen_sized_write(out, &report, sizeof report);
    return CEN_OK;
}
