/* SPDX-License-Identifier: MIT */
/*
 * The runtime as the rooms above it see it: alarms and errands.
 *
 * An alarm is a call at a moment, an errand a call on a helper thread, where it
 * may block. Both records are part of whatever they are for, whose memory must
 * stay until the call has returned: whoever sets an alarm or posts an errand
 * counts it as a hand on itself, and drops that when the call ends, or when
 * unset says that there will be none.
 *
 * The runtime calls with no lock held, and touches the record no more once the
 * call has begun. Neither function below may be called with a lock held whose
 * rank is at or above CENI_RANK_RUNTIME.
 *
 * Threads: everything from any thread, also from within alarms and errands.
 */
#ifndef CENI_RUNTIME_RUNTIME_H
#define CENI_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/runtime.h>

#include "base/list.h"
#include "base/spi.h"
#include "sync/wheel.h"

CENI_SPI_BEGIN

/* A call at a moment, on the runtime's keeper, or in poll. It should be short. */
typedef struct ceni_alarm {
    void (*due)(struct ceni_alarm *alarm); /* set before the first use, as below */
    /* the runtime's, under its lock */
    ceni_wheel_timer timer;
} ceni_alarm;

/* What an errand is where the runtime has reached its limit of helpers, in the order in which they are begun there. */
typedef enum ceni_errand_kind {
    CENI_ERRAND_FREE,     /* not limited: a job, a listener */
    CENI_ERRAND_PROVEN,   /* calls of a pool whose last call succeeded */
    CENI_ERRAND_CLOSING,  /* closings: one helper is kept for these */
    CENI_ERRAND_UNPROVEN, /* calls of a pool whose last call failed or takes too long, or that has made none */
    CENI_ERRAND_KINDS
} ceni_errand_kind;

/* A call on a helper, or in poll of a manual runtime. */
typedef struct ceni_errand {
    void (*run)(struct ceni_errand *errand);
    _Atomic bool proven; /* any thread; see ceni_errand_prove */
    /* the runtime's, under its lock */
    ceni_list link;
    uint32_t wanted; /* how many more threads are to run it */
    ceni_errand_kind kind;
} ceni_errand;

/* Counts a user of the runtime, or, for NULL, of the process' own, which is
 * made if there is none. Errors: NO_MEMORY, SYSTEM, FORKED. */
cen_status ceni_runtime_join(cen_runtime *runtime, cen_runtime **out);

/* The user is gone. May be called on any thread, the runtime's own included;
 * the process' own runtime ends with its last user: when this returns its idle
 * threads have ended, except the calling one. */
void ceni_runtime_leave(cen_runtime *runtime);

/* Whether nothing that blocks may be called here. */
bool ceni_runtime_is_manual(const cen_runtime *runtime);

/* Whether its clock is virtual: then nobody can sleep until a moment of it. */
bool ceni_runtime_is_virtual(const cen_runtime *runtime);

int64_t ceni_runtime_now(const cen_runtime *runtime);

/* Makes a record ready. None of what follows may be called in a child that was
 * forked after the runtime was made: it would touch the parent's lock. */
void ceni_alarm_init(ceni_alarm *alarm, void (*due)(ceni_alarm *alarm));

/* The same for one of very many that may be due at one moment. These are called in turn with the others, one and one, so that
 * they delay none; among themselves in the order of their moments, but for those of one millisecond, of which so many may be
 * due that they are told in pieces. */
void ceni_alarm_init_of_crowd(ceni_alarm *alarm, void (*due)(ceni_alarm *alarm));
void ceni_errand_init(ceni_errand *errand, void (*run)(ceni_errand *errand));

/* Lets the alarm be due at `moment`, or at once if that has passed; one that is
 * set already is moved: true then, and it will still be due once. If no thread
 * could be had, the next call of this tries again, and *status, if it is not
 * NULL, says SYSTEM; the alarm is set all the same. */
bool ceni_alarm_set(cen_runtime *runtime, ceni_alarm *alarm, int64_t moment, cen_status *status);

/* Sees to it that alarms that are set from now on will be due: a thread is there that keeps time, until the runtime
 * ends. Errors: SYSTEM. */
cen_status ceni_alarm_need_keeper(cen_runtime *runtime);

/* True: it was set and will not be due. False: it was not set, or its call has begun. */
bool ceni_alarm_unset(cen_runtime *runtime, ceni_alarm *alarm);

/* Lets one more helper run the errand, soon. A helper is started if none is
 * free and the limit allows it: below that what blocks one errand never holds up another. If no thread can be
 * had it waits for the helpers there are; SYSTEM if there are none, and then
 * nothing was posted. */
cen_status ceni_errand_post(cen_runtime *runtime, ceni_errand *errand);

/* Takes an errand back that no helper has begun. Returns how many helpers were still to run it. */
uint32_t ceni_errand_unpost(cen_runtime *runtime, ceni_errand *errand);

/* What a thread does that waits for something of a manual runtime: runs what is
 * due, and answers until when it may sleep at most, on the real clock. In a
 * runtime with threads: CENI_FOREVER at once. */
int64_t ceni_runtime_tend(cen_runtime *runtime);

CENI_SPI_END

/* ---- The limit of helpers -------------------------------------------------------------- */

/* As ceni_errand_init, for a call of a driver, to which the runtime's limit applies: UNPROVEN, or CLOSING. */
void ceni_errand_init_limited(ceni_errand *errand, void (*run)(ceni_errand *errand), ceni_errand_kind kind);

/* The last call that the errand made has succeeded, or not: at the limit it is begun as PROVEN, or as UNPROVEN. */
void ceni_errand_prove(cen_runtime *runtime, ceni_errand *errand, bool proven);

/* Whether errands wait because of the limit: then one that would go on with more of its own ends and is posted again. A guess. */
bool ceni_runtime_is_crowded(const cen_runtime *runtime);

/* How many helpers may be in calls of drivers. */
uint32_t ceni_runtime_limit(const cen_runtime *runtime);

/* ---- A manual runtime of a pollable, which is its only user that polls --------------------------------- */

/* As cen_runtime_poll; *ran tells how many alarms and errands were run. Returns the moment of the next, in the past if there is
 * more to do, or CENI_FOREVER. If another thread runs what is due meanwhile nothing is run, and that thread makes the
 * runtime's descriptor readable when it ends, if anything is to be done by then or later: until then FOREVER is the answer. */
int64_t ceni_runtime_turn(cen_runtime *runtime, unsigned *ran);

/* A user will set no alarm and post no errand any more; it may still read the clock. A resting user says that it rests no more
 * before it leaves. */
void ceni_runtime_rest(cen_runtime *runtime);
void ceni_runtime_rest_no_more(cen_runtime *runtime);

/* How many use it, but for those who rest. */
uint32_t ceni_runtime_active_users(cen_runtime *runtime);

/* The caller, a user of an explicit manual runtime, leaves, and lets it end with its last user: that one calls `gone` when the
 * memory of the runtime has been given back, on its own thread, with no lock held; here, if the caller is the last.
 * Errors: BUSY (others use it and do not rest, or something is queued or just run): nothing changes. */
cen_status ceni_runtime_let_go(cen_runtime *runtime, void (*gone)(void *argument), void *argument);

/* The moment of what is due next, in the past if it is due, or CENI_FOREVER. */
int64_t ceni_runtime_next(cen_runtime *runtime);

#endif
