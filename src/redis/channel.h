/* SPDX-License-Identifier: MIT */
/* A channel: one connection of the asynchronous form. channel.c moves its bytes, later.c runs the driver's calls on
 * it. */
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
    pthread_mutex_t lock; /* recursive: a callback may give the connection back */

    /* under the lock */
    ceni_redis_ledger ledger;
    cen_watch reading, writing, timing; /* the descriptor; a second one for it; only a deadline */
    int second;                         /* -1 until needed */
    unsigned holds;                     /* references: one for the object, one for each watch */
    bool is_connected;                  /* bytes can be moved */
    bool is_awaiting_room;              /* the second descriptor is watched */
    bool is_corked;                     /* more commands follow before the send */
    bool is_sending;                    /* cenote passes a command of the holder to hiredis */
    bool is_lost;                       /* callbacks have been called with NULL */
    bool is_closing;                    /* nothing is watched any longer */
    ceni_redis_talk talk;

    /* the current call; kind and number also under the pool's lock */
    ceni_redis_call call;
    cen_ticket ticket;
    bool is_over; /* its result: */
    cen_status status;
    cen_error error;
    int64_t limit_ns;
    struct ceni_redis_channel *next, **link;

    bool has_farewell; /* a ticket to complete when the channel is freed */
    cen_ticket farewell;
} ceni_redis_channel;

/* Create a channel for a connecting context, with one reference for the object. NULL: out of memory, and the context is
 * freed. */
ceni_redis_channel *ceni_redis_channel_new(ceni_redis_server *pool, redisAsyncContext *context);
/* Return NULL if the context is not a pool's. */
ceni_redis_channel *ceni_redis_channel_of(const redisAsyncContext *context);
int ceni_redis_channel_send(redisAsyncContext *context, redisCallbackFn *done, void *argument, const char *bytes,
                            size_t size);

/* With the lock held: */
bool ceni_redis_channel_watch(ceni_redis_channel *channel, cen_watch *watch, int fd, unsigned events,
                              cen_deadline deadline);
void ceni_redis_channel_flush(ceni_redis_channel *channel);
void ceni_redis_channel_receive(ceni_redis_channel *channel);
void ceni_redis_channel_lose(ceni_redis_channel *channel, int err, const char *text); /* err 0: the context's error */
void ceni_redis_channel_on_writing(cen_watch *watch, unsigned events);

/* Without the lock: */
void ceni_redis_channel_drop(ceni_redis_channel *channel);
void ceni_redis_channel_release(ceni_redis_channel *channel); /* drops the object's reference; the last one frees it */

#endif
