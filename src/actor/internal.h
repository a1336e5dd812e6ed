/* SPDX-License-Identifier: MIT */
/* What the files of the actor share. Nobody else includes this. */
#ifndef CENI_ACTOR_INTERNAL_H
#define CENI_ACTOR_INTERNAL_H

#include <cenote/actor.h>

#include "base/atomic.h"
#include "port/mutex.h"
#include "port/port.h"
#include "record/directory.h"
#include "runtime/runtime.h"

enum { CENI_ACTOR_NAME = 32 };

/* In head, where otherwise the address of the last job is. */
enum { CENI_HEAD_SLEEPS = 0, CENI_HEAD_EMPTY = 1 };

/* In gate, above the count of messages that were let in and not taken out. */
#define CENI_GATE_CLOSED ((uint64_t)1 << 63)
#define CENI_GATE_DROP ((uint64_t)1 << 62)
#define CENI_GATE_COUNT (CENI_GATE_DROP - 1)

/* state_ of a message; written by whoever has it. */
enum {
    CENI_MESSAGE_FREE = 0, /* the program's */
    CENI_MESSAGE_LATER,    /* an alarm will mail it */
    CENI_MESSAGE_MAILED,
    CENI_MESSAGE_ASKED, /* is being handled, and has not been answered */
    CENI_MESSAGE_KEPT,  /* will be answered later */
};

/* What a message that is told for later has in its room. */
typedef struct ceni_later {
    ceni_alarm alarm;
    ceni_list link; /* in the actor's list, under its mutex */
} ceni_later;

_Static_assert(sizeof(ceni_later) <= sizeof(((cen_message *)0)->later_), "a message has room for its alarm");
_Static_assert(_Alignof(ceni_later) <= _Alignof(int64_t), "and the room is aligned for it");

struct cen_actor {
    cen_executor executor; /* first, so that one is the other */

    /* fixed before use */
    uint64_t epoch; /* of the process that made it */
    cen_runtime *runtime;
    cen_executor *target; /* where it takes its turns */
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

    /* any thread, atomically: those who send */
    _Alignas(CENI_CACHE_LINE) _Atomic uintptr_t head; /* SLEEPS, EMPTY, or the job sent last */
    _Atomic uint64_t gate;                            /* CLOSED, DROP, and how many were let in */

    /* the turn's alone; passed on by head and the executor */
    _Alignas(CENI_CACHE_LINE) cen_job turn;
    cen_job *ready;          /* taken from head, in order */
    cen_message *unanswered; /* is being handled, was asked, and is neither answered nor kept */
    uint64_t number;         /* of what is being watched */
    bool stop_seen;          /* the stop has come to the front */
    /* written by the turn, read by anybody */
    _Atomic bool over, running;
    _Atomic uint64_t handled, dropped_count;

    /* the watchdog, watch.c */
    _Atomic uint64_t watch;
    _Atomic int64_t began;
    _Atomic(const char *) doing;
    _Atomic uint32_t armed;    /* 1: the alarm is set, or its call goes on */
    _Atomic uint64_t in_watch; /* the thread that is in its call */
    _Atomic uint64_t slow_count;
    ceni_alarm watchdog;

    /* under the mutex, of rank ACTOR */
    ceni_mutex mutex;
    ceni_list later;         /* of ceni_later */
    cen_future *stop_future; /* NULL: nobody is to be told */
    cen_job stop;            /* goes through the mailbox, once */
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
    ceni_store_relaxed(&message->state_, state); /* whoever has the message; carries nothing */
}

static inline uint32_t ceni_message_state(const cen_message *message)
{
    return ceni_load_relaxed(&((cen_message *)(uintptr_t)message)->state_); /* likewise; carries nothing */
}

/* actor.c */
void ceni_actor_init(cen_actor *actor);
cen_status ceni_actor_check(const cen_actor *actor, const cen_message *message); /* whether it may be sent at all */
/* OK: it is counted, and must be mailed */
cen_status ceni_actor_admit(cen_actor *actor);
void ceni_actor_mail(cen_actor *actor, cen_message *message); /* the last touch of both */
void ceni_actor_push(cen_actor *actor, cen_job *job);         /* likewise */

/* stop.c */
void ceni_actor_note_stop(cen_job *job); /* the stop has come to the front */
/* in a turn that has seen it; *out: whom to tell, if it is */
void ceni_actor_is_over(cen_actor *actor, cen_future **out);

/* later.c: what was told for later and will not be due, chained by `next`, to be mailed. */
cen_job *ceni_later_take_all_locked(cen_actor *actor);

/* watch.c; without slow_ns they do nothing */
void ceni_watch_begin(cen_actor *actor, const char *name);
void ceni_watch_end(cen_actor *actor);
void ceni_watch_due(ceni_alarm *alarm);
bool ceni_watch_look(cen_actor *actor, const char **doing, int64_t *ns); /* what is being handled, and for how long */
bool ceni_watch_fini(cen_actor *actor);                                  /* false: from within its own report */

#endif
