/* SPDX-License-Identifier: MIT */
/* Internal declarations of the actor. Only the files of src/actor include this. */
#ifndef CENI_ACTOR_INTERNAL_H
#define CENI_ACTOR_INTERNAL_H

#include <cenote/actor.h>

#include "base/atomic.h"
#include "port/mutex.h"
#include "port/port.h"
#include "record/directory.h"
#include "runtime/runtime.h"

enum { CENI_ACTOR_NAME = 32 };

/* Values of head other than the address of the last job. */
enum { CENI_HEAD_SLEEPS = 0, CENI_HEAD_EMPTY = 1 };

/* Bits of gate, above the count of messages that were admitted and not taken out. */
#define CENI_GATE_CLOSED ((uint64_t)1 << 63)
#define CENI_GATE_DROP ((uint64_t)1 << 62)
#define CENI_GATE_COUNT (CENI_GATE_DROP - 1)

/* state_ of a message, written by its owner. */
enum {
    CENI_MESSAGE_FREE = 0, /* the program's */
    CENI_MESSAGE_LATER,    /* an alarm will mail it */
    CENI_MESSAGE_MAILED,
    CENI_MESSAGE_ASKED, /* a request that is being handled and has no reply yet */
    CENI_MESSAGE_KEPT,  /* a request whose reply comes later */
};

/* What a delayed message has in its room. */
typedef struct ceni_later {
    ceni_alarm alarm;
    ceni_list link; /* in the actor's list, under its mutex */
} ceni_later;

_Static_assert(sizeof(ceni_later) <= sizeof(((cen_message *)0)->later_), "a message has room for its alarm");
_Static_assert(_Alignof(ceni_later) <= _Alignof(int64_t), "and the room is aligned for it");

struct cen_actor {
    cen_executor executor; /* first, so that a pointer to it is a pointer to the actor */

    /* fixed before use */
    uint64_t epoch; /* of the process that made it */
    cen_runtime *runtime;
    cen_executor *target; /* where its turns run */
    void (*handle)(void *argument, cen_message *message);
    void (*dropped)(void *argument, cen_message *message);
    void (*slow)(void *argument, const char *text, const char *message, int64_t ns);
    void *argument;
    uint64_t capacity;
    uint32_t batch;
    int64_t slow_ns; /* 0: there is no watchdog */
    const cen_allocator *allocator;
    ceni_directory_entry entry;
    char name[CENI_ACTOR_NAME];

    /* any thread, atomically: senders */
    _Alignas(CENI_CACHE_LINE) _Atomic uintptr_t head; /* SLEEPS, EMPTY, or the job pushed last */
    _Atomic uint64_t gate;                            /* CLOSED, DROP, and the count of admitted messages */

    /* only the turn; passed on by head and the executor */
    _Alignas(CENI_CACHE_LINE) cen_job turn;
    cen_job *ready;          /* taken from head, in order */
    cen_message *unanswered; /* the request that is being handled and has no reply and was not kept */
    uint64_t number;         /* of the call that is being watched */
    bool stop_seen;          /* the stop has reached the front of the mailbox */
    /* written by the turn, read by any thread */
    _Atomic bool over, running;
    _Atomic uint64_t handled, dropped_count;

    /* the watchdog, watch.c */
    _Atomic uint64_t watch;
    _Atomic int64_t began;
    _Atomic(const char *) doing;
    _Atomic uint32_t armed;    /* 1: the alarm is set, or its call is under way */
    _Atomic uint64_t in_watch; /* the thread in the alarm's call; 0: none */
    _Atomic uint64_t slow_count;
    ceni_alarm watchdog;

    /* under the mutex, of rank ACTOR */
    ceni_mutex mutex;
    ceni_list later;         /* of ceni_later */
    cen_future *stop_future; /* completed when the actor is over; NULL: none */
    cen_job stop;            /* goes through the mailbox once */
};

#define CENI_MESSAGE_OF_JOB(job) ((cen_message *)(void *)(((char *)(job)) - offsetof(cen_message, job_)))

static inline void ceni_actor_lock(cen_actor *actor)
{
    ceni_mutex_lock(&actor->mutex, CENI_RANK_ACTOR);
}

static inline void ceni_actor_unlock(cen_actor *actor)
{
    ceni_mutex_unlock(&actor->mutex, CENI_RANK_ACTOR);
}

static inline void ceni_message_set(cen_message *message, uint32_t state)
{
    ceni_store_relaxed(&message->state_, state); /* the message's owner; carries nothing */
}

static inline uint32_t ceni_message_state(const cen_message *message)
{
    return ceni_load_relaxed(&((cen_message *)(uintptr_t)message)->state_); /* likewise; carries nothing */
}

/* actor.c */
void ceni_actor_init(cen_actor *actor);
cen_status ceni_actor_check(const cen_actor *actor, const cen_message *message); /* whether it may be sent */
/* OK: a message is counted, and must be pushed */
cen_status ceni_actor_admit(cen_actor *actor);
void ceni_actor_mail(cen_actor *actor, cen_message *message); /* the last touch of both */
void ceni_actor_push(cen_actor *actor, cen_job *job);         /* likewise */

/* stop.c */
void ceni_actor_note_stop(cen_job *job); /* the stop has reached the front of the mailbox */
/* called in a turn that has seen the stop; *out: the future to complete, if the actor is over */
void ceni_actor_is_over(cen_actor *actor, cen_future **out);

/* later.c: takes the delayed messages whose alarm could be unset, chained by `next`. The caller mails them. */
cen_job *ceni_later_take_all_locked(cen_actor *actor);

/* refusal.c: error texts. Each returns the status; INVALID for a NULL actor. */
cen_status ceni_actor_refuse(const cen_actor *actor, cen_status status, const char *text, cen_error *error);
cen_status ceni_actor_refuse_message(const cen_actor *actor, const cen_message *message, cen_status status,
                                     cen_error *error);

/* watch.c; without slow_ns they do nothing */
void ceni_watch_begin(cen_actor *actor, const char *name);
void ceni_watch_end(cen_actor *actor);
void ceni_watch_due(ceni_alarm *alarm);
bool ceni_watch_look(cen_actor *actor, const char **doing, int64_t *ns); /* what is handled, and for how long */
bool ceni_watch_fini(cen_actor *actor);                                  /* false: called from within its own report */

#endif
