/* SPDX-License-Identifier: MIT */
/* A line: one connection of the asynchronous form. channel.c moves its bytes, later.c leads the calls of the driver on it. */
#ifndef CENI_REDIS_CHANNEL_H
#define CENI_REDIS_CHANNEL_H

#include "redis/redis.h"

typedef enum ceni_redis_call {
    CENI_REDIS_IDLE = 0,
    CENI_REDIS_OPENS,
    CENI_REDIS_TESTS,
    CENI_REDIS_RESETS
} ceni_redis_call;

typedef struct ceni_redis_channel {
    /* fixed */
    ceni_redis_server *pool;
    redisAsyncContext *context;
    int fd;
    pthread_mutex_t lock; /* may be taken again by who has it: a callback gives the connection back */

    /* under the lock */
    ceni_redis_ledger ledger;
    cen_watch reading, writing, timing; /* the descriptor; a second one for it; a deadline alone */
    int second;                         /* -1 until it is needed */
    unsigned holds;                     /* one for the object, one for each watch */
    bool is_connected;                  /* bytes may be moved */
    bool is_awaiting_room;              /* the second descriptor is watched */
    bool is_corked;                     /* more is to come before it is sent */
    bool is_sending;                    /* cenote gives hiredis a command of the holder */
    bool is_lost;                       /* callbacks have been told */
    bool is_closing;                    /* nothing is watched any more */
    ceni_redis_talk talk;

    /* the call under way; kind and number also under the pool's lock */
    ceni_redis_call call;
    cen_ticket ticket;
    bool is_over; /* and how: */
    cen_status status;
    cen_error error;
    int64_t limit_ns;
    struct ceni_redis_channel *next, **link;

    bool has_farewell; /* a ticket to be done when the line is gone */
    cen_ticket farewell;
} ceni_redis_channel;

/* A line for a context that is connecting; *out holds it once, for the object. NULL: no memory, and the context is freed. */
ceni_redis_channel *ceni_redis_channel_new(ceni_redis_server *pool, redisAsyncContext *context);
/* NULL if the context is none of ours. */
ceni_redis_channel *ceni_redis_channel_of(const redisAsyncContext *context);
int ceni_redis_channel_send(redisAsyncContext *context, redisCallbackFn *done, void *argument, const char *bytes,
                            size_t size);

/* With the lock: */
bool ceni_redis_channel_watch(ceni_redis_channel *line, cen_watch *watch, int fd, unsigned events,
                              cen_deadline deadline);
void ceni_redis_channel_flush(ceni_redis_channel *line);
void ceni_redis_channel_receive(ceni_redis_channel *line);
void ceni_redis_channel_lose(ceni_redis_channel *line, int err, const char *text); /* err 0: as the context says */
void ceni_redis_channel_on_writing(cen_watch *watch, unsigned events);

/* Without it: */
void ceni_redis_channel_drop(ceni_redis_channel *line);
void ceni_redis_channel_release(ceni_redis_channel *line); /* of the object's hold; the last one out frees it */

#endif
